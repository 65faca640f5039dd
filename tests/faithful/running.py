"""Account after account on one server version: each is copied, and each is changed by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from reconciler.model.wire.version import Version
from tests.faithful.accounts import Live
from tests.faithful.copying import Tally, copy
from tests.faithful.drawing import Drawn, accounts
from tests.faithful.sight import sight
from tests.support.accounts import Pool
from tests.support.binaries import VERSIONS

__all__ = ["Tally", "every_object", "run"]


def every_object(minor: str, number: int) -> Tally:
    """On servers of its own."""
    pool = Pool()
    try:
        return run(pool, minor, accounts(number, Version.parse(VERSIONS[minor])))
    finally:
        pool.close()


def run(pool: Pool, minor: str, drawn: Iterable[list[Drawn]]) -> Tally:
    total = Tally()
    for objects in drawn:
        with tempfile.TemporaryDirectory() as folder:
            with Live(pool.account(minor)) as original, Live(pool.account(minor)) as duplicate:
                total += copy(original, duplicate, objects, Path(folder))
            with Live(pool.account(minor)) as live:
                total += sight(live, objects, Path(folder))
    return total
