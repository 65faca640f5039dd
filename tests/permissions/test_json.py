"""`permissions --format json` names the subjects of the printed block, with a reason for each, as its schema says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reconciler.model.permissions import Purpose
from tests.cli.running import Shell
from tests.permissions.scenes import THEN
from tests.support.contracts import followed

MORE = {Purpose.PLAN: (), Purpose.APPLY: ("--backup",), Purpose.DRIFT: ("--watch",)}


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
