"""Everything that is known about a configuration field, in one place beside the field: since when, default, level, and
possible updates.

Canonical form, rules, reports and the JSON schema all read this; a field missing here is missing everywhere. Values that
only an apply writes, for a moment, stand here too: if it is interrupted, they stay until the next one.

Texts that files hold and servers accept: subjects and names, as far as their form is concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from functools import cache
from typing import Annotated, NamedTuple

from pydantic import BaseModel

from reconciler.kinds.fields.field_effects import Felt
from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo, Unit
from reconciler.model.resource import Config, Json, model_in, text_like
from reconciler.model.wire.version import Version

PARKED = "_parked"
"""The beginning of a subject without messages, for an object that has no other."""

PAUSE_END = "2100-01-01T00:00:01Z"
"""Until when a consumer is paused while it moves. People write round times."""


V2_9, V2_10, V2_11, V2_12, V2_14, V2_15 = (Version(2, minor) for minor in (9, 10, 11, 12, 14, 15))
OVERLAPPING_FILTERS = Version(2, 12, 5)
"""From this version on, filters of one consumer may overlap as long as none lies inside another."""


class Update(StrEnum):
    """What the server does when an update changes a field of an existing object."""

    FREE = "any change"
    """Every change is made."""
    FIXED = "fixed at creation"
    """Every change is refused."""
    ONE_WAY = "can be turned on, never off"
    """Turning it off is refused."""
    REMOVABLE = "can be removed, but neither added nor changed"
    """Every other change is refused."""
    STAYS = "can change, but neither be added nor removed"
    """The server accepts another value, and refuses to add or remove it."""
    INERT = "no effect on existing objects"
    """Accepted without effect."""


Updates = tuple[tuple[Version, Update], ...]
"""Answers by version, oldest first: each applies from its version on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Put into `Annotated[…]` of a field; the table of a configuration is `known(Model)`."""

    unit: Unit = "text"
    since: Version = V2_9
    """First version that has the field; 2.11 drops unknown fields silently, later versions refuse them."""
    level: int = 0
    """JetStream API level that is needed if the field has another value than its default."""
    default: Json = None
    """What the server uses if the field is left out, if that is fixed; stating it equals leaving it out."""
    left_out: str = ""
    """What leaving it out means, in words, if `default` says it badly: `no limit` rather than 0."""
    depends: str = ""
    """Why the default cannot be known from outside, in words; empty if it can."""
    update: Update | Updates = Update.FREE
    among: frozenset[Json] = frozenset()
    """Values between which a FIXED field may still change."""
    err_code: int | None = None
    """The server's answer to a change that it refuses."""
    says: str = ""
    """The server's words, as far as they are the same in every such answer."""
    ordered: bool = True
    nested_unordered: tuple[str, ...] = ()
    values_since: Mapping[Json, Version] = field(default_factory=dict)
    """Values younger than the field."""
    value_levels: Mapping[Json, int] = field(default_factory=dict)
    """Values that need a level of their own."""
    passing: tuple[str, ...] = ()
    """How values begin that only an apply writes, for a moment."""
    at_create: bool = True
    """False: only an update may set it."""
    felt: tuple[Felt, ...] | None = None
    """What clients experience when it changes; None: nobody has stated it yet."""

    def updates(self, version: Version) -> Update:
        """The updates that this version allows; a version newer than known counts as the newest known."""
        if isinstance(self.update, Update):
            return self.update
        return [rule for since, rule in self.update if since <= version or since == self.update[0][0]][-1]

    @property
    def updatability_text(self) -> str:
        """Restrictions of updates, in words: `fixed at creation before nats-server 2.12.5; since then any change`."""
        if self.among:
            values = " and ".join(f"`{value}`" for value in sorted(self.among))
            return f"can change between {values}, otherwise {self.update}"
        if isinstance(self.update, Update):
            return "" if self.update is Update.FREE else self.update.value
        (_, first), *later = self.update
        return first + "".join(f" before nats-server {since.short}; since then {then}" for since, then in later)

    def may_become(self, live: Json, desired: Json, version: Version) -> bool:
        """Does the server accept this change of canonical values (None: absent), apart from other rules?"""
        if live == desired:
            return True
        if self.among and self.among >= {_or_default(live, self.default), _or_default(desired, self.default)}:
            return True
        return _ACCEPTS[self.updates(version)](live, desired)


_ACCEPTS: Mapping[Update, Callable[[Json, Json], bool]] = {
    Update.FREE: lambda _live, _desired: True,
    Update.INERT: lambda _live, _desired: True,
    Update.FIXED: lambda _live, _desired: False,
    Update.ONE_WAY: lambda live, _desired: not live,
    Update.REMOVABLE: lambda _live, desired: not desired,
    Update.STAYS: lambda live, desired: bool(live) == bool(desired),
}


def _or_default(value: Json, default: Json) -> Json:
    return default if value is None else value


@cache
def known_fields(model: type[BaseModel]) -> Mapping[str, Known]:
    """Every field of a configuration that the server has, with what is known about it."""
    return {
        name: entry for name, info in model.model_fields.items() for entry in info.metadata if isinstance(entry, Known)
    }


@cache
def field_infos(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Facts that reports and diffs need, by field."""
    nested = _nested_models(model)
    return {
        name: FieldInfo(
            unit=k.unit, default=k.default, ordered=k.ordered, nested_unordered=k.nested_unordered, since=k.since,
            left_out=k.left_out, nested=field_infos(nested[name]) if name in nested else {},
            updatability=k.updatability_text, rules=_rule_numbers(k), values_since=k.values_since,
            passing=k.passing,
        )
        for name, k in known_fields(model).items()
    }  # fmt: skip


def _rule_numbers(entry: Known) -> tuple[str, ...]:
    """Numbers of the rules that say what a change costs, each once."""
    return tuple(sorted({effect.rule for effect in entry.felt or () if effect.rule}))


def unknown_fields(model: type[BaseModel], config: Config, version: Version) -> list[str]:
    """Dotted paths of fields in `config` that this version does not know."""
    return [stated.path for stated in _stated_fields(model, config) if version < stated.about.since]


class YoungValue(NamedTuple):
    """A value this version does not know, of a field it knows."""

    path: str
    value: Json
    since: Version


def unknown_values(model: type[BaseModel], config: Config, version: Version) -> list[YoungValue]:
    """Values that this version does not know (it answers 10025), such as `priority_policy: prioritized` before 2.12."""
    return [
        YoungValue(stated.path, stated.value, stated.about.values_since[stated.value])
        for stated in _stated_fields(model, config)
        if stated.about.values_since and stated.about.values_since.get(stated.value, version) > version
    ]


def required_level(model: type[BaseModel], config: Config) -> int:
    """The JetStream API level that a server needs to understand this configuration: `Nats-Required-Api-Level`."""
    return max((_level_of_field(stated) for stated in _stated_fields(model, config)), default=0)


class _StatedField(NamedTuple):
    path: str
    value: Json
    about: Known


def _level_of_field(stated: _StatedField) -> int:
    if not stated.value or stated.value == stated.about.default:
        return 0
    by_value = stated.about.value_levels.get(stated.value, 0) if stated.about.value_levels else 0
    return max(stated.about.level, by_value)


def _stated_fields(model: type[BaseModel], config: Config, prefix: str = "") -> Iterator[_StatedField]:
    """Every known field that `config` sets, fields of nested objects included."""
    table, nested = known_fields(model), _nested_models(model)
    for name, value in config.items():
        if name not in table or value is None:
            continue
        yield _StatedField(prefix + name, value, table[name])
        for path, item in _nested_objects(prefix + name, value) if name in nested else ():
            yield from _stated_fields(nested[name], item, path + ".")


def _nested_objects(path: str, value: Json) -> Iterator[tuple[str, Config]]:
    if isinstance(value, Mapping):
        yield path, value
    elif isinstance(value, list | tuple):
        yield from ((f"{path}[{i}]", item) for i, item in enumerate(value) if isinstance(item, Mapping))


@cache
def _nested_models(model: type[BaseModel]) -> Mapping[str, type[BaseModel]]:
    """Fields that hold objects, with their models."""
    inner = {name: model_in(model.model_fields[name].annotation) for name in known_fields(model)}
    return {name: inner_model for name, inner_model in inner.items() if inner_model is not BaseModel}


SUBJECT = r"^[^.]+(\.[^.]+)*$"
Subject = Annotated[str, text_like(SUBJECT, "tokens between single dots")]
"""Tokens between dots; rules say more about what each field accepts."""
NAME = r"[^\s.*>/\\]+"
Name = Annotated[str, text_like(f"^{NAME}$", "a name without spaces, `.`, `*`, `>`, `/` and `\\`")]
"""The name of a stream or consumer."""
