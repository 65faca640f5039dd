"""`drift accept`: the live value stands in the file afterwards, and nothing else of the file is different."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import reconciler
from reconciler.changes.change import Action, FieldClass
from reconciler.journeys.drift.accept import Accepted, accept
from reconciler.journeys.drift.drift import Standing
from reconciler.journeys.drift.look import look
from reconciler.journeys.drift.report import drift_document
from reconciler.journeys.drift.way_back import restorable
from reconciler.model.run_options import RunOptions
from reconciler.report.document.document import Document
from reconciler.report.document.pieces import Grid
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from reconciler.server.read.observe import observe
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.drift.account import Owner, asking, updating
from tests.drift.looking import drift_text
from tests.drift.test_watch import fewer
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import HEADER, from_files
from tests.support.versions import on_every_version

DAY = 86_400_000_000_000
TEXT = """# orders, all of it
streams:
  S:                      # the big one
    subjects: [s.*]
    max_age: 7d           # a week
    metadata: {team: a}   # ours

    consumers:
      west: {ack_policy: explicit, max_ack_pending: 500}   # the west
      east:
      backs:
        ack_policy: explicit
        max_deliver: 5
        backoff: [1s, 2s]
    groups:
      g:
        type: elastic
        max_members: 2
        partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]
        members:
          - a             # since 2021
          - b
kv_buckets:
  CONFIG: {history: 5}
"""


@pytest.fixture
def owner(account: Account, tmp_path: Path) -> Owner:
    return Owner(account, tmp_path)


def accepted(owner: Owner, text: str = TEXT, now: str | None = None) -> tuple[Accepted, str]:
    """What became of the file `now` (as applied, if not given)."""
    file = owner.folder / "orders.yaml"
    file.write_text(HEADER + (now or text))
    found = look(from_files(file), talk(owner.account, observe))
    return accept(found, [file], RunOptions()), file.read_text().removeprefix(HEADER)


def consumer(name: str, **fields: Any) -> Callable[..., Any]:
    async def deed(js: Any) -> None:
        config = {**done(await js.request(f"CONSUMER.INFO.S.{name}"))["config"], **fields}
        body = {"stream_name": "S", "action": "update", "config": config}
        done(await js.request(f"CONSUMER.CREATE.S.{name}", body))

    return deed


def test_every_sort_of_value_is_written_where_it_stands(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(
        ("alice", updating("S", max_age=3 * DAY, max_bytes=10 << 30, metadata={"team": "b", "other": "theirs"})),
        ("alice", updating("KV_CONFIG", max_msgs_per_subject=7)),
        ("alice", consumer("west", max_ack_pending=5)), ("alice", consumer("east", description="e: \"1\"")),
        ("alice", consumer("backs", backoff=[2_000_000_000, 4_000_000_000])), ("alice", fewer),
    )  # fmt: skip
    made, text = accepted(owner)
    wanted = (
        TEXT.replace("max_age: 7d  ", "max_age: 3d  ").replace("{team: a}   # ours\n", "{team: b}   # ours\n    max_bytes: 10GiB\n")
        .replace("max_ack_pending: 500", "max_ack_pending: 5").replace("      east:\n", '      east: {description: "e: \\"1\\""}\n')
        .replace("backoff: [1s, 2s]", "backoff: [2s, 4s]").replace("          - b\n", "").replace("history: 5", "history: 7")
    )  # fmt: skip
    assert text == wanted
    assert (made.refused, made.left.drift.drifted) == ((), ())
    assert len(made.written) == 8, "ack_wait follows from backoff, and stands in no file"


def test_the_live_value_wins_where_the_file_changed_too_and_other_pending_changes_stay(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", max_age=3 * DAY)))
    now = TEXT.replace("max_age: 7d", "max_age: 9d").replace("history: 5", "history: 6")
    made, text = accepted(owner, now=now)
    assert text == now.replace("max_age: 9d", "max_age: 3d")
    assert [one.standing for one in made.left.drift.items] == [Standing.PENDING]
    assert lines(made) == ["stream/S  max_age  9d → 3d"]


def test_a_field_that_is_back_at_its_default_leaves_the_file(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", max_age=0, metadata={})))
    made, text = accepted(owner)
    assert text == TEXT.replace("    max_age: 7d           # a week\n    metadata: {team: a}   # ours\n", "")
    assert not made.left.drift.drifted


def test_what_lies_inside_a_field_is_written_in_its_unit(owner: Owner) -> None:
    text = "streams:\n  S:\n    consumer_limits: {inactive_threshold: 2h}\n"
    owner.apply(text)
    limits = {"inactive_threshold": 3_600_000_000_000, "max_ack_pending": 5000}
    owner.meddle(("alice", updating("S", consumer_limits=limits)))
    made, written = accepted(owner, text)
    assert "consumer_limits: {inactive_threshold: 1h, max_ack_pending: 5000}" in written
    assert "inactive_threshold  2h → 1h" in lines(made)[0]


@on_every_version
@pytest.mark.parametrize(
    "edit", [("max_age: 3d", "max_age: 2d"), ("{team: a}", "{team: c}")], ids=["accepted", "other"]
)
def test_what_was_accepted_and_applied_is_no_change_from_outside_any_more(owner: Owner, edit: tuple[str, str]) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", max_age=3 * DAY, max_bytes=10 << 30)))
    _, text = accepted(owner)
    owner.apply(text)
    assert text.count(edit[0]) == 1
    later = reconciler.plan(owner.topology(text.replace(*edit)), owner.where).plan
    assert [(one.address, [field.field_class for field in one.fields]) for one in later.changes] == [
        ("stream/S", [FieldClass.CONFIG])
    ]


def test_a_value_with_which_the_next_plan_is_refused_is_not_written_and_the_others_are(owner: Owner) -> None:
    owner.apply(TEXT.replace("max_ack_pending: 500", "max_ack_pending: 500, filter_subject: s.a"))
    owner.meddle(
        ("alice", updating("S", max_age=3 * DAY)), ("alice", consumer("west", max_ack_pending=5, filter_subject="s.b"))
    )
    now = TEXT.replace("max_ack_pending: 500", "max_ack_pending: 500, filter_subjects: [s.a, s.c]")
    made, text = accepted(owner, now)
    assert text == now.replace("max_ack_pending: 500", "max_ack_pending: 5").replace("max_age: 7d", "max_age: 3d")
    [refused] = made.refused
    assert refused.message.startswith(
        "filter_subject was not written into the file: with it, the next plan is refused (CO544)"
    )
    assert [one.address for one in made.left.drift.drifted] == ["consumer/S/west"]


def test_a_list_whose_order_says_something_keeps_the_live_order(owner: Owner) -> None:
    text = "streams:\n  A: {}\n  B: {subjects: []}\n  S:\n    sources:\n      - name: A   # first\n      - name: B\n"
    owner.apply(text.replace("B: {subjects: []}", "B: {}"))
    owner.meddle(("alice", updating("S", sources=[{"name": "B"}, {"name": "A"}])))
    made, written = accepted(owner, text.replace("B: {subjects: []}", "B: {}"))
    assert not made.left.drift.drifted, written


def test_a_store_that_was_sealed_takes_one_key_in_empty_braces(owner: Owner) -> None:
    text = "object_stores:\n  FILES: {}\n"
    owner.apply(text)
    owner.meddle(("alice", updating("OBJ_FILES", sealed=True)))
    made, written = accepted(owner, text)
    assert (made.left.drift.drifted, made.refused) == ((), ())
    assert "  FILES: {sealed: true}\n" in written


def test_what_no_file_can_say_keeps_nothing_else_from_being_written(owner: Owner) -> None:
    text = "object_stores:\n  FILES: {}\nstreams:\n  S: {max_age: 7d}\n"
    owner.apply(text)
    owner.meddle(("alice", updating("OBJ_FILES", max_msgs=5)), ("bob", updating("S", allow_direct=True)))
    made, written = accepted(owner, text)
    assert "S: {max_age: 7d, allow_direct: true}" in written
    assert [(one.address, one.fix) for one in made.refused] == [
        ("object_store/FILES", "put the value back (`drift restore`), or leave it as found: unmanaged: [max_msgs]")
    ]


GROUPS = """streams:
  S:
    subjects: [s.*]
    subject_transform: {src: s.*, dest: "{{partition(2,1)}}.s.{{wildcard(1)}}"}
    max_age: 7d
    groups:
      e:
        type: elastic
        max_members: 2
        partitioning_filters: [{filter: "s.*", partitioning_wildcards: [1]}]
        members: [a, b]
      s: {type: static, max_members: 2, members: [a, b]}
"""


def broken(type_: str, text: str) -> Callable[..., Any]:
    async def deed(js: JetStream) -> None:
        stored = await js.put_entry(f"{type_}-consumer-groups", f"S.{type_[0]}", text.encode(), expected_revision=None)
        assert isinstance(stored, Stored)

    return deed


@pytest.mark.parametrize("text", ['{"max_members":4,', "[]", '{"max_members":"four","members":["x"]}'])
def test_of_a_record_that_cannot_be_read_no_value_is_written_and_none_is_offered(owner: Owner, text: str) -> None:
    topology = owner.apply(GROUPS)
    owner.meddle(("eve", broken("elastic", text)), ("eve", broken("static", text)))
    drift = owner.drift(topology)
    assert {item.address: [field.path for field in item.fields] for item in drift.drifted} == {
        "elastic_group/S/e": ["record"], "static_group/S/s": ["record"]
    }  # fmt: skip
    shown = drift_text(drift, Paper(width=200))
    assert 'record  readable (as members need it) → "broken, for ' in shown
    assert "drift accept" not in shown
    owner.meddle(("bob", updating("S", max_age=3 * DAY)))
    made, written = accepted(owner, GROUPS)
    assert written == GROUPS.replace("max_age: 7d", "max_age: 3d")
    assert [(refused.address, refused.message, refused.fix) for refused in made.refused] == [
        (f"{kind}_group/S/{kind[0]}", f"record was not written into the file: no file can express record of {kind} groups",
         "see in a plan what to do about it")
        for kind in ("elastic", "static")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "membership", "code"),
    [
        ("elastic", {"members": ["a"], "member_mappings": [{"member": "a", "partitions": [0, 1]}]}, "EG543"),
        ("static", {"member_mappings": [{"member": "a", "partitions": [0, 0]}]}, "SG543"),
    ],
)
def test_a_membership_that_members_refuse_is_not_written(
    owner: Owner, kind: str, membership: Mapping[str, Any], code: str
) -> None:
    owner.apply(GROUPS)
    filters = {"partitioning_filters": [{"filter": "s.*", "partitioning_wildcards": [1]}]} if kind == "elastic" else {}
    owner.meddle(("eve", broken(kind, json.dumps({"max_members": 2, **filters, **membership}))))
    made, written = accepted(owner, GROUPS)
    assert written == GROUPS
    assert {refused.address for refused in made.refused} == {f"{kind}_group/S/{kind[0]}"}
    assert all(f"with it, the next plan is refused ({code})" in refused.message for refused in made.refused)


@on_every_version
def test_a_queue_whose_record_alone_was_edited_is_as_it_was_applied(owner: Owner) -> None:
    topology = owner.apply(GROUPS)
    filters = [{"filter": "s.*", "partitioning_wildcards": [1]}]
    edited = json.dumps({"max_members": 1, "partitioning_filters": filters, "members": ["a", "b"]})
    owner.meddle(("eve", broken("elastic", edited)))
    (group,) = owner.drift(topology).drifted
    assert [field.path for field in group.fields] == ["max_members"]


def test_a_record_that_cannot_be_read_keeps_nothing_else_from_being_put_back(owner: Owner) -> None:
    topology = owner.apply(GROUPS)
    owner.meddle(
        ("eve", broken("elastic", "{")), ("eve", broken("static", "{")), ("bob", updating("S", max_age=3 * DAY))
    )
    looked = look(topology, talk(owner.account, observe))
    assert [item.address for item in restorable(looked.drift)] == ["stream/S"]


OTHERS = {"app": "theirs", "io.kept": "theirs"}
BARE = """streams:
  S:
    subjects: [s.*]
    max_age: 7d
    consumers:
      west: {ack_policy: explicit}
kv_buckets:
  CONFIG: {history: 5}
object_stores:
  FILES: {ttl: 7d}
"""


def lines(made: Accepted) -> list[str]:
    """What it says it wrote, without the places."""
    (written,) = next(
        (part.pieces for part in _report(made).parts if "written into" in part.title), (Grid(head=(), rows=()),)
    )
    assert isinstance(written, Grid)
    return ["  ".join(cell.text for cell in row[:3]) for row in written.rows]


def _report(made: Accepted) -> Document:
    return drift_document(made.left.drift, written=made.written)


def test_metadata_keys_of_others_are_not_written(owner: Owner) -> None:
    """Drift never lists them, whatever else of the object it lists."""
    owner.apply(BARE)
    owner.meddle(
        ("alice", updating("S", max_age=3 * DAY, metadata=OTHERS)), ("alice", consumer("west", max_ack_pending=5, metadata=OTHERS)),
        ("alice", updating("KV_CONFIG", max_msgs_per_subject=7, metadata=OTHERS)),
        ("alice", updating("OBJ_FILES", max_age=3 * DAY, metadata=OTHERS)),
    )  # fmt: skip
    made, text = accepted(owner, BARE)
    wanted = BARE.replace("7d", "3d").replace("history: 5", "history: 7")
    assert text == wanted.replace("{ack_policy: explicit}", "{ack_policy: explicit, max_ack_pending: 5}")
    assert lines(made) == [
        "consumer/S/west  max_ack_pending  1_000 (default) → 5", "kv_bucket/CONFIG  history  5 → 7",
        "object_store/FILES  ttl  7d → 3d", "stream/S  max_age  7d → 3d",
    ]  # fmt: skip
    assert made.left.drift.items == ()


def test_of_metadata_only_the_keys_are_written_that_are_ours(owner: Owner) -> None:
    text = "streams:\n  S: {metadata: {team: a, kept: b}}\n"
    owner.apply(text)
    owner.meddle(("alice", updating("S", metadata={"team": "z", "kept": "b", **OTHERS})))
    made, written = accepted(owner, text)
    assert written == "streams:\n  S: {metadata: {team: z, kept: b}}\n"
    assert lines(made) == ["stream/S  metadata.team  a → z"]


def test_what_is_left_unmanaged_inside_a_field_stays_out_of_the_file(owner: Owner) -> None:
    text = "streams:\n  S:\n    unmanaged: [consumer_limits.inactive_threshold]\n    consumer_limits: {max_ack_pending: 500}\n"
    owner.apply(text)
    limits = {"inactive_threshold": 3_600_000_000_000, "max_ack_pending": 50}
    owner.meddle(("alice", updating("S", consumer_limits=limits)))
    made, written = accepted(owner, text)
    assert written == text.replace("500", "50")
    assert lines(made) == ["stream/S  consumer_limits.max_ack_pending  500 → 50"]
    assert made.left.drift.items == ()


def test_a_field_that_no_file_can_express_keeps_no_other_of_its_object_from_being_written(owner: Owner) -> None:
    text = "object_stores:\n  FILES: {ttl: 7d}\n"
    owner.apply(text)
    owner.meddle(("alice", updating("OBJ_FILES", max_msgs=5, max_age=3 * DAY)))
    made, written = accepted(owner, text)
    assert written == text.replace("7d", "3d")
    assert lines(made) == ["object_store/FILES  ttl  7d → 3d"]
    assert [one.message for one in made.refused] == [
        "max_msgs was not written into the file: no file can express max_msgs of object stores"
    ]
    assert [[one.path for one in item.fields] for item in made.left.drift.drifted] == [["max_msgs"]]


def test_a_field_whose_lines_are_shared_keeps_no_other_of_its_object_from_being_written(owner: Owner) -> None:
    text = (
        "parameters: {age: {type: text, default: 7d}}\n"
        'streams:\n  S: {subjects: [s.*], max_age: "${age}", max_msgs: 5}\n'
    )
    owner.apply(text)
    owner.meddle(("alice", updating("S", max_age=3 * DAY, max_msgs=7)))
    made, written = accepted(owner, text)
    assert written == text.replace("max_msgs: 5", "max_msgs: 7")
    assert lines(made) == ["stream/S  max_msgs  5 → 7"]
    assert [one.message.split(":")[0] for one in made.refused] == ["max_age was not written into the file"]


def test_what_waits_inside_a_field_keeps_nothing_beside_it_from_being_written(owner: Owner) -> None:
    text = "streams:\n  S: {max_msgs: 5, consumer_limits: {inactive_threshold: 2h, max_ack_pending: 5}}\n"
    owner.apply(text)
    limits = {"inactive_threshold": 7_200_000_000_000, "max_ack_pending": 50}
    owner.meddle(("alice", updating("S", max_msgs=7, consumer_limits=limits)))
    now = text.replace("2h", "1h")
    made, written = accepted(owner, text, now)
    assert written == now.replace("max_ack_pending: 5", "max_ack_pending: 50").replace("max_msgs: 5", "max_msgs: 7")
    assert (made.refused, made.left.drift.drifted) == ((), ())


def test_an_entry_of_a_list_that_waits_keeps_only_its_list_from_being_written(owner: Owner) -> None:
    text = "streams:\n  A: {}\n  B: {}\n  S: {max_msgs: 5, sources: [{name: A, filter_subject: A}, {name: B, filter_subject: B}]}\n"
    owner.apply(text)
    sources = [{"name": "A", "filter_subject": "A.x"}, {"name": "B", "filter_subject": "B"}]
    owner.meddle(("alice", updating("S", max_msgs=7, sources=sources)))
    now = text.replace("filter_subject: B", "filter_subject: B.x")
    made, written = accepted(owner, text, now)
    assert written == now.replace("max_msgs: 5", "max_msgs: 7")
    assert [one.message.split(":")[0] for one in made.refused] == ["sources was not written into the file"]


def test_a_value_with_which_no_file_can_be_read_keeps_nothing_else_from_being_written(owner: Owner) -> None:
    """The server takes a number with a sign, and files do not."""
    text = "streams:\n  S:\n    max_msgs: 5\n    consumers:\n      west: {ack_policy: explicit, max_ack_pending: 500}\n"
    owner.apply(text)
    owner.meddle(
        ("alice", consumer("west", sample_freq="+50", max_ack_pending=5)), ("alice", updating("S", max_msgs=8))
    )  # fmt: skip
    made, written = accepted(owner, text)
    assert written == text.replace("500", "5").replace("max_msgs: 5\n", "max_msgs: 8\n")
    assert [one.message.split(":")[0] for one in made.refused] == ["sample_freq was not written into the file"]
    assert lines(made) == ["consumer/S/west  max_ack_pending  500 → 5", "stream/S  max_msgs  5 → 8"]


def test_what_an_anchor_shares_is_left_to_a_person(owner: Owner) -> None:
    text = "streams:\n  S: &all {max_age: 7d}\n  T: *all\n"
    owner.apply(text)
    owner.meddle(("alice", updating("S", max_age=DAY)))
    made, written = accepted(owner, text)
    assert (written, [one.code for one in made.refused]) == (text, ["DR121"])


def test_what_is_missing_is_no_field_and_stays_drift(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", asking("CONSUMER.DELETE.S.west")))
    made, written = accepted(owner)
    assert (written, made.written) == (TEXT, ())
    assert [one.standing for one in made.left.drift.drifted] == [Standing.MISSING]


def test_json_says_what_was_written_and_what_is_left(owner: Owner) -> None:
    owner.apply(TEXT)
    owner.meddle(("alice", updating("S", max_age=3 * DAY)))
    made, _ = accepted(owner)
    said = json.loads(FORMATS["json"](_report(made)))
    assert [(one["address"], one["field"]["path"], one["span"]["line"]) for one in said["accepted"]] == [
        ("stream/S", "max_age", 7)
    ]
    assert said["summary"]["changed"] == 0


MIRRORED = "streams: {O: {subjects: [o.>], allow_direct: true}, M: {mirror: {name: O}}}\n"


async def promoted(js: JetStream) -> None:
    """By hand, with all other values as they are."""
    config = done(await js.request("STREAM.INFO.M"))["config"]
    mirrorless = {name: value for name, value in config.items() if name != "mirror"}
    done(await js.request("STREAM.UPDATE.M", {**mirrorless, "subjects": ["m.>"]}))


@pytest.mark.parametrize("account", ["2.12", "2.15"], indirect=True)
def test_what_followed_from_an_accepted_value_is_written_too(owner: Owner) -> None:
    """A mirror that somebody promoted answers direct reads as its origin did: no longer because it is a mirror."""
    owner.apply(MIRRORED)
    owner.meddle(("alice", promoted))
    made, text = accepted(owner, MIRRORED)
    assert "mirror_direct: true" in text, text
    assert "stream/M  mirror_direct  true (from allow_direct of O) → true" in lines(made)
    assert made.left.drift.items == ()


LIMITED = """streams:
  S:
    subjects: [s.*]
    consumers:
      west: {ack_policy: explicit}   # the west
      east: {ack_policy: explicit, unmanaged: [description]}
      none: {ack_policy: explicit, max_ack_pending: 5, inactive_threshold: 30m}
"""
HOUR = 3_600_000_000_000


@pytest.mark.parametrize("account", ["2.14", "2.15"], indirect=True)
def test_consumers_stay_as_they_are_beside_accepted_limits_that_they_do_not_have(owner: Owner) -> None:
    """Older servers refuse such limits beside these consumers (10069)."""
    owner.apply(LIMITED)
    limits = {"inactive_threshold": HOUR, "max_ack_pending": 5000}
    owner.meddle(("alice", updating("S", consumer_limits=limits)))
    made, text = accepted(owner, LIMITED)
    assert text == (
        LIMITED.replace(
            "    consumers:\n", "    consumer_limits: {inactive_threshold: 1h, max_ack_pending: 5000}\n    consumers:\n"
        )
        .replace(
            "west: {ack_policy: explicit}",
            "west: {ack_policy: explicit, max_ack_pending: 1000, unmanaged: [inactive_threshold]}",
        )
        .replace(
            "explicit, unmanaged: [description]",
            "explicit, unmanaged: [description, inactive_threshold], max_ack_pending: 1000",
        )
    ), text
    assert (made.refused, made.left.drift.items) == ((), ())
    assert "consumer/S/west  unmanaged  none → [inactive_threshold]" in lines(made)
    planned = reconciler.plan(owner.topology(text), owner.where).plan
    assert {(change.action, change.verdicts) for change in planned.changes} == {(Action.ADOPT, ())}, planned.changes


@pytest.mark.parametrize("account", ["2.11", "2.15"], indirect=True)
def test_a_mirror_keeps_the_direct_reads_that_its_origin_gave_up(owner: Owner) -> None:
    """No file can say it: the server overrules any value at the next update."""
    copied = "streams: {O: {subjects: [o.>], allow_direct: true}, M: {mirror: {name: O}}}\n"
    owner.apply(copied)
    owner.meddle(("alice", updating("O", allow_direct=False)))
    made, text = accepted(owner, copied)
    assert "M: {mirror: {name: O}, unmanaged: [mirror_direct]}" in text, text
    assert (made.refused, made.left.drift.items) == ((), ())
    planned = reconciler.plan(owner.topology(text), owner.where).plan
    assert {change.action for change in planned.changes} == {Action.ADOPT}, planned.changes


@pytest.mark.parametrize("account", ["2.15"], indirect=True)
def test_what_waits_to_be_inherited_is_not_accepted(owner: Owner) -> None:
    owner.apply(LIMITED)
    owner.meddle(("alice", updating("S", max_age=3 * DAY)))
    now = LIMITED.replace("    consumers:\n", "    consumer_limits: {inactive_threshold: 1h}\n    consumers:\n")
    _, text = accepted(owner, LIMITED, now)
    assert text.count("unmanaged") == 1


@pytest.mark.parametrize("account", ["2.12", "2.15"], indirect=True)
def test_what_an_origin_overruled_leaves_the_file_with_the_mirror(owner: Owner) -> None:
    """The server stores `mirror_direct: true` on a stream that is no mirror: the next apply would write a value that nobody has."""
    overruled = "streams: {O: {subjects: [o.>]}, M: {mirror: {name: O}, mirror_direct: true}}\n"
    owner.apply(overruled)
    owner.meddle(("alice", promoted))
    made, text = accepted(owner, overruled)
    assert "mirror_direct" not in text, text
    assert "stream/M  mirror_direct  true → false (default)" in lines(made)
    assert made.left.drift.items == ()
