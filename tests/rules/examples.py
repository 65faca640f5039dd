"""The example of a rule: a case of its file that it flags, laid out as people write files, and the plan for it.

Whoever reads it shall see it happen: so the first case that hurts, on a server that we support, and whose live objects we
would apply ourselves."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.documents.write.formatter import in_form
from reconciler.documents.write.order import document_order
from reconciler.engine.compare import count_objects
from reconciler.kinds import REGISTRY
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import SUPPORTED
from tests.rules.test_rules import cases, prepared
from tests.support.topologies import HEADER, NAME, Scene, account, from_files, read

FILE = "orders.yaml"
SECTIONS = frozenset({kind.place.section for kind in REGISTRY.kinds})
ORDER = document_order(REGISTRY)
_WIDTH = 88
_SHORT = 64
"""Characters of a mapping or list that stands on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One case with what is planned for it."""

    code: str
    case: Mapping[str, Any]
    scene: Scene
    plan: Plan
    applied: Snapshot
    """What applying the live objects left, before anything else happened."""
    first_plan: Plan
    """The plan that made them."""

    @property
    def before(self) -> str | None:
        """What is live, as the file that would have made it."""
        return in_order(self.case["live"], _owner(self.case)) if "live" in self.case else None

    @property
    def after(self) -> str:
        """The file now."""
        return in_order(self.case["desired"])

    @property
    def change(self) -> PlannedChange:
        """The first change that the rule flags."""
        return next(one for one in self.plan.changes if any(said.code == self.code for said in one.verdicts))

    @property
    def verdict(self) -> Verdict:
        return next(one for one in self.change.verdicts if one.code == self.code)


@cache
def example(code: str) -> Example:
    """The example on the page of this rule."""
    return chosen(code, cases(code))


def chosen(code: str, among: Sequence[Mapping[str, Any]]) -> Example:
    """The first case that can be played, best one that stops the plan; where none can be played, the first of those."""
    flagged = [case for case in among if case["expect"]]
    if not flagged:
        raise SystemExit(f"{code} has no page: no case of tests/rules/{code}.yaml expects a finding")
    in_turn = sorted(flagged, key=lambda case: case["expect"][0]["outcome"] == Outcome.WARNS)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        played = (_played(code, case, Path(str(n))) for n, case in enumerate(in_turn))
        first = next(played)
        return first if is_playable(first) else next(filter(is_playable, played), first)


def is_playable(one: Example) -> bool:
    """Whether a reader can make the live objects by applying them, on a server that we support."""
    is_supported = one.scene.snapshot.target.version >= SUPPORTED[0]
    return is_supported and not one.first_plan.blocked


@cache
def consented_example(code: str) -> Example | None:
    """The first case that takes consent, if there is one."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = (_played(code, case, Path(str(n))) for n, case in enumerate(cases(code)) if case["expect"])
        return next((one for one in found if one.verdict.blocks and one.verdict.consentable), None)


def _played(code: str, case: Mapping[str, Any], folder: Path) -> Example:
    scene = prepared(dict(case), folder)
    Path(FILE).write_text(in_order(case["desired"]), encoding="utf-8")
    scene = replace(scene, desired=from_files(Path(FILE)))
    plan = replace(scene.plan(), read=count_objects(scene.view()))
    there = read(folder / "applied", case.get("live", ""), _owner(case))
    applied = account(there, scene.snapshot.target)
    empty = replace(scene, desired=there, snapshot=Snapshot(target=scene.snapshot.target), ledger={}, facts={})
    return Example(code=code, case=case, scene=scene, plan=plan, applied=applied, first_plan=empty.plan())


def _owner(case: Mapping[str, Any]) -> str:
    """The topology that has applied what is live."""
    return case.get("owner") or NAME


@cache
def in_order(text: str, topology: str = NAME) -> str:
    """The whole file, in the form that `fmt` gives it."""
    return in_form(FILE, HEADER.replace(NAME, topology) + laid_out(text), ORDER)[0]


def laid_out(text: str) -> str:
    """The same file with a line for each key, and short lists and values on one."""
    yaml = YAML()
    yaml.width, yaml.preserve_quotes = _WIDTH, True
    yaml.indent(mapping=2, sequence=4, offset=2)
    root = yaml.load(text)
    if root is None:
        return ""
    _lay_out(root, ())
    written = StringIO()
    yaml.dump(root, written)
    return written.getvalue()


def _lay_out(node: Any, path: tuple[str, ...]) -> None:
    if not isinstance(node, CommentedMap | CommentedSeq):
        return
    if isinstance(node, CommentedMap):
        inner, is_outer = list(node.items()), all(part in SECTIONS for part in path[0::2])
    else:
        inner, is_outer = [("", one) for one in node], any(isinstance(one, Mapping) for one in node)
    if is_outer or len(repr(node)) > _SHORT:
        node.fa.set_block_style()
    else:
        node.fa.set_flow_style()
    for key, value in inner:
        _lay_out(value, (*path, str(key)))
