"""What may not be done to an elastic group: everything but its membership is fixed, and the reference is strict."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, falling_on, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.effects import dependants
from reconciler.kinds.elastic_group import derived, recreate, recreation
from reconciler.kinds.elastic_group.effects import EFFECTS
from reconciler.kinds.elastic_group.filters import bad_partitioning_filter, mappings_with_several_filters, whole_subject
from reconciler.kinds.elastic_group.fixed import fixed
from reconciler.kinds.elastic_group.queue_rules import group_resuming, queue_differs, queue_outlives_source
from reconciler.kinds.group_records import group_rules as shared
from reconciler.kinds.group_records import group_steps
from reconciler.kinds.group_records import membership_rules as membership
from reconciler.kinds.group_records.group_record import ELASTIC_BUCKET
from reconciler.model.resource import Address


@rule("EG101", "elastic-group-change", on=(Action.UPDATE, Action.REPLACE), needs=("live",))
def elastic_group_change(change: Change, view: View) -> Iterator[Finding]:
    """Anything but the membership of an elastic group changes: partitions, filters, wildcards or buffer limits.

    Every running instance of the reference ends with an error. Editing the work-queue stream in place imports the whole
    source again, or silently drops what was not sourced yet; keys move between partitions and lose their order. So the
    group is made anew: its members end, and a new queue begins with the first message that is not done. Nothing is lost
    that the source still stores (EG302) and the filters match; what was delivered and not acknowledged, or acknowledged out
    of order, comes again.

    Instead: consent to the new value when the owners of the members are ready to start them again; or declare a second
    group and let its members take over when this one's queue is empty.
    """
    why = recreation.unknowable(change, view)
    lost = change.intent is not None and recreate.queue(change, view) is None  # also where a record is back already
    if why and (lost or (change.live is None and recreate.stands(change, view))):
        message = f"making the group anew was cut off, and cannot be finished: {why.reason}"
        yield Finding(outcome=Outcome.REFUSED, fix=why.fix, message=message)
        return
    if change.live is None or not shared.is_current(change):
        return
    for field in (fields := fixed(change)):
        if why:
            message = f"{field} of an elastic group cannot change in place, and it cannot be made anew: {why.reason}"
            yield Finding(outcome=Outcome.REFUSED, path=field, fix=why.fix, message=message)
        else:
            yield _replaced(change, view, field, is_first=field == fields[0])


def _replaced(change: Change, view: View, field: str, *, is_first: bool) -> Finding:
    lost = recreation.costs(change, view)
    what = f"Made anew where it stands, {lost.in_words()}" if is_first else "It changes when the group is made anew"
    return Finding(
        outcome=Outcome.REPLACES,
        path=field,
        to=change.becomes(field),
        fix=f"consent to the new {field} when the owners of its members are ready to start them again",
        quantities=lost.quantities,
        message=f"{field} of an elastic group cannot change in place. {what}",
    )


@rule("EG102", "group-type-change", on=(Action.CREATE,), needs=("neighbours",))
def group_type_change(change: Change, view: View) -> Found:
    """A static group of this name is live: an elastic one is a different thing with other consumers and a queue.

    Instead: declare the elastic group under another name; it replays what the stream retains.
    """
    return group_steps.other_type(change, view, "static_group", "static")


@rule("EG103", "queue-name-taken", on=(Action.CREATE,), needs=("neighbours",), err_code=10058)
def queue_name_taken(change: Change, view: View) -> Found:
    """The stream `<stream>-<group>` that the group needs exists already, as something else.

    The reference writes the record first and finds out then; the record left behind blocks a corrected create.

    Instead: choose another group name, or remove that stream.
    """
    stream, group = change.address.names
    name = derived.stream_name(stream, group)
    if Address.of("stream", name) in view.desired:
        return _taken(f"this topology declares a plain stream {name}, which is the name of the group's own queue")
    info = view.snapshot.streams.get(name)
    if info is None or not change.desired or change.intent:
        return None  # while it is made anew, the stream is its own old queue
    differing = derived.deviations(info["config"], stream, change.desired.config)
    return _taken(f"stream {name} exists already and differs in {', '.join(differing)}") if differing else None


def _taken(message: str) -> Finding:
    return Finding(outcome=Outcome.REFUSED, message=message, fix="choose another group name, or remove that stream")


def _on_its_queue(change: Change, view: View) -> list[Address]:
    """Who reads or copies the queue, and is no member."""
    return dependants.everybody(derived.stream_name(*change.address.names), view)


RULES = (
    *falling_on(_on_its_queue, (elastic_group_change, queue_outlives_source)),
    group_type_change,
    queue_name_taken,
    queue_differs,
    group_resuming,
    *EFFECTS.rules(),
    shared.deletion("EG"),
    membership.emptied("EG"),
    membership.memberless("EG"),
    whole_subject,
    membership.bad_name("EG"),
    membership.bad_membership("EG"),
    bad_partitioning_filter,
    mappings_with_several_filters,
    shared.unreadable("EG"),
    shared.unwritable("EG", ELASTIC_BUCKET),
)
