"""One look at an account: how everything declared or owned there stands, and what the rules say of what strayed.

Pure, and all there is to it: the command looks at one account with this, the fleet at a thousand. What only further
reads could tell (messages behind a change) stays open; the rules are told that nobody asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from reconciler.changes.kind import Registry
from reconciler.changes.rule import Verdict, View
from reconciler.engine.decide import Options, idle_patterns, questions, selected
from reconciler.engine.judging import judged_all
from reconciler.engine.reconcile import World, reconcile
from reconciler.engine.target_check import check_place
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, drift
from reconciler.memory import remembered
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.records import BUCKET
from reconciler.model.resource import Address
from reconciler.model.topology import Topology
from reconciler.model.wire import Snapshot, Unanswered

NOBODY_ASKED = "only what is there was looked at"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookOptions:
    """Which of it is looked at, by whom and when."""

    today: date
    source: str | None = None
    """Repository the files come from, where known."""
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def options(self) -> Options:
        return Options(today=self.today, only=self.only, exclude=self.exclude)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftFound:
    """What strayed, and what it was found in."""

    drift: Drift
    world: World
    verdicts: Mapping[Address, Sequence[Verdict]] = field(default_factory=dict)
    """Of what strayed or waits: what the rules say to making it as the file says."""


def look(topology: Topology, snapshot: Snapshot, registry: Registry, part: LookOptions) -> DriftFound:
    """Raises CannotContinue where this is another place than the files are for."""
    check_place(topology, snapshot.target)
    owned = remembered.read(snapshot, registry)
    known = snapshot.unknown_bucket(BUCKET) is None
    world = reconcile(topology, snapshot, owned.records, registry, ledger_known=known, today=part.today)
    found = drift(
        topology, world, snapshot.target,
        ledger_known=known, source=part.source, today=part.today, selected=_chosen(world, part),
    )  # fmt: skip
    verdicts = _judged(found, world, _view(topology, snapshot, world, known, part), registry)
    shown = replace(
        found,
        items=tuple(_with(item, verdicts) for item in found.items) if verdicts else found.items,
        diagnostics=(*owned.problems, *found.diagnostics, *_idle(world, part)),
    )
    return DriftFound(drift=shown, world=world, verdicts=verdicts)


def _idle(world: World, part: LookOptions) -> Iterable[Diagnostic]:
    """A misspelt selection must not pass for an account without drift."""
    return idle_patterns(world, part.options)


def _chosen(world: World, part: LookOptions) -> frozenset[Address] | None:
    if not (part.only or part.exclude):
        return None
    return frozenset(address for address, change in world.changes.items() if selected(change, part.options))


def _view(topology: Topology, snapshot: Snapshot, world: World, known: bool, part: LookOptions) -> View:
    return world.view(topology.name, snapshot, source=part.source, ledger_known=known)


def _judged(found: Drift, world: World, view: View, registry: Registry) -> dict[Address, list[Verdict]]:
    """Of what does not stand as declared, and nothing else: the rest has nothing to be judged."""
    addresses = [Address.parse(item.address) for item in found.items]
    part = replace(world, changes={address: world.changes[address] for address in addresses})
    open_ = dict.fromkeys(questions(part, view, registry), Unanswered(NOBODY_ASKED))
    return judged_all(part, replace(view, facts=open_), registry)


def _with(item: Item, verdicts: Mapping[Address, Sequence[Verdict]]) -> Item:
    """Each verdict at the field it is about; what is about none of them, at the object."""
    said = verdicts.get(Address.parse(item.address), ())
    fields = tuple(replace(one, verdicts=tuple(v for v in said if _is_about(v, one))) for one in item.fields)
    rest = tuple(verdict for verdict in said if not any(_is_about(verdict, one) for one in item.fields))
    return replace(item, fields=fields, verdicts=rest)


def _is_about(verdict: Verdict, one: FieldDrift) -> bool:
    """The field itself, something in it, or something around it."""
    return _is_in(one.path, verdict.path) or _is_in(verdict.path, one.path)


def _is_in(path: str, other: str) -> bool:
    return path == other or (other != "" and path.startswith((f"{other}.", f"{other}[")))
