"""One name means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.support.binaries import PROJECT


def test_no_two_classes_share_a_name() -> None:
    homes = defaultdict(list)
    for path in sorted((PROJECT / "reconciler").rglob("*.py")):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ClassDef):
                homes[statement.name].append(str(path.relative_to(PROJECT)))
    assert len(homes) > 100
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
