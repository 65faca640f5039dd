"""Writes the journal of a run into bucket `reconciler`, and reads the stored runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.memory import journal
from reconciler.memory.journal import Run
from reconciler.memory.lease import Held, Holder, lease_key, read_lease
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.ledger.entries import compact_json
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Entry
from reconciler.server.read import lost_answers as settled
from reconciler.server.read.read_kv import entry, names
from reconciler.server.remember import capacity as room
from reconciler.server.wire.answers import Put, Refusal, Stored
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

HEADROOM = 1 << 10
"""Bytes of a message that are not the entry itself."""


async def begin(
    js: JetStream, number: int, holder: Holder, plan: Plan, changes: Mapping[str, Json]
) -> Diagnostic | None:
    """Write the beginning before the first step, so that a run that is cut off can be seen."""
    chunks = _in_chunks(js, changes)
    written = chunks if len(chunks) <= journal.MAX_CHANGE_CHUNKS else []
    begun = journal.begun_entry(holder, plan, len(written) or None)
    puts = [_put(js, journal.changes_key(number, index), chunk) for index, chunk in enumerate(written)]
    return _first_not_written(await asyncio.gather(_put(js, journal.begun_key(number), compact_json(begun)), *puts))


async def end(js: JetStream, number: int, finished: Finished) -> Diagnostic | None:
    """Write the end last: a journal with an end has all of its steps, or says that it has none."""
    steps = journal.step_results_entry(finished)
    chunks = _in_chunks(js, steps) if steps else []
    written = [_put(js, journal.steps_key(number, index), chunk) for index, chunk in enumerate(chunks)]
    unwritten = _first_not_written(await asyncio.gather(*written))
    ended = journal.ended_entry(finished, 0 if unwritten else len(chunks))
    unwritten = _first_not_written([await _put(js, journal.ended_key(number), compact_json(ended))]) or unwritten
    await room.prune(js)
    return unwritten


def _in_chunks(js: JetStream, content: Mapping[str, Json]) -> list[bytes]:
    """Split into chunks of the journal's size, or smaller where the server takes less at once."""
    most = max(js.pipeline.nc.max_payload - HEADROOM, HEADROOM)
    return journal.split_chunks(compact_json(content), min(journal.CHUNK, most))


def _first_not_written(answers: Iterable[Put]) -> Diagnostic | None:
    failure = next((answer for answer in answers if not isinstance(answer, Stored)), None)
    return None if failure is None else _not_written_warning(failure)


async def _put(js: JetStream, key: str, value: bytes) -> Put:
    return await settled.put(js, BUCKET, key, value, expected_revision=0)


def _not_written_warning(answer: Put) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE203", name="journal-not-written",
        message=f"what this run did is not in the journal: {answer}",
        fix=room.way_out_advice(answer, "see with `reconciler plan` what is left to do"),
    )  # fmt: skip


async def runs(js: JetStream) -> list[Run] | Refusal | NoAnswer:
    """Return all stored runs, newest first."""
    keys = await names(js, BUCKET, f"$KV.{BUCKET}.{journal.PREFIX}.>")
    if not isinstance(keys, list):
        return keys
    numbers = sorted({number for key in keys if (number := journal.run_number(key)) is not None}, reverse=True)
    return await _read_runs(js, numbers)


async def run(js: JetStream, number: int) -> Run | Refusal | NoAnswer | None:
    """Return one run with its steps; None: there is no such run."""
    runs = await _read_runs(js, [number])
    if not isinstance(runs, list):
        return runs
    if not runs:
        return None
    return await in_full(js, runs[0])


async def in_full(js: JetStream, run: Run) -> Run:
    """Return a run with what became of its steps, and what it was to change."""
    steps, changes = await asyncio.gather(
        _joined_chunks(js, [journal.steps_key(run.number, index) for index in journal.chunks_of(run.ended, "chunks")]),
        _joined_chunks(
            js, [journal.changes_key(run.number, index) for index in journal.chunks_of(run.begun, "changes")]
        ),
    )
    return replace(
        run,
        steps=journal.decode_step_results(steps) if steps else {},
        changes=journal.decode_changes(changes) if changes else None,
    )


async def _joined_chunks(js: JetStream, keys: Sequence[str]) -> bytes:
    """Join the chunks; nothing where a part is missing."""
    parts = await asyncio.gather(*(entry(js, BUCKET, key) for key in keys))
    values = [part.value for part in parts if isinstance(part, Entry)]
    return b"".join(values) if len(values) == len(keys) else b""


async def _read_runs(js: JetStream, numbers: Iterable[int]) -> list[Run] | Refusal | NoAnswer:
    found_runs: list[Run] = []
    for answer in await asyncio.gather(*(_read_run(js, number) for number in numbers)):
        if isinstance(answer, Refusal | NoAnswer):
            return answer
        if answer is not None:
            found_runs.append(answer)
    return found_runs


async def _read_run(js: JetStream, number: int) -> Run | Refusal | NoAnswer | None:
    begun, ended = await asyncio.gather(
        entry(js, BUCKET, journal.begun_key(number)), entry(js, BUCKET, journal.ended_key(number))
    )
    if not isinstance(begun, Entry):
        return begun
    if isinstance(ended, Refusal | NoAnswer):
        return ended
    if begun.deleted:
        return None
    begun_record = journal.decode_run_entry(begun.value)
    if ended is None:
        return Run(number=number, begun=begun_record, at=begun.stored, is_running=await _is_running(js, begun_record))
    return Run(
        number=number,
        begun=begun_record,
        at=begun.stored,
        ended=journal.decode_run_entry(ended.value),
        until=ended.stored,
    )


async def _is_running(js: JetStream, begun: dict[str, object]) -> bool:
    topology = str(begun.get("topology"))
    lease = await entry(js, BUCKET, lease_key(topology))
    if isinstance(lease, Refusal | NoAnswer):
        return False
    holder = read_lease(lease, topology)
    return isinstance(holder, Held) and holder.holder.run == begun.get("run")
