"""A review names who else reads what changes: other topologies of the same files, and those that a ledger knows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from reconciler.changes.verdict import Outcome, Verdict
from reconciler.journeys.review.revisions import review_files
from reconciler.model.ledger.entries import compact_json
from reconciler.model.ledger.records import Owned, encode_key, encode_owned
from reconciler.model.resource import Address
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry
from tests.support.repository import Repository

HEADER = "reconciler: 1\ntopology: %s\n"
ORDERS = HEADER % "orders" + "streams: {ORDERS: {subjects: [%s]%s}}\n"
READS = "{external: {from: topology/orders}, consumers: {ledger: {filter_subject: orders.*.eu}}}"
PAYMENTS = HEADER % "payments" + f"streams: {{ORDERS: {READS}}}\n"
SAID = "payments reads orders.*.eu by consumer/ORDERS/ledger"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.at(tmp_path / "repository")
    monkeypatch.chdir(made.folder)
    return made


def verdicts(*paths: str, ledger: Mapping[Address, Owned] | None = None) -> list[Verdict]:
    def read(_topology: Topology) -> dict[str, Entry]:
        return {encode_key(a): Entry(compact_json(encode_owned(one)), 7) for a, one in (ledger or {}).items()}

    found = review_files(
        [Path(path) for path in paths or (".",)],
        "HEAD",
        None,
        today=date(2026, 3, 1),
        ledger=None if ledger is None else read,
    )
    return [verdict for one in found.reviews for change in one.plan.changes for verdict in change.verdicts]


def test_a_topology_of_the_same_files_is_named(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": PAYMENTS})
    repository.write({"o.yaml": ORDERS % ("orders.*.us", "")})
    (said,) = verdicts()
    assert (said.code, said.blocks, SAID in said.message) == ("XX233", True, True), said


def test_what_others_do_not_read_may_go(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": PAYMENTS})
    repository.write({"o.yaml": ORDERS % ("orders.*.eu", "")})
    assert verdicts() == []


def test_a_limit_that_is_lowered_is_told(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", ", max_age: 30d"), "p.yaml": PAYMENTS})
    repository.write({"o.yaml": ORDERS % ("orders.>", ", max_age: 1d")})
    (said,) = verdicts()
    assert (said.code, said.blocks, SAID in said.message) == ("XX235", False, True), said


def test_a_copy_is_a_reader_too(repository: Repository) -> None:
    copy = HEADER % "payments" + "streams: {COPY: {sources: [{name: ORDERS, filter_subject: orders.*.eu}]}}\n"
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": copy})
    repository.write({"o.yaml": ORDERS % ("orders.*.us", "")})
    (said,) = verdicts()
    assert (said.code, "payments reads orders.*.eu by stream/COPY" in said.message) == ("XX233", True), said


def test_a_reader_that_goes_in_the_same_change_is_not_asked(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": PAYMENTS})
    repository.write({"o.yaml": ORDERS % ("orders.*.us", ""), "p.yaml": HEADER % "payments" + "streams: {OTHER: {}}\n"})
    assert [one for one in verdicts() if one.code == "XX233"] == []


def test_who_uses_a_stream_of_that_name_from_somebody_else_is_none(repository: Repository) -> None:
    repository.commit(
        {"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": PAYMENTS.replace("topology/orders", "topology/billing")}
    )
    repository.write({"o.yaml": ORDERS % ("orders.*.us", "")})
    assert verdicts() == []


def test_who_belongs_to_another_account_is_none(repository: Repository) -> None:
    elsewhere = PAYMENTS.replace("streams:", "expect: {account: FAR}\nstreams:")
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": elsewhere})
    repository.write({"o.yaml": ORDERS % ("orders.*.us", "")})
    assert verdicts() == []


LEDGER = {
    Address.of("consumer", "ORDERS", "ledger"): Owned(topology="payments", fields={"filter_subject": "orders.*.eu"}),
    Address.of("consumer", "OTHER", "far"): Owned(topology="payments"),
    Address.of("stream", "ORDERS"): Owned(topology="orders"),
}


def test_who_is_recorded_in_the_ledger_is_named(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", "")})
    repository.write({"o.yaml": ORDERS % ("orders.*.us", "")})
    assert verdicts() == []
    (said,) = verdicts(ledger=LEDGER)
    assert (said.code, said.blocks, SAID in said.message) == ("XX233", True, True), said


def test_who_is_recorded_is_asked_before_the_stream_goes(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", "")})
    gone = HEADER % "orders" + "streams: {OTHER: {}}\nremoved: [{address: stream/ORDERS, reason: done}]\n"
    repository.write({"o.yaml": gone})
    said = [one for one in verdicts(ledger=LEDGER) if one.code == "XX231"]
    assert [(one.outcome, SAID in one.message) for one in said] == [(Outcome.REFUSED, True)], said
    assert "1 reader that the ledger knows of `payments` reads this stream" in said[0].message, (
        "nobody asked whether it is live"
    )


def test_records_that_cannot_be_read_are_left_out(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", "")})
    repository.write({"o.yaml": ORDERS % ("orders.*.us", "")})
    broken = {
        "owned.consumer.ORDERS.x": Entry(b"{", 1),
        "owned.consumer.ORDERS.y": Entry(b'{"format":1,"topology":"p","fields":{"filter_subject":3}}', 2),
    }
    found = review_files([Path()], "HEAD", None, today=date(2026, 3, 1), ledger=lambda _: broken)
    assert [one.plan.exit_code for one in found.reviews] == [0]


USES = PAYMENTS.replace("filter_subject:", "ack_wait: %s, filter_subject:")


def reviewed(*, ledger: Mapping[Address, Owned] | None = None) -> tuple[list[tuple[str, str]], set[str], list[str]]:
    """What would be done, the codes of what was found, and those of what nobody could judge."""

    def read(_topology: Topology) -> dict[str, Entry]:
        return {encode_key(a): Entry(compact_json(encode_owned(one)), 7) for a, one in (ledger or {}).items()}

    (found,) = review_files(
        [Path()], "HEAD", None, today=date(2026, 3, 1), ledger=None if ledger is None else read
    ).reviews
    changes = [(change.action.value, change.address) for change in found.plan.changes]
    codes = {verdict.code for change in found.plan.changes for verdict in change.verdicts}
    return changes, codes, [code for code in found.unjudged if code == "XX113"]


def test_a_reader_changes_beside_its_owner(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": USES % "30s"})
    repository.write({"p.yaml": USES % "60s"})
    assert reviewed() == ([("update", "consumer/ORDERS/ledger")], set(), [])


def test_an_owner_whose_files_are_elsewhere_is_believed_and_said_to_be_unjudged(repository: Repository) -> None:
    repository.commit({"p.yaml": USES % "30s"})
    repository.write({"p.yaml": USES % "60s"})
    assert reviewed() == ([("update", "consumer/ORDERS/ledger")], set(), ["XX113"])
    owners = {Address("stream", ("ORDERS",)): Owned(topology="orders")}
    assert reviewed(ledger=owners) == ([("update", "consumer/ORDERS/ledger")], set(), [])
    _, codes, _ = reviewed(ledger={Address("stream", ("ORDERS",)): Owned(topology="shop")})
    assert codes == {"XX113"}


def test_a_wrong_owner_is_told_where_the_files_of_the_right_one_lie_beside(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": PAYMENTS})
    repository.write({"p.yaml": PAYMENTS.replace("topology/orders", "topology/shop")})
    assert reviewed() == ([("keep", "stream/ORDERS")], {"XX113"}, [])


def test_a_stream_whose_name_is_put_together_is_known_too(repository: Repository) -> None:
    many = "streams: {ORDERS_${each.key}: {for_each: [EU], subjects: [orders.>]}}\n"
    repository.commit({"o.yaml": HEADER % "orders" + many, "p.yaml": (USES % "30s").replace("ORDERS:", "ORDERS_EU:")})
    repository.write({"p.yaml": (USES % "60s").replace("ORDERS:", "ORDERS_EU:")})
    assert reviewed() == ([("update", "consumer/ORDERS_EU/ledger")], set(), [])


@pytest.mark.parametrize("stream", ["{subjects: [new]}", "{external: true}", "{external: {from: topology/orders}}"])
def test_the_first_consumer_of_a_stream_is_created(repository: Repository, stream: str) -> None:
    first = HEADER % "new" + f"streams: {{NEW: {stream}, OTHER: {{}}}}\n"
    repository.commit({"n.yaml": first})
    repository.write({"n.yaml": first.replace(stream, stream[:-1] + ", consumers: {c: {ack_policy: explicit}}}")})
    changes, codes, _ = reviewed()
    assert (changes, codes) == ([("create", "consumer/NEW/c")], set())


def test_a_new_reader_of_a_stream_is_created(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", "")})
    repository.write({"p.yaml": PAYMENTS})
    assert reviewed() == ([("create", "consumer/ORDERS/ledger")], set(), [])


def test_who_consumes_the_queue_of_a_group_is_still_unknown(repository: Repository) -> None:
    group = "groups: {g: {type: elastic, max_members: 2, members: [a]}}"
    repository.commit({"o.yaml": ORDERS % ("orders.>", f", {group}")})
    repository.write({"o.yaml": ORDERS % ("orders.>", f", {group.replace('[a]', '[a, b]')}")})
    changes, _, _ = reviewed()
    assert changes == [("update", "elastic_group/ORDERS/g")]


def test_whom_a_removed_stream_leaves_without_messages_is_named(repository: Repository) -> None:
    repository.commit({"o.yaml": ORDERS % ("orders.>", ""), "p.yaml": PAYMENTS})
    gone = HEADER % "orders" + "streams: {OTHER: {}}\nremoved: [{address: stream/ORDERS, reason: old}]\n"
    repository.write({"o.yaml": gone})
    (said,) = verdicts()
    assert (said.code, said.blocks) == ("ST310", True)
    assert said.message.endswith(f"Only the account can tell what that costs here. Known of others: {SAID}"), said
