"""In a cluster a list may be answered by a server that follows later than the one that said ok: it is asked for again."""

from __future__ import annotations

import pytest

from reconciler.changes.events import Done, Failed
from reconciler.model.wire.steps import Call, Step
from reconciler.server.read.listing import Listed, Section
from reconciler.server.run import execute as afterwards
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import talk

IN_A_CLUSTER = {"cluster": {"name": "C1", "leader": "n1"}}
CREATED = Done(step=Step(id="c", call=Call.STREAM_CREATE, on=("S",), address="stream/S"), echo=IN_A_CLUSTER)
DELETED = Done(step=Step(id="d", call=Call.STREAM_DELETE, on=("S",), address="stream/S"))


def found(account: Account, monkeypatch: pytest.MonkeyPatch, outcome: Done, *looks: set[str]) -> list[Failed]:
    """What is wrong where one list after the other shows these streams, and the last one from then on."""
    left = list(looks)

    async def listed(_js: JetStream, _endpoint: str, _section: Section) -> Listed:
        return Listed(items={name: {} for name in (left.pop(0) if len(left) > 1 else left[0])})

    monkeypatch.setattr(afterwards, "read_list", listed)
    return talk(account, lambda js: afterwards.deviations_at_end(js, [outcome]))


def test_what_a_list_shows_a_moment_later_is_there(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(account, monkeypatch, CREATED, set(), set(), {"S"}) == []


def test_what_a_list_shows_for_a_moment_longer_is_gone(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(account, monkeypatch, DELETED, {"S"}, {"S"}, set()) == []


@pytest.mark.parametrize(("outcome", "shown"), [(CREATED, set()), (DELETED, {"S"})], ids=["created", "deleted"])
def test_what_stays_otherwise_is_told(
    account: Account, monkeypatch: pytest.MonkeyPatch, outcome: Done, shown: set[str]
) -> None:
    monkeypatch.setattr(afterwards, "FOLLOWS", 0.1)
    (failed,) = found(account, monkeypatch, outcome, shown)
    assert "a list read afterwards" in failed.reason.message


def test_a_single_server_is_asked_once(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Done(step=CREATED.step, echo={"cluster": {"leader": "n1"}})
    assert len(found(account, monkeypatch, alone, set(), {"S"})) == 1
