"""Changes that no single request can make, in two stages: the first gives what others wait for, the second takes.

A change can give something (a subject, room under a limit) without taking anything yet. If every change of a ring is
cut in two, each taking only waits for givings, and no ring is left. One cut is enough for any ring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.diff import differences
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Address, Config, Json, Resource
from reconciler.model.wire.steps import Step

EXISTENCE = "existence"
"""What a new object gives to whatever hangs on it."""
INTEREST = "interest"
"""What a new consumer gives to a new stream, which takes messages only when somebody wants them."""


NEEDED, ASKED, BETTER, USUAL = range(4)


class Tie(NamedTuple):
    """`first` must be done before `then`, because a server accepts them only in this order."""

    first: Address
    then: Address
    gives: str = ""
    """The field by which `first` gives what `then` takes; empty: `first` must be done completely. A change tied to
    itself cannot be made in one step at all."""
    weak: int = NEEDED
    """How easily it is dropped if it would close a ring: never, last, earlier, or first of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStage:
    """The first stage of an update, in which some fields have a value in between and everything else is as live; or of a
    creation, in which everything else is as desired."""

    fields: Mapping[str, Json]
    """Field → value in between; None is absence."""
    cost: tuple[int, ...] = ()
    """What this first stage costs others; the cheapest change of a ring is made in two stages."""
    effect: str = ""
    """What the first stage does, in words."""
    consequences: tuple[Consequence, ...] = ()


def final_value_first(change: Change, field: str, effect: str) -> FirstStage:
    """The first stage that gives one field the value that it is to have in the end."""
    return FirstStage(fields={field: change.becomes(field)}, cost=(0, 1), effect=effect)


def is_divisible(change: Change) -> bool:
    """A change that replaces can be updated first; an object that is renamed does not exist under its new name yet."""
    is_there = change.action in (Action.UPDATE, Action.REPLACE) and change.live is not None
    return (is_there or change.action is Action.CREATE) and change.origin is None


def split_change(change: Change, first_stage: FirstStage, infos: Mapping[str, FieldInfo]) -> tuple[Change, Change]:
    """Live → in between, and in between → desired. For a kind the first is an ordinary update or creation, and the second
    an update unless it replaces."""
    if change.desired is None:
        raise ValueError(f"{change.address} is deleted, and cannot be changed in two stages")
    if change.live is None:
        config = patched_config(change.desired.config, first_stage.fields)
        desired = replace(change.desired, config=config)
        existing = replace(desired, state={"config": config})
        return _stage_of_change(change, None, desired, infos), _stage_of_change(
            replace(change, action=Action.UPDATE), existing, change.desired, infos
        )
    config = patched_config(change.live.config, first_stage.fields)
    raw = patched_config(change.live.state.get("config", {}), first_stage.fields)
    # The rest of what the snapshot said of the object is outdated by then; a replacement reads the position again.
    state = change.live.state if change.action is Action.REPLACE else {}
    between = replace(change.live, config=config, state={**state, "config": raw})
    first = replace(change, action=Action.UPDATE, intent=None)
    return (
        _stage_of_change(first, change.live, replace(change.desired, config=config, filled={}), infos),
        _stage_of_change(change, between, change.desired, infos),
    )


def patched_config(config: Config, fields: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration with these fields instead of its own; None removes one."""
    return {name: value for name, value in {**config, **fields}.items() if value is not None}


def _stage_of_change(
    change: Change, live: Resource | None, desired: Resource, infos: Mapping[str, FieldInfo]
) -> Change:
    fields = differences(desired.config, live.config if live else {}, change.owned, infos)
    return replace(change, live=live, desired=desired, fields=fields)


def first_stage_steps(steps: Sequence[Step], first_stage: FirstStage) -> tuple[Step, ...]:
    """These steps under other names, since the second stage has the same ones."""
    names = {step.id: f"{step.id}, first stage" for step in steps}
    return tuple(
        replace(
            step,
            id=names[step.id],
            after=tuple(names.get(name, name) for name in step.after),
            effect=first_stage.effect if step.set or step.unset else step.effect,
        )
        for step in steps
    )


def fields_given(ties: Iterable[Tie]) -> dict[Address, frozenset[str]]:
    """The fields by which each change gives something."""
    by_address: dict[Address, set[str]] = {}
    for tie in ties:
        if tie.gives:
            by_address.setdefault(tie.first, set()).add(tie.gives)
    return {address: frozenset(fields) for address, fields in by_address.items()}
