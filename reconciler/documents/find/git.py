"""Asks git about a folder, whatever a hook or the user's settings say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def ask_git(folder: Path, *question: str, patience: float, given: bytes = b"") -> bytes:
    """Return what git answers within so many seconds. Raises what `subprocess.run` does where there is no answer."""
    # A hook sets GIT_DIR and friends, which would make git answer for another folder.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    return subprocess.run(
        ["git", "-C", str(folder), *question], capture_output=True, check=True, env=environment, input=given,
        timeout=patience,
    ).stdout  # fmt: skip
