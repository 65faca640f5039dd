"""The desired configuration with every live value that the file has no opinion on. After that, comparing is plain
equality.

All cases in which something "differs but does not matter" end here: values only the server knows, lists whose order
means nothing, metadata keys of others, paths left unmanaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reconciler.model.fields import FieldInfo
from reconciler.model.records import Owned
from reconciler.model.resource import Config, Json, Resource


def rebase(desired: Resource, live: Resource, applied: Owned | None, fields: Mapping[str, FieldInfo]) -> Config:
    """The desired configuration, with live values wherever the file has no opinion."""
    config = dict(desired.config)
    for name, value in live.config.items():
        if name in config and config[name] != value:
            config[name] = keep_order(config[name], value, fields.get(name))
    _keep_metadata(config, live.config, applied)
    for path in desired.terms.unmanaged:
        _copy_path(config, live.config, _keys(path))
    return config


def as_remembered(desired: Resource, applied: Owned | None) -> Resource:
    """The desired resource, with what this server filled in at the last write in place of the stock defaults: its own
    limits show in no other way. Values that it would no longer fill in, since the file says something else now, are
    ignored. So are values that did not come from its limits."""
    if applied is None or not applied.filled:
        return desired
    known = {
        name: replace(filled, value=value)
        for name, value in applied.filled.items()
        if value is not None
        and (filled := desired.filled.get(name)) is not None
        and value not in (filled.value, applied.expected.get(name))
        and name not in applied.fields
        and filled.could_be(value)
    }
    if not known:
        return desired
    config = {**desired.config, **{name: filled.value for name, filled in known.items()}}
    return replace(desired, config=config, filled={**desired.filled, **known})


def _keys(path: str) -> list[str]:
    """Names of metadata belong to their writers, and may contain dots."""
    return path.split(".", 1) if path.startswith("metadata.") else path.split(".")


def keep_order(wanted: Json, found: Json, info: FieldInfo | None) -> Json:
    """Live's spelling of a list whose order means nothing, even if the list is nested in a mapping."""
    if info is None or wanted == found:
        return wanted
    if not info.ordered and isinstance(wanted, list) and isinstance(found, list):
        return found if _same_items(wanted, found) else wanted
    for nested in info.nested_unordered:
        if _same_items(wanted.get(nested), found.get(nested)):
            wanted = {**wanted, nested: found[nested]}
    return wanted


def _same_items(one: Json, other: Json) -> bool:
    return isinstance(one, list) and isinstance(other, list) and sorted(map(str, one)) == sorted(map(str, other))


def _keep_metadata(config: dict[str, Json], live: Config, applied: Owned | None) -> None:
    """Metadata keys that somebody else wrote stay; keys that were applied earlier and that the file dropped are
    removed."""
    found = live.get("metadata")
    if not found:
        return
    ours = applied.fields.get("metadata", {}) if applied else {}
    foreign = {key: value for key, value in found.items() if key not in ours}
    if merged := {**foreign, **config.get("metadata", {})}:
        config["metadata"] = merged


def _copy_path(config: dict[str, Json], live: Config, path: list[str]) -> None:
    """Makes one path of `config` equal to live, absence included."""
    head, *rest = path
    if not rest:
        if head in live:
            config[head] = live[head]
        else:
            config.pop(head, None)
        return
    inner, found = config.get(head, {}), live.get(head, {})
    if isinstance(inner, Mapping) and isinstance(found, Mapping):
        copy = dict(inner)
        _copy_path(copy, found, rest)
        config.pop(head, None)
        if copy:
            config[head] = copy
