"""An account that is full: what a plan frees is there for what the same plan needs, in whatever order it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.model.topology import Topology
from tests.convergence.running import Real
from tests.convergence.test_exchanges_real import carried_out, left
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.servers import running
from tests.support.topologies import read

FULL = "accounts {T: {jetstream: {max_mem: 100MB, max_file: 100MB, max_streams: 7}, users: [{user: t, password: t}]}}"
"""Beside three streams of others and our own bucket there is room for three, and for what is not reserved by these."""


@pytest.fixture(params=MINORS)
def real(request: pytest.FixtureRequest) -> Iterator[Real]:
    with (
        running(request.param, FULL) as server,
        Real(Account(server=server, user="t", password="t")) as opened,
    ):
        yield opened


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], Topology]:
    return lambda text: read(tmp_path, text)


def test_what_is_reserved_moves_between_streams(real: Real, files: Callable[[str], Topology]) -> None:
    before, then = (
        f"streams: {{A: {{subjects: [a], max_bytes: {a}MiB}}, B: {{subjects: [b], max_bytes: {b}MiB}}}}"
        for a, b in ((80, 10), (10, 80))
    )
    carried_out(real, files(before))
    assert carried_out(real, files(then)).done
    assert left(real, files(then)) == []


def test_room_and_subjects_move_in_opposite_directions(real: Real, files: Callable[[str], Topology]) -> None:
    before = "streams: {A: {subjects: [a], max_bytes: 80MiB}, B: {subjects: [b, x], max_bytes: 10MiB}}"
    then = "streams: {A: {subjects: [a, x], max_bytes: 10MiB}, B: {subjects: [b], max_bytes: 80MiB}}"
    carried_out(real, files(before))
    for steps in (1, 1, None):
        assert carried_out(real, files(then), steps).done
    assert left(real, files(then)) == []


def test_the_places_of_removed_streams_are_taken_by_new_ones(real: Real, files: Callable[[str], Topology]) -> None:
    carried_out(real, files("streams: {P: {subjects: [p]}, Z: {subjects: [z], max_bytes: 90MiB}, K: {subjects: [k]}}"))
    then = files(
        "streams: {A: {subjects: [a], max_bytes: 90MiB}, K: {subjects: [k]}}\nkv_buckets: {b: {}}\n"
        "removed: [{address: stream/P, reason: r}, {address: stream/Z, reason: r}]"
    )
    assert carried_out(real, then).done
    assert left(real, then) == []
