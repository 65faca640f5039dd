"""A limit that no answer shows: 1000 consumers a stream, on servers from 2.15 on, unless the stream says more."""

from __future__ import annotations

import pytest

from tests.agreement.judging import Kind, judgement
from tests.agreement.rooms import Borrowed
from tests.agreement.row import consumed, neighbour
from tests.agreement.running import run
from tests.support.accounts import Account

THOUSAND = [neighbour(f"n{number}") for number in range(1000)]


@pytest.mark.parametrize(
    ("account", "on", "err_code"),
    [("2.14", {}, 0), ("2.15", {}, 10026), ("2.15", {"max_consumers": 1001}, 0)],
    indirect=["account"],
)
def test_one_more_is_refused_exactly_where_we_say_so(account: Account, on: dict[str, int], err_code: int) -> None:
    with Borrowed(account) as ground:
        (one,) = run(ground, [consumed(on=on, others=THOUSAND, ack_policy="explicit")])
    assert (judgement(one).kind, one.err_code) == (Kind.AGREED, err_code), judgement(one).why
