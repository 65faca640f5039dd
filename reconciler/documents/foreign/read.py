"""Reads files and folders of other tools. The content of a file tells which tool wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from reconciler.documents.foreign.nack import is_nack, read_nack
from reconciler.documents.foreign.nats_json import is_nats, read_nats
from reconciler.documents.foreign.terraform import is_terraform, read_terraform
from reconciler.documents.foreign.translation import Findings
from reconciler.documents.read.complain import complain
from reconciler.documents.read.files import read_text
from reconciler.documents.read.nodes import Mapping, Place, span
from reconciler.documents.read.plain_values import Plain
from reconciler.documents.read.shape import ANYTHING
from reconciler.documents.read.tree import read_tree
from reconciler.model.diagnostic import SourceSpan
from reconciler.model.resource import Json, Where

ENDINGS = frozenset({".json", ".tfstate", ".yaml", ".yml"})
_BETWEEN = re.compile(r"^---(?=\s|$)", re.MULTILINE)


def read_foreign(paths: Sequence[Path]) -> Findings:
    """Return what all these files describe, and every problem in them; of a folder, read each file with one of
    `ENDINGS`."""
    into = Findings()
    for path in paths:
        for file in _files(path, into):
            _read_file(file, into)
    return into


def _files(path: Path, into: Findings) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    inside = sorted(file for file in path.rglob("*") if file.suffix in ENDINGS and file.is_file())
    if not inside:
        into.wrong(_start(path), "", f"`{path}` holds no {', '.join(sorted(ENDINGS))} file")
    yield from inside


def _start(path: Path) -> Where:
    return lambda _: SourceSpan(str(path), 1, 1, 1, 1)


def _read_file(path: Path, into: Findings) -> None:
    text, problems = read_text(path)
    into.problems += problems
    if problems:
        return
    documents = [_from_json(path, text, into)] if text.lstrip()[:1] in ("{", "[") else _from_yaml(path, text, into)
    for said, where in filter(None, documents):
        for number, one in enumerate(said if isinstance(said, list) else [said]):
            _read(one, partial(_item, where, number) if isinstance(said, list) else where, into)


def _item(where: Where, number: int, path: str) -> SourceSpan | None:
    return where(f"[{number}].{path}")


Document = tuple[Json, Where]


def _from_json(path: Path, text: str, into: Findings) -> Document | None:
    """Read values as JSON; take places from reading the text as YAML, which JSON nearly is."""
    try:
        said = json.loads(text)
        json.dumps(said, ensure_ascii=False).encode()  # half a character is no character
    except (ValueError, RecursionError) as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        here = SourceSpan(str(path), line, column, line, column + 1)
        into.wrong(
            lambda _: here,
            "",
            f"this is not JSON: {getattr(error, 'msg', 'nested too deep, or with half a character')}",
        )
        return None
    root, _ = read_tree(str(path), text)
    return said, Place(root, root) if root is not None else _start(path)


def _from_yaml(path: Path, text: str, into: Findings) -> Iterator[Document]:
    """Read documents one by one, each on its own lines of the file."""
    starts = [0, *(found.end() for found in _BETWEEN.finditer(text))]
    for start, end in zip(starts, [*(found.start() for found in _BETWEEN.finditer(text)), len(text)], strict=True):
        root, problems = read_tree(str(path), "\n" * text.count("\n", 0, start) + text[start:end])
        into.problems += problems
        if root is not None and not problems:
            yield from _plain(path, root, into)


def _plain(path: Path, root: Mapping | object, into: Findings) -> Iterator[Document]:
    if not isinstance(root, Mapping):
        into.wrong(_start(path), "", "a document is not a mapping, so no known tool wrote it")
        return
    plain = Plain()
    said = plain.value(root, ANYTHING)
    into.problems += [complain("IM103", "not-readable", f.message, span(f.node)) for f in plain.findings]
    if not plain.findings:
        yield said, Place(next((key for key, _ in root.entries.values()), root), root)


def _read(said: Json, where: Where, into: Findings) -> None:
    if is_nack(said):
        read_nack(said, where, into)
    elif is_terraform(said):
        read_terraform(said, where, into)
    elif is_nats(said):
        read_nats(said, where, into)
    else:
        message = (
            "this is nothing known: no `nats stream info --json`, no backup, no Terraform state, no manifest of NACK"
        )
        into.wrong(where, "", message, fix="see `reconciler explain IM103`")
