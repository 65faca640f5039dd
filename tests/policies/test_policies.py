"""Policies in every command that judges: what they forbid, and what lifts that."""

from __future__ import annotations

import json
import subprocess
from xml.etree import ElementTree

import pytest

from tests.cli.running import Shell
from tests.policies.conftest import Run

POLICIES = """\
policies:
  - code: ACME101
    name: replicas
    on: stream
    forbid: resource.num_replicas < 3 && resource.labels.tier == 'gold'
    message: gold has three replicas
    help: "write num_replicas: 3"
  - code: ACME102
    name: gold-stays
    forbid: change.action == 'delete' && resource.labels.tier == 'gold'
    message: gold is not deleted
  - code: ACME103
    name: described
    on: stream
    forbid: resource.description == ''
    message: nobody described it
    severity: warning
"""
FILES = "reconciler: 1\ntopology: shop\npolicies: [{from: rules.yaml}]\nstreams:\n"
GOLD = "  GOLD: {subjects: [gold], labels: {tier: gold}}\n"
WAIVED = "  GOLD: {subjects: [gold], labels: {tier: gold}, allow: [{code: ACME101, reason: one server, until: 2999-12-31}]}\n"
PLAIN = "  PLAIN: {subjects: [plain], description: plain}\n"


@pytest.fixture(autouse=True)
def rules(shell: Shell) -> None:
    shell.write(POLICIES, "rules.yaml")


def test_a_violation_refuses_until_it_is_waived_beside_the_resource(run: Run, shell: Shell) -> None:
    file = shell.write(FILES + GOLD + PLAIN)
    ran = run("apply", file, "--yes")
    assert ran.code == 4
    assert "ACME101 replicas, forbidden unless waived. Gold has three replicas (num_replicas is 1" in ran.text
    assert "Instead: write num_replicas: 3; or waive it for a time:\n" in ran.text
    assert "allow: [{code: ACME101, reason: …, until: …}]" in ran.text
    assert "stream" not in run("export").text.replace("streams: {}", "")
    shell.write(FILES + WAIVED + PLAIN)
    ran = run("apply", file, "--yes")
    assert (ran.code, "ACME101 replicas, waived (one server)." in ran.text) == (0, True), ran
    assert run("plan", file, "--exit-code").code == 0


def test_a_waiver_that_ended_counts_no_more_and_one_without_end_is_none(run: Run, shell: Shell) -> None:
    file = shell.write(FILES + WAIVED.replace("2999-12-31", "2020-12-31"))
    ran = run("plan", file)
    assert (ran.code, "its waiver ended on 2020-12-31" in ran.text) == (4, True), ran
    assert "its waiver ended on 2020-12-31" in run("validate", file).text
    shell.write(FILES + WAIVED.replace(", until: 2999-12-31", ""))
    ran = run("plan", file)
    assert (ran.code, "a waiver of policy ACME101 has no end" in ran.text) == (1, True), ran


@pytest.mark.parametrize("where", ["the files", "an overlay file", "the environment itself"])
def test_a_waiver_that_one_environment_needs_may_move_to_its_overlay(where: str, run: Run, shell: Shell) -> None:
    """Removing it would refuse the plan of the other environment."""
    needed = POLICIES.replace("forbid: resource.num_replicas < 3 &&", "forbid: environment.name == 'prod' &&")
    shell.write(needed, "rules.yaml")
    waiver = "GOLD: {allow: [{code: ACME101, reason: one server, until: 2999-12-31}]}"
    overlay = f", overlay: {{streams: {{{waiver}}}}}" if where == "the environment itself" else ""
    environments = f"environments:\n  dev: {{}}\n  prod: {{{overlay.removeprefix(', ')}}}\n"
    head = FILES.replace("topology: shop\n", f"topology: shop\n{environments}")
    files = [shell.write(head + (WAIVED if where == "the files" else GOLD), "t.yaml")]
    if where == "an overlay file":
        files.append(shell.write(f"environment: prod\nstreams:\n  {waiver}\n", "prod.yaml"))
    dev, prod = (run("plan", *files, "--environment", name) for name in ("dev", "prod"))
    assert (dev.code, prod.code) == (0, 0), (dev, prod)
    assert "ACME101 replicas, waived (one server)" in prod.text
    assert "XX302" not in prod.text
    assert ("XX302" in dev.text) == (where == "the files")
    assert ("or move it into the overlay of the environment that needs it" in dev.text) == (where == "the files")


def test_a_waiver_that_its_own_environment_does_not_need_is_removed(run: Run, shell: Shell) -> None:
    waiver = "PLAIN: {allow: [{code: ACME101, reason: one server, until: 2999-12-31}]}"
    environments = f"environments:\n  dev: {{overlay: {{streams: {{{waiver}}}}}}}\n"
    file = shell.write(FILES.replace("topology: shop\n", f"topology: shop\n{environments}") + PLAIN)
    ran = run("plan", file, "--environment", "dev")
    assert "Instead: remove it, so that" in ran.text


def test_no_option_waives_a_policy(run: Run, shell: Shell) -> None:
    ran = run("plan", shell.write(FILES + GOLD), "--allow", "ACME101=stream/GOLD")
    assert (ran.code, "--allow ACME101=stream/GOLD allows nothing" in ran.text) == (4, True), ran


def test_a_policy_never_permits_what_a_rule_refuses(run: Run, shell: Shell) -> None:
    shell.write(POLICIES.replace("forbid: resource.description == ''", 'forbid: "false"'), "rules.yaml")
    ran = run("plan", shell.write(f"{FILES}  A: {{subjects: [x], max_age: 1h, duplicate_window: 2h}}\n"))
    assert (ran.code, "ST" in ran.text) == (4, True), ran


def test_a_warning_refuses_nothing(run: Run, shell: Shell) -> None:
    file = shell.write(f"{FILES}  A: {{subjects: [a]}}\n")
    ran = run("apply", file, "--yes")
    assert (ran.code, "ACME103 described, warning. Nobody described it (description is empty)." in ran.text) == (
        0,
        True,
    ), ran


def test_what_is_deleted_is_judged_by_the_labels_that_the_ledger_remembers(run: Run, shell: Shell) -> None:
    file = shell.write(FILES + WAIVED)
    assert run("apply", file, "--yes").code == 0
    shell.write(f"{FILES}{PLAIN}removed: [{{address: stream/GOLD, reason: old}}]\n")
    ran = run("plan", file)
    assert (ran.code, "ACME102 gold-stays, forbidden unless waived." in ran.text) == (4, True), ran
    assert 'allow: [{code: ACME102, on: "stream/GOLD", reason: …, until: …}]' in ran.text
    waiver = "allow: [{code: ACME102, on: stream/GOLD, reason: moved, until: 2999-12-31}]\n"
    shell.write(f"{FILES}{PLAIN}removed: [{{address: stream/GOLD, reason: old}}]\n{waiver}")
    ran = run("plan", file)
    assert "ACME102 gold-stays, waived (moved)." in ran.text


def test_what_the_files_no_longer_declare_is_known_by_the_labels_it_had(run: Run, shell: Shell) -> None:
    file = shell.write(FILES + WAIVED + PLAIN)
    assert run("apply", file, "--yes").code == 0
    shell.write(f"{FILES}  NEW: {{subjects: [new], description: new, labels: {{tier: gold}}}}\n" + (
        "removed: [{address: stream/GOLD, reason: old}, {address: stream/PLAIN, reason: old}]\n"
        "allow: [{code: ACME101, on: tier=gold, reason: soon, until: 2999-12-31},"
        " {code: ACME102, on: tier=gold, reason: moved, until: 2999-12-31}]\n"
    ))  # fmt: skip
    ran = run("plan", file, "--only", "tier=gold")
    assert (ran.code, "stream/GOLD" in ran.text, "stream/PLAIN" in ran.text) == (0, True, False), ran
    assert "ACME102 gold-stays, waived (moved)." in ran.text


def test_files_are_judged_without_an_account_as_far_as_they_tell(run: Run, shell: Shell) -> None:
    file = shell.write(FILES + GOLD)
    ran = run("validate", file)
    assert (ran.code, f"{file}:5:" in ran.text, "ACME101 stream/GOLD: gold has three replicas" in ran.text) == (
        1,
        True,
        True,
    )
    assert run("validate", shell.write(FILES + WAIVED)).code == 0


def test_code_scanning_sees_a_policy_as_a_rule(run: Run, shell: Shell) -> None:
    ran = run("validate", shell.write(FILES + GOLD), "--format", "sarif")
    driver = json.loads(ran.text)["runs"][0]["tool"]["driver"]
    rules = {one["id"]: one for one in driver["rules"]}
    assert rules.keys() == {"ACME101", "ACME103"}
    assert "helpUri" not in rules["ACME101"]


def test_a_saved_plan_was_judged_when_it_was_made(run: Run, shell: Shell) -> None:
    file = shell.write(FILES + WAIVED)
    assert run("plan", file, "--out", "plan.json").code == 0
    assert run("apply", "plan.json", "--yes").code == 0
    assert "no drift" in run("drift", file).text


def git(shell: Shell, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=shell.folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_review_judges_what_changed(run: Run, shell: Shell) -> None:
    file = shell.write(
        FILES + PLAIN + "  GOLD: {subjects: [gold], num_replicas: 3, description: d, labels: {tier: gold}}\n"
    )
    git(shell, "init", "--quiet")
    git(shell, "add", ".")
    git(shell, "commit", "--quiet", "-m", "one")
    shell.write(FILES + PLAIN + "  GOLD: {subjects: [gold], description: d, labels: {tier: gold}}\n")
    ran = run("review", file, "--base", "HEAD")
    assert (ran.code, "ACME101 replicas, forbidden unless waived." in ran.text) == (4, True), ran
    shell.write(FILES + PLAIN + "removed: [{address: stream/GOLD, reason: old}]\n")
    assert "ACME102 gold-stays, forbidden unless waived." in run("review", file, "--base", "HEAD").text


def test_policies_come_from_another_repository_at_a_fixed_commit(run: Run, shell: Shell) -> None:
    for command in (("init", "--quiet"), ("add", "rules.yaml"), ("commit", "--quiet", "-m", "one")):
        git(shell, *command)
    revision = git(shell, "rev-parse", "HEAD")
    shell.write(POLICIES.replace("gold has three", "later on, gold has three"), "rules.yaml")
    git(shell, "commit", "--quiet", "-a", "-m", "two")
    (shell.folder / "t").mkdir()
    there = FILES.replace("{from: rules.yaml}", f"{{from: .., revision: {revision}, path: rules.yaml}}")
    ran = run("validate", shell.write(there + GOLD, "t/t.yaml"))
    assert (ran.code, "ACME101 stream/GOLD: gold has three replicas" in ran.text) == (1, True), ran
    later = git(shell, "rev-parse", "HEAD")
    for asked, message in ((later, "later on, gold has three replicas"), (revision, "ORDERS: gold has three replicas")):
        ran = run("validate", shell.write(there.replace(revision, asked) + GOLD, "t/t.yaml"))
        assert message.replace("ORDERS: ", "GOLD: ") in ran.text
    absent = "a" * 40
    ran = run("validate", shell.write(there.replace(revision, absent) + GOLD, "t/t.yaml"))
    assert (ran.code, "t/t.yaml:3:19 error XX528: policies of" in ran.text, "cannot be fetched" in ran.text) == (
        1,
        True,
        True,
    ), ran


@pytest.mark.parametrize(("text", "message"), [
    ("policies: [{from: nowhere}]\n", "`nowhere` does not exist"),
    ("policies: [{from: other.yaml}]\n", "policies that are named elsewhere name no others; name them in the topology"),
    ("policies: [{from: empty.yaml}]\n", "this file has no `policies`"),
    ("policies: [{from: rules.yaml, revision: main}]\n", "`main` does not fit; write the whole id of a commit"),
    ("policies: [{code: ST101, name: a, forbid: 'true', message: m}]\n", "`ST101` does not fit; write three to twelve capital letters"),
    ("policies: [{from: rules.yaml}, {code: ACME101, name: a, forbid: 'true', message: m}]\n", "policy ACME101 is declared at"),
    ("policies: [{code: ACME201, name: a, forbid: 'resource.nam', message: m}]\n", "did you mean `resource.name`?"),
])  # fmt: skip
def test_what_cannot_be_a_policy_is_told_at_its_place(run: Run, shell: Shell, text: str, message: str) -> None:
    shell.write("policies: [{from: rules.yaml}]\n", "other.yaml")
    shell.write("x-a: 1\n", "empty.yaml")
    ran = run("validate", shell.write("reconciler: 1\ntopology: shop\n" + text))
    assert (ran.code, message in ran.text, "error" in ran.text) == (1, True, True), ran


def test_a_case_says_what_its_policy_answers(run: Run, shell: Shell) -> None:
    cases = "\n    cases: [{resource: {labels: {tier: gold}}, forbidden: false}, {resource: {num_replica: 3}, forbidden: true}]\n"
    shell.write(POLICIES.replace('\n    help: "write num_replicas: 3"\n', cases), "rules.yaml")
    ran = run("policy", "test", "rules.yaml")
    assert ran.code == 1
    assert (
        "rules.yaml:7:13 error XX529: case 1 of ACME101 is forbidden, and was to pass: gold has three replicas"
        in ran.text
    )
    assert "case 2 of ACME101 has a wrong `resource.num_replica`: there is no such key" in ran.text
    assert "warning XX529: policy ACME102 has no cases" in ran.text
    once = "\n    cases: [{resource: {labels: {tier: gold}}, forbidden: true}]\n"
    shell.write(POLICIES.replace('\n    help: "write num_replicas: 3"\n', once), "rules.yaml")
    ran = run("policy", "test", "rules.yaml")
    assert (ran.code, "rules.yaml:2:11 warning XX529: policy ACME101 has no case that it lets pass" in ran.text) == (
        0,
        True,
    )


SHARED = """\
policies:
  - code: ACME301
    name: described
    on: stream
    forbid: resource.description == ''
    message: nobody described it
    cases: [{resource: {}, forbidden: true}, {resource: {description: a}, forbidden: false}]
"""


def test_a_policy_that_several_ways_lead_to_is_one_policy(run: Run, shell: Shell) -> None:
    """Two topologies share a folder of policies; a third one names the folder and a file in it, which is its own besides."""
    shell.write(SHARED, "rules/house.yaml")
    for name in ("shop", "bank"):
        header = f"reconciler: 1\ntopology: {name}\npolicies: [{{from: ../../rules}}]\n"
        shell.write(f"{header}streams: {{{name}: {{subjects: [{name}], description: a}}}}\n", f"all/{name}/main.yaml")
        shell.write("kv_buckets: {}\n", f"all/{name}/more.yaml")
    for named in (["all"], ["rules", "all", "rules/house.yaml"]):
        ran = run("policy", "test", *named)
        assert (ran.code, ran.text) == (0, "1 policy, 2 cases: all answered as written\n"), ran
    shell.write(SHARED, "own/rules/house.yaml")
    sources = f"policies: [{{from: rules}}, {{from: rules/house.yaml}}, {{from: {shell.folder / 'own' / 'rules'}}}]"
    shell.write(f"reconciler: 1\ntopology: own\n{sources}\nstreams: {{A: {{subjects: [a]}}}}\n", "own/main.yaml")
    ran = run("validate", "own")
    assert (ran.code, ran.text.count("ACME301 stream/A"), "XX528" in ran.text) == (1, 1, False), ran


def test_a_slip_in_policies_that_topologies_share_is_told_once(run: Run, shell: Shell) -> None:
    for name in ("shop", "bank"):
        header = f"reconciler: 1\ntopology: {name}\npolicies: [{{from: ../../rules}}]\n"
        shell.write(f"{header}streams: {{{name}: {{subjects: [{name}]}}}}\n", f"all/{name}/main.yaml")
    shell.write(SHARED, "rules/house.yaml")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "both")):
        subprocess.run(["git", *command], cwd=shell.folder, check=True)
    shell.write(SHARED.replace("resource.description", "resource.descriptoin"), "rules/house.yaml")
    for command in (("plan", "all"), ("review", "--base", "main", "all")):
        ran = run(*command)
        assert (ran.code, ran.text.count("there is no `resource.descriptoin`")) == (1, 1), ran


def test_one_code_for_two_policies_is_told_at_both_places(run: Run, shell: Shell) -> None:
    shell.write(SHARED, "rules/a.yaml")
    shell.write(SHARED, "rules/b.yaml")
    ran = run("policy", "test", "rules")
    assert ran.code == 1
    assert (
        "rules/b.yaml:2:11 error XX528: policy ACME301 is declared at rules/a.yaml:2:11 already; keep one" in ran.text
    )


def test_what_holds_no_policy_is_told_where_nothing_else_does(run: Run, shell: Shell) -> None:
    shell.write("reconciler: 1\ntopology: shop\nstreams: {}\n", "all/shop.yaml")
    shell.write("policy: []\n", "rules/slip.yaml")
    shell.write(SHARED, "rules/house.yaml")
    assert "all:1:1 error XX528: this folder has no `policies`" in run("policy", "test", "all").text
    assert (
        "all/shop.yaml:1:1 error XX528: this file has no `policies`"
        in run("policy", "test", "all/shop.yaml", "rules").text
    )
    assert "rules/slip.yaml:1:1 error XX528: this file has no `policies`" in run("policy", "test", "rules").text


GOLDEN = "{resource: {num_replicas: 2, labels: {tier: gold}}, forbidden: true}"


def test_every_case_is_a_test_case_for_ci_whether_or_not_it_passes(run: Run, shell: Shell) -> None:
    def tested(forbidden: str) -> list[tuple[str | None, str | None, list[str]]]:
        first = f"{{resource: {{labels: {{tier: gold}}}}, forbidden: {forbidden}}}"
        cases = f"    cases: [{first}, {{resource: {{}}, forbidden: false}}, {GOLDEN}]\n"
        shell.write(POLICIES.partition("  - code: ACME102")[0] + cases, "rules.yaml")
        run("policy", "test", "rules.yaml", "--report", "junit=cases.xml")
        suites = ElementTree.parse(shell.folder / "cases.xml").getroot()
        assert suites.get("tests") == "3"
        return [(case.get("name"), case.get("line"), [child.tag for child in case]) for case in suites.iter("testcase")]

    passed: list[tuple[str | None, str | None, list[str]]] = [
        ("case 2 of ACME101", "8", []),
        ("case 3 of ACME101", "8", []),
    ]
    assert tested("true") == [("case 1 of ACME101", "8", []), *passed]
    assert tested("false") == [("case 1 of ACME101", "8", ["failure"]), *passed]


def test_what_conditions_may_mention_is_listed(run: Run) -> None:
    assert "resource.ack_wait" in run("policy", "fields", "consumer").text
    ran = run("policy", "fields", "streem")
    assert (ran.code, "did you mean stream?" in ran.text) == (64, True), ran
