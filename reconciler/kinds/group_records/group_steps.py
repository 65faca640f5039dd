"""How group records are found in a snapshot and written: the bucket, the record with compare-and-set, and its
deletion; and why one cannot be written to a bucket that somebody made or edited by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from reconciler.changes.change import Change, FieldChange, FieldClass
from reconciler.changes.rule import Found
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.group_records import group_record
from reconciler.kinds.subjects.subjects import is_subset
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Address, Config, Resource
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step

RECORD = "record"
"""Not a field of any file: whether the record can be read."""


class WriteObstacle(NamedTuple):
    why: str
    fix: str


def write_obstacle(config: Config, bucket: str, key: str = ">") -> WriteObstacle | None:
    """What prevents a record (or any record) from being written to this bucket's stream."""
    stream, subjects = f"KV_{bucket}", [str(subject) for subject in config.get("subjects") or ()]
    if config.get("sealed"):
        fix = f"with all members stopped, recreate stream {stream} and put its records back"
        return WriteObstacle(f"bucket {bucket} is sealed, so no group record can be written there", fix)
    if any(is_subset(f"$KV.{bucket}.{key}", subject) for subject in subjects):
        return None
    captured = ", ".join(subjects[:3]) or "nothing"
    fix = f"give stream {stream} the subjects of its bucket again: $KV.{bucket}.>"
    return WriteObstacle(f"stream {stream} captures {captured}, so group records cannot be written there", fix)


def recognise(kind: str, bucket: str, snapshot: Snapshot) -> Iterable[Resource]:
    """Every group with a record. Broken records are included, since they are shown and explained."""
    for text, entry in snapshot.entries.get(bucket, {}).items():
        names = group_record.split_key(text)
        if entry.deleted or names is None:
            continue
        record = group_record.record_of(names, entry)
        state = {
            "record": record.raw,
            "revision": record.revision,
            "legacy": record.legacy,
            "broken": record.broken,
        }
        yield Resource(address=Address(kind, names), config=record.config, state=state)


def broken_record(change: Change, _view: View) -> Iterator[FieldChange]:
    """A record that somebody broke: apply leaves it alone, and no value of the group is known."""
    if change.live and change.live.why_unreadable:
        yield FieldChange(
            path=RECORD,
            live=f"broken, for {change.live.why_unreadable}",
            field_class=FieldClass.DRIFTED,
            info=FieldInfo(left_out="readable"),
            filled="as members need it",
        )


def bucket_creation(change: Change, name: str, view: View) -> Sequence[Step]:
    """The bucket of the records, in the reference's own shape; one step, however many groups need it."""
    if f"KV_{name}" in view.snapshot.streams:
        return ()
    body = {
        "name": f"KV_{name}",
        "subjects": [f"$KV.{name}.>"],
        **group_record.BUCKET_SHAPE,
        "num_replicas": bucket_replicas(view),
    }
    return (
        Step(
            id=f"create stream/KV_{name}",
            call=Call.STREAM_CREATE,
            on=(f"KV_{name}",),
            address=str(change.address),
            body=body,
            effect=f"create the bucket {name}",
        ),
    )


def bucket_replicas(view: View) -> int:
    """As many as the stream with groups that has the most; nobody adjusts the bucket's own number later."""
    streams = {address.stream for address in view.desired if address.kind.endswith("_group")}
    numbers = [
        view.desired[Address.of("stream", stream)].config.get("num_replicas", 1)
        for stream in streams
        if Address.of("stream", stream) in view.desired
    ]
    return max(numbers, default=1)


def record_creation(change: Change, bucket_name: str, value: str, view: View) -> Step:
    """A new record: the key must not exist, or hold the deletion marker that the plan saw."""
    key = group_record.key(*change.address.names)
    marker = view.snapshot.entries.get(bucket_name, {}).get(key)
    step = _entry(change, bucket_name, Call.ENTRY_PUT, f"write the record {key}")
    bucket_first = (f"create stream/KV_{bucket_name}",)
    return replace(step, value=value, revision=marker.revision if marker else 0, after=bucket_first)


def rewrite(change: Change, bucket_name: str, value: str) -> Step:
    """The stored record with another membership, if nobody wrote it since it was read."""
    text = group_record.key(*change.address.names)
    return replace(
        _entry(change, bucket_name, Call.ENTRY_PUT, f"change the membership in the record {text}"), value=value
    )


def delete_record(change: Change, bucket_name: str) -> Step:
    """Marks the record deleted, if nobody wrote it since it was read. Its members end when they see that."""
    text = group_record.key(*change.address.names)
    return _entry(change, bucket_name, Call.ENTRY_DELETE, f"mark the record {text} deleted, which ends the members")


def _entry(change: Change, bucket_name: str, call: Call, effect: str) -> Step:
    """One write of a group's record, expecting it as it was read."""
    text = group_record.key(*change.address.names)
    return Step(
        id=f"{call.value.split('.')[1]} entry/{bucket_name}/{text}",
        call=call,
        on=(bucket_name, text),
        address=str(change.address),
        revision=change.live.state["revision"] if change.live else None,
        effect=effect,
    )


def other_type_finding(change: Change, view: View, kind: str, word: str) -> Found:
    """A group of the same name but the other type is live."""
    other = Address(kind, change.address.names)
    if other not in view.live:
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="type",
        fix="use another name, and remove the other group when it has done its work",
        message=f"a group of this name is live as {word}; the types have different consumers, and one cannot become the other",
    )
