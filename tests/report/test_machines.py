"""SARIF, JUnit and annotations: what the machines that read them ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from reconciler.changes.change import Action
from reconciler.changes.verdict import Outcome
from reconciler.cli.shared.reporting import document
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES, rule_url
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.resource import Address, Declared, Terms
from reconciler.model.topology import Topology
from reconciler.report.document.document import Document
from reconciler.report.formats import FORMATS
from tests.report.hostile import TRICKS, hostile
from tests.report.plans import at, create, everything, limit_lowered, plan, planned, policy_switch, update, verdict
from tests.report.sarif_schema import LOG

every_trick = pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))


def run_of(document: Document) -> dict[str, Any]:
    """The one run of its SARIF, which is what the standard asks for."""
    log = json.loads(FORMATS["sarif"](document))
    jsonschema.Draft202012Validator(LOG).validate(log)
    run: dict[str, Any] = log["runs"][0]
    return run


def results(*changes: Any, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_of(Document(topology="orders", plan=plan(*changes), **more))["results"]
    return found


def prints(found: list[dict[str, Any]]) -> list[str]:
    return [one["partialFingerprints"]["primaryLocationLineHash"] for one in found]


@every_trick
def test_whatever_names_are_it_is_sarif(trick: str) -> None:
    assert run_of(hostile(trick))["results"]


def test_every_result_leads_to_its_rule_and_every_rule_has_help() -> None:
    run = run_of(
        Document(topology="orders", plan=everything(), explain=lambda code: f"What {code} means.\n\nInstead: x.")
    )
    rules = run["tool"]["driver"]["rules"]
    assert [rules[one["ruleIndex"]]["id"] for one in run["results"]] == [one["ruleId"] for one in run["results"]]
    assert {rule["help"]["text"] for rule in rules} == {f"What {r['id']} means.\n\nInstead: x." for r in rules}
    assert [rule["helpUri"] for rule in rules] == [rule_url(rule["id"]) for rule in rules]


def test_what_several_environments_have_is_one_result_that_names_them() -> None:
    lowered, shared = limit_lowered(), policy_switch()
    documents = [
        Document(topology="orders", command="plan", plan=replace(plan(*changes), environment=name))
        for name, changes in {"dev": [shared], "test": [lowered, shared], "prod": [shared]}.items()
    ]
    log = json.loads(FORMATS["sarif"].render_several(documents))
    jsonschema.Draft202012Validator(LOG).validate(log)
    (run,) = log["runs"]
    said = {result["ruleId"]: result["message"]["text"].splitlines()[1] for result in run["results"]}
    assert len(said) == len(run["results"])
    codes = {verdict.code for verdict in lowered.verdicts}
    assert {code: "In test." if code in codes else "In dev, test, prod." for code in said} == said
    assert run["automationDetails"]["id"] == "reconciler/orders/"
    assert FORMATS["sarif"].render_several(documents[:1]).count("In dev") == 0


def test_a_finding_that_one_environment_consents_to_is_suppressed_there_alone() -> None:
    change = limit_lowered()
    consented = replace(change, verdicts=tuple(replace(verdict, consented="agreed") for verdict in change.verdicts))
    documents = [
        Document(topology="orders", command="plan", plan=replace(plan(each), environment=name))
        for name, each in {"dev": consented, "prod": change}.items()
    ]
    (run,) = json.loads(FORMATS["sarif"].render_several(documents))["runs"]
    assert {result["message"]["text"].splitlines()[1]: "suppressions" in result for result in run["results"]} == {
        "In dev.": True, "In prod.": False,
    }  # fmt: skip


def test_every_code_has_help_to_show() -> None:
    codes = [*(rule.code for rule in REGISTRY.rules()), *(code.replace("?", "XX") for code in PAGES)]
    wrong = (Diagnostic(severity=Severity.NOTE, code=code, name="x", message=code) for code in codes)
    rules = run_of(document(diagnostics=tuple(wrong)))["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules if len(rule["help"]["text"]) < 40] == []


def moved(lines: int, messages: int) -> Any:
    change = limit_lowered(messages=messages)
    span = SourceSpan("streams/orders.yaml", 8 + lines, 14, 8 + lines, 18)
    return replace(change, verdicts=tuple(replace(one, span=span) for one in change.verdicts))


def test_an_alert_stays_the_same_while_its_line_moves_and_its_numbers_change() -> None:
    ((first,), (then,)) = prints(results(moved(0, 1_200_000))), prints(results(moved(40, 7)))
    assert first == then


def test_two_alerts_are_never_one() -> None:
    """Not even of one rule about one field, where only words and numbers differ."""
    (one,) = limit_lowered().verdicts
    twice = replace(limit_lowered(), verdicts=(one, replace(one, message="7 messages go within the hour.")))
    found = prints(results(twice, policy_switch(), limit_lowered("stream/OTHER")))
    assert len(found) == len(set(found)) == 4


def test_paths_count_from_the_root_of_the_repository() -> None:
    found = results(policy_switch(), from_root=lambda file: f"infra/nats é/{file}")
    place = found[0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "infra/nats%20%C3%A9/streams/orders.yaml", "uriBaseId": "%SRCROOT%"}


@pytest.mark.parametrize("address", [None, "stream/FAR"])
@pytest.mark.parametrize(
    ("known", "file"),
    [
        ({"declared": Topology(name="t", files=("streams/a.yaml", "b.yaml")), "named": ("streams",)}, "streams/a.yaml"),
        ({"named": ("streams", "b.yaml")}, "streams"),
        ({}, "."),
    ],
    ids=["topology", "arguments", "nothing"],
)
def test_every_result_has_a_place_in_a_file_or_the_whole_report_is_turned_down(
    address: str | None, known: dict[str, Any], file: str
) -> None:
    wrong = Diagnostic(severity=Severity.ERROR, code="NA101", name="x", message="refused", address=address)
    (result,) = run_of(Document(diagnostics=(wrong,), from_root=lambda file: f"infra/{file}", **known))["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == f"infra/{file}"
    assert location["physicalLocation"]["region"]["startLine"] == 1


def test_what_was_consented_to_is_a_suppressed_note() -> None:
    change = limit_lowered()
    given = replace(change, verdicts=tuple(replace(one, consented="agreed with billing") for one in change.verdicts))
    found = results(given)[0]
    assert found["level"] == "note"
    assert found["suppressions"] == [{"kind": "inSource", "justification": "agreed with billing"}]


def test_runs_of_different_topologies_are_told_apart() -> None:
    ids = {run_of(Document(topology=name))["automationDetails"]["id"] for name in ("orders", "billing", "a/b")}
    assert ids == {"reconciler/orders/", "reconciler/billing/", "reconciler/a%2Fb/"}


Xml = ElementTree.Element
Read = Callable[[Document], Xml]


def suite(document: Document) -> Xml:
    return ElementTree.fromstring(FORMATS["junit"](document).encode())


def case(document: Document, name: str) -> Xml:
    return next(one for one in suite(document).iter("testcase") if one.get("name") == name)


@every_trick
def test_whatever_names_are_it_is_xml(trick: str) -> None:
    assert len([*suite(hostile(trick)).iter("testcase")]) == 7


def test_the_counts_are_those_of_the_cases() -> None:
    root = suite(Document(topology="orders", plan=everything()))
    counted = {word: int(root.get(word) or -1) for word in ("tests", "failures", "errors", "skipped")}
    found = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    assert counted == {word: len([*root.iter(tag)]) for word, tag in found.items()}
    assert (counted["failures"], counted["errors"]) == (2, 1)


@pytest.mark.parametrize(
    ("change", "tag"),
    [
        (policy_switch(), "failure"),
        (limit_lowered(), "failure"),
        (planned("stream/X", Action.UNKNOWN, reason="nobody answers"), "error"),
        (create("stream/X", blocked_by="stream/Y"), "skipped"),
        (update("stream/X", verdicts=(verdict("ST302", "x", Outcome.WARNS, "hm"),)), "system-out"),
        (create("stream/X"), "system-out"),
    ],
)
def test_a_case_ends_as_its_change_does(change: Any, tag: str) -> None:
    found = case(Document(topology="orders", plan=plan(change)), change.address)
    assert [one.tag for one in found] == [tag]


def declared(*names: str) -> Topology:
    resources = (Declared(address=Address.of("stream", name), spec=Terms(), where=lambda _: at(3, 3)) for name in names)
    return Topology(name="orders", resources=tuple(resources))


def test_what_is_declared_and_in_place_passes() -> None:
    document = Document(topology="orders", plan=plan(kept=1), declared=declared("CALM"))
    assert [*case(document, "stream/CALM")] == []


def test_what_a_selection_leaves_out_is_no_case_since_nobody_looked() -> None:
    document = Document(topology="orders", plan=plan(hidden=1), declared=declared("CALM"))
    assert [*suite(document).iter("testcase")] == []


def test_findings_of_one_name_are_told_apart() -> None:
    wrong = (Diagnostic(severity=Severity.ERROR, code="XX501", name="unknown-key", message=text) for text in "ab")
    names = [one.get("name") for one in suite(Document(diagnostics=tuple(wrong))).iter("testcase")]
    assert names == ["XX501 unknown-key", "XX501 unknown-key #2"]


def test_what_holds_in_several_environments_is_one_annotation() -> None:
    """GitHub shows ten of a step, and a repetition would take the place of another."""
    more = Document(topology="orders", plan=plan(policy_switch(), limit_lowered()))
    lines = (
        FORMATS["github"].render_several([Document(topology="orders", plan=plan(policy_switch())), more]).splitlines()
    )
    titles = [match[1] for line in lines if (match := re.search("title=([A-Z0-9]+)", line))]
    assert sorted(titles) == ["CO121", "ST301"]
    assert [line.startswith("orders") for line in lines] == [False, True, False, True]


def github_lines(*changes: Any) -> list[str]:
    return FORMATS["github"](Document(topology="orders", plan=plan(*changes))).splitlines()


def test_an_annotation_is_one_line_with_its_place_and_the_way_out() -> None:
    line = github_lines(policy_switch())[0]
    assert line.startswith("::error file=streams/orders.yaml,line=21,col=26,endLine=21,endColumn=30,title=CO121 ")
    assert line.endswith("%0AInstead: declare a second consumer with the new policy and move the clients")


@every_trick
def test_properties_cannot_be_broken_out_of(trick: str) -> None:
    """What separates them is escaped, as the runner's own toolkit does."""
    lines = FORMATS["github"](hostile(trick)).splitlines()[:-1]
    assert len(lines) == 5
    for line in lines:
        found = re.fullmatch(r"::(error|warning|notice) ((?:\w+=[^,:]*,)*\w+=[^,:]*)::(.*)", line)
        assert found, line
        names = [one.partition("=")[0] for one in found[2].split(",")]
        assert set(names) <= {"file", "line", "col", "endLine", "endColumn", "title"}
        assert re.findall(r"%(?!25|0D|0A|3A|2C)", found[2] + found[3]) == []


def test_the_worst_come_first_since_only_ten_are_shown() -> None:
    warned = update("stream/A", verdicts=(verdict("ST302", "x", Outcome.WARNS, "hm", "stream/A", span=at(1, 1)),))
    kinds = [line.split()[0] for line in github_lines(warned, limit_lowered(), policy_switch())[:-1]]
    titles = [
        re.search("title=([A-Z0-9]+)", line) for line in github_lines(warned, limit_lowered(), policy_switch())[:-1]
    ]
    assert kinds == ["::error", "::error", "::warning"]
    assert [one[1] for one in titles if one] == ["CO121", "ST301", "ST302"]


def test_the_last_line_says_the_sums() -> None:
    assert github_lines(create("stream/A"))[-1].endswith(": 1 create · 0 unchanged")
