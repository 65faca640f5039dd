"""Whoever may write into bucket `reconciler` can write anything: one bad entry harms nothing but what it is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.exclusive import other_topologies
from reconciler.journeys.drift.look import look
from reconciler.journeys.history.json import difference_json, history_json, run_json
from reconciler.journeys.history.text import difference_text, history_text, run_text
from reconciler.kinds import REGISTRY
from reconciler.memory import journal, remembered
from reconciler.memory import run_changes as changed
from reconciler.memory.journal import Run
from reconciler.memory.lease import lease_key, read_lease, topology_of
from reconciler.model.ledger.intents import Intent, encode_intent, intent_key
from reconciler.model.ledger.records import encode_key
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.version import Version
from reconciler.report.codec.json import plan_json
from reconciler.report.words.paper import Paper
from reconciler.testbed import imagined
from tests.convergence.running import TODAY, apply_offline, plan_offline
from tests.drift.looking import drift_json, drift_text
from tests.support.contracts import followed
from tests.support.reports import plan_text
from tests.support.topologies import read

FILE = """
streams:
  A:
    subjects: [a.*]
    metadata: {team: a}
    consumers: {c: {ack_policy: explicit}, d: {ack_policy: explicit}}
    groups: {g: {type: elastic, max_members: 4, partitioning_filters: [{filter: a.*, partitioning_wildcards: [1]}]}}
  B: {subjects: [b], max_age: 1d}
kv_buckets: {K: {}}
"""
STREAM, CONSUMER, BUCKET = Address.of("stream", "A"), Address.of("consumer", "A", "c"), "reconciler"
GROUP = Address.of("elastic_group", "A", "g")
WIRE = Paper(width=100)

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["2.15", "", "t" * 5_000, "replace", "\x1b[2J", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
BYTES = st.binary(max_size=20) | st.sampled_from(
    [b"[" * 100 + b"]" * 100, b'{"a":' * 150 + b"1" + b"}" * 150, b"1e999"]
)

rubbish = settings(
    max_examples=120, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


def damaged(valid: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """Bytes, any JSON, or a valid entry in which something has another value, one level down too."""

    def into(path: tuple[str, ...], value: Any) -> bytes:
        whole = json.loads(json.dumps(valid))
        inner = whole
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value
        return text(whole)

    paths = [(name,) for name in valid] + [
        (name, below) for name, one in valid.items() if isinstance(one, dict) for below in (*one, "more")
    ]
    return BYTES | ANYTHING.map(text) | st.builds(into, st.sampled_from(paths), ANYTHING)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> Topology:
    return read(tmp_path_factory.mktemp("t"), FILE, "t")


@pytest.fixture(scope="module")
def applied(wanted: Topology) -> Snapshot:
    empty = imagined.empty_snapshot(Target(version=Version(2, 15), peers=1))
    return apply_offline(plan_offline(wanted, empty), empty)


def holding(snapshot: Snapshot, key: str, value: bytes) -> Snapshot:
    """The account with this in one entry more, or another."""
    entries = {**snapshot.entries, BUCKET: {**snapshot.entries.get(BUCKET, {}), key: Entry(value, 7)}}
    return replace(snapshot, entries=entries)


def without_consumer(snapshot: Snapshot) -> Snapshot:
    left = {name: info for name, info in snapshot.consumers["A"].items() if name != "c"}
    return replace(snapshot, consumers={**snapshot.consumers, "A": left})


def looked_at(wanted: Topology, snapshot: Snapshot) -> Plan:
    """Planned, shown, and looked at for drift; every page of it can be printed and is JSON."""
    plan = plan_offline(wanted, snapshot)
    plan_text(plan)
    strayed = look(wanted, snapshot, RunOptions(today=TODAY)).drift
    drift_text(strayed, WIRE)
    for page in (plan_json(plan), drift_json(strayed)):
        json.loads(page, parse_constant=pytest.fail)
    other_topologies(plan, snapshot)
    return plan


def touched(plan: Plan) -> set[str]:
    return {change.address for change in plan.changes if change.action is not Action.KEEP}


OWNED: dict[str, Any] = {
    "format": 1, "topology": "t", "source": "h/o/r", "git_revision": "abc", "fields": {"subjects": ["a.*"], "metadata": {"team": "a"}},
    "left": ["description"], "protected": True, "knows": "2.15", "start": {}, "earlier": ["consumer/S/before"],
    "seen": {"created": "then", "at": 1, "server": "2.15.0"},
}  # fmt: skip
START = {"deliver_policy": "by_start_sequence", "opt_start_seq": 43, "opt_start_time": None}
INTENT: dict[str, Any] = json.loads(json.dumps(encode_intent(Intent(
    topology="t", created="then", old={"ack_policy": "explicit"}, wanted={"ack_policy": "explicit", "members": ["m"], "metadata": {}},
    fields=("ack_policy",), start=START, notes={"placeholder": "p", "resume": 4}, ready=True,
)))) | {"allow": [{"code": "CO104", "reason": "r"}], "source": "h/o/r", "git_revision": "abc"}  # fmt: skip


@rubbish
@given(value=damaged(OWNED), address=st.sampled_from([STREAM, CONSUMER]))
def test_a_bad_record_harms_nothing_but_what_it_is_about(
    value: bytes, address: Address, wanted: Topology, applied: Snapshot
) -> None:
    for snapshot in (applied, without_consumer(applied)):
        plan = looked_at(wanted, holding(snapshot, encode_key(address), value))
        assert touched(plan) <= {str(address), str(CONSUMER)}


@rubbish
@given(value=damaged({**OWNED, "start": START, "fields": {"deliver_policy": "all"}}))
def test_nor_does_one_of_a_consumer_that_was_replaced(value: bytes, wanted: Topology, applied: Snapshot) -> None:
    config = {**applied.consumers["A"]["c"]["config"], "deliver_policy": "by_start_sequence", "opt_start_seq": 43}
    live = {**applied.consumers["A"], "c": {**applied.consumers["A"]["c"], "config": config}}
    snapshot = replace(applied, consumers={**applied.consumers, "A": live})
    assert touched(looked_at(wanted, holding(snapshot, encode_key(CONSUMER), value))) <= {str(CONSUMER)}


@rubbish
@given(value=damaged(INTENT), address=st.sampled_from([CONSUMER, GROUP, STREAM]))
def test_a_bad_intent_stops_what_it_is_about_and_nothing_else(
    value: bytes, address: Address, wanted: Topology, applied: Snapshot
) -> None:
    for snapshot in (applied, without_consumer(applied)):
        plan = looked_at(wanted, holding(snapshot, intent_key(address), value))
        assert touched(plan) <= {str(address), str(CONSUMER)}


@rubbish
@given(value=BYTES | ANYTHING.map(text))
def test_what_is_no_intent_never_counts_as_nothing_half_made(value: bytes, wanted: Topology, applied: Snapshot) -> None:
    plan = looked_at(wanted, holding(without_consumer(applied), intent_key(CONSUMER), value))
    assert {(one.address, one.action) for one in plan.changes if str(CONSUMER) == one.address} == {
        (str(CONSUMER), Action.UNKNOWN)
    }
    assert not plan.steps


@pytest.mark.parametrize(
    "key", ["foo.bar", "stream.A.B", "consumer.A", "elastic_group.A", "foo", "foo.=41", "consumer.A.c.d"]
)
@pytest.mark.parametrize("value", [text(INTENT), text(OWNED), b"{"], ids=["intent", "record", "rubbish"])
def test_kinds_that_a_later_version_has_are_left_alone(
    key: str, value: bytes, wanted: Topology, applied: Snapshot
) -> None:
    for prefix in ("owned", "intent"):
        assert touched(looked_at(wanted, holding(applied, f"{prefix}.{key}", value))) == set()


def problems(snapshot: Snapshot) -> list[tuple[str, str | None]]:
    return [(one.code, one.address) for one in remembered.read_memory(snapshot, REGISTRY).problems]


def test_each_entry_that_cannot_be_used_is_told(applied: Snapshot) -> None:
    assert problems(holding(applied, intent_key(CONSUMER), b"{")) == [("LE104", str(CONSUMER))]
    assert problems(holding(applied, "intent.foo.bar", text(INTENT))) == [("LE104", "foo/bar")]
    assert problems(holding(applied, "owned.foo.bar", text(OWNED))) == [("LE101", "foo/bar")]
    assert problems(holding(applied, encode_key(STREAM), text({**OWNED, "knows": "abc"}))) == [("LE101", str(STREAM))]


@pytest.mark.parametrize("name", ["", "t" * 5_000])
def test_what_can_be_no_name_of_a_topology_is_never_waited_for(name: str, applied: Snapshot) -> None:
    snapshot = holding(applied, encode_key(STREAM), text({**OWNED, "topology": name}))
    assert problems(snapshot) == [("LE101", str(STREAM))]


BEGUN = {"format": 1, "topology": "t", "run": "x", "user": "u", "host": "h", "pid": 4, "counts": {"create": 1}, "steps": 2,
         "changes": 1, "git_revision": "abc", "source": "h/o/r", "tool": "1", "since": "then", "account_user": "a"}  # fmt: skip
ENDED = {"format": 1, "counts": {"done": 2, "failed": 1}, "stopped": "interrupted", "chunks": 1}
FAILED = {
    "step": "s",
    "call": "stream.create",
    "on": "A",
    "code": "AP1",
    "message": "m",
    "fix": "f",
    "address": "stream/A",
}
STEPS: dict[str, Any] = {"done": {"stream.create": ["A"], "not named": 4}, "failed": [FAILED], "in_doubt": [FAILED],
         "unfinished": ["stream/A"], "skipped": {"because": {"stream.create": ["A"]}},
         "not_started": {"stream.create": ["B"]}, "warnings": [FAILED]}  # fmt: skip
CHANGES: dict[str, Any] = {"stream/A": {"action": "update", "fields": {"max_age": {"from": 1, "to": 2, "unit": "duration", "default": 0},
           "long": {"long": True}}}, "stream/B": {"action": "create"}}  # fmt: skip


def runs(which: str, value: bytes) -> Iterator[Run]:
    """Two of one topology; the second says rubbish somewhere."""
    said = {"begun": text(BEGUN), "ended": text(ENDED), "steps": text(STEPS), "changes": text(CHANGES)}
    for number, entries in ((1, said), (2, {**said, which: value})):
        yield Run(
            number=number, begun=journal.decode_run_entry(entries["begun"]), at="then", ended=journal.decode_run_entry(entries["ended"]),
            until="now", steps=journal.decode_step_results(entries["steps"]), changes=journal.decode_changes(entries["changes"]),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("which", "valid"), [("begun", BEGUN), ("ended", ENDED), ("steps", STEPS), ("changes", CHANGES)]
)
def test_the_journal_is_told_as_far_as_it_goes(which: str, valid: dict[str, Any]) -> None:
    sides = CHANGES["stream/A"]["fields"]["max_age"]

    def of_one_field(said: Any) -> bytes:
        return text({**valid, "stream/A": {"action": "update", "fields": {"max_age": said}}})

    one_odd = st.builds(
        lambda name, one: {**sides, name: one}, st.sampled_from([*sides, "left_out", "units"]), ANYTHING
    )
    deeper = (one_odd | ANYTHING).map(of_one_field) if which == "changes" else damaged(valid)

    @rubbish
    @given(damaged(valid) | deeper)
    def explore(value: bytes) -> None:
        first, last = runs(which, value)
        difference = changed.difference(first, last, [first, last])
        for text in (history_text([last, first], WIRE), run_text(last, WIRE), difference_text(difference, WIRE)):
            assert "\x1b[2J" not in text
        pages = {"runs": history_json([last, first]), "run": run_json(last), "diff": difference_json(difference)}
        for part, page in pages.items():
            json.loads(page, parse_constant=pytest.fail)
            followed("history", page, part)

    explore()


@pytest.mark.parametrize("said", [10**30, 10**6, -5, True, 1.5, "x", None, [1]])
def test_no_more_chunks_of_a_run_are_read_than_there_can_be(said: object) -> None:
    ended = journal.decode_run_entry(text({**ENDED, "chunks": said}))
    assert len(journal.chunks_of(ended, "chunks")) <= journal.MAX_CHUNKS_READ


@rubbish
@given(damaged({"format": 1, "run": "x", "user": "u", "pid": 4, "since": "then", "topology": "t"}))
def test_whatever_stands_in_a_lease_holds_it(value: bytes) -> None:
    there = read_lease(Entry(value, 3), "t", "mine")
    assert str(there.holder) if hasattr(there, "holder") else False


@pytest.mark.parametrize("key", ["lease.", "lease", "lease.=C3", "lease.=41", "lease.a.b", "lease.a=2eb"])
def test_what_is_no_key_of_a_lease_is_nobodys(key: str) -> None:
    assert topology_of(key) is None
    assert topology_of(lease_key("a.b")) == "a.b"
