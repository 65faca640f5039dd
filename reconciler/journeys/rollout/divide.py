"""Divides environments, or targets of a fleet, into stages: `canary:5m,10%,rest`. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase

from reconciler.documents.parse.nodes import did_you_mean
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.units import parse_duration
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible

REST = "rest"
FEW = 6
"""How many names a message lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutMember:
    """What is applied as a whole: an environment, or a target of a fleet."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def is_meant_by(self, wanted: str) -> bool:
        """Is it meant by this name, label (`tier=canary`), or pattern of either?"""
        words = (self.name, *(f"{key}={value}" for key, value in self.labels.items()))
        return any(wanted == word or fnmatchcase(word, wanted) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStage:
    """Members that are applied at once, before any of the next stage."""

    text: str
    """The stage as --stages names it."""
    members: tuple[str, ...]
    stay: float = 0.0
    """Seconds for which its members must stay as they were applied."""


def divide_members(text: str, members: Sequence[RolloutMember], word: str) -> list[RolloutStage]:
    """Put each member into exactly one stage, in the order of the members. `word` says what they are. Raises
    CannotContinue where a stage names nobody, or where somebody is in no stage."""
    stages, left = list[RolloutStage](), [*members]
    for part in text.split(","):
        wanted, stay = _name_and_stay(part.strip(), members)
        chosen = _members_of_stage(wanted, left, _Known(stages, members, word))
        stages.append(RolloutStage(text=wanted, members=tuple(member.name for member in chosen), stay=stay))
        left = [member for member in left if member not in chosen]
    if left:
        names = few_names(member.name for member in left)
        raise _stages_error(f"no stage has {names}", f"end with `{REST}`: --stages {visible(text)},{REST}")
    return stages


@dataclass(frozen=True, slots=True)
class _Known:
    stages: Sequence[RolloutStage]
    members: Sequence[RolloutMember]
    word: str


def _name_and_stay(part: str, members: Sequence[RolloutMember]) -> tuple[str, float]:
    """Take `canary:5m` apart. A label may hold a colon of its own."""
    wanted, colon, time = part.rpartition(":")
    if not colon or (not is_time(time) and any(member.is_meant_by(part) for member in members)):
        wanted, colon = part, ""
    if not wanted:
        raise _stages_error("a stage is empty", "write a name, a percentage or `rest` between the commas")
    if colon and not is_time(time):
        raise _stages_error(
            f"stage `{visible(part)}` ends in no time", "write for example canary:5m, or leave the colon out"
        )
    return wanted, parse_duration(time) / 1e9 if colon else 0.0


def is_time(text: str) -> bool:
    """Is it a time such as `5m` or `1h30m`?"""
    try:
        return not text.isdigit() and parse_duration(text) >= 0
    except ValueError:
        return False


def _members_of_stage(
    wanted: str, left: Sequence[RolloutMember], members_and_stages: _Known
) -> Sequence[RolloutMember]:
    percent = re.fullmatch(r"([+-]?[0-9]+(?:\.[0-9]+)?)%", wanted)
    if percent:
        return _share_of_left(float(percent[1]), wanted, left, members_and_stages)
    chosen = left if wanted == REST else [member for member in left if member.is_meant_by(wanted)]
    if not chosen:
        raise _no_member_error(wanted, members_and_stages)
    return chosen


def _share_of_left(
    percent: float, wanted: str, left: Sequence[RolloutMember], members_and_stages: _Known
) -> Sequence[RolloutMember]:
    """Return this share of those that are left, rounded up, so that it is at least one."""
    if not 0 < percent <= 100:
        raise _stages_error(f"stage `{wanted}` is no share", "write a percentage above 0% and up to 100%, such as 10%")
    if not left:
        raise _no_member_error(wanted, members_and_stages)
    return left[: math.ceil(round(len(left) * percent / 100, 9))]


def _no_member_error(wanted: str, members_and_stages: _Known) -> CannotContinue:
    """Say why a stage has nobody: there is no such member, or an earlier stage has all of them."""
    names, shown = [member.name for member in members_and_stages.members], visible(wanted)
    everyone = wanted == REST or wanted.endswith("%")
    fitting = {member.name for member in members_and_stages.members if everyone or member.is_meant_by(wanted)}
    if not fitting:
        message = f"no {members_and_stages.word} is meant by stage `{shown}`{did_you_mean(wanted, names)}"
        return _stages_error(message, f"choose among {few_names(names)}")
    earlier = [stage.text for stage in members_and_stages.stages if not fitting.isdisjoint(stage.members)]
    where = f"stage{'s' if len(earlier) > 1 else ''} {few_names(earlier)}"
    return _stages_error(
        f"nothing is left for stage `{shown}`: {where} {'have' if len(earlier) > 1 else 'has'} all of that already",
        "leave one out",
    )


def few_names(names: Iterator[str] | Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = [f"`{visible(name)}`" for name in names]
    more = f" … ({len(shown) - FEW:_} more)" if len(shown) > FEW else ""
    return ", ".join(shown[:FEW]) + more


def division_text(stages: Sequence[RolloutStage], word: str) -> str:
    """Return `3 stages: canary (1 environment), 10% (2 environments), rest (7 environments)`."""
    each = ", ".join(f"{visible(stage.text)} ({counted(len(stage.members), word)})" for stage in stages)
    return f"{counted(len(stages), 'stage')}: {each}"


def _stages_error(message: str, fix: str) -> CannotContinue:
    return CannotContinue.because(
        "XX927", "stages", f"--stages: {message}{'' if message.endswith('?') else '.'} Nothing was applied.", fix=fix
    )
