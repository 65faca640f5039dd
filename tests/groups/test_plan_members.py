"""`reconciler groups plan-members` as somebody runs it: looks at what would move, and edits the file if asked to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import Here, somebody
from tests.e2e.someone import Someone
from tests.groups import making
from tests.support.accounts import Account
from tests.support.contracts import followed
from tests.support.jetstream import done

FILE = """streams:
  S:
    subjects: [j.*]
    groups:
      g:                              # who works where
        type: elastic
        max_members: 4
        partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]
        members: [a,  b]              # since May
"""


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    someone = somebody(tmp_path, account, monkeypatch)
    someone.ask(with_queue)
    return someone


async def with_queue(js: JetStream) -> None:
    """Eight messages: two of them delivered to each member and not acknowledged."""
    await making.elastic(js)
    await making.publish(js, 8)
    await making.sourced(js, 8)
    await making.taken(js, "a", "b")


def previewed(someone: Someone, *arguments: str) -> dict[str, Any]:
    ran = someone("groups", "plan-members", "S/g", *arguments, "--format", "json")
    assert ran.code == 0, ran
    assert followed("groups", ran.out, "plan-members")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_what_would_move_is_drawn_without_any_file(someone: Someone) -> None:
    ran = someone("groups", "plan-members", "S/g", "--add", "c")
    assert ran.code == 0, ran
    assert "members  [a, b] → [a, b, c]" in ran.out
    assert "partition  0  1  2  3" in ran.out
    assert "3 of 4 partitions move" in ran.out
    told = "up to 2 messages in flight are redelivered, for every member recreates its consumer, also one that keeps its partitions"
    assert told in " ".join(ran.out.split())
    assert [line.split() for line in ran.out.splitlines() if line.startswith("    c ")] == [["c", "none", "2"]]


def test_looking_changes_neither_record_nor_file(someone: Someone, tmp_path: Path) -> None:
    path = someone.write(FILE)
    written = (tmp_path / path).read_text()
    assert someone("groups", "plan-members", "S/g", path, "--add", "c", "--drop", "a").code == 0
    assert json.loads(someone("groups", "list", "--format", "json").out)["groups"][0]["revision"] == 1
    assert (tmp_path / path).read_text() == written


def test_tools_get_everybodys_partitions_before_and_after(someone: Someone) -> None:
    told = previewed(someone, "--set", "a,c")
    assert told["membership"] == {"members": ["a", "c"]}
    consequence, waits = told["change"]["consequences"]
    assert waits["message"].startswith("Apply waits up to ")
    assert consequence["detail"]["members"] == {
        "a": {"now": [0, 1], "then": [0, 1]}, "b": {"now": [2, 3], "then": []}, "c": {"now": [], "then": [2, 3]},
    }  # fmt: skip
    counted = consequence["quantities"]
    assert sum(consequence["detail"]["partition_map"]["queued"]) == 8
    assert counted["messages_moved"] == sum(consequence["detail"]["partition_map"]["queued"][2:])
    assert (counted["partitions_moved"], counted["messages_redelivered"]) == (2, 2)


def test_an_edited_file_is_held_against_the_live_group(someone: Someone, tmp_path: Path) -> None:
    path = someone.write(FILE)
    assert "Live as declared" in someone("groups", "plan-members", "S/g", path).out
    (tmp_path / path).write_text((tmp_path / path).read_text().replace("[a,  b]", "[a, b, c]"))
    assert previewed(someone, path) == previewed(someone, "--add", "c") | {"change": previewed(someone, path)["change"]}
    ran = someone("groups", "plan-members", "S/g", path)
    assert "3 of 4 partitions move" in ran.out


def test_mappings_of_an_edited_file_are_taken_as_they_stand(someone: Someone) -> None:
    stated = "member_mappings: [{member: b, partitions: [0, 1]}, {member: a, partitions: [2, 3]}]"
    told = previewed(someone, someone.write(FILE.replace("members: [a,  b]", stated)))
    assert told["partitions_moved"] == 4
    by_member = {mapping["member"]: mapping["partitions"] for mapping in told["membership"]["member_mappings"]}
    assert by_member == {"b": [0, 1], "a": [2, 3]}


def test_a_file_without_members_states_no_change(someone: Someone) -> None:
    path = someone.write(FILE.replace("        members: [a,  b]              # since May\n", ""))
    assert "Live as declared" in someone("groups", "plan-members", "S/g", path).out


def test_mappings_move_as_little_as_can_be(someone: Someone) -> None:
    plain = previewed(someone, "--add", "A")
    mapped = previewed(someone, "--add", "A", "--mappings")
    assert (plain["partitions_moved"], plain["partitions_moved_with_mappings"]) == (2, 1)
    assert mapped["partitions_moved"] == 1
    assert mapped["membership"]["member_mappings"] == [
        {"member": "A", "partitions": [3]}, {"member": "a", "partitions": [0, 1]}, {"member": "b", "partitions": [2]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (["--add", "c"], "members: [a,  b, c]              # since May"),
        (["--drop", "a"], "members: [b]              # since May"),
        (["--add", "A", "--mappings"], """member_mappings:
        - {member: A, partitions: [3]}
        - {member: a, partitions: [0, 1]}
        - {member: b, partitions: [2]}              # since May"""),
    ],
)  # fmt: skip
def test_the_file_is_edited_where_the_members_stand(
    someone: Someone, tmp_path: Path, wish: list[str], expected: str
) -> None:
    path = someone.write(FILE)
    ran = someone("groups", "plan-members", "S/g", path, *wish, "--write")
    assert ran.code == 0, ran
    assert "Next: reconciler plan" in ran.err
    header = (tmp_path / path).read_text().removesuffix(FILE)
    assert (
        (tmp_path / path).read_text().endswith(FILE.replace("members: [a,  b]              # since May", expected))
    ), header
    someone.ask(stopped)
    assert someone("apply", path, "--yes").code == 0
    assert someone.has_nothing_to_do(path)


async def stopped(js: JetStream) -> None:
    """Members that nobody waits for."""
    for name in "ab":
        done(await js.request(f"CONSUMER.DELETE.S-g.{name}"))


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (["--add", "a"], "a is already a member"),
        (["--drop", "z"], "z is not a member"),
        (["--drop", "a", "--drop", "b"], "no member would be left"),
        (["--add", "c,d,e", "--mappings"], "5 members share 4 partitions, and e would own none"),
    ],
)
def test_a_wish_that_makes_no_sense_is_explained(someone: Someone, wish: list[str], said: str) -> None:
    ran = someone("groups", "plan-members", "S/g", *wish)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


def test_more_members_than_partitions_are_refused_as_a_plan_would(someone: Someone) -> None:
    ran = someone("groups", "plan-members", "S/g", "--add", "c,d,e")
    assert ran.code == 4
    assert "EG543" in ran.out
    assert "--mappings" not in ran.out


@pytest.mark.parametrize("option", ["--offline", "--write"])
def test_a_file_alone_has_nothing_to_be_held_against(someone: Someone, option: str) -> None:
    ran = someone("groups", "plan-members", "S/g", someone.write(FILE), option)
    assert ran.code == 64
    assert "or name the edited files and ask a server" in ran.err


@pytest.mark.parametrize("wish", [[], ["--set", "a", "--add", "b"], ["--add", "c", "--write"]])
def test_a_question_that_cannot_be_asked_is_wrong_usage(someone: Someone, wish: list[str]) -> None:
    assert someone("groups", "plan-members", "S/g", *wish).code == 64


def test_what_others_share_by_an_anchor_is_left_to_a_person(someone: Someone, tmp_path: Path) -> None:
    shared = FILE.replace("[a,  b]", "&team [a, b]")
    twice = shared + shared[shared.index("      g:") :].replace("g:", "h:").replace("&team [a, b]", "*team")
    path = someone.write(twice)
    before = (tmp_path / path).read_text()
    ran = someone("groups", "plan-members", "S/g", path, "--add", "c", "--write")
    assert ran.code == 1
    assert "was left as it is: an anchor" in ran.err
    assert (tmp_path / path).read_text() == before


def test_a_group_that_is_not_there_is_said(someone: Someone) -> None:
    ran = someone("groups", "plan-members", "S/nope", "--add", "c")
    assert (ran.code, ran.out) == (1, "")
    assert "There is no elastic group S/nope" in ran.err


def test_files_alone_say_which_partitions_move(tmp_path: Path) -> None:
    offline = Here(tmp_path)
    path = offline.write(f"reconciler: 1\ntopology: orders\nexpect: {{cluster: prod, account: ORDERS}}\n{FILE}")
    asked = ("groups", "plan-members", "S/g", path, "--add", "c", "--offline")
    ran = offline(*asked)
    assert ran.code == 0, ran
    assert "3 of 4 partitions move; what is queued on them could not be counted" in " ".join(ran.out.split())
    assert "queued     ?  ?  ?  ?" in ran.out
    printed = offline(*asked, "--format", "json").out
    assert followed("groups", printed, "plan-members")
    told = json.loads(printed)
    assert (told["offline"], told["partitions_moved"]) == (True, 3)
    assert told["change"]["consequences"][0]["quantities"] == {"partitions_moved": 3}


def test_without_files_nobody_can_be_asked_offline(tmp_path: Path) -> None:
    ran = Here(tmp_path)("groups", "plan-members", "S/g", "--add", "c", "--offline")
    assert (ran.code, "--offline reads the files" in ran.err) == (64, True)
