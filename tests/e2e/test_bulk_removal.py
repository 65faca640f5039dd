"""Many objects removed or given up by one entry, on real servers: what it matches, what it never touches, and where it stops."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran
from tests.e2e.here import somebody
from tests.e2e.someone import HEADER, LASTS, Someone
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream
from tests.support.versions import on_every_version

KEPT = "streams:\n  KEPT: {subjects: [kept.>]}\n"
GUARD = "guards: [{kind: stream, upto: 5000, reason: r}]\n"


def tenant(name: str) -> str:
    return (
        f"  ORDERS_{name}:\n    subjects: [orders.{name}.*]\n    labels: {{tenant: {name}}}\n"
        f"    consumers: {{billing: {{labels: {{tenant: {name}}}}}, audit: {{labels: {{tenant: {name}}}}}}}\n"
        f"    groups: {{g: {{type: elastic, max_members: 2, labels: {{tenant: {name}}}, "
        f"partitioning_filters: [{{filter: orders.{name}.*, partitioning_wildcards: [1]}}]}}}}\n"
    )


def removed(on: str, upto: int, key: str = "removed") -> str:
    reason = ", reason: they left" if key == "removed" else ""
    return f'{key}: [{{on: "{on}", upto: {upto}{reason}}}]\n'


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def streams(someone: Someone) -> list[str]:
    async def named(js: JetStream) -> list[str]:
        return sorted(done(await js.read("STREAM.NAMES")).get("streams") or ())

    return [name for name in someone.ask(named) if not name.startswith("KV_")]


def published(someone: Someone, subject: str) -> None:
    async def publish(js: JetStream) -> None:
        await js.pipeline.nc.request(subject, b"x", timeout=20)

    someone.ask(publish)


def made(someone: Someone, *names: str) -> None:
    """Somebody makes these without reconciler."""

    async def make(js: JetStream) -> None:
        for name in names:
            await make_stream(js, name, subjects=[f"by.hand.{name}"])

    someone.ask(make)


def deleted(someone: Someone, *names: str) -> None:
    async def delete(js: JetStream) -> None:
        for name in names:
            done(await js.write(f"STREAM.DELETE.{name}"))

    someone.ask(delete)


def saved_then_applied(someone: Someone, text: str, meanwhile: Callable[[], object]) -> Ran:
    ran = someone.plan(text, "--out", "plan.json")
    assert ran.code == 0, ran
    meanwhile()
    return someone("apply", "plan.json", "--yes")


@on_every_version
def test_a_whole_tenant_goes_by_its_label(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    someone.applied(KEPT + tenant("t17") + tenant("t18"))
    text = KEPT + tenant("t18") + removed("tenant=t17", 4)
    published(someone, "orders.t17.new")
    plan = someone.plan(text)
    assert (plan.code, "4 deletes" in plan.out, 'removed: "they left"' in plan.out) == (0, True, True), plan
    assert "This deletes 1 message" in plan.out, plan
    someone.applied(text)
    assert streams(someone) == ["KEPT", "ORDERS_t18", "ORDERS_t18-g"]
    assert someone.has_nothing_to_do("topology.yaml")


def test_an_entry_whose_work_is_done_may_stay(someone: Someone) -> None:
    someone.applied(KEPT + tenant("t17") + tenant("t18"))
    text = KEPT + tenant("t18") + removed("*/ORDERS_t17*", 4)
    someone.applied(text)
    assert someone.has_nothing_to_do("topology.yaml")
    orphaned = someone.plan(KEPT + removed("*/ORDERS_t17*", 4))  # a name much like it, and it is not meant
    assert (orphaned.code, "XX916" in orphaned.out) == (0, False), orphaned


def test_given_up_by_a_pattern_they_stay_and_nobody_owns_them(someone: Someone) -> None:
    someone.applied(KEPT + tenant("t17"))
    text = KEPT + removed("*/ORDERS_t17*", 4, "forget")
    plan = someone.plan(text)
    assert (plan.code, "4 forgotten" in plan.out) == (0, True), plan
    someone.applied(text)
    assert streams(someone) == ["KEPT", "ORDERS_t17", "ORDERS_t17-g"]
    assert someone.has_nothing_to_do("topology.yaml")
    again = someone.plan(KEPT + removed("*/ORDERS_t17*", 4))  # what was given up is no pattern's any more
    assert (again.code, "nothing to do" in again.out) == (0, True), again.out


def test_of_too_many_none_goes(someone: Someone) -> None:
    someone.applied(KEPT + tenant("t17"))
    ran = someone.apply(KEPT + removed("*/ORDERS_t17*", 3))
    assert (ran.code, "XX111 more-than-upto" in ran.out + ran.err) == (4, True), ran
    said = " ".join((ran.out + ran.err).split())
    assert "`*/ORDERS_t17*` in `removed` matches 4 objects, and its `upto` is 3" in said
    assert someone.apply(KEPT + removed("*/ORDERS_t17*", 3), "--partial").code == 4
    assert streams(someone) == ["KEPT", "ORDERS_t17", "ORDERS_t17-g"]


def test_everything_means_what_is_owned_and_not_declared(someone: Someone) -> None:
    others = HEADER.replace("topology: t", "topology: others") + "streams: {ORDERS_x: {subjects: [x]}}\n"
    assert someone("apply", someone.write(others, "others.yaml"), "--yes").code == 0
    made(someone, "ORDERS_by_hand")
    someone.applied(KEPT + tenant("t17"))
    someone.applied(KEPT + removed("*/*", 4))
    assert streams(someone) == ["KEPT", "ORDERS_by_hand", "ORDERS_x"]


def test_an_object_recreated_by_hand_is_left_alone(someone: Someone) -> None:
    someone.applied(KEPT + "  OLD_1: {subjects: [o.1]}\n  OLD_2: {subjects: [o.2]}\n")
    published(someone, "o.1")
    someone.applied(KEPT + "  OLD_1: {subjects: [o.1]}\n  OLD_2: {subjects: [o.2], max_age: 1d}\n")
    deleted(someone, "OLD_1")
    made(someone, "OLD_1")
    ran = someone.apply(KEPT + removed("stream/OLD_*", 2), "--partial")
    assert (ran.code, "XX104" in ran.out + ran.err) == (4, True), ran
    assert streams(someone) == ["KEPT", "OLD_1"]


def test_what_was_deleted_by_hand_before_is_let_go(someone: Someone) -> None:
    someone.applied(KEPT + "  OLD_1: {subjects: [o.1]}\n  OLD_2: {subjects: [o.2]}\n")
    deleted(someone, "OLD_1")
    someone.applied(KEPT + removed("stream/OLD_*", 2))
    assert (streams(someone), someone.has_nothing_to_do("topology.yaml")) == (["KEPT"], True)


def test_with_the_records_lost_nothing_goes_and_that_is_said(someone: Someone) -> None:
    someone.applied(KEPT + tenant("t17"))
    deleted(someone, "KV_reconciler")
    ran = someone.apply(KEPT + removed("stream/ORDERS_*", 9))
    said = " ".join((ran.out + ran.err).split())
    assert (ran.code, "which matches nothing that this topology owns: stream/ORDERS_t17 may be another's" in said) == (
        0,
        True,
    ), ran
    assert "ORDERS_t17" in streams(someone)


@pytest.mark.parametrize("upto", [1, 5])
def test_a_saved_plan_deletes_what_it_named_and_nothing_else(someone: Someone, upto: int) -> None:
    """One more becomes an orphan after the plan was saved; then `upto` is exceeded, or it is not."""
    old = "  OLD_1: {subjects: [o.1]}\n"
    someone.applied(KEPT + old)

    def meanwhile() -> None:
        someone.applied(KEPT + old + "  OLD_2: {subjects: [o.2]}\n")

    ran = saved_then_applied(someone, KEPT + removed("stream/OLD_*", upto), meanwhile)
    if upto == 1:
        assert (ran.code, "XX111" in ran.out + ran.err) == (4, True), ran
        assert streams(someone) == ["KEPT", "OLD_1", "OLD_2"]
    else:
        assert ran.code == 0, ran
        assert streams(someone) == ["KEPT", "OLD_2"]
        left = someone.plan(KEPT)
        assert "stream/OLD_2" in left.out


def test_a_saved_plan_gives_up_what_it_named_and_nothing_else(someone: Someone) -> None:
    old = "  OLD_1: {subjects: [o.1]}\n"
    someone.applied(KEPT + old)

    def meanwhile() -> None:
        someone.applied(KEPT + old + "  OLD_2: {subjects: [o.2]}\n")

    assert saved_then_applied(someone, KEPT + removed("stream/OLD_*", 5, "forget"), meanwhile).code == 0
    left = someone.plan(KEPT)
    assert ("stream/OLD_2" in left.out, "stream/OLD_1" in left.out) == (True, False), left


def test_a_saved_plan_holds_the_entry_as_the_file_has_it(someone: Someone) -> None:
    someone.applied(KEPT + "  OLD_1: {subjects: [o.1]}\n")
    assert someone.plan(KEPT + removed("stream/OLD_*", 5), "--out", "plan.json").code == 0
    declared = json.loads((someone.shell.folder / "plan.json").read_text())["saved"]["declared"]
    assert declared["bulk"] == [{"key": "removed", "on": "stream/OLD_*", "upto": 5, "reason": "they left"}]
    assert declared["removed"] == []


def test_one_topology_takes_what_another_gives_up_by_a_pattern(someone: Someone) -> None:
    someone.applied(KEPT + "  OLD_1: {subjects: [o.1]}\n")
    giver = HEADER + KEPT + removed("stream/OLD_*", 1, "forget")
    taker = HEADER.replace("topology: t", "topology: a") + "streams: {OLD_1: {subjects: [o.1]}}\n"
    ran = someone("apply", someone.write(taker, "a.yaml"), someone.write(giver), "--yes")
    assert ran.code == 0, ran
    assert someone("plan", "a.yaml", "--exit-code").code == 0


def test_thousands_go_by_one_entry(someone: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LASTS.items():
        monkeypatch.setenv(name, value)
    number = 2_000
    many = "".join(f"  OLD_{n}: {{subjects: [o.{n}], storage: memory}}\n" for n in range(number))
    someone.applied(KEPT + many)
    text = KEPT + removed("stream/OLD_*", number) + GUARD
    short = someone.plan(KEPT + removed("stream/OLD_*", number - 1) + GUARD)
    assert (short.code, f"matches {number:_} objects" in " ".join(short.out.split())) == (4, True), short.out[:2000]
    someone.applied(text)
    assert streams(someone) == ["KEPT"]


@pytest.mark.parametrize("name", ["[a]", "a=b", "ü", "!x", "q?"])
def test_names_with_signs_of_patterns_go_too(someone: Someone, name: str) -> None:
    odd = f"  {json.dumps(name, ensure_ascii=False)}: {{subjects: [odd]}}\n"
    someone.applied(KEPT + odd)
    someone.applied(KEPT + removed("stream/[!K]*", 1))
    assert streams(someone) == ["KEPT"]


def test_what_an_interrupted_apply_left_goes_by_the_same_entry(someone: Someone) -> None:
    someone.applied(KEPT + tenant("t17") + tenant("t18"))
    path = someone.write(KEPT + removed("*/ORDERS_*", 8))
    ran = someone.interrupted("$JS.API.STREAM.DELETE.ORDERS_t17-g", "apply", path, "--yes")
    assert ran.code != 0, ran
    assert "ORDERS_t17" in streams(someone)
    assert someone("apply", path, "--yes").code == 0
    assert (streams(someone), someone.has_nothing_to_do(path)) == (["KEPT"], True)


def test_an_overlay_removes_for_its_environment_alone(someone: Someone) -> None:
    places = "environments: {dev: {}, prod: {}}\n"
    old = "  OLD_1: {subjects: [o.1]}\n  OLD_2: {subjects: [o.2]}\n"
    someone.write(HEADER.replace("topology: t", "topology: t-${environment}") + places + KEPT + old)
    assert someone("apply", "topology.yaml", "--environment", "dev", "--yes").code == 0
    someone.write(HEADER.replace("topology: t", "topology: t-${environment}") + places + KEPT)
    someone.shell.write("environment: dev\n" + removed("stream/OLD_*", 2), "dev.yaml")
    plan = someone("plan", "topology.yaml", "dev.yaml", "--environment", "dev")
    assert "2 deletes" in plan.out, plan
    assert "OLD" not in someone("plan", "topology.yaml", "dev.yaml", "--environment", "prod").out
