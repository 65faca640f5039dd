"""The description of a key in an editor: what it is, how to write it, what leaving it out means, since when, and which
updates are possible.

Every fact is a line of its own in `description`. VS Code makes a paragraph of each line, others show them as they are;
`markdownDescription`, which only VS Code reads, would say the same twice. The first fact is the text below the field in
its model. Pydantic can collect these texts, but it reads the source again at every start, and only the schema needs them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json, Spec
from reconciler.model.shape import attribute_docs
from reconciler.model.units import HOW_TO_WRITE
from reconciler.model.wire.version import SUPPORTED
from reconciler.model.written import written_value


class FieldText(NamedTuple):
    """What stands below a field, in three parts; the last two only where nothing else tells them."""

    about: str
    """What it is, in a sentence or two."""
    left_out: str = ""
    """What leaving it out means: the part after `Left out:`."""
    updates: str = ""
    """What updates may do to it: the part after `Updates:`."""


def described_fields() -> dict[str, dict[str, FieldText]]:
    """Return what is said by model and field; a field says what the model it was inherited from says. Of two models of
    one name, ours counts."""
    models = sorted(_all_models(Spec), key=lambda model: model.__module__.startswith("reconciler."))
    return {model.__name__: _texts_of(model) for model in models}


def _texts_of(model: type[Spec]) -> dict[str, FieldText]:
    return {
        _key_of(name): parse_field_text(text)
        for name, text in attribute_docs(model).items()
        if name in model.model_fields
    }


def _all_models(base: type[Spec]) -> list[type[Spec]]:
    return [base, *(model for below in base.__subclasses__() for model in _all_models(below))]


def _key_of(name: str) -> str:
    """Return the key of a field: `from` is a word of Python's own, so its field is called `from_`."""
    return name.removesuffix("_")


def parse_field_text(text: str) -> FieldText:
    """Split `What it is. Left out: what stands for it. Updates: what they may do.` into its parts."""
    about, *parts = re.split(r" (?=Left out: |Updates: )", text)
    parts_by_word = dict(part.split(": ", 1) for part in parts)
    return FieldText(about, *(parts_by_word.get(word, "").removesuffix(".") for word in ("Left out", "Updates")))


Schema = dict[str, Any]

LEFT_OUT, SINCE, UPDATES, WRITE = "Left out: ", "Since nats-server ", "Updates: ", "Write "
"""The beginnings of the lines."""
ANY = "any change"
INSIDE = "as for the key around it"
"""How updates may change a key of an object inside a configuration."""

_FORMATS = {"date-time": "2026-03-01T08:00:00Z, or with an offset such as +02:00", "date": "2026-12-31"}


def with_description(schema: Schema, field_text: FieldText, info: FieldInfo | None, family: str = "") -> Schema:
    """Return a key's schema with its description, and its default where that is a plain value. Without `info`, the key
    belongs to this tool alone."""
    default = schema.get("default") if info is None else info.default
    plain = {} if default is None else {"default": default}
    return {
        "description": "\n".join(_description_lines({**schema, **plain}, field_text, info, family)),
        **schema,
        **plain,
    }


def _description_lines(schema: Schema, field_text: FieldText, info: FieldInfo | None, family: str) -> Iterator[str]:
    yield field_text.about
    yield from (f"{WRITE}{how}." for how in dict.fromkeys(ways_to_write(schema)))
    if left_out := field_text.left_out or _default_in_words(schema, info or FieldInfo()):
        yield f"{LEFT_OUT}{left_out}."
    if info is None:
        return
    yield from _since_lines(info)
    rules = ", ".join(f"{family}{number}" for number in info.rules)
    yield f"{UPDATES}{field_text.updates or info.updatability or ANY}." + (f" See {rules}." if rules else "")


def ways_to_write(schema: Any) -> Iterator[str]:
    """Return how to write values with a unit, wherever they stand in the value of a key."""
    if isinstance(schema, list):
        for part in schema:
            yield from ways_to_write(part)
    elif isinstance(schema, Mapping):
        example = HOW_TO_WRITE.get(schema.get("pattern", "")) or _FORMATS.get(schema.get("format", ""))
        yield from [example] if example else []
        for keyword in ("anyOf", "items", "additionalProperties"):
            yield from ways_to_write(schema.get(keyword))


def _since_lines(info: FieldInfo) -> Iterator[str]:
    """Yield what the oldest supported server lacks."""
    if info.since and info.since > SUPPORTED[0]:
        yield f"{SINCE}{info.since.short}."
    for value, since in info.values_since.items():
        yield f"`{value}` since nats-server {since.short}."


def _default_in_words(schema: Schema, info: FieldInfo) -> str:
    default: Json = schema.get("default")
    if info.left_out or default is None:
        return info.left_out
    if default in ([], {}):
        return "none"
    is_unlimited = default == -1 and info.unit in ("count", "bytes")
    shown_default = written_value(default, info)
    return (
        f"no limit ({shown_default})"
        if is_unlimited
        else f"`{shown_default}`"
        if isinstance(default, str)
        else shown_default
    )
