"""`history diff`: what changed from one applied run to another, field by field, from the journal alone."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.events import Finished
from reconciler.memory import journal
from reconciler.memory.journal import Run
from reconciler.memory.run_changes import changed_by
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done, make_bucket, make_stream

DAY = 86_400_000_000_000


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def runs(someone: Someone) -> list[int]:
    """Oldest first."""
    return [one["run"] for one in json.loads(someone("history", "--format", "json").out)["runs"]][::-1]


def difference(someone: Someone, *numbers: int) -> dict[str, Any]:
    ran = someone("history", "diff", *map(str, numbers), "--format", "json")
    assert ran.code == 0, ran
    data: dict[str, Any] = json.loads(ran.out)
    return data


def became(found: dict[str, Any]) -> dict[str, str]:
    return {one["address"]: one["became"] for one in found["resources"]}


@pytest.fixture
def thrice(someone: Someone) -> Someone:
    """A goes 7d, 5d, 3d; B comes and goes; C comes."""
    someone.applied("streams: {A: {subjects: [a], max_age: 7d}}\n")
    someone.applied("streams: {A: {subjects: [a], max_age: 5d}, B: {subjects: [b]}}\n")
    someone.applied(
        "streams: {A: {subjects: [a], max_age: 3d}, C: {subjects: [c]}}\nremoved: [{address: stream/B, reason: old}]\n"
    )
    return someone


def test_by_default_it_is_what_the_newest_changed(thrice: Someone) -> None:
    found = difference(thrice)
    assert became(found) == {"stream/A": "updated", "stream/B": "deleted", "stream/C": "created"}
    assert found["resources"][0]["fields"] == [{"path": "max_age", "from": 5 * DAY, "to": 3 * DAY, "unit": "duration"}]


def test_several_runs_are_summed_up(thrice: Someone) -> None:
    first, *_ = runs(thrice)
    found = difference(thrice, first)
    assert became(found) == {"stream/A": "updated", "stream/C": "created"}
    assert found["resources"][0]["fields"] == [{"path": "max_age", "from": 7 * DAY, "to": 3 * DAY, "unit": "duration"}]


def test_two_numbers_choose_both_ends(thrice: Someone) -> None:
    first, second, _ = runs(thrice)
    assert became(difference(thrice, first, second)) == {"stream/A": "updated", "stream/B": "created"}


def test_people_read_it_as_in_a_plan(thrice: Someone) -> None:
    lines = thrice("history", "diff").out.splitlines()
    assert lines[1:] == ["~ stream/A  updated", "    max_age  5d → 3d", "- stream/B  deleted", "+ stream/C  created"]


def test_what_came_to_nothing_is_no_difference(someone: Someone) -> None:
    for age in (7, 3, 7):
        someone.applied(f"streams: {{A: {{subjects: [a], max_age: {age}d}}}}\n")
    first, *_ = runs(someone)
    assert someone("history", "diff", str(first)).out.splitlines()[1:] == ["Nothing differs."]


def test_what_failed_is_no_difference(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a], max_age: 7d}}\n")
    assert someone.plan("streams: {B: {subjects: [b]}, D: {subjects: [d]}}\n", "--out", "plan.json").code == 0
    someone.ask(lambda js: make_stream(js, "B", subjects=["elsewhere"]))
    assert someone("apply", "plan.json", "--yes").code == 1
    assert became(difference(someone)) == {"stream/D": "created"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("diff", "x"), 64, "x: write the number of a run"),
        (("diff", "1", "2", "3"), 64, "with at most two numbers"),
        (("1", "2"), 64, "unexpected extra argument"),
        (("diff", "4711"), 1, "There is no run 4711"),
        (("diff",), 1, "is the first remembered run of topology t"),
    ],
)
def test_what_cannot_be_shown_is_said(someone: Someone, arguments: tuple[str, ...], code: int, said: str) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    ran = someone("history", *arguments)
    assert (ran.code, said in " ".join(ran.err.split())) == (code, True), ran


KEPT = "streams:\n  HI: {subjects: [hi.>], max_age: 30d}\n  HJ: {subjects: [hj.>]}\n"


@pytest.mark.parametrize("account", ["2.11", "2.15"], indirect=True)
def test_an_accepted_value_differs_and_one_that_was_put_back_does_not(someone: Someone) -> None:
    """Each run applied a value: those of others in between are no result of it."""
    someone.applied(KEPT)
    file = someone.write(KEPT)
    someone.ask(by_hand("HI", max_age=DAY))
    someone.ask(by_hand("HJ", max_msgs=100))
    assert someone("drift", "accept", file).code == 0
    assert someone("apply", file, "--yes").code == 0
    first, second = runs(someone)
    found = difference(someone, first, second)
    assert became(found) == {"stream/HI": "updated", "stream/HJ": "updated"}
    assert [field for one in found["resources"] for field in one["fields"]] == [
        {"path": "max_age", "from": 30 * DAY, "to": DAY, "unit": "duration"},
        {"path": "max_msgs", "to": 100, "unit": "count"},
    ]
    told = someone("history", str(second)).out
    assert (
        "~ stream/HI  updated\n    max_age  30d → 1d\n~ stream/HJ  updated\n    max_msgs  no limit (default) → 100\n"
        in told
    )
    of_run = json.loads(someone("history", str(second), "--format", "json").out)
    assert of_run["changed"] == found["resources"]
    someone.ask(by_hand("HI", max_age=2 * DAY))
    assert someone("drift", "restore", file, "--yes").code == 0
    assert someone("history", "diff", str(second)).out.splitlines()[1:] == ["Nothing differs."]


def by_hand(stream: str, **fields: Any) -> Callable[[JetStream], Awaitable[None]]:
    async def deed(js: JetStream) -> None:
        config = done(await js.request(f"STREAM.INFO.{stream}"))["config"]
        done(await js.request(f"STREAM.UPDATE.{stream}", {**config, **fields}))

    return deed


def test_what_was_given_back_and_declared_again_is_there(someone: Someone) -> None:
    with_bucket = KEPT + "kv_buckets: {HK: {history: 5}}\n"
    someone.applied(with_bucket)
    someone.applied(KEPT + "removed: [{address: kv_bucket/HK, reason: unused}]\n")
    someone.ask(lambda js: make_bucket(js, "HK", max_msgs_per_subject=5))
    someone.applied(with_bucket)
    first, second, third = runs(someone)
    assert became(difference(someone, first, third)) == {"kv_bucket/HK": "replaced"}
    assert became(difference(someone, second, third)) == {"kv_bucket/HK": "adopted"}
    assert "= kv_bucket/HK  adopted" in someone("history", "diff").out
    assert "adopted: 1 resource kv_bucket/HK" in " ".join(someone("history", str(third)).out.split())


def test_an_adoption_that_changes_something_tells_both(someone: Someone) -> None:
    someone.applied(KEPT)
    someone.ask(lambda js: make_stream(js, "OLD", subjects=["old"], max_msgs=7))
    someone.applied(KEPT + "  OLD: {subjects: [old], max_msgs: 9}\n")
    (found,) = difference(someone)["resources"]
    assert (found["became"], [one["path"] for one in found["fields"]]) == ("adopted", ["max_msgs"])


def test_what_is_no_longer_managed_is_forgotten(someone: Someone) -> None:
    someone.applied(KEPT)
    someone.applied(KEPT.partition("  HJ")[0] + "forget: [stream/HJ]\n")
    assert became(difference(someone)) == {"stream/HJ": "forgotten"}
    assert "forgotten: 1 resource stream/HJ" in " ".join(someone("history", str(runs(someone)[-1])).out.split())


def test_words_of_the_file_that_no_server_knows_differ_too(someone: Someone) -> None:
    someone.applied(KEPT)
    someone.applied(KEPT.replace("subjects: [hj.>]", "subjects: [hj.>], protect: true, labels: {team: a}"))
    (found,) = difference(someone)["resources"]
    assert {one["path"]: one["to"] for one in found["fields"]} == {"labels": {"team": "a"}, "protect": True}
    assert "    protect  none → true" in someone("history", "diff").out


def test_what_a_file_leaves_to_others_does_not_differ(someone: Someone) -> None:
    someone.applied(KEPT)
    someone.ask(by_hand("HI", max_age=DAY))
    left_open = KEPT.replace("max_age: 30d", "unmanaged: [max_age]")
    someone.applied(left_open)
    (found,) = difference(someone)["resources"]
    assert [one["path"] for one in found["fields"]] == ["unmanaged"]
    someone.ask(by_hand("HI", max_age=2 * DAY))
    someone.applied(left_open.replace("hi.>", "hi.*"))
    (found,) = difference(someone)["resources"]
    assert [one["path"] for one in found["fields"]] == ["subjects"]
    someone.applied(KEPT.replace("30d", "3d").replace("hi.>", "hi.*"))
    (found,) = difference(someone)["resources"]
    assert {one["path"]: one.get("from") for one in found["fields"]} == {
        "max_age": 2 * DAY, "unmanaged": ["max_age"]
    }  # fmt: skip


def test_an_accepted_value_is_told_beside_another_change_of_its_object(someone: Someone) -> None:
    someone.applied(KEPT)
    someone.ask(by_hand("HI", max_age=DAY))
    someone.applied(KEPT.replace("30d", "1d").replace("hi.>", "hi.*"))
    (found,) = difference(someone)["resources"]
    assert [one["path"] for one in found["fields"]] == ["max_age", "subjects"]


def test_a_record_that_could_not_be_written_is_no_adoption() -> None:
    changes = {"stream/A": {"action": "adopt", "adopts": True}, "stream/B": {"action": "adopt", "adopts": True}}
    steps = journal.step_results_entry(Finished(unrecorded=("stream/A",)))
    run = Run(number=1, begun={}, at="then", ended={"counts": {}}, steps=steps, changes=changes)
    assert [one.address for one in changed_by(run)] == ["stream/B"]
    assert changed_by(replace(run, ended=None)) == ()


def test_a_placement_where_none_was_recorded_is_a_change_like_any_other(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    someone.applied("streams: {A: {subjects: [a], placement: {tags: [west, east]}}}\n")
    (stream,) = difference(someone)["resources"]
    assert (stream["became"], [field["path"] for field in stream["fields"]]) == ("updated", ["placement"])


def test_a_consumer_that_was_renamed_is_told_with_both_names(someone: Someone) -> None:
    def apply(name: str, *, was: str = "", more: str = "") -> None:
        moved = f"moved: [{{from: consumer/A/{was}, to: consumer/A/{name}, reason: better}}]\n" if was else ""
        consumer = f"{name}: {{ack_policy: explicit{more}}}"
        someone.applied(f"streams: {{A: {{subjects: [a], consumers: {{{consumer}}}}}}}\n{moved}")

    apply("c1")
    apply("c1", more=", max_deliver: 5")
    apply("c2", was="c1", more=", max_deliver: 5")
    assert someone("history", "diff").out.splitlines()[1:] == ["± consumer/A/c2  renamed from consumer/A/c1"]
    apply("c3", was="c2", more=", max_deliver: 7")
    first, second, third, fourth = runs(someone)
    assert "± consumer/A/c2  renamed from consumer/A/c1\n" in someone("history", str(third)).out
    deliver = {"path": "max_deliver", "from": 5, "to": 7, "unit": "count"}
    assert difference(someone, second, fourth)["resources"] == [
        {"address": "consumer/A/c3", "became": "renamed", "renamed_from": "consumer/A/c1", "fields": [deliver]}
    ]
    (found,) = difference(someone, first, third)["resources"]
    assert (found["address"], found["became"], found["fields"][0]["to"]) == ("consumer/A/c2", "renamed", 5)
    apply("c1", was="c3", more=", max_deliver: 5")
    assert difference(someone, second)["resources"] == [
        {"address": "consumer/A/c1", "became": "replaced", "fields": []}
    ]
