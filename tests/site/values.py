"""How a key of a file is written, said from its JSON Schema: a duration, `true` or `false`, a list of subjects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.kinds.fields.known import SUBJECT
from reconciler.model.topology import ADDRESS, VERSION
from reconciler.model.units import BYTES_PATTERN, DURATION_PATTERN

Schema = Mapping[str, Any]

PATTERNS = {
    DURATION_PATTERN: "duration", BYTES_PATTERN: "size", SUBJECT: "subject", ADDRESS: "address", VERSION: "version",
    "^[0-9]+%?$": "percentage",
}  # fmt: skip
PARTS = {"$|^": "number or size", "^[+-]?[0-9]": "number", "(/[^/]+)+$": "address"}
"""What occurs in the patterns of some values, and in no others."""
FORMATS = {"date-time": "time", "date": "date"}
TYPES = {"string": "text", "integer": "number", "number": "number", "boolean": "`true` or `false`"}
PLURALS = {"text": "texts", "address": "addresses"}


def value(schema: Schema, mappings: Mapping[str, str]) -> str:
    """In words; `mappings` says of a definition what a mapping of its keys is called, with a link."""
    if "$ref" in schema:
        said = mappings[schema["$ref"].rpartition("/")[2]]
        return f"`true`, `false` or {said}" if "boolean" in schema.get("type", ()) else said
    if "enum" in schema:
        return either([f"`{one}`" for one in schema["enum"]])
    if "const" in schema:
        return f"`{schema['const']}`"
    if parts := schema.get("oneOf") or schema.get("anyOf"):
        words = (value(one, mappings) for one in _said(parts))
        return either([*dict.fromkeys(word for said in words for word in said.split(" or "))])
    return _of_type(schema, mappings)


def _said(parts: list[Schema]) -> list[Schema]:
    """Null stands for nothing, and a number that has units may also be a text."""
    real = [one for one in parts if one.get("type") != "null"]
    texts = [one for one in real if one.get("type") == "string" and "pattern" in one]
    return texts if texts and all(one in texts or one.get("type") == "integer" for one in real) else real


def _of_type(schema: Schema, mappings: Mapping[str, str]) -> str:
    kind = next((one for one in _listed(schema.get("type")) if one != "null"), None)
    if kind == "array":
        return f"list of {plural(value(schema['items'], mappings))}"
    if kind == "object":
        below = schema.get("additionalProperties")
        below = below if isinstance(below, Mapping) else {}
        return f"mapping of names to {plural(value(below, mappings))}"
    if kind is None:
        return "any value"
    pattern = schema.get("pattern", "")
    known = PATTERNS.get(pattern) or FORMATS.get(schema.get("format", ""))
    return known or next((noun for part, noun in PARTS.items() if part in pattern), TYPES[kind])


def _listed(said: Any) -> list[str]:
    return [said] if isinstance(said, str) else list(said or ())


def plural(noun: str) -> str:
    """`sizes`, `addresses`, `mappings with [these keys](…)`."""
    if noun.startswith(("mapping", "[")) or "," in noun:
        return noun.replace("mapping", "mappings", 1)
    first, _, rest = noun.partition(" or ")
    many = PLURALS.get(first) or (first if first.startswith("`") else f"{first}s")
    return f"{many} or {plural(rest)}" if rest else many


def either(words: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
