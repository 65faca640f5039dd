"""What SARIF 2.1.0 asks of the objects we write, by its sections (§3.13 and on), and nothing that it does not know.

Stricter than the published schema where that leaves room: every object here holds what viewers need to show it.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
NUMBER: Schema = {"type": "integer", "minimum": 1}
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
URI: Schema = {"type": "string", "format": "uri-reference", "pattern": r"^[\w!$&'()*+,./:;=@%~-]+$"}


def thing(required: Schema, **optional: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": sorted(required),
        "additionalProperties": False,
    }


def some(items: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": True}


MESSAGE = thing({"text": TEXT})  # §3.11
HELP = thing({"text": TEXT}, markdown=TEXT)  # §3.12
RULE = thing(  # §3.49
    {"id": TEXT, "shortDescription": HELP, "fullDescription": HELP, "help": HELP},
    helpUri=URI,
    name={"type": "string", "pattern": "^([A-Z][A-Za-z0-9]*)?$"},
    defaultConfiguration=thing({"level": LEVEL}),
    properties=thing({"tags": some(TEXT)}, precision={"enum": ["very-high", "high", "medium", "low"]}),
)
REGION = thing({"startLine": NUMBER, "startColumn": NUMBER, "endLine": NUMBER, "endColumn": NUMBER})  # §3.30
LOCATION = thing(  # §3.28
    {},
    physicalLocation=thing({"artifactLocation": thing({"uri": URI}, uriBaseId=TEXT), "region": REGION}),
    logicalLocations=some(thing({"fullyQualifiedName": TEXT, "kind": TEXT}), 1),
)
RESULT = thing(  # §3.27
    {
        "ruleId": TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": some(LOCATION),
        "partialFingerprints": {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
    },
    suppressions=some(thing({"kind": {"enum": ["inSource", "external"]}}, justification={"type": "string"}), 1),
)
RUN = thing(  # §3.14
    {
        "tool": thing({"driver": thing({"name": TEXT, "semanticVersion": TEXT, "rules": some(RULE)})}),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
    },
    automationDetails=thing({"id": TEXT}, description=MESSAGE),
    originalUriBaseIds={"type": "object", "additionalProperties": thing({"description": MESSAGE}, uri=URI)},
)
LOG = thing({"version": {"const": "2.1.0"}, "runs": some(RUN, 1)}, **{"$schema": URI})  # §3.13
