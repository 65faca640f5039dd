"""Desired and live compared: which fields differ, and who changed them.

`rebase` first takes live values into the desired configuration where a difference would not matter: the order of a list
that has none, metadata keys of others, paths left unmanaged. After that, comparing is plain equality. What only the server
knows, or fills in, is no longer in the two configurations, or in both."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from reconciler.changes.change import Action, Change, FieldChange, FieldClass
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Config, Json, Resource

if TYPE_CHECKING:
    from deepdiff import DeepDiff


def rebase(desired: Resource, live: Resource, applied: Owned | None, fields: Mapping[str, FieldInfo]) -> Config:
    """The desired configuration, with live values where the file has no opinion: the order of unordered lists, metadata of
    others, unmanaged paths."""
    config = dict(desired.config)
    for name, value in live.config.items():
        if name in config and config[name] != value:
            config[name] = keep_order(config[name], value, fields.get(name))
    _merge_metadata(config, live.config, applied)
    for path in desired.terms.unmanaged:
        _copy_path(config, live.config, _split_path(path))
    return config


def with_remembered_defaults(desired: Resource, applied: Owned | None) -> Resource:
    """The desired resource, with what this server filled in at the last write in place of the stock defaults: its own
    limits show in no other way. Values that it would no longer fill in, since the file says something else now, are
    ignored. So are values that did not come from its limits, unless they stay whatever they came from."""
    if applied is None or not desired.filled:
        return desired
    remembered = {
        name: replace(filled, value=applied.filled.get(name)) for name, filled in desired.filled.items() if filled.stays
    } | {
        name: replace(filled, value=value)
        for name, value in applied.filled.items()
        if value is not None
        and (filled := desired.filled.get(name)) is not None
        and value not in (filled.value, applied.expected.get(name))
        and name not in applied.fields
        and filled.could_be(value)
    }
    if not remembered:
        return desired
    config = {**desired.config, **{name: filled.value for name, filled in remembered.items()}}
    config = {name: value for name, value in config.items() if value is not None}
    return replace(desired, config=config, filled={**desired.filled, **remembered})


def _split_path(path: str) -> list[str]:
    """The keys of a path. Names of metadata belong to their writers, and may contain dots."""
    return path.split(".", 1) if path.startswith("metadata.") else path.split(".")


def keep_order(wanted: Json, live: Json, info: FieldInfo | None) -> Json:
    """Live's spelling of a list whose order means nothing, even if the list is nested in a mapping."""
    if info is None or not wanted or not live or wanted == live:
        return wanted
    if not info.ordered and isinstance(wanted, list) and isinstance(live, list):
        return live if _same_items(wanted, live) else wanted
    for nested in info.nested_unordered:
        if _same_items(wanted.get(nested), live.get(nested)):
            wanted = {**wanted, nested: live[nested]}
    return wanted


def _same_items(items: Json, other_items: Json) -> bool:
    return (
        isinstance(items, list)
        and isinstance(other_items, list)
        and sorted(map(str, items)) == sorted(map(str, other_items))
    )


def _merge_metadata(config: dict[str, Json], live: Config, applied: Owned | None) -> None:
    """Metadata keys that somebody else wrote stay; keys that were applied earlier and that the file dropped are
    removed."""
    live_metadata = live.get("metadata")
    if not live_metadata:
        return
    ours = applied.fields.get("metadata", {}) if applied else {}
    foreign = {key: value for key, value in live_metadata.items() if key not in ours}
    if merged := {**foreign, **config.get("metadata", {})}:
        config["metadata"] = merged


def _copy_path(config: dict[str, Json], live: Config, path: list[str]) -> None:
    """Make one path of `config` equal to live, absence included."""
    head, *rest = path
    if not rest:
        if head in live:
            config[head] = live[head]
        else:
            config.pop(head, None)
        return
    inner, live_inner = config.get(head, {}), live.get(head, {})
    if isinstance(inner, Mapping) and isinstance(live_inner, Mapping):
        copy = dict(inner)
        _copy_path(copy, live_inner, rest)
        config.pop(head, None)
        if copy:
            config[head] = copy


def differences(
    desired: Config, live: Config, applied: Owned | None, fields: Mapping[str, FieldInfo]
) -> tuple[FieldChange, ...]:
    """Every differing field, at the depth a reader wants: into mappings and lists of mappings. Plain lists, and lists
    whose items moved, count as a whole."""
    if desired == live:
        return ()
    changes = []
    for name in sorted(desired.keys() | live.keys()):
        wanted, current = desired.get(name), live.get(name)
        if wanted == current:
            continue
        info = fields.get(name, FieldInfo())
        for path in _differing_paths(name, wanted, current):
            live_value, wanted_value = _value_at(current, path), _value_at(wanted, path)
            changes.append(
                FieldChange(
                    path=_dotted_path((name, *path)),
                    live=live_value,
                    desired=wanted_value,
                    field_class=_classify(name, path, live_value, wanted_value, applied, info),
                    info=info.inside(path),
                )
            )
    return tuple(changes)


def _differing_paths(name: str, wanted: Json, current: Json) -> list[tuple[str | int, ...]]:
    if not (_holds_objects(wanted) and _holds_objects(current)) or _is_shifted(wanted, current):
        return [()]
    tree = _deepdiff()({name: current}, {name: wanted}, view="tree", threshold_to_diff_deeper=0)
    paths = {
        _trim(tuple(node.path(output_format="list"))[1:], wanted, current) for nodes in tree.values() for node in nodes
    }
    return sorted(paths, key=str)


@cache
def _deepdiff() -> type[DeepDiff]:
    """Imported late, since most plans compare nothing deeply. It is imported without the packages for tables that it
    can compare: Spark brings them, and they take longer to load than a plan takes."""
    left_out = [name for name in ("pandas", "numpy") if name not in sys.modules]
    for name in left_out:
        sys.modules[name] = None  # type: ignore[assignment]  # which says: not installed
    try:
        from deepdiff import DeepDiff  # noqa: PLC0415
    finally:
        for name in left_out:
            del sys.modules[name]
    return DeepDiff


def _holds_objects(value: Json) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _is_shifted(wanted: Json, current: Json) -> bool:
    """Did items that stay in a list move up or down because others came or went? Then items with the same number are
    not the same."""
    if not (isinstance(wanted, list) and isinstance(current, list)) or len(wanted) == len(current):
        return False
    return any(
        value in current and (index >= len(current) or current[index] != value) for index, value in enumerate(wanted)
    )


def _trim(path: tuple[str | int, ...], wanted: Json, current: Json) -> tuple[str | int, ...]:
    """Cut a path at the first plain list: its items mean nothing alone."""
    for depth in range(len(path)):
        values = (_value_at(wanted, path[:depth]), _value_at(current, path[:depth]))
        if any(isinstance(value, list) and not _holds_objects(value) for value in values):
            return path[:depth]
    return path


def _value_at(value: Json, path: tuple[str | int, ...]) -> Json:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def value_in(config: Config, path: str) -> Json:
    """The value at a dotted path, as `differences` writes them; None: nothing. Keys may contain dots themselves."""
    name, *_ = re.split(r"[.\[]", path, maxsplit=1)
    return _value_below(config.get(name), path[len(name) :])


def _value_below(value: Json, rest: str) -> Json:
    if not rest or value is None:
        return value
    if match := re.match(r"\[(\d+)\]", rest):
        inside = isinstance(value, list) and int(match[1]) < len(value)
        return _value_below(value[int(match[1])], rest[match.end() :]) if inside else None
    if not isinstance(value, Mapping):
        return None
    fits = [key for key in value if rest[1:].startswith(key) and rest[1 + len(key) :][:1] in ("", ".", "[")]
    return _value_below(value[best := max(fits, key=len)], rest[1 + len(best) :]) if fits else None


def _dotted_path(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _classify(
    name: str, path: tuple[str | int, ...], live: Json, desired: Json, applied: Owned | None, info: FieldInfo
) -> FieldClass:
    if applied is None or not applied.remembers(name, info.since):
        return FieldClass.PLAIN
    if info.is_passing(live):
        return FieldClass.UNFINISHED
    was = _value_at(applied.applied.get(name), path)
    if was == desired:
        return FieldClass.DRIFTED
    return FieldClass.CONFIG if was == live else FieldClass.BOTH


def resource_change(
    desired: Resource, live: Resource | None, owned: Owned | None, fields: Mapping[str, FieldInfo]
) -> Change:
    """The change that makes live equal to what is declared."""
    if desired.external:
        return _compare_external(desired, live, fields)
    if live is None:
        return Change(address=desired.address, action=Action.CREATE, desired=desired, owned=owned, where=desired.where)
    desired = with_remembered_defaults(desired, owned)
    config = rebase(desired, live, owned, fields)
    changes = explain_changes(differences(config, live.config, owned, fields), desired, live)
    unchanged = Action.KEEP if owned else Action.ADOPT
    return Change(
        address=desired.address,
        action=Action.UPDATE if changes else unchanged,
        desired=desired if desired.config == config else replace(desired, config=config),
        live=live,
        fields=changes,
        owned=owned,
        where=desired.where,
    )


def explain_changes(changes: Sequence[FieldChange], desired: Resource, live: Resource) -> tuple[FieldChange, ...]:
    """The changes, with what an absent side stands for, and with the source of a wanted value that the file does not
    state."""
    return (
        tuple([_with_source(_with_stock(field_change, desired, live), desired) for field_change in changes])
        if changes
        else ()
    )


def _with_stock(change: FieldChange, desired: Resource, live: Resource) -> FieldChange:
    stock = (live if change.live is None else desired).stock
    if change.path not in stock or (change.live is not None and change.desired is not None):
        return change
    return replace(change, info=replace(change.info, default=stock[change.path], left_out=""))


def _with_source(change: FieldChange, desired: Resource) -> FieldChange:
    if change.path in desired.filled:
        return replace(change, filled=desired.filled[change.path].source)
    if change.path in desired.follows:
        return replace(change, filled=desired.follows[change.path])
    is_default = change.desired is not None and change.desired == change.info.default
    return replace(change, filled="default") if is_default else change


def _compare_external(desired: Resource, live: Resource | None, fields: Mapping[str, FieldInfo]) -> Change:
    """Someone else's resource: only what the file says about it is compared, and nothing of it is ever changed."""
    return Change(
        address=desired.address,
        action=Action.KEEP,
        desired=desired,
        live=live,
        fields=_unexpected_fields(desired, live, fields) if live else (),
        where=desired.where,
    )


def _unexpected_fields(desired: Resource, live: Resource, fields: Mapping[str, FieldInfo]) -> tuple[FieldChange, ...]:
    live_config = {name: live.config[name] for name in desired.config if name in live.config}
    expected = {
        name: keep_order(value, live_config.get(name), fields.get(name)) for name, value in desired.config.items()
    }
    return explain_changes(differences(expected, live_config, None, fields), desired, live)
