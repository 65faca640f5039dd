"""What may not be done to an elastic group: everything but its membership is fixed, and the reference is strict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule, with_affected
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.elastic_group import queue_stream, recreation_cost, recreation_steps, removal
from reconciler.kinds.elastic_group.effects import EFFECTS
from reconciler.kinds.elastic_group.filters import bad_partitioning_filter, mappings_with_several_filters, whole_subject
from reconciler.kinds.elastic_group.immutable import QUEUE, fixed_fields
from reconciler.kinds.elastic_group.queue_rules import (
    group_resuming,
    is_only_record_edited,
    queue_differs,
    queue_made_again,
    queue_outlives_source,
)
from reconciler.kinds.group_records import group_record, group_rules, group_steps
from reconciler.kinds.group_records.group_record import ELASTIC_BUCKET
from reconciler.kinds.losses import dependants
from reconciler.model.resource import Address


@rule("EG101", "elastic-group-change", on=(Action.UPDATE, Action.REPLACE), needs=("live",))
def elastic_group_change(change: Change, view: View) -> Iterator[Finding]:
    """An elastic group changes in anything but its membership: partitions, filters, wildcards or buffer limits.

    Every running instance of the reference ends with an error. Editing the work-queue stream in place imports the whole
    source again, or silently drops what was not copied yet; keys move between partitions and lose their order. So apply
    recreates the group: its members end, and a new queue starts with the first unprocessed message. Nothing is lost
    that the source still stores (EG302) and that the filters match. Messages that were delivered and not acknowledged,
    or acknowledged out of order, are redelivered.

    A work queue and an interest stream keep nothing of what the queue has copied, so there the group cannot be
    recreated, and the refusal says step by step how it is emptied, removed and declared again. A second group is no way
    out: what is published while both exist is processed twice.

    If somebody edited the record of a group that the file describes, its queue may still be as the file says. Then only the
    record has to be written back.

    Instead: consent to the new value when the owners of the members are ready to restart them; on a work queue or an
    interest stream, stop what publishes first, and follow those steps.
    """
    obstacle = recreation_cost.recreation_obstacle(change, view)
    is_queue_gone = (
        change.intent is not None and recreation_steps.queue_info(change, view) is None
    )  # also where a record is back already
    if obstacle and (is_queue_gone or (change.live is None and recreation_steps.has_old_queue(change, view))):
        message = f"recreating the group was interrupted, and cannot be finished: {obstacle.reason}"
        yield Finding(outcome=Outcome.REFUSED, fix=obstacle.fix, message=message)
        return
    if change.live is None or not group_rules.has_current_record(change):
        return
    repair = _record_repair(change, view)
    for field in (fields := fixed_fields(change)):
        if obstacle:
            message = f"{field} of an elastic group cannot change in place, and the group cannot be recreated: {obstacle.reason}"
            yield Finding(outcome=Outcome.REFUSED, path=field, fix=repair or obstacle.fix, message=message)
        else:
            finding = _replacement_finding(change, view, field, is_first=field == fields[0])
            yield replace(finding, fix=f"{repair}; or {finding.fix}") if repair else finding


def _record_repair(change: Change, view: View) -> str:
    """The way out that keeps the queue if it is still as the file wants it: only the record was edited."""
    queue, live = recreation_steps.queue_info(change, view), change.live
    if queue is None or live is None or change.intent:
        return ""
    if not is_only_record_edited(change, queue["config"]):
        return ""
    record_fields = queue_stream.record_fields_text({field: change.wanted.get(field) for field in fixed_fields(change)})
    return (
        f"write {record_fields} back into record {group_record.key(*change.address.names)} of bucket {ELASTIC_BUCKET}, with its members "
        f"stopped, which loses nothing: its queue {recreation_steps.queue_of(change)} is still as the file says"
    )


def _replacement_finding(change: Change, view: View, field: str, *, is_first: bool) -> Finding:
    costs = recreation_cost.costs(change, view)
    way = f"Apply can recreate it: {costs.in_words()}" if is_first else "It changes when the group is recreated"
    return Finding(
        outcome=Outcome.REPLACES,
        path=field,
        to=change.becomes(field),
        fix=f"consent to the new {field} when the owners of its members are ready to restart them",
        quantities=costs.quantities,
        message=f"{field} of an elastic group cannot change in place. {way}",
    )


@rule("EG102", "group-type-change", on=(Action.CREATE,), needs=("neighbours",))
def group_type_change(change: Change, view: View) -> Found:
    """A static group of this name is live. An elastic group has other consumers and a queue, so the one cannot become
    the other.

    Instead: declare the elastic group under another name; it processes again what the stream retains.
    """
    return group_steps.other_type_finding(change, view, "static_group", "static")


@rule("EG103", "queue-name-taken", on=(Action.CREATE,), needs=("neighbours",), err_code=10058)
def queue_name_taken(change: Change, view: View) -> Found:
    """The stream `<stream>-<group>` that the group needs already exists, as something else.

    The reference writes the record first and finds out then. The record that is left blocks a corrected create.

    If it is the queue of a group whose record somebody deleted, it may still hold messages that nobody has processed.

    Instead: declare the group for which the queue was made. Otherwise choose another group name, or remove that stream.
    """
    stream, group = change.address.names
    name = queue_stream.stream_name(stream, group)
    if Address.of("stream", name) in view.desired:
        return _name_taken_finding(
            f"this topology declares a plain stream {name}, which is the name of the group's own queue"
        )
    info = view.snapshot.streams.get(name)
    if info is None or not change.desired or change.intent:
        return None  # while it is recreated, the stream is its own old queue
    if removal.has_stopped_copying(info["config"]):
        return _name_taken_finding(
            f"stream {name} is left of a removal that was interrupted",
            f"list {change.address} under `removed` once more, then declare it again",
        )
    differing = queue_stream.deviations(info["config"], stream, change.desired.config)
    if not differing:
        return None
    message = f"stream {name} already exists and differs in {', '.join(differing)}"
    if not (other := queue_stream.other_record(info["config"], stream, change.desired.config)):
        return _name_taken_finding(message)
    record_fields = queue_stream.record_fields_text(other)
    return _name_taken_finding(
        f"{message}: it is the queue of a group on {stream} whose record said {record_fields}",
        f"declare {record_fields} here, which loses nothing that it holds; or choose another group name",
    )


def _name_taken_finding(message: str, fix: str = "choose another group name, or remove that stream") -> Finding:
    return Finding(outcome=Outcome.REFUSED, message=message, fix=fix)


def _readers_of_queue(change: Change, view: View) -> list[Address]:
    """Consumers and copies of the queue that belong to no member."""
    return dependants.everybody(queue_stream.stream_name(*change.address.names), view)


RULES = (
    *with_affected(_readers_of_queue, (elastic_group_change, queue_outlives_source)),
    group_type_change,
    queue_name_taken,
    queue_differs,
    queue_made_again,
    group_resuming,
    *EFFECTS.rules(),
    group_rules.deletion_rule("EG"),
    group_rules.last_member_leaves_rule("EG"),
    group_rules.memberless_rule("EG"),
    whole_subject,
    group_rules.bad_name_rule("EG"),
    group_rules.bad_membership_rule("EG"),
    bad_partitioning_filter,
    mappings_with_several_filters,
    group_rules.unreadable_record_rule("EG", QUEUE),
    group_rules.unwritable_bucket_rule("EG", ELASTIC_BUCKET),
)
