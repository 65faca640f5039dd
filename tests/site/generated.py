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


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated page with its text; whoever writes them does so one by one, since the last are about the others."""
    for make in MAKERS:
        for path, text in make().items():
            yield DOCS / path, text
