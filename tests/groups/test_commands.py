"""`reconciler groups …` as somebody runs it against a real account."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.groups import making
from tests.groups.making import RECORD
from tests.groups.test_migrate import stopped
from tests.support.accounts import Account
from tests.support.contracts import followed
from tests.support.jetstream import done, make_bucket, make_stream
from tests.support.versions import on_every_version

COMMANDS = (
    ("list",), ("active",), ("skew",), ("doctor",), ("where", "j.k1"), ("show", "S/g"),
    ("list", "--format", "json"), ("show", "S/g", "--format", "json"), ("active", "--format", "json"),
    ("skew", "--format", "json"), ("doctor", "--format", "json"), ("migrate", "--format", "json"),
)  # fmt: skip

DECLARED = """streams:
  S:
    subjects: [j.*]
    groups:
      g: {type: elastic, max_members: 4, members: [a, c], partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]}
"""

BROKEN = {
    "no JSON": "{", "empty": "", "list": "[]", "number": "7", "null": "null", "not text": "\x1b[31m\x00",
    "wrong type": '{"max_members":"four"}', "no partitions": "{}", "negative": '{"max_members":-1}',
    "huge": '{"max_members":4294967295,"members":["a"]}',
    "deep": '{"max_members":2,"members":[["a"]]}',
    "mapping without member": '{"max_members":2,"member_mappings":[{"partitions":[0]}]}',
    "mapping without partitions": '{"max_members":2,"member_mappings":[{"member":"a"}]}',
    "mapping beyond": '{"max_members":2,"member_mappings":[{"member":"a","partitions":[-1,0,99]}]}',
    "members and mappings": '{"max_members":2,"members":["a"],"member_mappings":[{"member":"b","partitions":[0,1]}]}',
    "wildcard beyond": '{"max_members":2,"partitioning_filters":[{"filter":"j.*","partitioning_wildcards":[7]}]}',
    "filter that is none": '{"max_members":2,"partitioning_filters":[{"filter":"","partitioning_wildcards":[]}]}',
    "no number": '{"max_members":NaN}', "beyond numbers": '{"max_members":2,"members":["a"],"own":1e999}',
    "too deep": "[" * 50_000, "half a character": '{"max_members":2,"members":["\\ud800"]}', "not UTF-8": "\udcff\udcfe",
    "hostile name": '{"max_members":2,"members":["\\u001b[31mred","\\n"]}',
}  # fmt: skip


DIVIDES = {"mapping beyond", "mapping without partitions", "members and mappings", "hostile name"}
"""Still says how: a key can be looked up, and migrating it takes somebody who knows that no instance runs."""
DIVIDED = {"wildcard beyond", "filter that is none"}
"""Only the queue says how: a key can be looked up."""
SAID = {**dict.fromkeys(BROKEN, "GR110"), **dict.fromkeys((*DIVIDES, "wildcard beyond", "filter that is none"), "GR112"),
        "hostile name": "GR140"}  # fmt: skip


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def answered(someone: Someone, *arguments: str) -> list[dict[str, Any]]:
    ran = someone("groups", *arguments, "--format", "json")
    assert (ran.code, ran.err) == (0, ""), ran
    followed("groups", ran.out, arguments[0])
    found: list[dict[str, Any]] = json.loads(ran.out)["groups"]
    return found


@pytest.mark.parametrize("broken", BROKEN)
def test_a_record_broken_by_hand_is_shown_and_explained_by_every_command(someone: Someone, broken: str) -> None:
    async def make(js: JetStream) -> None:
        await making.elastic(js)
        await making.put(js, BROKEN[broken])

    someone.ask(make)
    path = someone.write(DECLARED)
    divides = broken in DIVIDES
    exits = {
        f"plan {path}": 4,
        "groups where": 0 if broken in DIVIDES | DIVIDED else 64,
        "groups migrate": 4 if divides else 0,
    }
    for command in (*(("groups", *command) for command in COMMANDS), ("plan", path), ("export",)):
        ran = someone(*command)
        assert ran.code == exits.get(" ".join(command[:2]), 0), ran
        if "json" in command:
            followed("groups", ran.out, command[1])
    assert {*re.findall("GR110|GR112|GR140", someone("groups", "doctor").out)} == {SAID[broken]}


def test_the_list_says_what_there_is_without_asking_for_each(someone: Someone) -> None:
    someone.ask(making.elastic)
    (group,) = answered(someone, "list")
    assert group["address"] == "elastic_group/S/g"
    assert (group["partitions"], group["members"]) == (4, ["a", "b"])
    assert (group["queue"]["consumers"], group["queue"]["messages"]) == (2, 0)


def test_no_group_at_all_is_said(someone: Someone) -> None:
    ran = someone("groups", "list")
    assert (ran.code, ran.out) == (0, "no groups\n")


@on_every_version
def test_who_is_pinned_since_when_is_told(someone: Someone) -> None:
    async def make(js: JetStream) -> None:
        await making.elastic(js)
        await making.publish(js, 8)
        await making.taken(js, "a", "b")

    async def client(js: JetStream) -> dict[str, Any]:
        info = dict(done(await js.read("CONSUMER.INFO.S-g.a")))
        found: dict[str, Any] = info["priority_groups"][0]
        return found

    someone.ask(make)
    told = someone.ask(client)
    (group,) = answered(someone, "active")
    member = next(one for one in group["members"] if one["member"] == "a")
    assert member["state"] == "pinned"
    assert (member["client"], member["since"]) == (told["pinned_client_id"], told["pinned_ts"])
    assert "pinned for" in someone("groups", "active").out


@on_every_version
def test_stepping_down_ends_the_pin_and_nothing_else(someone: Someone) -> None:
    async def pinned(js: JetStream) -> None:
        await making.elastic(js)
        await making.publish(js, 8)
        await making.taken(js, "a", "b")

    someone.ask(pinned)
    before = next(one for one in answered(someone, "active")[0]["members"] if one["member"] == "a")
    ran = someone("groups", "step-down", "S/g", "a")
    assert ran.code == 0
    assert before["client"] in ran.out
    after = {one["member"]: one["state"] for one in answered(someone, "active")[0]["members"]}
    assert after == {"a": "unpinned", "b": "pinned"}


@pytest.mark.parametrize(
    ("arguments", "helps"),
    [
        (("S/x", "a"), "Did you mean S/h or S/g?"),
        (("*", "a"), "matches several groups"),
        (("S/g", "z"), "Its members are a, b."),
        (("S/g", "b"), "has no consumer"),
    ],
    ids=["group", "pattern", "member", "idle"],
)
def test_stepping_down_what_is_not_there_says_what_is(someone: Someone, arguments: tuple[str, ...], helps: str) -> None:
    async def make(js: JetStream) -> None:
        await making.elastic(js)
        done(await js.request("CONSUMER.DELETE.S-g.b"))
        await js.put_entry("elastic-consumer-groups", "S.h", json.dumps(RECORD).encode(), expected_revision=0)

    someone.ask(make)
    ran = someone("groups", "step-down", *arguments)
    assert ran.code == 1
    assert helps in ran.err


def test_a_step_down_the_server_refuses_is_said_in_its_words(someone: Someone) -> None:
    async def make(js: JetStream) -> None:
        await making.elastic(js)
        await making.again(js, "b", making.OWNED["b"], priority_groups=["b"])

    someone.ask(make)
    ran = someone("groups", "step-down", "S/g", "b")
    assert (ran.code, ran.out) == (1, "")
    assert "(10160)" in ran.err


@on_every_version
def test_a_key_is_where_the_server_put_it(someone: Someone) -> None:
    async def make(js: JetStream) -> dict[str, int]:
        await making.elastic(js)
        for name in ("a", "b"):
            done(await js.request(f"CONSUMER.DELETE.S-g.{name}"))
        await making.publish(js, 20)
        await making.sourced(js, 20)
        info = done(await js.read("STREAM.INFO.S-g", {"subjects_filter": ">"}))
        return {subject.partition(".")[2]: int(subject.partition(".")[0]) for subject in info["state"]["subjects"]}

    placed = someone.ask(make)
    for subject in list(placed)[:3]:
        (group,) = answered(someone, "where", subject)
        assert group["partition"] == placed[subject]
        assert group["queued"] == sum(number == placed[subject] for number in placed.values())
    (spread,) = answered(someone, "skew")
    counted = [sum(at == number for at in placed.values()) for number in range(4)]
    assert spread["queued"] == spread["stored"] == counted


def test_where_a_key_is_tells_the_queue_and_not_a_record_that_somebody_edited(someone: Someone) -> None:
    async def make(js: JetStream) -> dict[str, int]:
        await making.elastic(js)
        await making.publish(js, 20)
        await making.sourced(js, 20)
        await making.put(js, {**RECORD, "max_members": 2})
        info = done(await js.read("STREAM.INFO.S-g", {"subjects_filter": ">"}))
        return {subject.partition(".")[2]: int(subject.partition(".")[0]) for subject in info["state"]["subjects"]}

    placed = someone.ask(make)
    stored = next(subject for subject, partition in placed.items() if partition == 3)
    ran = someone("groups", "where", stored)
    queued = sum(partition == 3 for partition in placed.values())
    key = stored.removeprefix("j.")
    assert ran.out == f"S/g: {stored} → partition 3 of 4, by `{key}`: no member owns it; {queued} queued there\n"


def test_the_spread_names_what_is_queued_beyond_the_partitions_of_its_record(someone: Someone) -> None:
    async def make(js: JetStream) -> int:
        await making.elastic(js)
        await making.publish(js, 20)
        await making.sourced(js, 20)
        await making.put(js, {**RECORD, "max_members": 3})
        info = done(await js.read("STREAM.INFO.S-g", {"subjects_filter": "3.>"}))
        return len(info["state"]["subjects"])

    assert f"\n  beyond its partitions: 3 ({someone.ask(make)})\n" in someone("groups", "skew").out


@pytest.mark.parametrize(
    ("membership", "counted"),
    [({"members": ["a"]}, [1, 2]), ({"member_mappings": [{"member": "a", "partitions": [0, 1]}]}, [3, 3])],
)
def test_the_spread_of_a_static_group_leaves_out_what_its_filters_do(
    someone: Someone, membership: dict[str, Any], counted: list[int]
) -> None:
    """Members of a mapped group take whole partitions."""

    async def make(js: JetStream) -> None:
        await make_stream(js, "S", subjects=["0.*.*", "1.*.*"])
        await make_bucket(js, "static-consumer-groups")
        await making.put(js, {"max_members": 2, "filters": ["eu.*"], **membership}, "static")
        for subject in ("0.eu.a", "1.eu.a", "1.eu.b", "0.us.a", "0.us.b", "1.us.a"):
            await js.pipeline.nc.request(subject, b"x", timeout=20)

    someone.ask(make)
    (spread,) = answered(someone, "skew")
    assert spread["stored"] == counted


def test_the_same_key_without_any_server(someone: Someone) -> None:
    ran = someone.shell(
        "groups", "where", "orders.eu.42", "--partitions", "12", "--filter", "orders.*.*", "--wildcard", "2"
    )
    assert (ran.code, ran.out) == (0, "orders.eu.42 → partition 11 of 12, by `42`\n")


@pytest.mark.parametrize(
    ("arguments", "helps"),
    [
        (("--partitions", "4", "--filter", "j.*", "--wildcard", "2"), "`j.*` has 1 `*`"),
        (("--partitions", "4", "--filter", "k.*", "--wildcard", "1"), "No filter here matches j.x"),
        (("--partitions", "0"), "--partitions"),
    ],
)
def test_a_key_that_goes_nowhere_is_wrong_usage(someone: Someone, arguments: tuple[str, ...], helps: str) -> None:
    ran = someone.shell("groups", "where", "j.x", *arguments)
    assert (ran.code, ran.out) == (64, "")
    assert helps in ran.err


def test_one_group_is_shown_with_its_partitions_and_what_waits(someone: Someone) -> None:
    async def make(js: JetStream) -> None:
        await making.elastic(js)
        done(await js.request("CONSUMER.DELETE.S-g.b"))
        await making.publish(js, 20)
        await making.sourced(js, 20)
        await making.taken(js, "a")

    someone.ask(make)
    said = someone("groups", "show", "S/g").out
    assert "queue S-g:" in said and "in the form that orbit.go creates" in said
    assert "no consumer" in said and "pinned for" in said
    assert [line.split()[0] for line in said.splitlines()[-4:]] == ["partition", "owner", "queued", "stalled,"]
    assert said.endswith("stalled, with messages but without a client: 2-3\n")


def test_what_waits_for_a_static_group_is_what_its_consumers_have_before_them(someone: Someone) -> None:
    async def make(js: JetStream) -> dict[str, int]:
        await making.static(js)
        await making.publish(js, 20)
        places = {name: f"CONSUMER.INFO.S.g-{name}" for name in making.STATICALLY_OWNED}
        for place in places.values():  # each client has taken one
            await making.until(js, lambda info: info["num_ack_pending"] == 1, place)
        return {name: int(done(await js.read(place))["num_pending"]) for name, place in places.items()}

    waiting = someone.ask(make)
    (group,) = answered(someone, "show", "S/g")
    assert {member["member"]: member["pending"] for member in group["members"]} == waiting
    assert sum(waiting.values()) == 18
    assert "queued" not in group
    assert not any("queued" in member for member in group["members"])


def test_a_static_group_is_shown_too(someone: Someone) -> None:
    someone.ask(making.static)
    said = someone("groups", "show", "S/g").out
    assert "static_group/S/g" in said and "4 partitions by wildcard 1 of j.*" in said
    assert someone("groups", "where", "j.x").out.startswith("S/g: j.x → partition ")


def test_the_doctor_exits_three_only_when_asked(someone: Someone) -> None:
    someone.ask(making.elastic)
    someone.ask(lambda js: js.request("STREAM.DELETE.S-g"))
    assert someone("groups", "doctor").code == 0
    ran = someone("groups", "doctor", "--exit-code")
    assert ran.code == 3
    assert "error GR101 elastic_group/S/g" in ran.out and "Instead: " in ran.out


def test_many_groups_are_listed_in_a_few_requests(someone: Someone) -> None:
    async def make(js: JetStream) -> int:
        await make_stream(js, "S", subjects=["j.*"])
        await make_bucket(js, "elastic-consumer-groups")
        text = json.dumps(RECORD).encode()
        names = [f"g{number}" for number in range(600)]
        await asyncio.gather(
            *(js.put_entry("elastic-consumer-groups", f"S.{name}", text, expected_revision=0) for name in names)
        )
        before = done(await js.read("INFO"))["api"]["total"]
        return int(before)

    before = someone.ask(make)
    assert len(answered(someone, "list")) == 600
    after = someone.ask(lambda js: js.read("INFO"))
    assert isinstance(after, dict) and after["api"]["total"] - before < 12


def test_commands_that_messages_name_connect_as_the_one_that_says_so(someone: Someone, account: Account) -> None:
    """The way out is copied, and then looks at the same account."""
    shown = f"--server {account.url} --user {account.user} --password '…'"
    someone.ask(stopped)
    for command in (("show", "S/nobody"), ("step-down", "S/nobody", "a"), ("plan-members", "S/nobody", "--add", "b")):
        ran = someone("groups", *command)
        assert (ran.code, f"`reconciler groups list {shown}`" in " ".join(ran.err.split())) == (1, True), ran
    migrated = f"reconciler groups migrate S/g {shown}"
    assert migrated in " ".join(someone("groups", "doctor", "S/g").out.split())
    fixes = [found["fix"] for found in json.loads(someone("groups", "doctor", "--format", "json").out)["diagnostics"]]
    assert any(migrated in fix for fix in fixes), fixes
    assert someone("groups", "migrate", "S/g", "--yes").code == 0
    renamed = DECLARED.replace("members: [a, c]", "members: [b, a]").replace("      g:", "      h:")
    moved = "moved: [{from: elastic_group/S/g, to: elastic_group/S/h, reason: better}]\n"
    for deed in (("plan",), ("apply", "--yes")):
        ran = someone(*deed, someone.write(renamed + moved))
        assert f"reconciler groups show S/g {shown}" in " ".join(ran.out.split()), ran
