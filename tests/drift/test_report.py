"""Drift as it is read: by people, by tools with the published schema, by viewers of findings at their lines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from reconciler.journeys.drift.codec import drift_schema
from reconciler.journeys.drift.drift import Drift, Standing
from reconciler.report.words.paper import Paper
from reconciler.server.wire.audit import Actor, Attribution
from tests.cli.running import Shell
from tests.drift.account import updating
from tests.drift.looking import APPLIED, drift_findings, drift_json, drift_text, look, seen
from tests.drift.test_headings import NEW
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import scene

DAY = 86_400_000_000_000
WIDER = APPLIED.replace("max_age: 7d", "max_age: 9d")
ALICE = Actor(
    at="2026-06-01T10:00:00.123456789Z",
    request="$JS.API.STREAM.UPDATE.S",
    client="nats CLI",
    user="ops",
    host="10.0.0.5",
)


def by(drift: Drift, who: Attribution) -> Drift:
    items = tuple(replace(one, fields=tuple(replace(f, by=who) for f in one.fields)) for one in drift.items)
    return replace(drift, items=items)


def every_sort(folder: Path) -> list[Drift]:
    gone = {"streams": {"S": None}}
    return [
        look(folder / "a"), look(folder / "b", outside={"max_age": DAY}), look(folder / "c", WIDER, outside={"max_age": DAY}),
        look(folder / "d", WIDER), look(folder / "e", raw=gone), look(folder / "f", owner="billing"),
        look(folder / "g", raw={**gone, "unknown": {"stream/S": "no answer"}}), look(folder / "h", owner=None, raw=gone),
        look(folder / "i", f"{APPLIED}ignore_drift: [{{address: stream/S, reason: r}}]\n", outside={"max_age": DAY}),
        by(look(folder / "j", outside={"max_age": DAY}), Attribution(actor=ALICE)),
        by(look(folder / "k", outside={"max_age": DAY}), Attribution(unknown="nobody listened")),
        look(folder / "l", record={"seen": NEW}, server="2.15"),
        look(folder / "m", "streams:\n  T: {external: true}\n", raw={"streams": {"T": {"config": {"name": "T"}}}}),
    ]  # fmt: skip


def test_json_of_every_sort_is_as_published(tmp_path: Path) -> None:
    schema, every = json.loads(drift_schema()), every_sort(tmp_path)
    assert {item.standing for drift in every for item in drift.items} == {*Standing}
    for drift in every:
        jsonschema.validate(json.loads(drift_json(drift)), schema)


def test_no_drift_is_one_line(tmp_path: Path) -> None:
    assert (
        drift_text(look(tmp_path)) == "orders → account ORDERS (nats-server 2.12.0): no drift, 1 resource as declared\n"
    )


def test_a_field_shows_what_was_applied_what_is_live_and_what_the_file_says_now(tmp_path: Path) -> None:
    text = drift_text(look(tmp_path, WIDER, outside={"max_age": DAY, "max_msgs": 6}), arguments="orders")
    assert "    max_age   7d → 1d  changed outside; the file now says 9d\n" in text
    assert "    max_msgs  5 → 6    changed outside\n" in text
    assert text.endswith(
        "To put it back: reconciler drift restore orders\nTo keep it and change the files: reconciler drift accept orders\n"
    )


def test_what_no_server_takes_back_is_not_offered_to_be_put_back(shell: Shell, account: Account) -> None:
    """Beside what can be, each is said for what it is."""
    where = ["--server", account.url, "--user", account.user, "--password", account.password]
    file = shell.write("reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s]}, T: {subjects: [t]}}\n")
    assert shell("apply", file, "--yes", *where).code == 0
    talk(account, updating("S", deny_purge=True))
    alone = shell("drift", file, *where)
    assert (alone.code, "Nothing puts back stream/S (ST203)." in alone.out, "drift restore" in alone.out) == (
        3,
        True,
        False,
    )
    assert "drift accept" in alone.out
    talk(account, updating("T", max_msgs=5))
    both = shell("drift", file, *where)
    assert ("Nothing puts back stream/S (ST203)." in both.out, "drift restore" in both.out) == (True, True), both


def test_the_rest_of_what_no_server_takes_back_can_be_put_back(shell: Shell, account: Account) -> None:
    where = ["--server", account.url, "--user", account.user, "--password", account.password]
    file = shell.write("reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s], max_msgs: 9}}\n")
    assert shell("apply", file, "--yes", *where).code == 0
    talk(account, updating("S", deny_purge=True, max_msgs=5))
    told = shell("drift", file, *where).out
    assert "Nothing puts back deny_purge of stream/S (ST203)." in told
    assert "Write what is live there into the file, and `drift restore` puts back the rest." in told
    shell.write("reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s], max_msgs: 9, deny_purge: true}}\n")
    assert shell("drift", "restore", file, "--yes", *where).code == 0
    assert done(talk(account, lambda js: js.read("STREAM.INFO.S")))["config"]["max_msgs"] == 9


def test_no_file_is_advised_that_its_kind_cannot_say(shell: Shell, account: Account) -> None:
    where = ["--server", account.url, "--user", account.user, "--password", account.password]
    file = shell.write("reconciler: 1\ntopology: t\nobject_stores: {FILES: {}}\n")
    assert shell("apply", file, "--yes", *where).code == 0
    talk(account, updating("OBJ_FILES", allow_msg_ttl=True, description="x"))
    told = " ".join(shell("drift", file, *where).out.split())
    assert "Nothing puts back allow_msg_ttl of object_store/FILES (OB204)." in told
    assert "Write what is live there" not in told
    assert "No file can say allow_msg_ttl there; to see what to do: reconciler plan" in told
    advice = " ".join(shell("plan", file, *where).out.split())
    assert (
        "leave it as found (`unmanaged: [allow_msg_ttl]`), declare it under `streams` with its live settings" in advice
    )
    talk(account, updating("OBJ_FILES", description=""))
    alone = " ".join(shell("drift", file, *where).out.split())
    assert "No file can say allow_msg_ttl there; to see what to do: reconciler plan" in alone


def test_who_did_it_stands_beside_what_was_done(tmp_path: Path) -> None:
    text = drift_text(by(look(tmp_path, outside={"max_age": DAY}), Attribution(actor=ALICE)), Paper(width=120))
    assert "max_age  7d → 1d  changed outside by nats CLI (user ops, 10.0.0.5), 2026-06-01 10:00:00Z\n" in text


def test_why_nobody_is_named_is_said_once(tmp_path: Path) -> None:
    found = by(look(tmp_path, outside={"max_age": DAY, "max_msgs": 6}), Attribution(unknown="nobody listened"))
    text = drift_text(found)
    assert (text.count("changed outside by unknown\n"), text.count("By unknown: nobody listened.")) == (2, 1)


def test_equal_drift_of_many_objects_is_one_entry(tmp_path: Path) -> None:
    streams = "streams:\n" + "".join(f"  S{n:02}: {{max_age: 7d}}\n" for n in range(40))
    raw = {"streams": {f"S{n:02}": {"config": {"max_age": DAY}} for n in range(40)}}
    text = drift_text(seen(scene(tmp_path, streams, streams, raw=raw)))
    assert "~ 40 streams" in text
    assert text.count("7d → 1d") == 1
    assert len(text.splitlines()) < 12


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "\u202eturned"])
def test_what_others_wrote_cannot_command_a_terminal(tmp_path: Path, name: str) -> None:
    who = Attribution(actor=replace(ALICE, client=name, user=name, host=name))
    found = by(look(tmp_path, outside={"description": name}), who)
    for text in (drift_text(found), drift_json(found)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert not any("two\nlines" in one.message for one in drift_findings(found))


def test_findings_stand_at_the_line_of_each_field(tmp_path: Path) -> None:
    found = look(
        tmp_path,
        WIDER.replace("{", "\n    ").replace(", ", "\n    ").replace("}", ""),
        outside={"max_age": DAY, "max_msgs": 6},
    )
    assert [(one.code, one.span and one.span.line) for one in drift_findings(found)] == [("DR202", 5), ("DR201", 6)]


def test_a_finding_offers_what_can_be_done(shell: Shell, account: Account) -> None:
    """`deny_purge` never goes back, and nobody writes values of one place into files that are for several."""
    where = ["--server", account.url, "--user", account.user, "--password", account.password, "--value", "most=9"]
    head = "reconciler: 1\ntopology: t\nparameters: {most: {type: number}}\n"
    file = shell.write(f'{head}streams: {{S: {{subjects: [s], max_msgs: "${{most}}"}}, T: {{subjects: [t]}}}}\n')
    told = shell("drift", file, "--format", "github", *where).out
    assert "stream/S::It does not exist.%0AInstead: apply creates it; to give it up, take it out of the files" in told
    assert "by unknown" not in told
    assert shell("apply", file, "--yes", *where).code == 0
    talk(account, updating("S", max_msgs=5))
    talk(account, updating("T", deny_purge=True))
    told = shell("drift", file, "--format", "github", *where).out
    assert "Instead: `drift restore` puts it back; to keep it, edit the files by hand" in told
    assert "Instead: nothing puts it back (ST203); write what is live into the file" in told
    assert "drift accept" not in told


def test_a_partial_look_is_no_clean_bill(tmp_path: Path) -> None:
    drift = look(tmp_path, raw={"streams": {"S": None}, "unknown": {"stream/S": "no answer"}})
    assert "? stream/S  unknown" in drift_text(drift)
    assert [one.code for one in drift_findings(drift)] == ["DR207"]


def test_what_was_never_applied_differs_from_the_file_and_nobody_is_said_to_have_changed_it(tmp_path: Path) -> None:
    found = by(look(tmp_path, WIDER, owner=None), Attribution(unknown="nobody listened"))
    text = drift_text(found, arguments="orders")
    assert "differs from the file; no record of an apply" in text
    assert "changed outside" not in text
    assert "To see what an apply would adopt and change: reconciler plan orders" in text
    assert "drift restore" not in text


def test_what_is_as_declared_without_a_record_is_counted(tmp_path: Path) -> None:
    """The bucket is gone: what was applied, and where consumers stood, is forgotten."""
    lost, kept = look(tmp_path, owner=None), look(tmp_path)
    assert drift_text(lost).endswith("no drift, 1 resource as declared (1 without a record of an apply)\n")
    assert drift_text(kept).endswith("no drift, 1 resource as declared\n")


def test_where_records_cannot_be_read_nothing_is_said_to_lack_one(tmp_path: Path) -> None:
    assert "without a record" not in drift_text(look(tmp_path, known=False))
