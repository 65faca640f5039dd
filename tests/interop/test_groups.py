"""`reconciler groups` looks at members of the reference while they run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.someone import Someone
from tests.interop.cg import Cg, Members
from tests.interop.load import Load, assert_in_order, is_complete, publish
from tests.interop.topologies import elastic, static
from tests.interop.versions import sampled_on
from tests.support.accounts import Account


def active(someone: Someone) -> dict[str, dict[str, Any]]:
    (group,) = json.loads(someone("groups", "active", "--format", "json").out)["groups"]
    return {member["member"]: member for member in group["members"]}


@sampled_on("2.14")
@pytest.mark.parametrize("type_", ["elastic", "static"])
def test_running_members_are_in_good_health_and_all_of_them_are_seen(
    someone: Someone, cg: Cg, account: Account, members: Members, type_: str
) -> None:
    someone.applied(elastic() if type_ == "elastic" else static())
    members.join(type_, "JOBS", "g", "a", "a", "b", "b")
    sent = publish(account, 2)
    members.wait_for(lambda got: is_complete(got, sent), "consuming")
    assert someone("groups", "doctor").out == "nothing found\n1 group examined\n"
    assert {name: one["state"] for name, one in active(someone).items()} == {"a": "pinned", "b": "pinned"}
    assert "currently active members: [a b]" in cg.did(type_, "info", "JOBS", "g")


@sampled_on("2.15")
def test_what_the_reference_alone_created_is_in_good_health(someone: Someone, cg: Cg, members: Members) -> None:
    someone.applied("streams: {JOBS: {subjects: [jobs.*.*]}}\n")
    cg.did("elastic", "create", "JOBS", "g", "6", "--filter", "jobs.*.*", stdin="1\n")
    cg.did("elastic", "add", "JOBS", "g", "a")
    members.join("elastic", "JOBS", "g", "a")
    members.wait_for(lambda _: active(someone)["a"]["state"] != "absent", "joining")
    assert someone("groups", "doctor").out == "nothing found\n1 group examined\n"
    assert "record in the form that orbit.go writes" in someone("groups", "show", "JOBS/g").out


@sampled_on("2.12")
def test_stepping_down_hands_over_to_the_twin_in_order(someone: Someone, account: Account, members: Members) -> None:
    someone.applied(elastic("members: [a]"))
    members.join("elastic", "JOBS", "g", "a", "a")
    with Load(account) as load:
        members.wait_for(lambda got: len(got) > 30, "consuming")
        before = active(someone)["a"]["client"]
        assert before in someone("groups", "step-down", "JOBS/g", "a").out
        members.wait_for(lambda _: active(someone)["a"].get("client", before) != before, "handing over")
    got = members.wait_for(lambda got: is_complete(got, load.sent), "working off the rest")
    assert_in_order(got, load.sent)
