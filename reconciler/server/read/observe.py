"""Reads what an account holds in few round trips: target, streams, consumers and the entries of the reserved buckets.

It writes nothing. What could not be read becomes an unknown scope with its reason, never an absence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TypeVar

from reconciler.model import intents
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.permissions import parse_permissions
from reconciler.model.records import BUCKET, PREFIX, decode_key
from reconciler.model.resource import Json
from reconciler.model.waits import waiting
from reconciler.model.wire.info import is_copier
from reconciler.model.wire.questions import (
    CopiedUpTo,
    Facts,
    Holes,
    Largest,
    MessagesFrom,
    MessagesSince,
    Oldest,
    Peers,
    Question,
    QueuedFrom,
    SubjectCounts,
    Unanswered,
)
from reconciler.model.wire.snapshot import Entry, Scope, Snapshot
from reconciler.server.read.counting import holes, largest, messages_from, messages_since, oldest
from reconciler.server.read.listing import Listed, Unsettled, ask_each, listed
from reconciler.server.read.queues import copied_up_to, queued_from
from reconciler.server.read.read_kv import entries, subject_counts
from reconciler.server.read.target import leader_versions, peers, target
from reconciler.server.wire.answers import NO_CONSUMER, NO_STREAM, Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence

Q = TypeVar("Q")
T = TypeVar("T")


async def gathered(ask: Callable[[Q], Awaitable[T]], questions: Collection[Q], what: str) -> list[T]:
    """All answers, in order. `what` reads on after "waiting", up to the numbers: `for the consumers of streams`."""
    done = 0
    with waiting("") as wait:

        async def counted(question: Q) -> T:
            nonlocal done
            found = await ask(question)  # made here: a read that is cancelled before its turn leaves nothing behind
            done += 1
            wait.what = f"{what}: {done:_} of {len(questions):_} answered"
            return found

        return await asyncio.gather(*map(counted, questions))


RESERVED = (BUCKET, "static-consumer-groups", "elastic-consumer-groups")
"""Buckets whose entries are read: our own, and those of kinds that are keys of a bucket."""
PARTS = {BUCKET: ("id", f"{PREFIX}.>", f"{intents.PREFIX}.>", "lease.>")}
"""Keys that matter to a plan, where that is not all of them: the journal only grows."""
JETSTREAM_OFF = 10039
ATTEMPTS = 3
"""How often an account is read in which applies end one after the other."""
_CONSUMERS = f"{PREFIX}.consumer."
_OF_STREAMS = (f"{PREFIX}.", f"{intents.PREFIX}.")

Streams = Listed | Refusal | NoAnswer | Unsettled


async def observe(
    js: JetStream, *, buckets: Collection[str] = RESERVED, consumers_of: Container[str] | None = None
) -> Snapshot:
    """Read everything; `consumers_of` names the streams whose consumers matter (None: all). Read again where an apply
    meanwhile recorded what it had done, because the streams would show the state before that."""
    for _ in range(ATTEMPTS):
        snapshot = await _observed(js, buckets, consumers_of)
        if not _is_torn(snapshot):
            break
    return snapshot


def _is_torn(snapshot: Snapshot) -> bool:
    """Did an apply end during the read? Leases and the journal do not count: they are written all the time during an
    apply, and say nothing about the streams."""
    said = snapshot.streams.get(f"KV_{BUCKET}")
    listed_at = said["state"]["last_seq"] if said else 0
    entries = snapshot.entries.get(BUCKET, {}).items()
    return any(one.revision > listed_at for key, one in entries if key.startswith(_OF_STREAMS))


async def _observed(js: JetStream, buckets: Iterable[str], consumers_of: Container[str] | None) -> Snapshot:
    info, who, streams = await asyncio.gather(js.read("INFO"), js.account(), _streams(js))
    _refuse_nothing(js, info, streams)
    unknown: dict[str, str] = {}
    denied: set[str] = set()
    if not isinstance(streams, Listed):
        unknown[Scope.STREAMS] = f"STREAM.LIST: {streams}"
        denied |= {Scope.STREAMS} if _is_denied(streams) else set()
        streams = Listed()
    unknown |= {Scope.stream(name): why for name, why in streams.silent.items()}
    counted = _counted(streams.items, consumers_of)
    versions, consumers, found = await asyncio.gather(
        leader_versions(js, streams.items),
        _consumers(js, streams.items, counted, unknown),
        _entries(js, streams.items, buckets, unknown, denied),
    )
    doubted = _remembered(found) - {*counted}
    again = [name for name in streams.items if name in doubted and (consumers_of is None or name in consumers_of)]
    consumers |= await _consumers(js, streams.items, again, unknown)
    copiers = _of_servers(consumers)
    return Snapshot(
        target=target(js, info, who, streams.items, versions),
        streams=streams.items,
        consumers=_without(consumers, copiers),
        copiers=copiers,
        entries=found,
        unknown=unknown,
        denied=frozenset(denied),
        may=parse_permissions((who or {}).get("data") or {}),
    )


async def with_consumers(js: JetStream, snapshot: Snapshot, of: Collection[str]) -> Snapshot:
    """Return the same account, with the consumers of these streams as well."""
    streams, unknown = dict(snapshot.streams), dict(snapshot.unknown)
    found = await _consumers(js, streams, _counted(streams, of), unknown)
    copiers = _of_servers(found)
    return replace(
        snapshot,
        streams=streams,
        consumers={**snapshot.consumers, **_without(found, copiers)},
        copiers={**snapshot.copiers, **copiers},
        unknown=unknown,
    )


Consumers = Mapping[str, Mapping[str, Mapping[str, Json]]]


def _without(found: Consumers, copiers: Consumers) -> Consumers:
    """Leave out the reserved buckets."""
    rest = {stream: {n: one for n, one in found[stream].items() if n not in own} for stream, own in copiers.items()}
    return {**found, **rest}


def _of_servers(found: Consumers) -> Consumers:
    copying = {stream: {name: info for name, info in own.items() if is_copier(info)} for stream, own in found.items()}
    return {stream: own for stream, own in copying.items() if own}


async def ask(js: JetStream, questions: Iterable[Question]) -> Facts:
    """Answer questions that depend on the diff; a question without an answer gets the reason."""
    facts: dict[Question, Json | Unanswered] = {}
    for asked in in_turns(dict.fromkeys(questions)):
        answers = await gathered(partial(_asked, js), asked, "for what is counted for this plan")
        facts |= {q: a if isinstance(a, dict) else Unanswered(str(a)) for q, a in zip(asked, answers, strict=True)}
    return facts


def in_turns(questions: Iterable[Question]) -> Iterator[tuple[Question, ...]]:
    """Count a part before the whole: clients publish meanwhile, and what is left of the whole must not look smaller than
    it is."""
    for _, turn in groupby(sorted(questions, key=_breadth), key=_breadth):
        yield tuple(turn)


def _breadth(question: Question) -> tuple[int, bool]:
    return question.breadth if isinstance(question, MessagesFrom) else (1, True)


async def _asked(js: JetStream, question: Question) -> dict[str, Json] | Refusal | NoAnswer:
    if isinstance(question, SubjectCounts):
        return await subject_counts(js, question.stream, question.filter)
    return await _ANSWERING[type(question)](js, question)


_ANSWERING: Mapping[type[Question], Callable[..., Awaitable[dict[str, Json] | Refusal | NoAnswer]]] = {
    MessagesFrom: messages_from, MessagesSince: messages_since, QueuedFrom: queued_from, Peers: peers, Holes: holes,
    Oldest: oldest, Largest: largest, CopiedUpTo: copied_up_to,
}  # fmt: skip


def _refuse_nothing(js: JetStream, info: Answer, streams: Streams) -> None:
    """Raise CannotContinue where there is no JetStream to look at."""
    where = js.prefix.rstrip(".")
    if isinstance(info, Refusal) and info.err_code == JETSTREAM_OFF:
        message = f"JetStream is not enabled for this account ({info.err_code})."
        fix = "Ask the operator to enable JetStream for the account, or use another account's credentials."
    elif isinstance(streams, Listed) or not isinstance(info, NoAnswer):
        return
    elif info.why is Silence.NO_RESPONDERS:
        message = f"Nothing answers at {where}: the server has no JetStream, or the domain or prefix is wrong."
        fix = "Start the server with JetStream (-js), or check --js-domain and --js-api-prefix."
    else:
        message = f"Nothing could be read at {where}: {info}; {streams}."
        fix = f"Allow publishing to {where}.> and subscribing to _INBOX.>, or check the connection."
    raise CannotContinue(
        Diagnostic(severity=Severity.ERROR, code="NA104", name="no-jetstream", message=message, fix=fix)
    )


async def _streams(js: JetStream) -> Streams:
    found = await listed(js, "STREAM.LIST", "streams")
    if isinstance(found, Listed) and found.silent:
        await ask_each(js, found.silent, "STREAM.INFO.{}".format, NO_STREAM, found)
    return found


def _counted(streams: Mapping[str, Mapping[str, Json]], wanted: Container[str] | None) -> list[str]:
    """Streams whose leader says that they have consumers."""
    return [
        name for name, item in streams.items()
        if item["state"]["consumer_count"] > 0 and (wanted is None or name in wanted)
    ]  # fmt: skip


def _remembered(entries: Mapping[str, Mapping[str, Entry]]) -> set[str]:
    """Streams with recorded consumers: in a cluster, a new consumer exists before the stream's leader counts it."""
    records = entries.get(BUCKET, {}).items()
    ours = (decode_key(key) for key, one in records if key.startswith(_CONSUMERS) and not one.deleted)
    return {address.stream for address in ours if address is not None}


async def _consumers(
    js: JetStream, streams: dict[str, Mapping[str, Json]], names: Sequence[str], unknown: dict[str, str]
) -> dict[str, Mapping[str, Mapping[str, Json]]]:
    answers = await gathered(partial(_consumers_of, js), names, "for the consumers of streams")
    found: dict[str, Mapping[str, Mapping[str, Json]]] = {}
    for name, said in zip(names, answers, strict=True):
        if isinstance(said, Listed):
            found[name] = said.items
            unknown |= {Scope.consumer(name, consumer): why for consumer, why in said.silent.items()}
        elif isinstance(said, Refusal) and said.err_code == NO_STREAM:
            del streams[name]  # deleted since the list was read
        else:
            unknown[Scope.consumers(name)] = f"CONSUMER.LIST: {said}"
    return found


async def _consumers_of(js: JetStream, stream: str) -> Streams:
    found = await listed(js, f"CONSUMER.LIST.{stream}", "consumers")
    if isinstance(found, Listed) and found.silent:
        await ask_each(js, found.silent, lambda name: f"CONSUMER.INFO.{stream}.{name}", NO_CONSUMER, found)
    return found


async def _patiently(
    js: JetStream, bucket: str, stream: Mapping[str, Json], keys: Sequence[str]
) -> dict[str, Entry] | Refusal | NoAnswer:
    """Wait for a leader: without this bucket's entries there is no plan."""
    said = await entries(js, bucket, stream, keys)
    passes = isinstance(said, Refusal | NoAnswer) and not _is_denied(said)
    return await entries(js.persistent(), bucket, stream, keys) if passes else said


async def _entries(
    js: JetStream,
    streams: Mapping[str, Mapping[str, Json]],
    buckets: Iterable[str],
    unknown: dict[str, str],
    denied: set[str],
) -> dict[str, Mapping[str, Entry]]:
    there = [bucket for bucket in buckets if f"KV_{bucket}" in streams]
    answers = await asyncio.gather(
        *(_patiently(js, bucket, streams[f"KV_{bucket}"], PARTS.get(bucket, (">",))) for bucket in there)
    )
    found: dict[str, Mapping[str, Entry]] = {}
    for bucket, said in zip(there, answers, strict=True):
        if isinstance(said, Refusal | NoAnswer):
            unknown[Scope.bucket(bucket)] = str(said)
            denied |= {Scope.bucket(bucket)} if _is_denied(said) else set()
        else:
            found[bucket] = said
    return found


def _is_denied(said: object) -> bool:
    """Is asking again useless, because it is not allowed, or not imported into this account?"""
    return isinstance(said, NoAnswer) and said.why in (Silence.DENIED, Silence.NO_RESPONDERS)
