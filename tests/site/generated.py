"""Which pages of docs/ are made from the program, and what they hold now. `python -m tests.site` writes them anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.site import commands, exit_codes, files, index, json_output, proofs, rules
from tests.site.place import DOCS

MAKERS: tuple[Callable[[], dict[str, str]], ...] = (
    proofs.page, rules.pages, files.pages, commands.pages, exit_codes.pages, json_output.pages, index.for_machines,
)  # fmt: skip
"""Each answers with whole pages by their path below docs/."""
PLACES = ("reference", "why/how-it-is-tested.md", "llms.txt")
"""Where these pages are, and no others."""


def is_generated(path: Path) -> bool:
    """Without making it: that takes seconds."""
    return any(path.is_relative_to(DOCS / place) for place in PLACES)


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated page with its text; whoever writes them does so one by one, since the last are about the others."""
    for make in MAKERS:
        for path, text in make().items():
            yield DOCS / path, text
