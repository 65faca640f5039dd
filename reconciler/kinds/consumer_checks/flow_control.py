"""What keeps a push consumer from flooding its client: heartbeats, flow control, and limits of unacknowledged
messages."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.neighbours import max_ack_pending, stream_of
from reconciler.kinds.consumer_checks.objections import Check, codes, objections
from reconciler.kinds.consumer_checks.pull_push import PUSH_ONLY, acknowledges_by_flow, pushes
from reconciler.kinds.fields.known import V2_14

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
        yield from _overwritten_values(change)


def _overwritten_values(change: Change) -> Iterator[Finding]:
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


RULES = (missing_heartbeat, pending_without_acks, acknowledged_by_flow_control)
