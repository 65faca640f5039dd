"""What a snapshot says that reconciler remembers: the records of bucket `reconciler`, by address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from reconciler.changes.kind import Registry
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.ledger.intents import intent_key, intents
from reconciler.model.ledger.records import BUCKET, Owned, decode_key, decode_owned, encode_key
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot

Ledger = Mapping[Address, Owned]
"""Who owns what, in any topology."""

_UNHEARD = "this version does not know that kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What is remembered of an account."""

    records: Ledger = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    """Entries that cannot be understood; they are left alone."""
    is_known: bool = True
    """The bucket could be read."""


UNUSABLE = frozenset({"LE101", "LE104"})
"""Codes of entries that cannot be used: what was applied of their objects is unknown."""


def read_memory(snapshot: Snapshot, registry: Registry) -> Memory:
    """Every readable record by address; none if the bucket does not exist."""
    records: dict[Address, Owned] = {}
    problems = []
    for key, entry in snapshot.entries.get(BUCKET, {}).items():
        if entry.deleted or (address := decode_key(key)) is None:
            continue
        owned = decode_owned(entry) if registry.holds(address) else _UNHEARD
        if isinstance(owned, Owned):
            records[address] = owned
        else:
            problems.append(_unreadable_record(address, key, owned))
    return Memory(
        records=records,
        problems=(*problems, *_unreadable_intent_findings(snapshot, registry)),
        is_known=snapshot.why_bucket_unknown(BUCKET) is None,
    )


def record_of(address: Address, snapshot: Snapshot) -> Owned | None:
    """The record of one address, if there is one that can be read."""
    entry = snapshot.entries.get(BUCKET, {}).get(encode_key(address))
    owned = decode_owned(entry) if entry and not entry.deleted else None
    return owned if isinstance(owned, Owned) else None


def unreadable_warning(snapshot: Snapshot) -> Diagnostic | None:
    """A warning or an error that the records could not be read. Without them, a half-made replacement looks like
    something to create, and another owner's resource looks unowned. A user who may not read them has to live with that;
    any other user must try again."""
    if (why := snapshot.why_bucket_unknown(BUCKET)) is None:
        return None
    if snapshot.is_bucket_denied(BUCKET):
        return Diagnostic(
            severity=Severity.WARNING, code="LE105", name="ledger-unreadable",
            message=f"planned without bucket {BUCKET} ({why}), so owners and interrupted runs are unknown: apply may update what another "
            "topology owns, and replaces and deletes nothing",
            fix="let this user read it: reconciler permissions plan PATHS",
        )  # fmt: skip
    return Diagnostic(
        severity=Severity.ERROR, code="LE105", name="ledger-unreadable",
        message=f"Bucket {BUCKET}, which records what was applied before, could not be read ({why}). Nothing was changed.",
        fix=f"Try again when its leader answers: nats stream info KV_{BUCKET}",
    )  # fmt: skip


def _unreadable_intent_findings(snapshot: Snapshot, registry: Registry) -> Iterator[Diagnostic]:
    for address, intent in intents(snapshot).items():
        why = intent if isinstance(intent, str) else _UNHEARD
        if isinstance(intent, str) or not registry.holds(address):
            key = intent_key(address)
            yield Diagnostic(
                severity=Severity.WARNING, code="LE104", name="replacement-unreadable", address=str(address),
                message=f"a run began to replace it, but the entry {key} about that in bucket {BUCKET} cannot be used: {why}. "
                "Apply leaves it alone",
                fix=f"apply with the version that began it; otherwise check whether the object is as it should be, and delete {key}",
            )  # fmt: skip


def _unreadable_record(address: Address, key: str, why: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE101", name="record-unreadable", address=str(address),
        message=f"the record {key} in bucket {BUCKET} cannot be used: {why}. The resource counts as not recorded",
        fix="a newer version of reconciler may have written it: use that version; otherwise delete that key",
    )  # fmt: skip
