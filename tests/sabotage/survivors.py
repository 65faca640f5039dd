"""`python -m tests.sabotage.survivors FILES…` where mutmut has run: each mutant with its exit code, and how it differs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ALIVE = (0, 5, 33, None)
"""Exit codes of tests that all passed, or of none that were run."""


def told(file: str) -> list[dict[str, Any]]:
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    said = Path("mutants") / f"{file}.meta"
    codes = json.loads(said.read_text(encoding="utf-8"))["exit_code_by_key"] if said.exists() else {}
    return [
        {
            "file": file,
            "name": name,
            "code": code,
            "diff": get_diff_for_mutant(name, path=file) if code in ALIVE else "",
        }
        for name, code in codes.items()
    ]


if __name__ == "__main__":
    print(json.dumps([one for file in sys.argv[1:] for one in told(file)]))
