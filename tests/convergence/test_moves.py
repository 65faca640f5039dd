"""Replicas and placement at once, in a cluster: done one after the other, in the order that has enough servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.core.topology import Topology
from tests.convergence.running import Real
from tests.convergence.test_exchanges_real import carried_out, left
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.jetstream import make_stream, talk
from tests.support.topologies import read

on_every_cluster = pytest.mark.parametrize("clustered_account", MINORS, indirect=True)

SMALL = "streams: {S: {subjects: [s], num_replicas: 1, placement: {tags: ['node:1']}}}"
LARGE = "streams: {S: {subjects: [s], num_replicas: 3, placement: {tags: [all]}}}"
KV_SMALL = "kv_buckets: {S: {num_replicas: 1, placement: {tags: ['node:1']}}}"
KV_LARGE = "kv_buckets: {S: {num_replicas: 3, placement: {tags: [all]}}}"

on_every_way = pytest.mark.parametrize(
    ("first", "then"), [(SMALL, LARGE), (LARGE, SMALL), (KV_SMALL, KV_LARGE)], ids=["grows", "shrinks", "bucket grows"]
)


@pytest.fixture
def real(clustered_account: Account) -> Iterator[Real]:
    talk(clustered_account, lambda js: make_stream(js, "FIRST", num_replicas=3))  # the servers have met by then
    with Real(clustered_account) as opened:
        yield opened


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], Topology]:
    return lambda text: read(tmp_path, text)


@on_every_cluster
@on_every_way
def test_replicas_and_placement_change_together(
    real: Real, files: Callable[[str], Topology], first: str, then: str
) -> None:
    carried_out(real, files(first))
    carried_out(real, files(then))
    assert left(real, files(then)) == []


@on_every_cluster
@pytest.mark.parametrize(("first", "then"), [(SMALL, LARGE), (LARGE, SMALL)], ids=["grows", "shrinks"])
def test_a_move_cut_off_half_way_is_finished_by_the_next_apply(
    real: Real, files: Callable[[str], Topology], first: str, then: str
) -> None:
    carried_out(real, files(first))
    carried_out(real, files(then), 1)
    carried_out(real, files(then))
    assert left(real, files(then)) == []
