"""Whether what a command printed is what `schemas/groups.schema.json` promises."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "groups.schema.json").read_text(encoding="utf-8"))


def follows_the_schema(command: str, printed: str) -> bool:
    """True, or an error that says where not."""
    wanted = {"$ref": f"#/$defs/{command}", "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(wanted).validate(json.loads(printed))
    return True
