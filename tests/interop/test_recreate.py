"""Groups made anew: the reference's instances end, and those started again go on where they stood."""

from __future__ import annotations

from tests.e2e.someone import Someone
from tests.interop.cg import Cg, Members
from tests.interop.load import Load, assert_in_order, is_complete, publish
from tests.interop.topologies import elastic
from tests.interop.versions import FULL, sampled_on, sampled_on_and_clustered
from tests.support.accounts import Account


def of(partitions: int, replicas: int = 1) -> str:
    return elastic(replicas=replicas).replace("max_members: 6", f"max_members: {partitions}")


def made_anew(someone: Someone, partitions: int, replicas: int = 1) -> str:
    file = someone.write(of(partitions, replicas))
    ran = someone("apply", file, "--yes", "--allow", "EG101=elastic_group/JOBS/g")
    assert ran.code == 0, ran.out
    return file


@sampled_on("2.14")
def test_afterwards_creating_it_with_the_reference_changes_nothing(
    someone: Someone, account: Account, cg: Cg, members: Members
) -> None:
    someone.applied(of(6))
    sent = publish(account, 1)
    file = made_anew(someone, 8)
    cg.did("elastic", "create", "JOBS", "g", "8", "--filter", "jobs.*.*", stdin="1\n")
    assert someone.has_nothing_to_do(file)
    members.join("elastic", "JOBS", "g", "a", "b")
    assert_in_order(members.wait_for(lambda got: is_complete(got, sent), "consuming"), sent)


@sampled_on_and_clustered("2.15")
def test_instances_end_and_started_again_they_miss_nothing_under_load(
    someone: Someone, account: Account, members: Members
) -> None:
    replicas = 3 if account.cluster else 1
    someone.applied(of(6, replicas))
    with Load(account) as load:
        for partitions in (8, 4) if FULL else (4,):
            instances = members.join("elastic", "JOBS", "g", "a", "a", "b", "b", sleep="5ms")
            members.wait_for_more(50, "consuming")
            file = made_anew(someone, partitions, replicas)
            for instance in instances:
                assert instance.process.wait(timeout=20) == 0
        members.join("elastic", "JOBS", "g", "a", "a", "b", "b")
        members.wait_for_more(50, "consuming again")
    got = members.wait_for(lambda got: is_complete(got, load.sent), "working off the rest")
    assert_in_order(got, load.sent)
    assert someone.has_nothing_to_do(file)


@sampled_on("2.11")
def test_nothing_published_since_it_is_resuming_and_the_next_apply_settles_it(
    someone: Someone, account: Account, cg: Cg, members: Members
) -> None:
    someone.applied(of(6))
    instances = members.join("elastic", "JOBS", "g", "a", "b")
    sent = publish(account, 1)
    members.wait_for(lambda got: is_complete(got, sent), "consuming")
    file = made_anew(someone, 8)
    assert "is resuming" in someone("plan", file).out
    assert "resuming: the queue was recreated to start at message" in someone("groups", "show", "JOBS/g").out
    assert "still has the start sequence" in someone("groups", "doctor", "JOBS/g").out
    for instance in instances:
        instance.process.wait(timeout=20)
    members.join("elastic", "JOBS", "g", "a", "b")
    sent = publish(account, 2, first=2)
    assert_in_order(members.wait_for(lambda got: is_complete(got, sent), "consuming again"), sent)
    assert someone("apply", file, "--yes").code == 0
    cg.did("elastic", "create", "JOBS", "g", "8", "--filter", "jobs.*.*", stdin="1\n")
    assert someone.has_nothing_to_do(file)
