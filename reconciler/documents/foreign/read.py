"""Reads files and folders of other tools. The content of a file tells which tool wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from reconciler.documents.foreign.nack import is_kubernetes_manifest, read_nack
from reconciler.documents.foreign.nats_json import is_nats, read_nats
from reconciler.documents.foreign.terraform import STATE, is_terraform, read_terraform
from reconciler.documents.foreign.translation import Findings
from reconciler.documents.parse.files import read_text
from reconciler.documents.parse.nodes import Mapping, Place, error_at, span
from reconciler.documents.parse.plain_values import Plain
from reconciler.documents.parse.shape import ANYTHING
from reconciler.documents.parse.tree import read_tree
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.resource import Json, Where

EXPLAINED = "see `reconciler explain IM103`"
RENDERED = "give what `helm template` prints"
ENDINGS = frozenset({".json", ".tfstate", ".yaml", ".yml"})
CONFIGURATIONS = (".tf", ".tf.json", ".tofu", ".tofu.json")
"""How the names of Terraform's configurations end. Only Terraform evaluates them, and its state says what came of it."""
_HELM = re.compile(r"\{\{-?\s*(?:[.$]|/\*|(?:if|else|end|with|range|define|include|template|toYaml|tpl)\b)")
"""An action of a Helm template. The `{{partition(3,1)}}` of a subject transform is none."""
_BETWEEN = re.compile(r"^---(?=\s|$)", re.MULTILINE)


def read_foreign(paths: Sequence[Path]) -> Findings:
    """Return what all these files describe, and every problem in them; of a folder, read each file with one of
    `ENDINGS`."""
    findings = Findings()
    for path in paths:
        for file in _files(path, findings):
            _read_file(file, findings)
    return findings


def _files(path: Path, findings: Findings) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    inside = sorted(file for file in path.rglob("*") if file.suffix in ENDINGS and file.is_file())
    if not inside:
        findings.add_unreadable(_at_first_line(path), "", f"`{path}` holds no {', '.join(sorted(ENDINGS))} file")
    yield from inside


def _at_first_line(path: Path) -> Where:
    return lambda _: SourceSpan(str(path), 1, 1, 1, 1)


def _read_file(path: Path, findings: Findings) -> None:
    text, problems = read_text(path)
    findings.problems += problems
    if problems:
        return
    if path.name.endswith(CONFIGURATIONS):
        message = "this is a Terraform configuration, which only Terraform evaluates"
        findings.add_unreadable(_at_first_line(path), "", message, fix=STATE)
        return
    documents = (
        [_read_json(path, text, findings)]
        if text.lstrip()[:1] in ("{", "[")
        else _read_yaml_documents(path, text, findings)
    )
    for value, where in filter(None, documents):
        for number, item in enumerate(value if isinstance(value, list) else [value]):
            _add_objects(item, partial(_place_in_item, where, number) if isinstance(value, list) else where, findings)


def _place_in_item(where: Where, number: int, path: str) -> SourceSpan | None:
    return where(f"[{number}].{path}")


Document = tuple[Json, Where]


def _read_json(path: Path, text: str, findings: Findings) -> Document | None:
    """Read values as JSON; take places from reading the text as YAML, which JSON nearly is."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # half a character is no character
    except (ValueError, RecursionError) as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        place = SourceSpan(str(path), line, column, line, column + 1)
        reason = f"this is not JSON: {getattr(error, 'msg', 'nested too deep, or with half a character')}"
        findings.problems += _problems_of_text(text, [error_at("IM103", "not-readable", reason, place)])
        return None
    root, _ = read_tree(str(path), text)
    return value, Place(root, root) if root is not None else _at_first_line(path)


def _read_yaml_documents(path: Path, text: str, findings: Findings) -> Iterator[Document]:
    """Read documents one by one, each on its own lines of the file."""
    starts = [0, *(separator.end() for separator in _BETWEEN.finditer(text))]
    for start, end in zip(
        starts, [*(separator.start() for separator in _BETWEEN.finditer(text)), len(text)], strict=True
    ):
        document = "\n" * text.count("\n", 0, start) + text[start:end]
        root, problems = read_tree(str(path), document, is_foreign=True)
        findings.problems += _problems_of_text(text[start:end], problems)
        if root is not None and not problems:
            yield from _read_document(path, root, findings)


def _problems_of_text(text: str, problems: list[Diagnostic]) -> list[Diagnostic]:
    """Return these problems of a text that is neither JSON nor YAML, or the one reason for all of them."""
    if not problems or not _HELM.search(text):
        return problems
    message = "this is a Helm template, which only Helm evaluates"
    return [error_at("IM103", "not-readable", message, problems[0].span, fix=RENDERED)]


def _read_document(path: Path, root: Mapping | object, findings: Findings) -> Iterator[Document]:
    if not isinstance(root, Mapping):
        findings.add_unreadable(
            _at_first_line(path), "", "a document is not a mapping, so no known tool wrote it", fix=EXPLAINED
        )
        return
    plain = Plain()
    value = plain.value(root, ANYTHING)
    findings.problems += [error_at("IM103", "not-readable", f.message, span(f.node)) for f in plain.findings]
    if not plain.findings:
        yield value, Place(next((key for key, _ in root.entries.values()), root), root)


def _add_objects(value: Json, where: Where, findings: Findings) -> None:
    if is_kubernetes_manifest(value):
        read_nack(value, where, findings)
    elif is_terraform(value):
        read_terraform(value, where, findings)
    elif is_nats(value):
        read_nats(value, where, findings)
    else:
        message = (
            "this is nothing known: no `nats stream info --json`, no backup, no Terraform state, no manifest of NACK"
        )
        findings.add_unreadable(where, "", message, fix=EXPLAINED)
