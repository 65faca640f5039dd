"""Several topologies in one tree: each command takes them all, or says which there are and how to name one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.cli.running import ROOT, Ran, Shell
from tests.cli.test_with_server import target
from tests.support.accounts import Account
from tests.support.servers import NatsServer

CHAT = "reconciler: 1\ntopology: chat\nstreams:\n  CHAT: {subjects: [chat.>]}\n"
AUDIT = """reconciler: 1
topology: audit
streams:
  CHAT: {external: true, consumers: {auditor: {ack_policy: explicit}}}
"""
BILLS = "reconciler: 1\ntopology: bills\nstreams:\n  BILLS: {subjects: [bills]}\n"


def conforms(text: str) -> dict[str, Any]:
    """To what is published for several."""
    alone = json.loads((ROOT / "schemas" / "reports.schema.json").read_text())
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(alone).validate(found)
    return found


@pytest.fixture
def tree(shell: Shell) -> Shell:
    """Three topologies; the first by name stands on another one."""
    for name, text in (("audit/a.yaml", AUDIT), ("chat.yaml", CHAT), ("bills/b.yaml", BILLS), ("bills/c.yaml", "")):
        (shell.folder / name).parent.mkdir(exist_ok=True)
        shell.write(text or "kv_buckets: {PAID: {}}\n", name)
    return shell


def headlines(ran: Ran) -> list[str]:
    return [line.split(" → ")[0] for line in ran.out.splitlines() if " → account" in line]


def test_plan_shows_each_under_its_own_headline_and_the_worst_counts(tree: Shell, account: Account) -> None:
    ran = tree("plan", ".", *target(account))
    assert headlines(ran) == ["bills", "chat", "audit"]
    assert "stream/CHAT" in ran.out
    assert "+ kv_bucket/PAID" in ran.out
    assert "Next: reconciler apply bills " in ran.out
    assert "Next: reconciler apply chat.yaml " in ran.out
    assert (ran.code, ran.err) == (0, "")
    (audits,) = [line for line in ran.out.splitlines() if line.startswith("audit →")]
    assert audits.endswith("3 streams once chat is applied")
    assert "+ consumer/CHAT/auditor" in ran.out
    alone = tree("plan", "audit", *target(account))
    assert (alone.code, "This external stream does not exist here" in " ".join(alone.out.split())) == (4, True)
    assert "Waits for stream/CHAT" in alone.out


def test_a_plan_expects_of_a_stream_what_its_owner_makes_of_it_in_the_same_run(tree: Shell, account: Account) -> None:
    tree.write(AUDIT.replace("external: true", "external: true, subjects: [chats.>]"), "audit/a.yaml")
    foretold = tree("plan", ".", *target(account))
    ran = tree("apply", ".", "--yes", *target(account))
    for told in (foretold, ran):
        assert told.code == 4
        assert "subjects chat.>, and the file expects chats.>" in " ".join(told.out.split())
        assert "no longer be stored" not in told.out  # nothing changes what others manage


@pytest.mark.parametrize("max_streams", [4, 5])
def test_a_plan_counts_the_streams_that_the_topologies_before_it_create(tree: Shell, max_streams: int) -> None:
    """Two of bills, one of chat, the ledger, and the one of `more`."""
    tree.write("reconciler: 1\ntopology: more\nstreams: {MORE: {}}\n", "more.yaml")
    limits = f"{{max_mem: 1GB, max_file: 1GB, max_streams: {max_streams}}}"
    with NatsServer(config=f"accounts {{A: {{jetstream: {limits}, users: [{{user: u, password: u}}]}}}}") as server:
        account = Account(server=server, user="u", password="u")
        foretold = tree("plan", ".", *target(account))
        ran = tree("apply", ".", "--yes", *target(account))
    has_room = max_streams == 5
    assert [("XX221" in told.out, told.code) for told in (foretold, ran)] == [(not has_room, 0 if has_room else 4)] * 2


def test_apply_goes_where_others_stand_on_first_and_then_nothing_is_pending(tree: Shell, account: Account) -> None:
    ran = tree("apply", ".", "--yes", *target(account))
    assert (ran.code, headlines(ran)) == (0, ["bills", "chat", "audit"])
    again = tree("plan", ".", "--exit-code", *target(account))
    assert (again.code, again.out.count("nothing to do")) == (0, 3)
    drift = tree("drift", ".", *target(account))
    assert (drift.code, drift.out.count("no drift")) == (0, 3)
    history = tree("history", "--format", "json", *target(account))
    assert {one["topology"] for one in json.loads(history.out)["runs"]} == {"bills", "chat", "audit"}


@pytest.mark.parametrize("command", ["plan", "drift", "apply", "validate"])
def test_json_is_one_document_of_them_all(tree: Shell, account: Account, command: str) -> None:
    where = [] if command == "validate" else target(account)
    ran = tree(command, ".", "--format", "json", *(["--yes"] if command == "apply" else []), *where)
    assert sorted(one["topology"] for one in conforms(ran.out)["reports"]) == ["audit", "bills", "chat"]


def test_every_other_format_is_one_document_too(tree: Shell, account: Account) -> None:
    reports = ("--report", "junit=j.xml", "--report", "sarif=s.json", "--report", "markdown=m.md")
    assert tree("apply", ".", "--yes", *reports, *target(account)).code == 0
    suites = ElementTree.parse(tree.folder / "j.xml").getroot()
    assert sorted(suite.get("name", "") for suite in suites) == ["audit", "bills", "chat"]
    assert len(json.loads((tree.folder / "s.json").read_text())["runs"]) == 3
    assert (tree.folder / "m.md").read_text().count("### Apply: ") == 3


def test_one_whose_files_are_wrong_keeps_the_others_from_being_applied(tree: Shell, account: Account) -> None:
    tree.write(BILLS.replace("subjects", "subjectz"), "bills/b.yaml")
    ran = tree("apply", ".", "--yes", *target(account))
    assert ran.code == 1
    assert "bills/b.yaml:4:11 error ST501" in ran.err
    assert ran.err.count("error") == 2  # that, and their number
    assert "+ stream/CHAT" in tree("plan", "chat.yaml", *target(account)).out


def test_one_in_the_wrong_place_is_told_beside_the_others(tree: Shell, account: Account) -> None:
    tree.write(BILLS + "expect: {cluster: elsewhere}\n", "bills/b.yaml")
    ran = tree("plan", ".", "--format", "json", *target(account))
    found = conforms(ran.out)["reports"]
    assert ran.code == 1
    assert [one["diagnostics"][0]["code"] for one in found if one["topology"] == "bills"] == ["XX105"]
    assert [one["summary"]["create"] for one in found if one["topology"] == "chat"] == [1]


def test_a_server_that_does_not_answer_is_said_once(tree: Shell) -> None:
    ran = tree("plan", ".", "--server", "127.0.0.1:1")
    assert (ran.code, ran.out, ran.err.count("Cannot reach")) == (1, "", 1)


@pytest.mark.parametrize(
    "said",
    [
        ("plan", "--out", "p.json"), ("plan", "--only", "stream/CHAT"), ("apply", "--yes", "--allow", "ST101=stream/CHAT"),
        ("drift", "accept"), ("drift", "watch"), ("drift", "restore", "--yes"), ("rehearse",), ("apply", "--yes", "--backup", "b"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_works_on_one_says_which_there_are(tree: Shell, account: Account, said: tuple[str, ...]) -> None:
    ran = tree(*said, ".", *target(account))
    assert ran.code == 1
    text = " ".join(ran.err.split())
    assert "works on one: audit (audit), bills (bills), chat (chat.yaml)" in text
    assert "name the files of one topology, for example audit" in text


def test_what_two_of_them_declare_is_refused_at_both_places(tree: Shell, account: Account) -> None:
    tree.write(BILLS.replace("BILLS", "CHAT"), "bills/b.yaml")
    ran = tree("plan", ".", *target(account))
    assert ran.code == 1
    text = " ".join(ran.err.split())
    assert "chat.yaml:4:3 error XX523 stream/CHAT" in text
    assert "by bills at bills/b.yaml:4:3" in text
    assert tree("validate", ".").code == 0  # they may be for two accounts


def test_one_name_in_two_folders_is_two_where_they_declare_the_same(shell: Shell, account: Account) -> None:
    for folder in ("eu", "us"):
        (shell.folder / folder).mkdir()
        shell.write(CHAT, f"{folder}/chat.yaml")
    assert shell("validate", ".").out.count("chat: 1 resource in 1 file can be planned") == 2
    ran = shell("plan", ".", *target(account))
    assert (ran.code, "XX523" in ran.err) == (1, True)
    assert shell("plan", "eu", *target(account)).code == 0


def test_one_name_in_two_folders_is_one_where_they_do_not(shell: Shell, account: Account) -> None:
    for folder, text in (("a", CHAT), ("b", CHAT.replace("CHAT", "OTHER").replace("chat.>", "other"))):
        (shell.folder / folder).mkdir()
        shell.write(text, f"{folder}/t.yaml")
    ran = shell("plan", ".", *target(account))
    assert (ran.code, headlines(ran)) == (0, ["chat"])


def test_a_file_that_belongs_to_none_of_them_is_said(tree: Shell) -> None:
    lost = tree.write("streams: {LOST: {}}\n", "lost.yaml")
    ran = tree("validate", "audit", "bills", lost)
    assert (ran.code, "error XX521" in ran.out) == (1, True)


def test_files_named_one_by_one_are_taken_apart_too(tree: Shell) -> None:
    ran = tree("validate", *map(str, sorted(Path(one) for one in ("audit/a.yaml", "chat.yaml", "bills/b.yaml"))))
    assert (ran.code, ran.out.count("can be planned")) == (0, 3)


def test_subjects_pass_from_one_topology_to_another_that_comes_after_it(shell: Shell, account: Account) -> None:
    whole = shell.write(CHAT, "chat.yaml")
    assert shell("apply", whole, "--yes", *target(account)).code == 0
    shell.write(CHAT.replace("chat.>", "chat.eu.>"), "chat.yaml")
    other = shell.write("reconciler: 1\ntopology: a-us\nstreams:\n  US: {subjects: [chat.us.>]}\n", "us.yaml")
    refused = shell("plan", other, whole, *target(account))
    assert refused.code == 4
    assert "where topology chat gives it up in the same run, name its files first" in " ".join(refused.out.split())
    foretold = shell("plan", whole, other, *target(account))
    assert foretold.code == 0, foretold
    assert shell("apply", whole, other, "--yes", *target(account)).code == 0
    assert shell("plan", whole, other, "--exit-code", *target(account)).code == 0


def test_what_comes_after_a_refused_topology_is_not_begun(shell: Shell, account: Account) -> None:
    """The second would give the subject up that the first, refused, was to take: nobody would store it."""
    whole = shell.write(CHAT, "chat.yaml")
    assert shell("apply", whole, "--yes", *target(account)).code == 0
    shell.write(CHAT.replace("chat.>", "chat.eu.>"), "chat.yaml")
    other = shell.write("reconciler: 1\ntopology: a-us\nstreams:\n  US: {subjects: [chat.us.>]}\n", "us.yaml")
    ran = shell("apply", other, whole, "--yes", *target(account))
    assert (ran.code, headlines(ran)) == (4, ["a-us"]), ran
    assert ran.out.endswith(
        "\nNot begun, because the topology before was refused: chat\n\n2 topologies: 1 refused, 1 not begun\n"
    )
    assert "nothing to do" in shell("plan", shell.write(CHAT, "chat.yaml"), *target(account)).out
    shell.write(CHAT.replace("chat.>", "chat.eu.>"), "chat.yaml")
    partial = shell("apply", other, whole, "--yes", "--partial", *target(account))
    assert (partial.code, headlines(partial)) == (4, ["a-us", "chat"]), partial


def test_a_topology_is_split_in_one_apply_and_the_first_half_only_reads_from_then_on(
    shell: Shell, account: Account
) -> None:
    whole = shell.write(CHAT + "  LOGS: {subjects: [logs], consumers: {mine: {ack_policy: explicit}}}\n", "chat.yaml")
    assert shell("apply", whole, "--yes", *target(account)).code == 0
    kept = "  LOGS: {external: true, consumers: {mine: {ack_policy: explicit}}}\nforget: [stream/LOGS]\n"
    shell.write(CHAT + kept, "chat.yaml")
    shell.write("reconciler: 1\ntopology: a-logs\nstreams:\n  LOGS: {subjects: [logs]}\n", "logs.yaml")
    assert shell("validate", ".").code == 0
    foretold = shell("plan", ".", *target(account))
    assert (foretold.code, "once chat is applied" in foretold.out) == (0, True), foretold
    split = shell("apply", ".", "--yes", *target(account))
    assert split.code == 0, split
    assert shell("plan", ".", "--exit-code", *target(account)).code == 0
    assert shell("drift", ".", *target(account)).code == 0


@pytest.mark.parametrize("command", [("plan", "."), ("apply", ".", "--yes")], ids=" ".join)
def test_who_takes_a_stream_over_in_the_same_run_is_not_said_to_be_refused(
    shell: Shell, account: Account, command: tuple[str, ...]
) -> None:
    reads = "  LOGS: {external: {from: topology/%s}, consumers: {%s: {ack_policy: explicit}}}\n"
    taker, reader = (f"reconciler: 1\ntopology: {name}\nstreams:\n" for name in ("taker", "reader"))
    shell.write(f"{CHAT}  LOGS: {{subjects: [logs]}}\n", "chat.yaml")
    shell.write(taker + reads % ("chat", "c"), "taker.yaml")
    shell.write(reader + reads % ("chat", "r"), "reader.yaml")
    assert shell("apply", ".", "--yes", *target(account)).code == 0
    shell.write(CHAT + "forget: [stream/LOGS]\n", "chat.yaml")
    shell.write(taker + "  LOGS: {subjects: [logs], consumers: {c: {ack_policy: explicit}}}\n", "taker.yaml")
    shell.write(reader + reads % ("taker", "r"), "reader.yaml")
    alone = shell("plan", "chat.yaml", *target(account))
    assert (alone.code, "XX237" in alone.out) == (0, True), alone
    together = shell(*command, *target(account))
    assert (together.code, "XX237" in together.out) == (0, False), together
    left = shell("plan", ".", "--exit-code", *target(account))
    assert (left.code, "the records: reconciler apply" in left.out) == (0, command[0] == "plan"), left


USER = "reconciler: 1\ntopology: user\nstreams: {LOGS: {external: {from: topology/logs}, consumers: {c: {ack_policy: explicit}}}}\n"


@pytest.mark.parametrize("is_there", [True, False], ids=["live", "missing"])
def test_who_uses_a_stream_that_its_owner_takes_in_the_same_run_hears_of_it(
    shell: Shell, account: Account, is_there: bool
) -> None:
    files = shell.write(LOGS, "logs.yaml"), shell.write(USER, "user.yaml")
    if is_there:
        assert shell("apply", shell.write(LOGS, "logs.yaml"), "--yes", *target(account)).code == 0
        forgotten = "reconciler: 1\ntopology: logs\nstreams: {OTHER: {}}\nforget: [stream/LOGS]\n"
        assert shell("apply", shell.write(forgotten, "before.yaml"), "--yes", *target(account)).code == 0
    together = shell("plan", *files, *target(account))
    assert (together.code, "once logs is applied" in together.out) == (0, True), together
    assert shell("plan", files[1], *target(account)).code == 4
    assert shell("apply", *files, "--yes", *target(account)).code == 0


def test_who_waits_for_a_topology_that_lacks_a_consent_hears_that(shell: Shell, account: Account) -> None:
    logs = LOGS.replace("subjects: [logs]", "subjects: [logs, more]\n    num_replicas: 1")
    assert shell("apply", shell.write(logs, "logs.yaml"), "--yes", *target(account)).code == 0
    held = LOGS + "    storage: memory\n"
    taker = "reconciler: 1\ntopology: taker\nstreams: {TAKER: {subjects: [more]}}\n"
    ran = shell("plan", shell.write(held, "logs.yaml"), shell.write(taker, "taker.yaml"), *target(account))
    assert "first resolve what stops its plan" in " ".join(ran.out.split())
    assert "name its files first" not in " ".join(ran.out.split())


def test_no_plan_stands_on_one_that_cannot_be_carried_out(shell: Shell, account: Account) -> None:
    assert shell("apply", shell.write(LOGS, "logs.yaml"), "--yes", *target(account)).code == 0
    shell.write(LOGS + "    storage: memory\n  MORE: {subjects: [more]}\n", "logs.yaml")
    shell.write("reconciler: 1\ntopology: user\nstreams: {MORE: {external: true}}\n", "user.yaml")
    ran = shell("plan", ".", *target(account))
    assert (ran.code, "once logs is applied" in ran.out) == (4, False)
    assert "This external stream does not exist here" in " ".join(ran.out.split())


def test_a_consumer_that_is_given_up_is_taken_before_it_gets_another_name(shell: Shell, account: Account) -> None:
    whole = shell.write(f"{LOGS}    consumers: {{old: {{ack_policy: explicit}}}}\n", "logs.yaml")
    assert shell("apply", whole, "--yes", *target(account)).code == 0
    shell.write(f"{LOGS}forget: [consumer/LOGS/old]\n", "logs.yaml")
    taker = (
        "reconciler: 1\ntopology: taker\nstreams: {LOGS: {external: true, consumers: {%s: {ack_policy: explicit}}}}\n"
    )
    moved = "moved: [{from: consumer/LOGS/old, to: consumer/LOGS/new, reason: shorter}]\n"
    shell.write(taker % "new" + moved, "taker.yaml")
    at_once = shell("plan", ".", *target(account))
    said = "Instead: declare consumer/LOGS/old as it is and apply once to adopt it; then move it"
    assert (at_once.code, said in " ".join(at_once.out.split())) == (4, True), at_once
    shell.write(taker % "old", "taker.yaml")
    assert shell("apply", ".", "--yes", *target(account)).code == 0
    shell.write(taker % "new" + moved, "taker.yaml")
    assert shell("apply", ".", "--yes", *target(account)).code == 0


LOGS = "reconciler: 1\ntopology: logs\nstreams:\n  LOGS:\n    subjects: [logs]\n"


def test_what_is_said_to_be_of_others_is_given_up_without_another_word(shell: Shell, account: Account) -> None:
    file = shell.write(CHAT, "chat.yaml")
    assert shell("apply", file, "--yes", *target(account)).code == 0
    shell.write(CHAT.replace("subjects: [chat.>]", "external: true"), "chat.yaml")
    assert "< stream/CHAT" in shell("plan", file, *target(account)).out
    assert shell("apply", file, "--yes", *target(account)).code == 0
    other = shell.write(CHAT.replace("topology: chat", "topology: theirs"), "theirs.yaml")
    assert shell("apply", other, "--yes", *target(account)).code == 0


def test_an_origin_that_another_topology_declares_is_not_called_missing(shell: Shell) -> None:
    shell.write(CHAT, "chat.yaml")
    copy = "reconciler: 1\ntopology: copy\nstreams:\n  COPY: {mirror: {name: CHAT}}\n"
    shell.write(copy, "copy.yaml")
    assert "XX206" in shell("validate", "copy.yaml").out
    assert "XX206" not in shell("validate", ".").out
