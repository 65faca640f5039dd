"""`make story`: what `make demo-fleet` shows, told to its end: each command ends as the story has it, and the page is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HASTY = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=160m"}
"""It ends before compiling well has paid."""


def test_the_story_of_a_fleet_is_told_to_its_end(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reconciler", "demo", "--fleet"]
    told = subprocess.run(command, cwd=tmp_path, env=os.environ | HASTY, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr[-2000:]
    assert re.findall(r"^exit (\d+)$", told.stdout, re.MULTILINE) == ["0", "0", "3", "3", "0", "0", "3"]
    (page,) = tmp_path.glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert all(word in text for word in ("lab-1", "night-3", "stream/", "billing", "<svg"))
