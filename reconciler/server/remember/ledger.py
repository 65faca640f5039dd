"""The ledger: KV bucket `reconciler` of the account, with one entry per resource that a topology owns.

Nothing is written on the objects: an extra metadata key would make an application's own identical create fail.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence

from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.ledger.entries import LEAST_RESERVED, bucket_replicas, compact_json, reserved_bytes
from reconciler.model.ledger.records import BUCKET, ID_KEY, Owned, decode_key, encode_key, encode_owned
from reconciler.model.resource import Address, Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.server.read import lost_answers as settled
from reconciler.server.remember.capacity import room_advice, severity_of, way_out_advice
from reconciler.server.wire.answers import (
    NO_PEERS,
    NOTHING_LEFT,
    Answer,
    Conflict,
    Put,
    Refusal,
    Stored,
    advice_for,
    is_passing,
)
from reconciler.server.wire.api import JetStream, Pauses
from reconciler.server.wire.pipeline import NoAnswer, Silence

STREAM = f"KV_{BUCKET}"
EXISTS = 10058
TOO_FEW_PEERS = frozenset({NO_PEERS, 10074})

PERMISSIONS = f"allow publishing to $JS.API.STREAM.CREATE.{STREAM} and $KV.{BUCKET}.>"

NotStored = Conflict | Refusal | NoAnswer
Record = Owned | None
"""What to record for an address; None: its record is removed."""


def revisions(snapshot: Snapshot) -> dict[Address, int]:
    """Return the revision of each record's key, including deletion markers."""
    entries = snapshot.entries.get(BUCKET, {}).items()
    return {address: entry.revision for key, entry in entries if (address := decode_key(key)) is not None}


def next_revision(snapshot: Snapshot) -> int:
    """Return the revision of the next entry after `ensure_bucket`, unless somebody else writes one before."""
    state = snapshot.streams.get(STREAM, {}).get("state") or {}
    return int(state.get("last_seq", 0)) + (ID_KEY not in snapshot.entries.get(BUCKET, {})) + 1


async def ensure_bucket(js: JetStream, snapshot: Snapshot) -> Diagnostic | None:
    """Make the bucket and its id on the first apply, or return why this user cannot have them, which stops nothing
    else."""
    if STREAM not in snapshot.streams:
        answer = await _create_with_replicas(js, snapshot.target)
        if isinstance(answer, Refusal | NoAnswer) and not (isinstance(answer, Refusal) and answer.err_code == EXISTS):
            fix = advice_for(answer) if isinstance(answer, Refusal) else PERMISSIONS
            return _unwritable_bucket_diagnostic(answer, "the bucket could not be created", fix, Severity.WARNING)
    if ID_KEY not in snapshot.entries.get(BUCKET, {}):  # also where an earlier run got no further than the bucket
        return await _write_id(js)
    return None


async def _create_with_replicas(js: JetStream, target: Target) -> Answer:
    """A cluster does not say how many servers it has, so this just tries."""
    answer = await _create_with_room(js, target, replicas := bucket_replicas(target))
    if isinstance(answer, Refusal) and answer.err_code in TOO_FEW_PEERS and replicas > 1:
        answer = await _create_with_room(js, target, 1)
    return answer


async def _create_with_room(js: JetStream, target: Target, replicas: int) -> Answer:
    """Ask for half as much while that is more than the account or the server has left to reserve."""
    reserved = reserved_bytes(target)
    while True:
        answer = await _create_bucket(js, _bucket_config(reserved, replicas))
        reserved //= 2
        if not (isinstance(answer, Refusal) and answer.err_code == NOTHING_LEFT and reserved >= LEAST_RESERVED):
            return answer


async def _create_bucket(js: JetStream, config: Mapping[str, Json]) -> Answer:
    """Ask again until the server says whether the bucket is there."""

    async def read_existing() -> Answer | None:
        info = await js.read(f"STREAM.INFO.{STREAM}")
        return info if isinstance(info, Mapping) else None

    return await settled.write_until_known(
        js, lambda: js.write(f"STREAM.CREATE.{STREAM}", config, level=1), read_existing
    )


async def _write_id(js: JetStream) -> Diagnostic | None:
    """Write the id; the first writer decides it. In a cluster the new bucket may need a moment until it listens."""
    with Pauses(js.patience, f"for bucket {BUCKET}, which was just made, to take its first entry") as pauses:
        while isinstance(answer := await _put_id(js), Refusal | NoAnswer):
            if not (is_passing(answer) and await pauses.wait()):
                return _unwritable_bucket_diagnostic(
                    answer,
                    "the bucket's id could not be written",
                    way_out_advice(answer, PERMISSIONS),
                    severity_of(answer),
                )
    return None


async def _put_id(js: JetStream) -> Put:
    return await js.put_entry(BUCKET, ID_KEY, secrets.token_hex(16).encode(), expected_revision=0)


def _bucket_config(reserved: int, replicas: int) -> dict[str, Json]:
    bound = {"max_bytes": reserved} if reserved else {}
    return {
        "name": STREAM, "subjects": [f"$KV.{BUCKET}.>"], "max_msgs_per_subject": 1, "discard": "new",
        "allow_rollup_hdrs": True, "deny_delete": True, "allow_direct": True, "allow_msg_ttl": True,
        "num_replicas": replicas, **bound,
    }  # fmt: skip


def _unwritable_bucket_diagnostic(answer: Refusal | NoAnswer, attempt: str, fix: str, severity: Severity) -> Diagnostic:
    """A user without permission or room continues without the bucket. Where the bucket may be there in a moment,
    somebody else may be at work, and only the bucket keeps two applies apart."""
    if is_passing(answer):
        message = f"Bucket {BUCKET}, which keeps two applies apart, cannot be used yet: {attempt} ({answer}). Nothing else was changed."
        fix = f"Apply again when the server answers: nats stream info {STREAM}"
        raise CannotContinue.because("LE105", "ledger-unreadable", message, fix=fix)
    return Diagnostic(
        severity=severity, code="LE102", name="ledger-not-writable",
        message=f"what is applied cannot be recorded as owned: {attempt}: {answer}; drift and removals need that",
        fix=fix,
    )  # fmt: skip


async def write(
    js: JetStream, records: Mapping[Address, Record], revisions_read: Mapping[Address, int]
) -> list[Diagnostic]:
    """Write or drop many records at once, each expecting the revision it was read at (absent: no entry).

    Losing a record costs three-way drift, never data: an unwritten record is reported, and no step fails.
    """
    writes = (_write_record(js, address, record, revisions_read.get(address, 0)) for address, record in records.items())
    answers = await asyncio.gather(*writes)
    unwritten: dict[tuple[bool, object], list[tuple[Address, NotStored]]] = {}
    for (address, record), put in zip(records.items(), answers, strict=True):
        if not isinstance(put, Stored):
            unwritten.setdefault((record is None, _failure_kind(put)), []).append((address, put))
    return [_unwritten_record_diagnostic(those, is_left=is_left) for (is_left, _), those in unwritten.items()]


def _failure_kind(answer: NotStored) -> object:
    """The text of an answer without the key or revision it names, so that similar answers count as one."""
    if isinstance(answer, NoAnswer):
        # the reason why nothing was sent is a sort of its own
        return str(answer) if answer.why is Silence.UNSENT else answer.why
    return answer.err_code if isinstance(answer, Refusal) else Conflict


async def _write_record(js: JetStream, address: Address, record: Record, revision: int) -> Put:
    """Write a record; a value that is there already was written all the same, or by an apply we waited for."""
    key = encode_key(address)
    if record is None:
        return await settled.delete(js, BUCKET, key, expected_revision=revision)
    value = compact_json(encode_owned(record))
    return await settled.put(js, BUCKET, key, value, expected_revision=revision, whoever=True)


def _unwritten_record_diagnostic(those: Sequence[tuple[Address, NotStored]], *, is_left: bool) -> Diagnostic:
    """Report failures once per sort, in the words of the first: a lost lease is one failure, however much was applied.
    `is_left` says that the record was to be removed."""
    address, answer = those[0]
    deed, nor, again = (
        ("done, but still recorded as owned", "so are", "apply again, which forgets it")
        if is_left
        else ("applied, but not recorded as owned", "nor are", "apply again, which adopts whatever is not recorded")
    )
    others = f" ({nor} {len(those) - 1:_} others)" if those[1:] else ""
    room = room_advice(answer)
    return Diagnostic(
        severity=severity_of(answer), code="LE103", name="record-not-written", address=str(address),
        message=f"{deed}{others}: {answer}", fix=f"{room}; then {again}" if room else way_out_advice(answer, again),
    )  # fmt: skip
