"""The real server of each supported minor version, kept in the project's own cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from reconciler.testbed import programs

VERSIONS = {"2.11": "2.11.11", "2.12": "2.12.8", "2.14": "2.14.6", "2.15": "2.15.1"}
"""The patch release tested for each supported minor."""

MINORS = tuple(VERSIONS)
OLDEST = MINORS[0]
NEWEST = MINORS[-1]
BETWEEN = MINORS[1:-1]

PROJECT = Path(__file__).parents[2]


def binary(minor: str) -> Path:
    """The nats-server of this minor version."""
    return programs.program(VERSIONS[minor], _cache())


def _cache() -> Path:
    chosen = os.environ.get(programs.FOLDER)
    return Path(chosen) if chosen else PROJECT / ".cache" / "nats-server"


if __name__ == "__main__":  # before tests run side by side
    for one in MINORS:
        binary(one)
