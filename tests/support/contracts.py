"""Whether what a command printed is what its published schema promises."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parents[2] / "schemas"


def followed(name: str, printed: str, part: str = "") -> Any:
    """What was printed, or an error that says where it is not as the schema says; `part`: which of its documents it is."""
    data = json.loads(printed)
    for validator in _validators(name, part):
        validator.validate(data)
    return data


@cache
def _validators(name: str, part: str) -> list[Draft202012Validator]:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    only = [{"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]}] if part else []
    return [Draft202012Validator(one) for one in (schema, *only)]
