"""Before anything is changed, whoever lacks a permission is told which subjects; what works without the bucket is said once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran
from tests.e2e.here import Here
from tests.e2e.someone import Someone
from tests.support.accounts import User
from tests.support.jetstream import done, make_stream
from tests.support.servers import NatsServer

LOOK = '"$SYS.REQ.USER.INFO", "$JS.API.INFO", "$JS.API.*.LIST.>", "$JS.API.STREAM.LIST", "$JS.API.*.INFO.>"'
GET = '"$JS.API.STREAM.MSG.GET.>", "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.NAMES", "$JS.API.CONSUMER.NAMES.>"'
CHANGE = (
    '"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.CONSUMER.CREATE.>", '
    '"$KV.elastic-consumer-groups.>", "$KV.static-consumer-groups.>"'
)
DELETE = '"$JS.API.STREAM.DELETE.>", "$JS.API.CONSUMER.*.>"'


def account(name: str) -> str:
    """Each test its own; the users differ in what they may do with the bucket `reconciler`."""
    may = {
        "reader": f"allow: [{LOOK}, {GET}]",
        "secret": f"allow: [{LOOK.replace(chr(34) + '$SYS.REQ.USER.INFO' + chr(34) + ', ', '')}, {GET}]",
        "keyless": f'allow: [{LOOK}, {GET}, {CHANGE}, {DELETE}], deny: ["$JS.API.STREAM.CREATE.KV_reconciler"]',
        "blind": f'allow: [{LOOK}, {GET}, {CHANGE}, {DELETE}, "$KV.>"], '
        'deny: ["$JS.API.STREAM.MSG.GET.KV_reconciler", "$JS.API.DIRECT.GET.KV_reconciler", "$JS.API.STREAM.INFO.KV_reconciler"]',
    }
    users = [f"{{user: admin_{name}, password: admin_{name}}}"]
    users += [
        f"{{user: {user}_{name}, password: {user}_{name}, permissions: {{publish: {{{said}}}}}}}"
        for user, said in may.items()
    ]
    return f"{name}: {{jetstream: enabled, users: [{', '.join(users)}]}}"


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with NatsServer(config="accounts {\n" + "\n".join(account(f"p{n}") for n in range(18)) + "\n}") as started:
        yield started


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return iter(range(18))


class People:
    """Users of one fresh account."""

    def __init__(self, server: NatsServer, folder: Path, name: str) -> None:
        self._server, self._shell, self._name = server, Here(folder), name

    def __getattr__(self, role: str) -> Someone:
        user = User(self._server, f"{role}_{self._name}")
        return Someone(self._shell, user, (*user.login, "--timeout", "10s"))


@pytest.fixture
def people(server: NatsServer, tmp_path: Path, numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch) -> People:
    monkeypatch.setenv("HOME", str(tmp_path))
    return People(server, tmp_path, f"p{next(numbers)}")


async def names(js: JetStream) -> list[str]:
    return sorted(done(await js.request("STREAM.NAMES"))["streams"] or [])


A = "streams: {A: {subjects: [a], consumers: {c: {ack_policy: explicit}}}}\n"
ONE_LINE = "streams: {A: {subjects: [a]}}\n"
AB = "streams: {A: {subjects: [a]}, B: {subjects: [b]}}\n"
REMOVED = "streams: {B: {subjects: [b]}}\nremoved: [{address: stream/A, reason: done with it}]\n"
GROUP = """streams:
  J:
    subjects: [j.*]
    groups:
      g: {type: elastic, max_members: 4, partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}], members: [MEMBERS]}
"""


def flat(ran: Ran) -> str:
    return " ".join((ran.out + ran.err).split())


def test_a_reader_plans_and_is_told_before_an_apply_what_to_allow(people: People) -> None:
    assert people.reader.plan(A, "--exit-code").code == 2
    ran = people.reader.apply(A)
    assert (ran.code, people.admin.ask(names)) == (1, [])
    assert "may not publish to $JS.API.CONSUMER.CREATE.A.c, $JS.API.STREAM.CREATE.A, which this plan needs" in flat(ran)
    assert "Add these lines to permissions { publish { allow: […] } } of this user" in flat(ran)
    assert 'configuration: "$JS.API.CONSUMER.CREATE.A.c" "$JS.API.STREAM.CREATE.A" To print' in flat(ran)
    assert "with the same --allow, and with --backup if apply has it. See: reconciler explain AP301" in flat(ran)


def test_where_the_server_does_not_tell_the_first_denial_names_the_subject_at_once(people: People) -> None:
    ran = people.secret.apply(ONE_LINE)
    assert (ran.code, people.admin.ask(names)) == (1, [])
    assert "permission denied: may not publish to $JS.API.STREAM.CREATE.A" in flat(ran)


def test_a_saved_plan_is_looked_at_in_the_same_way(people: People) -> None:
    people.reader.plan(ONE_LINE, "--out", "plan.json")
    ran = people.reader("apply", "plan.json", "--yes")
    assert (ran.code, people.admin.ask(names)) == (1, [])
    assert "may not publish to $JS.API.STREAM.CREATE.A" in flat(ran)


@pytest.mark.parametrize("role", ["keyless", "blind"])
def test_without_the_bucket_creates_updates_and_membership_work_and_what_does_not_is_said_once(
    people: People, role: str
) -> None:
    if role == "blind":
        people.admin.applied("streams: {X: {subjects: [x]}}\n")
    someone: Someone = getattr(people, role)
    for text in (A, A.replace("[a]", "[a, b]"), GROUP.replace("MEMBERS", "a"), GROUP.replace("MEMBERS", "a, b")):
        ran = someone.apply(text)
        assert ran.code == 0, ran
        said = flat(ran)
        assert said.count("LE102") == 1, ran
        assert (
            said.count("creates, updates and membership changes work; replacement, deletion and three-way drift do not")
            == 1
        )
        assert "finds nothing to do" not in said
        assert "LE103" not in said
        assert "LE201" not in said
    assert "J-g" in people.admin.ask(names)


NEEDED = "may not publish to $KV.reconciler.>, which this plan needs"


@pytest.mark.parametrize(
    ("role", "code", "said"), [("keyless", 1, NEEDED), ("blind", 4, "Its owner could not be read (no access to bucket")]
)
def test_without_the_bucket_nothing_is_removed(people: People, role: str, code: int, said: str) -> None:
    people.admin.applied(AB)
    ran = getattr(people, role).apply(REMOVED)
    assert (ran.code, said in flat(ran), people.admin.ask(names)) == (code, True, ["A", "B", "KV_reconciler"]), ran


@pytest.mark.parametrize(
    ("role", "code", "said"),
    [("keyless", 1, NEEDED), ("blind", 4, "which an interrupted replacement needs, could not be read")],
)
def test_without_the_bucket_nothing_is_replaced(people: People, role: str, code: int, said: str) -> None:
    people.admin.applied(A)
    changed = A.replace("ack_policy: explicit", "ack_policy: explicit, deliver_policy: new")
    ran = getattr(people, role).apply(changed, "--allow", "CO101=consumer/A/c")
    assert (ran.code, said in flat(ran)) == (code, True), ran
    assert people.admin.ask(lambda js: js.request("CONSUMER.INFO.A.c"))["config"]["deliver_policy"] == "all"  # type: ignore[index]


def test_a_plan_made_without_the_bucket_says_that_nobody_knows_whose_something_is(people: People) -> None:
    people.admin.applied(ONE_LINE)
    ran = people.blind.plan(ONE_LINE, "--exit-code")
    assert (ran.code, "LE105: planned without bucket reconciler" in flat(ran)) == (0, True), ran


def test_without_the_bucket_apply_changes_what_another_topology_may_own_and_says_so(people: People) -> None:
    people.admin.applied("reconciler: 1\ntopology: theirs\nstreams: {A: {subjects: [a], max_age: 1d}}")
    ran = people.blind.apply("streams: {A: {subjects: [a], max_age: 2d}}")
    said = "apply may update what another topology owns, and replaces and deletes nothing"
    assert (ran.code, said in flat(ran)) == (0, True), ran
    assert done(people.admin.ask(lambda js: js.request("STREAM.INFO.A")))["config"]["max_age"] == 2 * 86_400 * 10**9


STATIC = """streams:
  J:
    subjects: [j.*]
    groups:
      g: {type: static, max_members: 4, filters: [j.*], members: [a, b]}
"""
NO_GROUP = "streams: {J: {subjects: [j.*]}}\nremoved: [{address: KIND/J/g, reason: done with it}]\n"


@pytest.mark.parametrize(
    ("made", "bucket", "kind"),
    [
        (STATIC, "static-consumer-groups", "static_group"),
        (GROUP.replace("MEMBERS", "a"), "elastic-consumer-groups", "elastic_group"),
    ],
)
def test_a_group_of_which_only_the_record_is_left_is_not_removed_without_the_bucket(
    people: People, made: str, bucket: str, kind: str
) -> None:
    async def records(js: JetStream) -> int:
        return int(done(await js.request(f"STREAM.INFO.KV_{bucket}"))["state"]["messages"])

    async def only_the_record(js: JetStream) -> None:
        await js.request("STREAM.DELETE.J-g")

    people.admin.applied(made)
    people.admin.ask(only_the_record)
    ran = people.keyless.apply(NO_GROUP.replace("KIND", kind))
    assert (ran.code, people.admin.ask(records)) == (1, 1), ran
    assert "may not publish to $KV.reconciler.>, which this plan needs" in flat(ran)


def test_an_adoption_that_can_record_nothing_says_that_nothing_was_adopted(people: People) -> None:
    people.admin.ask(lambda js: make_stream(js, "A", subjects=["a"]))
    file = people.reader.write(f"reconciler: 1\ntopology: t\n{ONE_LINE}", "t.yaml")
    ran = people.reader("adopt", file, "--yes")
    assert (ran.code, "LE102" in ran.err) == (1, True), ran
    assert "Nothing was adopted: a record of each object is all that would be written." in ran.err
    assert "applied" not in ran.err
