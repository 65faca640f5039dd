"""A group with a record of an earlier version: what somebody does to its queue is said, by plan, drift and doctor, and the
way out that they name leads out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.groups.groups import examine_groups
from reconciler.model.diagnostic import Diagnostic
from reconciler.server.read import lost_answers
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.groups import making
from tests.groups.test_migrate import DECLARED, V1, stopped
from tests.support.accounts import Account
from tests.support.jetstream import done
from tests.support.versions import on_every_version

Act = Callable[[JetStream], Awaitable[Any]]


def edited(**changed: Any) -> Act:
    async def edit(js: JetStream) -> None:
        config = {name: value for name, value in making.queue(**changed).items() if value is not None}
        done(await js.request("STREAM.UPDATE.S-g", {"name": "S-g", **config}))

    return edit


async def deleted(js: JetStream) -> None:
    done(await js.request("STREAM.DELETE.S-g"))


ACTS: dict[str, tuple[Act, str, str, str]] = {
    "deleted": (deleted, "missing", "EG509", "GR101"),
    "its source removed": (edited(sources=None), "sources, subjects differ", "EG320", "GR120"),
    "its partitions edited": (edited(sources=[making.source(8)]), "sources differs", "EG320", "GR120"),
    "its limits edited": (edited(discard="old", max_msgs=1), "discard, max_msgs differ", "EG320", "GR122"),
}


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    """Whose file owns the group."""
    who = somebody(tmp_path, account, monkeypatch)
    who.ask(lambda js: stopped(js, V1))
    assert who("adopt", who.write(DECLARED), "--yes").code == 0
    return who


async def findings(js: JetStream) -> list[Diagnostic]:
    return (await examine_groups(js))[1]


def flat(text: str) -> str:
    return " ".join(text.split())


@on_every_version
def test_a_queue_that_nobody_touched_is_no_drift(someone: Someone) -> None:
    assert someone("drift", "topology.yaml").code == 0
    assert someone.has_nothing_to_do("topology.yaml")
    assert {one.code for one in someone.ask(findings)} == {"GR111", "GR140"}


@on_every_version
@pytest.mark.parametrize("what", ACTS)
def test_what_somebody_does_to_the_queue_is_said(someone: Someone, what: str) -> None:
    act, drifted, said_by_plan, said_by_doctor = ACTS[what]
    someone.ask(act)
    ran = someone("drift", "topology.yaml")
    assert (ran.code, drifted in flat(ran.out)) == (3, True), ran.out
    planned = someone("plan", "topology.yaml")
    assert said_by_plan in planned.out
    assert "EG312" not in planned.out
    found = {one.code: one for one in someone.ask(findings)}
    assert said_by_doctor in found
    if said_by_doctor != "GR122":  # limits are set back by hand, under any record
        assert "reconciler groups migrate S/g" in flat(planned.out)
        assert "reconciler groups migrate S/g" in (found[said_by_doctor].fix or "")


def test_a_deleted_queue_comes_back_after_the_migration(someone: Someone) -> None:
    someone.ask(deleted)
    assert someone("apply", "topology.yaml", "--yes").code == 4
    assert someone("groups", "migrate", "S/g", "--yes").code == 0
    assert someone("apply", "topology.yaml", "--yes").code == 0
    assert someone.has_nothing_to_do("topology.yaml")


def test_a_queue_without_a_source_does_not_prevent_the_migration(someone: Someone) -> None:
    someone.ask(edited(sources=None))
    ran = someone("groups", "migrate", "S/g", "--yes")
    assert ran.code == 0, ran
    assert "its stream S-g copies nothing, so the filters are those of the old keys" in flat(ran.out).replace(
        "Its", "its"
    )
    said = flat(someone("plan", "topology.yaml").out)
    assert "EG320" in said
    assert "otherwise remove it, and declare it again: 1. Stop the members of g" in said


def test_of_a_queue_that_no_record_describes_both_are_made_anew(someone: Someone) -> None:
    """As the refused migration says."""

    async def removed(js: JetStream) -> None:
        await lost_answers.delete(js, "elastic-consumer-groups", "S.g", expected_revision=None)
        await deleted(js)

    someone.ask(edited(sources=[making.source(8)]))
    ran = someone("groups", "migrate", "S/g", "--yes")
    assert ran.code == 4
    assert "nats kv del elastic-consumer-groups S.g; nats stream rm S-g" in flat(ran.out)
    someone.ask(removed)
    assert someone("apply", "topology.yaml", "--yes").code == 0
    assert someone.has_nothing_to_do("topology.yaml")
    assert {one.code for one in someone.ask(findings)} == {"GR140"}
