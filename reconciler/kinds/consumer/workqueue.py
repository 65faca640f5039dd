"""On a work queue every message has one consumer: whom the server lets in, and whom it fails to keep out."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.around import consumers_of, filters_of, first_but, is_work_queue, stream_of
from reconciler.kinds.consumer_config.consumer_config import FIELDS
from reconciler.kinds.fields.checks import ALL, WRITES, Check, codes, is_new, objections
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.stream_config.origins import copiers
from reconciler.kinds.subjects.subjects import collide

FILTERS = ("filter_subject", "filter_subjects")

ON_QUEUES = (
    Check(
        path="ack_policy",
        wrong=lambda c: not c.get("ack_policy") and not c.get("deliver_subject"),
        says="ack_policy must be explicit on a work queue, where an acknowledged message goes; the server's default is none",
        fix="write ack_policy: explicit",
        err_code=10084,
    ),
    Check(
        path="ack_policy",
        wrong=lambda c: c.get("ack_policy") == "all" or (not c.get("ack_policy") and c.get("deliver_subject")),
        says="ack_policy must be explicit on a work queue, where an acknowledged message goes",
        fix="write ack_policy: explicit",
        err_code=10098,
    ),
    Check(
        path="deliver_policy",
        wrong=lambda c: c.get("deliver_policy"),
        says="deliver_policy must be all on a work queue, not {value}: what is skipped would stay for ever",
        fix="leave deliver_policy out",
        err_code=10101,
    ),
)


@rule("CO581", "unfit-for-work-queue", needs=("neighbours",), err_code=codes(ON_QUEUES))
def unfit_for_work_queue(change: Change, view: View) -> Iterator[Finding]:
    """A consumer on a work queue that does not acknowledge each message, or does not start with the first.

    A work queue removes what is acknowledged and keeps the rest, so the server refuses consumers that leave messages
    behind.

    Instead: `ack_policy: explicit`, and no `deliver_policy`.
    """
    return objections(ON_QUEUES, change, view, FIELDS) if is_work_queue(stream_of(change, view)) else iter(())


@rule("CO582", "work-queue-shared", on=ALL, needs=("neighbours",), err_code=(10099, 10100), can_stand=True)
def work_queue_shared(change: Change, view: View) -> Found:
    """Two consumers of a work queue want the same messages.

    Each message of a work queue has one consumer. The server refuses a second one when it is created. Updates it checks
    only in part: a filter may be taken away, and in a cluster be changed into any other, and both get the message. A
    single server loses the one without filter at its next restart, unless its name comes before all others. Next to a
    consumer without filter, every update of another one is refused. All consumers of the stream count, also those of
    others.

    Instead: give each consumer filters of its own that meet no other's; or let the clients share one consumer.
    """
    if not is_work_queue(stream_of(change, view)) or change.desired is None:
        return None
    filters, around = filters_of(change.desired.config), consumers_of(change, view)
    but = {change.address.name} | (set() if is_new(change, *FILTERS) else around.new)  # they are refused themselves
    if not filters:
        other = first_but(but, around.names)
        return _collision(change, view, other, None, filters) if other else _unread(change, view)
    if found := around.colliding(but, filters):
        return _collision(change, view, *found, filters)
    return _unread(change, view)


def _collision(change: Change, view: View, other: str, theirs: str | None, filters: list[str]) -> Finding:
    refused = _is_refused(change, view, filters)
    new = refused or is_new(change, *FILTERS)
    return Finding(
        outcome=Outcome.REFUSED if new else Outcome.WARNS,
        path=next((path for path in FILTERS if change.becomes(path)), ""),
        message=_words(other, theirs, filters) + ("" if refused else _taken(view)),
        fix="give each consumer of the queue filters that meet no other's, or let the clients share one consumer",
        reaction=Reaction.REFUSES
        if refused
        else Reaction.DOOMS
        if _is_doomed(change, view, filters)
        else Reaction.HARMS,
    )


def _is_doomed(change: Change, view: View, filters: list[str]) -> bool:
    """A single server restores consumers by name, and takes none without filter after another."""
    is_first = consumers_of(change, view).names[0] == change.address.name
    return not filters and not view.target.is_clustered and not is_first


def _is_refused(change: Change, view: View, filters: list[str]) -> bool:
    """Creations always, updates of a consumer with filters on single servers alone."""
    if change.action is Action.UPDATE:
        return bool(filters) and not view.target.is_clustered
    return change.action is Action.CREATE


def _taken(view: View) -> str:
    """What comes of it where the server says ok."""
    if view.target.is_clustered:
        return "; this cluster takes it, and gives such messages to both"
    return "; this server takes it, and one of the two is gone after its next restart"


def _words(other: str, theirs: str | None, filters: list[str]) -> str:
    if not filters:
        return f"without a filter it takes every message of the work queue, also those of {other}"
    if theirs is None:
        return f"consumer {other} has no filter and takes every message of the work queue"
    return f"consumer {other} takes `{theirs}` of the work queue already"


def _unread(change: Change, view: View) -> Finding | None:
    """What cannot be read may want the same messages."""
    unknown = {who: why for who, why in consumers_of(change, view).unknown.items() if who != change.address.name}
    if not unknown or change.action not in WRITES or not is_new(change, *FILTERS):
        return None
    who, why = min(unknown.items())
    return Finding(
        outcome=Outcome.REFUSED,
        path=next((path for path in FILTERS if change.becomes(path)), ""),
        message=f"consumer {who} of the work queue could not be read ({why}), and may take the same messages",
        fix="plan again when all consumers of the stream can be read",
        reaction=Reaction.DOES,
    )


@rule("CO583", "work-queue-copied", on=ALL, needs=("neighbours",), until=V2_14, err_code=(10099, 10100), can_stand=True)
def work_queue_copied(change: Change, view: View) -> Found:
    """A consumer wants messages of a work queue that another stream mirrors or sources.

    Up to 2.12 the server feeds the copy through a consumer that it lists nowhere and counts all the same: it refuses a
    second one for the same messages, and one without filter beside any. Where the other was there first, the copy gets
    nothing.

    Instead: give the consumer filters that meet none of the copy's; or let the copy take from a stream that is no work
    queue.
    """
    if not is_work_queue(stream_of(change, view)) or change.desired is None:
        return None
    filters = filters_of(change.desired.config)
    for copy, subjects in sorted(copiers(change.address.stream, view).items()):
        met = next((one for one in subjects if not filters or any(collide(one, mine) for mine in filters)), None)
        if met is None:
            continue
        new = is_new(change, *FILTERS)
        what = "every message" if met == ">" else f"`{met}`"
        return Finding(
            outcome=Outcome.REFUSED if new else Outcome.WARNS,
            path=next((path for path in FILTERS if change.becomes(path)), ""),
            message=f"stream {copy} copies {what} of this work queue, and each message of it has one taker"
            + ("" if new else f": {copy} gets nothing of what this consumer takes"),
            fix="give the consumer filters that meet none of the copy's, or take the copy off",
        )
    return None


RULES = (unfit_for_work_queue, work_queue_shared, work_queue_copied)
