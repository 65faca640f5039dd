"""Names of resources → names of files that every file system takes, each the same wherever it is made.

What is not a letter, digit, `-` or `_` of ASCII becomes `=XX`, as in the ledger's keys. Long names are cut, and those
that some file system would take for one another, or for a device, say by a few more characters which one they are.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from reconciler.model.entries import escaped

LONGEST = 100
"""Characters; with a folder or two around it, a path stays below what Windows takes."""
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name without its ending for each of the names, which stand in one folder."""
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
