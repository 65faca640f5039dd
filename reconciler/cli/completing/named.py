"""Names that a word may become: what files declare, and contexts of the nats CLI. A file that cannot be read has none."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from reconciler.model.dataclass import dataclass

PATIENCE = 0.15
"""Seconds in which files are looked for: whoever pressed a key waits, and may be in a folder of a million files."""


ROOM = 512 << 10
"""Characters of files that are read at most."""


ENDINGS = (".yaml", ".yml")


Kinds = Mapping[str, Sequence[Any]]
"""By kind: its section, the kind it stands within, the key and value that tell it from others of that section, its family."""


@dataclass(slots=True)
class NamesOnMachine:
    """What there is on this machine; files are read once."""

    kinds: Kinds
    environ: Mapping[str, str]
    _read: dict[tuple[str, ...], NamesRead] = field(default_factory=dict)

    def addresses(self, files: Sequence[str]) -> list[str]:
        """Return what the files declare as their own."""
        return self._names_in(files).addresses

    def labels(self, files: Sequence[str]) -> list[str]:
        """Return labels of anything in the files, as `team=orders`."""
        return self._names_in(files).labels

    def topologies(self, files: Sequence[str]) -> list[str]:
        """Return the names of topologies in the files."""
        return self._names_in(files).topologies

    def environments(self, files: Sequence[str]) -> list[str]:
        """Return the names of environments in the files."""
        return self._names_in(files).environments

    def contexts(self) -> list[str]:
        """Return the contexts of the nats CLI."""
        from reconciler.server.connect.settings import config_home, context_names  # noqa: PLC0415 - only for who names one

        return context_names(config_home(self.environ))

    def _names_in(self, files: Sequence[str]) -> NamesRead:
        paths = tuple(path for path in files if Path(path).exists()) or (".",)
        if paths not in self._read:
            self._read[paths] = read_names([Path(path) for path in paths], self.kinds)
        return self._read[paths]


@dataclass(slots=True)
class NamesRead:
    """In the order of the files, each once."""

    addresses: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    topologies: list[str] = field(default_factory=list)
    environments: list[str] = field(default_factory=list)


def read_names(paths: Sequence[Path], kinds: Kinds) -> NamesRead:
    """Return the names in the files, as far as they are read in no time."""
    names_by_use: dict[str, dict[str, None]] = {"addresses": {}, "labels": {}, "topologies": {}, "environments": {}}
    for root in _topology_trees(paths, kinds):
        if name := _value_text(root, "topology"):
            names_by_use["topologies"][name] = None
        names_by_use["environments"] |= dict.fromkeys(getattr(root.get("environments"), "entries", ()))
        for address, entry in _entries_below(root, kinds, None, ()):
            external = entry.get("external") if hasattr(entry, "get") else None
            if external is None or _value_text(entry, "external") == "false":
                names_by_use["addresses"][address] = None
            labels = entry.get("labels") if hasattr(entry, "get") else None
            names_by_use["labels"] |= {
                f"{key}={_value_text(labels, key)}": None for key in getattr(labels, "entries", ())
            }
    return NamesRead(**{use: [*names] for use, names in names_by_use.items()})


def _topology_trees(paths: Sequence[Path], kinds: Kinds) -> Iterator[Any]:
    from reconciler.documents.parse.tree import read_tree  # noqa: PLC0415 - only for who has files

    sections = "|".join({str(section) for section, within, *_ in kinds.values() if within is None})
    topology_file = re.compile(rf"""^\{{?["']?({sections}|topology|environments)\b""", re.MULTILINE)
    room = ROOM
    for path in list(_candidate_files(paths)):
        text = _read_text(path, room)
        room -= len(text)
        if topology_file.search(text):
            root, errors = read_tree(str(path), text)
            if not errors and hasattr(root, "entries"):
                yield root


def _read_text(path: Path, room: int) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size <= room else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _candidate_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that are named and what stands in named folders; of folders below, those nearest first while there is time."""
    waiting, until = deque(paths), time.monotonic() + PATIENCE
    named_paths = {*paths}
    while waiting:
        path = waiting.popleft()
        if not path.is_dir():
            if path in named_paths or path.name.endswith(ENDINGS):
                yield path
        elif os.access(path, os.R_OK) and (path in named_paths or time.monotonic() < until):
            inside = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
            waiting.extend(sorted(inside, key=Path.is_dir))


def _entries_below(node: Any, kinds: Kinds, within: str | None, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for kind, (section, stands_in, tag, _) in kinds.items():
        section_node = node.get(section) if stands_in == within and hasattr(node, "get") else None
        for name, (_, entry) in getattr(section_node, "entries", {}).items():
            if tag is None or _value_text(entry, tag[0]) == tag[1]:
                yield "/".join((kind, *above, name)), entry
                yield from _entries_below(entry, kinds, kind, (*above, name))


def _value_text(node: Any, key: str) -> str:
    value = node.get(key) if hasattr(node, "get") else None
    return getattr(value, "text", "")
