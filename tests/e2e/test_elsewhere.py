"""Not one server but three, and not this one but the hub behind a leaf."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.server.read import read_kv
from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.e2e.someone import Someone, login
from tests.server.test_observe_elsewhere import leaf_and_hub
from tests.support.accounts import Account, User
from tests.support.jetstream import done, talk

EVERYTHING = """streams:
  JOBS:
    subjects: [jobs.*]
    num_replicas: REPLICAS
    consumers:
      c: {ack_policy: explicit, priority_policy: pinned_client, priority_groups: [g]}
      inherits: {ack_policy: explicit}
    groups:
      g: {type: elastic, max_members: 4, partitioning_filters: [{filter: jobs.*, partitioning_wildcards: [1]}], members: [a, b]}
      s: {type: static, max_members: 3, filters: [jobs.*], members: [x]}
kv_buckets: {CONFIG: {num_replicas: REPLICAS, history: 3}}
object_stores: {FILES: {num_replicas: REPLICAS}}
"""


def test_a_cluster_of_three_is_planned_applied_and_then_in_place(shell: Shell, clustered_account: Account) -> None:
    someone = Someone(shell, clustered_account, login(clustered_account))
    file = someone.write(EVERYTHING.replace("REPLICAS", "3"))
    assert someone("plan", file, "--exit-code").code == 2
    ran = someone("apply", file, "--yes")
    assert (ran.code, ran.err) == (0, ""), ran
    assert someone.has_nothing_to_do(file)

    async def replicas(js: JetStream) -> dict[str, int]:
        found = done(await js.request("STREAM.LIST", within=10))["streams"]
        return {info["config"]["name"]: info["config"]["num_replicas"] for info in found}

    assert set(someone.ask(replicas).values()) == {3}
    exported = someone.write(someone("export").out, "live.yaml")
    assert someone.has_nothing_to_do(exported)
    scaled = someone("apply", someone.write(EVERYTHING.replace("REPLICAS", "1")), "--yes")
    assert scaled.code == 0, scaled


@pytest.mark.parametrize(("leaf", "hub"), [("2.15", "2.11"), ("2.12", "2.15")])
def test_through_a_leaf_everything_lands_in_the_hub(shell: Shell, tmp_path: Path, leaf: str, hub: str) -> None:
    with leaf_and_hub(leaf, hub) as (near, far):
        user = User(near, "u")
        someone = Someone(shell, user, ("--server", near.url, "--user", "u", "--password", "u", "--js-domain", "hub"))
        file = someone.write(EVERYTHING.replace("REPLICAS", "1"))
        ran = someone("apply", file, "--yes")
        assert (ran.code, ran.err) == (0, ""), ran
        assert someone.has_nothing_to_do(file)

        async def names(js: JetStream) -> set[str]:
            return set(done(await js.request("STREAM.NAMES"))["streams"] or [])

        async def records(js: JetStream) -> dict[str, int]:
            return {
                bucket: len([key for key in await keys(js, bucket) if not key.startswith("lease.")])
                for bucket in ("reconciler", "elastic-consumer-groups", "static-consumer-groups")
            }

        async def keys(js: JetStream, bucket: str) -> list[str]:
            found = await read_kv.names(js, bucket, f"$KV.{bucket}.>")
            assert isinstance(found, list), found
            return found

        assert talk(user, names) == set()  # nothing in the leaf's own domain
        assert talk(User(far, "u"), records) == {
            "reconciler": 12, "elastic-consumer-groups": 1, "static-consumer-groups": 1,
        }  # fmt: skip
        smaller = someone.write(EVERYTHING.replace("REPLICAS", "1").replace("members: [a, b]", "members: [a, b, d]"))
        assert someone("apply", smaller, "--yes").code == 0
        assert someone.has_nothing_to_do(smaller)
