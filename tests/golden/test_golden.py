"""Whole plans as people and tools see them: what is live beside what is declared, and `plan.txt`, `plan.json`.

A folder is a scenario: `desired.yaml`, `live.yaml` (applied before; nothing when it is missing), and `account.yaml` for
what files cannot say: the server's version, who owns what is live, pieces of raw answers, what is queued. A line with
`{n}` stands for `times` lines. `pytest tests/golden --update-golden` rewrites what is expected.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.changes.plan import Plan
from reconciler.engine.compare import count_objects
from reconciler.model.wire.questions import Question, SubjectCounts
from reconciler.report.codec.json import plan_json
from tests.support.plans import plan_from_json
from tests.support.reports import plan_text
from tests.support.topologies import Scene, account, facts, from_files, ledger_of, overlaid, target

FOLDER = Path(__file__).parent
SCENARIOS = sorted(path.parent.name for path in FOLDER.glob("*/desired.yaml"))


def said_of(folder: Path) -> dict[str, Any]:
    path = folder / "account.yaml"
    return dict(YAML(typ="safe").load(path)) if path.exists() else {}


def repeated(source: Path, folder: Path, times: int) -> Path:
    """The file with its `{n}` lines written out, under the same name."""
    lines = source.read_text(encoding="utf-8").splitlines()
    written = [line.replace("{n}", f"{n:03}") for line in lines for n in range(times if "{n}" in line else 1)]
    path = folder / source.name
    path.write_text("\n".join(written) + "\n", encoding="utf-8")
    return path.relative_to(folder)


def planned(name: str, folder: Path) -> Plan:
    source = FOLDER / name
    said = said_of(source)
    times = said.get("times", 1)
    live = from_files(repeated(source / "live.yaml", folder, times)) if (source / "live.yaml").exists() else None
    at = target(said.get("server", "2.12.8"), cluster=said.get("cluster"), peers=said.get("peers", 1))
    snapshot = overlaid(account(live, at), said.get("raw", {}))
    owned = {a: r for a, r in ledger_of(live, snapshot).items() if str(a) not in said.get("not_owned", ())}
    answers: dict[Question, Any] = {
        SubjectCounts(stream=stream, filter=">"): counts for stream, counts in said.get("queued", {}).items()
    }
    answers |= facts(said.get("facts", ()))
    desired = from_files(repeated(source / "desired.yaml", folder, times))
    scene = Scene(desired=desired, snapshot=snapshot, ledger=owned, facts=answers)
    return replace(scene.plan(), read=count_objects(scene.view()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files stand under the names that reports then show."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(path: Path, text: str, *, update: bool) -> None:
    if update:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_plan_reads_as_expected(name: str, folder: Path, update_golden: bool) -> None:
    same(FOLDER / name / "plan.txt", plan_text(planned(name, folder), arguments="desired.yaml"), update=update_golden)


@pytest.mark.parametrize("name", [name for name in SCENARIOS if "times" not in said_of(FOLDER / name)])
def test_the_plan_as_json_is_as_expected(name: str, folder: Path, update_golden: bool) -> None:
    same(FOLDER / name / "plan.json", plan_json(planned(name, folder)), update=update_golden)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_plan_comes_back_from_its_json(name: str, folder: Path) -> None:
    text = plan_json(planned(name, folder))
    assert plan_json(plan_from_json(text)) == text
