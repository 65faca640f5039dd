"""The image's Dockerfile as its instructions, each a name and the rest of it."""

from __future__ import annotations

import re

from tests.ci.runner import ROOT

_TEXT = (ROOT / ".github" / "container" / "Dockerfile").read_text(encoding="utf-8")
_LINES = re.sub(r"^#.*\n", "", _TEXT, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
INSTRUCTIONS = [(line.split()[0], line.split(maxsplit=1)[1]) for line in _LINES if line.strip()]


def stage(number: int) -> list[tuple[str, str]]:
    """What follows the FROM of that number; -1: of the image itself."""
    starts = [place for place, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM"]
    ends = [*starts[1:], len(INSTRUCTIONS)]
    return INSTRUCTIONS[starts[number] + 1 : ends[number]]
