"""Updates: which fields a change sets and unsets, and the live configuration with these, everything else as found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reconciler.changes.change import Change
from reconciler.model.resource import Config, Json

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
