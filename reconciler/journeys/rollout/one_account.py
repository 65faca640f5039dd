"""Environments of one run, or targets of a fleet, that turn out to be one account: where they want different things of it
under one topology's name, each apply would take back what another one did."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from reconciler.documents.parse.nodes import error_at
from reconciler.journeys.saved.saved_plan import AccountPlace
from reconciler.kinds.fields.words import listed
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Address, Terms
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """An environment or a target, with what it wants."""

    name: str
    topology: Topology
    accounts: tuple[Hashable, ...]
    """Names of its account: two claimants that share one are at one account."""

    @classmethod
    def at(cls, name: str, topology: Topology, snapshot: Snapshot, place: Hashable) -> Claimant:
        """Return the claimant that found this; `place` says how it is reached."""
        held = _account_key(snapshot)
        return cls(name=name, topology=topology, accounts=(place,) if held is None else (place, held))


def contradictions(
    claimants: Sequence[Claimant], word: str, outcome: str = "Nothing was changed."
) -> Iterator[tuple[Claimant, Diagnostic]]:
    """Yield every one that wants something else than another one of the same account, with what to say of it."""
    groups = dict[Hashable, dict[str, Claimant]]()
    for claimant in claimants:
        for account in claimant.accounts:
            groups.setdefault((account, claimant.topology.name), {})[claimant.name] = claimant
    told = set[tuple[str, str]]()
    for group in groups.values():
        first, *others = group.values()
        differing = next(filter(None, (_differing(first, other) for other in others)), None)
        for claimant in group.values() if differing else ():
            if (claimant.name, claimant.topology.name) not in told:
                told.add((claimant.name, claimant.topology.name))
                yield claimant, _diagnostic([*group], claimant.topology.name, str(differing), word, outcome)


def _account_key(snapshot: Snapshot) -> Hashable | None:
    """Equal only for looks at one account; None where nothing tells it from another one of its name."""
    place = AccountPlace.of(snapshot)
    if place.id is None and not place.streams:
        return None
    held = (place.id, place.reached) if place.id else tuple(sorted(place.streams.items()))
    return place.account, place.domain, place.cluster or place.server, held


def _differing(one: Claimant, other: Claimant) -> Address | None:
    """The first object of which they want different things."""
    ours, theirs = _specs(one.topology), _specs(other.topology)
    return next((a for a in sorted(ours.keys() | theirs.keys()) if ours.get(a) != theirs.get(a)), None)


def _specs(topology: Topology) -> dict[Address, Terms]:
    return {resource.address: resource.spec for resource in topology.resources}


def _diagnostic(names: Sequence[str], topology: str, differing: str, word: str, outcome: str) -> Diagnostic:
    message = (
        f"{word}s {listed(names)} lead to one account, and want different things of it as topology "
        f"{topology}, for example of {differing}. An apply of one would take back what the other did. {outcome}"
    )
    fix = f"correct where one of them leads; or give each {word} a topology of its own, such as `topology: {topology}-${{region}}`"
    return error_at("XX523", "declared-twice", message, None, fix=fix)
