"""Whatever a plan asks and does, a user with the printed permissions may."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from reconciler.changes.view import View
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide, unanswered_questions
from reconciler.journeys.permissions.permissions import permissions
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import BulkEntry, Moved, Topology
from reconciler.model.wire.permissions import Granted, Need, Purpose, covers, missing_needs
from reconciler.model.wire.questions import ALL_SERVERS, Question
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import Version
from reconciler.server.read import permission_subjects as reach
from reconciler.server.read.permission_subjects import Api
from reconciler.server.wire.api import WHO
from tests.convergence.drawing import drawn, topology
from tests.convergence.running import CONSENTED, TODAY, apply_offline, plan_offline
from tests.support.topologies import read, scene

API = Api()
SERVER = Path(__file__).parents[2] / "reconciler"
ENDPOINT = re.compile(r"(?:STREAM|CONSUMER|DIRECT|\$SYS\.REQ)\.[A-Z.]+")


def may(wanted: Topology, purpose: Purpose, allow: Iterable[tuple[str, str]] = ()) -> Granted:
    needs = permissions(wanted, purpose, API, allow=allow)
    return Granted(allow=tuple(need.subject for need in needs.publish))


@pytest.mark.parametrize("version", [Version(2, 11, 11), Version(2, 15, 1)], ids=str)
def test_no_drawn_plan_has_a_step_that_is_not_foreseen(version: Version) -> None:
    calls: set[Call] = set()
    for case in drawn(100, version):
        empty = Snapshot(target=Target(version=version, peers=1))
        first = topology("drawn", case.first)
        then = topology("drawn", case.then, tuple(case.removed), tuple(case.forget))
        there = apply_offline(plan_offline(first, empty), empty)
        for wanted, snapshot in ((first, empty), (then, there), (moved(first), there)):
            consented, steps = may(wanted, Purpose.APPLY, CONSENTED), plan_offline(wanted, snapshot).steps
            calls |= {step.call for step in steps}
            assert not missing_needs(done(steps), consented)
            assert not missing_needs(asked(wanted, snapshot), may(wanted, Purpose.PLAN))
            bare = [s for s in steps_without_consent(wanted, snapshot) if s.address]
            assert not missing_needs(done(bare), may(wanted, Purpose.APPLY))
        changed = apply_offline(plan_offline(then, there), there)  # as somebody may change it by hand
        back = [s for s in steps_without_consent(first, changed) if s.address]
        assert not missing_needs(done(back), may(first, Purpose.APPLY))
    assert calls > {Call.STREAM_CREATE, Call.STREAM_UPDATE, Call.CONSUMER_CREATE, Call.CONSUMER_DELETE}


@pytest.mark.parametrize("on", ["{}", "{}*", "*/*", "?*/*"])
def test_what_a_pattern_deletes_is_foreseen(on: str) -> None:
    """The same as with an entry for each object."""
    version, removes = Version(2, 15, 1), 0
    for case in drawn(60, version):
        empty = Snapshot(target=Target(version=version, peers=1))
        exact = topology("drawn", case.then, tuple(case.removed))
        entries = (BulkEntry(key="removed", on=on.format(one), upto=99, reason="drawn") for one in case.removed)
        wanted = replace(exact, removed=(), bulk=tuple(entries))
        first = plan_offline(topology("drawn", case.first), empty)
        there = apply_offline(first, empty)
        steps = plan_offline(wanted, there).steps
        removes += bool(case.removed)
        assert not missing_needs(done(steps), may(wanted, Purpose.APPLY, CONSENTED))
        if "?" not in on and len(case.removed) == len(
            first.records.keys() - dict.fromkeys(d.address for d in wanted.resources)
        ):
            assert [step.id for step in steps] == [step.id for step in plan_offline(exact, there).steps]
    assert removes


def test_a_pattern_of_buckets_is_all_streams_to_a_subject() -> None:
    entry = BulkEntry(key="removed", on="kv_bucket/OLD_*", upto=1, reason="r")
    user = may(Topology(name="t", bulk=(entry,)), Purpose.APPLY)
    assert user.permits("$JS.API.STREAM.DELETE.KV_OLD_1")
    exact = may(Topology(name="t", bulk=(replace(entry, on="consumer/S/c*"),)), Purpose.APPLY)
    assert exact.permits("$JS.API.CONSUMER.DELETE.S.c1")
    assert not exact.permits("$JS.API.CONSUMER.DELETE.T.c1")
    assert not exact.permits("$JS.API.STREAM.DELETE.S")
    given_up = may(Topology(name="t", bulk=(replace(entry, key="forget"),)), Purpose.APPLY)
    assert not given_up.permits("$JS.API.STREAM.DELETE.KV_OLD_1")


def moved(wanted: Topology) -> Topology:
    """The same, with another name for each of its consumers."""
    names = {a: Address.of(a.kind, a.stream, f"{a.name}-anew") for a in (d.address for d in wanted.resources)}
    moves = [Moved(origin=a, address=to, reason="drawn") for a, to in names.items() if a.kind == "consumer"]
    other = {entry.origin: entry.address for entry in moves}
    resources = (replace(d, address=other.get(d.address, d.address)) for d in wanted.resources)
    return replace(wanted, resources=tuple(resources), moved=tuple(moves))


GROUP = (
    "groups: {g: {type: elastic, max_members: 2, partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]}}"
)
SPREAD = [{"src": "j.*", "dest": "{{Partition(2,1)}}.j.{{Wildcard(1)}}"}]
OF_THE_QUEUE = {
    "raised": {"num_replicas": 1},
    "settled": {"sources": [{"name": "J", "opt_start_seq": 7, "subject_transforms": SPREAD}]},
}


@pytest.mark.parametrize("found", OF_THE_QUEUE.values(), ids=OF_THE_QUEUE.keys())
def test_what_a_queue_needs_without_any_consent_is_foreseen(tmp_path: Path, found: dict[str, object]) -> None:
    text = f"streams: {{J: {{subjects: [j.*], num_replicas: 3, {GROUP}}}}}"
    there = scene(
        tmp_path, text, text, cluster="C", raw={"streams": {"J-g": {"config": found, "state": {"last_seq": 9}}}}
    )
    steps = [step for step in there.plan().steps if step.on == ("J-g",)]
    assert steps
    assert not missing_needs(done(steps), may(there.desired, Purpose.APPLY))


def done(steps: Iterable[Step]) -> list[Need]:
    steps = list(steps)
    return [*API.needs_to_carry_out(steps), *API.needs_to_verify(steps)]


def view_of(wanted: Topology, snapshot: Snapshot) -> View:
    return compare(wanted, snapshot, remembered.read_memory(snapshot, REGISTRY), REGISTRY)


def asked(wanted: Topology, snapshot: Snapshot) -> Iterator[Need]:
    """What is asked of a single server, and of a cluster with the same streams."""
    for target in (snapshot.target, replace(snapshot.target, cluster="C1")):
        view = view_of(wanted, replace(snapshot, target=target))
        yield from API.needs_to_ask(unanswered_questions(view, REGISTRY))


def steps_without_consent(wanted: Topology, snapshot: Snapshot) -> list[Step]:
    return list(decide(view_of(wanted, snapshot), REGISTRY, RunOptions(today=TODAY)).steps)


PLACED = {
    "by tags": "streams: {S: {subjects: [s], placement: {tags: [a]}}}",
    "in a cluster": "streams: {S: {subjects: [s], placement: {cluster: C1}}}",
    "a bucket": "kv_buckets: {B: {placement: {tags: [a]}}}",
    "an object store": "object_stores: {O: {placement: {tags: [a]}}}",
    "more than any cluster has": "streams: {S: {subjects: [s], num_replicas: 5}}",
}


@pytest.mark.parametrize("text", PLACED.values(), ids=PLACED)
def test_who_says_where_streams_are_placed_may_ask_which_servers_there_are(tmp_path: Path, text: str) -> None:
    there = scene(tmp_path, text, cluster="C1")
    needs = [*API.needs_to_ask(unanswered_questions(there.view(), REGISTRY))]
    assert ALL_SERVERS in {need.subject for need in needs}
    for purpose in (Purpose.PLAN, Purpose.APPLY):
        assert not missing_needs(needs, may(there.desired, purpose))


def test_who_leaves_a_placement_as_found_may_ask_which_servers_it_has(tmp_path: Path) -> None:
    text = "streams: {S: {subjects: [s], num_replicas: %s, unmanaged: [placement]}}"
    raw = {"streams": {"S": {"config": {"placement": {"tags": ["a"]}}}}}
    there = scene(tmp_path, text % 3, text % 1, cluster="C1", raw=raw)
    needs = [*API.needs_to_ask(unanswered_questions(there.view(), REGISTRY))]
    assert ALL_SERVERS in {need.subject for need in needs}
    assert not missing_needs(needs, may(there.desired, Purpose.PLAN))


def test_who_places_nothing_may_not_ask_which_servers_there_are(tmp_path: Path) -> None:
    there = read(tmp_path, "streams: {S: {subjects: [s], num_replicas: 3}}")
    placed = read(tmp_path, PLACED["by tags"])
    assert not may(there, Purpose.APPLY).permits(ALL_SERVERS)
    assert not may(placed, Purpose.DRIFT).permits(ALL_SERVERS)
    api = Api.of("hub", None, "_INBOX")  # where nobody asks them
    assert ALL_SERVERS not in {need.subject for need in permissions(placed, Purpose.APPLY, api).publish}


def test_every_question_says_what_it_asks() -> None:
    assert set(reach.QUESTIONS) == set(get_args(Question))


def test_every_call_says_what_it_asks() -> None:
    assert set(reach.STEPS) == set(Call)


def test_every_endpoint_written_anywhere_stands_in_the_table() -> None:
    questions = (template for templates in reach.QUESTIONS.values() for template in templates)
    tables = (WHO, *questions, *reach.LOOK, *reach.RECORDS, reach.CREATE, reach.MEMBER, reach.BACKUP)
    known = {start(t) for row in (*reach.STEPS.values(), *reach.AFTERWARDS.values(), tables) for t in row}
    written = {
        start(text)
        for path in [*(SERVER / "server").rglob("*.py"), *(SERVER / "journeys").rglob("*.py")]
        if not path.stem.endswith("demo")  # which also plays somebody else, on servers of its own
        for text in texts(path)
    }
    assert len(written) > len(known) / 2, "where requests are written they are looked for"
    assert written - {""} <= known, "say in server/read/permission_subjects.py who asks this"


def start(text: str) -> str:
    found = ENDPOINT.match(text)
    return found[0].rstrip(".") if found else ""


def texts(path: Path) -> Iterator[str]:
    """Every piece of text in a module but its documentation, f-strings with their parts blanked."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            yield node.value


@pytest.mark.parametrize(
    ("pattern", "subject", "is_covered"),
    [
        ("a.>", "a.b.c", True), ("a.>", "a", False), ("a.*", "a.b", True), ("a.*", "a.b.c", False),
        ("a.*", "a.>", False), ("a.>", "a.*", True), ("a.*", "a.*", True), ("a.b", "a.*", False), (">", "x", True),
    ],
)  # fmt: skip
def test_a_pattern_covers_what_it_matches_whole(pattern: str, subject: str, is_covered: bool) -> None:
    assert covers(pattern, subject) is is_covered


def test_a_denial_beats_what_is_allowed() -> None:
    user = Granted(allow=("$JS.API.>",), deny=("$JS.API.STREAM.DELETE.*",))
    assert user.permits("$JS.API.STREAM.CREATE.A")
    assert not user.permits("$JS.API.STREAM.DELETE.A")
    assert not user.permits("$KV.reconciler.id")


def test_nobody_may_delete_or_replace_unless_the_files_say_so() -> None:
    wanted = replace(topology("t", next(iter(drawn(1, Version(2, 15, 1), every=1))).first))
    subjects = may(wanted, Purpose.APPLY).allow
    assert not [subject for subject in subjects if "STREAM.DELETE" in subject or "CONSUMER.UNPIN" in subject]
