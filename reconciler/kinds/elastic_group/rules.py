"""What may not be done to an elastic group: everything but its membership is fixed, and the reference is strict."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address, Json
from reconciler.core.rule import Finding, Found, Outcome, View, rule
from reconciler.core.wire import Version
from reconciler.kinds.elastic_group import derived, recreate, recreation
from reconciler.kinds.elastic_group.coherence import replicas_behind
from reconciler.kinds.primitives import group_rules as shared
from reconciler.kinds.primitives import group_steps
from reconciler.kinds.primitives.group_record import MEMBERSHIP
from reconciler.kinds.primitives.group_spec import not_membership
from reconciler.kinds.primitives.subjects import collide, is_valid

QUEUE = "queue_stream"


@rule("EG101", "elastic-group-change", on=(Action.UPDATE, Action.REPLACE), needs=("live",))
def elastic_group_change(change: Change, view: View) -> Iterator[Finding]:
    """Anything but the membership of an elastic group changes: partitions, filters, wildcards or buffer limits.

    Every running instance of the reference ends with an error. Editing the work-queue stream in place imports the whole
    source again, or silently drops what was not sourced yet; keys move between partitions and lose their order. So the
    group is made anew: its members end, and a new queue begins with the first message that is not done. Nothing is lost;
    what was delivered and not acknowledged, or acknowledged out of order, comes again.

    Instead: consent to the new value when the owners of the members are ready to start them again; or declare a second
    group and let its members take over when this one's queue is empty.
    """
    why = recreation.unknowable(change, view)
    if change.live is None and why and (recreate.queue(change, view) is None or recreate.stands(change, view)):
        message = f"making the group anew was cut off, and cannot be finished: {why.reason}"
        yield Finding(outcome=Outcome.REFUSED, fix=why.fix, message=message)
    if change.live is None or not shared.is_current(change):
        return
    fields = [field for field in dict.fromkeys(_top(path) for path in not_membership(change)) if field != QUEUE]
    for field in fields:
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


def _top(path: str) -> str:
    return path.partition("[")[0].partition(".")[0]


@rule("EG321", "group-resuming", on=(Action.KEEP, Action.ADOPT, Action.UPDATE), needs=("live",))
def group_resuming(change: Change, view: View) -> Found:
    """The group was made anew, and its stream still carries the start sequence it was begun with.

    That goes with the first apply after the stream has stored a message; before, taking it off would import everything
    from the first message on. Until then the reference's own create is refused (10058). Servers before 2.15 that restart
    while the queue is empty begin at that sequence once more: nothing is lost, and what was done since comes again.

    Instead: apply once more when something was published.
    """
    info = recreate.queue(change, view)
    live = change.live
    if info is None or live is None or live.state["broken"] or live.state["legacy"]:
        return None
    point, name = derived.start(info["config"]), recreate.name(change)
    if not point or not derived.fits(info["config"], change.address.stream, live.config):
        return None
    if info["state"].get("last_seq"):
        message = f"stream {name} has resumed at message {point} of {change.address.stream}; this takes its start sequence off"
        return Finding(outcome=Outcome.WARNS, message=message)
    return Finding(
        outcome=Outcome.WARNS,
        message=f"stream {name} is resuming at message {point} of {change.address.stream}, and has stored nothing yet",
        fix="apply once more when something was published: that takes its start sequence off",
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
    info = view.snapshot.streams.get(name) if view.snapshot else None
    if info is None or not change.desired or change.intent:
        return None  # while it is made anew, the stream is its own old queue
    differing = derived.deviations(info["config"], stream, change.desired.config)
    return _taken(f"stream {name} exists already and differs in {', '.join(differing)}") if differing else None


def _taken(message: str) -> Finding:
    return Finding(outcome=Outcome.REFUSED, message=message, fix="choose another group name, or remove that stream")


@rule("EG320", "queue-differs", on=(Action.KEEP, Action.ADOPT, Action.UPDATE), needs=("live",))
def queue_differs(change: Change, view: View) -> Found:
    """The live work-queue stream is not exactly as the reference would create it for this record.

    Another implementation wrote it, or somebody edited it. Members may work, but the reference's own create fails, and an
    edit of the transforms may have imported messages twice or dropped some. We never edit it in place.

    Instead: leave it if another implementation wrote it; otherwise recreate the group in a planned stop.
    """
    name = derived.stream_name(*change.address.names)
    info = view.snapshot.streams.get(name) if view.snapshot else None
    live = change.live
    if info is None or live is None or live.state["broken"] or live.state["legacy"]:
        return None
    if derived.fits(info["config"], change.address.stream, live.config):
        return None
    differing = derived.deviations(info["config"], change.address.stream, live.config)
    return Finding(
        outcome=Outcome.WARNS,
        message=f"its stream {name} is not as the reference makes it: {', '.join(differing)} differ",
        fix="leave it if another implementation wrote it; otherwise recreate the group in a planned stop",
    )


@rule("EG402", "whole-subject-too-young", on=(Action.CREATE, Action.REPLACE), err_code=10146)
def whole_subject(change: Change, view: View) -> Iterator[Finding]:
    """Partitioning by the whole subject needs nats-server 2.12; older ones refuse the transform.

    Instead: name the wildcards that decide the partition, or upgrade the servers.
    """
    if view.target.version >= Version(2, 12):
        return
    filters = change.becomes("partitioning_filters") or []
    if not filters:
        yield _needs_2_12("partitioning_filters", view)
    for index, item in enumerate(filters):
        if not item["partitioning_wildcards"]:
            yield _needs_2_12(f"partitioning_filters[{index}]", view)


def _needs_2_12(path: str, view: View) -> Finding:
    return Finding(
        outcome=Outcome.REFUSED,
        path=path,
        message=f"partitioning by the whole subject needs nats-server 2.12; this is {view.target.version}",
        fix="name the wildcards that decide the partition, or upgrade the servers",
    )


@rule("EG544", "bad-partitioning-filter", on=(Action.CREATE, Action.REPLACE))
def bad_partitioning_filter(change: Change, _view: View) -> Iterator[Finding]:
    """A partitioning filter the reference refuses, or that the server refuses after the record is written.

    A filter needs a `*` or ends in `>`; wildcard numbers are distinct and between 1 and the number of `*`; two filters of
    a group must not overlap.

    Instead: write filters of which every subject matches one only, and count each filter's `*` from 1.
    """
    filters = change.becomes("partitioning_filters") or []
    for index, item in enumerate(filters):
        yield from filter_problems(f"partitioning_filters[{index}]", item)
        for earlier in filters[:index]:
            if collide(item["filter"], earlier["filter"]):
                yield _bad(
                    f"partitioning_filters[{index}].filter",
                    f"filter `{item['filter']}` overlaps with `{earlier['filter']}`",
                    "let every subject match one filter only",
                )


def filter_problems(path: str, item: Json) -> Iterator[Finding]:
    """What the reference refuses about one filter by itself."""
    tokens = item["filter"].split(".")
    stars, numbers = tokens.count("*"), item["partitioning_wildcards"]
    if not is_valid(item["filter"]):
        yield _bad(
            f"{path}.filter",
            f"`{item['filter']}` is not a subject",
            "write tokens between single dots, `>` only at the end",
        )
    elif not stars and tokens[-1] != ">":
        yield _bad(
            f"{path}.filter",
            f"filter `{item['filter']}` has no wildcard to partition by",
            "use a `*`, or end it in `>`",
        )
    for position, number in enumerate(numbers):
        if not 1 <= number <= stars:
            yield _bad(
                f"{path}.partitioning_wildcards[{position}]",
                f"there is no wildcard {number} in `{item['filter']}`",
                f"count its `*` from 1 to {stars}" if stars else "leave the list empty: the filter has no `*`",
            )
        elif number in numbers[:position]:
            yield _bad(
                f"{path}.partitioning_wildcards[{position}]",
                f"wildcard {number} is listed twice",
                "list each wildcard once",
            )


@rule("EG545", "mappings-with-several-filters")
def mappings_with_several_filters(change: Change, _view: View) -> Found:
    """Member mappings together with several filters: the reference repeats each partition's filter once per filter, and
    the server refuses such a consumer, so that no member can ever consume.

    Instead: one filter, or plain members.
    """
    config = change.desired.config if change.desired else {}
    if not config.get("member_mappings") or len(config.get("partitioning_filters") or ()) < 2:
        return None
    if change.action is Action.UPDATE and not change.touches(*MEMBERSHIP, "partitioning_filters"):
        return None
    return _bad(
        "member_mappings",
        "with several partitioning filters, no member of a mapped group can ever consume",
        "use one filter, or plain members",
    )


def _bad(path: str, message: str, fix: str) -> Finding:
    return Finding(outcome=Outcome.REFUSED, path=path, message=message, fix=fix)


RULES = (
    elastic_group_change,
    group_type_change,
    queue_name_taken,
    queue_differs,
    group_resuming,
    shared.deletion("EG"),
    shared.emptied("EG"),
    shared.memberless("EG"),
    replicas_behind,
    whole_subject,
    shared.bad_name("EG"),
    shared.bad_membership("EG"),
    bad_partitioning_filter,
    mappings_with_several_filters,
    shared.unreadable("EG"),
)
