"""How long members may stay away when their group is made anew: until the buffer is full, by messages or by bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.model.wire.questions import Facts, MessagesFrom
from tests.support.topologies import NAME, scene

GROUP = "type: elastic, partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]"
FILLED = {
    "messages": 101, "bytes": 101_000, "last_seq": 101,
    "first_ts": "2026-06-01T10:00:00Z", "last_ts": "2026-06-01T10:01:40Z",
}  # fmt: skip
"""One message a second, of 1000 bytes."""
BY_SIZE = "its buffer of 40KB, by the average size of its messages,"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("", "the queue grows without limit"),
        (", max_buffered_msg: 70", "its buffer of 70 messages is full after about 1m"),
        (", max_buffered_bytes: 40000", f"{BY_SIZE} is full after about 30s"),
        (", max_buffered_msg: 70, max_buffered_bytes: 40000", f"{BY_SIZE} is full after about 30s"),
    ],
)
def test_the_limit_that_is_reached_first_decides(limits: str, said: str, tmp_path: Path) -> None:
    messages, _ = told(tmp_path, limits)
    assert any("S's average of 1 messages a second" in one and said in one for one in messages), messages


@pytest.mark.parametrize(
    ("limits", "bound"),
    [
        (", max_buffered_msg: 5", "5 messages"),
        (", max_buffered_bytes: 4000", "4KB"),
        (", max_buffered_msg: 5, max_buffered_bytes: 4000", "5 messages and 4KB"),
    ],
)
def test_what_does_not_fit_into_a_smaller_buffer_waits_outside(limits: str, bound: str, tmp_path: Path) -> None:
    messages, costs = told(tmp_path, limits)
    said = (
        f"starts with what is queued (10 now); it holds no more than {bound} at a time: the rest waits in S, as long as"
    )
    assert said in costs
    assert any("is full at once" in one for one in messages), messages


@pytest.mark.parametrize("limits", [", max_buffered_msg: 70", ", max_buffered_bytes: 70000"])
@pytest.mark.parametrize(
    ("lag", "said"), [(59, "is full after about 1s"), (60, "is full at once"), (90, "is full at once")]
)
def test_what_its_source_holds_ready_counts_too(limits: str, lag: int, said: str, tmp_path: Path) -> None:
    messages, _ = told(tmp_path, limits, lag=lag)
    assert any(said in one for one in messages), messages


@pytest.mark.parametrize(
    ("matching", "said"),
    [
        (
            11,
            "At S's average of 0.1 messages on its subjects a second over what it retains, its buffer of 70 messages is full after",
        ),
        (1, "How fast the queue fills is not known, for it takes only part of what S holds"),
        (None, "How fast the queue fills is not known, for it takes only part of what S holds"),
    ],
)
def test_only_messages_that_the_group_takes_fill_its_queue(matching: int | None, said: str, tmp_path: Path) -> None:
    question = MessagesFrom(stream="S", start=1, filter="j.*")
    counted: Facts = {} if matching is None else {question: {"messages": matching}}
    messages, _ = told(tmp_path, ", max_buffered_msg: 70", subjects="j.*, k", facts=counted)
    assert any(one.startswith(said) for one in messages), messages


def told(
    folder: Path, limits: str, lag: int = 0, subjects: str = "j.*", facts: Facts | None = None
) -> tuple[list[str], str]:
    """What follows from making the group anew, of whose stream ten messages are queued, and what EG101 says it costs."""
    queue = {"state": {"messages": 10, "bytes": 10_000, "last_seq": 101}, "sources": [{"name": "S", "lag": lag}]}
    text = "streams: {{S: {{subjects: [{}], groups: {{g: {{{}, max_members: {}{}}}}}}}}}"
    before, after = (text.format(subjects, GROUP, members, limits) for members in (4, 6))
    live = scene(folder, after, before, raw={"streams": {"S": {"state": FILLED}, "S-g": queue}})
    plan = replace(live, facts=facts or {}).plan()
    (change,) = (one for one in plan.changes if one.address == "elastic_group/S/g")
    return [one.message for one in change.consequences], change.verdicts[0].message


@pytest.mark.parametrize("owner", [NAME, None])
def test_a_queue_that_somebody_deleted_begins_with_all_that_its_source_holds(owner: str | None, tmp_path: Path) -> None:
    """Of a group that was applied this takes consent."""
    text = f"streams: {{S: {{subjects: [j.*], groups: {{g: {{{GROUP}, max_members: 4, max_buffered_msg: 70}}}}}}}}"
    plan = scene(tmp_path, text, text, raw={"streams": {"S": {"state": FILLED}, "S-g": None}}, owner=owner).plan()
    (change,) = (one for one in plan.changes if one.address == "elastic_group/S/g")
    *begins, waits = (one.message for one in change.consequences)
    if owner:
        (lost,) = (one for one in change.verdicts if one.blocks)
        assert (lost.code, dict(lost.quantities), begins) == ("EG312", {"redelivered": 101}, [])
        begins = [lost.message]
    done = "including what its members have processed" if owner else "whatever members have processed before"
    assert begins[0].endswith(f"starts with everything that S holds: up to 101 messages, {done}")
    assert waits.endswith(" holds no more than 70 messages at a time: the rest waits in S, as long as S stores it")
