"""The published schema of what `groups … --format json` prints, strict: a definition for each command."""

from __future__ import annotations

from reconciler.report.codec.plan_schema import changes, places
from reconciler.report.codec.schema_parts import (
    ADDRESS,
    CONFIG,
    COUNT,
    COUNTS,
    DRAFT,
    FLAG,
    TEXT,
    TEXTS,
    Schema,
    fixed,
    list_of,
    one_of_texts,
    ref,
    schema_text,
)

NUMBERS: Schema = {"type": "array", "items": {"type": "integer"}}
"""Numbers of partitions; a record broken by hand may name some below 0."""
EACH: Schema = {"type": "array", "items": COUNT}
"""Indexed by partition."""
OWNERS: Schema = {"type": "array", "items": {"type": ["string", "null"]}}
"""Indexed by partition; null: no owner."""

COMMANDS = ("list", "show", "active", "where", "skew", "doctor", "plan-members", "migrate")


def groups_schema() -> str:
    """Return the JSON schema of what every `groups` command prints as JSON, as text."""
    return schema_text(
        {
            "$schema": DRAFT,
            "title": "reconciler groups",
            "description": "What `reconciler groups COMMAND --format json` prints; #/$defs/COMMAND describes one command.",
            "anyOf": [ref(command) for command in COMMANDS],
            "$defs": {**_documents(), **_items(), **_small(), **_borrowed()},
        }
    )


def _documents() -> dict[str, Schema]:
    answers = {"list": "summary", "show": "group", "active": "members", "where": "place", "skew": "spread"}
    return {
        **{command: _document({"groups": list_of(item)}) for command, item in answers.items()},
        "doctor": fixed({"format": {"const": 1}, "examined": COUNT, "diagnostics": list_of("diagnostic")}),
        "plan-members": fixed(
            {"format": {"const": 1}, "address": ADDRESS, "membership": CONFIG, "partitions_moved": COUNT},
            partitions_moved_with_mappings=COUNT, offline={"const": True}, change=ref("change"),
        ),
        "migrate": fixed({"format": {"const": 1}, "records": list_of("migration")}),
    }  # fmt: skip


def _document(required: Schema) -> Schema:
    """`diagnostics` names what could not be read, so that the answer may be incomplete."""
    return fixed({"format": {"const": 1}, **required}, diagnostics=list_of("diagnostic"))


def _items() -> dict[str, Schema]:
    who = {
        "address": ADDRESS,
        "type": one_of_texts("elastic", "static"),
        "stream": TEXT,
        "group": TEXT,
        "revision": COUNT,
    }
    state = {
        "broken": TEXT,
        "legacy": TEXTS,
        "unread": TEXT,
        "partitions": COUNT,
        "surplus": TEXTS,
        "queue": ref("queue"),
    }
    waiting = {"queued": EACH, "outside": COUNTS}
    return {
        "summary": fixed(who, **state, members=TEXTS),
        "group": fixed(
            {**who, "pattern": list_of("pattern"), "written_by": fixed({}, record=TEXT, queue=TEXT)},
            **state, **waiting, members=list_of("member"), filters=TEXTS, record=CONFIG, text=TEXT, owners=OWNERS,
            unassigned=NUMBERS, stalled=NUMBERS,
        ),
        "members": fixed({"address": ADDRESS, "members": list_of("member")}, unread=TEXT, broken=TEXT),
        "place": fixed(
            {"key": TEXT, "hashed": TEXT, "partition": COUNT, "partitions": COUNT, "filter": TEXT},
            wildcards=NUMBERS, address=ADDRESS, queued=COUNT, member=ref("member"),
        ),
        "spread": fixed(
            {"address": ADDRESS, "partitions": COUNT, "owners": OWNERS},
            **waiting, queued_subjects=EACH, stored=EACH, stored_subjects=EACH,
        ),
        "migration": fixed(
            {"address": ADDRESS, "before": TEXT, "after": TEXT, "notes": TEXTS},
            obstacles={"type": "array", "items": fixed({"why": TEXT, "fix": TEXT})},
        ),
    }  # fmt: skip


def _small() -> dict[str, Schema]:
    return {
        "queue": fixed(
            {"stream": TEXT}, missing=FLAG, messages=COUNT, bytes=COUNT, consumers=COUNT, lag=COUNT, resuming=COUNT,
        ),
        "pattern": fixed({"filter": TEXT, "partitions": COUNT}, wildcards=NUMBERS),
        "member": fixed(
            {"member": TEXT, "partitions": NUMBERS, "consumer": TEXT, "state": one_of_texts("absent", "unpinned", "pinned")},
            client=TEXT, since=TEXT, pinned_for=COUNT, waiting=COUNT, in_flight=COUNT, pending=COUNT, queued=COUNT,
        ),
    }  # fmt: skip


def _borrowed() -> dict[str, Schema]:
    """Reuse the form that a change has in a plan."""
    return {name: shape for name, shape in (places() | changes()).items() if name != "target"}
