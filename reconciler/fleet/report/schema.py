"""The published schemas of what `fleet COMMAND --format json` prints, strict: one for each command, of the same
parts."""

from __future__ import annotations

import json

from reconciler.changes.diff import FieldClass
from reconciler.fleet.report.json import FORMAT
from reconciler.fleet.report.seen import UNREACHABLE, UNREMEMBERED
from reconciler.journeys.drift.drift import Standing
from reconciler.report.codec.plan_schema import plan_schema
from reconciler.report.codec.schema_parts import (
    CODE,
    COUNT,
    DRAFT,
    FLAG,
    TEXT,
    TEXTS,
    UNIT,
    VALUE,
    Schema,
    fixed,
    list_of,
    one_of,
    one_of_texts,
    schema_text,
)

NUMBER: Schema = {"type": "number"}
NATURAL: Schema = {"type": "number", "minimum": 0}
TIME: Schema = {"type": "string", "format": "date-time"}
DAY: Schema = {"type": "string", "format": "date"}
LABELS: Schema = {"type": "object", "additionalProperties": TEXT}
LIMIT: Schema = {"type": "integer", "minimum": -1}
"""-1: none."""

_EARLIER = fixed({"what": one_of_texts("read", "compared"), "targets": TEXTS}, run=TEXT, at=TIME)
"""Targets that the run was not about; without a run: never."""

COMMANDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "snapshot": ("What each target holds.", ("targets",), ()),
    "drift": ("What differs from the last apply, on every target.", ("targets", "drift"), ()),
    "history": ("How drift and streams developed over the runs.", ("trend", "history", "repairs", "capacity"), ()),
    "outliers": ("What differs from most of a target's peers.", ("outliers",), ()),
    "skew": ("How keys would spread over partitions and members.", ("skew", "falls", "moves"), ()),
    "events": ("What servers reported about themselves.", ("pins", "acks", "actors"), ("targets",)),
    "report": (
        "Everything that is known about a fleet.",
        ("targets", "trend", "history", "repairs", "outliers", "capacity"),
        ("drift", "skew", "falls", "moves", "pins", "acks", "actors"),
    ),
}
"""The subject of each, the tables it always has, and those it has where they were made."""


def fleet_schema(command: str) -> str:
    """Return the schema of `fleet COMMAND --format json`. Raises KeyError for a command that is not in COMMANDS."""
    about, always, sometimes = COMMANDS[command]
    head = {"format": {"const": FORMAT}, "command": {"const": command}, "fleet": TEXT, "unread": TEXTS}
    used = {_ITEMS[name]: _parts()[_ITEMS[name]] for name in (*always, *sometimes)}
    if "drift" in (*always, *sometimes):
        used |= {name: _parts()[name] for name in ("field", "verdict")}
    return schema_text(
        {
            "$schema": DRAFT,
            "title": f"reconciler fleet {command}",
            "description": about,
            **fixed(
                {**head, **{name: list_of(_ITEMS[name]) for name in always}},
                run=TEXT,
                left_out={"type": "object", "additionalProperties": COUNT},
                silent=LABELS,
                **({"with_peers": COUNT} if "outliers" in always else {}),
                **({"earlier": {"type": "array", "items": _EARLIER}} if command == "report" else {}),
                **{name: list_of(_ITEMS[name]) for name in sometimes},
            ),
            "$defs": used,
        }
    )


def fleet_plan_schema() -> str:
    """Return the schema of `fleet plan`; a plan in it is what `plan --format json` prints."""
    plan = {**json.loads(plan_schema()), "$id": "plan.schema.json"}
    problem = {"$ref": "plan.schema.json#/$defs/diagnostic"}
    target = fixed({"target": TEXT, "labels": LABELS}, plan=plan, problems={"type": "array", "items": problem})
    return schema_text(
        {
            "$schema": DRAFT,
            "$id": "fleet-plan.schema.json",
            "title": "reconciler fleet plan",
            "description": "What would be done to each target, or why that is unknown.",
            **fixed(
                {"format": {"const": FORMAT}, "command": {"const": "plan"}, "fleet": TEXT,
                 "targets": {"type": "array", "items": target}}
            ),
        }
    )  # fmt: skip


_ITEMS = {
    "targets": "target", "drift": "strayed", "trend": "run", "history": "episode", "repairs": "repairs",
    "outliers": "outlier", "capacity": "stream", "skew": "candidate", "falls": "fall", "moves": "move",
    "pins": "pin", "acks": "acks", "actors": "deed",
}  # fmt: skip


def _parts() -> dict[str, Schema]:
    return {**_looked(), **_past(), **_around(), **_skew(), **_told()}


def _looked() -> dict[str, Schema]:
    counts = dict.fromkeys(("streams", "consumers", "messages", "bytes", "unknown"), COUNT)
    standings = (*(one.value for one in Standing), UNREACHABLE, UNREMEMBERED)
    return {
        "target": fixed({"target": TEXT, "labels": LABELS}, version=TEXT, error=TEXT, **counts),
        "strayed": fixed(
            {"target": TEXT, "standing": one_of_texts(*standings), "drift": FLAG, "fields": list_of("field"),
             "verdicts": list_of("verdict")},
            topology=TEXT, address=TEXT, team=TEXT, reason=TEXT, ignored=TEXT, place=TEXT, error=TEXT,
        ),
        "field": fixed(
            {"path": TEXT, "class": one_of(FieldClass), "drift": FLAG, "unit": UNIT},
            applied=VALUE, live=VALUE, desired=VALUE, ignored=TEXT,
        ),
        "verdict": fixed({"code": CODE, "message": TEXT}),
    }  # fmt: skip


def _past() -> dict[str, Schema]:
    counted = ("compared", "unreachable", "opened", "closed", "open", "unseen", "objects")
    state = one_of_texts("open", "unseen", "closed", "watched")
    known = dict.fromkeys(("address", "kind", "team", "path", "field", "class", "standing"), TEXT)
    times = dict.fromkeys(("clean", "opened", "last_seen", "closed"), TIME)
    runs = dict.fromkeys(("opened_run", "last_seen_run", "closed_run"), TEXT)
    spans = ("mean_seconds", "median_seconds", "p95_seconds", "longest_seconds")
    return {
        "run": fixed({"run": TEXT, **dict.fromkeys(counted, COUNT)}, day=DAY, at=TIME),
        "episode": fixed(
            {"target": TEXT, "topology": TEXT, "state": state},
            **known, **times, **runs, labels=LABELS, occurrence=COUNT, looks=COUNT, seconds=NATURAL,
            ended=one_of_texts("repaired", "ignored", "undeclared"), live=VALUE, desired=VALUE, applied=VALUE,
            codes=TEXTS, digest={"type": "integer"},
        ),
        "repairs": fixed(
            {"dimension": one_of_texts("all", "target", "kind", "field", "team"),
             **dict.fromkeys(("episodes", "open", "unseen", "repaired", "came_back"), COUNT)},
            value=TEXT, **dict.fromkeys(spans, NATURAL),
        ),
    }  # fmt: skip


def _around() -> dict[str, Schema]:
    rates = dict.fromkeys(("messages_per_day", "bytes_per_day"), NUMBER)
    days = dict.fromkeys(("days_to_max_messages", "days_to_max_bytes", "days_to_account_limit", "days"), NATURAL)
    limits = dict.fromkeys(("max_messages", "max_bytes", "account_limit"), LIMIT)
    return {
        "outlier": fixed(
            {"peers": TEXT, "target": TEXT, "address": TEXT, "what": one_of_texts("differs", "missing", "extra"),
             "holders": COUNT, "among": COUNT},
            labels=LABELS, kind=TEXT, path=TEXT, value=VALUE, usual=VALUE, run=TEXT, day=DAY,
        ),
        "stream": fixed(
            {"target": TEXT, "stream": TEXT, "messages": COUNT, "bytes": COUNT},
            labels=LABELS, storage=TEXT, replicas=COUNT, when_full=one_of_texts("old", "new"), records=COUNT,
            record_cost=NATURAL, looks=COUNT, since=TIME,
            **rates, **limits, **days, account_bytes=COUNT, run=TEXT, day=DAY,
        ),
    }  # fmt: skip


def _skew() -> dict[str, Schema]:
    candidate = {"target": TEXT, "stream": TEXT}
    shape = {"choice": TEXT, "since": TEXT, "partitions": COUNT}
    moved = dict.fromkeys(("partitions_moved", "subjects_moved", "messages_moved"), COUNT)
    return {
        "candidate": fixed(
            candidate, **shape, membership=TEXT, members=COUNT, of=one_of_texts("subjects", "messages"), total=COUNT,
            missed=COUNT, unowned=COUNT, mean=NATURAL, largest=COUNT, where=TEXT, ratio=NATURAL, p99=COUNT, empty=COUNT,
            error=TEXT,
        ),
        "fall": fixed(candidate, **shape, partition=COUNT, subjects=COUNT, messages=COUNT, error=TEXT),
        "move": fixed(
            candidate, before=TEXT, after=TEXT, manner=one_of_texts("declared", "fewest"), **moved,
            **shape, share=NATURAL, error=TEXT,
        ),
    }  # fmt: skip


def _told() -> dict[str, Schema]:
    who = {"target": TEXT, "stream": TEXT, "consumer": TEXT}
    pinned = dict.fromkeys(("switches", "unpinned", "by_admin", "by_timeout", "most_switches"), COUNT)
    late = dict.fromkeys(("median_seconds", "p90_seconds", "p99_seconds", "longest_seconds"), NATURAL)
    acked = dict.fromkeys(("samples", "redelivered", "most_deliveries", "naks", "terminated", "given_up"), COUNT)
    said = ("client", "user", "account", "host", "request", "address", "kind", "id")
    return {
        "pin": fixed(
            {**who, "flapping": FLAG}, group=TEXT, since=TIME, until=TIME, pinned_id=TEXT, **pinned,
            unpinned_seconds=NATURAL, longest_unpinned_seconds=NATURAL,
        ),
        "acks": fixed({**who, "day": DAY}, **late, **acked),
        "deed": fixed({"target": TEXT, "deed": TEXT}, at=TIME, day=DAY, **dict.fromkeys(said, TEXT), changed=TEXTS),
    }  # fmt: skip
