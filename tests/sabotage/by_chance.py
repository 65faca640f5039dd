"""`make mutation FILES='reconciler/changes/consent.py …'`: mutmut changes these files by chance, in a copy, one place at a time.

mutmut changes what stands in functions: neither tables nor what has a decorator, and so no rule. Those are for acts.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.sabotage.survivors import ALIVE
from tests.sabotage.tree import PROJECT, Tree
from tests.sabotage.trying import without_pytest

FILES = (
    *(f"reconciler/changes/{name}.py" for name in ("consent", "effect", "rebase")),
    "reconciler/model/selection.py",
    *(f"reconciler/engine/{name}.py" for name in ("guards", "identity", "take_over", "target_check")),
    *(f"reconciler/changes/{name}.py" for name in ("at_stake", "recount")),
    *(
        f"reconciler/journeys/{name}.py"
        for name in ("drift/ignore", "apply/last_look", "saved/saved", "saved/comparison")
    ),
    "reconciler/kinds/subjects/partitions.py",
    "reconciler/kinds/losses/over_limit.py",
)
"""Where it is decided what may be done, what is lost and whose it is."""
TESTS = (
    "tests/core", "tests/guards/test_mass_changes.py", "tests/replacement/test_judging.py",
    "tests/primitives/test_partitions.py", "tests/drift/test_ignoring.py", "tests/drift/test_headings.py",
)  # fmt: skip
"""Those that need no server: thousands of times they are run."""
NEEDED = ("tests", "examples", "schemas")
_TEXT = re.compile(r'"[^"]*"|\'[^\']*\'')


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    file: str
    name: str
    code: int | None
    lines: tuple[str, ...] = ()
    """What was taken away (`-`) and put there instead (`+`); of those alone that nobody killed."""

    @property
    def is_alive(self) -> bool:
        """One that never ends is killed."""
        return self.code in ALIVE

    @property
    def changes_words_alone(self) -> bool:
        """Nothing but a sentence differs. What is said to people is for golden files to hold, and costs no data."""
        old, new = ([_TEXT.sub(_said, line[1:]) for line in self.lines if line[0] == sign] for sign in "-+")
        return old == new


def _said(text: re.Match[str]) -> str:
    """Without a space it is a name that somebody looks something up by."""
    return '""' if " " in text[0] else text[0]


def mutated(tree: Tree, files: Sequence[str], tests: Sequence[str], *, at_once: int = 2) -> list[Mutant]:
    """Raises CalledProcessError where mutmut itself fails, such as when the tests are red."""
    said = {"source_paths": ["reconciler"], "only_mutate": [*files], "also_copy": [*NEEDED],
            "pytest_add_cli_args_test_selection": [*tests]}  # fmt: skip
    lines = [f"{name} = {json.dumps(value)}" for name, value in said.items()]
    with (tree.root / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[tool.mutmut]", *lines, ""]))
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(at_once)]
    subprocess.run(command, cwd=tree.root, check=True, env=without_pytest(), stdout=sys.stderr)
    return _found(tree, files)


def _found(tree: Tree, files: Sequence[str]) -> list[Mutant]:
    command = [sys.executable, "-m", "tests.sabotage.survivors", *files]
    said = subprocess.run(command, cwd=tree.root, check=True, env=without_pytest(), stdout=subprocess.PIPE, text=True)
    return [
        Mutant(file=one["file"], name=one["name"], code=one["code"], lines=_changed(one["diff"]))
        for one in json.loads(said.stdout.splitlines()[-1])
    ]


def _changed(diff: str) -> tuple[str, ...]:
    return tuple(line for line in diff.split("\n") if re.match(r"[-+](?!--|\+\+)", line))


def told(mutants: Iterable[Mutant], *, words: bool) -> Iterator[str]:
    """The survivors, and a score for each file."""
    every = list(mutants)
    for one in every:
        if one.is_alive and (words or not one.changes_words_alone):
            yield "\n    ".join([f"{'survived' if one.code == 0 else 'not tested'}: {one.name}", *one.lines])
    width = max((len(one.file) for one in every), default=4)
    yield f"{'file':{width}}  mutants  killed  survived  not tested  words alone  score"
    for file in [*dict.fromkeys(one.file for one in every), "all"]:
        yield f"{file:{width}}  {_row([one for one in every if file in (one.file, 'all')])}"


def _row(mutants: Sequence[Mutant]) -> str:
    """The score is of those that change more than words."""
    counted = Counter(_sort(one) for one in mutants)
    killed, rest = counted["killed"], counted["survived"] + counted["not tested"]
    score = 100 * killed / (killed + rest) if killed + rest else 100.0
    return (
        f"{len(mutants):7}  {killed:6}  {counted['survived']:8}  {counted['not tested']:10}  "
        f"{counted['words alone']:11}  {score:4.1f}%"
    )


def _sort(one: Mutant) -> str:
    if not one.is_alive:
        return "killed"
    if one.changes_words_alone:
        return "words alone"
    return "survived" if one.code == 0 else "not tested"


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("files", nargs="*", default=FILES)
    said.add_argument("--tests", default=" ".join(TESTS), help="those to run, with spaces between them")
    said.add_argument("--words", action="store_true", help="name also those that change nothing but a text")
    options = said.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tree = Tree.of(PROJECT, Path(folder))
        found = mutated(tree, options.files or FILES, options.tests.split())
    print("\n".join(told(found, words=options.words)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
