"""Files → topology, with the kinds we have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from reconciler.documents.find.several import load_each
from reconciler.documents.read.complain import complain
from reconciler.documents.read.files import DISK, Tree
from reconciler.documents.read.load import Loaded
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.resource import Address
from reconciler.model.topology import Topology


class Several(CannotContinue):
    """There are several topologies where one is worked on."""

    each: tuple[Loaded, ...] = ()

    def readable(self) -> list[Loaded]:
        """All of them, in the order in which they stand on one another, for one account; raises whatever is wrong with any."""
        wrong = [one for loaded in self.each if loaded.topology is None for one in loaded.diagnostics]
        if found := wrong or list(_claimed_twice(self.each)):
            raise CannotContinue(*found)
        return in_order(self.each)


def load(paths: Sequence[Path], tree: Tree = DISK) -> Loaded:
    """One topology from files and folders, or every problem in them; or several, each on its own."""
    return load_each(paths, REGISTRY, tree)


def read(paths: Sequence[Path], tree: Tree = DISK) -> Topology:
    """The topology alone; without one there is nothing to go on with."""
    return topology_of(load(paths, tree))


def topology_of(loaded: Loaded) -> Topology:
    """The topology that was loaded. Raises Several where there are several, CannotContinue where none could be read."""
    if loaded.each:
        several = Several(*loaded.diagnostics)
        several.each = loaded.each
        raise several
    if loaded.topology is None:
        raise CannotContinue(*loaded.diagnostics, topology=loaded.name)
    return loaded.topology


def in_order(each: Sequence[Loaded]) -> list[Loaded]:
    """Whoever gives something up goes before those who declare it, and they before those who name it as somebody else's;
    else as the files are found."""
    ordered, left = list[Loaded](), [_Claims.of(one) for one in each]
    while left:
        free = (one for one in left if not any(other.goes_before(one) for other in left if other is not one))
        going = next(free, left[0])  # they may stand on each other
        ordered.append(going.loaded)
        left.remove(going)
    return ordered


@dataclass(frozen=True, slots=True, eq=False)
class _Claims:
    """What a topology says of addresses that others may speak of, too."""

    loaded: Loaded
    declared: frozenset[Address]
    elsewhere: frozenset[Address]
    """Named as somebody else's."""
    given_up: frozenset[Address]

    @classmethod
    def of(cls, loaded: Loaded) -> _Claims:
        if loaded.topology is None:
            return cls(loaded, frozenset(), frozenset(), frozenset())
        resources, given_up = loaded.topology.resources, frozenset(one.address for one in loaded.topology.forget)
        elsewhere = frozenset(one.address for one in resources if one.external)
        declared = frozenset(one.address for one in resources) - elsewhere
        return cls(loaded, declared, elsewhere - given_up, given_up)

    def goes_before(self, other: _Claims) -> bool:
        """Does it give up what the other declares, or declare what that names as somebody else's?"""
        return not (self.given_up.isdisjoint(other.declared) and self.declared.isdisjoint(other.elsewhere))


def _claimed_twice(each: Sequence[Loaded]) -> Iterator[Diagnostic]:
    """What would belong to two topologies of one account. Where they expect other places, they never meet."""
    for one, other in combinations([loaded.topology for loaded in each if loaded.topology], 2):
        if one.expect != other.expect:
            continue
        theirs = {declared.address: declared for declared in other.resources}
        for ours in one.resources:
            again = theirs.get(ours.address)
            if again and not ours.external and not again.external:
                message = (
                    f"`{ours.address}` is declared by topology {other.name} here and by {one.name} at {ours.where('')}; "
                    "one of them owns it"
                )
                fix = "take it out of one, or name the files of one topology where they are for two accounts"
                yield complain("XX523", "declared-twice", message, again.where(""), address=str(ours.address), fix=fix)
