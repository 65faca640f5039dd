"""Replicas and placement at once, in a cluster: done one after the other, in the order that has enough servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.model.topology import Topology
from tests.convergence.running import Real
from tests.convergence.test_exchanges_real import carried_out, left
from tests.support.accounts import Account
from tests.support.jetstream import make_stream, talk
from tests.support.topologies import read
from tests.support.versions import in_turn

SMALL = "streams: {S: {subjects: [s], num_replicas: 1, placement: {tags: ['node:1']}}}"
LARGE = "streams: {S: {subjects: [s], num_replicas: 3, placement: {tags: [all]}}}"
KV_SMALL = "kv_buckets: {S: {num_replicas: 1, placement: {tags: ['node:1']}}}"
KV_LARGE = "kv_buckets: {S: {num_replicas: 3, placement: {tags: [all]}}}"

WAYS = {"grows": (SMALL, LARGE), "shrinks": (LARGE, SMALL)}
BUCKET = {"bucket grows": (KV_SMALL, KV_LARGE)}


@pytest.fixture
def real(clustered_account: Account) -> Iterator[Real]:
    talk(clustered_account, lambda js: make_stream(js, "FIRST", num_replicas=3))  # the servers have met by then
    with Real(clustered_account) as opened:
        yield opened


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], Topology]:
    return lambda text: read(tmp_path, text)


@in_turn("first, then", BUCKET | WAYS, account="clustered_account")
def test_replicas_and_placement_change_together(
    real: Real, files: Callable[[str], Topology], first: str, then: str
) -> None:
    carried_out(real, files(first))
    assert carried_out(real, files(then)).done
    assert left(real, files(then)) == []


@in_turn("first, then", WAYS, account="clustered_account")
def test_a_move_cut_off_half_way_is_finished_by_the_next_apply(
    real: Real, files: Callable[[str], Topology], first: str, then: str
) -> None:
    carried_out(real, files(first))
    assert not carried_out(real, files(then), 1).is_success
    carried_out(real, files(then))
    assert left(real, files(then)) == []
