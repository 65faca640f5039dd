"""What an apply writes for a moment, and leaves behind where it is interrupted, is not blamed on others."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.server.wire.api import JetStream
from tests.agreement.harm import publish
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer
from tests.support.versions import on_every_version

QUEUE = "streams: {J: {subjects: [j.*], retention: workqueue, consumers: {x: {ack_policy: explicit, %s}}}}\n"
NARROW, WIDE = QUEUE % "filter_subject: j.b", QUEUE % "filter_subjects: [j.b, j.a]"

WRITES = "$JS.API.CONSUMER.CREATE.J.x"


async def waiting(js: JetStream) -> None:
    await publish(js, "j.a", "j.a", "j.b")


async def consumer(js: JetStream) -> dict[str, Any]:
    return dict(done(await js.read("CONSUMER.INFO.J.x")))


def parked(someone: Someone) -> str:
    """An apply that widens a filter gets Ctrl-C when it has parked the consumer."""
    someone.applied(NARROW)
    someone.ask(waiting)
    file = someone.write(WIDE)
    stopped = someone.interrupted(WRITES, "apply", file, "--yes", "--allow", "XX311=consumer/J/x")
    assert stopped.code == 130, stopped
    assert someone.ask(consumer)["config"]["filter_subject"] == "_parked.x"
    return file


@on_every_version
@pytest.mark.parametrize("text", [WIDE, NARROW], ids=["goes on", "goes back"])
def test_a_consumer_that_was_being_moved_is_said_to_be_unfinished_and_what_finishing_costs(
    someone: Someone, account: Account, text: str
) -> None:
    parked(someone)
    file = someone.write(text)
    looked_at, planned = someone("drift", file), someone("plan", file)
    assert looked_at.code == 0, looked_at
    for said in (looked_at, planned):
        assert "left unfinished by an apply" in said.out
        assert "outside" not in said.out
    assert "An interrupted apply left it where it delivers nothing." in planned.out
    recreates = account.minor in ("2.11", "2.12")
    assert (planned.code, "XX311 work-queue-takeover, needs consent" in planned.out) == (
        4 if recreates else 0,
        recreates,
    )
    applied = someone("apply", file, "--yes", *(("--allow", "XX311=consumer/J/x") if recreates else ()))
    assert applied.code == 0, applied
    assert someone.has_nothing_to_do(file)
    assert someone.ask(consumer)["num_pending"] == (3 if text == WIDE else 1)


def test_its_parking_subject_is_not_accepted_into_the_file(someone: Someone) -> None:
    file = parked(someone)
    accepted = someone("drift", "accept", file)
    assert accepted.code == 0, accepted
    assert "_parked" not in (someone.shell.folder / file).read_text()


@pytest.mark.parametrize("account", ["2.14", "2.15"], indirect=True)
def test_a_consumer_that_is_still_paused_for_its_move_is_unfinished_too(someone: Someone) -> None:
    someone.applied(NARROW)
    someone.ask(waiting)
    file = someone.write(WIDE)
    stopped = someone.interrupted(WRITES, "apply", file, "--yes", nth=2)
    assert stopped.code == 130, stopped
    assert someone.ask(consumer)["config"]["pause_until"].startswith("2100-")
    looked_at, applied = someone("drift", file), someone("apply", file, "--yes")
    assert (looked_at.code, "left unfinished by an apply" in looked_at.out) == (0, True), looked_at
    assert (applied.code, someone.ask(consumer)["num_pending"]) == (0, 3), applied
    assert someone.has_nothing_to_do(file)


async def by_hand(js: JetStream) -> None:
    done(await js.write("CONSUMER.DELETE.J.x"))
    await make_consumer(js, "J", "x", filter_subject="j.c")


def test_what_others_write_there_is_still_theirs(someone: Someone) -> None:
    file = someone.write(NARROW)
    assert someone("apply", file, "--yes").code == 0
    someone.ask(by_hand)
    looked_at = someone("drift", file)
    assert looked_at.code == 3
    assert "changed outside" in looked_at.out


EVENTS = "streams: {J: {subjects: [j.*], retention: interest, consumers: {%s: {ack_policy: explicit}}}}\n"
RENAMED = EVENTS % "z" + "moved: [{from: consumer/J/x, to: consumer/J/z, reason: it has another owner}]\n"
KEPT = EVENTS % "x"
REMOVED = KEPT + "removed: [{address: consumer/J/z, reason: nobody wants it}]\n"


def half_renamed(someone: Someone) -> None:
    """An apply that renames a consumer gets Ctrl-C when the old one is paused and the placeholder keeps its messages."""
    someone.applied(KEPT)
    someone.ask(waiting)
    stopped = someone.interrupted("$JS.API.CONSUMER.PAUSE.J.x", "apply", someone.write(RENAMED), "--yes")
    assert stopped.code == 130, stopped
    assert len(someone.ask(consumers)) == 2


async def consumers(js: JetStream) -> list[str]:
    return list(done(await js.read("CONSUMER.NAMES.J"))["consumers"])


@on_every_version
def test_what_is_left_of_a_rename_that_nobody_wants_any_more_is_named_and_can_be_removed(someone: Someone) -> None:
    half_renamed(someone)
    (placeholder,) = {*someone.ask(consumers)} - {"x"}
    file = someone.write(KEPT)
    looked_at, planned = someone("drift", file), someone("plan", file)
    for said in (looked_at, planned):
        assert placeholder in said.out
        assert "outside" not in said.out
    assert someone("apply", file, "--yes").code == 0
    assert someone("apply", someone.write(REMOVED), "--yes").code == 0
    assert someone.ask(consumers) == ["x"]
    assert someone.has_nothing_to_do(file)


@on_every_version
def test_what_somebody_made_under_the_new_name_since_is_not_removed(someone: Someone) -> None:
    half_renamed(someone)
    someone.ask(lambda js: make_consumer(js, "J", "z", description="somebody's own"))
    refused = someone("apply", someone.write(REMOVED), "--yes")
    assert (refused.code, "XX104" in refused.out) == (4, True), refused
    assert "z" in someone.ask(consumers)
