"""Prints what CHANGELOG.md says of a release: `notes.py v0.1.0`. Nothing but the standard library."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path("CHANGELOG.md")


def main(tag: str) -> int:
    version = tag.removeprefix("v")
    for section in re.split(r"^## ", CHANGELOG.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        if heading.split()[:1] == [version] and body.strip():
            print(body.strip())  # noqa: T201
            return 0
    wanted = (
        f"CHANGELOG.md says nothing under `## {version} (DAY)`, so {tag} is no release; write it there and tag that"
    )
    print(f"::error title=release::{wanted}", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
