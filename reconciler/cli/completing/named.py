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
"""Bytes of files that are read at most."""
ENDINGS = (".yaml", ".yml")

Kinds = Mapping[str, Sequence[Any]]
"""By kind: its section, the kind it stands within, the key and value that tell it from others of that section, its family."""


@dataclass(slots=True)
class NamesThere:
    """What there is on this machine; files are read once."""

    kinds: Kinds
    environ: Mapping[str, str]
    _read: dict[tuple[str, ...], NamesRead] = field(default_factory=dict)

    def addresses(self, files: Sequence[str]) -> list[str]:
        """Everything that the files declare as their own."""
        return self._of(files).addresses

    def labels(self, files: Sequence[str]) -> list[str]:
        """`team=orders`, of anything in the files."""
        return self._of(files).labels

    def topologies(self, files: Sequence[str]) -> list[str]:
        """Names of topologies that the files say."""
        return self._of(files).topologies

    def contexts(self) -> list[str]:
        """Of the nats CLI."""
        from reconciler.server.connect.contexts import config_home, context_names  # noqa: PLC0415 - only for who names one

        return context_names(config_home(self.environ))

    def _of(self, files: Sequence[str]) -> NamesRead:
        there = tuple(one for one in files if Path(one).exists()) or (".",)
        if there not in self._read:
            self._read[there] = declared([Path(one) for one in there], self.kinds)
        return self._read[there]


@dataclass(slots=True)
class NamesRead:
    """In the order of the files, each once."""

    addresses: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    topologies: list[str] = field(default_factory=list)


def declared(paths: Sequence[Path], kinds: Kinds) -> NamesRead:
    """What the files say, as far as it is read in no time."""
    found: dict[str, dict[str, None]] = {"addresses": {}, "labels": {}, "topologies": {}}
    for root in _roots(paths, kinds):
        if name := _text(root, "topology"):
            found["topologies"][name] = None
        for address, entry in _inside(root, kinds, None, ()):
            external = entry.get("external") if hasattr(entry, "get") else None
            if external is None or _text(entry, "external") == "false":
                found["addresses"][address] = None
            labels = entry.get("labels") if hasattr(entry, "get") else None
            found["labels"] |= {f"{key}={_text(labels, key)}": None for key in getattr(labels, "entries", ())}
    return NamesRead(**{what: [*names] for what, names in found.items()})


def _roots(paths: Sequence[Path], kinds: Kinds) -> Iterator[Any]:
    from reconciler.documents.read.tree import read_tree  # noqa: PLC0415 - only for who has files

    sections = "|".join({str(section) for section, within, *_ in kinds.values() if within is None})
    ours = re.compile(rf"""^\{{?["']?({sections}|topology)\b""", re.MULTILINE)
    room = ROOM
    for path in list(_files(paths)):
        text = _read(path, room)
        room -= len(text)
        if ours.search(text):
            root, wrong = read_tree(str(path), text)
            if not wrong and hasattr(root, "entries"):
                yield root


def _read(path: Path, room: int) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size <= room else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Those that are named and what stands in named folders; of folders below, those nearest first while there is time."""
    waiting, until = deque(paths), time.monotonic() + PATIENCE
    named = {*paths}
    while waiting:
        path = waiting.popleft()
        if not path.is_dir():
            if path in named or path.name.endswith(ENDINGS):
                yield path
        elif os.access(path, os.R_OK) and (path in named or time.monotonic() < until):
            inside = sorted(one for one in path.iterdir() if not one.name.startswith("."))
            waiting.extend(sorted(inside, key=Path.is_dir))


def _inside(node: Any, kinds: Kinds, within: str | None, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for kind, (section, stands_in, tag, _) in kinds.items():
        there = node.get(section) if stands_in == within and hasattr(node, "get") else None
        for name, (_, entry) in getattr(there, "entries", {}).items():
            if tag is None or _text(entry, tag[0]) == tag[1]:
                yield "/".join((kind, *above, name)), entry
                yield from _inside(entry, kinds, kind, (*above, name))


def _text(node: Any, key: str) -> str:
    value = node.get(key) if hasattr(node, "get") else None
    return getattr(value, "text", "")
