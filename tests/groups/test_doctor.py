"""Every finding of the doctor, on a group that was in good health before one thing was broken."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.groups.groups import examine_groups
from reconciler.kinds.fields.known import V2_15
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.wire.version import Version
from reconciler.server.read import lost_answers as settled
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import Alone
from tests.groups import making
from tests.groups.making import OWNED, RECORD, queue, source
from tests.power.recording import STREAMS, frozen_copy
from tests.quantities.losing import applied, planned
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream, talk
from tests.support.servers import NatsServer, running
from tests.support.versions import on_every_version

BEFORE_2_15 = [minor for minor in MINORS if Version.parse(minor) < V2_15]
FROM_2_15 = [minor for minor in MINORS if minor not in BEFORE_2_15]
Breaking = Callable[[JetStream], Awaitable[Any]]


async def findings(js: JetStream) -> list[Diagnostic]:
    found = (await examine_groups(js))[1]
    assert all(one.fix and one.address for one in found)
    return found


def codes(found: list[Diagnostic]) -> set[str]:
    return {one.code for one in found}


@on_every_version
def test_a_group_in_good_health_has_no_findings(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        return await findings(js)

    assert talk(account, look) == []


def test_a_static_group_in_good_health_has_no_findings(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.static(js)
        return await findings(js)

    assert talk(account, look) == []


def record(**changed: Any) -> Breaking:
    said = {name: value for name, value in {**RECORD, **changed}.items() if value is not None}
    return lambda js: making.put(js, said)


def text(said: str) -> Breaking:
    return lambda js: making.put(js, said)


def request(endpoint: str) -> Breaking:
    return lambda js: js.request(endpoint)


def edited(**changed: Any) -> Breaking:
    async def edit(js: JetStream) -> None:
        done(await js.request("STREAM.UPDATE.S-g", {"name": "S-g", **queue(**changed)}))

    return edit


def remade(**changed: Any) -> Breaking:
    async def make(js: JetStream) -> None:
        done(await js.request("STREAM.DELETE.S-g"))
        await make_stream(js, "S-g", **queue(**changed))

    return make


def member_b(filters: list[str] = OWNED["b"], **changed: Any) -> Breaking:
    return lambda js: making.again(js, "b", filters, **changed)


async def without_record(js: JetStream) -> None:
    await settled.delete(js, "elastic-consumer-groups", "S.g", expected_revision=None)


async def a_deaf_bucket(js: JetStream) -> None:
    info = done(await js.read("STREAM.INFO.KV_elastic-consumer-groups"))
    edited_bucket = {**info["config"], "subjects": ["elsewhere"]}
    done(await js.request("STREAM.UPDATE.KV_elastic-consumer-groups", edited_bucket))


async def abandoned(js: JetStream) -> None:
    done(await js.request("CONSUMER.DELETE.S-g.b"))
    await making.consumer(js, "b", OWNED["b"])


async def a_stranger(js: JetStream) -> None:
    done(await js.request("CONSUMER.DELETE.S-g.b"))
    await making.consumer(js, "zombie", OWNED["b"])


async def in_other_partitions(js: JetStream) -> None:
    await remade(sources=[source(8)])(js)
    await making.publish(js, 30)
    await making.sourced(js, 30)


async def full(js: JetStream) -> None:
    await record(max_buffered_msg=3)(js)
    await remade(max_msgs=3)(js)
    await making.publish(js, 10)
    await making.until(js, lambda info: info["state"]["messages"] == 3 and info["sources"][0]["lag"] > 0)


async def full_from_a_source_that_drops(js: JetStream) -> None:
    done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["j.*"], "max_msgs": 100}))
    await full(js)


async def starved(js: JetStream) -> None:
    limits = {"max_ack_pending": 5}
    done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["j.*"], "consumer_limits": limits}))
    await remade()(js)
    await making.until(js, lambda info: "error" in info["sources"][0])


NET = source()
NET["subject_transforms"][0]["dest"] = "{{Partition(4,1)}}.j.{{wildcard(1)}}"
BOTH = [{"member": "a", "partitions": [0, 1]}, {"member": "b", "partitions": [2, 3]}]
TWO_FILTERS = [{"filter": "j.*", "partitioning_wildcards": [1]}, {"filter": "k.*", "partitioning_wildcards": [1]}]

BROKEN: dict[str, tuple[str, Breaking]] = {
    "queue deleted": ("GR101", request("STREAM.DELETE.S-g")),
    "record deleted": ("GR102", without_record),
    "subjects of the bucket edited": ("GR152", a_deaf_bucket),
    "source deleted": ("GR103", request("STREAM.DELETE.S")),
    "no JSON": ("GR110", text("{")),
    "not an object": ("GR110", text("[]")),
    "wrong type": ("GR110", text('{"max_members":"four"}')),
    "first version": ("GR111", record(partitioning_filters=None, filter="j.*", partitioning_wildcards=[1])),
    "hyphens": ("GR111", record(**{"member-mappings": BOTH, "members": None})),
    "members and mappings": ("GR112", record(member_mappings=BOTH)),
    "partition given to nobody": ("GR112", record(members=None, member_mappings=BOTH[:1])),
    "partition that does not exist": (
        "GR112", record(members=None, member_mappings=[*BOTH, {"member": "c", "partitions": [4]}]),
    ),
    "no partitions": ("GR110", record(max_members=0)),
    "wildcard beyond the filter": (
        "GR112", record(partitioning_filters=[{"filter": "j.*", "partitioning_wildcards": [2]}]),
    ),
    "transform edited": ("GR120", edited(sources=[source(8)])),
    "made by .NET": ("GR121", remade(sources=[NET], discard="old", allow_direct=False)),
    "limits edited": ("GR122", edited(max_msgs=100)),
    "settings edited": ("GR122", edited(max_age=3_600_000_000_000, description="mine", allow_direct=False)),
    "not fed": ("GR105", starved),
    "start sequence left": ("GR123", remade(sources=[source(opt_start_seq=1)])),
    "messages outside": ("GR130", in_other_partitions),
    "no members": ("GR131", record(members=None)),
    "too many members": ("GR132", record(members=["a", "b", "c", "d", "e"])),
    "mappings with filters": (
        "GR133", record(members=None, member_mappings=BOTH, partitioning_filters=TWO_FILTERS),
    ),
    "consumer missing": ("GR140", request("CONSUMER.DELETE.S-g.b")),
    "nobody pulls": ("GR141", abandoned),
    "stranger": ("GR142", a_stranger),
    "old priority group": ("GR143", member_b(priority_groups=["b"])),
    "not pinned by policy": ("GR143", member_b(priority_policy="overflow")),
    "other settings": ("GR144", member_b(ack_wait=7_000_000_000)),
    "other filters": ("GR145", member_b(["2.>", "3.>"])),
    "source drops": ("GR160", full_from_a_source_that_drops),
    "full": ("GR161", full),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_one_thing_broken_is_found_and_has_a_way_out(account: Account, what: str) -> None:
    code, breaking = BROKEN[what]

    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        await breaking(js)
        return await findings(js)

    assert code in codes(talk(account, look))


@on_every_version
def test_an_edited_record_goes_back_as_its_queue_says_and_nobody_purges_a_message(account: Account) -> None:
    """What its members could not reach before, they all own then; the doctor names exactly what to write."""

    async def look(js: JetStream) -> tuple[dict[str, Diagnostic], list[Diagnostic]]:
        await making.elastic(js)
        await making.publish(js, 30)
        await making.sourced(js, 30)
        await record(max_members=2, partitioning_filters=[{"filter": "j.*"}])(js)
        edited_findings = await findings(js)
        told = next(finding.fix or "" for finding in edited_findings if finding.code == "GR120")
        said = json.loads("{" + told.split("`")[1] + "}")
        await record(**said)(js)
        return {finding.code: finding for finding in edited_findings}, await findings(js)

    found, afterwards = talk(account, look)
    said = '"max_members": 4, "partitioning_filters": [{"filter": "j.*", "partitioning_wildcards": [1]}]'
    assert f"is not the queue of this record, but of one that says `{said}`" in found["GR120"].message
    assert (found["GR120"].fix or "").startswith(
        f"write `{said}` into record S.g of bucket elastic-consumer-groups, with its members stopped, which loses nothing"
    )
    assert found["GR130"].message.endswith("in partitions without an owner (2, 3)")
    assert (found["GR130"].fix or "").startswith("write the record as GR120 says")
    assert afterwards == []


def test_messages_in_partitions_that_no_record_makes_come_once_more_from_the_source(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        await remade(sources=[source(8)])(js)
        await making.publish(js, 30)
        await making.sourced(js, 30)
        config = done(await js.read("STREAM.INFO.S-g"))["config"]
        done(await js.request("STREAM.UPDATE.S-g", {**config, "sources": [source(4)]}))
        return await findings(js)

    (found,) = [finding for finding in talk(account, look) if finding.code == "GR130"]
    assert found.fix == (
        "recreate the group with another max_members (EG101), which copies messages in partitions from 4 on once more, as far "
        "as S still stores them"
    )


def test_of_a_queue_whose_settings_were_edited_nobody_fears_for_its_keys(account: Account) -> None:
    async def look(js: JetStream) -> list[str]:
        await making.elastic(js)
        await edited(max_age=3_600_000_000_000, allow_direct=False)(js)
        return [one.message for one in await findings(js) if one.code in ("GR120", "GR122")]

    assert talk(account, look) == [
        "S-g has other settings than its record: allow_direct is false, max_age is 1h. No member gets the messages "
        "that they delete; the server refuses the reference's own create of the group (10058)"
    ]


def test_the_tools_own_start_sequence_is_not_counted_among_what_somebody_edited(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        await remade(sources=[source(opt_start_seq=7)], max_msgs=100)(js)
        return await findings(js)

    found = {one.code: one for one in talk(account, look)}
    assert "other limits than its record: max_msgs is 100. " in found["GR122"].message
    assert "still has the start sequence 7 " in found["GR123"].message
    assert (found["GR123"].fix or "").startswith("set right first what else differs (max_msgs); then apply once more")


STATICALLY: dict[str, tuple[str, dict[str, Any]]] = {
    "other number": ("GR124", {"subject_transform": {"src": "j.*", "dest": "{{partition(8,1)}}.j.{{wildcard(1)}}"}}),
    "no transform": ("GR125", {"subject_transform": None}),
    "uncovered": ("GR126", {"subjects": ["j.*", "k.*"]}),
}


@pytest.mark.parametrize("what", STATICALLY)
def test_a_static_groups_stream_that_does_not_fit_is_found(account: Account, what: str) -> None:
    code, changed = STATICALLY[what]

    async def look(js: JetStream) -> list[Diagnostic]:
        await making.static(js, **changed)
        return await findings(js)

    assert codes(talk(account, look)) == {code}


def test_subjects_that_a_static_group_is_not_for_need_no_partition_number(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.static(js, subjects=["j.*", "k.*"])
        before = await findings(js)
        await making.put(js, {**making.STATIC, "filters": ["j.*"]}, "static")
        return [*before, *await findings(js)]

    assert [one.severity for one in talk(account, look) if one.code == "GR126"] == ["warning"]


STATICALLY_MAPPED = {"max_members": 4, "filters": ["j.a"], "member_mappings": BOTH}
NARROW = {"a": ["0.j.a", "1.j.a"], "b": ["2.j.a", "3.j.a"]}
FILTERED: dict[str, tuple[dict[str, Any], dict[str, list[str]], set[str]]] = {
    "mapped, as the reference consumes it": (STATICALLY_MAPPED, making.STATICALLY_OWNED, {"GR134"}),
    "mapped, as others consume it": (STATICALLY_MAPPED, NARROW, set()),
    "mapped, with a filter of everything": ({**STATICALLY_MAPPED, "filters": [">"]}, making.STATICALLY_OWNED, set()),
    "plain members": ({**making.STATIC, "filters": ["j.a"]}, NARROW, set()),
}
"""A static group → its record, the filters of its members' consumers, and what is found."""


@on_every_version
@pytest.mark.parametrize("group", FILTERED)
def test_filters_that_members_with_mappings_ignore_are_found(account: Account, group: str) -> None:
    record, owned, found = FILTERED[group]

    async def look(js: JetStream) -> list[Diagnostic]:
        await making.static(js, record, owned)
        return await findings(js)

    seen = talk(account, look)
    assert codes(seen) == found
    assert all("consumers g-a, g-b take all that lies in the partitions" in finding.message for finding in seen)


@on_every_version
@pytest.mark.parametrize("filters", ["*.j.b", None], ids=["filtered", "of everything"])
def test_a_consumer_that_keeps_members_out_of_a_work_queue_is_named(account: Account, filters: str | None) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.static(js, STATICALLY_MAPPED, {}, retention="workqueue")
        before = await findings(js)
        assert all(finding.fix == "start an instance of a" for finding in before if "member a" in finding.message)
        await make_consumer(js, "S", "other", **({"filter_subject": filters} if filters else {}))
        body = {
            "stream_name": "S", "action": "create",
            "config": {"durable_name": "g-a", "ack_policy": "explicit", "filter_subjects": ["0.>", "1.>"]},
        }  # fmt: skip
        assert isinstance(await js.request("CONSUMER.CREATE.S.g-a", body), Refusal)
        return await findings(js)

    seen = talk(account, look)
    assert [finding.code for finding in seen] == ["GR140", "GR140"]
    assert (
        f"the server refuses it one: S is a work queue, of which consumer other takes `{filters or '>'}`"
        in seen[0].message
    )
    assert "remove consumer other; then start an instance of a" in (seen[0].fix or "")


def test_what_lies_beside_the_filter_of_mapped_members_needs_a_partition_number_too(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.static(js, {**STATICALLY_MAPPED, "filters": ["j.*"]}, subjects=["j.*", "k.*"])
        return await findings(js)

    assert codes(talk(account, look)) == {"GR126", "GR134"}


def test_what_a_full_queue_has_not_taken_in_is_told_as_the_least_it_can_be(account: Account) -> None:
    """A server's lag leaves out what is on its way."""

    async def look(js: JetStream) -> list[str]:
        await making.elastic(js)
        await full(js)
        return [one.message for one in await findings(js) if one.code == "GR161"]

    (said,) = talk(account, look)
    assert "; it is at least" in said
    assert "it copies nothing more" in said


@on_every_version
def test_a_full_queue_of_an_interest_stream_is_said_to_lose_messages_before_2_14(account: Account) -> None:
    async def look(js: JetStream) -> tuple[int, Diagnostic]:
        await making.elastic(js)
        for stream in ("S-g", "S"):
            done(await js.request(f"STREAM.DELETE.{stream}"))
        await make_stream(js, "S", subjects=["j.*"], retention="interest")
        await make_stream(js, "S-g", **queue(max_msgs=2))
        async with asyncio.timeout(60):
            while done(await js.read("STREAM.INFO.S-g"))["state"]["messages"] < 2:
                await making.publish(js, 1)
        await making.publish(js, 10)
        is_kept = account.minor not in ("2.11", "2.12")
        await making.until(
            js,
            lambda info: info["state"]["messages"] >= 10 if is_kept else not info["state"]["messages"],
            "STREAM.INFO.S",
        )
        (said,) = [one for one in await findings(js) if one.code == "GR161"]
        return done(await js.read("STREAM.INFO.S"))["state"]["messages"], said

    kept, said = talk(account, look)
    assert ("members may never get that" in said.message) == (kept == 0)
    assert said.severity == ("warning" if kept else "error")


@on_every_version
def test_a_queue_with_a_lower_limit_than_it_holds_is_said_to_copy_nothing(account: Account) -> None:
    """Its server keeps what is stored, and the plan and the doctor say the same."""

    async def look(js: JetStream) -> tuple[int, list[str]]:
        await making.elastic(js)
        await making.publish(js, 6)
        await making.sourced(js, 6)
        await edited(max_msgs=3)(js)
        await making.publish(js, 2)
        await asyncio.sleep(1)
        stored = done(await js.read("STREAM.INFO.S-g"))["state"]["messages"]
        return stored, [one.message for one in await findings(js) if one.code in ("GR122", "GR161")]

    stored, found = talk(account, look)
    assert stored == 6
    assert len(found) == 2
    assert ["is full (max_msgs 3)" in one.lower() for one in found] == [True, True], found
    assert not any("not affected" in one for one in found)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (2, "makes 2 partitions, and the record into 4: the highest get no message, and b idles"),
        (3, "divides into 3 partitions, and the record into 4: the highest get no message"),
    ],
)
def test_only_members_without_any_partition_are_said_to_idle(account: Account, made: int, says: str) -> None:
    async def look(js: JetStream) -> list[str]:
        transform = {"src": "j.*", "dest": f"{{{{partition({made},1)}}}}.j.{{{{wildcard(1)}}}}"}
        await making.static(js, subject_transform=transform)
        await making.put(js, {**making.STATIC, "max_members": 4, "members": ["a", "b"]}, "static")
        return [one.message for one in await findings(js) if one.code == "GR124"]

    (said,) = talk(account, look)
    assert said.endswith(says.replace("makes", "divides into"))


@on_every_version
def test_a_full_queue_that_discards_old_messages_drops_them(account: Account) -> None:
    async def look(js: JetStream) -> tuple[Any, list[Diagnostic]]:
        await making.elastic(js)
        await remade(discard="old", max_msgs=1)(js)
        await making.publish(js, 6)
        await making.sourced(js, 6)
        return done(await js.read("STREAM.INFO.S-g"))["state"], await findings(js)

    state, found = talk(account, look)
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (1, 6, 6)  # it copied all, and dropped five
    (said,) = [one.message for one in found if one.code == "GR161"]
    assert said.startswith(
        "S-g is full (max_msgs 1) and has `discard: old`: for each new message it drops its oldest ones, which no member then gets"
    )
    assert "copies nothing more" not in said


async def with_five_messages(js: JetStream) -> None:
    await making.elastic(js)
    await making.publish(js, 5)
    await making.sourced(js, 5)


async def with_a_recreated_source(js: JetStream) -> None:
    await with_five_messages(js)
    done(await js.request("STREAM.DELETE.S"))
    await make_stream(js, "S", subjects=["j.*"])


@pytest.mark.parametrize("account", BEFORE_2_15, indirect=True)
def test_a_queue_that_skips_messages_of_a_recreated_source_is_found(account: Account) -> None:
    async def look(js: JetStream) -> tuple[list[Diagnostic], int]:
        await with_a_recreated_source(js)
        found = await findings(js)
        await making.publish(js, 6)
        await making.sourced(js, 6)  # the first message after those that the old stream had
        return found, done(await js.read("STREAM.INFO.S-g"))["state"]["messages"]

    found, queued = talk(account, look)
    (said,) = [one for one in found if one.code == "GR104"]
    assert (said.severity, queued) == (Severity.ERROR, 6)
    assert said.message == (
        "stream S was replaced: S-g has copied its message 5, and now it ends at 0. The queue may silently skip new messages up to there"
    )


@pytest.mark.parametrize("minor", FROM_2_15)
def test_a_server_that_starts_over_with_a_recreated_source_is_waited_for(minor: str) -> None:
    async def at_first(js: JetStream) -> list[Diagnostic]:
        await with_a_recreated_source(js)
        return await findings(js)

    async def later(js: JetStream) -> tuple[list[Diagnostic], list[Diagnostic]]:
        await making.until(js, lambda info: not info["sources"][0].get("seq"))
        noticed = await findings(js)  # the newest message of the queue is still one of the old stream
        await making.publish(js, 3)
        await making.sourced(js, 8)
        return noticed, await findings(js)

    with running(minor) as server:
        found = talk(Alone(server), at_first)
        server.restart()  # a server that goes on running notices it later
        later_findings = talk(Alone(server), later)
    (said,) = [one for one in found if one.code == "GR104"]
    assert (said.severity, said.fix) == (Severity.NOTE, "wait for that, and run this again")
    assert said.message == (
        "stream S was replaced: S-g has copied its message 5, and now it ends at 0. The server notices that within about two "
        "minutes, and then copies everything that the new stream holds"
    )
    assert [codes(found) & {"GR104"} for found in later_findings] == [set(), set()]


@pytest.mark.parametrize("minor", MINORS)
def test_a_queue_that_may_skip_messages_of_a_source_that_went_back_is_found(minor: str, tmp_path: Path) -> None:
    """The queue of 2.11 continues after the end of its source, wherever that is; later ones after what they have copied."""
    queued_then = 14 if minor == "2.11" else 11  # of 14 that were published

    async def more(js: JetStream) -> None:
        await making.publish(js, 3)
        await making.sourced(js, 8)

    async def look(js: JetStream) -> tuple[list[Diagnostic], int]:
        found = await findings(js)
        if minor == "2.11":  # before, it does not copy
            await making.until(js, lambda info: info["sources"][0].get("active", -1) >= 0)
        await making.publish(js, 6)  # the stream ends at 11, and the queue has its messages up to 8
        await making.sourced(js, queued_then)
        return found, done(await js.read("STREAM.INFO.S-g"))["state"]["messages"]

    with running(minor) as server:
        talk(Alone(server), with_five_messages)
        frozen_copy(server, tmp_path / "older")
        talk(Alone(server), more)
        server.stop()
        shutil.rmtree(server.home / STREAMS / "S")
        shutil.copytree(tmp_path / "older" / "S", server.home / STREAMS / "S")
        server.start()
        found, queued = talk(Alone(server), look)
    (said,) = [one for one in found if one.code == "GR104"]
    assert (said.severity, queued) == (Severity.ERROR, queued_then)
    assert said.message.startswith(
        "stream S has lost its last messages, as after a power cut: S-g has copied its message 8"
    )


@on_every_version
def test_a_source_that_was_merely_purged_is_not_taken_for_another(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        await making.publish(js, 5)
        await making.sourced(js, 5)
        done(await js.request("STREAM.PURGE.S"))
        return await findings(js)

    assert "GR104" not in codes(talk(account, look))


def test_replicas_that_stayed_behind_are_found(clustered_account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await make_stream(js, "S", subjects=["j.*"], num_replicas=3)
        await make_bucket(js, "elastic-consumer-groups")
        await making.put(js, RECORD)
        await make_stream(js, "S-g", **queue())
        return await findings(js)

    assert {"GR150", "GR151"} <= codes(talk(clustered_account, look))


DENIED = """
authorization { users: [
  {user: all, password: all},
  {user: some, password: some, permissions: {publish: {deny: [
    "$JS.API.DIRECT.GET.KV_elastic-consumer-groups", "$JS.API.STREAM.MSG.GET.KV_elastic-consumer-groups",
    "$JS.API.STREAM.INFO.KV_elastic-consumer-groups", "$JS.API.CONSUMER.LIST.S"]}}}
]}
"""


class _User:
    def __init__(self, server: NatsServer, name: str) -> None:
        self._server, self._name = server, name

    async def connect(self) -> Any:
        from tests.support.accounts import connect

        return await connect(self._server.url, self._name, self._name)


def test_what_could_not_be_read_is_said_and_nothing_is_guessed() -> None:
    async def make(js: JetStream) -> None:
        await making.static(js)
        await make_bucket(js, "elastic-consumer-groups")
        await making.put(js, RECORD)

    with NatsServer(config=DENIED) as server:
        talk(_User(server, "all"), make)
        found = talk(_User(server, "some"), findings)
    assert [(one.code, one.address) for one in found] == [
        ("GR190", "static_group/S/g"), ("GR190", "kv_bucket/elastic-consumer-groups"),
    ]  # fmt: skip


def test_the_text_of_a_broken_record_is_shown(account: Account) -> None:
    broken = '{"max_members":"four"}'

    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        await making.put(js, broken)
        return await findings(js)

    assert any(broken in one.message for one in talk(account, look))


GO_MAPPED = {"member_mappings": BOTH, "partitioning_filters": RECORD["partitioning_filters"], "max_members": 4}
TWO_SOURCES = {
    "name": "S",
    "subject_transforms": [
        {"src": f"{first}.*", "dest": f"{{{{Partition(4,1)}}}}.{first}.{{{{Wildcard(1)}}}}"} for first in ("j", "k")
    ],
}
LOWER = {"name": "S", "subject_transforms": [{"src": "j.*", "dest": "{{partition(4,1)}}.j.{{wildcard(1)}}"}]}
WHOLE = {"a": ["0.>", "1.>"], "b": ["2.>", "3.>"]}
BEHIND_TWO = {
    name: [f"{n}.{one}" for one in ("j.*", "k.*") for n in own] for name, own in {"a": (0, 1), "b": (2, 3)}.items()
}
SIX = {"ack_wait": 6 * making.SECOND, "inactive_threshold": 6 * making.SECOND, "priority_timeout": 6 * making.SECOND}

SPELLINGS: dict[str, tuple[str, dict[str, Any], dict[str, list[str]], dict[str, Any]]] = {
    "Go": (json.dumps(RECORD, separators=(",", ":")), queue(), OWNED, {}),
    "Go, mapped": (json.dumps(GO_MAPPED, separators=(",", ":")), queue(), WHOLE, {}),
    "Java, mapped": (
        json.dumps({**GO_MAPPED, "max_buffered_msg": 0, "max_buffered_bytes": 0}, separators=(",", ":")), queue(), OWNED, {},
    ),
    ".NET": (
        json.dumps({**RECORD, "member_mappings": []}, separators=(",", ":")),
        {"retention": "workqueue", "sources": [NET]}, OWNED, SIX,
    ),
    ".NET, all in lower case": (
        json.dumps({**RECORD, "member_mappings": []}, separators=(",", ":")),
        {"retention": "workqueue", "sources": [LOWER]}, OWNED, SIX,
    ),
    ".NET, whoever joins owns everything": (
        json.dumps({**RECORD, "members": [], "member_mappings": []}, separators=(",", ":")),
        {"retention": "workqueue", "sources": [NET]}, {"a": [f"{n}.j.*" for n in range(4)]}, SIX,
    ),
    ".NET, mapped with two filters": (
        json.dumps({**GO_MAPPED, "members": [], "partitioning_filters": TWO_FILTERS}, separators=(",", ":")),
        queue(sources=[TWO_SOURCES]), BEHIND_TWO, SIX,
    ),
    "natsio, mapped with two filters": (
        json.dumps({**GO_MAPPED, "max_buffered_msg": -1, "max_buffered_bytes": -1, "partitioning_filters": TWO_FILTERS}),
        queue(sources=[TWO_SOURCES]), WHOLE, {},
    ),
}  # fmt: skip
"""Client → the record as it stores it, its queue, the filters of each member's consumer, and what else it asks of them."""


@on_every_version
@pytest.mark.parametrize("client", SPELLINGS)
def test_a_healthy_group_is_healthy_whichever_client_spelt_it(account: Account, client: str) -> None:
    said, stream, members, more = SPELLINGS[client]

    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        done(await js.request("STREAM.DELETE.S-g"))
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["j.*", "k.*"]}))
        await making.put(js, said)
        await make_stream(js, "S-g", **stream)
        for name, filters in members.items():
            await making.consumer(js, name, filters, **more)
            await making.pull(js, name)
            await making.waited_for(js, name)
        return await findings(js)

    assert [one.code for one in talk(account, look) if one.severity is not Severity.NOTE] == []


@on_every_version
def test_a_mapped_group_of_the_reference_with_two_filters_never_consumes(account: Account) -> None:
    async def look(js: JetStream) -> list[Diagnostic]:
        await making.elastic(js)
        await record(members=None, member_mappings=BOTH, partitioning_filters=TWO_FILTERS)(js)
        for name in OWNED:
            done(await js.request(f"CONSUMER.DELETE.S-g.{name}"))
        return await findings(js)

    assert "GR133" in codes(talk(account, look))


@on_every_version
def test_a_plan_does_not_call_the_consumer_of_who_joins_in_it_nobodys(account: Account, tmp_path: Path) -> None:
    async def look(js: JetStream) -> tuple[list[str], list[str], set[str]]:
        await making.elastic(js)
        await record(members=["a"])(js)
        left = codes(await findings(js))
        said = {name: (await planned(js, tmp_path, joined_by(name))).get("XX557") for name in ("b", "c")}
        await applied(js, tmp_path, joined_by("b"))
        assert codes(await findings(js)) == set()
        return [one.message for one in [said["b"]] if one], [one.message for one in [said["c"]] if one], left

    nothing, nobodys, left = talk(account, look)
    assert left == {"GR142", "GR145"}
    assert (nothing, [one.split(":")[0] for one in nobodys]) == ([], ["consumer b of S-g belongs to no member"])


def joined_by(name: str) -> str:
    filters = "[{filter: j.*, partitioning_wildcards: [1]}]"
    group = f"{{type: elastic, max_members: 4, partitioning_filters: {filters}, members: [a, {name}]}}"
    return f"streams: {{S: {{subjects: [j.*], groups: {{g: {group}}}}}}}"
