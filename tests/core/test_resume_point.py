"""Where a new queue must begin: the lowest message still queued says it, else the server, else a source at rest."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from reconciler.engine.bindings import count_gone_from_source, resume_point, same_source


def seen(
    lowest: str | None = None,
    *,
    last: int = 40,
    stored: int = 30,
    start: int | None = None,
    rested: bool = False,
    then: int | None = None,
    **told: int,
) -> dict[str, Any]:
    """What was looked at: a source that ends at `last`, a queue that has stored so many, and what the server told; `then`:
    where the source ends when it is looked at once more."""
    origin = {"name": "S"} | ({"opt_start_seq": start} if start else {})
    source = {"state": {"last_seq": last}}
    queue = {"config": {"sources": [origin]}, "sources": [{"name": "S", **told}], "state": {"last_seq": stored}}
    found: dict[str, Any] = {
        "source": source,
        "afterwards": source if then is None else {"state": {"last_seq": then}},
        "queue": queue,
        "rested": rested,
    }
    if lowest is not None:
        headers = f"NATS/1.0\r\nNats-Stream-Source: {lowest} s.* 1.s.x s.x\r\n\r\n"
        found["lowest"] = {"hdrs": base64.b64encode(headers.encode()).decode()}
    return found


def untold(looked_at: dict[str, Any]) -> dict[str, Any]:
    """The same from a server whose answer lists no sources, as while a leader is new."""
    del looked_at["queue"]["sources"]
    return looked_at


SITUATIONS = {
    "the lowest message queued": (seen("S 12"), 12),
    "also where the server tells another": (seen("S 12", seq=30), 12),
    "another stream's message says nothing": (seen("T 12"), None),
    "an empty queue, as the server tells": (seen(seq=30, lag=10), 31),
    "an empty queue of a source at rest": (seen(rested=True, lag=0), 41),
    "not at rest, nobody knows": (seen(lag=0), None),
    "behind, nobody knows": (seen(rested=True, lag=3), None),
    "nothing ever stored, from the first": (seen(stored=0), 1),
    "nothing ever stored since it was made anew": (seen(stored=0, start=33), 33),
    "a server that lists no source just now says nothing": (untold(seen()), None),
    "the lowest message queued says it all the same": (untold(seen("S 12")), 12),
    "beyond the end of the source, which is a new one": (seen("S 12", last=5), None),
    "the same where the server tells it": (seen(last=5, seq=30), None),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_where_a_new_queue_begins(situation: str) -> None:
    looked_at, point = SITUATIONS[situation]
    assert resume_point(looked_at) == point


def test_a_source_that_ends_before_what_was_taken_in_is_another_one() -> None:
    assert [same_source(seen("S 12", last=end)) for end in (40, 12, 11)] == [True, True, None]


def test_a_source_that_is_made_anew_while_it_is_looked_at_is_another_one() -> None:
    assert same_source(seen("S 12", last=40, then=5)) is None


def test_what_the_source_drops_while_it_is_looked_at_is_counted() -> None:
    looked_at = seen("S 12")
    looked_at["queue"]["state"]["messages"] = 30
    looked_at["source"]["state"]["first_seq"] = 12
    looked_at["afterwards"] = {"state": {"last_seq": 40, "first_seq": 20}}
    assert count_gone_from_source(looked_at) == 8


def test_a_server_that_lists_no_source_does_not_say_that_it_is_another_one() -> None:
    assert same_source(untold(seen())) is True
