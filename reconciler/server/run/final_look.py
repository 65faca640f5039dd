"""Looks once more when all steps are done: does everything exist that was created, and is everything gone that was
deleted?

A single server's answer to a create is the truth. In a cluster the assignment is made first and the servers follow, so
the full list is read there, to which every server answers for what it holds. The server that answers may follow later
than the one that confirmed, so this looks for a while longer for what the list does not show at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from reconciler.changes.events import Done, Failed
from reconciler.model.wire.steps import Call
from reconciler.server.read.listing import Listed, Section, read_list
from reconciler.server.run import problems
from reconciler.server.wire.api import JetStream, Pauses

_MADE = frozenset({Call.STREAM_CREATE, Call.STREAM_UPDATE, Call.CONSUMER_CREATE, Call.CONSUMER_UPDATE})
_GONE = frozenset({Call.STREAM_DELETE, Call.CONSUMER_DELETE})
FOLLOWS = 10.0
"""Seconds after which a server that has not followed has lost something; usually it takes milliseconds."""


async def verify(js: JetStream, done: Iterable[Done]) -> list[Failed]:
    """Return done steps whose result is missing, as failures. What cannot be read stays as it was reported."""
    last = {outcome.step.on: outcome for outcome in done if outcome.step.call in _MADE | _GONE}
    if not last:
        return []
    verb = "LIST" if any(_is_clustered(outcome) for outcome in last.values()) else "NAMES"
    patience = 0 if any(_is_of_a_single_server(outcome) for outcome in last.values()) else FOLLOWS
    with Pauses(patience, f"until every server shows what was done ({len(last):_} objects)") as pauses:
        while True:
            failed = await _unlike_done(js, last, verb)
            if not failed or not await pauses.rest():
                return failed


async def _unlike_done(js: JetStream, last: Mapping[tuple[str, ...], Done], verb: str) -> list[Failed]:
    streams = await _listed_names(js, f"STREAM.{verb}", "streams")
    touched = sorted({on[0] for on in last if len(on) == 2 and (streams is None or on[0] in streams)})
    lists = await asyncio.gather(*(_listed_names(js, f"CONSUMER.{verb}.{stream}", "consumers") for stream in touched))
    consumers = dict(zip(touched, lists, strict=True))
    return [failed for outcome in last.values() if (failed := _failure_of(outcome, streams, consumers)) is not None]


def _failure_of(outcome: Done, streams: set[str] | None, consumers: Mapping[str, set[str] | None]) -> Failed | None:
    step = outcome.step
    existing = streams if len(step.on) == 1 else consumers.get(step.on[0], set())
    if existing is None or (step.on[-1] in existing) == (step.call in _MADE):
        return None
    if len(step.on) == 2 and step.on[0] not in consumers:
        return None  # its stream was deleted after it was created, and is judged itself
    unlike = problems.missing(step) if step.call in _MADE else problems.remains(step)
    return Failed(step=step, reason=unlike.reason, nothing_done=False)


async def _listed_names(js: JetStream, endpoint: str, section: Section) -> set[str] | None:
    answer = await read_list(js, endpoint, section)
    return {*answer.items, *answer.silent} if isinstance(answer, Listed) else None


def _is_clustered(outcome: Done) -> bool:
    return bool((outcome.echo.get("cluster") or {}).get("name"))


def _is_of_a_single_server(outcome: Done) -> bool:
    """Did a single server answer? The answer to a deletion does not show that."""
    return outcome.step.call in _MADE and not _is_clustered(outcome)
