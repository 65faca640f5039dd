"""Reads topologies from files, with every kind that is registered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

from reconciler.documents.find.many_topologies import load_each
from reconciler.documents.read.complain import complain
from reconciler.documents.read.environments import is_pattern
from reconciler.documents.read.files import DISK, Tree
from reconciler.documents.read.load import Loaded
from reconciler.documents.read.values import Filled
from reconciler.journeys.plan.used import used
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, ordered
from reconciler.model.resource import Address
from reconciler.model.topology import BulkEntry, Topology


class Several(CannotContinue):
    """The files hold several topologies, and the command works on one."""

    each: tuple[Loaded, ...] = ()

    def readable(self, environment: str | None = None) -> list[Loaded]:
        """Return all topologies of one account in the order in which to apply them; of an environment, those that do not
        declare others alone. Raises CannotContinue with every problem in any of them."""
        each = [one for one in self.each if not (environment and one.environments) or environment in one.environments]
        wrong = [one for loaded in each if loaded.topology is None for one in loaded.diagnostics]
        if found := wrong or [*_claimed_twice(each), *_not_declared(each)]:
            raise CannotContinue(*found)
        return in_order(each)


def load(paths: Sequence[Path], tree: Tree = DISK) -> Loaded:
    """Load one topology from files and folders, or several, each on its own; every problem in the files is reported."""
    return load_each(paths, REGISTRY, tree)


def in_environments(paths: Sequence[Path], tree: Filled, wanted: str | None) -> list[Loaded]:
    """Load every topology in each of its environments that the name or pattern matches; all of them without one. A
    topology without environments is loaded as it is, unless one is asked for by its name."""
    whole = load(paths, tree)
    found = list[Loaded]()
    for one in whole.each or (whole,):
        names = [name for name in one.environments if fnmatchcase(name, wanted or "*")]
        if not one.environments and (wanted is None or is_pattern(wanted)):
            found.append(one)
        else:
            found += (load(one.paths, replace(tree, environment=name)) for name in names or [wanted or ""])
    return found


def told_once(each: Sequence[Loaded]) -> Iterator[Loaded]:
    """Say what is wrong in all environments of a topology once, and of anything else, in which environment it is."""
    for one in each:
        alike = [other for other in each if (other.name, other.paths) == (one.name, one.paths)]
        if len(alike) == 1:
            yield one
            continue
        shared = set.intersection(*(set(other.diagnostics) for other in alike))
        where = (one.topology or one.readable or Topology(name="")).environment
        own = [replace(found, message=f"{where}: {found.message}") for found in one.diagnostics if found not in shared]
        first = [found for found in one.diagnostics if found in shared] if one is alike[0] else []
        if own or first or not any(found.is_error for found in one.diagnostics):
            yield replace(one, diagnostics=tuple(ordered([*first, *own])))


def read(paths: Sequence[Path], tree: Tree = DISK) -> Topology:
    """Read one topology. Raises CannotContinue where there is none."""
    return topology_of(load(paths, tree))


def topology_of(loaded: Loaded) -> Topology:
    """Return the topology that was loaded. Raises Several where there are several, CannotContinue where none could be
    read."""
    if loaded.each:
        several = Several(*loaded.diagnostics)
        several.each = loaded.each
        raise several
    if loaded.topology is None:
        raise CannotContinue(*loaded.diagnostics, topology=loaded.name)
    return loaded.topology


def in_order(each: Sequence[Loaded]) -> list[Loaded]:
    """Order topologies. One that forgets an object goes before one that declares it, and one that declares an object goes
    before one that names it as `external`. One that removes a consumer or a group goes before one that removes its stream.
    Otherwise the order of the files stays."""
    ordered, left = list[Loaded](), [_Claims.of(one) for one in each]
    while left:
        free = (one for one in left if not any(other.goes_before(one) for other in left if other is not one))
        going = next(free, left[0])  # two topologies may depend on each other
        ordered.append(going.loaded)
        left.remove(going)
    return ordered


@dataclass(frozen=True, slots=True, eq=False)
class _Claims:
    """The addresses that one topology claims or gives up."""

    loaded: Loaded
    declared: Mapping[Address, Mapping[str, str]]
    """With their labels."""
    elsewhere: frozenset[Address]
    """Declared as `external`."""
    given_up: frozenset[Address]
    removed: frozenset[Address] = frozenset()
    bulk: tuple[BulkEntry, ...] = ()
    """Entries of `forget` that are about many. Only records tell what they match, so what the other declares stands in."""

    @property
    def streams(self) -> frozenset[str]:
        """What is declared, by the streams behind it: others use a bucket as `KV_` and its name."""
        return frozenset(name for one in self.declared if (name := REGISTRY.of(one).stream(one)))

    @classmethod
    def of(cls, loaded: Loaded) -> _Claims:
        if loaded.topology is None:
            return cls(loaded, {}, frozenset(), frozenset())
        resources, given_up = loaded.topology.resources, frozenset(one.address for one in loaded.topology.forget)
        elsewhere = frozenset(one.address for one in resources if one.external)
        declared = {one.address: one.spec.labels for one in resources if not one.external}
        bulk = tuple(one for one in loaded.topology.bulk if one.key == "forget")
        removed = frozenset(one.address for one in loaded.topology.removed)
        return cls(loaded, declared, elsewhere - given_up, given_up, removed, bulk)

    def goes_before(self, other: _Claims) -> bool:
        """Does it give up an address that the other declares, declare one that the other names as `external`, or remove what
        hangs on a stream that the other removes?"""
        if not self.given_up.isdisjoint(other.declared):
            return True
        if not self.streams.isdisjoint(one.name for one in other.elsewhere):
            return True
        if not {REGISTRY.of(one).stream(one) for one in other.removed}.isdisjoint(_stream_below(self.removed)):
            return True
        return any(entry.reaches(one, labels) for entry in self.bulk for one, labels in other.declared.items())


def _stream_below(removed: Iterable[Address]) -> Iterator[str]:
    """The streams of consumers and groups."""
    return (one.stream for one in removed if REGISTRY.of(one).place.within)


def _not_declared(each: Sequence[Loaded]) -> Iterator[Diagnostic]:
    """Find streams that one topology uses from another one, whose files do not declare them."""
    topologies = [loaded.topology for loaded in each if loaded.topology]
    yield from (one for topology in topologies for one in used(topology, topologies) if one.is_error)


def _claimed_twice(each: Sequence[Loaded]) -> Iterator[Diagnostic]:
    """Find objects that two topologies of one account both declare. Topologies that `expect` different places never
    meet."""
    for one, other in combinations([loaded.topology for loaded in each if loaded.topology], 2):
        if one.expect != other.expect:
            continue
        theirs = {declared.address: declared for declared in other.resources}
        for ours in one.resources:
            again = theirs.get(ours.address)
            if again and not ours.external and not again.external:
                message = (
                    f"`{ours.address}` is declared by topology {other.name} here and by {one.name} at "
                    f"{ours.where('')}; only one of them can own it"
                )
                fix = (
                    "delete it from one topology; if the two are for different accounts, run them separately "
                    "and name each one's files"
                )
                yield complain("XX523", "declared-twice", message, again.where(""), address=str(ours.address), fix=fix)
