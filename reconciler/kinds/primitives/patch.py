"""Update bodies: the live configuration with some fields set and some left out, everything else as found."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.core.resource import Config, Json

_KEY = "metadata."


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
