"""What to do about a write into bucket `reconciler` that failed: permissions are advised where one was missing only."""

from __future__ import annotations

import pytest

from reconciler.server.remember.capacity import way_out_advice
from reconciler.server.wire.answers import Conflict, Put, Refusal
from reconciler.server.wire.pipeline import NoAnswer, Silence


@pytest.mark.parametrize(
    ("answer", "begins"),
    [
        (NoAnswer(Silence.DENIED, "permissions violation"), "allow publishing to $KV.reconciler.>"),
        (
            NoAnswer(Silence.TIMEOUT, "2 s"),
            "most likely the server that leads bucket reconciler answers but stores nothing",
        ),
        (NoAnswer(Silence.UNSENT, "the lease was not renewed"), "otherwise"),
        (NoAnswer(Silence.OFFLINE, "the connection is closed"), "otherwise"),
        (Conflict(1, "wrong last sequence: 2"), "otherwise"),
        (Refusal(10077, 503, "maximum bytes exceeded"), "give bucket reconciler room"),
        (Refusal(10077, 503, "write: no space left on device"), "make room on the server's disk"),
        (Refusal(10023, 503, "insufficient resources"), "make room in the server's store"),
        (Refusal(10109, 400, "invalid operation on sealed stream"), "otherwise"),
    ],
)
def test_the_way_out_is_told_by_cause(answer: Put, begins: str) -> None:
    assert way_out_advice(answer, "otherwise").startswith(begins)
