"""The order of changes: what a resource needs comes before it, and deletions run in reverse. What cannot be done in one
step is done in two stages. A blocked change stops everything that depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import IntEnum
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from reconciler.changes import stages
from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Registry
from reconciler.changes.stages import FirstStage, Tie
from reconciler.changes.view import View
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Resource
from reconciler.model.wire.steps import Step

Changes = Mapping[Address, Change]


class ChangeStage(IntEnum):
    """A change in one step has only the stage DONE."""

    FIRST = 0
    DONE = 1


Node = tuple[Address, ChangeStage]


@dataclass(kw_only=True)
class Graph:
    """Ties between changes that write, and changes that are made in two stages."""

    writing: tuple[Address, ...]
    ties: list[Tie]
    creating: frozenset[Address] = frozenset()
    first_stages: dict[Address, FirstStage] = field(default_factory=dict)

    def before(self) -> dict[Node, dict[Node, Tie | None]]:
        """Each stage with the stages that must be done before it, and why. None: the first stage of the same change."""
        stages_before: dict[Node, dict[Node, Tie | None]] = {
            (address, ChangeStage.DONE): {} for address in self.writing
        }
        for address in self.first_stages:
            stages_before[address, ChangeStage.FIRST] = {}
            stages_before[address, ChangeStage.DONE][address, ChangeStage.FIRST] = None
        for tie in self.ties:
            if tie.first != tie.then:
                stages_before[self._taking_node(tie)].setdefault(self._giving_node(tie), tie)
        return stages_before

    def _taking_node(self, tie: Tie) -> Node:
        """A new object exists from its first stage on, so that already waits for everything but interest in it, and what
        it takes last."""
        first_stage = self.first_stages.get(tie.then) if tie.then in self.creating else None
        is_early = first_stage is not None and tie.gives not in (stages.INTEREST, *first_stage.fields)
        return (tie.then, ChangeStage.FIRST if is_early else ChangeStage.DONE)

    def _giving_node(self, tie: Tie) -> Node:
        is_early = tie.first in self.first_stages and tie.gives not in ("", stages.INTEREST)
        return (tie.first, ChangeStage.FIRST if is_early else ChangeStage.DONE)

    @cached_property
    def stages(self) -> dict[Node, list[Node]]:
        """Each stage with those before it, once no ring is left; always in the same order."""
        return {node: sorted(before) for node, before in self.before().items()}


def build_graph(changes: Changes, registry: Registry, view: View) -> Graph:
    """The ties between all changes that write. To break a ring, a weak tie is dropped or a change is made in two
    stages."""
    writing = {address: change for address, change in changes.items() if change.action.writes}
    if not writing:
        return Graph(writing=(), ties=[])
    ties = [*_existence_ties(writing, registry), *registry.order(view)]
    writing_ties = [tie for tie in dict.fromkeys(ties) if tie.first in writing and tie.then in writing]
    creating = frozenset(address for address, change in writing.items() if change.action is Action.CREATE)
    edges = Graph(writing=tuple(writing), ties=writing_ties, creating=creating)
    gives = stages.fields_given(writing_ties)

    def first_stage(address: Address) -> FirstStage | None:
        change = writing[address]
        if address in edges.first_stages or not stages.is_divisible(change):
            return None
        return registry.first_stage(change, gives.get(address, frozenset()) - {stages.INTEREST}, view)

    for tie in writing_ties:
        if tie.first == tie.then and (stage := first_stage(tie.first)):
            edges.first_stages[tie.first] = stage
    while ring := _find_cycle(edges):
        weakest = max(ring, key=lambda tie: tie.weak)
        if weakest.weak:
            edges.ties.remove(weakest)
            continue
        ways = [(stage.cost, tie.first, stage) for tie in ring if tie.gives and (stage := first_stage(tie.first))]
        if ways:
            _, address, stage = min(ways, key=lambda way: way[:2])
            edges.first_stages[address] = stage
        else:
            edges.ties.remove(ring[0])  # nobody knows a way; this must not stop everything else
    return edges


def _existence_ties(writing: Changes, registry: Registry) -> Iterator[Tie]:
    """Parents exist before their children and are deleted after them. Origins should exist before their copies."""
    for address, change in writing.items():
        for parent in _parent_addresses(address, registry):
            above = writing.get(parent)
            is_there = above is not None and above.action is Action.UPDATE
            weak = stages.BETTER if is_there else stages.NEEDED
            if change.action is Action.DELETE:
                yield Tie(address, parent, weak=weak)
            else:
                is_new = above is not None and above.action is Action.CREATE
                yield Tie(parent, address, gives=stages.EXISTENCE if is_new else "", weak=weak)
        for origin in _needed_addresses(address, change.desired, registry):
            if origin != address:
                is_new = origin in writing and writing[origin].action is Action.CREATE
                gives, weak = (stages.EXISTENCE, stages.BETTER) if is_new else ("", stages.USUAL)
                yield Tie(origin, address, gives=gives, weak=weak)


def _needed_addresses(address: Address, resource: Resource | None, registry: Registry) -> Iterator[Address]:
    """All addresses under which the streams may be declared that must exist first."""
    for stream in registry.of(address).needs(resource) if resource else ():
        yield from registry.backed_by(stream)


def _parent_addresses(address: Address, registry: Registry) -> tuple[Address, ...]:
    """Addresses under which the stream that it hangs on may be declared."""
    return tuple(registry.backed_by(address.stream)) if registry.of(address).place.within else ()


def _find_cycle(edges: Graph) -> list[Tie]:
    """The ties of one ring, if there is one."""
    before = edges.before()
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        ring = list(error.args[1])  # each one comes before the next
        return [tie for first, then in pairwise(ring) if (tie := before[then][first])]
    return []


def find_blocked(edges: Graph, changes: Changes, blocked: set[Address], registry: Registry) -> dict[Address, Address]:
    """Changes that cannot be made because something before them is blocked → the blocked address."""
    following: dict[Address, list[Tie]] = {}
    for tie in (*edges.ties, *_ties_to_missing(changes, registry), *_deletions_with_parents(changes, registry)):
        if tie.first != tie.then:
            following.setdefault(tie.first, []).append(tie)
    culprits: dict[Address, Address] = {}
    todo = [(address, address) for address in sorted(blocked, reverse=True)]
    while todo:
        address, culprit = todo.pop()
        for tie in following.get(address, ()):
            if tie.then in blocked or tie.then in culprits or _may_continue(tie, changes, registry):
                continue
            culprits[tie.then] = culprit
            todo.append((tie.then, culprit))
    return culprits


def _ties_to_missing(changes: Changes, registry: Registry) -> Iterator[Tie]:
    """A change cannot newly depend on, or copy, something that could not be read, or that others have yet to create.
    Changes that already do so may continue."""
    for address, change in changes.items():
        if change.desired is None or not change.action.writes:
            continue
        wanted = (*_parent_addresses(address, registry), *_needed_addresses(address, change.desired, registry))
        dependencies = (
            (*_parent_addresses(address, registry), *_needed_addresses(address, change.live, registry))
            if change.live
            else ()
        )
        for other in wanted:
            if other not in dependencies and other in changes and _is_missing(changes[other]):
                yield Tie(other, address)


def _is_missing(change: Change) -> bool:
    return change.live is None and change.action in (Action.UNKNOWN, Action.KEEP)


def _deletions_with_parents(changes: Changes, registry: Registry) -> Iterator[Tie]:
    """If an object and its parent are both deleted, its loss is judged as part of the parent's. So it stays if the parent
    does."""
    for address, change in changes.items():
        if change.action is Action.DELETE:
            for parent in _parent_addresses(address, registry):
                if parent in changes and changes[parent].action is Action.DELETE:
                    yield Tie(parent, address)


def _may_continue(tie: Tie, changes: Changes, registry: Registry) -> bool:
    """A blocked update of a live resource does not stop changes that only need it to exist. A change that inherits the
    blocked fields is stopped: it would be planned again forever."""
    first, then = changes[tie.first], changes[tie.then]
    if tie.gives == stages.INTEREST:
        return True
    if tie.gives or first.action is not Action.UPDATE or first.live is None:
        return False
    if then.address.stream != first.address.stream:
        return False
    return not first.touches(*registry.of(then.address).inherits)


def order_steps(edges: Graph, steps_by_node: Mapping[Node, tuple[Step, ...]]) -> tuple[Step, ...]:
    """All steps as one graph. Steps that several changes share (the bucket of the groups) have one id and appear
    once."""
    ids = {step.id for steps in steps_by_node.values() for step in steps}
    linked: dict[str, Step] = {}
    for node in TopologicalSorter(edges.stages).static_order():
        before = tuple(_last_ids(edges.stages[node], edges, steps_by_node))
        for step in steps_by_node.get(node, ()):
            if step.id not in linked:
                linked[step.id] = _link_step(step, before, ids)
    return tuple(linked.values())


def _last_ids(nodes: Iterable[Node], edges: Graph, steps_by_node: Mapping[Node, tuple[Step, ...]]) -> Iterator[str]:
    """Ids of the steps of these stages; for a stage without steps, those of the stages before it."""
    for node in nodes:
        if steps := steps_by_node.get(node, ()):
            yield from (step.id for step in steps if step.undoes is None)
        else:
            yield from _last_ids(edges.stages[node], edges, steps_by_node)


def _link_step(step: Step, before: tuple[str, ...], ids: set[str]) -> Step:
    after = tuple(dict.fromkeys(name for name in (*before, *step.after) if name in ids and name != step.id))
    return step if after == step.after else replace(step, after=after)
