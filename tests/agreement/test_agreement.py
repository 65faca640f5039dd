"""Our verdicts and the answers of real servers of every supported version are the same, or we are stricter on purpose.

`make agreement N=5000` runs as long as wanted; here every row is seen on both sides, and some random cases.
"""

from __future__ import annotations

import pytest

from tests.agreement.judged_run import every_version
from tests.agreement.report import problems, table
from tests.agreement.tally import Tally
from tests.agreement.test_every_harm_is_shown import every_harm
from tests.support.binaries import MINORS

RANDOM, RESTARTED = 100, 0.03


@pytest.fixture(scope="module")
def tallies() -> list[Tally]:
    return every_version(MINORS, number=RANDOM, times=1, restarts=RESTARTED)


def test_no_verdict_differs_and_nothing_is_left_untried(tallies: list[Tally]) -> None:
    print(table(tallies, 1))
    assert not (found := problems(tallies, 1, every_version=True)), "\n\n".join(found)
    harmless = set().union(*(tally.harming for tally in tallies)) - every_harm()
    assert not harmless, "stricter than the server, and no test shows why"
