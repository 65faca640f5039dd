"""What was measured on real servers, as one file: the pages of the documentation are made from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.binaries import VERSIONS

FILE = Path(__file__).parents[2] / "docs" / "reference" / "rules" / "measured.json"

Measured = Mapping[str, Any]
"""`measured`: the day; `servers`: minor version → patch release; `rules`: code → `example`, `changes` and `harms`."""


@cache
def measured() -> Measured:
    """What the last whole run saw."""
    if not FILE.exists():
        return {"rules": {}}
    found: Measured = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def of_code(code: str) -> Measured:
    """What was measured for this code: empty where nothing was."""
    found: Measured = measured()["rules"].get(code, {})
    return found


def write(rules: Mapping[str, Any], day: str = "") -> bool:
    """Writes the file unless it says this already. The day is the one on which something new was seen, or the one given. Whether
    it wrote."""
    now = {"servers": dict(VERSIONS), "rules": rules}
    if {name: measured().get(name) for name in now} == json.loads(json.dumps(now)):
        return False
    text = json.dumps(
        {"measured": day or str(datetime.now(UTC).date()), **now}, indent=1, sort_keys=True, ensure_ascii=False
    )
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(text + "\n", encoding="utf-8")
    return True
