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

from reconciler.model.diagnostic import CannotContinue
from reconciler.model.ledger import intents
from reconciler.model.ledger.records import BUCKET, PREFIX, RESERVED, decode_key
from reconciler.model.resource import Json
from reconciler.model.waits import waiting
from reconciler.model.wire.permissions import parse_permissions
from reconciler.model.wire.questions import (
    CopiedUpTo,
    Elsewhere,
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
from reconciler.model.wire.snapshot import Entry, Scope, Snapshot, is_copier
from reconciler.server.read.counting import holes, largest, messages_from, messages_since, oldest
from reconciler.server.read.listing import Listed, Unsettled, ask_each, read_list
from reconciler.server.read.queues import copied_up_to, elsewhere, queued_from
from reconciler.server.read.read_kv import entries, subject_counts
from reconciler.server.read.target import leader_versions, peers, target
from reconciler.server.wire.answers import NO_CONSUMER, NO_STREAM, Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence

Q = TypeVar("Q")
T = TypeVar("T")


async def gather_answers(ask: Callable[[Q], Awaitable[T]], questions: Collection[Q], text: str) -> list[T]:
    """All answers, in order. `what` reads on after "waiting", up to the numbers: `for the consumers of streams`."""
    done = 0
    with waiting("") as wait:

        async def counted(question: Q) -> T:
            nonlocal done
            answer = await ask(question)  # made here: a read that is cancelled before its turn leaves nothing behind
            done += 1
            wait.what = f"{text}: {done:_} of {len(questions):_} answered"
            return answer

        return await asyncio.gather(*map(counted, questions))


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
        snapshot = await _read_once(js, buckets, consumers_of)
        if not _is_torn(snapshot):
            break
    return snapshot


def _is_torn(snapshot: Snapshot) -> bool:
    """Did an apply end during the read? Leases and the journal do not count: they are written all the time during an
    apply, and say nothing about the streams."""
    stream = snapshot.streams.get(f"KV_{BUCKET}")
    listed_at = stream["state"]["last_seq"] if stream else 0
    entries = snapshot.entries.get(BUCKET, {}).items()
    return any(entry.revision > listed_at for key, entry in entries if key.startswith(_OF_STREAMS))


async def _read_once(js: JetStream, buckets: Iterable[str], consumers_of: Container[str] | None) -> Snapshot:
    info, who, streams = await asyncio.gather(js.read("INFO"), js.user_info(), _list_streams(js))
    _check_jetstream(js, info, streams)
    unknown: dict[str, str] = {}
    denied: set[str] = set()
    if not isinstance(streams, Listed):
        unknown[Scope.STREAMS] = f"STREAM.LIST: {streams}"
        denied |= {Scope.STREAMS} if _is_denied(streams) else set()
        streams = Listed()
    unknown |= {Scope.stream(name): why for name, why in streams.silent.items()}
    counted = _streams_with_consumers(streams.items, consumers_of)
    versions, consumers, entries_read = await asyncio.gather(
        leader_versions(js, streams.items),
        _read_consumers(js, streams.items, counted, unknown),
        _read_entries(js, streams.items, buckets, unknown, denied),
    )
    doubted = _streams_with_records(entries_read) - {*counted}
    again = [name for name in streams.items if name in doubted and (consumers_of is None or name in consumers_of)]
    consumers |= await _read_consumers(js, streams.items, again, unknown)
    copiers = _copiers_in(consumers)
    return Snapshot(
        target=target(js, info, who, streams.items, versions),
        streams=streams.items,
        consumers=_without_copiers(consumers, copiers),
        copiers=copiers,
        entries=entries_read,
        unknown=unknown,
        denied=frozenset(denied),
        may=parse_permissions((who or {}).get("data") or {}),
    )


async def with_consumers(js: JetStream, snapshot: Snapshot, of: Collection[str]) -> Snapshot:
    """Return the same account, with the consumers of these streams as well."""
    streams, unknown = dict(snapshot.streams), dict(snapshot.unknown)
    consumers = await _read_consumers(js, streams, _streams_with_consumers(streams, of), unknown)
    copiers = _copiers_in(consumers)
    return replace(
        snapshot,
        streams=streams,
        consumers={**snapshot.consumers, **_without_copiers(consumers, copiers)},
        copiers={**snapshot.copiers, **copiers},
        unknown=unknown,
    )


Consumers = Mapping[str, Mapping[str, Mapping[str, Json]]]


def _without_copiers(consumers: Consumers, copiers: Consumers) -> Consumers:
    """Leave out the reserved buckets."""
    rest = {
        stream: {name: info for name, info in consumers[stream].items() if name not in own}
        for stream, own in copiers.items()
    }
    return {**consumers, **rest}


def _copiers_in(consumers: Consumers) -> Consumers:
    copying = {
        stream: {name: info for name, info in own.items() if is_copier(info)} for stream, own in consumers.items()
    }
    return {stream: own for stream, own in copying.items() if own}


async def ask(js: JetStream, questions: Iterable[Question]) -> Facts:
    """Answer questions that depend on the diff; a question without an answer gets the reason."""
    facts: dict[Question, Json | Unanswered] = {}
    for turn in narrowest_first(dict.fromkeys(questions)):
        answers = await gather_answers(partial(_answer_to, js), turn, "for what is counted for this plan")
        facts |= {
            question: answer if isinstance(answer, dict) else Unanswered(str(answer))
            for question, answer in zip(turn, answers, strict=True)
        }
    return facts


def narrowest_first(questions: Iterable[Question]) -> Iterator[tuple[Question, ...]]:
    """Group questions so that a part is counted before its whole: clients publish meanwhile, and what is left of the
    whole must not look smaller than it is."""
    for _, turn in groupby(sorted(questions, key=_breadth), key=_breadth):
        yield tuple(turn)


def _breadth(question: Question) -> tuple[int, bool]:
    return question.breadth if isinstance(question, MessagesFrom) else (1, True)


async def _answer_to(js: JetStream, question: Question) -> dict[str, Json] | Refusal | NoAnswer:
    if isinstance(question, SubjectCounts):
        return await subject_counts(js, question.stream, question.filter)
    return await _ANSWERING[type(question)](js, question)


_ANSWERING: Mapping[type[Question], Callable[..., Awaitable[dict[str, Json] | Refusal | NoAnswer]]] = {
    MessagesFrom: messages_from, MessagesSince: messages_since, QueuedFrom: queued_from, Peers: peers, Holes: holes,
    Oldest: oldest, Largest: largest, CopiedUpTo: copied_up_to, Elsewhere: elsewhere,
}  # fmt: skip


AGAIN = (
    "Try again in a moment: a cluster answers again when it has elected a leader in place of a server that is gone. If it "
    "stays like this, check the connection, or give servers longer with --timeout."
)


def _check_jetstream(js: JetStream, info: Answer, streams: Streams) -> None:
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
        is_denied = any(isinstance(answer, NoAnswer) and answer.why is Silence.DENIED for answer in (info, streams))
        fix = f"Allow publishing to {where}.> and subscribing to _INBOX.>." if is_denied else AGAIN
    raise CannotContinue.because("NA104", "no-jetstream", message, fix=fix)


async def _list_streams(js: JetStream) -> Streams:
    streams = await read_list(js, "STREAM.LIST", "streams")
    if isinstance(streams, Listed) and streams.silent:
        await ask_each(js, streams.silent, "STREAM.INFO.{}".format, NO_STREAM, streams)
    return streams


def _streams_with_consumers(streams: Mapping[str, Mapping[str, Json]], wanted: Container[str] | None) -> list[str]:
    """Streams whose leader says that they have consumers."""
    return [
        name for name, item in streams.items()
        if item["state"]["consumer_count"] > 0 and (wanted is None or name in wanted)
    ]  # fmt: skip


def _streams_with_records(entries: Mapping[str, Mapping[str, Entry]]) -> set[str]:
    """Streams with recorded consumers: in a cluster, a new consumer exists before the stream's leader counts it."""
    records = entries.get(BUCKET, {}).items()
    ours = (decode_key(key) for key, entry in records if key.startswith(_CONSUMERS) and not entry.deleted)
    return {address.stream for address in ours if address is not None}


async def _read_consumers(
    js: JetStream, streams: dict[str, Mapping[str, Json]], names: Sequence[str], unknown: dict[str, str]
) -> dict[str, Mapping[str, Mapping[str, Json]]]:
    answers = await gather_answers(partial(_list_consumers, js), names, "for the consumers of streams")
    consumers: dict[str, Mapping[str, Mapping[str, Json]]] = {}
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, Listed):
            consumers[name] = answer.items
            unknown |= {Scope.consumer(name, consumer): why for consumer, why in answer.silent.items()}
        elif isinstance(answer, Refusal) and answer.err_code == NO_STREAM:
            del streams[name]  # deleted since the list was read
        else:
            unknown[Scope.consumers(name)] = f"CONSUMER.LIST: {answer}"
    return consumers


async def _list_consumers(js: JetStream, stream: str) -> Streams:
    consumers = await read_list(js, f"CONSUMER.LIST.{stream}", "consumers")
    if isinstance(consumers, Listed) and consumers.silent:
        await ask_each(js, consumers.silent, lambda name: f"CONSUMER.INFO.{stream}.{name}", NO_CONSUMER, consumers)
    return consumers


async def _entries_patiently(
    js: JetStream, bucket: str, stream: Mapping[str, Json], keys: Sequence[str]
) -> dict[str, Entry] | Refusal | NoAnswer:
    """Wait for a leader: without this bucket's entries there is no plan."""
    answer = await entries(js, bucket, stream, keys)
    passes = isinstance(answer, Refusal | NoAnswer) and not _is_denied(answer)
    return await entries(js.persistent(), bucket, stream, keys) if passes else answer


async def _read_entries(
    js: JetStream,
    streams: Mapping[str, Mapping[str, Json]],
    buckets: Iterable[str],
    unknown: dict[str, str],
    denied: set[str],
) -> dict[str, Mapping[str, Entry]]:
    existing = [bucket for bucket in buckets if f"KV_{bucket}" in streams]
    answers = await asyncio.gather(
        *(_entries_patiently(js, bucket, streams[f"KV_{bucket}"], PARTS.get(bucket, (">",))) for bucket in existing)
    )
    by_bucket: dict[str, Mapping[str, Entry]] = {}
    for bucket, answer in zip(existing, answers, strict=True):
        if isinstance(answer, Refusal | NoAnswer):
            unknown[Scope.bucket(bucket)] = str(answer)
            denied |= {Scope.bucket(bucket)} if _is_denied(answer) else set()
        else:
            by_bucket[bucket] = answer
    return by_bucket


def _is_denied(answer: object) -> bool:
    """Is asking again useless, because it is not allowed, or not imported into this account?"""
    return isinstance(answer, NoAnswer) and answer.why in (Silence.DENIED, Silence.NO_RESPONDERS)
