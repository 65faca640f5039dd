"""Advice is followed to the letter: what a report says to write or to type is accepted, and the next plan is not refused for
that reason. Every case of every rule, in the words that a person reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from ruamel.yaml import YAML

from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.cli.app import app
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address
from reconciler.report.document.judgements import consent_to_copy, judgement
from reconciler.report.document.piece_lines import piece_lines
from reconciler.report.words.paper import Paper
from tests.rules.test_rules import FILES, cases, prepared

ENTRY = re.compile(r"\b(allow|moved|removed|forget|guards): \[([^{\]]*|.*?\})\](?![,\]}])")
ALLOWED = re.compile(r"--allow (\S+?=\S+)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
KEY = re.compile(r"(?:\bwrite |[{`])([a-z][a-z0-9_]*): |\b([a-z]+_[a-z0-9_]+): ")
IN_ENTRIES = {"code", "to", "reason", "until", "upto", "address", "from", "kind"}
TOP = {"moved", "removed", "forget", "guards", "topology"}
COMMANDS = ("nats ", "reconciler ")


def advice(verdict: Verdict, change: PlannedChange) -> str:
    piece = judgement(verdict, way_out=verdict.fix or "", consent=consent_to_copy(verdict, change, verdict.address))
    return "\n".join(piece_lines([piece], Paper(width=100_000), 0)[1:])


def judged(code: str, folder: Path) -> Iterator[tuple[dict[str, Any], PlannedChange, Verdict]]:
    for number, case in enumerate(cases(code)):
        plan = prepared(case, folder / str(number)).plan()
        for change in plan.changes:
            yield from ((case, change, verdict) for verdict in change.verdicts if verdict.code == code)


def place(file: dict[str, Any], address: Address) -> dict[str, Any]:
    """Where a file declares this."""
    kind = REGISTRY.of(address)
    if kind.place.within is None:
        section = file
    else:
        above = next(k for k in REGISTRY.kinds if k.name == kind.place.within)
        section = file[above.place.section][address.stream]
    entries: dict[str, Any] = section[kind.place.section]
    if entries[address.name] is None:
        entries[address.name] = {}
    found: dict[str, Any] = entries[address.name]
    return found


def followed(case: dict[str, Any], change: PlannedChange, verdict: Verdict, folder: Path) -> Iterator[tuple[str, Plan]]:
    """The plan after each way that the advice offers."""
    said = advice(verdict, change)
    for key, inner in ENTRY.findall(said):
        file = YAML(typ="safe").load(case["desired"]) or {}
        entry = YAML(typ="safe").load(f"[{inner}]".replace("…", "because it is meant"))
        if key == "allow":
            where = place(file, Address.parse(verdict.address))
            where["allow"] = [*where.get("allow", ()), *entry]
        elif key == "moved" and verdict.consentable:  # else it asks for the steps, and is no consent
            file[key] = entry
        elif key == "removed" and verdict.consentable:
            file[key] = [*file.get(key, ()), *entry]
        else:
            continue
        text = StringIO()
        YAML().dump(file, text)
        yield f"{key}: [{inner}]", prepared({**case, "desired": text.getvalue()}, folder).plan()
    for option in ALLOWED.findall(said):
        [word] = shlex.split(option.rstrip(".,;"))
        code, _, pattern = word.partition("=")
        if code == verdict.code:  # else it belongs to a step of the way out
            yield f"--allow {option}", prepared(case, folder).plan(allow=[(code, pattern)])


def still(plan: Plan, verdict: Verdict) -> list[str]:
    return [
        one.message for change in plan.changes for one in change.verdicts
        if one.blocks and (one.code, one.address, one.path, one.to) == (verdict.code, verdict.address, verdict.path, verdict.to)
        and (one.consentable or one.message == verdict.message)  # else it is another objection of the same rule
    ]  # fmt: skip


@pytest.mark.parametrize("code", FILES)
def test_the_advised_consent_is_consent(code: str, tmp_path: Path) -> None:
    offered = consentable = 0
    for case, change, verdict in judged(code, tmp_path):
        if not verdict.blocks:
            continue
        consentable += verdict.consentable
        ways = list(followed(case, change, verdict, tmp_path / "then"))
        offered += len(ways)
        assert bool(ways) == verdict.consentable, f"{case['case']}: {advice(verdict, change)}"
        for way, plan in ways:
            assert still(plan, verdict) == [], f"{case['case']}: {way} was followed, and helps nothing"
    assert offered >= consentable


@cache
def fields() -> set[str]:
    """Keys that people may write."""
    found = {name for kind in REGISTRY.kinds for name in kind.spec.model_fields}
    found |= {kind.place.section for kind in REGISTRY.kinds}
    for kind in REGISTRY.kinds:
        for definition in kind.spec.model_json_schema().get("$defs", {}).values():
            found |= definition.get("properties", {}).keys()
    return found


@cache
def options() -> set[str]:
    """Of every command there is."""
    found: set[str] = set()
    todo = [typer.main.get_command(app)]
    while todo:
        command = todo.pop()
        todo += getattr(command, "commands", {}).values()
        for parameter in command.params:
            found |= {*parameter.opts, *parameter.secondary_opts}
    return found


@pytest.mark.parametrize("code", FILES)
def test_advice_names_only_what_there_is(code: str, tmp_path: Path) -> None:
    known, ours = fields() | TOP | IN_ENTRIES, options()
    for case, change, verdict in judged(code, tmp_path):
        said = advice(verdict, change)
        lines = [line for line in said.splitlines() if not any(command in line for command in COMMANDS)]
        text = "\n".join(lines).replace("Instead: ", "").replace("consent here: ", "").replace("this run: ", "")
        unknown = [key for pair in KEY.findall(text) for key in pair if key and key not in known]
        assert unknown == [], f"{case['case']}: {said}"
        assert [one for one in OPTION.findall(text) if one not in ours] == [], f"{case['case']}: {said}"
