"""What a change does to consumers, copies and groups of others is said with whose they are, and takes consent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.agreement.harm import publish
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.kinds.test_across_harms import until
from tests.support.accounts import Account
from tests.support.jetstream import make_consumer

STREAM = "streams: {ORDERS: {subjects: [orders.a, orders.b]%s}}\n"
NARROWED = "streams: {ORDERS: {subjects: [orders.a]%s}}\n"


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def theirs(someone: Someone, inside: str) -> None:
    """Applied by the topology `billing`, beside a stream of ours."""
    text = f"reconciler: 1\ntopology: billing\nstreams:\n{inside}"
    ran = someone("apply", someone.write(text, "billing.yaml"), "--yes")
    assert ran.code == 0, ran


def beside(someone: Someone, inside: str) -> Someone:
    someone.applied(STREAM % "")
    theirs(someone, inside)
    return someone


def their_consumer(someone: Someone, said: str) -> Someone:
    return beside(someone, f"  ORDERS: {{external: true, consumers: {{invoices: {{{said}}}}}}}\n")


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("said", "reads"), [("filter_subject: orders.b", "orders.b"), ("", "everything")], ids=["goes dry", "loses a part"]
)
def test_a_consumer_of_another_topology_is_named_and_takes_consent(someone: Someone, said: str, reads: str) -> None:
    ran = their_consumer(someone, said).plan(NARROWED % "")
    assert ran.code == 4
    assert f"billing reads {reads} by consumer/ORDERS/invoices" in words(ran.out)
    allowed = ", allow: [{code: XX233, to: [orders.a], reason: billing knows}]"
    assert someone.apply(NARROWED % allowed).code == 0


def test_a_consumer_that_loses_nothing_takes_none(someone: Someone) -> None:
    assert their_consumer(someone, "filter_subject: orders.a").plan(NARROWED % "").code == 0


def test_a_consumer_of_our_own_takes_none(someone: Someone) -> None:
    ours = ", consumers: {west: {filter_subject: orders.b}}"
    someone.applied(STREAM % ours)
    ran = someone.plan(NARROWED % ours)
    assert (ran.code, "Nothing new will match the filters of consumer west" in words(ran.out)) == (0, True)


@pytest.mark.parametrize(
    ("name", "code"), [({"durable_name": "invoices"}, 4), ({"inactive_threshold": 60_000_000_000}, 0)],
    ids=["durable", "ephemeral"],
)  # fmt: skip
def test_what_nobody_owns_takes_consent_unless_it_is_passing(
    someone: Someone, name: dict[str, object], code: int
) -> None:
    async def made(js: JetStream) -> None:
        config = {"name": "invoices", "filter_subject": "orders.b", "ack_policy": "explicit", **name}
        await js.write("CONSUMER.CREATE.ORDERS.invoices.orders.b", {"stream_name": "ORDERS", "config": config})

    someone.applied(STREAM % "")
    someone.ask(made)
    ran = someone.plan(NARROWED % "")
    assert (ran.code, "consumer/ORDERS/invoices (owned by no topology)" in words(ran.out)) == (code, code == 4)
    assert "consumer invoices" in words(ran.out)


COPIES = {
    "mirror": "  COPY: {mirror: {name: ORDERS, filter_subject: orders.b}}\n",
    "source": "  COPY: {sources: [{name: ORDERS, filter_subject: orders.b}]}\n",
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_copy_of_another_topology_is_named_and_takes_consent(someone: Someone, copy: str) -> None:
    ran = beside(someone, copy).plan(NARROWED % "")
    assert (ran.code, "billing reads orders.b by stream/COPY" in words(ran.out)) == (4, True)


def test_a_group_of_another_topology_is_named_and_takes_consent(someone: Someone) -> None:
    filters = "partitioning_filters: [{filter: orders.*, partitioning_wildcards: [1]}]"
    group = f"{{type: elastic, max_members: 2, {filters}, members: [m]}}"
    ran = beside(someone, f"  ORDERS: {{external: true, groups: {{g: {group}}}}}\n").plan(NARROWED % "")
    assert (ran.code, "billing reads orders.* by elastic_group/ORDERS/g" in words(ran.out)) == (4, True)


def test_a_consumer_whose_unread_messages_go_is_named_with_its_owner(someone: Someone) -> None:
    async def filled(js: JetStream) -> None:
        await publish(js, *["orders.a"] * 5)

    their_consumer(someone, "").ask(filled)
    ran = someone.plan(STREAM % ", max_msgs: 2", "--format", "json")
    (verdict,) = json.loads(ran.out)["changes"][0]["verdicts"]
    assert (ran.code, verdict["code"], verdict["outcome"]) == (4, "ST301", "needs_consent")
    assert verdict["others"] == [{"address": "consumer/ORDERS/invoices", "owner": "billing", "reads": [">"]}]
    assert verdict["quantities"] == {"dependants": 1, "messages": 3, "unprocessed": 3}


def test_a_saved_plan_stops_where_somebody_else_has_come(someone: Someone) -> None:
    their_consumer(someone, "filter_subject: orders.b")
    path = someone.write(NARROWED % ", allow: [{code: XX233, to: [orders.a], reason: billing knows}]")
    saved = str(Path(path).parent / "plan.json")
    assert someone("plan", path, "--out", saved).code == 0
    someone.ask(lambda js: make_consumer(js, "ORDERS", "another", filter_subject="orders.b"))
    ran = someone("apply", saved, "--yes")
    assert (ran.code, "and now it is 2" in words(ran.out)) == (4, True)


FELT_ELSEWHERE = {
    "KV301": (
        "kv_buckets: {CONFIG: {history: 5}}",
        "kv_buckets: {CONFIG: {history: 2}}",
        "KV_CONFIG: {external: true, consumers: {audit: {ack_policy: explicit}}}",
        "consumer/KV_CONFIG/audit",
    ),
    "ST206": (
        "streams: {ORDERS: {subjects: [orders.a]}}",
        "streams: {ORDERS: {subjects: [orders.a], sealed: true}}",
        "COPY: {mirror: {name: ORDERS}}",
        "stream/COPY",
    ),
    "ST304": (
        "streams: {ORDERS: {subjects: [orders.a]}, ALL: {sources: [{name: ORDERS}]}}",
        "streams: {ORDERS: {subjects: [orders.a]}, ALL: {sources: [{name: ORDERS, filter_subject: orders.*}]}}",
        "COPY: {mirror: {name: ALL}}",
        "stream/COPY",
    ),
    "ST607": (
        "streams: {ORDERS: {subjects: [orders.a], republish: {src: orders.a, dest: seen.a}}}",
        "streams: {ORDERS: {subjects: [orders.a]}}",
        "SEEN: {subjects: [seen.>]}",
        "stream/SEEN",
    ),
    "ST612": (
        "streams: {ORDERS: {subjects: [orders.a], max_age: 1h}}",
        "streams: {ORDERS: {subjects: [orders.a], max_age: 1h, allow_rollup_hdrs: true, subject_delete_marker_ttl: 5m}}",
        "ORDERS: {external: true, consumers: {invoices: {ack_policy: explicit}}}",
        "consumer/ORDERS/invoices",
    ),
    "ST608": (
        "streams: {ORDERS: {subjects: [orders.a]}}",
        "streams: {ORDERS: {subjects: [orders.a], subject_transform: {src: orders.a, dest: new.a}}}",
        "ORDERS: {external: true, consumers: {invoices: {ack_policy: explicit}}}",
        "consumer/ORDERS/invoices",
    ),
}
"""By code: ours before and after, what `billing` has beside it, and its address."""


@pytest.mark.parametrize("code", FELT_ELSEWHERE)
def test_whatever_others_feel_is_named_and_takes_consent(someone: Someone, code: str) -> None:
    before, after, beside_it, address = FELT_ELSEWHERE[code]
    someone.applied(before)
    theirs(someone, f"  {beside_it}\n")
    filled = {"KV301": ("$KV.CONFIG.key", "KV_CONFIG"), "ST304": ("orders.a", "ALL")}.get(code, ("orders.a", "ORDERS"))

    async def used(js: JetStream) -> None:
        await publish(js, *[filled[0]] * 5)
        await until(js, filled[1], 5)

    someone.ask(used)
    ran = someone.plan(after, "--format", "json")
    verdicts = [one for change in json.loads(ran.out)["changes"] for one in change["verdicts"] if one["code"] == code]
    reads = {} if code == "ST607" else {"reads": [">"]}  # what is published again, the stream does not read
    assert (ran.code, [one["others"] for one in verdicts]) == (4, [[{"address": address, "owner": "billing", **reads}]])
