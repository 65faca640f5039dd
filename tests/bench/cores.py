"""Seconds of processors, of this process and everything it has started: what other load on the machine does not add to."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path


def cores_used() -> float:
    """So far; of ended ones, what their parents have waited for."""
    times, children = {}, defaultdict(list)
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _stat(folder)):
            children[int(fields[1])].append(int(folder.name))
            times[int(folder.name)] = sum(int(field) for field in fields[11:15])
    ours, total = [os.getpid()], 0
    for one in ours:
        ours.extend(children[one])
        total += times.get(one, 0)
    return total / os.sysconf("SC_CLK_TCK")


def _stat(folder: Path) -> list[str]:
    """What follows the name: state, parent, …, and from the twelfth on the times of it and of its ended children."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return []
