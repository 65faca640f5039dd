"""`--format` and `--report`: several formats of one run, also of one that could not do its work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reconciler.changes.events import Failed, Finished
from reconciler.cli.shared.common import Misused
from reconciler.cli.shared.reporting import outcome_document, reports
from reconciler.journeys.plan.files import load
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.wire.steps import Call, Step
from reconciler.report.codec.outcome_json import outcome_report
from reconciler.report.document.document import Document
from reconciler.report.formats import FORMATS
from reconciler.report.outcome import outcome_text
from tests.cli.running import Shell
from tests.cli.test_with_server import SMALL, applied, target
from tests.report.plans import everything
from tests.support.accounts import Account

ALL = tuple(FORMATS)
WRONG = "reconciler: 1\ntopology: t\nstreams:\n  A: {subjectz: [a]}\n"
EVERY = tuple(part for name in ALL for part in ("--report", f"{name}={name}.out"))


def report(shell: Shell, name: str) -> str:
    return (shell.folder / f"{name}.out").read_text(encoding="utf-8")


def github_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("::")]


def test_a_plan_is_written_in_every_format_at_once(shell: Shell, account: Account) -> None:
    ran = shell("plan", shell.write(SMALL), *EVERY, *target(account))
    assert (ran.code, ran.err) == (0, "")
    assert "+ stream/A" in ran.out
    assert [name for name in ALL if "stream/A" not in report(shell, name)] == ["github", "sarif"]


def test_a_refusal_is_in_every_report_and_still_exits_4(shell: Shell, account: Account) -> None:
    file = applied(shell, account)
    shell.write(SMALL.replace("subjects: [a]", "subjects: [a]\n    storage: memory"))
    ran = shell("plan", file, "--format", "github", *EVERY, *target(account))
    assert ran.code == 4
    assert github_lines(ran.out)[0].startswith("::error file=topology.yaml,line=6,col=14,")
    assert [name for name in ALL if "ST101" not in report(shell, name)] == []


def test_wrong_files_are_reported_before_any_server_is_asked(shell: Shell) -> None:
    ran = shell("plan", shell.write(WRONG), "--format", "github", *EVERY, "--server", "127.0.0.1:1")
    assert ran.code == 1
    assert "did you mean `subjects`?" in ran.err
    assert github_lines(ran.out)[0].startswith("::error file=topology.yaml,line=4,col=7,")
    assert report(shell, "markdown").startswith("<!-- reconciler:plan:t -->\n")
    assert [name for name in ALL if "ST501" not in report(shell, name)] == []


def test_a_file_that_is_no_yaml_still_says_whose_comment_to_replace(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("reconciler: 1\ntopology: orders   # ours\nstreams: {A: [\n", encoding="utf-8")
    loaded = load([tmp_path / "t.yaml"])
    assert (loaded.topology, loaded.name) == (None, "orders")


def test_an_unreachable_server_is_reported_too(shell: Shell) -> None:
    ran = shell("plan", shell.write(SMALL), "--report", "junit=junit.out", "--server", "127.0.0.1:1")
    assert (ran.code, ran.out) == (1, "")
    assert ElementTree.fromstring(report(shell, "junit")).get("failures") == "1"


@pytest.mark.parametrize("command", ["plan", "drift", "rehearse"])
def test_a_server_that_does_not_answer_leaves_the_comment_its_topology(shell: Shell, command: str) -> None:
    reports = ("--report", "markdown=markdown.out", "--report", "sarif=sarif.out")
    ran = shell(command, shell.write(SMALL), *reports, "--server", "127.0.0.1:1")
    assert ran.code == 1
    assert report(shell, "markdown").startswith(f"<!-- reconciler:{command}:t -->\n### {command.capitalize()}: t\n")
    (result,) = json.loads(report(shell, "sarif"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "topology.yaml"


def test_metrics_of_a_server_that_does_not_answer_name_the_topology(shell: Shell) -> None:
    shell("drift", shell.write(SMALL), "--metrics", "drift.prom", "--server", "127.0.0.1:1")
    assert 'reconciler_drift_up{topology="t"} 0\n' in (shell.folder / "drift.prom").read_text()


def test_a_saved_plan_that_finds_no_server_is_reported_with_its_topology(shell: Shell, account: Account) -> None:
    shell("plan", shell.write(SMALL), "--out", "plan.json", *target(account))
    shell("apply", "plan.json", "--yes", "--report", "markdown=markdown.out", "--server", "127.0.0.1:1")
    assert report(shell, "markdown").startswith("<!-- reconciler:apply:t -->\n")
    assert "connection refused" in report(shell, "markdown")


def test_validate_speaks_every_format(shell: Shell) -> None:
    ran = shell("validate", shell.write(WRONG), "--format", "sarif", *EVERY)
    assert (ran.code, ran.err) == (1, "")
    assert json.loads(ran.out)["runs"][0]["results"][0]["ruleId"] == "ST501"
    assert report(shell, "sarif") == ran.out


def test_validate_of_fine_files_is_a_test_run_that_passed(shell: Shell) -> None:
    ran = shell("validate", shell.write(SMALL), "--format", "junit")
    root = ElementTree.fromstring(ran.out)
    assert (ran.code, root.get("tests"), root.get("failures")) == (0, "2", "0")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("text", "shop: 2 resources in"), ("github", "shop: 2 resources in"), ("markdown", "**2 resources in"),
        ("junit", '<property name="summary" value="2 resources in'), ("html", "<title>validate shop: 2 resources in"),
    ],
)  # fmt: skip
def test_a_report_of_fine_files_names_their_topology_once(shell: Shell, name: str, line: str) -> None:
    shell.write(SMALL.replace("topology: t", "topology: shop"))
    said = shell("validate", "topology.yaml", "--format", name).out
    assert [text.strip().startswith(line) for text in said.splitlines() if "2 resources in" in text][:1] == [True]


def test_apply_reports_what_was_done(shell: Shell, account: Account) -> None:
    ran = shell("apply", shell.write(SMALL), "--yes", "--report", "markdown=markdown.out", *target(account))
    assert ran.code == 0
    assert report(shell, "markdown").startswith("<!-- reconciler:apply:t -->\n")
    assert "Applied 2 steps (2 creates)" in report(shell, "markdown")


def test_applying_a_saved_plan_reports_what_was_done(shell: Shell, account: Account) -> None:
    shell("plan", shell.write(SMALL), "--out", "plan.json", *target(account))
    ran = shell("apply", "plan.json", "--yes", "--report", "junit=junit.out", *target(account))
    assert ran.code == 0
    assert ElementTree.fromstring(report(shell, "junit")).get("tests") == "2"


def test_paths_are_those_of_the_repository(shell: Shell) -> None:
    subprocess.run(["git", "init", "-q", str(shell.folder)], check=True)
    (shell.folder / "infra" / "nats").mkdir(parents=True)
    shell.write(WRONG, "infra/nats/t.yaml")
    ran = Shell(shell.folder / "infra")("validate", "nats/t.yaml", "--format", "github")
    assert github_lines(ran.out)[0].startswith("::error file=infra/nats/t.yaml,line=4,col=7,")


def test_a_report_that_cannot_be_written_fails_after_everything_else_is_said(shell: Shell) -> None:
    reports = ("--report", "json=no/such/folder.json", "--report", "sarif=sarif.out")
    ran = shell("validate", shell.write(SMALL), *reports)
    assert ran.code == 1
    assert "can be planned" in ran.out
    assert "Cannot write no/such/folder.json" in ran.err
    assert report(shell, "sarif")


@pytest.mark.parametrize("said", ["nonsense=x", "json", "json=", "=x", "JSON=x"])
def test_a_report_needs_a_format_and_a_file(said: str) -> None:
    with pytest.raises(Misused, match="write FORMAT=FILE, with one of text, json, markdown"):
        reports([said])


def test_a_report_nobody_can_write_is_wrong_usage(shell: Shell) -> None:
    assert shell("validate", shell.write(SMALL), "--report", "nonsense=x").code == 64


def test_without_reports_no_format_is_even_imported(shell: Shell) -> None:
    script = "import sys, reconciler.cli.account.plan; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2]
    ).stdout.split()
    assert "reconciler.cli.account.plan" in loaded
    assert {f"reconciler.report.{name}" for name in ("html", "sarif", "junit", "markdown", "github")} & {
        *loaded
    } == set()


def test_a_step_that_failed_fails_its_resource_in_every_report() -> None:
    reason = Diagnostic(severity=Severity.ERROR, code="AP102", name="refused", message="subjects overlap (10065)")
    step = Step(id="s1", call=Call.STREAM_CREATE, on=("NEW",), address="stream/NEW")
    finished = Finished(failed=(Failed(step=step, reason=reason, nothing_done=True),))
    before = Document(command="apply", topology="orders", plan=everything())
    after = outcome_document(
        before, finished, outcome_text(finished), outcome_report(finished, topology="t", exit_code=1)
    )
    failed = [one.get("name") for one in ElementTree.fromstring(FORMATS["junit"](after)).iterfind(".//failure/..")]
    assert "stream/NEW" in failed
    assert [name for name, tell in FORMATS.items() if "overlap" not in tell(after)] == []
