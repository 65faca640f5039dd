"""Every field of every kind, set and left out: both sides of the line say a value, and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.journeys.drift.way_back import narrowed_view
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address, Terms
from reconciler.report.codec.json import plan_json
from reconciler.report.document.change_details import field_differences
from reconciler.report.document.document import Document
from reconciler.report.document.piece_lines import piece_lines
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import show_live, show_wanted
from tests.drift.looking import drift_text, seen
from tests.support.plans import plan_from_json
from tests.support.topologies import Scene, scene

NONE = "none"


class Row(NamedTuple):
    said: str
    """As a file says it, and as a report shows it."""
    left_out: str
    """What is wanted where the file says nothing."""
    beside: str = ""
    """What else the file says both times."""
    live: str = ""
    """What stands where nothing was said, if that reads otherwise than what is wanted then."""


NO_LIMIT, OFF = "no limit (default)", "false (default)"
FLAG = Row("true", OFF)
METADATA = Row("{team: billing}", NONE)
SOURCE = "{name: PAYMENTS, filter_subject: a.b, opt_start_seq: 1_000}"
REPUBLISH = Row('{src: ">", dest: r.x}', NONE)
PLACEMENT = Row("{tags: [ssd]}", NONE)

BUCKET = {
    "description": Row("words", NONE),
    "ttl": Row("1d12h", NO_LIMIT),
    "max_bytes": Row("1GB", NO_LIMIT),
    "storage": Row("memory", "file (default)"),
    "num_replicas": Row("3", "1 (default)"),
    "compression": Row("s2", "none"),
    "placement": PLACEMENT,
    "allow_direct": Row("false", "true (default)"),
    "metadata": METADATA,
}
ROWS: dict[str, dict[str, Row]] = {
    "stream": {
        "description": Row("words", NONE),
        "subjects": Row("[a.>]", "[X] (from its name)", live="[X]"),
        "retention": Row("interest", "limits (default)"),
        "max_consumers": Row("5", NO_LIMIT),
        "max_msgs": Row("1_000_000", NO_LIMIT),
        "max_bytes": Row("20GiB", NO_LIMIT),
        "max_age": Row("7d", NO_LIMIT),
        "max_msgs_per_subject": Row("10", NO_LIMIT),
        "max_msg_size": Row("64KiB", NO_LIMIT),
        "discard": Row("new", "old (default)"),
        "discard_new_per_subject": FLAG,
        "storage": Row("memory", "file (default)"),
        "num_replicas": Row("3", "1 (default)"),
        "no_ack": FLAG,
        "duplicate_window": Row("1m30s", "2m (default)", live="2m"),
        "placement": PLACEMENT,
        "mirror": Row(SOURCE, NONE),
        "sources": Row(f"[{SOURCE}]", NONE),
        "compression": Row("s2", NONE),
        "first_seq": Row("1_000", "1 (default)"),
        "subject_transform": Row("{src: a, dest: b}", NONE),
        "republish": REPUBLISH,
        "allow_direct": FLAG,
        "mirror_direct": Row("true", OFF, beside="mirror: {name: ORIGIN, external: {api: $JS.hub.API}}"),
        "sealed": FLAG,
        "deny_delete": FLAG,
        "deny_purge": FLAG,
        "allow_rollup_hdrs": FLAG,
        "consumer_limits": Row("{inactive_threshold: 1h, max_ack_pending: 1_000}", NONE),
        "allow_msg_ttl": FLAG,
        "subject_delete_marker_ttl": Row("5m", NONE, beside="allow_msg_ttl: true"),
        "allow_msg_counter": FLAG,
        "allow_atomic": FLAG,
        "allow_msg_schedules": FLAG,
        "persist_mode": Row("async", "default (default)"),
        "allow_batched": FLAG,
        "metadata": METADATA,
    },
    "consumer": {
        "description": Row("words", NONE),
        "deliver_policy": Row("new", "all (default)"),
        "opt_start_seq": Row("7_000", NONE, beside="deliver_policy: by_start_sequence"),
        "opt_start_time": Row('"2026-03-01T08:00:00Z"', NONE, beside="deliver_policy: by_start_time"),
        "ack_policy": Row("all", NONE),
        "ack_wait": Row("1m", "30s (default)", beside="ack_policy: explicit"),
        "max_deliver": Row("5", NO_LIMIT),
        "backoff": Row("[30s, 5m]", NONE, beside="ack_policy: explicit"),
        "filter_subject": Row("orders.*.created", NONE),
        "filter_subjects": Row('[a.b, "*.c"]', NONE),
        "replay_policy": Row("original", "instant (default)"),
        "rate_limit_bps": Row("1_000", NO_LIMIT),
        "sample_freq": Row('"30"', NONE),
        "max_waiting": Row("64", "512 (default)", live="512"),
        "max_ack_pending": Row("10", "1_000 (default)", live="1_000", beside="ack_policy: explicit"),
        "flow_control": Row("true", OFF, beside="deliver_subject: d, idle_heartbeat: 1s"),
        "headers_only": FLAG,
        "max_batch": Row("10", NONE),
        "max_expires": Row("1m", NO_LIMIT),
        "max_bytes": Row("64KB", NO_LIMIT),
        "deliver_subject": Row("d.here", NONE),
        "deliver_group": Row("q", NONE, beside="deliver_subject: d"),
        "idle_heartbeat": Row("1s", NONE, beside="deliver_subject: d"),
        "inactive_threshold": Row("1h", NONE),
        "num_replicas": Row("1", "as its stream (default)"),
        "mem_storage": FLAG,
        "metadata": METADATA,
        "pause_until": Row('"2099-01-01T00:00:00Z"', NONE),
        "priority_groups": Row("[a]", NONE),
        "priority_policy": Row("overflow", NONE, beside="priority_groups: [a]"),
        "priority_timeout": Row(
            "1m", "2m (default)", live="2m",
            beside="ack_policy: explicit, priority_groups: [a], priority_policy: pinned_client",
        ),
    },
    "kv_bucket": {
        **BUCKET,
        "history": Row("5", "1 (default)"),
        "max_value_size": Row("1_000_001", NO_LIMIT),
        "republish": REPUBLISH,
        "mirror": Row("{name: KV_Y}", NONE),
        "sources": Row("[{name: KV_Y}]", NONE),
        "limit_marker_ttl": Row("5m", NONE, beside="allow_msg_ttl: true"),
        "allow_msg_ttl": FLAG,
        "deny_delete": Row("false", "true (default)"),
    },
    "object_store": {**BUCKET, "sealed": FLAG},
    "static_group": {
        "members": Row("[a, b]", NONE),
        "member_mappings": Row("{a: [0, 1], b: [2, 3]}", NONE),
        "filters": Row("[eu, us]", "all subjects (default)"),
    },
    "elastic_group": {
        "members": Row("[a, b]", NONE),
        "member_mappings": Row("{a: [0, 1], b: [2, 3]}", NONE),
        "partitioning_filters": Row("[{filter: X.*, partitioning_wildcards: [1]}]", "all subjects (default)"),
        "max_buffered_msg": Row("1_000", NO_LIMIT),
        "max_buffered_bytes": Row("10MiB", NO_LIMIT),
    },
}  # fmt: skip
REASONS = {
    "description": "an object without words about it has none",
    "metadata": "there are no keys of one's own then",
    "placement": "the server chooses", "republish": "nothing is published again", "mirror": "it is no copy",
    "sources": "it copies nothing", "subject_transform": "subjects stay", "consumer_limits": "there are none",
    "subject_delete_marker_ttl": "no markers are left", "limit_marker_ttl": "no markers are left",
    "opt_start_seq": "only one deliver policy has it", "opt_start_time": "only one deliver policy has it",
    "backoff": "ack_wait counts", "filter_subject": "filter_subjects may stand instead",
    "filter_subjects": "filter_subject may stand instead", "sample_freq": "nothing is sampled",
    "max_batch": "a server may have a limit of its own, and no answer shows it", "deliver_subject": "clients pull",
    "deliver_group": "there is no queue group", "idle_heartbeat": "there are no heartbeats",
    "inactive_threshold": "it stays", "pause_until": "it is not paused", "priority_groups": "there are none",
    "members": "there are none", "member_mappings": "members may stand instead",
    "compression": "this is the value", "priority_policy": "this is the value", "ack_policy": "this is the value",
}  # fmt: skip
"""Why some fields are `none` when left out."""
REQUIRED = {"max_members"}
EVERY = [(kind, field) for kind, rows in ROWS.items() for field in rows]


def document(kind: str, body: str) -> str:
    if kind in ("stream", "kv_bucket", "object_store"):
        return f"{REGISTRY[kind].place.section}: {{X: {{{body}}}}}\n"
    if kind == "consumer":
        return f"streams: {{X: {{subjects: [s.>], consumers: {{c: {{{body}}}}}}}}}\n"
    said = f"type: {kind.removesuffix('_group')}, max_members: 4, {body}"
    return f"streams: {{X: {{subjects: [s.>], groups: {{g: {{{said}}}}}}}}}\n"


def bodies(kind: str, field: str) -> tuple[str, str]:
    """With the field, and without it."""
    row = ROWS[kind][field]
    said = row.said
    if field == "member_mappings":
        said = "[{member: a, partitions: [0, 1]}, {member: b, partitions: [2, 3]}]"
    bare = "members: []" if field in ("members", "member_mappings") else row.beside
    return f"{row.beside}{', ' if row.beside else ''}{field}: {said}", bare


def scenes(folder: Path, kind: str, field: str) -> tuple[Scene, Scene]:
    """The field is taken out of the file; the field comes into it."""
    said, bare = (document(kind, body) for body in bodies(kind, field))
    server = "2.15"
    return scene(folder / "out", bare, said, server=server), scene(folder / "in", said, bare, server=server)


def lines(found: Scene, *, saved: bool = False) -> dict[str, str]:
    """The two sides of every field that changes."""
    plan = plan_from_json(plan_json(found.plan())) if saved else found.plan()
    (change,) = (one for one in plan.changes if one.fields)
    shown = piece_lines([field_differences(change.fields)], Paper(width=1_000), 4)
    return dict(line.split(maxsplit=1) for line in shown)


def test_every_field_of_every_kind_is_tried() -> None:
    for kind in REGISTRY.kinds:
        ours = {*Terms.model_fields, "external", *REQUIRED}
        assert ROWS[kind.name].keys() == kind.spec.model_fields.keys() - ours


@pytest.mark.parametrize(("kind", "field"), EVERY)
def test_what_a_left_out_field_means_is_shown_with_where_it_comes_from(kind: str, field: str, tmp_path: Path) -> None:
    row = ROWS[kind][field]
    out, into = scenes(tmp_path, kind, field)
    assert lines(out)[field] == f"{row.said} → {row.left_out}"
    assert lines(into)[field] == f"{row.live or row.left_out} → {row.said}"


@pytest.mark.parametrize(("kind", "field"), EVERY)
def test_a_saved_plan_reads_as_it_did(kind: str, field: str, tmp_path: Path) -> None:
    for found in scenes(tmp_path, kind, field):
        assert lines(found, saved=True) == lines(found)


@pytest.mark.parametrize(("kind", "field"), EVERY)
def test_no_report_says_default_without_a_value(kind: str, field: str, tmp_path: Path) -> None:
    for found in scenes(tmp_path, kind, field):
        for text in reports(found):
            assert not BARE.search(text), text


def reports(found: Scene) -> Iterator[str]:
    """In every format for people, without what only looks like a line of a field."""
    plan = found.plan()
    document = Document(topology=plan.topology, plan=plan, declared=found.desired, explain=lambda _code: "")
    for name in ("text", "markdown", "github", "sarif", "junit"):
        yield FORMATS[name](document)
    yield from re.findall("<(?:del|ins)>(.*?)</", FORMATS["html"](document))
    yield drift_text(seen(found))


BARE = re.compile(r"(?:^[\s+-]*[\w.\[\]]+\s\s+|→ |^)(?:default|unset)\b(?! \(default\))", re.MULTILINE)


def test_only_fields_that_have_no_value_are_none() -> None:
    assert {field for kind, field in EVERY if ROWS[kind][field].left_out == NONE} == REASONS.keys()


def test_a_bucket_that_is_not_as_it_must_be_shows_what_it_must_be(tmp_path: Path) -> None:
    raw = {"streams": {"KV_B": {"config": {"subjects": ["other.>"], "deny_delete": False, "discard": "old"}}}}
    found = scene(tmp_path, "kv_buckets: {B: {}}", "kv_buckets: {B: {}}", raw=raw, owner=None)
    assert lines(found)["subjects"] == "[other.>] → [$KV.B.>] (default)"
    assert lines(found)["discard"].endswith(" → new (default)")
    assert lines(found)["deny_delete"].endswith(" → true (default)")


@pytest.mark.parametrize(
    ("before", "after", "field", "shown"),
    [
        (
            "{subjects: [a], consumer_limits: {inactive_threshold: 1h}}",
            "{subjects: [a], consumer_limits: {inactive_threshold: 90m, max_ack_pending: 5000}}",
            "consumer_limits.inactive_threshold",
            "1h → 1h30m",
        ),
        (
            "{subjects: [a], consumer_limits: {inactive_threshold: 1h, max_ack_pending: 5000}}",
            "{subjects: [a], consumer_limits: {inactive_threshold: 1h}}",
            "consumer_limits.max_ack_pending",
            "5_000 → none",
        ),
        (
            "{sources: [{name: A, opt_start_seq: 5000}]}",
            "{sources: [{name: A}]}",
            "sources[0].opt_start_seq",
            "5_000 → none",
        ),
        (
            "{subjects: [a], republish: {src: a, dest: r.x}}",
            "{subjects: [a], republish: {dest: r.x}}",
            "republish.src",
            'a → ">" (default)',
        ),
        (
            "{subjects: [a], republish: {dest: r.x, headers_only: true}}",
            "{subjects: [a], republish: {dest: r.x}}",
            "republish.headers_only",
            "true → false (default)",
        ),
    ],
)
def test_what_lies_inside_a_field_is_told_in_its_own_unit(
    before: str, after: str, field: str, shown: str, tmp_path: Path
) -> None:
    found = scene(tmp_path, f"streams: {{X: {after}}}", f"streams: {{X: {before}}}", server="2.15")
    assert lines(found)[field] == shown


@pytest.mark.parametrize(
    ("body", "field", "shown"),
    [
        ("ack_policy: explicit, ack_wait: 1m, backoff: [5s, 10s]", "ack_wait", "1m → 5s (from backoff)"),
        ("ack_policy: explicit, backoff: [30s, 10s]", "ack_wait", "1m → 30s (default)"),
    ],
)
def test_what_follows_from_another_field_says_from_which(body: str, field: str, shown: str, tmp_path: Path) -> None:
    live = document("consumer", "ack_policy: explicit, ack_wait: 1m")
    assert lines(scene(tmp_path, document("consumer", body), live))[field] == shown


def test_what_a_stream_hands_down_says_so(tmp_path: Path) -> None:
    text = "streams: {{X: {{subjects: [s], consumer_limits: {{inactive_threshold: 10m}}, consumers: {{c: {{{}}}}}}}}}"
    found = scene(tmp_path, text.format(""), text.format("inactive_threshold: 5m"))
    assert lines(found)["inactive_threshold"] == "5m → 10m (from consumer_limits)"


def test_the_way_back_says_what_is_the_default(tmp_path: Path) -> None:
    text = document("consumer", "ack_policy: explicit")
    raw = {"consumers": {"X": {"c": {"config": {"max_ack_pending": 7, "ack_wait": 1_000_000_000}}}}}
    found = scene(tmp_path, text, text, raw=raw)
    back = narrowed_view(found.view(), seen(found), REGISTRY).changes[Address.parse("consumer/X/c")]
    shown = {one.path: f"{show_live(one)} → {show_wanted(one)}" for one in back.fields}
    assert shown == {"ack_wait": "1s → 30s (default)", "max_ack_pending": "7 → 1_000 (default)"}
