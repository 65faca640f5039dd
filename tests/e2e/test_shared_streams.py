"""A topology uses a stream of another one by name, the ledger knows it, and the owner is told before anything changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.model.ledger.records import BUCKET, Owned, decode_key, decode_owned
from reconciler.model.resource import Address
from reconciler.server.read.read_kv import entries
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.repository import Repository

ORDERS = "reconciler: 1\ntopology: orders\nstreams:\n  ORDERS:\n    subjects: [%s]\n"
PAYMENTS = """reconciler: 1
topology: payments
streams:
  ORDERS:
    external: {from: topology/%s}
    consumers:
      ledger: {filter_subject: orders.*.eu}
"""
LEDGER = Address.of("consumer", "ORDERS", "ledger")


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def orders(someone: Someone, subjects: str = "orders.>", more: str = "") -> str:
    return someone.write(ORDERS % subjects + more, "orders.yaml")


def payments(someone: Someone, owner: str = "orders") -> str:
    return someone.write(PAYMENTS % owner, "payments.yaml")


def both(someone: Someone) -> Someone:
    for file in (orders(someone), payments(someone)):
        ran = someone("apply", file, "--yes")
        assert ran.code == 0, ran
    return someone


def records(someone: Someone) -> dict[Address, Owned]:
    async def read(js: JetStream) -> dict[Address, Owned]:
        info = await js.read(f"STREAM.INFO.KV_{BUCKET}")
        assert isinstance(info, dict)
        found = await entries(js, BUCKET, info, ("owned.>",))
        assert isinstance(found, dict)
        told = {decode_key(key): decode_owned(one) for key, one in found.items() if not one.deleted}
        return {address: one for address, one in told.items() if address and isinstance(one, Owned)}

    found: dict[Address, Owned] = someone.ask(read)
    return found


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_owner_is_told_who_reads_what_it_takes_away(someone: Someone) -> None:
    both(someone)
    assert someone("plan", orders(someone), payments(someone), "--exit-code").code == 0
    said = someone("plan", orders(someone, "orders.*.us"))
    assert (said.code, "payments reads orders.*.eu by consumer/ORDERS/ledger" in words(said.out)) == (4, True), said


def test_a_narrowing_beside_what_is_read_says_nothing(someone: Someone) -> None:
    both(someone)
    said = someone("plan", orders(someone, "orders.*.eu"))
    assert (said.code, "payments" in said.out) == (0, False), said


def test_the_ledger_knows_who_uses_a_stream_of_whom(someone: Someone) -> None:
    both(someone)
    found = records(someone)[LEDGER]
    assert (found.topology, dict(found.uses), found.applied["filter_subject"]) == (
        "payments", {"ORDERS": "orders"}, "orders.*.eu",
    )  # fmt: skip
    gone = PAYMENTS % "orders" + "removed: [{address: consumer/ORDERS/ledger, reason: done}]\n"
    file = someone.write(
        gone.replace("    consumers:\n      ledger: {filter_subject: orders.*.eu}\n", ""), "payments.yaml"
    )
    assert someone("apply", file, "--yes").code == 0
    assert LEDGER not in records(someone)
    assert someone("plan", orders(someone, "orders.*.us")).code == 0


def test_whoever_named_no_owner_is_recorded_once_it_does(someone: Someone) -> None:
    assert someone("apply", orders(someone), "--yes").code == 0
    anybody = someone.write((PAYMENTS % "").replace("{from: topology/}", "true"), "payments.yaml")
    assert someone("apply", anybody, "--yes").code == 0
    assert dict(records(someone)[LEDGER].uses) == {}
    said = someone("plan", orders(someone, "orders.*.us"))
    assert "payments reads orders.*.eu by consumer/ORDERS/ledger" in words(said.out), said
    assert someone("apply", payments(someone), "--yes").code == 0
    assert dict(records(someone)[LEDGER].uses) == {"ORDERS": "orders"}


def test_a_copy_is_recorded_with_the_owner_of_its_origin(someone: Someone) -> None:
    assert someone("apply", orders(someone), "--yes").code == 0
    copy = PAYMENTS % "orders" + "  COPY: {sources: [{name: ORDERS, filter_subject: orders.*.eu}]}\n"
    assert someone("apply", someone.write(copy, "payments.yaml"), "--yes").code == 0
    assert dict(records(someone)[Address.of("stream", "COPY")].uses) == {"ORDERS": "orders"}


def test_another_owner_is_named_with_its_place_and_the_way_out(someone: Someone) -> None:
    assert someone("apply", orders(someone), "--yes").code == 0
    said = someone("apply", payments(someone, "billing"), "--yes")
    assert (said.code, LEDGER in records(someone)) == (4, False)
    assert "payments.yaml:5:22" in said.out, said
    assert "Topology `orders` owns this (recorded on 2" in words(said.out)
    assert "write `from: topology/orders`" in words(said.out)


def test_before_the_owner_has_applied_there_is_nothing_to_use(someone: Someone) -> None:
    said = someone("apply", payments(someone), "--yes")
    assert (said.code, "apply `orders` first, with this stream declared" in words(said.out)) == (4, True), said
    assert someone("apply", payments(someone), orders(someone), "--yes").code == 0  # the owner goes first


def test_a_reader_deleted_by_hand_is_still_known(someone: Someone) -> None:
    both(someone)
    someone.ask(lambda js: js.write("CONSUMER.DELETE.ORDERS.ledger", {}))
    gone = someone.write(
        "reconciler: 1\ntopology: orders\nstreams: {OTHER: {}}\nremoved: [{address: stream/ORDERS, reason: done}]\n",
        "orders.yaml",
    )
    said = someone("plan", gone)
    assert (said.code, "payments reads orders.*.eu by consumer/ORDERS/ledger" in words(said.out)) == (4, True), said
    assert someone("apply", gone, "--yes", "--allow", "XX231=stream/ORDERS").code == 0
    said = someone("plan", payments(someone))
    assert (said.code, "does not exist here" in words(said.out)) == (4, True), said


def test_whom_it_concerns_stands_in_json(someone: Someone) -> None:
    both(someone)
    said = someone("plan", orders(someone, "orders.*.us"), "--format", "json")
    others = [
        one
        for change in json.loads(said.out)["changes"]
        for verdict in change["verdicts"]
        for one in verdict.get("others", ())
    ]
    assert others == [{"address": "consumer/ORDERS/ledger", "owner": "payments", "reads": ["orders.*.eu"]}]


@pytest.fixture
def repository(someone: Someone) -> Repository:
    made = Repository(someone.shell.folder)
    made.git("init", "--quiet", "--initial-branch=main")
    orders(someone)
    made.git("add", "orders.yaml")
    made.git("commit", "--quiet", "--message", "as it was")
    return made


@pytest.mark.usefixtures("repository")
def test_a_review_asks_the_ledger_who_else_reads(someone: Someone) -> None:
    both(someone)
    narrowed = orders(someone, "orders.*.us")
    offline = someone.shell("review", narrowed, "--base", "HEAD")
    assert (offline.code, "payments" in offline.out) == (0, False), offline
    assert "Who else reads these streams is known only from the files that were named; --ledger asks" in words(
        offline.out
    )
    said = someone("review", narrowed, "--base", "HEAD", "--ledger")
    assert (said.code, "payments reads orders.*.eu by consumer/ORDERS/ledger" in words(said.out)) == (4, True), said
    assert "--ledger asks" not in words(said.out)


@pytest.mark.usefixtures("repository")
def test_a_review_of_an_account_without_a_ledger_finds_nobody(someone: Someone) -> None:
    assert someone("review", orders(someone, "orders.*.us"), "--base", "HEAD", "--ledger").code == 0


@pytest.mark.usefixtures("repository")
def test_a_review_that_cannot_ask_says_so(someone: Someone) -> None:
    said = someone.shell(
        "review", orders(someone, "orders.*.us"), "--base", "HEAD", "--ledger", "--server", "nats://127.0.0.1:1"
    )
    assert (said.code, "Cannot reach nats://127.0.0.1:1" in said.err) == (1, True), said
    said = someone.shell("review", "orders.yaml", "--base", "HEAD", "--server", "nats://127.0.0.1:1")
    assert (said.code, "add --ledger" in said.err + said.out) == (64, True), said


def test_two_topologies_that_use_each_other_come_up_step_by_step(someone: Someone) -> None:
    ours = orders(someone, more="  PAID: {external: {from: topology/payments}, consumers: {seen: {}}}\n")
    theirs = someone.write(PAYMENTS % "orders" + "  PAID: {subjects: [paid.>]}\n", "payments.yaml")
    said = someone("apply", ours, theirs, "--yes")
    assert (said.code, "does not exist here" in said.out) == (4, True), said
    assert someone("apply", ours, theirs, "--yes", "--partial").code == 4
    assert someone("apply", ours, theirs, "--yes").code == 0
    assert someone("plan", ours, theirs, "--exit-code").code == 0


def test_an_owner_with_a_new_name_is_told_who_names_the_old_one(someone: Someone) -> None:
    both(someone)
    renamed = (
        ORDERS.replace("topology: orders", "topology: sales") % "orders.>"
        + "moved: [{from: topology/orders, to: topology/sales}]\n"
    )
    file = someone.write(renamed, "orders.yaml")
    said = someone("plan", file)
    assert (said.code, "XX237" in said.out, "let `payments` write `from: topology/sales`" in words(said.out)) == (
        0,
        True,
        True,
    ), said
    assert someone("apply", file, "--yes").code == 0
    said = someone("plan", payments(someone))
    assert (said.code, "write `from: topology/sales`" in words(said.out)) == (4, True), said
    assert someone("apply", payments(someone, "sales"), "--yes").code == 0
    assert dict(records(someone)[LEDGER].uses) == {"ORDERS": "sales"}


def test_a_stream_deleted_by_hand_comes_back_and_its_readers_are_named(someone: Someone) -> None:
    both(someone)
    someone.ask(lambda js: js.write("STREAM.DELETE.ORDERS", {}))
    said = someone("plan", payments(someone))
    assert (said.code, "apply `orders` first" in words(said.out)) == (4, True), said
    said = someone("apply", orders(someone), "--yes")
    assert (said.code, "payments reads orders.*.eu by consumer/ORDERS/ledger" in words(said.out)) == (0, True), said
    assert someone("apply", payments(someone), "--yes").code == 0


HOSTILE = ["a b", "x\n::error::y", "`$(rm -rf .)`", "<script>", "ü" * 80, "a.b.*.>", "\x1b[2J"]


@pytest.mark.parametrize("name", HOSTILE)
def test_an_owner_may_have_any_name(someone: Someone, name: str) -> None:
    own = (ORDERS % "%s").replace("topology: orders", f"topology: {json.dumps(name)}")
    user = (PAYMENTS % "").replace("from: topology/", f"from: {json.dumps(f'topology/{name}')}")
    file, user = someone.write(own % "orders.>", "orders.yaml"), someone.write(user, "payments.yaml")
    assert someone("apply", file, "--yes").code == 0
    assert someone("apply", user, "--yes").code == 0
    assert dict(records(someone)[LEDGER].uses) == {"ORDERS": name}
    narrowed = someone.write(own % "orders.*.us", "orders.yaml")
    said = someone("plan", narrowed)
    assert (said.code, "payments reads orders.*.eu" in words(said.out)) == (4, True), said


@pytest.mark.parametrize("name", HOSTILE)
def test_a_user_may_have_any_name(someone: Someone, name: str) -> None:
    assert someone("apply", orders(someone), "--yes").code == 0
    text = (PAYMENTS % "orders").replace("topology: payments", f"topology: {json.dumps(name)}")
    assert someone("apply", someone.write(text, "payments.yaml"), "--yes").code == 0
    for form in ("text", "json", "markdown", "github", "html"):
        said = someone("plan", orders(someone, "orders.*.us"), "--format", form)
        assert (said.code, "consumer/ORDERS/ledger" in said.out) == (4, True), said
        assert "\n::error::y" not in said.out and "\x1b[2J" not in said.out and "<script> reads" not in said.out


def test_a_broken_record_of_the_stream_is_no_record_of_somebody(someone: Someone) -> None:
    both(someone)

    async def spoil(js: JetStream) -> None:
        await js.put_entry(BUCKET, "owned.stream.ORDERS", b"[]", expected_revision=None)

    someone.ask(spoil)
    said = someone("plan", payments(someone))
    assert (said.code, "its record owned.stream.ORDERS cannot be used" in words(said.out)) == (4, True), said


def test_without_a_ledger_nobody_owns_what_is_used(someone: Someone) -> None:
    someone.ask(lambda js: js.write("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"]}))
    said = someone("plan", payments(someone))
    assert (said.code, "let `orders` declare the stream and apply" in words(said.out)) == (4, True), said
    assert someone("apply", orders(someone), payments(someone), "--yes").code == 0  # the owner adopts it


def test_a_broken_record_of_a_reader_stops_nothing(someone: Someone) -> None:
    both(someone)

    async def spoil(js: JetStream) -> None:
        await js.put_entry(
            BUCKET,
            "owned.consumer.ORDERS.ledger",
            b'{"format":1,"topology":"payments","uses":[1]}',
            expected_revision=None,
        )

    someone.ask(spoil)
    said = someone("plan", orders(someone, "orders.*.us"))
    assert (said.code, "LE101" in said.out + said.err, "consumer/ORDERS/ledger" in said.out) == (4, True, True), said


def test_a_stream_that_is_handed_over_in_one_run_is_used_by_a_third(someone: Someone) -> None:
    assert someone("apply", orders(someone), "--yes").code == 0
    gives = someone.write(
        "reconciler: 1\ntopology: orders\nstreams: {OTHER: {}}\nforget: [stream/ORDERS]\n", "orders.yaml"
    )
    takes = someone.write((ORDERS % "orders.>").replace("topology: orders", "topology: sales"), "sales.yaml")
    user = payments(someone, "sales")
    said = someone("plan", gives, takes, user)
    assert (said.code, "once sales is applied" in words(said.out)) == (0, True), said
    assert someone("apply", gives, takes, user, "--yes").code == 0
    assert dict(records(someone)[LEDGER].uses) == {"ORDERS": "sales"}
    assert someone("plan", gives, takes, user, "--exit-code").code == 0
