"""A plan saved, reviewed and applied later, on a real server: exactly its steps, or the reason why not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reconciler.journeys.saved.saving import read_plan
from reconciler.journeys.saved.saving import save as save_plan
from reconciler.server.wire.api import JetStream
from tests.cli.running import ROOT, Ran
from tests.e2e.here import somebody
from tests.e2e.someone import Someone, login
from tests.groups.making import until
from tests.quantities.losing import take
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream
from tests.support.servers import NatsServer
from tests.support.versions import on_every_version

TWO = "streams:\n  A: {subjects: [a], max_age: 7d}\n  B: {subjects: [b], max_age: 7d}\n"
CHANGED = TWO.replace("7d", "3d")
OUTCOME = json.loads((ROOT / "schemas" / "apply.schema.json").read_text())
DAY = 86_400_000_000_000


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def saved(someone: Someone, text: str, *options: str) -> dict[str, Any]:
    """The plan for these files, kept as plan.json."""
    ran = someone.plan(text, "--out", "plan.json", *options)
    assert ran.code in (0, 4), ran
    return file(someone)


def file(someone: Someone) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((someone.shell.folder / "plan.json").read_text())
    return data


def apply_saved(someone: Someone, *options: str) -> Ran:
    return someone("apply", "plan.json", "--yes", *options)


def outcome(someone: Someone, *options: str) -> dict[str, Any]:
    ran = apply_saved(someone, "--format", "json", *options)
    said: dict[str, Any] = json.loads(ran.out)
    jsonschema.validate(said, OUTCOME)
    assert said["exit_code"] == ran.code
    return said


def edited(someone: Someone, name: str, **fields: Any) -> None:
    """Somebody else changes a stream behind our back."""

    async def edit(js: JetStream) -> None:
        config = dict(done(await js.read(f"STREAM.INFO.{name}"))["config"])
        done(await js.write(f"STREAM.UPDATE.{name}", {**config, **fields}))

    someone.ask(edit)


def stream(someone: Someone, name: str) -> dict[str, Any]:
    async def read(js: JetStream) -> dict[str, Any]:
        return dict(done(await js.read(f"STREAM.INFO.{name}")))

    return someone.ask(read)


def filled(someone: Someone, subject: str, number: int) -> None:
    async def publish(js: JetStream) -> None:
        for _ in range(number):
            await js.pipeline.nc.request(subject, b"x", timeout=20)

    someone.ask(publish)


def remade(someone: Someone, name: str, **config: Any) -> None:
    async def remake(js: JetStream) -> None:
        done(await js.write(f"STREAM.DELETE.{name}"))
        await make_stream(js, name, **config)

    someone.ask(remake)


@on_every_version
def test_what_was_saved_is_what_is_applied(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    someone.applied(TWO)
    saved(someone, CHANGED)
    someone.write("streams: {C: {subjects: [c]}}\n")  # what the files say by now is of no account
    ran = apply_saved(someone)
    assert (ran.code, stream(someone, "A")["config"]["max_age"]) == (0, 3 * DAY), ran
    assert someone.has_nothing_to_do(someone.write(CHANGED))


def test_it_says_how_to_apply_it(someone: Someone) -> None:
    ran = someone.plan(TWO, "--out", "plan.json")
    assert f"Next: reconciler apply plan.json --server {someone.login[1]}" in ran.out


def test_applying_twice_is_nothing_and_says_so(someone: Someone) -> None:
    saved(someone, TWO)
    assert apply_saved(someone).code == 0
    again = apply_saved(someone)
    assert again.code == 0
    assert "Everything in this plan is done already; nothing was changed." in again.out


def test_a_file_fits_the_schema_and_tells_what_is_in_it(someone: Someone) -> None:
    data = saved(someone, TWO)
    jsonschema.validate(data, json.loads((ROOT / "schemas" / "plan.schema.json").read_text()))
    assert (data["saved"]["empty"], data["saved"]["exit_code"], data["summary"]["create"]) == (False, 0, 2)


def test_an_edited_file_is_refused(someone: Someone) -> None:
    saved(someone, TWO)
    path = someone.shell.folder / "plan.json"
    path.write_text(path.read_text().replace('"subjects": [', '"subjects": ["more", ', 1))
    ran = apply_saved(someone)
    assert (ran.code, "changed this plan after it was saved" in ran.err) == (1, True), ran


def test_a_file_in_another_layout_is_the_same_plan(someone: Someone) -> None:
    data = saved(someone, TWO)
    (someone.shell.folder / "plan.json").write_text(json.dumps(data, sort_keys=True))
    assert apply_saved(someone).code == 0


def test_another_format_is_refused_with_both_numbers(someone: Someone) -> None:
    data = saved(someone, TWO)
    (someone.shell.folder / "plan.json").write_text(json.dumps({**data, "format": 99}))
    ran = apply_saved(someone)
    assert ran.code == 1
    assert "this plan has format 99, this reconciler reads format 1" in ran.err


def test_a_file_nested_deeper_than_any_plan_is_none(someone: Someone) -> None:
    for text in ("[" * 100_000, f'{{"format": 1, "saved": {"[" * 900}{"]" * 900}, "fingerprint": "x"}}'):
        someone.shell.write(text, "deep.json")
        ran = someone("apply", "deep.json", "--yes")
        assert (ran.code, "deep.json: this is not JSON: recursion limit" in ran.err) == (1, True), ran


def test_a_plan_printed_for_reading_is_not_applied(someone: Someone) -> None:
    printed = someone.plan(TWO, "--format", "json").out
    (someone.shell.folder / "plan.json").write_text(printed)
    ran = apply_saved(someone)
    assert (ran.code, "plan --out plan.json" in ran.err) == (1, True), ran


def test_another_account_is_refused(someone: Someone, new_account: Callable[..., Account]) -> None:
    saved(someone, TWO)
    other = new_account()
    ran = apply_saved(replace(someone, place=other, login=login(other)))
    assert (ran.code, "This plan belongs to another account" in ran.err) == (1, True), ran


def test_an_account_that_was_emptied_is_another_one(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED)

    async def wipe(js: JetStream) -> None:
        for name in ("A", "B", "KV_reconciler"):
            done(await js.write(f"STREAM.DELETE.{name}"))

    someone.ask(wipe)
    ran = apply_saved(someone)
    assert (ran.code, "holds an id, but the one here has none" in " ".join(ran.err.split())) == (1, True), ran


def test_what_somebody_changed_is_left_alone_and_the_rest_goes_on(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED)
    edited(someone, "A", max_age=5 * DAY)
    ran = apply_saved(someone)
    assert ran.code == 1
    assert [stream(someone, name)["config"]["max_age"] for name in "AB"] == [5 * DAY, 3 * DAY]


def test_the_three_values_stand_beside_each_other(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED)
    edited(someone, "A", max_age=5 * DAY)
    rows = [line.split() for line in apply_saved(someone).out.splitlines()]
    assert ["planned", "from", "now", "live", "wanted"] in rows
    assert ["max_age", "7d", "5d", "3d"] in rows


def test_tools_get_the_three_values_too(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED)
    edited(someone, "A", max_age=5 * DAY)
    (failed,) = outcome(someone)["failed"]
    assert failed["changed_since"] == [{"path": "max_age", "planned": 7 * DAY, "now": 5 * DAY, "wanted": 3 * DAY}]


def test_what_somebody_already_did_is_not_done_again(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED)
    edited(someone, "A", max_age=3 * DAY)
    said = outcome(someone)
    assert (said["exit_code"], said["as_wanted"]) == (0, ["stream/A"])
    assert [one["address"] for one in said["done"]] == ["stream/B"]


def test_a_stream_that_was_made_anew_is_another_one(someone: Someone) -> None:
    someone.applied(TWO)
    filled(someone, "a", 3)
    saved(someone, CHANGED, "--allow", "ST301=stream/A")
    remade(someone, "A", subjects=["a"], max_age=7 * DAY)
    (failed,) = outcome(someone)["failed"]
    assert (failed["address"], failed["reason"]["code"]) == ("stream/A", "AP201")


def test_what_somebody_changed_of_an_object_that_goes_is_written_as_people_write_it(someone: Someone) -> None:
    someone.applied(TWO)
    going = "streams: {B: {subjects: [b], max_age: 7d}}\nremoved: [{address: stream/A, reason: done}]\n"
    saved(someone, going)
    edited(someone, "A", max_age=DAY // 16)
    (line,) = [one for one in apply_saved(someone).out.splitlines() if "max_age" in one]
    assert line.split() == ["max_age", "7d", "1h30m", "–"]


def test_a_stream_that_is_gone_is_not_made_again(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED)
    someone.ask(lambda js: js.write("STREAM.DELETE.A"))
    (failed,) = outcome(someone)["failed"]
    assert (failed["address"], failed["reason"]["code"]) == ("stream/A", "AP103")


LIMITED = "streams:\n  A:\n    subjects: [a]\n    max_msgs: 100\n"
LOWERED = LIMITED.replace("100", "2")


def consented(upto: str = "") -> str:
    return LOWERED + f"    allow: [{{code: ST301, to: 2, reason: few are enough{upto}}}]\n"


def test_a_loss_of_more_than_twice_what_the_plan_said_is_refused(someone: Someone) -> None:
    someone.applied(LIMITED)
    filled(someone, "a", 4)
    saved(someone, consented())
    filled(someone, "a", 3)
    said = outcome(someone)
    (failed,) = said["failed"]
    assert (said["exit_code"], failed["reason"]["code"]) == (4, "AP202")
    assert "The plan said 2 messages (ST301), and now it is 5" in failed["reason"]["message"]


def test_a_loss_within_twice_what_the_plan_said_is_not(someone: Someone) -> None:
    someone.applied(LIMITED)
    filled(someone, "a", 4)
    saved(someone, consented())
    filled(someone, "a", 2)
    ran = apply_saved(someone)
    assert ran.code == 0
    assert "Counted again:\n  stream/A: the plan said 2 messages (ST301), and now it is 4.\n" in ran.out


def test_copies_of_a_source_with_a_start_are_counted_again(someone: Someone) -> None:
    """What came after the plan, from the start on, comes a second time."""
    sourced = "streams:\n  A: {subjects: [a.>]}\n  ALL:\n    sources: [{name: A, filter_subject: a.x}]\n"
    someone.applied(sourced)
    filled(someone, "a.x", 4)
    someone.ask(lambda js: until(js, lambda info: info["state"]["messages"] == 4, "STREAM.INFO.ALL"))
    saved(someone, sourced.replace("a.x", "a.*, opt_start_seq: 4"))
    filled(someone, "a.x", 3)
    someone.ask(lambda js: until(js, lambda info: info["state"]["messages"] == 7, "STREAM.INFO.ALL"))
    assert "Counted again:\n  stream/ALL: the plan said up to 1 copied at once, and now it is up to 4.\n" in (
        apply_saved(someone).out
    )


def test_a_loss_of_what_the_plan_said_is_not_told_again(someone: Someone) -> None:
    someone.applied(LIMITED)
    filled(someone, "a", 4)
    saved(someone, consented())
    assert "Counted again" not in apply_saved(someone).out


SPLIT = """streams:
  S:
    subjects: [s.*]
    consumers:
      c: {ack_policy: explicit, filter_subject: s.a}
      d: {ack_policy: explicit, filter_subject: s.b, deliver_policy: by_start_sequence, opt_start_seq: 3}
"""
WHOLE = "streams:\n  S:\n    subjects: [s.*]\n    consumers:\n      c: {ack_policy: explicit}\n"


def test_what_the_new_half_of_a_consumer_delivers_again_by_now_is_told(someone: Someone) -> None:
    """The plan named the start at which nothing came twice, and the old one has gone on since."""
    someone.applied(WHOLE)
    for _ in range(3):
        filled(someone, "s.a", 1)
        filled(someone, "s.b", 1)
    someone.ask(lambda js: take(js, "S", "c", 2))
    saved(someone, SPLIT)
    someone.ask(lambda js: take(js, "S", "c", 2))
    ran = apply_saved(someone)
    assert ran.code == 0
    assert "consumer/S/d: the plan said 0 delivered before, and now it is up to 2." in ran.out


def test_a_bound_in_the_consent_counts_instead(someone: Someone) -> None:
    someone.applied(LIMITED)
    filled(someone, "a", 4)
    saved(someone, consented(", upto: {messages: 3}"))
    filled(someone, "a", 2)
    said = outcome(someone)
    (failed,) = said["failed"]
    assert (said["exit_code"], failed["reason"]["code"]) == (4, "AP202")


def test_a_wide_bound_in_the_consent_allows_more_than_twice(someone: Someone) -> None:
    someone.applied(LIMITED)
    filled(someone, "a", 4)
    saved(someone, consented(", upto: {messages: 1_000}"))
    filled(someone, "a", 20)
    assert outcome(someone)["exit_code"] == 0


def test_a_plan_with_a_refusal_is_not_applied(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED.replace("{subjects: [a]", "{storage: memory, subjects: [a]"))
    ran = apply_saved(someone)
    assert (ran.code, stream(someone, "B")["config"]["max_age"]) == (4, 7 * DAY), ran


def test_partial_applies_the_rest_of_it_and_still_exits_4(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, CHANGED.replace("{subjects: [a]", "{storage: memory, subjects: [a]"))
    ran = apply_saved(someone, "--partial")
    assert (ran.code, stream(someone, "B")["config"]["max_age"]) == (4, 3 * DAY), ran


def test_a_removal_is_not_made_of_what_was_changed_since(someone: Someone) -> None:
    someone.applied(TWO)
    removing = "streams:\n  B: {subjects: [b], max_age: 7d}\nremoved: [{address: stream/A, reason: old}]\n"
    saved(someone, removing)
    edited(someone, "A", description="still needed")
    (failed,) = outcome(someone)["failed"]
    assert failed["changed_since"] == [{"path": "description", "now": "still needed"}], failed


REMOVING = {
    "stream/A": "streams:\n  B: {subjects: [b], max_age: 7d}\nremoved: [{address: stream/A, reason: old}]\n",
    "consumer/S/c": "streams: {S: {subjects: [s]}}\nremoved: [{address: consumer/S/c, reason: old}]\n",
}


@pytest.mark.parametrize("stored", [0, 1])
def test_a_stream_that_filled_up_is_not_removed(someone: Someone, stored: int) -> None:
    someone.applied(TWO)
    filled(someone, "a", stored)
    saved(someone, REMOVING["stream/A"])
    filled(someone, "a", 4)
    said = outcome(someone)
    (failed,) = said["failed"]
    assert (said["exit_code"], failed["reason"]["code"], stream(someone, "A")["state"]["messages"]) == (
        4, "AP202", 4 + stored,
    )  # fmt: skip
    assert f"The plan said {stored} messages (ST310), and now it is {4 + stored}" in failed["reason"]["message"]


def test_a_stream_that_filled_up_stays_though_its_group_goes(someone: Someone) -> None:
    """Its removal waits for the group's, which succeeds."""
    someone.applied(GROUP)
    removed = ", ".join(f"{{address: {one}, reason: old}}" for one in ("elastic_group/S/g", "stream/S"))
    saved(someone, f"streams: {{B: {{subjects: [b]}}}}\nremoved: [{removed}]\n")
    filled(someone, "orders.1", 4)
    said = outcome(someone)
    assert ([one["address"] for one in said["failed"]], said["exit_code"]) == (["stream/S"], 4)
    assert stream(someone, "S")["state"]["messages"] == 4


def test_a_stream_that_holds_hardly_more_is_removed(someone: Someone) -> None:
    someone.applied(TWO)
    filled(someone, "a", 3)
    saved(someone, REMOVING["stream/A"])
    filled(someone, "a", 3)
    assert outcome(someone)["exit_code"] == 0


def test_a_consumer_that_fell_far_behind_is_not_removed(someone: Someone) -> None:
    """A few messages come and go while everything works."""
    someone.applied(HANGING)
    saved(someone, REMOVING["consumer/S/c"])
    filled(someone, "s", 1_001)
    said = outcome(someone)
    assert (said["exit_code"], [one["reason"]["code"] for one in said["failed"]]) == (4, ["AP202"])
    assert consumer(someone)["num_pending"] == 1_001


def test_a_removal_whose_time_is_over_is_told_as_not_done(someone: Someone) -> None:
    someone.applied(TWO)
    saved(someone, REMOVING["stream/A"].replace("old}", "old, until: 2999-01-01}"))
    years_later(someone.shell.folder / "plan.json")
    said = outcome(someone)
    (failed,) = said["failed"]
    assert (said["exit_code"], said["as_wanted"], failed["reason"]["code"]) == (4, [], "AP203")
    assert "its entry in `removed` ended on 2001-01-01" in failed["reason"]["message"]


def years_later(path: Path) -> None:
    """The same plan when what it removes was to be removed long ago."""
    plan = read_plan(path)
    over = tuple(replace(one, until=date(2001, 1, 1)) for one in plan.topology.removed)
    save_plan(replace(plan, topology=replace(plan.topology, removed=over)), path)


def test_a_selection_belongs_to_the_plan(someone: Someone) -> None:
    saved(someone, TWO)
    ran = apply_saved(someone, "--only", "stream/A")
    assert (ran.code, "to the `plan` that saves it" in ran.err) == (64, True), ran


def test_who_was_logged_in_is_left_out(someone: Someone) -> None:
    saved(someone, TWO)
    target = file(someone)["target"]
    assert "user" not in target


GROUP = """
streams:
  S:
    subjects: [orders.*]
    groups:
      g:
        type: elastic
        max_members: 4
        partitioning_filters: [{filter: orders.*, partitioning_wildcards: [1]}]
        members: [m1, m2]
"""


def test_a_group_whose_record_somebody_wrote_is_left_alone(someone: Someone) -> None:
    someone.applied(GROUP)
    saved(someone, GROUP.replace("[m1, m2]", "[m1, m2, m3]"))
    assert someone.apply(GROUP.replace("[m1, m2]", "[m1, m4]")).code == 0
    (failed,) = outcome(someone)["failed"]
    assert failed["reason"]["code"] == "AP103"
    assert "members" in [one["path"] for one in failed["changed_since"]]


def test_members_of_a_group_are_moved_as_planned(someone: Someone) -> None:
    someone.applied(GROUP)
    more = GROUP.replace("[m1, m2]", "[m1, m2, m3]")
    saved(someone, more)
    assert outcome(someone)["exit_code"] == 0
    assert someone.has_nothing_to_do(someone.write(more))


HANGING = """
streams:
  S:
    subjects: [s]
    consumers: {c: {ack_policy: explicit}}
"""
REPLACED = HANGING.replace("explicit}", "explicit, max_deliver: 5, replay_policy: original%s}")


def replacing(upto: str = "") -> str:
    return REPLACED % f", allow: [{{code: CO105, to: original, reason: slower{upto}}}]"


def test_a_replacement_goes_on_where_the_consumer_stands_by_then(someone: Someone) -> None:
    someone.applied(HANGING)
    filled(someone, "s", 5)
    data = saved(someone, replacing())
    assert data["summary"]["replace"] == 1, data["changes"]
    consumed(someone, 3)
    assert outcome(someone)["exit_code"] == 0
    assert consumer(someone)["num_pending"] == 2


def consumed(someone: Someone, number: int) -> None:
    async def consume(js: JetStream) -> None:
        nc = js.pipeline.nc
        for _ in range(number):
            message = await nc.request("$JS.API.CONSUMER.MSG.NEXT.S.c", b"1", timeout=20, old_style=True)
            await nc.request(message.reply, b"+ACK", timeout=20)

    someone.ask(consume)


def consumer(someone: Someone) -> dict[str, Any]:
    async def read(js: JetStream) -> dict[str, Any]:
        return dict(done(await js.read("CONSUMER.INFO.S.c")))

    return someone.ask(read)


def test_what_was_made_but_not_remembered_is_only_remembered(someone: Someone) -> None:
    saved(someone, "streams: {A: {subjects: [a]}}\n")
    someone.ask(lambda js: make_stream(js, "A", subjects=["a"]))
    said = outcome(someone)
    assert (said["exit_code"], said["done"]) == (0, [])
    assert someone.has_nothing_to_do("topology.yaml")


def test_somebody_with_the_same_name_and_another_configuration_is_left_alone(someone: Someone) -> None:
    saved(someone, TWO)
    someone.ask(lambda js: make_stream(js, "A", subjects=["a"], max_age=DAY))
    (failed,) = outcome(someone)["failed"]
    assert (failed["address"], failed["reason"]["code"]) == ("stream/A", "AP103")
    assert {"path": "max_age", "now": DAY, "wanted": 7 * DAY} in failed[
        "changed_since"
    ]  # nothing was there when it was planned


def test_history_says_where_a_saved_plan_came_from(someone: Someone) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(someone.shell.folder), *arguments], check=True, capture_output=True)

    someone.write(TWO)
    git("init", "-q")
    git("add", "topology.yaml")
    git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "first")
    revision = saved(someone, TWO)["saved"]["git_revision"]
    assert apply_saved(someone).code == 0
    assert revision[:7] in someone("history").out


CANARY = "c4n4ry-in-every-login"


@pytest.mark.parametrize("how", ["url", "flag", "context"])
def test_no_secret_is_in_a_plan_whichever_way_it_was_given(
    how: str, someone: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, name = someone.shell.folder, someone.write(TWO)
    server = NatsServer(config={"authorization": {"token": CANARY}})
    server.start()
    try:
        contexts = folder / "contexts" / "nats" / "context"
        contexts.mkdir(parents=True)
        (contexts / "prod.json").write_text(json.dumps({"url": server.url, "token": CANARY}))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "contexts"))
        login = {
            "url": ("--server", server.url.replace("//", f"//{CANARY}@")),
            "flag": ("--server", server.url, "--token", CANARY),
            "context": ("--context", "prod"),
        }[how]
        ran = someone.shell("plan", name, "--out", "plan.json", *login)
    finally:
        server.stop()
    assert ran.code == 0, ran
    assert CANARY not in (folder / "plan.json").read_text() + ran.out
