"""`permissions --format json` names the subjects of the printed block, with a reason for each, as its schema says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reconciler.model.wire.permissions import Purpose
from tests.cli.running import Shell
from tests.permissions.scenes import THEN
from tests.support.contracts import followed

MORE = {Purpose.PLAN: (), Purpose.APPLY: ("--backup",), Purpose.DRIFT: ("--watch",)}


def test_the_files_may_hold_several_topologies(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for name in ("a", "b"):
        shell.write(
            f"reconciler: 1\ntopology: {name}\nstreams: {{{name.upper()}: {{subjects: [{name}]}}}}\n", f"{name}.yaml"
        )
    ran = shell("permissions", "apply", ".", "--format", "json")
    data = followed("permissions", ran.out)
    assert (ran.code, ran.err, data["topologies"]) == (0, "", ["a", "b"])
    alone = [
        followed("permissions", shell("permissions", "apply", f"{name}.yaml", "--format", "json").out)
        for name in ("a", "b")
    ]
    assert {*data["publish"]["allow"]} == {subject for one in alone for subject in one["publish"]["allow"]}
    assert "# to plan and apply topologies a, b\n" in shell("permissions", "apply", ".").out


@pytest.mark.parametrize("purpose", Purpose)
def test_tools_are_told_what_the_block_says(tmp_path: Path, purpose: Purpose) -> None:
    shell = Shell(tmp_path)
    file = shell.write(f"reconciler: 1\ntopology: t\n{THEN}")
    words = ("permissions", purpose.value, file, *MORE[purpose])
    data = followed("permissions", shell(*words, "--format", "json").out)
    publish, subscribe = shell(*words).out.split("subscribe {")
    assert (data["topology"], data["purpose"]) == ("t", purpose.value)
    assert data["publish"]["allow"] == re.findall(r'^ +"(.*)"$', publish, re.MULTILINE)
    assert data["subscribe"]["allow"] == re.findall(r'^ +"(.*)"$', subscribe, re.MULTILINE)
    assert data["why"].keys() == {*data["publish"]["allow"], *data["subscribe"]["allow"]}
