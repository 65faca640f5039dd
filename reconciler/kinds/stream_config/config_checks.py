"""Checks of a stream's configuration by itself, as servers make them at every create and update: one function each,
stamped for every kind that is stored in a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import declared_config
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

OwnName = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A stream's configuration as a request carries it, in the server's names, and the server that gets it."""

    config: Config
    live: Config = field(default_factory=dict)
    """What exists already; empty for a new stream."""
    target: Target
    is_new: bool
    own: OwnName = lambda name: name
    """The file's name for a field."""
    stated: Callable[[], Config] = dict
    """The fields that the file states, as it states them: the server sets some of them to other values."""

    def get(self, name: str) -> Json:
        """The value that is sent for a field, by the server's name; None if it is left out."""
        return self.config.get(name)

    @property
    def version(self) -> Version:
        """The lowest version among the servers that answered; the checks use that one."""
        return self.target.version

    def touches(self, name: str) -> bool:
        """Does the request change this field? A new stream changes every field."""
        return self.is_new or self.config.get(name) != self.live.get(name)


Check = Callable[[Sent], Iterable[Finding]]
StreamConfigs = Callable[[Change], tuple[Config, Config]]
"""From a kind's change to the stream's configuration, wanted and live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigCheck:
    """A check with the last digits of its code; each family stamps its own letters on it."""

    number: int
    name: str
    err_codes: tuple[int, ...]
    check: Check


def config_check(number: int, name: str, *, err_code: int | tuple[int, ...] = ()) -> Callable[[Check], ConfigCheck]:
    """Make a check from a function; its docstring is the page that people read."""
    err_codes = (err_code,) if isinstance(err_code, int) else err_code
    return lambda check: ConfigCheck(number=number, name=name, err_codes=err_codes, check=check)


def rules_of_family(
    family: str, checks: Sequence[ConfigCheck], stream_configs: StreamConfigs, own: OwnName = lambda name: name
) -> tuple[Rule, ...]:
    """The rules of one family; `stream_configs` tells what a change of this kind sends."""
    return tuple(_rule_of_check(family, check, stream_configs, own) for check in checks)


def _rule_of_check(family: str, check: ConfigCheck, stream_configs: StreamConfigs, own: OwnName) -> Rule:
    def judge(change: Change, view: View) -> Found:
        if change.desired is None:
            return None
        config, live = stream_configs(change)
        is_new = change.action is Action.CREATE
        stated = partial(declared_config, change.desired.terms)
        return check.check(Sent(config=config, live=live, target=view.target, is_new=is_new, own=own, stated=stated))

    judge.__doc__ = check.check.__doc__
    return rule(f"{family}{check.number}", check.name, err_code=check.err_codes)(judge)


def objection(path: str, message: str, fix: str, **more: Any) -> Finding:
    """A refusal, unless `more` names another outcome."""
    return Finding(**{"outcome": Outcome.REFUSED, "path": path, "message": message, "fix": fix, **more})


def is_since(version: Version, *firsts: Version) -> bool:
    """Does this version have what came with `firsts`, the first patch of each release line that has it, oldest
    first?"""
    lines = [first for first in firsts if first[:2] <= version[:2]]
    return bool(lines) and version >= lines[-1]


def sources_of(config: Config) -> Iterator[tuple[str, Json]]:
    """Every stream this one copies from, with its path: the mirror's origin, and all sources."""
    if "mirror" in config:
        yield "mirror", config["mirror"]
    yield from ((f"sources[{index}]", source) for index, source in enumerate(config.get("sources", ())))
