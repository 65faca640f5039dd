"""An interest stream drops what no consumer wants: in no moment of a plan may it acknowledge what somebody will want."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.model.wire.steps import Call
from tests.support.topologies import scene

TOGETHER = """
streams: {S: {subjects: [o, p], retention: interest, consumers: {a: {ack_policy: explicit, filter_subject: o}, b: {
  ack_policy: explicit, filter_subject: p}}}}
"""
APART = """
streams:
  S: {subjects: [o], retention: interest, consumers: {a: {ack_policy: explicit, filter_subject: o}}}
  T: {subjects: [p], retention: interest, consumers: {b: {ack_policy: explicit}}}
removed: [{address: consumer/S/b, reason: it reads T now}]
"""


def steps(folder: Path, desired: str, live: str | None = None, retention: str = "interest") -> list[str]:
    """What is done to streams and consumers, in order, with the subjects that a stream takes."""
    texts = [text and text.replace("interest", retention) for text in (desired, live)]
    made = scene(folder, texts[0] or "", texts[1]).plan().steps
    return [" ".join((step.call.value, *step.on, *(step.body or step.set).get("subjects", ()))) for step in made]


def order(found: list[str], *beginnings: str) -> list[int]:
    return [next(n for n, one in enumerate(found) if one.startswith(beginning)) for beginning in beginnings]


def test_a_new_stream_takes_its_subjects_when_its_consumers_are_there(tmp_path: Path) -> None:
    found = steps(tmp_path, TOGETHER)
    parked, first, second, taking = order(
        found, "stream.create S", "consumer.create S a", "consumer.create S b", "stream.update S o p"
    )
    assert parked < min(first, second) and taking > max(first, second), found
    assert not {"o", "p"} & set(found[parked].split()), found


def test_without_consumers_or_interest_one_step_is_enough(tmp_path: Path) -> None:
    alone = "streams: {S: {subjects: [o], retention: interest}}"
    assert steps(tmp_path / "alone", alone) == ["stream.create S o"]
    found = steps(tmp_path / "limits", TOGETHER, retention="limits")
    assert found[0] == "stream.create S o p" and len(found) == 3, found


def test_a_stream_passes_its_subject_on_before_its_consumer_goes(tmp_path: Path) -> None:
    found = steps(tmp_path, APART, TOGETHER)
    given, gone, reader, taken = order(
        found, "stream.update S o", "consumer.delete S b", "consumer.create T b", "stream.update T p"
    )
    assert given < gone, found
    assert given < taken and reader < taken, found


def test_between_one_stream_and_the_other_a_subject_is_nobodys_for_one_step(tmp_path: Path) -> None:
    found = steps(tmp_path, APART, TOGETHER)
    reader, given, taken = order(found, "consumer.create T b", "stream.update S o", "stream.update T p")
    assert reader < given < taken, found


def test_a_stream_takes_another_subject_when_its_new_consumer_is_there(tmp_path: Path) -> None:
    """Also where an earlier run was cut off after it had created the stream."""
    live = (
        "streams: {S: {subjects: [o], retention: interest, consumers: {a: {ack_policy: explicit, filter_subject: o}}}}"
    )
    found = steps(tmp_path, TOGETHER, live)
    assert found == ["consumer.create S b", "stream.update S o p"]


def test_a_subject_on_which_an_unfinished_run_left_the_stream_is_missed_by_nobody(tmp_path: Path) -> None:
    plan = scene(tmp_path, APART, "streams: {T: {subjects: [_parked.T], retention: interest}}", owner=None).plan()
    assert [verdict.code for change in plan.changes for verdict in change.verdicts if verdict.code == "ST303"] == []


def test_what_a_stream_narrows_for_itself_it_passes_to_nobody(tmp_path: Path) -> None:
    live = TOGETHER.replace("[o, p]", "[o, p.*]").replace("filter_subject: p", "filter_subject: p.*")
    alone = "streams: {S: {subjects: [o, p.x], retention: interest, consumers: {a: {ack_policy: explicit, filter_subject: o}}}}"
    found = steps(tmp_path, f"{alone}\nremoved: [{{address: consumer/S/b, reason: nobody needs it}}]", live)
    gone, narrowed = order(found, "consumer.delete S b", "stream.update S")
    assert gone < narrowed, found


def test_room_for_a_consumer_comes_before_it_and_its_subject_after(tmp_path: Path) -> None:
    each = "{{ack_policy: explicit, max_ack_pending: {}, filter_subject: {}}}"
    stream = "streams: {{S: {{subjects: {}, retention: interest, consumer_limits: {{max_ack_pending: {}}}, consumers: {{{}}}}}}}"
    a, b = f"a: {each.format(5, 'o')}", f"b: {each.format(50, 'p')}"
    found = steps(tmp_path, stream.format("[o, p]", 100, f"{a}, {b}"), stream.format("[o]", 10, a))
    assert found == ["stream.update S", "consumer.create S b", "stream.update S o p"]


def test_a_consumer_that_is_refused_does_not_keep_its_stream_from_being_made(tmp_path: Path) -> None:
    text = TOGETHER.replace("filter_subject: p", "filter_subject: p, num_replicas: 3")
    plan = scene(tmp_path, text).plan()
    assert {change.address for change in plan.changes if change.is_blocked} == {"consumer/S/b"}
    assert [step.call.value for step in plan.steps] == ["stream.create", "consumer.create", "stream.update"]


LATE = """
streams:
  S: {subjects: [o], consumers: {c: {ack_policy: explicit}}}
  T: {subjects: [p], consumers: {c: {ack_policy: explicit, deliver_policy: new}}}
"""


def test_a_consumer_that_starts_with_new_messages_is_there_before_its_stream_takes_subjects(tmp_path: Path) -> None:
    for policy in ("new", "last", "last_per_subject"):
        text = LATE.replace("deliver_policy: new", f"deliver_policy: {policy}, filter_subjects: [p]")
        live = "streams: {S: {subjects: [o, p], consumers: {c: {ack_policy: explicit}}}, T: {subjects: [q]}}"
        found = steps(tmp_path / policy, text, live)
        reader, given, taken = order(found, "consumer.create T c", "stream.update S o", "stream.update T p")
        assert max(reader, given) < taken, found


def test_a_new_stream_takes_what_another_gives_up_when_its_reader_of_new_messages_is_there(tmp_path: Path) -> None:
    found = steps(tmp_path, LATE, "streams: {S: {subjects: [o, p], consumers: {c: {ack_policy: explicit}}}}")
    made, reader, given, taken = order(
        found, "stream.create T", "consumer.create T c", "stream.update S o", "stream.update T p"
    )
    assert made < reader < given < taken, found


def test_a_reader_of_new_messages_needs_no_second_step_where_nobody_published(tmp_path: Path) -> None:
    found = steps(tmp_path, LATE, "streams: {S: {subjects: [o], consumers: {c: {ack_policy: explicit}}}}")
    assert found == ["stream.create T p", "consumer.create T c"]


def test_a_consumer_takes_more_subjects_before_its_stream_does(tmp_path: Path) -> None:
    """It passes what is stored behind it before its filters change."""
    text = (
        "streams: {S: {subjects: %s, retention: interest, consumers: {c: {ack_policy: explicit, filter_subjects: %s}}}}"
    )
    for retention in ("interest", "limits"):
        found = steps(tmp_path / retention, text % ("[o, p]", "[o, p]"), text % ("[o]", "[o]"), retention)
        assert found == ["consumer.update S c", "stream.update S o p"], retention


FOREIGN = (
    "streams: {S: {subjects: %s%s, consumers: {c: {ack_policy: explicit, filter_subject: %s}}}, T: {subjects: [t]}}"
)


@pytest.mark.parametrize("gains", ["[o, p]", "[o], sources: [{name: T}]"])
@pytest.mark.parametrize("retention", ["limits", "workqueue", "interest"])
def test_a_consumer_is_narrowed_before_its_stream_stores_what_it_is_not_to_get(
    tmp_path: Path, gains: str, retention: str
) -> None:
    live = FOREIGN % ("[o]", ", retention: interest", "'>'")
    found = steps(tmp_path, FOREIGN % (gains, ", retention: interest", "o"), live, retention)
    narrowed, stored = order(found, "consumer.update S c", "stream.update S")
    assert narrowed < stored, found


def test_a_consumer_is_deleted_before_its_stream_stores_what_others_are_to_get(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [o], retention: workqueue, consumers: {c: {ack_policy: explicit}}}}"
    desired = (
        "streams: {S: {subjects: [o, p], retention: workqueue, consumers: {d: {ack_policy: explicit}}}}\n"
        "removed: [{address: consumer/S/c, reason: d reads it}]"
    )
    gone, stored = order(steps(tmp_path, desired, live), "consumer.delete S c", "stream.update S")
    assert gone < stored


COPIED = "streams: {S: {subjects: [o, p], retention: interest}, ALL: {sources: [{name: S}]}}"
COPIED_APART = """
streams:
  S: {subjects: [o], retention: interest}
  T: {subjects: [p], retention: interest}
  ALL: {sources: [{name: S}, {name: T}]}
"""


def test_a_copy_of_both_listens_before_a_subject_moves(tmp_path: Path) -> None:
    found = steps(tmp_path, COPIED_APART, COPIED)
    parked, reader, listens, given, taken = order(
        found, "stream.create T", "stream.update ALL", "gate.copy_listens ALL", "stream.update S o", "stream.update T p"
    )
    assert parked < reader < listens < given < taken, found


def test_an_interest_stream_that_is_there_takes_more_when_its_new_copy_listens(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [o], retention: interest}, ALL: {subjects: [all]}}"
    more = "streams: {S: {subjects: [o, p], retention: interest}, ALL: {subjects: [all], sources: [{name: S, filter_subject: p}]}}"
    listens, taken = order(steps(tmp_path, more, live), "gate.copy_listens ALL", "stream.update S o p")
    assert listens < taken


def test_copies_of_what_keeps_everything_or_takes_nothing_new_are_not_waited_for(tmp_path: Path) -> None:
    assert "gate" not in " ".join(steps(tmp_path / "a", COPIED_APART, COPIED, retention="limits"))
    again = COPIED.replace("{name: S}", "{name: S, filter_subject: o}")
    assert "gate" not in " ".join(steps(tmp_path / "b", again, COPIED))


READ = (
    "streams: {S: {subjects: [o, p], retention: interest, consumers: {c: {ack_policy: explicit, filter_subject: o}}}%s}"
)
LET_GO = "streams: {S: {subjects: [o, p], retention: interest%s}%s}\nremoved: [{address: consumer/S/c, reason: x}]"
DIVIDED = ", groups: {g: {type: elastic, max_members: 2, members: [m], partitioning_filters: [{filter: '*', partitioning_wildcards: [1]}]}}"
SUCCESSORS = {
    "a mirror": ("", ", M: {mirror: {name: S}}", "M"),
    "a source": ("", ", ALL: {subjects: [all], sources: [{name: S, filter_subject: o}]}", "ALL"),
    "an elastic group": (DIVIDED, "", "S-g"),
}


@pytest.mark.parametrize(("within", "beside", "copy"), SUCCESSORS.values(), ids=SUCCESSORS)
def test_a_consumer_is_let_go_when_the_copy_that_takes_over_from_it_listens(
    tmp_path: Path, within: str, beside: str, copy: str
) -> None:
    made = scene(tmp_path, LET_GO % (within, beside), READ % "").plan().steps
    (gone,) = (step for step in made if step.call is Call.CONSUMER_DELETE)
    assert f"wait until stream/{copy} listens to S" in gone.after


def test_a_copy_is_let_go_when_the_one_that_takes_over_from_it_listens(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [o, p], retention: interest}, M: {mirror: {name: S}}}"
    text = "streams: {S: {subjects: [o, p], retention: interest}, O: {mirror: {name: S}}}\nremoved: [{address: stream/M, reason: x}]"
    (gone,) = (step for step in scene(tmp_path, text, live).plan().steps if step.call is Call.STREAM_DELETE)
    assert "wait until stream/O listens to S" in gone.after


def test_nobody_waits_for_a_copy_of_other_subjects(tmp_path: Path) -> None:
    other = ", ALL: {subjects: [all], sources: [{name: S, filter_subject: p}]}"
    assert "gate" not in " ".join(steps(tmp_path, LET_GO % ("", other), READ % ""))


def test_the_stream_itself_waits_for_no_copy_if_it_takes_no_subjects(tmp_path: Path) -> None:
    text = LET_GO % (", max_age: 1h", ", M: {mirror: {name: S}}")
    (update,) = (step for step in scene(tmp_path, text, READ % "").plan().steps if step.call is Call.STREAM_UPDATE)
    assert update.after == ("delete consumer/S/c",)
