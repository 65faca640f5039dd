"""What a snapshot says we remember: the records of bucket `reconciler`, by the address each is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.core.diagnostic import Diagnostic, Severity
from reconciler.core.records import BUCKET, Owned, decode_key, decode_owned
from reconciler.core.resource import Address
from reconciler.core.wire import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    records: Mapping[Address, Owned] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    """Entries that cannot be understood; they are left alone."""


def read(snapshot: Snapshot) -> Ledger:
    """Every readable record by address. A missing bucket is an empty ledger."""
    records: dict[Address, Owned] = {}
    problems = []
    for key, one in snapshot.entries.get(BUCKET, {}).items():
        if one.deleted or (address := decode_key(key)) is None:
            continue
        owned = decode_owned(one)
        if isinstance(owned, Owned):
            records[address] = owned
        else:
            problems.append(_unreadable(address, key, owned))
    return Ledger(records=records, problems=tuple(problems))


def _unreadable(address: Address, key: str, why: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="LE101", name="record-unreadable", address=str(address),
        message=f"what bucket {BUCKET} remembers under {key} cannot be used: {why}; it counts as not remembered",
        fix="a newer version of this tool may have written it; otherwise delete that key",
    )  # fmt: skip
