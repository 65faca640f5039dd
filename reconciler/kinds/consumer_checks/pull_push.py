"""A consumer either pulls or pushes: options of the other way, and subjects to which a push consumer cannot deliver.

What keeps a push consumer from flooding its client: heartbeats, flow control, and limits of unacknowledged
messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.amount import exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.kind import declared_config
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.neighbours import is_work_queue, max_ack_pending, stream_of
from reconciler.kinds.consumer_checks.objections import Check, codes, objections
from reconciler.kinds.fields.actions import STANDING, is_new
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import amount
from reconciler.kinds.losses.unprocessed import undelivered_messages
from reconciler.kinds.subjects.subjects import is_literal, is_valid, matches
from reconciler.model.resource import Config
from reconciler.model.units import show_duration

PUSH_ONLY = "give the consumer a deliver_subject, or leave {} out"
PULL_ONLY = "leave {} out, or leave deliver_subject out"


def pushes(config: Config) -> bool:
    """The consumer delivers to a subject; without `deliver_subject`, clients pull from it."""
    return bool(config.get("deliver_subject"))


def acknowledges_by_flow(config: Config) -> bool:
    """The server then sets push options itself, and asks for a push consumer with an error of its own."""
    return config.get("ack_policy") == "flow_control"


def _push_only(path: str, err_code: int) -> Check:
    return Check(
        path=path,
        wrong=lambda c: c.get(path) and not pushes(c) and not acknowledges_by_flow(c),
        says=f"{path} is for push consumers; clients pull from this one",
        fix=PUSH_ONLY.format(path),
        err_code=err_code,
    )


def _pull_only(path: str, err_code: int = 0) -> Check:
    refused = "" if err_code else ", and has no effect here"
    return Check(
        path=path,
        wrong=lambda c: c.get(path) and pushes(c),
        says=f"{path} is for pull consumers; this one delivers to a subject{refused}",
        fix=PULL_ONLY.format(path),
        err_code=err_code,
    )


WRONG_WAY = (
    _push_only("rate_limit_bps", 10086),
    _push_only("idle_heartbeat", 10088),
    _push_only("flow_control", 10089),
    _pull_only("max_waiting", 10080),
)


@rule("CO561", "option-of-the-other-way", err_code=codes(WRONG_WAY))
def option_of_the_other_way(change: Change, view: View) -> Iterator[Finding]:
    """A pull consumer has options of push consumers, or a push consumer has options of pull consumers.

    The server refuses it: `rate_limit_bps`, `idle_heartbeat` and `flow_control` need a `deliver_subject`, and
    `max_waiting` counts waiting pull requests.

    Instead: leave the option out, or decide whether the consumer pulls or pushes.
    """
    return objections(WRONG_WAY, change, view)


IDLE = (
    *(_pull_only(path) for path in ("max_batch", "max_expires", "max_bytes")),
    Check(
        path="deliver_group",
        wrong=lambda c: c.get("deliver_group") and not pushes(c),
        says="deliver_group is for push consumers, and has no effect here",
        fix=PUSH_ONLY.format("deliver_group"),
    ),
)


@rule("CO562", "option-without-effect", reaction=Reaction.INERT)
def option_without_effect(change: Change, view: View) -> Iterator[Finding]:
    """An option that the server never uses: limits of pull requests on a push consumer, a queue group on a pull consumer, or
    `ack_wait` beside `backoff`, whose first entry the server takes instead.

    Readers of the configuration believe that it has an effect.

    Instead: leave it out.
    """
    yield from (finding for finding in objections(IDLE, change, view) if is_new(change, finding.path))
    if is_new(change, "backoff", "ack_wait"):
        yield from _ack_wait_findings(change)


def _ack_wait_findings(change: Change) -> Iterator[Finding]:
    stated = declared_config(change.desired.terms) if change.desired and change.becomes("backoff") else {}
    wait, first = stated.get("ack_wait"), (stated.get("backoff") or (None,))[0]
    if wait and first and wait != first:
        yield Finding(
            outcome=Outcome.WARNS,
            path="ack_wait",
            message=f"ack_wait {show_duration(wait)} has no effect: the server takes the first entry of backoff, {show_duration(first)}",
            fix="leave it out, or write it as the first entry of backoff",
            reaction=Reaction.INERT,
        )


@rule("CO563", "undeliverable-subject", needs=("neighbours",), err_code=(10079, 10081, 10112))
def undeliverable_subject(change: Change, view: View) -> Found:
    """A push consumer delivers to a subject with wildcards, or into its own stream.

    The server refuses it: the stream would store its own deliveries and deliver them again, forever.

    Instead: deliver to a literal subject that the stream does not capture.
    """
    subject = change.becomes("deliver_subject")
    if not subject or not (why := _delivery_problem(subject, stream_of(change, view) or {}, change.address.stream)):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="deliver_subject",
        message=why,
        fix="deliver to a literal subject that the stream does not capture",
        can_stand=is_literal(subject) and is_valid(subject),  # the stream was widened later
    )


def _delivery_problem(subject: str, stream: Config, name: str) -> str | None:
    if not is_literal(subject):
        return f"`{subject}` has wildcards, and a consumer delivers to one literal subject"
    if not is_valid(subject):
        return f"`{subject}` is not a valid subject"
    captured = next((pattern for pattern in stream.get("subjects") or () if matches(subject, pattern)), None)
    return (
        f"stream {name} captures `{captured}`, so it would store deliveries to `{subject}` again" if captured else None
    )


@rule("CO320", "doomed-live", on=STANDING, needs=("live", "neighbours"), reaction=Reaction.DOOMS)
def doomed_live(change: Change, view: View) -> Found:
    """A live push consumer delivers to a subject that its own stream captures: an update widened the stream over it.

    The server checks only the stream when its subjects change, and the consumer when it starts. At its next restart it
    loses the consumer with its position. That needs no further change, so every plan says it.

    Instead: deliver to another subject, or narrow the stream's subjects, before any server restarts.
    """
    subject = change.was("deliver_subject")
    if not subject or not (why := _delivery_problem(subject, stream_of(change, view) or {}, change.address.stream)):
        return None
    pending = undelivered_messages(change.address.stream, change.live.state, view) if change.live else exactly(0)
    return Finding(
        outcome=Outcome.WARNS,
        path="deliver_subject",
        quantities={"messages": pending},
        message=f"the server will lose this consumer and its position at its next restart: {why}; the consumer has yet to deliver "
        f"{amount(pending, 'message')}",
        fix="before any server restarts: deliver to another subject, or narrow the stream's subjects",
    )


@rule("CO112", "bound-deliver-subject", on=(Action.UPDATE,), needs=("live",), err_code=10013)
def bound_deliver_subject(change: Change, view: View) -> Found:
    """The deliver subject of a push consumer changes while somebody is subscribed to the old one.

    The server refuses it as long as there is a subscriber.

    Instead: stop the clients first, or declare a second consumer and move them. A work queue takes none beside it.
    """
    if not (change.touches("deliver_subject") and change.was("deliver_subject") and change.becomes("deliver_subject")):
        return None
    if not change.info.get("push_bound"):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="deliver_subject",
        message=f"the subject cannot change while a client is subscribed to `{change.was('deliver_subject')}`",
        fix="stop the clients first: a work queue takes no second consumer beside it"
        if is_work_queue(stream_of(change, view))
        else "stop the clients first, or declare a second consumer and move them",
    )


MILLISECOND, SECOND = 1_000_000, 1_000_000_000

BEATS = (
    Check(
        path="idle_heartbeat",
        wrong=lambda c: pushes(c) and 0 < c.get("idle_heartbeat", 0) < 100 * MILLISECOND,
        says="idle_heartbeat {value} is below 100ms, the shortest that servers accept",
        fix="write at least 100ms",
        err_code=10083,
    ),
    Check(
        path="flow_control",
        wrong=lambda c: pushes(c) and c.get("flow_control") and not c.get("idle_heartbeat"),
        says="flow_control needs idle_heartbeat, which shows that a client has stalled",
        fix="write idle_heartbeat: 5s, or leave flow_control out",
        err_code=10108,
    ),
)


@rule("CO564", "missing-heartbeat", err_code=codes(BEATS))
def missing_heartbeat(change: Change, view: View) -> Iterator[Finding]:
    """Flow control has no heartbeat, or a heartbeat is too fast.

    The server refuses it: heartbeats tell clients about stalls, and take at least 100ms.

    Instead: write `idle_heartbeat: 5s`.
    """
    return objections(BEATS, change, view)


@rule("CO565", "pending-without-acks", needs=("neighbours",), err_code=10082)
def pending_without_acks(change: Change, view: View) -> Found:
    """A push consumer whose messages nobody acknowledges has a limit of unacknowledged messages.

    The server refuses it, even if the limit comes from the stream's `consumer_limits`, and then even for an unrelated
    change of a live consumer.

    Instead: choose an `ack_policy`, or write `max_ack_pending: -1`, which inherits nothing from the stream.
    """
    config = change.wanted
    pending = max_ack_pending(change, stream_of(change, view) or {})
    if not pushes(config) or config.get("ack_policy") or pending <= 0:
        return None
    own = change.desired is not None and not change.desired.leaves_to_server("max_ack_pending")
    return Finding(
        outcome=Outcome.REFUSED,
        path="max_ack_pending",
        message=f"max_ack_pending {pending}{'' if own else ', from the consumer_limits of the stream,'} "
        "needs an ack_policy: nobody acknowledges messages of this consumer",
        fix="write ack_policy: explicit, or max_ack_pending: -1",
        can_stand=not own,  # the stream was given its limits later
    )


def _redelivery_check(path: str, err_code: int) -> Check:
    return Check(
        path=path,
        wrong=lambda c: acknowledges_by_flow(c) and c.get(path),
        says=f"{path} means nothing with ack_policy flow_control, which redelivers nothing",
        fix=f"leave {path} out",
        err_code=err_code,
    )


FLOW = (
    Check(
        path="ack_policy",
        wrong=lambda c: acknowledges_by_flow(c) and not pushes(c),
        says="ack_policy flow_control is for push consumers; clients pull from this one",
        fix=PUSH_ONLY.format("ack_policy: flow_control"),
        err_code=10218,
    ),
    Check(
        path="max_ack_pending",
        wrong=lambda c: acknowledges_by_flow(c) and c.get("max_ack_pending", 0) < 0,
        says="ack_policy flow_control needs a limit of pending messages, not {value}",
        fix="write a number above zero, or leave max_ack_pending out",
        err_code=10220,
    ),
    _redelivery_check("ack_wait", 10221),
    _redelivery_check("backoff", 10221),
    _redelivery_check("max_deliver", 10222),
)


@rule("CO566", "acknowledged-by-flow-control", since=V2_14, err_code=codes(FLOW))
def acknowledged_by_flow_control(change: Change, view: View) -> Iterator[Finding]:
    """`ack_policy: flow_control` comes with options that contradict it.

    With this policy, replies to flow control acknowledge the messages. That needs a push consumer with a limit of
    pending messages, and leaves nothing to redeliver. The server sets `flow_control: true` and `idle_heartbeat: 1s`
    itself, whatever the file says.

    Instead: leave `ack_wait`, `backoff`, `max_deliver`, `flow_control` and `idle_heartbeat` out.
    """
    yield from objections(FLOW, change, view)
    if change.becomes("ack_policy") == "flow_control":
        yield from _overwritten_value_findings(change)


def _overwritten_value_findings(change: Change) -> Iterator[Finding]:
    for path, always, shown in (("idle_heartbeat", SECOND, "1s"), ("flow_control", True, "true")):
        written = getattr(change.terms, path, None)
        if written is not None and written != always:
            yield Finding(
                outcome=Outcome.WARNS,
                path=path,
                message=f"the server sets {path} to {shown} with ack_policy flow_control, whatever the file says",
                fix=f"write {path}: {shown}, or leave it out",
                reaction=Reaction.DROPS,
            )


RULES = (
    option_of_the_other_way,
    option_without_effect,
    undeliverable_subject,
    doomed_live,
    bound_deliver_subject,
    missing_heartbeat,
    pending_without_acks,
    acknowledged_by_flow_control,
)
