"""The parts of the published JSON Schemas: strict objects, and the types of values that all of them use."""

from __future__ import annotations

import json
from typing import Any, get_args

from reconciler.model.fields import Unit

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
POSITION: Schema = {"type": "integer", "minimum": 1}
TEXTS: Schema = {"type": "array", "items": TEXT}
COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
CONFIG: Schema = {"type": "object"}
CODE: Schema = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}
VERSION: Schema = {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}
ADDRESS: Schema = {"type": "string", "pattern": "^[a-z_]+(/[^/]+)+$"}
VALUE: Schema = {"not": {"type": "null"}}
UNIT: Schema = {"enum": list(get_args(Unit))}


def says(description: str) -> Schema:
    """Return the meaning of a key, to be joined to the schema of its values: `COUNT | says("…")`."""
    return {"description": description}


_AMOUNT: dict[str, Schema] = {
    "least": COUNT | says("At least this much."),
    "about": COUNT | says("An estimate between the bounds."),
    "most": COUNT | says("At most this much."),
}
AMOUNTS: Schema = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": _AMOUNT,
        "required": ["least", "most"],
        "additionalProperties": False,
    },
}
"""Bounds of numbers that were not counted exactly."""
INFO: dict[str, Schema] = {
    "default": VALUE | says("The fixed value that a missing one means, if there is one."),
    "left_out": TEXT | says("What a missing value means, in words: `no limit`."),
    "units": {"type": "object", "additionalProperties": UNIT} | says("Units of the fields inside this one, by name."),
}
"""What helps to read values of a field besides its unit: the meaning of absence, and the units inside."""
RAW = "Raw: durations in nanoseconds, sizes in bytes. A missing key: absent."
UNITS = "How to read the values: durations are nanoseconds, sizes are bytes."

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def published(title: str, description: str, body: Schema, parts: Schema) -> Schema:
    """Return the schema of a whole document; `parts` are the definitions it refers to."""
    return {"$schema": DRAFT, "title": title, "description": description, **body, "$defs": parts}


def schema_text(schema: Schema) -> str:
    """Return a schema as it is published: indented JSON that ends in a newline."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def fixed(required: Schema, **optional: Schema) -> Schema:
    """An object with these keys and no others; those in `required` must be present."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": sorted(required),
        "additionalProperties": False,
    }


def format_of(number: int) -> Schema:
    """The key that names the version of the document's contract."""
    return {"const": number} | says("Version of this contract. If you do not know the number, stop reading.")


def ref(name: str) -> Schema:
    """A reference to the part of that name under `$defs` of the same document."""
    return {"$ref": f"#/$defs/{name}"}


def list_of(name: str) -> Schema:
    """An array in which every item is the part of that name under `$defs`."""
    return {"type": "array", "items": ref(name)}


def one_of(closed: type[Any]) -> Schema:
    """Any one of the values that the members of this enum have."""
    return {"enum": [member.value for member in closed]}


def one_of_texts(*texts: str) -> Schema:
    """Any one of these texts, for a closed set that is no enum."""
    return {"enum": list(texts)}
