"""A mirror of a bucket has the shape of a bucket, or is the stream that it is: a copy, a plan and a promotion see every field of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.changes.plan import Plan
from reconciler.kinds.buckets.kv_bucket import KVBucketSpec
from reconciler.kinds.fields.known import V2_12
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import Topology
from tests.faithful.accounts import Live, configurations
from tests.faithful.copying import applied, exported, plan_of
from tests.faithful.drawing import GROUP_BUCKET
from tests.primitives.bodies import Body
from tests.support.accounts import Pool
from tests.support.binaries import MINORS
from tests.support.jetstream import done

ORIGIN = "KV_ORIGIN"
SHAPE: Body = {**GROUP_BUCKET, "storage": "memory"}
OTHERWISE: dict[str, Body] = {"PLAIN": {}, "OLD": {"discard": "old"}, "NO_ROLLUPS": {"allow_rollup_hdrs": False}}
"""Mirrors as somebody made them by hand, and what each has other than a bucket."""


@pytest.fixture(params=MINORS)
def live(pool: Pool, request: pytest.FixtureRequest) -> Iterator[Live]:
    """A bucket and its mirrors."""
    with Live(pool.account(request.param)) as live:
        make(live, ORIGIN, {"subjects": ["$KV.ORIGIN.>"]})
        for name, other in OTHERWISE.items():
            make(live, f"KV_{name}", {"mirror": {"name": ORIGIN}, "mirror_direct": True, **other})
        yield live


def make(live: Live, stream: str, config: Body) -> None:
    done(live.run(live.js.write(f"STREAM.CREATE.{stream}", {"name": stream, **SHAPE, **config})))


def buckets(**specs: KVBucketSpec) -> Topology:
    declared = (Declared(address=Address.of("kv_bucket", name), spec=spec) for name, spec in specs.items())
    return Topology(name="t", resources=tuple(declared))


def changed(plan: Plan, name: str) -> set[str]:
    return {field.top for one in plan.changes if one.address == f"kv_bucket/{name}" for field in one.fields}


def test_a_copy_of_a_mirror_that_differs_from_a_bucket_differs_as_well(live: Live, pool: Pool, tmp_path: Path) -> None:
    wanted = exported(live, tmp_path)
    assert {str(one.address) for one in wanted.resources} == {
        "kv_bucket/ORIGIN", "kv_bucket/PLAIN", "stream/KV_OLD", "stream/KV_NO_ROLLUPS",
    }  # fmt: skip
    with Live(pool.account(f"{live.version.major}.{live.version.minor}")) as duplicate:
        applied(duplicate, wanted)
        assert configurations(duplicate.snapshot()) == configurations(live.snapshot())


def test_a_plan_names_what_a_declared_mirror_has_other_than_a_bucket(live: Live) -> None:
    mirror = KVBucketSpec.model_validate({"mirror": {"name": ORIGIN}, "storage": "memory"})
    plan = plan_of(live, buckets(PLAIN=mirror, OLD=mirror, NO_ROLLUPS=mirror))
    assert {name: changed(plan, name) for name in OTHERWISE} == {name: {*other} for name, other in OTHERWISE.items()}


def test_a_plan_names_what_a_promotion_gives_a_mirror_that_is_no_bucket_yet(live: Live) -> None:
    if live.version < V2_12:
        return  # no such server promotes a mirror
    wanted = buckets(**{name: KVBucketSpec(storage="memory") for name in OTHERWISE})
    usual = {"mirror", "mirror_direct", "duplicate_window"}
    plan, _ = applied(live, wanted)
    assert {name: changed(plan, name) for name in OTHERWISE} == {n: usual | {*other} for n, other in OTHERWISE.items()}
    promoted = configurations(live.snapshot())
    for name in OTHERWISE:
        ordinary = promoted[(ORIGIN,)] | {"subjects": [f"$KV.{name}.>"]}
        assert promoted[f"KV_{name}",] == ordinary
    assert not plan_of(live, wanted).changes
