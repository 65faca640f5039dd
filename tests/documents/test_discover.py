"""A repository of several topologies falls into them as its owners would say it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.documents.find.discover import discover
from reconciler.documents.parse.files import DISK
from tests.documents.kinds import REGISTRY

ORDERS = "reconciler: 1\ntopology: orders\n"
BILLING = "reconciler: 1\ntopology: billing\n"
PART = "streams: {S: {subjects: [s]}}\n"
ELSEWHERE = "services: {web: {image: nginx}}\n"


def found(folder: Path, files: dict[str, str]) -> tuple[dict[str, list[str]], list[str]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    discovered = discover([folder], DISK, REGISTRY)
    homes = {
        f"{home.name} in {home.folder.relative_to(folder)}": [str(path.relative_to(folder)) for path in paths]
        for home, paths in discovered.files.items()
    }
    return homes, [one.code for one in discovered.problems]


@pytest.mark.parametrize(
    ("files", "homes", "problems"),
    [
        pytest.param({"a.yaml": ORDERS, "b.yaml": PART}, {"orders in .": ["a.yaml", "b.yaml"]}, [], id="a folder"),
        pytest.param(
            {"a.yaml": ORDERS, "deep/er/b.yaml": PART}, {"orders in .": ["a.yaml", "deep/er/b.yaml"]}, [], id="folders below",
        ),
        pytest.param(
            {"a.yaml": ORDERS, "b.yaml": BILLING}, {"orders in .": ["a.yaml"], "billing in .": ["b.yaml"]}, [],
            id="two beside each other",
        ),
        pytest.param(
            {"a.yaml": ORDERS, "b/b.yaml": BILLING, "b/c.yaml": PART},
            {"orders in .": ["a.yaml"], "billing in b": ["b/b.yaml", "b/c.yaml"]}, [], id="one inside another",
        ),
        pytest.param(
            {"dev/a.yaml": ORDERS, "prod/a.yaml": ORDERS}, {"orders in dev": ["dev/a.yaml"], "orders in prod": ["prod/a.yaml"]},
            [], id="one name, two accounts",
        ),
        pytest.param(
            {"a.yaml": ORDERS, "b.yaml": BILLING, "c.yaml": PART}, {"orders in .": ["a.yaml"], "billing in .": ["b.yaml"]},
            ["XX521"], id="nobody knows whose",
        ),
        pytest.param({"compose.yaml": ELSEWHERE}, {}, [], id="something else"),
        pytest.param({"a.yaml": "reconciler: 1\n"}, {}, ["XX521"], id="no name at all"),
        pytest.param({"a.yaml": "a: [b"}, {}, [], id="unreadable, somebody else's"),
        pytest.param({"a.yaml": "topology: orders\nstreams: ["}, {}, ["XX510"], id="unreadable, ours"),
        pytest.param({"a.yaml": ORDERS, "b.yaml": "a: [b"}, {"orders in .": ["a.yaml", "b.yaml"]}, [], id="unreadable, within"),
    ],
)  # fmt: skip
def test_topologies_below_a_folder(
    tmp_path: Path, files: dict[str, str], homes: dict[str, list[str]], problems: list[str]
) -> None:
    assert found(tmp_path, files) == (homes, problems)
