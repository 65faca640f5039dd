"""Groups that the reference creates: exported, planned as empty, scaled and deleted by us."""

from __future__ import annotations

import pytest

from tests.e2e.someone import Someone
from tests.interop.cg import Cg, Members
from tests.interop.load import assert_in_order, is_complete, publish
from tests.interop.topologies import STATIC, names, record
from tests.interop.versions import sampled_on, some_of
from tests.support.accounts import Account

JOBS = "streams: {JOBS: {subjects: [jobs.*.*]}}\n"

ELASTIC = {
    "filter": (["6", "--filter", "jobs.*.*"], "1\n"),
    "two-filters": (["6", "--filter", "jobs.a.*", "--filter", "jobs.b.*"], "1\n1\n"),
    "both-wildcards": (["6", "--filter", "jobs.*.*"], "2 1\n"),
    "buffers": (
        ["6", "--filter", "jobs.*.*", "--max-buffered-msgs", "100", "--max-buffered-bytes", "1048576"], "1\n",
    ),
    "unlimited": (
        ["6", "--filter", "jobs.*.*", "--max-buffered-msgs=-1", "--max-buffered-bytes=-1"], "1\n",
    ),
}  # fmt: skip


def exported(someone: Someone) -> str:
    """The account as a file, adopted and with nothing to do."""
    ran = someone("export")
    assert (ran.code, ran.err) == (0, ""), ran
    file = someone.write(ran.out, "live.yaml")
    plan = someone("plan", file, "--exit-code")
    assert plan.code == 0, plan
    assert someone("apply", file, "--yes").code == 0
    assert someone.has_nothing_to_do(file)
    return ran.out


@sampled_on("2.11")
@pytest.mark.parametrize("form", some_of(ELASTIC, "two-filters", "unlimited"))
def test_an_elastic_group_is_exported_and_its_plan_is_empty(someone: Someone, cg: Cg, form: str) -> None:
    arguments, wildcards = ELASTIC[form]
    someone.applied(JOBS)
    cg.did("elastic", "create", "JOBS", "g", *arguments, stdin=wildcards)
    cg.did("elastic", "add", "JOBS", "g", "b", "a")
    before = someone.ask(record)
    assert "members: [" in exported(someone)
    assert someone.ask(record) == before


@sampled_on("2.15", since="2.12")
def test_a_group_over_whole_subjects_is_exported_too(someone: Someone, cg: Cg) -> None:
    someone.applied(JOBS)
    cg.did("elastic", "create", "JOBS", "g", "6")
    assert "type: elastic" in exported(someone)


STATICALLY = {
    "balanced": ["balanced", "JOBS", "g", "6", "a", "b"],
    "mapped": ["mapped", "JOBS", "g", "6", "a:0,1,2", "b:3,4,5"],
    "balanced-filtered": ["balanced", "JOBS", "g", "6", "a", "b", "--filter", "jobs.*.*"],
    "mapped-filtered": ["mapped", "JOBS", "g", "6", "a:0,1,2", "b:3,4,5", "--filter", "jobs.*.*"],
}


@sampled_on("2.14")
@pytest.mark.parametrize("form", some_of(STATICALLY, "balanced", "mapped-filtered"))
def test_a_static_group_is_exported_and_its_plan_is_empty(someone: Someone, cg: Cg, form: str) -> None:
    someone.applied(STATIC)
    cg.did("static", "create", *STATICALLY[form])
    assert "type: static" in exported(someone)


@sampled_on("2.12")
def test_running_members_of_the_reference_follow_our_edit(
    someone: Someone, cg: Cg, account: Account, members: Members
) -> None:
    someone.applied(JOBS)
    cg.did("elastic", "create", "JOBS", "g", "6", "--filter", "jobs.*.*", stdin="1\n")
    cg.did("elastic", "add", "JOBS", "g", "a")
    members.join("elastic", "JOBS", "g", "a", "b")
    live = exported(someone)
    sent = publish(account, 2)
    members.wait_for(lambda got: is_complete(got, sent), "consuming with one member")
    file = someone.write(live.replace("members: [a]", "members: [a, b]"), "live.yaml")
    assert someone("apply", file, "--yes").code == 0
    members.wait_for(lambda _: len(someone.ask(lambda js: names(js, "CONSUMER.NAMES.JOBS-g"))) == 2, "joining")
    more = publish(account, 4, first=3)
    got = members.wait_for(lambda got: is_complete(got, more), "consuming with two members")
    assert_in_order(got, more)
    assert {one.member for one in got} == {"a", "b"}


@sampled_on("2.14")
def test_an_elastic_group_of_theirs_is_removed_by_us_and_its_members_end_well(
    someone: Someone, cg: Cg, members: Members, account: Account
) -> None:
    someone.applied(JOBS)
    cg.did("elastic", "create", "JOBS", "g", "6", "--filter", "jobs.*.*", stdin="1\n")
    cg.did("elastic", "add", "JOBS", "g", "a")
    instances = members.join("elastic", "JOBS", "g", "a", "a")
    sent = publish(account, 1)
    members.wait_for(lambda got: is_complete(got, sent), "consuming")
    exported(someone)
    someone.applied(JOBS + removed("elastic"))
    for instance in instances:
        assert instance.process.wait(timeout=20) == 0
    assert "no error" in instances[0].said.read_text()
    assert someone.ask(lambda js: names(js, "STREAM.NAMES")) == ["JOBS", "KV_elastic-consumer-groups", "KV_reconciler"]
    assert cg.did("elastic", "ls", "JOBS") == "elastic consumer groups: []\n"


@sampled_on("2.12")
def test_removing_a_static_group_takes_exactly_its_members_consumers(
    someone: Someone, cg: Cg, members: Members, account: Account
) -> None:
    text = STATIC + "    consumers: {g-other: {ack_policy: explicit}}\n"
    someone.applied(text)
    cg.did("static", "create", "balanced", "JOBS", "g", "6", "a", "b")
    members.join("static", "JOBS", "g", "a", "b")
    sent = publish(account, 1)
    members.wait_for(lambda got: is_complete(got, sent), "consuming")
    exported(someone)
    someone.applied(text + removed("static"))
    assert someone.ask(lambda js: names(js, "CONSUMER.NAMES.JOBS")) == ["g-other"]


def removed(type_: str) -> str:
    return f"removed: [{{address: {type_}_group/JOBS/g, reason: over}}]\n"
