"""Canonical form, sparse: what a configuration says beyond the server's fixed defaults.

Only defaults that apply whatever else the configuration says are left out. A value that follows from other fields (the
subject that a stream is named after, `ack_wait` from `backoff`, 2m for pinned clients) stays. An update patches the
live object, so if the other field changes, the plan must show that this one changes with it.

Updates: which fields a change sets and unsets, and the live configuration with these, everything else as found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from reconciler.changes.change import Change
from reconciler.kinds.fields.times import ZERO, in_utc
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Declared, Json, Resource, ServerDefault, users_metadata

Clean = Callable[[Json], Json]
"""Brings one field's value into its canonical spelling; a falsy result is absence."""

MINUTE = 60_000_000_000
SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a server would echo, in canonical form."""

    config: Config
    filled: Mapping[str, ServerDefault] = field(default_factory=dict)
    """Left-out fields that the server fills in; `config` holds the stock values."""
    follows: Mapping[str, str] = field(default_factory=dict)
    """Other fields of `config` that differ from what the file said, and where their values come from, in words."""

    def resource(self, declared: Declared, stock: Config) -> Resource:
        """The declared resource in this form; `stock` stands for fields that are left out."""
        return Resource(
            address=declared.address,
            config=self.config,
            filled=self.filled,
            follows=self.follows,
            stock=stock,
            terms=declared.spec,
            where=declared.where,
        )


def sources_followed(stated: Config, config: Config, sources: Mapping[str, str]) -> dict[str, str]:
    """The sources, by field, that apply here."""
    return {name: sources[name] for name in sources.keys() & config.keys() if config[name] != stated.get(name)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Canon:
    """How one kind of configuration is made canonical. It is table-driven and without pydantic, since a plan does this
    to thousands of live objects."""

    defaults: Mapping[str, Json]
    clean: Mapping[str, Clean]

    def __call__(self, config: Config) -> dict[str, Json]:
        """Unknown fields of newer servers stay unless empty; None, empty and default values are absent."""
        defaults, clean = self.defaults, self.clean
        sparse = {k: value for k, value in config.items() if value and (k not in defaults or value != defaults[k])}
        for key in clean.keys() & sparse.keys():
            cleaned = clean[key](sparse[key])
            if cleaned and cleaned != defaults.get(key):
                sparse[key] = cleaned
            else:
                del sparse[key]
        return sparse


def positive(value: Json) -> Json:
    """Limits: zero and negative numbers mean none. Servers before 2.12 echo negative ones unchanged."""
    return value if value > 0 else 0


def limit(value: Json) -> Json:
    """Limits whose "none" must be distinguished from "left out"."""
    return value if value > 0 else -1


def lowercase(value: Json) -> Json:
    """A text in small letters, for texts that servers accept in any letter case."""
    return value.lower()


def as_list(value: Json) -> Json:
    """A tuple means the same as a list; the canonical form holds lists."""
    return list(value)


def canonical_time(value: Json) -> Json:
    """The time in UTC; the zero time is absence. A text that is not a time stays: others judge it."""
    try:
        spelled = in_utc(value)
    except (ValueError, OverflowError):
        return value
    return None if spelled == ZERO else spelled


def metadata(value: Json) -> Json:
    """The mapping without the server's own keys; an empty text is a value like any other."""
    return users_metadata(value)


def mapping(value: Json) -> Json:
    """Nested objects: absent, empty and false mean the same, at any depth."""
    cleaned = ((key, without_empty_parts(inner)) for key, inner in value.items())
    return {key: inner for key, inner in cleaned if inner}


def without_empty_parts(value: Json) -> Json:
    """A value at any depth of a nested object, without its own empty parts."""
    if isinstance(value, Mapping):
        return mapping(value)
    return [without_empty_parts(item) for item in value] if isinstance(value, list | tuple) else value


_KEY = "metadata."


def patch(change: Change) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Top-level fields to set and to unset so that live becomes desired; metadata is patched key by key."""
    set_: dict[str, Any] = {}
    unset: list[str] = []
    for name in dict.fromkeys(item.top for item in change.fields):
        wanted = change.becomes(name)
        if name == "metadata":
            unset.extend(f"metadata.{key}" for key in _dropped_keys(change))
            if wanted:
                set_[name] = wanted
        elif wanted is None or (change.desired and change.desired.leaves_to_server(name)):
            unset.append(name)
        else:
            set_[name] = wanted
    return set_, tuple(unset)


def _dropped_keys(change: Change) -> Iterator[str]:
    wanted = change.becomes("metadata") or {}
    return (key for key in change.was("metadata") or {} if key not in wanted)


def update_body(raw: Config, set_: Config, unset: Iterable[str] = ()) -> dict[str, Json]:
    """The whole body to send, from the raw live configuration. Fields of newer servers stay as found. `metadata` is
    patched key by key: `set_` adds keys, `metadata.KEY` in `unset` removes one."""
    body = {**raw, **set_}
    if "metadata" in set_:
        body["metadata"] = {**(raw.get("metadata") or {}), **set_["metadata"]}
    for path in unset:
        if path.startswith(_KEY):
            key = path.removeprefix(_KEY)
            body["metadata"] = {k: text for k, text in (body.get("metadata") or {}).items() if k != key}
        else:
            body.pop(path, None)
    return body
