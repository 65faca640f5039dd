"""What may be wrong with `guards:` and `moved:`, each said at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.documents.read.load import load
from reconciler.kinds import REGISTRY

HEAD = "reconciler: 1\ntopology: t\n"
S = "streams: {S: {consumers: {c: {}}}}\n"


def complaints(folder: Path, text: str) -> list[str]:
    file = folder / "t.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return [
        f"{one.code} {one.span.line if one.span else 0} {one.message}" for one in load([file], REGISTRY).diagnostics
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("guards: [{kind: streem, upto: 1, reason: r}]\n", "XX502 3 guards[0].kind `streem` is not a kind"),
        ("guards: [{kind: stream, upto: 0, reason: r}]\n", "XX502 3 guards[0].upto"),
        ("guards: [{kind: stream, upto: 3}]\n", "XX503 3"),
        ("guards: {stream: 3}\n", "XX504 3 guards is a mapping"),
        (
            "moved: [{from: stream/S, to: stream/T}]\n",
            "XX502 3 `stream/T`, the new name of `stream/S`, is not declared",
        ),
        ("moved: [{from: consumer/S/b, to: stream/S}]\n", "XX502 3 moved[0] moves `consumer/S/b` to `stream/S`"),
        ("moved: [{from: stream/S, to: stream/S}]\n", "XX502 3 moved[0] moves `stream/S` to `stream/S`"),
        (
            "moved: [{from: consumer/S/c, to: consumer/S/c2}]\n",
            "XX505 3 `consumer/S/c` is moved away here but declared",
        ),
        ("moved: [{from: topology/t, to: topology/u}]\n", "XX502 3 `topology/u`, the new name of `topology/t`, is not"),
        ("moved: [{from: a, to: b}]\n", "XX502 3 moved[0].from"),
        ("moved: [{to: stream/S}]\n", "XX503 3"),
        ("moved: [{from: stream/A, to: stream/S, reason: ''}]\n", "XX502 3 moved[0].reason"),
        (
            "moved: [{from: consumer/S/a, to: consumer/S/c}, {from: consumer/S/b, to: consumer/S/c}]\n",
            "XX505 3 `consumer/S/c` is the target of another move",
        ),
    ],
)
def test_it_is_said_where_it_stands(tmp_path: Path, text: str, said: str) -> None:
    found = complaints(tmp_path, text + S)
    assert any(one.startswith(said) for one in found), found


def test_several_topologies_may_become_one(tmp_path: Path) -> None:
    text = "moved: [{from: topology/a, to: topology/t}, {from: topology/b, to: topology/t}]\n"
    assert complaints(tmp_path, text + S) == []
