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
    format_of,
    list_of,
    one_of_texts,
    ref,
    says,
    schema_text,
)

NUMBERS: Schema = {"type": "array", "items": {"type": "integer"}}
"""Numbers of partitions; a record broken by hand may name some below 0."""
EACH: Schema = {"type": "array", "items": COUNT}
"""Indexed by partition."""
OWNERS: Schema = {"type": "array", "items": {"type": ["string", "null"]}}
"""Indexed by partition; null: no owner."""

FORMAT = format_of(1)
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
    answers = {
        "list": list_of("summary") | says("Every group, by address."),
        "show": list_of("group") | says("Everything about each group."),
        "active": list_of("members") | says("The members of each group."),
        "where": list_of("place") | says("Where the key goes in each group."),
        "skew": list_of("spread") | says("How much each partition holds, for each group."),
    }
    return {
        **{command: _document({"groups": items}) for command, items in answers.items()},
        "doctor": fixed(
            {
                "format": FORMAT,
                "examined": COUNT | says("How many groups were examined."),
                "diagnostics": list_of("diagnostic") | says("What is wrong with them, and what to do."),
            }
        ),
        "plan-members": _preview(),
        "migrate": fixed({"format": FORMAT, "records": list_of("migration") | says("Records in an earlier form.")}),
    }


def _preview() -> Schema:
    return fixed(
        {
            "format": FORMAT,
            "address": ADDRESS | says("The group."),
            "membership": CONFIG | says("The members or mappings in question, as they would stand in the file."),
            "partitions_moved": COUNT | says("How many partitions would change their owner."),
        },
        partitions_moved_with_mappings=COUNT | says("How many it would be with `--mappings`."),
        offline={"const": True} | says("True: no server was asked."),
        change=ref("change") | says("The change, as in a plan."),
    )


def _document(required: Schema) -> Schema:
    unread = list_of("diagnostic") | says("What could not be read, so that the answer may be incomplete.")
    return fixed({"format": FORMAT, **required}, diagnostics=unread)


def _items() -> dict[str, Schema]:
    return {
        "summary": fixed(_who(), **_state(), members=TEXTS | says("Names of the members that own partitions.")),
        "group": _group(),
        "members": fixed(
            {"address": ADDRESS | says("The group."), "members": list_of("member") | says("Its members.")},
            unread=TEXT | says("Why the live state is unknown."),
            broken=TEXT | says("What is wrong with its record."),
        ),
        "place": _place(),
        "spread": _spread(),
        "migration": _migration(),
    }


def _who() -> dict[str, Schema]:
    return {
        "address": ADDRESS | says("The group."),
        "type": one_of_texts("elastic", "static") | says("Which sort it is."),
        "stream": TEXT | says("The stream that it divides."),
        "group": TEXT | says("Its name."),
        "revision": COUNT | says("Revision of its record."),
    }


def _state() -> dict[str, Schema]:
    return {
        "broken": TEXT | says("What is wrong with its record."),
        "legacy": TEXTS | says("Earlier forms that its record is written in."),
        "unread": TEXT | says("Why the live state is unknown."),
        "partitions": COUNT | says("How many partitions it has."),
        "surplus": TEXTS | says("Members beyond the number of partitions, which get no messages."),
        "queue": ref("queue") | says("The work queue of an elastic group."),
    }


def _waiting() -> dict[str, Schema]:
    return {
        "queued": EACH | says("Queued messages, by partition."),
        "outside": COUNTS | says("Messages that are in no partition, by the beginning of their subjects."),
    }


def _group() -> Schema:
    written_by = fixed(
        {},
        record=TEXT | says("The tool that wrote the record."),
        queue=TEXT | says("The tool that created the work queue."),
    )
    return fixed(
        {
            **_who(),
            "pattern": list_of("pattern") | says("How subjects are partitioned."),
            "written_by": written_by | says("The tools that created it, as far as that shows."),
        },
        **_state(),
        **_waiting(),
        members=list_of("member") | says("Its members."),
        filters=TEXTS | says("Subjects that members consume."),
        record=CONFIG | says("The record, as it is stored."),
        text=TEXT | says("The record as it is stored, where it cannot be read."),
        owners=OWNERS | says("The owner of each partition; null: no owner."),
        unassigned=NUMBERS | says("Partitions without an owner."),
        stalled=NUMBERS | says("Partitions with queued messages but without a client."),
    )


def _place() -> Schema:
    return fixed(
        {
            "key": TEXT | says("The key in question."),
            "hashed": TEXT | says("The text that decides."),
            "partition": COUNT | says("The partition, from 0."),
            "partitions": COUNT | says("How many there are."),
            "filter": TEXT | says("The filter that the key was read by."),
        },
        wildcards=NUMBERS | says("The `*` of the filter that decide, from 1. A missing key: the whole subject."),
        address=ADDRESS | says("The group."),
        queued=COUNT | says("Messages queued in the partition."),
        member=ref("member") | says("The member that owns the partition."),
    )


def _spread() -> Schema:
    return fixed(
        {
            "address": ADDRESS | says("The group."),
            "partitions": COUNT | says("How many partitions it has."),
            "owners": OWNERS | says("The owner of each partition; null: no owner."),
        },
        **_waiting(),
        queued_subjects=EACH | says("Distinct subjects that are queued, by partition."),
        stored=EACH | says("Messages that the stream holds, by partition."),
        stored_subjects=EACH | says("Distinct subjects that the stream holds, by partition."),
    )


def _migration() -> Schema:
    obstacle = fixed({"why": TEXT | says("What prevents the migration."), "fix": TEXT | says("What to do about it.")})
    return fixed(
        {
            "address": ADDRESS | says("The group."),
            "before": TEXT | says("Its record, as it is stored."),
            "after": TEXT | says("Its record in today's form."),
            "notes": TEXTS | says("What changes, and the consequences."),
        },
        obstacles={"type": "array", "items": obstacle} | says("Why it is not written."),
    )


def _small() -> dict[str, Schema]:
    return {
        "queue": fixed(
            {"stream": TEXT | says("The stream of the queue.")},
            missing=FLAG | says("True: the stream does not exist."),
            messages=COUNT | says("Messages in it."),
            bytes=COUNT | says("Bytes in it."),
            consumers=COUNT | says("Its consumers."),
            lag=COUNT | says("Messages of the stream that it has not copied yet."),
            resuming=COUNT | says("Sequence of the stream at which it was created to resume."),
        ),
        "pattern": fixed(
            {"filter": TEXT | says("Subjects."), "partitions": COUNT | says("How many partitions they fall on.")},
            wildcards=NUMBERS | says("The `*` of the filter that decide, from 1. A missing key: the whole subject."),
        ),
        "member": _member(),
    }


def _member() -> Schema:
    state = one_of_texts("absent", "unpinned", "pinned")
    return fixed(
        {
            "member": TEXT | says("Its name."),
            "partitions": NUMBERS | says("Partitions that it owns."),
            "consumer": TEXT | says("Its consumer."),
            "state": state | says("`absent`: it has no consumer; `pinned`: a client of it works."),
        },
        client=TEXT | says("Id of the pinned client."),
        since=TEXT | says("Since when that client is pinned."),
        pinned_for=COUNT | says("For how long, in nanoseconds."),
        waiting=COUNT | says("Pull requests that wait on its consumer."),
        in_flight=COUNT | says("Messages that were delivered but not acknowledged yet."),
        pending=COUNT | says("Messages that its consumer has still to deliver."),
        queued=COUNT | says("Messages queued in its partitions."),
    )


def _borrowed() -> dict[str, Schema]:
    """Reuse the form that a change has in a plan."""
    return {name: shape for name, shape in (places() | changes()).items() if name != "target"}
