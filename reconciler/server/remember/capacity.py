"""Keeps bucket `reconciler` from filling up by removing old runs, and says what to do where it takes nothing more.

A full bucket takes no lease either, so this needs none: the newest run of every topology stays, and with it any that is
under way. A removed entry becomes a smaller marker, which even a full bucket accepts, and which vanishes by itself. So
no permission other than writing is needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from reconciler.memory import journal
from reconciler.model.diagnostic import Severity
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.read_kv import entries
from reconciler.server.wire.answers import FULL_DISK, NOTHING_LEFT, Put, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence

AMPLE = 1 << 30
"""Bytes that count as room where the bucket has no limit of its own."""
FULL = frozenset({10077, NOTHING_LEFT, 10002})
"""The stream stores nothing more: the server or the account has no storage left."""
FULL_STORE = 10023
"""The server has none left for any account."""
PERMISSION = f"allow publishing to $KV.{BUCKET}.>"
STORES_NOTHING = (
    f"the server that leads bucket {BUCKET} answers but stores nothing, as it does once its disk was full: see its "
    "log, make room, and restart it"
)
VANISHES = {"KV-Operation": "DEL", "Nats-TTL": "1s"}
"""A marker that vanishes by itself."""


def severity_of(answer: Put | Refusal | NoAnswer) -> Severity:
    """Return how grave it is that the bucket did not take a record: where it stores nothing, no later record fares
    better until somebody mends that. A bucket that this user may not write, or that was sealed, is somebody's decision."""
    is_stuck = isinstance(answer, NoAnswer) and answer.why is Silence.TIMEOUT
    return Severity.ERROR if is_stuck or room_advice(answer) else Severity.WARNING


def way_out_advice(answer: Put | Refusal | NoAnswer, otherwise: str, *, permission: str = PERMISSION) -> str:
    """Return what to do about a write into the bucket that failed, by its cause. `otherwise` is for causes that only
    pass by themselves or that the message names."""
    match answer:
        case NoAnswer(why=Silence.DENIED):
            return permission
        case NoAnswer(why=Silence.TIMEOUT):
            return f"most likely {STORES_NOTHING}; then {otherwise}"
        case _:
            return room_advice(answer) or otherwise


def room_advice(answer: Put | Refusal | NoAnswer) -> str | None:
    """Return how to make room, where a write into the bucket failed for want of it."""
    match answer:
        case Refusal() if answer.is_for_want_of_disk:
            return FULL_DISK
        case Refusal(err_code=err_code) if err_code == FULL_STORE:
            return "make room in the server's store, which is full: purge or delete a stream, or raise max_file_store"
        case Refusal(err_code=err_code) if err_code in FULL:
            return (
                f"give bucket {BUCKET} room: raise max_bytes of stream KV_{BUCKET}, or the account's storage; or delete "
                f"its keys {journal.PREFIX}.>, which is the history of old runs"
            )
        case _:
            return None


async def make_room(js: JetStream, snapshot: Snapshot) -> None:
    """Make room before a lease is asked for, where the bucket looks too full for one."""
    info = snapshot.streams.get(f"KV_{BUCKET}")
    if info is not None and _is_short(info):
        await prune(js)


async def prune(js: JetStream) -> None:
    """Keep fewer and fewer runs of each topology, until the bucket is at most half full. The next run removes what
    stays."""
    most = journal.RUNS_PER_TOPOLOGY
    while (info := await _bucket_info(js)) is not None:
        is_short, keys = _is_short(info), _journal_keys(info)
        if is_short or len({*map(journal.run_number, keys)}) > most:
            await _delete_keys(js, journal.outdated_keys(keys, await _topology_by_run(js, info), most))
        if not is_short or most == 1:
            return
        most //= 2


async def _bucket_info(js: JetStream) -> Mapping[str, Json] | None:
    stream = f"KV_{BUCKET}"
    answer = await js.read(f"STREAM.INFO.{stream}", {"subjects_filter": f"$KV.{BUCKET}.{journal.PREFIX}.>"})
    return answer if isinstance(answer, Mapping) else None


def _is_short(info: Mapping[str, Json]) -> bool:
    most = info["config"].get("max_bytes", -1)
    return bool(2 * info["state"]["bytes"] > (most if most > 0 else AMPLE))


def _journal_keys(info: Mapping[str, Json]) -> list[str]:
    return [subject.removeprefix(f"$KV.{BUCKET}.") for subject in info["state"].get("subjects") or {}]


async def _topology_by_run(js: JetStream, info: Mapping[str, Json]) -> dict[int, str]:
    """The topology of each run; where that is unknown, they count as one topology's."""
    by_key = await entries(js, BUCKET, info, (journal.EVERY_BEGUN,))
    if not isinstance(by_key, dict):
        return {}
    begun = {
        number: journal.decode_run_entry(entry.value)
        for key, entry in by_key.items()
        if (number := journal.run_number(key))
    }
    return {number: str(begun_record.get("topology", "")) for number, begun_record in begun.items()}


async def _delete_keys(js: JetStream, keys: Sequence[str]) -> None:
    await asyncio.gather(*(js.put_entry(BUCKET, key, b"", expected_revision=None, headers=VANISHES) for key in keys))
