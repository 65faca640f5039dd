"""What a snapshot says we remember: the records of bucket `reconciler`, by the address each is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.changes.kind import Registry
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.intents import intent_key, intents
from reconciler.model.records import BUCKET, Owned, decode_key, decode_owned
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot

_UNHEARD = "this version knows no such kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What is remembered of an account."""

    records: Mapping[Address, Owned] = field(default_factory=dict)
    """Who owns what, whatever topology."""
    problems: tuple[Diagnostic, ...] = ()
    """Entries that cannot be understood; they are left alone."""
    is_known: bool = True
    """The bucket could be read."""


def read(snapshot: Snapshot, registry: Registry) -> Memory:
    """Every readable record by address. In a missing bucket nothing is remembered."""
    records: dict[Address, Owned] = {}
    problems = []
    for key, one in snapshot.entries.get(BUCKET, {}).items():
        if one.deleted or (address := decode_key(key)) is None:
            continue
        owned = decode_owned(one) if registry.holds(address) else _UNHEARD
        if isinstance(owned, Owned):
            records[address] = owned
        else:
            problems.append(_unreadable(address, key, owned))
    return Memory(
        records=records,
        problems=(*problems, *_lost_intents(snapshot, registry)),
        is_known=snapshot.unknown_bucket(BUCKET) is None,
    )


def unread(snapshot: Snapshot) -> Diagnostic | None:
    """Without what was applied before, a half-made replacement looks like something to make, and what is another's like
    nobody's. Who may not read it has to live with that; anybody else looks again."""
    if (why := snapshot.unknown_bucket(BUCKET)) is None:
        return None
    if snapshot.denied_bucket(BUCKET):
        return Diagnostic(
            severity=Severity.WARNING, code="LE105", name="ledger-unreadable",
            message=f"planned without bucket {BUCKET} ({why}): whose something is, and whether a run was cut off, nobody knows",
            fix="let this user read it: reconciler permissions plan PATHS",
        )  # fmt: skip
    return Diagnostic(
        severity=Severity.ERROR, code="LE105", name="ledger-unreadable",
        message=f"What was applied before could not be read: bucket {BUCKET} ({why}). Nothing was changed.",
        fix=f"Try again when its leader answers: nats stream info KV_{BUCKET}",
    )  # fmt: skip


def _lost_intents(snapshot: Snapshot, registry: Registry) -> Iterator[Diagnostic]:
    for address, intent in intents(snapshot).items():
        why = intent if isinstance(intent, str) else _UNHEARD
        if isinstance(intent, str) or not registry.holds(address):
            key = intent_key(address)
            yield Diagnostic(
                severity=Severity.WARNING, code="LE104", name="replacement-unreadable", address=str(address),
                message=f"a run began to replace it, and what bucket {BUCKET} says of that under {key} cannot be used: {why}; "
                "it is left alone",
                fix=f"apply with the version that began it; otherwise look whether it is as it should be, and delete {key}",
            )  # fmt: skip


def _unreadable(address: Address, key: str, why: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE101", name="record-unreadable", address=str(address),
        message=f"what bucket {BUCKET} remembers under {key} cannot be used: {why}; it counts as not remembered",
        fix="a newer version of this tool may have written it; otherwise delete that key",
    )  # fmt: skip
