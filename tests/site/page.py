"""A page of the documentation as a list of blocks: what a reader may type, what they are to see, what files hold.

```yaml title="orders.yaml"     a file; without a title, a topology that has to be valid
```diff title="orders.yaml"     an edit of a file
```console                      `$ command`, optionally `# exit 3`, and below it what it prints; `...` stands for any lines
```sh                           commands for the reader's machine alone (installing, make): not run
<!-- scene: run COMMAND -->     a command that readers do not see
<!-- scene: NAME words … -->    what happened meanwhile (tests/site/scenes.py); readers do not see it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WIDTH = 84
"""Columns of what commands print: a block of the site shows so many without scrolling."""
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*) *(?P<rest>.*)$")
SCENE = re.compile(r"^<!-- scene: (?P<words>.+) -->$")
TITLE = re.compile(r'title="(?P<title>[^"]+)"')
EXIT = re.compile(r"\s+# exit (?P<code>\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block, or one hidden scene."""

    language: str
    """Of the fence; `scene` for what happens meanwhile."""
    title: str | None
    text: str
    line: int
    """Where its first line of text stands, counted from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A command with what it prints and how it ends."""

    command: str
    code: int
    output: tuple[str, ...]
    first: int
    """Index of the output's first line among the page's lines."""


def blocks(text: str) -> Iterator[Block]:
    """All blocks of a page in their order."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if scene := SCENE.match(lines[at]):
            yield Block(language="scene", title=None, text=scene["words"], line=at + 1)
        elif fence := FENCE.match(lines[at]):
            end = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == "```")
            title = TITLE.search(fence["rest"])
            cut = len(fence["indent"])
            body = "\n".join(line[cut:] for line in lines[at + 1 : end])
            yield Block(language=fence["language"], title=title and title["title"], text=body, line=at + 2)
            at = end
        at += 1


def examples(block: Block) -> Iterator[Example]:
    """The commands of a console block, each with the output below it."""
    lines = block.text.splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith("$ ")]
    assert starts and starts[0] == 0, f"line {block.line}: a console block begins with `$ command`"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = start
        while lines[last].endswith("\\"):
            last += 1
        words = " ".join(line.rstrip("\\").strip() for line in lines[start : last + 1])[2:]
        exits = EXIT.search(words)
        yield Example(
            command=EXIT.sub("", words), code=int(exits["code"]) if exits else 0,
            output=tuple(lines[last + 1 : end]), first=block.line - 1 + last + 1,
        )  # fmt: skip


def pages(root: Path) -> list[Path]:
    """README and all of docs/."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
