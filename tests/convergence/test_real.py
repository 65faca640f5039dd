"""Apply, then plan: empty. On every supported server, for every kind and field, apart from what was refused."""

from __future__ import annotations

from tests.convergence.drawing import drawn
from tests.convergence.running import Findings, Real, run_batch
from tests.support.accounts import Account
from tests.support.drawing import batches
from tests.support.versions import on_every_version

CASES, TOGETHER = 900, 60
"""Cases there are for a version, and how many of them share one plan and one apply."""


@on_every_version
def test_whatever_is_live_becomes_what_is_wanted(account: Account) -> None:
    findings = Findings()
    with Real(account) as real:
        for batch in batches(drawn(CASES, real.version), TOGETHER):
            run_batch(real, batch, findings)
            real.clean()
    print(findings)
    findings.none_wrong()
