"""Turns names of resources into names of files that every file system takes, the same on every machine.

A character other than a letter, digit, `-` or `_` of ASCII becomes `=XX`, as in the ledger's keys. Long names are cut.
A name that some file system would confuse with another, or with a device, gets a few more characters.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from reconciler.model.entries import escaped

LONGEST = 100
"""The most characters; with a folder or two above, a path stays below the limit of Windows."""
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name without its ending for each of the names, which share one folder."""
    stems = {name: escaped(name) for name in names}
    alike = Counter(stem.casefold() for stem in stems.values())
    return {
        name: stem if alike[stem.casefold()] == 1 and _is_fit(stem) else f"{stem[:LONGEST]}={_digest(name)}"
        for name, stem in stems.items()
    }


def _is_fit(stem: str) -> bool:
    return 0 < len(stem) <= LONGEST and stem.casefold() not in DEVICES


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:10]
