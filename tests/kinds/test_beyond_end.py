"""Consumers that continue beyond the end of their stream: because it lost its last messages, or as their file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.kinds.consumer.beyond_end import consumers_beyond_end
from tests.support.topologies import scene

STATE = {"first_seq": 1, "last_seq": 100, "messages": 100}
STARTS = "streams: {S: {subjects: [s.*], consumers: {c: {deliver_policy: by_start_sequence, opt_start_seq: 300}}}}"
FIRST = "streams: {S: {subjects: [s.*], consumers: {c: {}}}}"


@pytest.mark.parametrize(
    ("file", "delivered", "said"),
    [
        (STARTS, {"consumer_seq": 0, "stream_seq": 299}, []),
        (STARTS, {"consumer_seq": 1, "stream_seq": 300}, ["it continues after sequence 300, but S ends at 100"]),
        (FIRST, {"consumer_seq": 120, "stream_seq": 120}, ["it continues after sequence 120, but S ends at 100"]),
        (FIRST, {"consumer_seq": 100, "stream_seq": 100}, []),
    ],
)
def test_only_what_the_file_does_not_ask_for_is_a_loss(
    file: str, delivered: dict[str, int], said: list[str], tmp_path: Path
) -> None:
    raw = {"streams": {"S": {"state": STATE}}, "consumers": {"S": {"c": {"delivered": delivered}}}}
    found = consumers_beyond_end(scene(tmp_path, file, file, raw=raw).snapshot)
    assert [one.message.partition(":")[0] for one in found] == said
