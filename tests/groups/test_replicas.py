"""The queue of an elastic group beside the replicas of its source, in a real cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.groups import making
from tests.support.accounts import Account
from tests.support.jetstream import done


def declared(replicas: int) -> str:
    group = "{type: elastic, max_members: 4, members: [a], partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]}"
    return f"streams: {{S: {{subjects: [j.*], num_replicas: {replicas}, groups: {{g: {group}}}}}}}\n"


async def replicas(js: JetStream) -> int:
    return int(done(await js.request("STREAM.INFO.S-g"))["config"]["num_replicas"])


def test_the_queue_is_raised_with_its_source_and_never_lowered(
    tmp_path: Path, clustered_account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = somebody(tmp_path, clustered_account, monkeypatch)
    someone.applied(declared(1))
    someone.ask(lambda js: making.publish(js, 8))
    (change,) = [
        one
        for one in json.loads(someone.plan(declared(3), "--format", "json").out)["changes"]
        if one["address"] == "elastic_group/S/g"
    ]
    assert [(one["path"], one.get("live"), one["desired"]) for one in change["fields"]] == [("queue_replicas", None, 3)]
    someone.applied(declared(3))
    assert someone.ask(replicas) == 3
    assert someone.has_nothing_to_do(someone.write(declared(3)))
    someone.applied(declared(1))
    assert someone.ask(replicas) == 3
    assert someone.has_nothing_to_do(someone.write(declared(1)))
