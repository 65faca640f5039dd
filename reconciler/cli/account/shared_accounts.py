"""Environments of one run, or targets of a fleet, that are one account and want different things of it: none of them is
applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field

from reconciler.cli.account.planning import MadePlan
from reconciler.cli.shared.each_topology import Unit, UnitResults
from reconciler.journeys.plan.files import load, topologies_of
from reconciler.journeys.rollout.one_account import Claimant, contradictions
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream


def refuse_shared_accounts(parts: Sequence[UnitResults[MadePlan]], word: str = "environment") -> None:
    """Take away the plans of units that are one account, and want different things of it."""
    members = [_claimant(part.unit, made) for part in parts for made in part.results if isinstance(made, MadePlan)]
    wrong = {(member.name, member.topology.name): finding for member, finding in contradictions(members, word)}
    for part in parts:
        for number, made in enumerate(part.results):
            if isinstance(made, MadePlan) and (finding := wrong.get((part.unit.name, made.topology.name))):
                part.results[number] = CannotContinue(finding, topology=made.topology.name)


def refuse_shared_places(units: Sequence[Unit]) -> None:
    """Raise CannotContinue where files alone show that units at one place want different things of it."""
    places = [unit.place for unit in units]
    claimants = [claimant for unit in units if places.count(unit.place) > 1 for claimant in _claimants_in_files(unit)]
    for _, finding in contradictions(claimants, "environment"):
        raise CannotContinue(finding)


def _claimants_in_files(unit: Unit) -> Iterator[Claimant]:
    """Yield nothing where the files are wrong, which is reported when the unit is worked on."""
    try:
        topologies = topologies_of(load(unit.paths, unit.values.tree()), unit.values.environment)
    except CannotContinue:
        return
    for topology in topologies:
        yield Claimant(name=unit.name, topology=topology, accounts=((unit.place, topology.expect),))


@dataclass(slots=True)
class Claims:
    """What the environments want that were planned so far in this run."""

    _claimants: dict[tuple[str, str], Claimant] = field(default_factory=dict)

    def add(self, unit: Unit, made: MadePlan) -> None:
        """Raise CannotContinue where an earlier one is the same account, and wants something else."""
        claimant = _claimant(unit, made)
        self._claimants[unit.name, made.topology.name] = claimant
        outcome = f"Nothing of environment {unit.name} was applied."
        for contradicting, finding in contradictions([*self._claimants.values()], "environment", outcome):
            if contradicting is claimant:
                raise CannotContinue(finding, topology=made.topology.name)

    async def renew(self, unit: Unit, made: MadePlan, js: JetStream) -> None:
        """Look at the account again: after an apply it is no longer what it was known by."""
        with suppress(CannotContinue):
            after = Claimant.at(unit.name, made.topology, await observe(js), unit.place)
            self._claimants[unit.name, made.topology.name] = after


def _claimant(unit: Unit, made: MadePlan) -> Claimant:
    return Claimant.at(unit.name, made.topology, made.planned.snapshot, unit.place)
