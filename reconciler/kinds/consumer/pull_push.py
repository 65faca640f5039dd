"""A consumer is pulled from or pushes: options of the other way, and push options that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Config
from reconciler.core.rule import Finding, Found, Outcome, Reaction, View, rule
from reconciler.kinds.consumer.around import max_ack_pending, stream_of
from reconciler.kinds.primitives.checks import STANDING, Check, codes, is_new, objections
from reconciler.kinds.primitives.consumer_config import FIELDS
from reconciler.kinds.primitives.known import V2_14
from reconciler.kinds.primitives.subjects import is_literal, is_valid, matches
from reconciler.kinds.primitives.words import some

MILLISECOND, SECOND = 1_000_000, 1_000_000_000
PUSH_ONLY = "give the consumer a deliver_subject, or leave {} out"
PULL_ONLY = "leave {} out, or leave deliver_subject out"


def _pushes(config: Config) -> bool:
    return bool(config.get("deliver_subject"))


def _by_flow(config: Config) -> bool:
    """The server sets push options itself then, and asks for a push consumer in a word of its own."""
    return config.get("ack_policy") == "flow_control"


def _push_only(path: str, err_code: int) -> Check:
    return Check(
        path=path,
        wrong=lambda c: c.get(path) and not _pushes(c) and not _by_flow(c),
        says=f"{path} is for push consumers; clients pull from this one",
        fix=PUSH_ONLY.format(path),
        err_code=err_code,
    )


def _pull_only(path: str, err_code: int = 0) -> Check:
    refused = "" if err_code else ", and has no effect here"
    return Check(
        path=path,
        wrong=lambda c: c.get(path) and _pushes(c),
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
    """A pull consumer has options of push consumers, or the other way round.

    The server refuses it: `rate_limit_bps`, `idle_heartbeat` and `flow_control` need a `deliver_subject`, and
    `max_waiting` counts waiting pull requests.

    Instead: leave the option out, or decide whether the consumer pulls or pushes.
    """
    return objections(WRONG_WAY, change, view, FIELDS)


IDLE = (
    *(_pull_only(path) for path in ("max_batch", "max_expires", "max_bytes")),
    Check(
        path="deliver_group",
        wrong=lambda c: c.get("deliver_group") and not _pushes(c),
        says="deliver_group is for push consumers, and has no effect here",
        fix=PUSH_ONLY.format("deliver_group"),
    ),
)


@rule("CO562", "option-without-effect", reaction=Reaction.INERT)
def option_without_effect(change: Change, view: View) -> Iterator[Finding]:
    """An option that the server stores and never looks at: limits of pull requests on a push consumer, a queue group on
    a pull consumer.

    Whoever reads the configuration believes that it does something.

    Instead: leave it out.
    """
    return (one for one in objections(IDLE, change, view, FIELDS) if is_new(change, one.path))


@rule("CO563", "undeliverable-subject", needs=("neighbours",), err_code=(10079, 10081, 10112))
def undeliverable_subject(change: Change, view: View) -> Found:
    """A push consumer delivers to what is no literal subject, or into its own stream.

    The server refuses it: what is delivered into the stream would be stored and delivered again, for ever.

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
    )


def _delivery_problem(subject: str, stream: Config, name: str) -> str | None:
    if not is_literal(subject):
        return f"`{subject}` has wildcards; messages are delivered to one literal subject"
    if not is_valid(subject):
        return f"`{subject}` is not a subject"
    captured = next((one for one in stream.get("subjects") or () if matches(subject, one)), None)
    return (
        f"stream {name} captures `{captured}`, so that deliveries to `{subject}` would be stored again"
        if captured
        else None
    )


@rule("CO320", "doomed-live", on=STANDING, needs=("live", "neighbours"), reaction=Reaction.DOOMS)
def doomed_live(change: Change, view: View) -> Found:
    """A live push consumer delivers to a subject that its own stream captures: the stream was widened over it.

    The server checks the stream alone when its subjects change, and the consumer when it starts: after its next restart
    the consumer is gone, with its position. Nothing needs to change for that, so every plan says it.

    Instead: deliver to another subject, or narrow the stream's subjects, before any server restarts.
    """
    subject = change.was("deliver_subject")
    if not subject or not (why := _delivery_problem(subject, stream_of(change, view) or {}, change.address.stream)):
        return None
    pending = change.live.state.get("num_pending", 0) if change.live else 0
    return Finding(
        outcome=Outcome.WARNS,
        path="deliver_subject",
        quantities={"messages": pending},
        message=f"this consumer and its position will be gone after the next restart of the server: {why}; "
        f"{some(pending, 'message')} it has yet to deliver {'waits' if pending == 1 else 'wait'} for it",
        fix="before any server restarts: deliver to another subject, or narrow the stream's subjects",
    )


@rule("CO112", "bound-deliver-subject", on=(Action.UPDATE,), needs=("live",), err_code=10013)
def bound_deliver_subject(change: Change, _view: View) -> Found:
    """The deliver subject of a push consumer changes while somebody listens on the old one.

    The server refuses it as long as there is a subscriber.

    Instead: stop the clients first, or declare a second consumer and move them.
    """
    bound = change.live.state.get("push_bound") if change.live else None
    if not bound or not change.was("deliver_subject") or not change.becomes("deliver_subject"):
        return None
    if not change.touches("deliver_subject"):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="deliver_subject",
        message=f"a client listens on `{change.was('deliver_subject')}`, and as long as it does, the subject cannot change",
        fix="stop the clients first, or declare a second consumer and move them",
    )


BEATS = (
    Check(
        path="idle_heartbeat",
        wrong=lambda c: _pushes(c) and 0 < c.get("idle_heartbeat", 0) < 100 * MILLISECOND,
        says="idle_heartbeat {value} is below 100ms, the shortest there is",
        fix="write at least 100ms",
        err_code=10083,
    ),
    Check(
        path="flow_control",
        wrong=lambda c: _pushes(c) and c.get("flow_control") and not c.get("idle_heartbeat"),
        says="flow_control needs idle_heartbeat: a stalled client is noticed by it",
        fix="write idle_heartbeat: 5s, or leave flow_control out",
        err_code=10108,
    ),
)


@rule("CO564", "missing-heartbeat", err_code=codes(BEATS))
def missing_heartbeat(change: Change, view: View) -> Iterator[Finding]:
    """Flow control without a heartbeat, or a heartbeat that is too fast.

    The server refuses it: heartbeats tell clients about stalls, and take at least 100ms.

    Instead: write `idle_heartbeat: 5s`.
    """
    return objections(BEATS, change, view, FIELDS)


@rule("CO565", "pending-without-acks", needs=("neighbours",), err_code=10082)
def pending_without_acks(change: Change, view: View) -> Found:
    """A push consumer whose messages nobody acknowledges has a limit of unacknowledged messages.

    The server refuses it, also when the limit comes from the stream's `consumer_limits`, and then even for an unrelated
    change of a live consumer.

    Instead: choose an `ack_policy`, or write `max_ack_pending: -1`, which takes nothing over from the stream.
    """
    config = change.desired.config if change.desired else {}
    pending = max_ack_pending(change, stream_of(change, view) or {})
    if not _pushes(config) or config.get("ack_policy") or pending <= 0:
        return None
    own = "max_ack_pending" in config
    return Finding(
        outcome=Outcome.REFUSED,
        path="max_ack_pending",
        message=f"max_ack_pending {pending}{'' if own else ', from the consumer_limits of the stream,'} "
        "needs an ack_policy: nothing is acknowledged here",
        fix="write ack_policy: explicit, or max_ack_pending: -1",
    )


def _redelivers(path: str, err_code: int) -> Check:
    return Check(
        path=path,
        wrong=lambda c: _by_flow(c) and c.get(path),
        says=f"{path} means nothing with ack_policy flow_control: nothing is redelivered",
        fix=f"leave {path} out",
        err_code=err_code,
    )


FLOW = (
    Check(
        path="ack_policy",
        wrong=lambda c: _by_flow(c) and not _pushes(c),
        says="ack_policy flow_control is for push consumers; clients pull from this one",
        fix=PUSH_ONLY.format("ack_policy: flow_control"),
        err_code=10218,
    ),
    Check(
        path="max_ack_pending",
        wrong=lambda c: _by_flow(c) and c.get("max_ack_pending", 0) < 0,
        says="ack_policy flow_control needs a limit of pending messages, not {value}",
        fix="write a number above zero, or leave max_ack_pending out",
        err_code=10220,
    ),
    _redelivers("ack_wait", 10221),
    _redelivers("backoff", 10221),
    _redelivers("max_deliver", 10222),
)


@rule("CO566", "acknowledged-by-flow-control", since=V2_14, err_code=codes(FLOW))
def acknowledged_by_flow_control(change: Change, view: View) -> Iterator[Finding]:
    """`ack_policy: flow_control` beside options that contradict it.

    Replies to flow control acknowledge the messages here: that needs a push consumer with a limit of pending messages,
    and leaves nothing to redeliver. The server sets `flow_control: true` and `idle_heartbeat: 1s` itself, whatever
    the file says.

    Instead: leave `ack_wait`, `backoff`, `max_deliver`, `flow_control` and `idle_heartbeat` out.
    """
    yield from objections(FLOW, change, view, FIELDS)
    if change.becomes("ack_policy") == "flow_control":
        yield from _overwritten(change)


def _overwritten(change: Change) -> Iterator[Finding]:
    for path, always, shown in (("idle_heartbeat", SECOND, "1s"), ("flow_control", True, "true")):
        said = getattr(change.terms, path, None)
        if said is not None and said != always:
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
