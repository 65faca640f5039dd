"""Files → files in form: those of topologies, each by itself, whatever other files come with them."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.documents.find.discover import discover
from reconciler.documents.parse.files import DISK, find_files, read_text
from reconciler.documents.parse.shape import Shape
from reconciler.documents.parse.tree import decode
from reconciler.documents.write.atomic import write_whole
from reconciler.documents.write.formatter import in_form
from reconciler.documents.write.order import document_order
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Formed:
    """A file as it is, and in form; where something is wrong with it, the two are the same."""

    name: str
    was: bytes = b""
    now: bytes = b""
    problems: tuple[Diagnostic, ...] = ()

    @property
    def changes(self) -> bool:
        """Would anything of it change?"""
        return self.was != self.now


def formed_files(paths: Sequence[Path]) -> tuple[list[Formed], list[Diagnostic]]:
    """The files of topologies, and every problem. What else is found in folders is left alone, and no more than noted."""
    found, problems = find_files(paths)
    order = document_order(REGISTRY)
    files = {path: _formed_file(path, order) for path in found}
    wrong = {path: file.problems for path, file in files.items() if file.problems}
    foreign = _unrelated_files([path for path in wrong if path not in paths], wrong, paths)
    for path, problems_of_file in wrong.items():
        problems += map(_as_note, problems_of_file) if path in foreign else problems_of_file
    return [file for file in files.values() if not file.problems], problems


def formed_data(name: str, data: bytes, order: Shape | None = None) -> Formed:
    """What a file holds. A byte order mark stays, and lines go on ending as they do."""
    text, problems = decode(name, data)
    if not problems:
        text, problems = in_form(name, text, order or document_order(REGISTRY))
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return Formed(name=name, was=data, now=data if problems else mark + text.encode(), problems=tuple(problems))


def write(files: Iterable[Formed]) -> None:
    """Writes what changes: all of it, or nothing. Raises OSError."""
    write_whole({Path(file.name): file.now for file in files if file.changes})


def _formed_file(path: Path, order: Shape) -> Formed:
    try:
        data = path.read_bytes()
    except OSError:
        return Formed(name=str(path), problems=tuple(read_text(path)[1]))
    return formed_data(str(path), data, order)


def _unrelated_files(
    unnamed: Sequence[Path], wrong: Mapping[Path, tuple[Diagnostic, ...]], paths: Sequence[Path]
) -> set[Path]:
    """Files of something else, and text that is no YAML where no topology is around it: a template, or what is encrypted."""
    foreign = {path for path in unnamed if wrong[path][0].name == "other-file"}
    if foreign == set(unnamed):
        return foreign
    discovered = discover(paths, DISK, REGISTRY)
    ours = {path for files in discovered.files.values() for path in files}
    ours |= {Path(diagnostic.span.file) for diagnostic in discovered.problems if diagnostic.span}
    return foreign | {path for path in unnamed if path not in ours}


def _as_note(problem: Diagnostic) -> Diagnostic:
    return replace(problem, severity=Severity.NOTE, message=f"{problem.message}; the file stays as it is", fix=None)
