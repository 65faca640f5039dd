"""The description of a key in an editor: what it is, how to write it, what leaving it out means, since when, and which
updates are possible.

Every fact is a line of its own in `description`. VS Code makes a paragraph of each line, others show them as they are;
`markdownDescription`, which only VS Code reads, would say the same twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.documents.schema.docstrings import Said
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json
from reconciler.model.units import HOW_TO_WRITE
from reconciler.model.wire.version import SUPPORTED
from reconciler.model.written import written

Schema = dict[str, Any]

LEFT_OUT, SINCE, UPDATES, WRITE = "Left out: ", "Since nats-server ", "Updates: ", "Write "
"""The beginnings of the lines."""
ANY = "any change"
INSIDE = "as for the key around it"
"""How updates may change a key of an object inside a configuration."""

_FORMATS = {"date-time": "2026-03-01T08:00:00Z, or with an offset such as +02:00", "date": "2026-12-31"}


def explained(schema: Schema, said: Said, info: FieldInfo | None, family: str = "") -> Schema:
    """Return a key's schema with its description, and its default where that is a plain value. Without `info`, the key
    belongs to this tool alone."""
    default = schema.get("default") if info is None else info.default
    plain = {} if default is None else {"default": default}
    return {"description": "\n".join(_lines({**schema, **plain}, said, info, family)), **schema, **plain}


def _lines(schema: Schema, said: Said, info: FieldInfo | None, family: str) -> Iterator[str]:
    yield said.about
    yield from (f"{WRITE}{how}." for how in dict.fromkeys(ways_to_write(schema)))
    if left_out := said.left_out or _left_out(schema, info or FieldInfo()):
        yield f"{LEFT_OUT}{left_out}."
    if info is None:
        return
    yield from _history(info)
    rules = ", ".join(f"{family}{number}" for number in info.rules)
    yield f"{UPDATES}{said.updates or info.updatability or ANY}." + (f" See {rules}." if rules else "")


def ways_to_write(schema: Any) -> Iterator[str]:
    """Return how to write values with a unit, wherever they stand in the value of a key."""
    if isinstance(schema, list):
        for part in schema:
            yield from ways_to_write(part)
    elif isinstance(schema, Mapping):
        known = HOW_TO_WRITE.get(schema.get("pattern", "")) or _FORMATS.get(schema.get("format", ""))
        yield from [known] if known else []
        for keyword in ("anyOf", "items", "additionalProperties"):
            yield from ways_to_write(schema.get(keyword))


def _history(info: FieldInfo) -> Iterator[str]:
    """Only what the oldest supported server lacks."""
    if info.since and info.since > SUPPORTED[0]:
        yield f"{SINCE}{info.since.short}."
    for value, since in info.values_since.items():
        yield f"`{value}` since nats-server {since.short}."


def _left_out(schema: Schema, info: FieldInfo) -> str:
    default: Json = schema.get("default")
    if info.left_out or default is None:
        return info.left_out
    if default in ([], {}):
        return "none"
    is_unlimited = default == -1 and info.unit in ("count", "bytes")
    said = written(default, info)
    return f"no limit ({said})" if is_unlimited else f"`{said}`" if isinstance(default, str) else said
