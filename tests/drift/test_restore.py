"""`drift restore`: what strayed is as it was applied, and nothing else is different; with rules, consent and journal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import reconciler
from reconciler.changes.change import Action
from reconciler.changes.events import Finished
from reconciler.journeys.drift.drift import Standing
from reconciler.journeys.drift.look import look
from reconciler.journeys.drift.restore import restore
from reconciler.journeys.plan.plan import Planned
from reconciler.model.run_options import RunOptions
from reconciler.report.outcome import outcome_text
from reconciler.report.words.commands import restore_commands
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.drift.account import Owner, asking, updating
from tests.drift.test_accept import DAY, TEXT, accepted, consumer
from tests.drift.test_watch import fewer
from tests.e2e.someone import Someone
from tests.groups.making import until
from tests.support.accounts import Account
from tests.support.jetstream import make_consumer, talk
from tests.support.reports import plan_text
from tests.support.topologies import HEADER
from tests.support.versions import on_every_version


@pytest.fixture
def owner(account: Account, tmp_path: Path) -> Owner:
    return Owner(account, tmp_path)


def back(owner: Owner, text: str) -> Planned:
    topology = owner.topology(text)

    async def work(js: JetStream) -> Planned:
        return await restore(look(topology, await observe(js)), js)

    return talk(owner.account, work)


MEDDLING = (
    ("alice", updating("S", max_age=3 * DAY, max_bytes=10 << 30, metadata={"team": "b", "other": "theirs"})),
    ("alice", updating("KV_CONFIG", max_msgs_per_subject=7)),
    ("alice", consumer("west", max_ack_pending=5)),
    ("alice", asking("CONSUMER.DELETE.S.backs")),
    ("alice", fewer),
)


@on_every_version
def test_everything_is_as_applied_again_and_what_the_file_changed_since_still_waits(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(*MEDDLING)
    since = TEXT.replace("max_age: 7d", "max_age: 9d").replace("east:", "east: {description: new}")
    since = since.replace("kv_buckets:", "  NEW: {subjects: [new]}\nkv_buckets:").replace("500", "600")
    owner.carry_out(back(owner, since))
    found = owner.drift(owner.topology(since))
    assert found.drifted == ()
    assert {one.address: [f.path for f in one.fields] for one in found.items if one.standing is Standing.PENDING} == {
        "stream/S": ["max_age"], "consumer/S/west": ["max_ack_pending"], "consumer/S/east": ["description"],
        "stream/NEW": [],
    }  # fmt: skip
    assert owner.drift(owner.topology(TEXT)).items == ()  # what is remembered is what was applied, not the new file


def test_what_nobody_minds_stays_as_it_is(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", max_age=3 * DAY, max_bytes=10 << 30)))
    owner.carry_out(back(owner, f"{TEXT}ignore_drift: [{{address: stream/S, path: max_bytes, reason: it grows}}]\n"))
    left = {one.address: [f.path for f in one.fields] for one in owner.drift(owner.topology(TEXT)).drifted}
    assert left == {"stream/S": ["max_bytes"]}


def test_metadata_of_others_stays(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", metadata={"team": "b", "other": "theirs"})))
    owner.carry_out(back(owner, TEXT))
    info = talk(owner.account, lambda js: js.request("STREAM.INFO.S"))
    assert isinstance(info, dict)
    own = {key: value for key, value in info["config"]["metadata"].items() if not key.startswith("_nats.")}
    assert own == {"team": "a", "other": "theirs"}


def test_the_plan_holds_nothing_but_the_way_back(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", max_bytes=10 << 30)))
    plan = back(owner, TEXT.replace("max_age: 7d", "max_age: 9d").replace("history: 5", "history: 6")).plan
    assert [(one.address, one.action, [f.path for f in one.fields]) for one in plan.changes] == [
        ("stream/S", Action.UPDATE, ["max_bytes"])
    ]
    assert plan.hidden == 2


def test_putting_back_what_would_drop_messages_needs_consent_like_everything_else(owner: Owner) -> None:
    owner.apply("streams:\n  S: {subjects: [s.*], max_msgs: 2}\n")

    async def fill(js: JetStream) -> None:
        for _ in range(5):
            await js.pipeline.request("s.a", b"x", within=30)

    owner.meddle(("alice", updating("S", max_msgs=100)), ("alice", fill))
    plan = back(owner, "streams:\n  S: {subjects: [s.*], max_msgs: 2}\n").plan
    assert (plan.exit_code, plan.steps) == (4, ())


@pytest.mark.parametrize("is_recreated", [False, True], ids=["gone", "recreated by hand"])
def test_a_consumer_comes_back_where_the_file_says_since(someone: Someone, owner: Owner, is_recreated: bool) -> None:
    text = HEADER + "streams:\n  S: {subjects: [s.*], consumers: {c: {ack_policy: explicit}}}\n"
    file = someone.write(text)
    assert someone("apply", file, "--yes").code == 0

    async def some_are_read(js: JetStream) -> None:
        for _ in range(5):
            await js.pipeline.request("s.a", b"x", within=30)
        nc = await owner.account.connect()
        reader = await nc.jetstream().pull_subscribe_bind("c", stream="S")
        for message in await reader.fetch(3):
            await message.ack_sync()
        await nc.close()

    async def recreate(js: JetStream) -> None:
        await make_consumer(js, "S", "c")

    owner.meddle(("alice", some_are_read), ("alice", asking("CONSUMER.DELETE.S.c")))
    refused = someone("drift", "restore", file, "--yes")
    assert refused.code == 4, refused
    assert f"After editing: reconciler drift restore {file}" in refused.out
    assert next(line for line in refused.out.splitlines() if "After editing" in line).find("drift restore") > 0
    file = someone.write(text.replace("explicit", "explicit, deliver_policy: by_start_sequence, opt_start_seq: 4"))
    assert "\nFrom the files it takes only consents and where a consumer or stream starts" in refused.out
    if is_recreated:
        owner.meddle(("alice", recreate))
        file = someone.write(
            text.replace(
                "explicit",
                "explicit, deliver_policy: by_start_sequence, opt_start_seq: 4, "
                "allow: [{code: CO101, to: by_start_sequence, reason: known}]",
            )
        )
    restored = someone("drift", "restore", file, "--yes")
    assert restored.code == 0, restored
    assert "left out" not in restored.out, "the new start is written, not left out"
    assert talk(owner.account, observe).consumers["S"]["c"]["num_pending"] == 2
    assert someone("drift", file).code == 0


def test_a_stream_comes_back_with_the_numbers_that_the_file_says(someone: Someone, owner: Owner) -> None:
    """As the refusal says, so that its mirror skips nothing."""
    text = HEADER + "streams:\n  S: {subjects: [s.*]}\n  M: {mirror: {name: S}}\n"
    file = someone.write(text)
    assert someone("apply", file, "--yes").code == 0

    async def fill(js: JetStream) -> None:
        for _ in range(3):
            await js.pipeline.request("s.a", b"x", within=30)
        await until(js, lambda info: info["state"]["messages"] == 3, "STREAM.INFO.M")

    owner.meddle(("alice", fill), ("alice", asking("STREAM.DELETE.S")))
    refused = someone("drift", "restore", file, "--yes")
    assert (refused.code, "write first_seq: 4" in refused.out) == (4, True), refused
    file = someone.write(text.replace("[s.*]", "[s.*], first_seq: 4"))
    assert someone("drift", "restore", file, "--yes").code == 0
    assert talk(owner.account, observe).streams["S"]["state"]["first_seq"] == 4


def test_what_is_gone_for_good_goes_into_removed(someone: Someone, owner: Owner) -> None:
    streams = f"{HEADER}streams:\n  S: {{subjects: [s.*]}}\n"
    file = someone.write(f"{streams}  T: {{subjects: [t.*]}}\n")
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(("alice", asking("STREAM.DELETE.T")))
    accepted = someone("drift", "accept", file)
    advice = "If something that is missing is no longer wanted, move it in the files to `removed`."
    assert (accepted.code, advice in accepted.out) == (3, True), accepted
    someone.write(f"{streams}removed: [{{address: stream/T, reason: gone}}]\n")
    applied = someone("apply", file, "--yes")
    assert (applied.code, "Already gone" in applied.out) == (0, True), applied
    assert someone("drift", file).out.rstrip().endswith("no drift, 1 resource as declared")


def test_what_is_left_out_of_the_selection_stays(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", max_age=DAY)), ("alice", updating("KV_CONFIG", max_msgs_per_subject=7)))
    topology = owner.topology(TEXT)

    async def work(js: JetStream) -> Planned:
        options = RunOptions(only=("stream/*",))
        return await restore(look(topology, await observe(js), options), js)

    planned = talk(owner.account, work)
    everything = len(topology.resources)
    assert (len(planned.plan.changes), planned.plan.hidden, planned.plan.kept) == (1, 1, everything - 2)
    owner.carry_out(planned)
    assert [one.address for one in owner.drift(topology).drifted] == ["kv_bucket/CONFIG"]


def test_from_a_shell_it_is_an_apply_with_lease_and_journal(someone: Someone, owner: Owner) -> None:
    file = someone.write(HEADER + TEXT)
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(("alice", updating("S", max_age=DAY)))
    assert someone("drift", file).code == 3
    unasked = someone("drift", "restore", file)
    restored = someone("drift", "restore", file, "--yes")
    assert (unasked.code, restored.code, someone("drift", file).code) == (64, 0, 0), restored
    runs = json.loads(someone("history", "--format", "json").out)
    assert len(runs["runs"]) == 2, runs
    again = someone("drift", "restore", file, "--yes")
    assert (again.code, "no drift" in again.out) == (0, True)


def test_what_is_to_be_typed_next_is_never_an_apply_of_what_waits_in_the_files(someone: Someone, owner: Owner) -> None:
    file = someone.write(f"{HEADER}streams:\n  S: {{subjects: [s.*], max_msgs: 2}}\n")
    assert someone("apply", file, "--yes").code == 0

    async def fill(js: JetStream) -> None:
        for _ in range(5):
            await js.pipeline.request("s.a", b"x", within=30)

    owner.meddle(("alice", updating("S", max_msgs=100)), ("alice", fill))
    ran = someone("drift", "restore", file, "--yes", "--allow", "CO106=consumer/S/c")
    assert (ran.code, "After editing: reconciler drift restore" in ran.out) == (4, True), ran
    assert "reconciler apply" not in ran.out
    told = outcome_text(Finished(stopped="interrupted"), commands=restore_commands("t", "t --allow CO106=x"))
    assert "Next: reconciler drift restore t --allow CO106=x" in told


@pytest.mark.parametrize("account", ["2.11", "2.15"], indirect=True)
@pytest.mark.parametrize("description", ["as applied", "another"])
def test_plan_and_drift_tell_alike_of_what_was_made_anew(owner: Owner, description: str) -> None:
    topology = owner.apply("streams:\n  S: {subjects: [s.*], description: as applied}\n")

    async def fill(js: JetStream) -> None:
        await js.pipeline.request("s.a", b"x", within=30)

    owner.meddle(("alice", fill))
    owner.apply("streams:\n  S: {subjects: [s.*], description: as applied, max_msgs: 9}\n")  # remembers how far it came
    owner.apply("streams:\n  S: {subjects: [s.*], description: as applied}\n")
    again = {"name": "S", "subjects": ["s.*"], "description": description}
    owner.meddle(("alice", asking("STREAM.DELETE.S")), ("alice", asking("STREAM.CREATE.S", again)))
    (change,) = reconciler.plan(topology, owner.where).plan.changes
    (found,) = owner.drift(topology).drifted
    assert (found.standing, change.reason) == (Standing.RECREATED, found.reason)
    assert found.reason.startswith("it was deleted, and recreated at 20")
    assert plan_text(reconciler.plan(topology, owner.where).plan).count("It was deleted, and recreated") == 1


def test_what_was_made_anew_is_remembered_as_it_is_now(owner: Owner) -> None:
    text = "streams:\n  S: {subjects: [s.*]}\n"
    owner.apply(text)
    owner.meddle(
        ("alice", asking("STREAM.DELETE.S")), ("alice", asking("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]})),
    )  # fmt: skip
    before = owner.drift(owner.topology(text)).drifted
    owner.carry_out(back(owner, text))
    assert ([one.standing for one in before], owner.drift(owner.topology(text)).items) == ([Standing.RECREATED], ())


def test_what_it_says_at_the_end_is_about_what_strayed_and_not_about_a_plan(someone: Someone, owner: Owner) -> None:
    """One stream strayed, of another only the record is behind: that is left to the next apply, and no plan is empty."""
    text = "streams:\n  S: {subjects: [s.*], description: a}\n  T: {subjects: [t.*], description: a}\n"
    file = someone.write(HEADER + text)
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(("alice", updating("S", description="b")), ("alice", updating("T", description="b")))
    someone.write(HEADER + text.replace("[t.*], description: a", "[t.*], description: b"))
    restored = someone("drift", "restore", file, "--yes")
    assert restored.out.endswith("Everything that drifted here is put back.\n"), restored
    assert "1 recorded" in someone("plan", file).out


AS_THE_FILES_SAY = "Everything that drifted here is configured as the files say: no record tells what was applied.\n"


def test_without_a_record_nothing_is_said_to_be_as_it_was_applied(someone: Someone, owner: Owner) -> None:
    """The bucket is lost: what is declared is all that anybody knows, and what is missing may never have existed."""
    file = someone.write(f"{HEADER}streams:\n  S: {{subjects: [s.*], description: a}}\n  T: {{subjects: [t.*]}}\n")
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(
        ("alice", asking("STREAM.DELETE.KV_reconciler")), ("alice", asking("STREAM.DELETE.T")),
        ("alice", updating("S", description="b")),
    )  # fmt: skip
    restored = someone("drift", "restore", file, "--yes")
    assert restored.out.endswith(AS_THE_FILES_SAY), restored
    assert "as it was applied" not in restored.out
    assert "somebody deleted" not in restored.out


def test_where_some_of_it_has_no_record_both_are_said(someone: Someone, owner: Owner) -> None:
    text = f"{HEADER}streams:\n  S: {{subjects: [s.*], description: a}}\n"
    file = someone.write(text)
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(
        ("alice", updating("S", description="b")), ("bob", asking("STREAM.CREATE.T", {"name": "T", "subjects": ["t.>"]})),
    )  # fmt: skip
    someone.write(text + "  T: {subjects: [t.*]}\n")
    restored = someone("drift", "restore", file, "--yes", "--allow", "ST305=stream/T")
    assert "as it was applied, or as the files say where no record tells what was applied." in restored.out, restored


def test_where_it_only_writes_a_record_it_says_so(someone: Someone, owner: Owner) -> None:
    file = someone.write(f"{HEADER}streams:\n  S: {{subjects: [s.*]}}\n")
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(
        ("alice", asking("STREAM.DELETE.S")), ("alice", asking("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]})),
    )  # fmt: skip
    restored = someone("drift", "restore", file, "--yes")
    assert re.search(r"Recorded in [0-9.]+ s: 1 record is updated, and no object was touched", restored.out), restored


def test_the_queue_that_no_apply_changes_is_not_said_to_be_put_back(someone: Someone, owner: Owner) -> None:
    group = "{g: {type: elastic, max_members: 2, members: [a]}}"
    file = someone.write(f"{HEADER}streams: {{S: {{subjects: [s.*], groups: {group}}}}}\n")
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(("alice", updating("S", description="b")), ("alice", updating("S-g", description="b")))
    stays = "queue_stream of elastic_group/S/g"
    looked_at, restored = someone("drift", file), someone("drift", "restore", file, "--yes")
    assert "To put it back: " in looked_at.out
    assert f"No apply puts back {stays}; to see what to do: reconciler plan " in looked_at.out.replace("\n", " ")
    assert restored.code == 3
    assert f"Everything that drifted here, but for {stays}, is put back." in restored.out.replace("\n", " ")
    accepted = someone("drift", "accept", file)
    assert "Instead: leave it as found: unmanaged: [queue_stream]" in accepted.err, accepted
    again = someone("drift", "restore", file, "--yes")
    assert (again.code, "To put it back" in again.out) == (3, False), again


def test_what_someone_else_manages_is_not_for_us_to_put_back(someone: Someone, owner: Owner) -> None:
    file = someone.write(f"{HEADER}streams:\n  X: {{external: true, subjects: [x.*]}}\n  Z: {{external: true}}\n")
    owner.meddle(("alice", asking("STREAM.CREATE.X", {"name": "X", "subjects": ["x.>"]})))
    looked_at, restored = someone("drift", file), someone("drift", "restore", file, "--yes")
    assert (looked_at.code, restored.code) == (3, 3), restored
    assert "drift restore" not in looked_at.out
    assert "XX907" not in restored.out
    assert "someone else manages it, and it does not exist" in restored.out
    assert "someone else manages it, and it differs from what the file expects" in restored.out


def test_a_reader_of_a_stream_that_its_owner_deleted_is_not_put_back(someone: Someone, owner: Owner) -> None:
    theirs = "  X: {external: true, consumers: {reads: {}}}\n"
    file = someone.write(f"{HEADER}streams:\n{theirs}  S: {{subjects: [s.*], consumers: {{reads: {{}}}}}}\n")
    owner.meddle(("alice", asking("STREAM.CREATE.X", {"name": "X", "subjects": ["x.>"]})))
    assert someone("apply", file, "--yes").code == 0
    owner.meddle(("alice", asking("STREAM.DELETE.X")))
    looked_at, refused = someone("drift", file), someone("drift", "restore", file, "--yes")
    assert "Nothing puts back consumer/X/reads (ST109)." in looked_at.out, looked_at
    assert "drift restore" not in looked_at.out
    told = someone("drift", file, "--format", "markdown").out
    assert "- <code>consumer/X/reads</code> missing</summary>\n\nit was applied, but no longer exists" in told, told
    assert "What to do: nothing puts it back (ST109); to give it up, write it into `removed`." in told
    assert "someone else manages it, and it does not exist\n\nWhat to do: ask its owner to recreate it" in told
    assert (refused.code, "ST109 external-mismatch, refused" in refused.out) == (4, True), refused
    owner.meddle(("alice", asking("CONSUMER.DELETE.S.reads")))
    both, partial = someone("drift", file), someone("drift", "restore", file, "--partial", "--yes")
    assert "To put it back: " in both.out, both
    assert "Nothing puts back consumer/X/reads (ST109)." in both.out
    assert "+ consumer/S/reads" in partial.out, partial
    assert "AP102" not in partial.out


UNSAYABLE = "object_stores: {S: {}}\n"


@pytest.mark.parametrize("account", ["2.15"], indirect=True)
@pytest.mark.parametrize(
    ("by_hand", "goes_back"),
    [({"deny_delete": True}, False), ({"deny_purge": True, "allow_rollup_hdrs": False}, False), ({"allow_msg_ttl": True}, False),
     ({"allow_msg_schedules": True, "discard": "old"}, False), ({"max_msgs": 5}, True),
     ({"deny_delete": True, "max_msgs": 5}, False)],
    ids=str,
)  # fmt: skip
def test_the_way_out_of_what_no_file_can_say_is_one_that_works(
    owner: Owner, by_hand: dict[str, Any], goes_back: bool
) -> None:
    owner.apply(UNSAYABLE)
    owner.meddle(("alice", updating("OBJ_S", **by_hand)))
    made, text = accepted(owner, UNSAYABLE)
    assert text == UNSAYABLE
    assert {"put the value back (`drift restore`)" in refused.fix for refused in made.refused if refused.fix} == {
        goes_back
    }
    assert (back(owner, UNSAYABLE).plan.exit_code == 0) is goes_back
    paths = [str(refused.fix).rpartition("unmanaged: [")[2].rstrip("]") for refused in made.refused]
    left_as_found = f"object_stores: {{S: {{unmanaged: [{', '.join(paths)}]}}}}\n"
    plan = reconciler.plan(owner.topology(left_as_found), owner.where).plan
    assert (plan.exit_code, plan.is_empty) == (0, True), plan.changes
