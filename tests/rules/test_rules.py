"""Every rule has a case file `<CODE>.yaml` beside this one: what it flags, and what it lets through.

A case reads:

    - case: what this is about, in words
      server: "2.12"            # 2.12 when left out
      cluster: C1               # a single server when left out
      limits: {max_streams: 3}  # the account's; `usage: {tiers: …}` for one with tiers
      live: |                   # a topology that was applied before
      owner: orders             # topology that owns what is live; null: nobody
      records: {stream/S: {topology: other, protected: true}}  # what the ledger says otherwise
      raw: {streams: {S: {state: {messages: 3}}}}   # pieces of raw answers over what is live
      facts:                    # what the server answered to questions; `start` makes it one about sequences
      - {stream: S, filter: ">", answer: {s.a: 3}}
      - {stream: S, filter: s.a, start: 1, answer: {first: 1, messages: 3}}
      - {stream: S-g, source: S, answer: {gone: 3}}
      - {stream: S, above: 100, newest: 3, answer: {read: 3, larger: 1, largest: 200}}
      desired: |                # the topology as it is now; lines count from 1
      expect:                   # every verdict of this file's rule, in order; [] is "allowed"
      - {path: storage, outcome: refused, line: 3, at: stream/S}

The first case that hurts is the example on the rule's page: `tests/site/beside.py` says there in words what is neither `live`
nor `desired`, and `tests/site/test_rule_examples.py` plays it on a real server, as far as `live` and what is done by hand make it.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.changes.verdict import HARMFUL_REACTIONS, Outcome, Verdict
from reconciler.kinds import REGISTRY
from tests.support.topologies import Scene, facts, scene

FOLDER = Path(__file__).parent
RULES = {rule.code: rule for rule in REGISTRY.rules()}
CODES = sorted(RULES)
SETTINGS = (
    "live",
    "server",
    "cluster",
    "domain",
    "owner",
    "owner_source",
    "owners_named",
    "raw",
    "source",
    "ledger_known",
    "limits",
    "usage",
    "records",
)
FILES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def cases(code: str) -> tuple[dict[str, Any], ...]:
    return tuple(YAML(typ="safe").load(FOLDER / f"{code}.yaml"))


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
        "fix": expected.get("fix") if str(expected.get("fix")) in (verdict.fix or "") else verdict.fix,
        "quantities": dict(verdict.quantities),
        "consentable": verdict.consentable,
    }
    return {name: value for name, value in words.items() if name in expected or name in ("path", "outcome")}


@cache
def found(code: str) -> tuple[tuple[dict[str, Any], tuple[Verdict, ...]], ...]:
    """Every case of the rule with what it says there."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple((case, _said(code, case, Path(folder) / str(n))) for n, case in enumerate(cases(code)))


def _said(code: str, case: dict[str, Any], folder: Path) -> tuple[Verdict, ...]:
    plan = prepared(case, folder).plan()
    return tuple(verdict for change in plan.changes for verdict in change.verdicts if verdict.code == code)


def described(verdicts: tuple[Verdict, ...], expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    shown = [seen(verdict, wanted) for verdict, wanted in zip(verdicts, expected, strict=False)]
    return shown + [seen(verdict, {"says": ""}) for verdict in verdicts[len(expected) :]]


@pytest.mark.parametrize("code", FILES)
def test_the_rule_says_what_its_cases_expect(code: str) -> None:
    expected = {case["case"]: [{"path": "", **wanted} for wanted in case["expect"]] for case in cases(code)}
    assert {case["case"]: described(verdicts, case["expect"]) for case, verdicts in found(code)} == expected


@pytest.mark.parametrize("code", FILES)
def test_every_message_reads_as_sentences(code: str) -> None:
    for verdict in (verdict for _, verdicts in found(code) for verdict in verdicts):
        assert verdict.outcome is not Outcome.ALLOWED
        assert "None" not in verdict.message
        assert "  " not in verdict.message
        assert [part for part in verdict.message.split(". ")[1:] if part[:1].islower()] == []
        first = verdict.message.partition(" ")[0]
        assert first not in verdict.address.split("/")[1:], "a report gives the first word a capital letter"


def test_no_two_cases_of_a_rule_have_the_same_words() -> None:
    twice = {code: Counter(case["case"] for case in cases(code)).most_common(1)[0] for code in FILES}
    assert {code: words for code, (words, number) in twice.items() if number > 1} == {}


def test_every_rule_has_a_case_it_flags_and_a_case_it_allows() -> None:
    assert [code for code in CODES if code not in FILES] == [], "write tests/rules/CODE.yaml"
    assert [code for code in CODES if {bool(case["expect"]) for case in cases(code)} != {True, False}] == []


NOBODY_ELSE = {
    **dict.fromkeys(
        ("ST558", "ST601", "KV601", "OB601", "ST602", "ST604", "ST606"),
        "publishers feel it, and no record says who they are",
    ),
    **dict.fromkeys(("ST303", "KV303", "OB303"), "XX233 names those whom a subject fails"),
    **dict.fromkeys(("ST605", "KV605", "OB605"), "who reads with direct gets no server knows"),
    **dict.fromkeys(("KV310", "OB310"), "XX231 names what hangs on it"),
    "CO310": "XX232 names what copies through it",
    "KV206": "no bucket is sealed; XX233 names those whom a promoted mirror fails",
    "XX311": "before 2.14 nothing copies through a consumer that has a name",
    **dict.fromkeys(("SG310", "EG310"), "its members are its own; XX231 names who else is on its queue"),
    **dict.fromkeys(("EG304", "EG312", "EG601", "SG312", "SG544"), "its members are its own"),
    "ST545": "what the server ignores, nobody feels",
    "XX243": "what it takes in besides, nobody reads",
}
"""What hurts and falls on no consumer, copy or group of others, with the reason."""


def hurts(one: Verdict) -> bool:
    """What is always refused is not done, and hurts nobody."""
    if one.outcome is Outcome.REFUSED and not one.consentable:
        return False
    return one.reaction in HARMFUL_REACTIONS or one.outcome is Outcome.REPLACES


def verdicts(code: str) -> list[Verdict]:
    return [verdict for _, said in found(code) for verdict in said]


def test_what_hurts_others_names_them_in_a_case_or_is_listed_with_the_reason() -> None:
    hurting = {code for code in CODES if any(map(hurts, verdicts(code))) and any(a.writes for a in RULES[code].on)}
    naming = {code for code in CODES if RULES[code].affected or any(one.others for one in verdicts(code))}
    assert sorted(hurting - naming - NOBODY_ELSE.keys()) == [], "write a case with another owner in `records`"
    assert sorted(NOBODY_ELSE.keys() - (hurting - naming)) == []


TELLS = {"XX235": "a loss that may come one day", "XX236": "they are gone already", "XX237": "nothing happens to them"}
"""What others have to know, and what nobody consents to, with the reason."""


def test_advice_begins_and_ends_with_a_word() -> None:
    untidy = [code for code in CODES if any(one.fix and one.fix != one.fix.strip() for one in verdicts(code))]
    assert untidy == []


def test_what_falls_on_others_takes_consent() -> None:
    for code in (one for one in CODES if one not in TELLS):
        assert [one for one in verdicts(code) if one.others and not one.blocks and one.consented is None] == [], code


def test_every_case_file_belongs_to_a_rule() -> None:
    assert [code for code in FILES if code not in RULES] == []


def test_no_two_rules_share_a_code() -> None:
    shared = [code for code, number in Counter(rule.code for rule in REGISTRY.rules()).items() if number > 1]
    assert shared == []


def test_no_rule_has_a_code_of_complaints_about_how_files_are_written() -> None:
    """501 to 506 of every family, 510 to 531 of XX: unknown keys, wrong values, YAML syntax."""
    taken = [code for code in CODES if 501 <= int(code[2:]) <= 506]
    taken += [code for code in CODES if code.startswith("XX") and 510 <= int(code[2:]) <= 531]
    assert taken == []


def test_every_rule_explains_itself_in_paragraphs_and_ends_with_the_way_out() -> None:
    for code in CODES:
        first, *others = RULES[code].doc.split("\n\n")
        assert first.endswith((".", "…")), code
        assert others, code
        assert others[-1].startswith("Instead: "), code


def test_a_rule_belongs_to_the_family_of_its_kind() -> None:
    families = {rule.code: kind.family for kind in REGISTRY.kinds for rule in kind.rules}
    assert [code for code in CODES if code[:2] != families.get(code, "XX")] == []
