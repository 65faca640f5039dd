"""`python -m tests.site` writes the pages of docs/ that are made from the program.

`python -m tests.site PAGE…` plays these pages and puts under each command what it printed; an output with `...` is only shown.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.site.generated import generated
from tests.site.place import DOCS
from tests.site.playing import Finding, played, stage


def main() -> None:
    """Write pages anew, and say which."""
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            _renew(Path(name))
        return
    for path, text in generated():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{path.relative_to(DOCS)}")


def _renew(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as here:
        found = list(played(text, here))
    lines = text.splitlines()
    for finding in reversed(found):
        _put(lines, finding)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for finding in found:
        print(f"{path}:{finding.line}: {finding.said}", *finding.printed, sep="\n    ")


def _put(lines: list[str], finding: Finding) -> None:
    example = finding.example
    if example and "..." not in example.output:
        end = example.first + len(example.output)
        is_last = lines[end : end + 1] == ["```"]
        lines[example.first : end] = [*finding.printed, *([] if is_last else [""])]


if __name__ == "__main__":
    main()
