"""The same on a server whose own settings nobody can read: it fills in other values than an ordinary one."""

from __future__ import annotations

import pytest

from tests.convergence.drawing import drawn
from tests.convergence.running import Findings, Real, run_batch
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.servers import NatsServer

LIMITS = {"max_ack_pending": 400, "max_request_batch": 200, "duplicate_window": "45s"}
USERS = "accounts {T: {jetstream: {max_ack_pending: 300, max_streams: -1}, users: [{user: t, password: t}]}}"
REFUSED = "can not be larger then server limit"
CASES, TOGETHER = 120, 60


@pytest.mark.parametrize("minor", MINORS)
def test_what_an_unreadable_setting_fills_in_is_never_a_difference(minor: str) -> None:
    findings = Findings()
    with (
        NatsServer(minor, USERS, jetstream={"limits": LIMITS}) as server,
        Real(Account(server=server, user="t", password="t"), unforeseeable=REFUSED) as real,
    ):
        cases = drawn(CASES, real.version)
        for start in range(0, CASES, TOGETHER):
            run_batch(real, cases[start : start + TOGETHER], findings)
            real.clean()
    print(findings)
    findings.none_wrong()
