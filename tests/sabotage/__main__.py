"""`make sabotage ONLY=word`: every act, or those with this word, in copies of the project; 1 if one is not caught."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.sabotage.act import Act, chosen
from tests.sabotage.acts import ACTS
from tests.sabotage.table import lines
from tests.sabotage.tree import PROJECT, Tree
from tests.sabotage.trying import Ran, Trial, red_before, run, tried

AT_ONCE = 2
"""Acts tried side by side, each in a copy of its own."""
GREEN_WITHIN = 1200.0
"""Seconds for all tests that are named, where nothing was done."""


def all_tried(acts: Sequence[Act], folder: Path) -> list[Trial]:
    trees: SimpleQueue[Tree] = SimpleQueue()
    for number in range(AT_ONCE):
        trees.put(Tree.of(PROJECT, folder / f"copy{number}"))
    before = _green(acts, trees)

    def one(act: Act) -> Trial:
        tree = trees.get()
        try:
            trial = red_before(act, before) or tried(act, tree)
        finally:
            trees.put(tree)
        _tell(f"{trial.verdict}: {act.name} ({trial.seconds:.1f} s, {trial.by})")
        return trial

    with ThreadPoolExecutor(AT_ONCE) as workers:
        return list(workers.map(one, acts))


def _green(acts: Sequence[Act], trees: SimpleQueue[Tree]) -> Ran:
    """A test that is red by itself proves nothing. Each once, however many acts name it; and what Python compiles on the
    way, each copy keeps."""
    tests = list(dict.fromkeys(test for act in acts for test in act.seen_by))
    tree = trees.get()
    ran = run(tree, tests, "-n", str(AT_ONCE), "--dist", "worksteal", within=GREEN_WITHIN)
    trees.put(tree)
    _tell(f"{len(tests)} files and tests as they are: {ran.said.strip().splitlines()[-1]}")
    return ran


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--only", default="", metavar="WORD", help="in the name, the file or the tests of an act")
    acts = chosen(ACTS, said.parse_args().only)
    if not acts:
        said.error("no act has that word")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sabotage-") as folder:
        trials = all_tried(acts, Path(folder))
    print("\n".join(lines(trials)), f"in {time.monotonic() - began:.0f} s")
    return int(not all(one.is_caught for one in trials))


if __name__ == "__main__":
    sys.exit(main())
