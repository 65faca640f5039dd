"""Who holds a lease, read off the entry that is there: no clock but the server's says that it is over."""

from __future__ import annotations

import json

import pytest

from reconciler.memory.lease import Free, Held, Ours, read_lease
from reconciler.model.wire.snapshot import Entry

SAID = json.dumps({"run": "r", "user": "ann"}).encode()


@pytest.mark.parametrize("stored", ["1970-01-01T00:00:00Z", "2999-12-31T00:00:00Z", ""])
def test_an_entry_that_is_there_holds_the_lease_whenever_it_was_stored(stored: str) -> None:
    there = read_lease(Entry(value=SAID, revision=7, stored=stored), "t", "mine")
    assert isinstance(there, Held)
    assert (there.holder.user, there.revision) == ("ann", 7)


def test_what_is_gone_or_was_given_back_is_free() -> None:
    assert read_lease(None, "t", "mine") == Free(0)
    assert read_lease(Entry(value=b"", revision=7, deleted=True), "t", "mine") == Free(7)


def test_a_run_knows_its_own_lease_and_nobody_elses() -> None:
    assert read_lease(Entry(value=SAID, revision=7), "t", "r") == Ours(7)
    assert isinstance(read_lease(Entry(value=b"{}", revision=7), "t"), Held)
