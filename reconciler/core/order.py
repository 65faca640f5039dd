"""The order of changes: what a resource needs comes before it, deletions run in reverse, and what is blocked stops
whatever depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from reconciler.core.diff import Action, Change
from reconciler.core.kind import Registry
from reconciler.core.resource import Address
from reconciler.core.wire import Step

Changes = Mapping[Address, Change]


@dataclass(slots=True)
class Graph:
    """Edges between changes that write: each address with what must be done before it."""

    before: dict[Address, set[Address]]
    wishes: dict[Address, set[Address]] = field(default_factory=dict)
    """Those of the edges that a cycle may drop: an origin that exists later only delays the copying."""


def graph(changes: Changes, registry: Registry) -> Graph:
    writing = {address: change for address, change in changes.items() if change.action.writes}
    edges = Graph(before={address: set() for address in writing})
    for address, change in writing.items():
        for parent in _parents(address, registry):
            first, then = (address, parent) if change.action is Action.DELETE else (parent, address)
            _require(edges, first, then)
        for origin in registry.of(address).needs(change.desired) if change.desired else ():
            if origin in writing and origin != address:
                edges.before[address].add(origin)
                edges.wishes.setdefault(address, set()).add(origin)
    for first, then in registry.order(writing):
        _require(edges, first, then)
    return _without_cycles(edges)


def _require(edges: Graph, first: Address, then: Address) -> None:
    if first in edges.before and then in edges.before:
        edges.before[then].add(first)


def _parents(address: Address, registry: Registry) -> tuple[Address, ...]:
    within = registry.of(address).place.within
    return (Address(within, address.names[:-1]),) if within else ()


def _without_cycles(edges: Graph) -> Graph:
    """Streams may source each other in a ring: drop a wish of the ring until none is left. A ring without a wish is a
    swap of subjects, which its own rule refuses; it only must not stop everything else."""
    while cycle := _cycle(edges):
        # In graphlib's cycle each node comes before the next one.
        ring = list(pairwise(cycle))
        first, then = next((edge for edge in ring if edge[0] in edges.wishes.get(edge[1], ())), ring[0])
        edges.before[then].discard(first)
        edges.wishes.get(then, set()).discard(first)
    return edges


def _cycle(edges: Graph) -> list[Address]:
    try:
        TopologicalSorter(edges.before).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def blocked_by(edges: Graph, changes: Changes, blocked: set[Address], registry: Registry) -> dict[Address, Address]:
    """Changes that cannot go ahead because something before them is blocked → the culprit."""
    found: dict[Address, Address] = {}
    for address in TopologicalSorter(edges.before).static_order():
        if address in blocked:
            continue
        for first in edges.before[address]:
            culprit = first if first in blocked else found.get(first)
            if culprit and not _goes_on(changes[first], changes[address], registry):
                found[address] = culprit
    return found


def _goes_on(first: Change, then: Change, registry: Registry) -> bool:
    """A blocked update of something live does not stop what merely needs it to be there; what inherits from the very
    fields that stay as they are would be planned anew for ever."""
    if first.action is not Action.UPDATE or first.live is None or then.address.stream != first.address.stream:
        return False
    return not first.touches(*registry.of(then.address).inherits)


def ordered_steps(edges: Graph, made: Mapping[Address, tuple[Step, ...]]) -> tuple[Step, ...]:
    """All steps as one graph. Steps that several changes share (the bucket of the groups) have one id and stand once."""
    ids = {step.id for steps in made.values() for step in steps}
    linked: dict[str, Step] = {}
    for address in TopologicalSorter(edges.before).static_order():
        before = tuple(_last_ids(sorted(edges.before[address]), made))
        for step in made.get(address, ()):
            if step.id not in linked:
                linked[step.id] = _linked(step, before, ids)
    return tuple(linked.values())


def _last_ids(addresses: Iterable[Address], made: Mapping[Address, tuple[Step, ...]]) -> Iterator[str]:
    return (step.id for address in addresses for step in made.get(address, ()) if step.undoes is None)


def _linked(step: Step, before: tuple[str, ...], ids: set[str]) -> Step:
    after = tuple(dict.fromkeys(name for name in (*before, *step.after) if name in ids and name != step.id))
    return step if after == step.after else replace(step, after=after)
