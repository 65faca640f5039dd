"""A saved plan is for one place: another cluster, domain or leaf is refused; the same one by another way is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.journeys.saved.saved_plan import AccountPlace, why_elsewhere
from tests.e2e.here import Here
from tests.e2e.someone import Someone, login
from tests.server.test_observe_elsewhere import leaf_and_hub
from tests.support.accounts import Account, User
from tests.support.servers import NatsServer
from tests.upgrades.stores import Place

FILE = "streams: {A: {subjects: [a]}}\n"
HUB = ("--js-domain", "hub")


def refused(someone: Someone) -> str:
    """Why the plan is not applied here, and nothing was changed."""
    ran = someone("apply", "plan.json", "--yes")
    said = " ".join(ran.err.split())
    assert (ran.code, "This plan belongs to another account" in said, "Nothing was changed" in said) == (
        1,
        True,
        True,
    ), ran
    return said


def user(server: NatsServer, folder: Path, *more: str) -> Someone:
    return Someone(Here(folder), User(server, "u"), ("--server", server.url, "--user", "u", "--password", "u", *more))


def test_a_plan_for_a_cluster_is_not_for_a_single_server(tmp_path: Path, clustered_account: Account) -> None:
    someone = Someone(Here(tmp_path), clustered_account, login(clustered_account))
    name = clustered_account.user
    assert someone.plan(FILE, "--out", "plan.json").code == 0
    namesake = f"accounts {{{name}: {{jetstream: enabled, users: [{{user: {name}, password: {name}}}]}}}}"
    with NatsServer(config=namesake) as single:
        other = replace(clustered_account, server=single, cluster=None)
        said = refused(replace(someone, place=other, login=login(other)))
    assert "it was made for cluster" in said
    assert "but a single server answers here" in said


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[NatsServer, NatsServer]]:
    with leaf_and_hub("2.15", "2.15") as (leaf, hub):
        yield leaf, hub


def test_a_plan_for_the_hub_is_not_for_the_leaf(tmp_path: Path, both: tuple[NatsServer, NatsServer]) -> None:
    leaf, _ = both
    assert user(leaf, tmp_path, *HUB).plan(FILE, "--out", "plan.json").code == 0
    assert "it was made for domain `hub`, but domain `leaf` answers here" in refused(user(leaf, tmp_path))


def test_a_plan_for_the_leaf_is_not_for_the_hub(tmp_path: Path, both: tuple[NatsServer, NatsServer]) -> None:
    leaf, hub = both
    assert user(leaf, tmp_path).plan(FILE, "--out", "plan.json").code == 0
    assert "it was made for domain `leaf`, but domain `hub` answers here" in refused(user(hub, tmp_path))


def test_the_hub_is_the_same_place_from_the_leaf_and_from_itself(
    tmp_path: Path, both: tuple[NatsServer, NatsServer]
) -> None:
    leaf, hub = both
    assert user(leaf, tmp_path, *HUB).plan(FILE, "--out", "plan.json").code == 0
    assert user(hub, tmp_path)("apply", "plan.json", "--yes").code == 0


def on(server: NatsServer, folder: Path) -> Someone:
    """Whoever needs no login, in the account that every server has."""
    return Someone(Here(folder), Place(server), ("--server", server.url))


def test_a_plan_for_a_fresh_server_is_for_no_other_one_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with NatsServer() as production, NatsServer() as fresh, NatsServer() as empty:
        on(production, tmp_path).applied("streams: {LIVE: {subjects: [live]}}\n")
        assert on(fresh, tmp_path).plan(FILE, "--out", "plan.json").code == 0
        assert "the one here is older than the plan" in refused(on(production, tmp_path))
        assert "made for an account that held nothing, on another server" in refused(on(empty, tmp_path))
        assert on(fresh, tmp_path)("apply", "plan.json", "--yes").code == 0


SAW = AccountPlace(account="$G", cluster="", server="S1", at="2026-05-01T10:00:00.5Z")
STREAMS = {"A": "2026-05-01T09:00:00.123456789Z"}
LATER, EARLIER = "2026-05-01T11:00:00Z", "2026-05-01T09:00:00.1Z"
NKEY = "A" + "B" * 55


@pytest.mark.parametrize(
    ("then", "here", "is_it"),
    [
        (SAW, replace(SAW, id="x", bucket=LATER), True),
        (SAW, replace(SAW, server="S2", id="x", bucket=EARLIER), False),
        (SAW, replace(SAW, server="S2"), False),
        (replace(SAW, streams=STREAMS), replace(SAW, server="S2", streams={**STREAMS, "B": LATER}, id="x", bucket=LATER), True),
        (replace(SAW, streams=STREAMS), replace(SAW, server="S2", streams={"A": LATER}), False),
        (replace(SAW, cluster="C"), replace(SAW, cluster="C", server="S2"), True),
        (replace(SAW, cluster="C"), replace(SAW, cluster="C", server="S2", streams=STREAMS), False),
        (replace(SAW, account=NKEY), replace(SAW, account=NKEY, server="S2"), True),
        (replace(SAW, server=None, at=None), replace(SAW, server="S2", id="x", bucket=EARLIER), True),
        (replace(SAW, account=None), replace(SAW, account=None), False),
        (replace(SAW, id="x", streams=STREAMS), replace(SAW, id="x", server="S2"), True),
    ],
)  # fmt: skip
def test_without_an_id_what_was_there_tells_one_account_from_its_namesakes(
    then: AccountPlace, here: AccountPlace, is_it: bool
) -> None:
    assert (why_elsewhere(then, here) is None) is is_it
