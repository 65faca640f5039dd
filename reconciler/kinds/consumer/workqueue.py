"""On a work queue every message has one consumer: which consumers the server refuses, and which it should refuse but
accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.neighbours import (
    consumers_of,
    first_except,
    is_work_queue,
    stream_of,
)
from reconciler.kinds.consumer_checks.objections import Check, codes, objections
from reconciler.kinds.fields.actions import ALL, WRITES, is_new
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.stream_config.origins import Copiers, copies_afterwards, copies_now
from reconciler.kinds.subjects.filters import EVERYTHING, FILTERS, named_filters
from reconciler.kinds.subjects.subject_lists import colliding

ON_QUEUES = (
    Check(
        path="ack_policy",
        wrong=lambda c: not c.get("ack_policy") and not c.get("deliver_subject"),
        says="ack_policy must be explicit on a work queue, which deletes acknowledged messages; the server's default is none",
        fix="write ack_policy: explicit",
        err_code=10084,
    ),
    Check(
        path="ack_policy",
        wrong=lambda c: c.get("ack_policy") == "all" or (not c.get("ack_policy") and c.get("deliver_subject")),
        says="ack_policy must be explicit on a work queue, which deletes acknowledged messages",
        fix="write ack_policy: explicit",
        err_code=10098,
    ),
    Check(
        path="deliver_policy",
        wrong=lambda c: c.get("deliver_policy"),
        says="deliver_policy must be all on a work queue, not {value}: skipped messages would stay forever",
        fix="leave deliver_policy out",
        err_code=10101,
    ),
)


@rule("CO581", "unfit-for-work-queue", needs=("neighbours",), err_code=(*codes(ON_QUEUES), 10012))
def unfit_for_work_queue(change: Change, view: View) -> Iterator[Finding]:
    """A consumer on a work queue does not acknowledge each message, or does not start with the first one.

    A work queue deletes acknowledged messages and keeps the rest. So the server refuses consumers that leave messages
    behind.

    Instead: `ack_policy: explicit`, and no `deliver_policy`.
    """
    return queue_objections(change, view)


def queue_objections(change: Change, view: View) -> Iterator[Finding]:
    """What of the consumer no work queue takes, if its stream is one."""
    return objections(ON_QUEUES, change, view) if is_work_queue(stream_of(change, view)) else iter(())


@rule("CO582", "work-queue-shared", on=ALL, needs=("neighbours",), err_code=(10099, 10100), can_stand=True)
def work_queue_shared(change: Change, view: View) -> Found:
    """Two consumers of a work queue want the same messages.

    Each message of a work queue has one consumer, so the server refuses to create a second one. It checks updates only
    in part: a client's update may remove a filter, and in a cluster it may change a filter into any other. Then both
    consumers get the message. A single server loses the consumer without a filter at its next restart, unless its name
    comes before all others. While a consumer without a filter exists, the server refuses every update of another one. All
    consumers of the stream count, including those of other owners.

    Instead: give each consumer filters that overlap with no other's; or let the clients share one consumer.
    """
    if not is_work_queue(stream_of(change, view)) or change.desired is None:
        return None
    filters, consumers = named_filters(change.desired.config), consumers_of(change, view)
    refused_themselves = set() if is_new(change, *FILTERS) else {*consumers.new, *_refused_updates(change, view)}
    excluded = {change.address.name} | refused_themselves
    if not filters:
        other = first_except(excluded, consumers.names)
        return _collision_finding(change, view, other, None, filters) if other else _unread_finding(change, view)
    if collision := consumers.colliding_consumer(excluded, filters):
        return _collision_finding(change, view, *collision, filters)
    return _unread_finding(change, view)


def _collision_finding(change: Change, view: View, other: str, theirs: str | None, filters: Sequence[str]) -> Finding:
    refused = _is_refused(change, view, filters)
    new = refused or is_new(change, *FILTERS)
    return Finding(
        outcome=Outcome.REFUSED if new else Outcome.WARNS,
        path=next((path for path in FILTERS if change.becomes(path)), ""),
        message=_collision_clause(other, theirs, filters) + ("" if refused else _accepted_clause(view)),
        fix="give each consumer of the queue filters that overlap with no other's, or let the clients share one consumer",
        reaction=Reaction.REFUSES
        if refused
        else Reaction.DOOMS
        if _is_doomed(change, view, filters)
        else Reaction.HARMS,
    )


def _is_doomed(change: Change, view: View, filters: Sequence[str]) -> bool:
    """A single server restores consumers by name, and accepts none without a filter after another one."""
    is_first = consumers_of(change, view).names[0] == change.address.name
    return not filters and not view.target.is_clustered and not is_first


def _is_refused(change: Change, view: View, filters: Sequence[str]) -> bool:
    """The server refuses every creation. A single server also refuses updates of a consumer with filters; where a filter
    goes, apply writes one that takes everything."""
    if change.action is Action.UPDATE:
        return (bool(filters) or change.touches(*FILTERS)) and not view.target.is_clustered
    return change.action is Action.CREATE


def _refused_updates(change: Change, view: View) -> Iterator[str]:
    """Consumers of the same stream with other filters, which a single server refuses if they collide."""
    for child in view.children(change.address.stream, "consumer"):
        is_moved = child.action in (Action.UPDATE, Action.REPLACE) and child.touches(*FILTERS)
        if is_moved and not view.target.is_clustered:
            yield child.address.name


def _accepted_clause(view: View) -> str:
    """What follows if the server accepts it."""
    if view.target.is_clustered:
        return "; this cluster accepts that, and delivers such messages to both"
    return "; this server accepts that, and loses one of the two at its next restart"


def _collision_clause(other: str, theirs: str | None, filters: Sequence[str]) -> str:
    if not filters:
        return f"it has no filter and takes every message of the work queue, including those of {other}"
    if theirs is None:
        return f"consumer {other} has no filter and takes every message of the work queue"
    return f"consumer {other} already takes `{theirs}` of the work queue"


def _unread_finding(change: Change, view: View) -> Finding | None:
    """A consumer that could not be read may want the same messages."""
    unknown = {name: why for name, why in consumers_of(change, view).unknown.items() if name != change.address.name}
    if not unknown or change.action not in WRITES or not is_new(change, *FILTERS):
        return None
    name, why = min(unknown.items())
    return Finding(
        outcome=Outcome.REFUSED,
        path=next((path for path in FILTERS if change.becomes(path)), ""),
        message=f"consumer {name} of the work queue could not be read ({why}), and may take the same messages",
        fix="plan again when all consumers of the stream can be read",
        reaction=Reaction.DOES,
    )


@rule("CO583", "work-queue-copied", on=ALL, needs=("neighbours",), until=V2_14, err_code=(10099, 10100), can_stand=True)
def work_queue_copied(change: Change, view: View) -> Found:
    """A consumer wants messages of a work queue that another stream mirrors or sources.

    Servers up to 2.12 feed the copy through a consumer that they list nowhere but count all the same. While it is there, they
    refuse to create a consumer for the same messages, or any without a filter. They also refuse every change of such a
    consumer with a filter that was there before. Both get all messages, the consumer and the copy.

    If the same plan creates the copy, apply writes the consumers first. A warning then says what the server refuses later.

    Instead: give the consumer filters that overlap with none of the copy's; or let the copy read from a stream that is
    no work queue.
    """
    if not is_work_queue(stream_of(change, view)) or change.desired is None:
        return None
    stream, filters = change.address.stream, named_filters(change.desired.config)
    path = next((path for path in FILTERS if change.becomes(path)), "")
    fix = "give the consumer filters that overlap with none of the copy's, or remove the copy"
    is_written = is_new(change, *FILTERS) or (change.action is Action.UPDATE and bool(filters))
    if is_written and (copy_and_messages := _copy_with_same_messages(filters, copies_now(stream, view))):
        copy, messages = copy_and_messages
        return Finding(
            outcome=Outcome.REFUSED,
            path=path,
            message=f"stream {copy} copies {messages} of this work queue, and the server lets no consumer for the same messages be "
            f"{'created' if change.action is Action.CREATE else 'changed'} beside it",
            fix=fix,
        )
    if not (copy_and_messages := _copy_with_same_messages(filters, _copies_begun(stream, view))):
        return None
    copy, messages = copy_and_messages
    refused = "every change of this consumer, and to create it again" if filters else "to create this consumer again"
    return Finding(
        outcome=Outcome.WARNS,
        path=path,
        message=f"once stream {copy} copies {messages} of this work queue, the server refuses {refused}",
        fix=fix,
    )


def _copy_with_same_messages(filters: Sequence[str], copiers: Copiers) -> tuple[str, str] | None:
    """A copy that takes some of these messages, and what it takes; a consumer without filters takes everything."""
    for copy, subjects in sorted(copiers.items()):
        if subject := next(iter(colliding(subjects, filters or EVERYTHING)), None):
            return copy, "every message" if subject == ">" else f"`{subject}`"
    return None


def _copies_begun(stream: str, view: View) -> Copiers:
    """What copies of this stream this plan begins."""
    now = copies_now(stream, view)
    new_subjects = {
        copy: [subject for subject in subjects if subject not in now.get(copy, ())]
        for copy, subjects in copies_afterwards(stream, view).items()
    }
    return {copy: subjects for copy, subjects in new_subjects.items() if subjects}


RULES = (unfit_for_work_queue, work_queue_shared, work_queue_copied)
