"""Every rule has a case file `<CODE>.yaml` beside this one: what it flags, and what it lets through.

A case reads:

    - case: what this is about, in words
      server: "2.12"            # 2.12 when left out
      cluster: C1               # a single server when left out
      limits: {max_streams: 3}  # the account's; `usage: {tiers: …}` for one with tiers
      live: |                   # a topology that was applied before
      owner: orders             # topology that owns what is live; null: nobody
      raw: {streams: {S: {state: {messages: 3}}}}   # pieces of raw answers over what is live
      facts:                    # what the server answered to questions; `start` makes it one about sequences
      - {stream: S, filter: ">", answer: {s.a: 3}}
      - {stream: S, filter: s.a, start: 1, answer: {first: 1, messages: 3}}
      desired: |                # the topology as it is now; lines count from 1
      expect:                   # every verdict of this file's rule, in order; [] is "allowed"
      - {path: storage, outcome: refused, line: 3, at: stream/S}
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.core.rule import Outcome, Verdict
from reconciler.kinds import REGISTRY
from tests.support.topologies import Scene, facts, scene

FOLDER = Path(__file__).parent
RULES = {rule.code: rule for rule in REGISTRY.rules()}
CODES = sorted(RULES)
SETTINGS = ("live", "server", "cluster", "owner", "owner_source", "raw", "source", "ledger_known", "limits", "usage")
FILES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def cases(code: str) -> tuple[dict[str, Any], ...]:
    return tuple(YAML(typ="safe").load(FOLDER / f"{code}.yaml"))


def every_case() -> list[Any]:
    return [pytest.param(code, case, id=f"{code}: {case['case']}") for code in FILES for case in cases(code)]


def prepared(case: dict[str, Any], folder: Path) -> Scene:
    said = {name: case[name] for name in SETTINGS if name in case}
    return scene(folder, case["desired"], facts=facts(case.get("facts", ())), **said)


def seen(verdict: Verdict, expected: dict[str, Any]) -> dict[str, Any]:
    """The verdict in the words of an expectation, as far as that says anything."""
    words = {
        "path": verdict.path,
        "outcome": str(verdict.outcome),
        "line": verdict.span.line if verdict.span else None,
        "at": verdict.address,
        "says": expected.get("says") if str(expected.get("says")) in verdict.message else verdict.message,
        "quantities": dict(verdict.quantities),
        "consentable": verdict.consentable,
    }
    return {name: value for name, value in words.items() if name in expected or name in ("path", "outcome")}


@pytest.mark.parametrize(("code", "case"), every_case())
def test_the_rule_says_what_its_case_expects(code: str, case: dict[str, Any], tmp_path: Path) -> None:
    plan = prepared(case, tmp_path).plan()
    found = [verdict for change in plan.changes for verdict in change.verdicts if verdict.code == code]
    expected = case["expect"]
    described = [seen(verdict, wanted) for verdict, wanted in zip(found, expected, strict=False)]
    described += [seen(verdict, {"says": ""}) for verdict in found[len(expected) :]]
    assert described == [{"path": "", **wanted} for wanted in expected]


@pytest.mark.parametrize("code", CODES)
def test_every_rule_has_a_case_it_flags_and_a_case_it_allows(code: str) -> None:
    assert code in FILES, f"write tests/rules/{code}.yaml"
    assert {bool(case["expect"]) for case in cases(code)} == {True, False}


def test_every_case_file_belongs_to_a_rule() -> None:
    assert [code for code in FILES if code not in RULES] == []


def test_no_two_rules_share_a_code() -> None:
    shared = [code for code, number in Counter(rule.code for rule in REGISTRY.rules()).items() if number > 1]
    assert shared == []


@pytest.mark.parametrize("code", CODES)
def test_no_rule_has_a_code_of_complaints_about_how_files_are_written(code: str) -> None:
    """501 to 506 of every family, 510 to 530 of XX: unknown keys, wrong values, YAML syntax."""
    number = int(code[2:])
    assert not 501 <= number <= 506
    assert not (code.startswith("XX") and 510 <= number <= 530)


@pytest.mark.parametrize("code", CODES)
def test_every_rule_explains_itself_in_paragraphs_and_ends_with_the_way_out(code: str) -> None:
    first, *others = RULES[code].doc.split("\n\n")
    assert first.endswith((".", "…"))
    assert others
    assert others[-1].startswith("Instead: ")


@pytest.mark.parametrize("code", CODES)
def test_a_rule_belongs_to_the_family_of_its_kind(code: str) -> None:
    families = {rule.code: kind.family for kind in REGISTRY.kinds for rule in kind.rules}
    assert code[:2] == families.get(code, "XX")


@pytest.mark.parametrize(("code", "case"), every_case())
def test_every_message_reads_as_sentences(code: str, case: dict[str, Any], tmp_path: Path) -> None:
    plan = prepared(case, tmp_path).plan()
    for verdict in (v for change in plan.changes for v in change.verdicts if v.code == code):
        assert verdict.outcome is not Outcome.ALLOWED
        assert "None" not in verdict.message
        assert "  " not in verdict.message
        assert [part for part in verdict.message.split(". ")[1:] if part[:1].islower()] == []
