"""Groups that we create: the reference lists, shows, consumes, scales and deletes them."""

from __future__ import annotations

import json

import pytest

from tests.e2e.someone import Someone
from tests.interop.cg import Cg, Members
from tests.interop.load import assert_in_order, is_complete, publish
from tests.interop.topologies import elastic, names, record, static
from tests.interop.versions import sampled_on
from tests.support.accounts import Account

MAPPED = "member_mappings: [{member: a, partitions: [0, 3]}, {member: b, partitions: [1, 2, 4, 5]}]"


@sampled_on("2.11")
def test_the_reference_lists_and_shows_an_elastic_group(someone: Someone, cg: Cg) -> None:
    someone.applied(elastic())
    assert cg.did("elastic", "ls", "JOBS") == "elastic consumer groups: [g]\n"
    shown = cg.did("elastic", "info", "JOBS", "g")
    assert "\nfilter=jobs.*.*, partitioning wildcards [1]\nmembers: [a b]\n" in shown


@sampled_on("2.12")
@pytest.mark.parametrize(
    ("more", "flags"),
    [("", []), (", max_buffered_msg: 1000", ["--max-buffered-msgs", "1000"])],
    ids=["unlimited", "buffered"],
)
def test_creating_it_again_with_the_reference_changes_nothing(
    someone: Someone, cg: Cg, more: str, flags: list[str]
) -> None:
    file = someone.write(elastic(more=more))
    assert someone("apply", file, "--yes").code == 0
    cg.did("elastic", "create", "JOBS", "g", "6", "--filter", "jobs.*.*", *flags, stdin="1\n")
    assert someone.has_nothing_to_do(file)


@sampled_on("2.14", since="2.12")
def test_a_group_over_whole_subjects_is_the_references_own(someone: Someone, cg: Cg) -> None:
    file = someone.write(elastic(filters=""))
    assert someone("apply", file, "--yes").code == 0
    cg.did("elastic", "create", "JOBS", "g", "6")
    assert someone.has_nothing_to_do(file)


@sampled_on("2.15")
@pytest.mark.parametrize("membership", ["members: [a, b]", MAPPED], ids=["members", "mappings"])
@pytest.mark.parametrize("type_", ["elastic", "static"])
def test_two_instances_of_each_member_consume_everything_in_order(
    someone: Someone, account: Account, members: Members, type_: str, membership: str
) -> None:
    someone.applied(elastic(membership) if type_ == "elastic" else static(membership))
    members.join(type_, "JOBS", "g", "a", "a", "b", "b")
    sent = publish(account, 5)
    got = members.wait_for(lambda got: is_complete(got, sent), "consuming")
    assert_in_order(got, sent)
    assert {one.member for one in got} == {"a", "b"}


@sampled_on("2.12")
def test_members_the_reference_adds_are_seen_and_taken_back(someone: Someone, cg: Cg) -> None:
    file = someone.write(elastic())
    assert someone("apply", file, "--yes").code == 0
    cg.did("elastic", "add", "JOBS", "g", "c")
    (change,) = json.loads(someone("plan", file, "--format", "json").out)["changes"]
    (members,) = change["fields"]
    assert (sorted(members["live"]), members["desired"]) == (["a", "b", "c"], ["a", "b"])  # it adds in random order
    assert someone("apply", file, "--yes").code == 0
    assert someone.has_nothing_to_do(file)
    assert "members: [a b]" in cg.did("elastic", "info", "JOBS", "g")


@sampled_on("2.14")
def test_a_membership_left_to_the_reference_is_no_change_whatever_it_does(someone: Someone, cg: Cg) -> None:
    someone.applied(elastic())
    file = someone.write(elastic(membership="").replace(", }", "}"))
    assert someone("apply", file, "--yes").code == 0
    for command in (("add", "c"), ("drop", "a"), ("create-mapping", "x:0,1,2", "y:3,4,5"), ("delete-mapping",)):
        cg.did("elastic", command[0], "JOBS", "g", *command[1:])
        assert someone.has_nothing_to_do(file), command


@sampled_on("2.11")
def test_mappings_the_reference_sets_are_exported_and_edited(someone: Someone, cg: Cg) -> None:
    someone.applied(elastic())
    cg.did("elastic", "create-mapping", "JOBS", "g", "a:0,1,2", "b:3,4,5")
    live = someone("export").out
    file = someone.write(live, "live.yaml")
    assert someone("apply", file, "--yes").out.count("an apply updates its record") == 1
    assert someone.has_nothing_to_do(file)
    someone.write(live.replace("[0, 1, 2]", "[0, 1]").replace("[3, 4, 5]", "[2, 3, 4, 5]"), "live.yaml")
    assert someone("apply", file, "--yes").code == 0
    assert "Member mappings: [{Member:a Partitions:[0 1]} {Member:b Partitions:[2 3 4 5]}]" in cg.did(
        "elastic", "info", "JOBS", "g"
    )


@sampled_on("2.15")
def test_what_is_not_membership_keeps_its_spelling_through_both_hands(someone: Someone, cg: Cg) -> None:
    file = someone.write(elastic(more=", max_buffered_msg: 1000"))
    assert someone("apply", file, "--yes").code == 0
    before = someone.ask(record)
    cg.did("elastic", "add", "JOBS", "g", "c")
    assert someone("apply", file, "--yes").code == 0
    assert someone.ask(record) == before


@sampled_on("2.14")
def test_the_reference_deletes_an_elastic_group_whole(someone: Someone, cg: Cg) -> None:
    file = someone.write(elastic())
    assert someone("apply", file, "--yes").code == 0
    cg.did("elastic", "delete", "-f", "JOBS", "g")
    assert "JOBS-g" not in someone.ask(lambda js: names(js, "STREAM.NAMES"))
    assert "+ elastic_group/JOBS/g" in someone("plan", file).out


@sampled_on("2.12")
@pytest.mark.parametrize("filters", ["", "[jobs.*.*]"], ids=["all", "filtered"])
def test_the_reference_shows_and_deletes_a_static_group(
    someone: Someone, cg: Cg, members: Members, account: Account, filters: str
) -> None:
    file = someone.write(static(filters=filters))
    assert someone("apply", file, "--yes").code == 0
    assert cg.did("static", "ls", "JOBS") == "static consumer groups: [g]\n"
    instances = members.join("static", "JOBS", "g", "a", "b")
    sent = publish(account, 1)
    members.wait_for(lambda got: is_complete(got, sent), "consuming")
    shown = cg.did("static", "info", "JOBS", "g")
    assert "members: [a b]\ncurrently active members: [a b]\n" in shown
    cg.did("static", "delete", "-f", "JOBS", "g")
    for instance in instances:
        assert instance.process.wait(timeout=20) == 0
    assert someone.ask(lambda js: names(js, "CONSUMER.NAMES.JOBS")) == []
    planned = " ".join(someone("plan", file).out.split())
    held = "JOBS holds on *.jobs.*.*" if filters else "JOBS holds"
    assert f"the group starts with everything that {held}: up to {sum(sent.values())} messages" in planned
    assert someone("apply", file, "--yes", "--allow", "SG312=static_group/JOBS/g").code == 0
    members.join("static", "JOBS", "g", "a", "b")
    members.wait_for(lambda got: len(got) == 2 * sum(sent.values()), "consuming everything again")


ONLY_K1 = "[{filter: jobs.k1.*, partitioning_wildcards: [1]}]"
ONE_FILTER: dict[str, tuple[str, str, bool]] = {
    "static, members": ("static", static(filters="[jobs.k1.*]"), True),
    "static, mappings": ("static", static(MAPPED, filters="[jobs.k1.*]"), False),
    "elastic, mappings": ("elastic", elastic(MAPPED, filters=ONLY_K1), True),
}
"""A group → its type, its file, and whether members get only what its filter names."""


@sampled_on("2.15")
@pytest.mark.parametrize("group", ONE_FILTER)
def test_a_plan_and_the_doctor_say_whose_filters_members_ignore(
    someone: Someone, members: Members, account: Account, group: str
) -> None:
    type_, text, is_narrow = ONE_FILTER[group]
    file = someone.write(text)
    planned = someone("plan", file).out
    someone.applied(text)
    members.join(type_, "JOBS", "g", "a", "b")
    sent = publish(account, 3)
    wanted = {"k1": 3} if is_narrow else sent
    got = members.wait_for(lambda got: is_complete(got, wanted), "consuming")
    assert {message.key for message in got} == set(wanted)
    examined = someone("groups", "doctor").out
    assert ("SG544" not in planned, "GR134" not in examined) == (is_narrow, is_narrow), examined


@sampled_on("2.11")
def test_members_that_a_plan_calls_shut_out_of_a_work_queue_cannot_start(someone: Someone, cg: Cg) -> None:
    us = "    retention: workqueue\n    consumers: {us: {filter_subject: '*.jobs.k2.*', ack_policy: explicit}}\n    groups:\n"
    mapped = static(MAPPED, filters="[jobs.k1.*]").replace("    groups:\n", us)
    said = json.loads(someone("plan", someone.write(mapped), "--format", "json").out)
    (shut_out,) = [
        verdict for change in said["changes"] for verdict in change.get("verdicts", ()) if verdict["code"] == "XX558"
    ]
    assert "consumer us takes `*.jobs.k2.*` of it" in shut_out["message"]
    someone.applied(mapped)
    assert "filtered consumer not unique on workqueue stream" in cg("static", "consume", "JOBS", "g", "a").said


@sampled_on("2.11")
def test_a_legacy_record_that_was_migrated_is_shown_and_consumed(
    someone: Someone, account: Account, cg: Cg, members: Members
) -> None:
    old = {"max_members": 6, "filter": "jobs.*.*", "partitioning_wildcards": [1], "members": ["a", "b"]}
    file = someone.write(elastic())
    assert someone("apply", file, "--yes").code == 0
    someone.ask(
        lambda js: js.put_entry("elastic-consumer-groups", "JOBS.g", json.dumps(old).encode(), expected_revision=1)
    )
    assert someone("groups", "migrate", "JOBS/g", "--yes").code == 0
    assert someone.has_nothing_to_do(file)
    assert "\nfilter=jobs.*.*, partitioning wildcards [1]\nmembers: [a b]\n" in cg.did("elastic", "info", "JOBS", "g")
    members.join("elastic", "JOBS", "g", "a", "b")
    sent = publish(account, 5)
    assert_in_order(members.wait_for(lambda got: is_complete(got, sent), "consuming"), sent)


@sampled_on("2.14")
def test_mappings_that_move_least_are_consumed_by_the_reference(
    someone: Someone, account: Account, members: Members
) -> None:
    file = someone.write(elastic())
    assert someone("apply", file, "--yes").code == 0
    members.join("elastic", "JOBS", "g", "a", "b", "c")
    edited = someone("groups", "plan-members", "JOBS/g", file, "--add", "c", "--mappings", "--write")
    assert edited.code == 0, edited
    assert someone("apply", file, "--yes").code == 0
    sent = publish(account, 20)
    got = members.wait_for(lambda got: is_complete(got, sent), "consuming")
    assert_in_order(got, sent)
    assert {one.member for one in got} == {"a", "b", "c"}


@sampled_on("2.12")
def test_a_living_member_that_a_dead_one_blocks_is_waited_for_and_a_dead_one_is_not_for_ever(
    someone: Someone, account: Account, members: Members
) -> None:
    """b dies while it works on a message: its consumer keeps its partitions from a for a while."""
    someone.applied(elastic())
    (a,) = members.join("elastic", "JOBS", "g", "a")
    (b,) = members.join("elastic", "JOBS", "g", "b", sleep="60s")
    sent = publish(account, 1)
    members.wait_for(lambda got: {one.member for one in got} == {"a", "b"}, "both consuming")
    b.kill()
    someone.applied(elastic("members: [a]"))
    members.wait_for(lambda got: is_complete([one for one in got if one.member == "a"], sent), "a consuming all")
    a.kill()
    ran = someone.apply(elastic("members: [a, c]"))
    assert "AP111" in ran.out + ran.err
    assert "a consumed before and did not again within" in " ".join((ran.out + ran.err).split())
