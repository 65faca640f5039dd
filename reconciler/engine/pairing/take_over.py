"""New owners: records of another owner that this topology takes over, because its file or the user says so.

`--take-over FROM` is about what is declared, renamed or removed here, and FROM is its owner. `moved:` with `topology/OLD` is
about everything that OLD owns: the owner has a new name. Nothing is written on the objects, so both cost nothing. What
another topology of the same run gives up first then has no owner.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date

from reconciler.changes.change import Action, Change
from reconciler.memory.remembered import Ledger
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology


def take_over_records(topology: Topology, ledger: Ledger, options: RunOptions) -> dict[Address, Owned]:
    """The records after everything has changed owners that shall."""
    take_over, today = options.take_over, options.day
    wanted = {resource.address for resource in topology.resources if not resource.external}
    wanted |= {removal.address for removal in topology.removed} | {move.origin for move in topology.moved}
    renamed = names_of_topology(topology, today)
    records = dict(ledger)
    if not take_over and renamed == {topology.name}:
        return records
    for address, owned in [*records.items()]:
        owner = _former_owner(owned, topology.name, take_over) if address in wanted else None
        if owner is not None:
            records[address] = replace(owned, topology=topology.name, source=None, taken_from=owner)
        elif owned.topology in renamed - {topology.name}:
            records[address] = replace(owned, topology=topology.name, taken_from=owned.topology)
    return records


def names_of_topology(topology: Topology, today: date) -> set[str]:
    """The topology's own name, and those that it had before."""
    moved = (move for move in topology.moved if move.is_of_topology and not (move.until and today > move.until))
    return {topology.name, *(move.origin.name for move in moved)}


def _former_owner(owned: Owned, topology: str, take_over: Collection[str]) -> str | None:
    """The named owner: a topology, or, for a topology of the same name, the repository it came from."""
    owner = owned.source if owned.topology == topology else owned.topology
    return owner if owner in take_over else None


def with_new_records(changes: Mapping[Address, Change]) -> Iterator[tuple[Address, Change]]:
    """A resource that changes owners needs a new record, even if it is already as wanted."""
    for address, change in changes.items():
        if change.owned is not None and change.owned.taken_from:
            reason = f"taken over from {change.owned.taken_from}"
            action = Action.ADOPT if change.action is Action.KEEP else change.action
            yield address, replace(change, action=action, reason=change.reason or reason)


def unused_take_overs(take_over: Iterable[str], ledger: Ledger) -> Iterator[Diagnostic]:
    """Warnings about owners that own nothing here: a misspelt owner must not pass for a plan that took something
    over."""
    taken = {owned.taken_from for owned in ledger.values()} - {""}
    for owner in take_over:
        if owner not in taken:
            yield Diagnostic(
                severity=Severity.WARNING, code="XX915", name="takes-nothing-over",
                message=f"--take-over {shlex.quote(owner)} takes over nothing: "
                f"{owner} owns nothing that is declared, renamed or removed here",
                fix="leave it out, or name the owner as the refusal (XX101, XX102) does",
            )  # fmt: skip
