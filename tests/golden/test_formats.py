"""One plan with something of everything, in every format: `pytest tests/golden --update-golden` rewrites them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.kinds import REGISTRY
from reconciler.report.document.document import Document
from reconciler.report.formats import FORMATS
from tests.golden.test_golden import FOLDER, folder, planned, same
from tests.support.topologies import from_files

__all__ = ["folder"]

GOLDEN = {
    "markdown": "plan.md", "github": "plan.annotations", "sarif": "plan.sarif", "junit": "plan.xml", "html": "plan.html",
}  # fmt: skip


def showcase(folder: Path) -> Document:
    plan = planned("showcase", folder)
    return Document(
        kinds=REGISTRY.by_name,
        topology=plan.topology, plan=plan, declared=from_files(Path("desired.yaml")), arguments="desired.yaml",
        explain=lambda code: f"What {code} means.\n\nInstead: what its page says.",
    )  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_the_plan_looks_as_expected(name: str, folder: Path, update_golden: bool) -> None:
    same(FOLDER / "showcase" / GOLDEN[name], FORMATS[name](showcase(folder)), update=update_golden)


def test_every_format_has_a_golden_file() -> None:
    assert {"text", "json", *GOLDEN} == {*FORMATS}
