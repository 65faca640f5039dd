"""A scheduled drift job, as a pipeline runs it: a clone of a real repository, a shell, exit codes, files for the next step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLES, Ran, environment
from tests.drift.account import Owner, asking, updating
from tests.support.accounts import Account

DAY = 86_400_000_000_000
ORDERS = """reconciler: 1
topology: orders
streams:
  ORDERS:                      # everything that was ever ordered
    subjects: [orders.>]
    max_age: 7d                # agreed with billing
    consumers:
      dispatch: {ack_policy: explicit}
"""
# What the job of a pipeline runs: the report for people, findings for tools, metrics for the collector, and one exit code.
JOB = """
set -u
$PYTHON -m reconciler drift topology --report markdown=drift.md --report sarif=drift.sarif --metrics drift.prom
code=$?
if [ $code -eq 3 ]; then echo "::warning::drift"; fi
exit $code
"""


@dataclass(frozen=True)
class Repository:
    """A repository, and shells in clones of it."""

    folder: Path
    account: Account

    def shell(self, script: str, clone: str = "work") -> Ran:
        at = self.account
        env = environment(
            self.folder, NATS_URL=at.url, NATS_USER=at.user, NATS_PASSWORD=at.password, CI="true", PYTHON=sys.executable
        )
        identity = {
            f"GIT_{who}_{what}": "ci@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder / clone, env={**env, **identity, "LANG": os.environ.get("LANG", "C")},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    def must(self, script: str, clone: str = "work") -> str:
        ran = self.shell(script, clone)
        assert ran.code == 0, ran
        return ran.out

    def cloned(self, name: str) -> str:
        self.must(f"git clone -q {self.folder}/origin.git {name}", clone=".")
        return name


@pytest.fixture
def repository(account: Account, tmp_path: Path) -> Repository:
    made = Repository(tmp_path, account)
    made.must("git init -q --bare -b main origin.git && git clone -q origin.git work 2>/dev/null", clone=".")
    (tmp_path / "work" / "topology").mkdir()
    (tmp_path / "work" / "topology" / "orders.yaml").write_text(ORDERS)
    made.must("git checkout -q -b main && git add . && git commit -qm topology && git push -q origin main")
    return made


def test_a_scheduled_job_finds_drift_names_who_did_it_and_the_team_accepts_one_and_restores_the_other(
    repository: Repository, account: Account, tmp_path: Path
) -> None:
    repository.must(
        f"$PYTHON -m reconciler apply {EXAMPLES / 'audit.yaml'} --yes && $PYTHON -m reconciler apply topology --yes"
    )
    quiet = repository.shell(JOB, repository.cloned("monday"))
    assert (quiet.code, "no drift, 2 resources as declared" in quiet.out) == (0, True), quiet

    Owner(account, tmp_path).meddle(
        ("nats CLI of alice", updating("ORDERS", max_age=3 * DAY)),
        ("bob's script", asking("CONSUMER.DELETE.ORDERS.dispatch")),
    )
    found = repository.shell(JOB, repository.cloned("tuesday"))
    assert found.code == 3, found
    assert "::warning::drift" in found.out
    comment, sarif, metrics = (
        (tmp_path / "tuesday" / name).read_text() for name in ("drift.md", "drift.sarif", "drift.prom")
    )
    assert "changed outside by nats CLI of alice" in comment
    assert {
        (one["ruleId"], one["locations"][0]["physicalLocation"]["region"]["startLine"])
        for one in json.loads(sarif)["runs"][0]["results"]
    } == {("DR201", 6), ("DR203", 8)}
    assert 'reconciler_drift_objects{topology="orders",standing="missing"} 1' in metrics

    kept = repository.shell("$PYTHON -m reconciler drift accept topology --only 'stream/*'")
    assert kept.code == 0, kept
    diff = repository.must("git diff --unified=0 --no-color | tail -n 2")
    assert (
        diff
        == "-    max_age: 7d                # agreed with billing\n+    max_age: 3d                # agreed with billing\n"
    )
    repository.must("git commit -qam 'three days are enough' && git push -q origin main")

    put_back = repository.shell("$PYTHON -m reconciler drift restore topology --yes", repository.cloned("deploy"))
    assert put_back.code == 0, put_back
    after = repository.shell(JOB, repository.cloned("wednesday"))
    assert after.code == 0, after
    pushed = json.loads(repository.must("$PYTHON -m reconciler plan topology --format json"))["summary"]
    assert (pushed["create"], pushed["update"], pushed["delete"]) == (0, 0, 0)


def test_what_is_merged_and_not_applied_yet_wakes_nobody(repository: Repository) -> None:
    repository.must("$PYTHON -m reconciler apply topology --yes")
    repository.must(
        "sed -i 's/max_age: 7d/max_age: 9d/' topology/orders.yaml && git commit -qam longer && git push -q origin main"
    )
    ran = repository.shell(JOB, repository.cloned("nightly"))
    assert (ran.code, "pending" in ran.out) == (0, True), ran


def test_a_job_that_cannot_look_fails_and_is_no_drift(repository: Repository) -> None:
    ran = repository.shell(
        "NATS_URL=nats://127.0.0.1:1 $PYTHON -m reconciler drift topology --timeout 1s --metrics drift.prom"
    )
    assert (ran.code, ran.out) == (1, "")
    assert "127.0.0.1:1" in ran.err
    assert "reconciler_drift_up{topology=" in (metrics := (repository.folder / "work" / "drift.prom").read_text())
    assert "reconciler_drift_objects" not in metrics


def test_a_misspelt_selection_is_told(repository: Repository) -> None:
    ran = repository.shell("$PYTHON -m reconciler drift topology --only stream/ODRERS")
    assert (ran.code, ran.out) == (1, "")
    assert "write stream/ORDERS, or leave the option out" in ran.err
