"""What readers experience when a consumer changes, and when its position is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.consumer.clients import ONE_AT_A_TIME, pin_clause_of, pin_rule_text
from reconciler.kinds.consumer.filter_changes import filter_change
from reconciler.kinds.consumer.redelivery import (
    acknowledges,
    clients_finding,
    delivered_again,
    ever_had_client,
    gets_recreated,
    has_client,
    live_count,
    never_delivered_again,
    new_value_in_words,
    pending_messages,
)
from reconciler.kinds.consumer.spelling import is_same_filter
from reconciler.kinds.consumer_checks.neighbours import is_work_queue, stream_of
from reconciler.kinds.consumer_checks.priority import ack_waits
from reconciler.kinds.consumer_checks.pull_push import pushes
from reconciler.kinds.consumer_config.consumer_config import FIELDS
from reconciler.kinds.consumer_config.consumer_settle import ACK_WAIT, PINNED_TIMEOUT
from reconciler.kinds.effects.effect_rules import Effects, MovedField, foretold, note, notes_of
from reconciler.kinds.fields.field_effects import value_after
from reconciler.kinds.fields.times import nanoseconds_between
from reconciler.kinds.fields.words import amount, listed_few, some, verb
from reconciler.kinds.losses.unprocessed import unprocessed_messages
from reconciler.kinds.losses.unwanted import NEED_READERS, when_full_text
from reconciler.kinds.subjects.filters import filters_of
from reconciler.model.resource import Config, Json
from reconciler.model.units import show_duration


@foretold(601, "payloads-withheld")
def payloads_withheld(moved: MovedField) -> Iterable[Finding]:
    """`headers_only` is set. Clients get messages without their payload; `Nats-Msg-Size` tells how large the payload
    is.

    Redelivered messages come without it too, even if they were first delivered with it. A client that does not expect
    this processes and acknowledges empty messages.

    Instead: declare a second consumer with headers only. On a work queue, which takes none beside it, let clients expect that
    first.
    """
    if not ever_had_client(moved) and not pending_messages(moved).most:
        yield note("from then on clients get messages without their payload")
        return
    pending, in_flight = pending_messages(moved), live_count(moved, "num_ack_pending")
    first = [f"{some(in_flight, 'message')} in flight, unless acknowledged in time"] if in_flight else []
    first += [amount(pending, "pending message")] if pending.most else []
    counts = f": first {', then '.join(first)}" if first else ""
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"from then on clients get messages without their payload{counts}",
        fix="let its clients expect that first"
        if is_work_queue(stream_of(moved.change, moved.view))
        else "declare a second consumer with headers_only",
    )


ASKS = {
    "max_batch": "for more than {} messages",
    "max_expires": "that wait for longer than {}",
    "max_bytes": "for more than {}",
    "max_waiting": "that would make more than {} wait",
}


@foretold(602, "pulls-refused")
def pulls_refused(moved: MovedField) -> Iterable[Finding]:
    """A limit of pull requests is set or lowered. The server refuses requests that ask for more (status 409).

    No server shows what clients ask for. Many client libraries ask for hundreds of messages and wait for half a minute.
    The rule is silent if no client has ever pulled, or if no more pulls wait now than `max_waiting` allows. Push
    consumers have no such limits.

    Instead: first lower what clients ask for, or how many of them wait.
    """
    if pushes(moved.change.wanted):
        return
    words = f"from then on the server refuses pulls {ASKS[moved.field].format(new_value_in_words(moved))} (409)"
    waiting = live_count(moved, "num_waiting")
    if not (
        waiting > value_after(moved.change, moved.path) if moved.field == "max_waiting" else ever_had_client(moved)
    ):
        yield note(words)
        return
    now = f"; {some(waiting, 'pull')} {verb(waiting, 'wait')} now" if waiting else ""
    less = f"let fewer pulls wait first, or write at least {waiting:_}"
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{words}{now}",
        fix=less if moved.field == "max_waiting" else "first lower what clients ask for",
    )


@foretold(604, "vanishes-when-idle")
def vanishes_when_idle(moved: MovedField) -> Iterable[Finding]:
    """`inactive_threshold` is set or lowered, or inherited from the stream's `consumer_limits`. The server deletes the
    consumer with its position when no client has used it for that long, durable or not.

    While messages are in flight, the server waits for their acknowledgement first. On an interest stream it also
    deletes the messages that no other consumer wants. If a client waits on the consumer now, this is only a warning:
    only an outage of that length deletes the consumer.

    `consumer_limits` with a threshold take neither a longer one here nor none: the server gives their value to each
    consumer without one, at an update or at its next restart (ST556).

    Instead: leave it out, or make it longer than clients are ever away; beside `consumer_limits` raise or remove it
    there, or write `unmanaged: [inactive_threshold]` here, which leaves the consumer as it is until that restart.
    """
    threshold, in_flight = value_after(moved.change, moved.path), live_count(moved, "num_ack_pending")
    wait = (moved.change.becomes("ack_wait") or ACK_WAIT) if in_flight and acknowledges(moved) else 0
    idle = f"after {new_value_in_words(moved)} without a client" + (
        f", or {show_duration(threshold + wait)} while messages are in flight" if wait else ""
    )
    unread = (
        unprocessed_messages(moved.change.address.stream, moved.change.info, moved.view)
        if moved.change.info
        else exactly(0)
    )
    lose = _fate_when_deleted_text(unread, stream_of(moved.change, moved.view) or {})
    is_used = has_client(moved)
    yield Finding(
        outcome=Outcome.WARNS if is_used else Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=threshold,
        message=f"the server deletes this consumer with its position {idle}{lose}; "
        + ("a client is there now" if is_used else "no client waits on it now"),
        fix=_way_to_stay_text(moved),
    )


def _way_to_stay_text(moved: MovedField) -> str:
    """Limits of the stream decide how long a threshold may be, and that there is one."""
    limits = (stream_of(moved.change, moved.view) or {}).get("consumer_limits") or {}
    if not limits.get("inactive_threshold"):
        return "write a longer inactive_threshold, or none"
    return (
        f"raise or remove inactive_threshold in the consumer_limits of {moved.change.address.stream}; or leave this consumer as it "
        "is until the server's next restart: unmanaged: [inactive_threshold]"
    )


def _fate_when_deleted_text(unread: Amount, stream: Config) -> str:
    """The fate of messages when their consumer is deleted, as the end of a sentence."""
    their = "loses its" if unread.most == 1 else "lose their"
    lose = f", and {amount(unread, 'message')} {their} reader" if unread.most else ""
    if stream.get("retention") != "interest":
        return lose
    drops = "from this interest stream the messages that no other consumer wants"
    return f"{lose}; it also deletes {drops}" if unread.most else f", and {drops} by then"


@foretold(606, "throttled")
def deliveries_throttled(moved: MovedField) -> Iterable[Finding]:
    """`max_ack_pending` is lowered to the number of messages in flight, or below. Nothing new is delivered until enough
    of them are acknowledged, or have been delivered `max_deliver` times.

    Messages then stay for longer in a work queue or an interest stream. Once that has reached `max_msgs` or `max_bytes`,
    the server refuses publishes (`discard: new`) or deletes the oldest messages.

    Instead: lower it when fewer messages are in flight.
    """
    most, in_flight = value_after(moved.change, moved.path), live_count(moved, "num_ack_pending")
    if not acknowledges(moved) or not most or most < 1:
        return
    if in_flight < most:
        yield note(
            f"from then on at most {some(most, 'message')} {verb(most, 'are')} in flight at once{_longer_stay_text(moved)}"
        )
        return
    excess = in_flight - most + 1
    or_given_up = ", or given up at max_deliver" if (moved.change.becomes("max_deliver") or -1) > 0 else ""
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{some(in_flight, 'message')} {verb(in_flight, 'are')} in flight: nothing new is delivered until "
        f"{some(excess)} of them {verb(excess, 'are')} acknowledged{or_given_up}{_longer_stay_text(moved)}",
        quantities={"over": excess},
        fix="lower it when fewer messages are in flight",
    )


def _longer_stay_text(moved: MovedField) -> str:
    """What slower readers mean to publishers of a stream that only their acknowledgements empty, as the end of a sentence."""
    stream = stream_of(moved.change, moved.view) or {}
    full = when_full_text(stream) if stream.get("retention") in NEED_READERS else ""
    return full and f"; messages then stay in {moved.change.address.stream} for longer{full}"


@foretold(607, "subscribers-fall-silent")
def subscribers_fall_silent(moved: MovedField) -> Iterable[Finding]:
    """A push consumer delivers to another subject, or for another queue group, or with flow control.

    Subscribers of the old subject receive nothing more. While somebody is subscribed to it, the server refuses the
    change (CO112). Messages in flight are redelivered to the new subject, except those that have reached `max_deliver`.

    A change of the queue group takes effect when the server restarts or another server becomes leader, or at once if
    the plan recreates the consumer. Until then the consumer delivers only while a client listens in the group that it had
    when the server started, and from then on only while one listens in the new group; without a group if none is named.
    While it delivers, each group that listens gets each message, and so does each plain subscriber.

    With `flow_control`, the server sends requests without a payload (status 100) that a subscriber must answer. Without an
    answer it delivers some 2 MiB, and then nothing more. JetStream subscriptions of client libraries answer, plain
    subscriptions do not.

    Instead: let clients subscribe to the new subject first, and move those of a queue group at the restart; or declare a
    second consumer.
    """
    before, after = moved.change.was(moved.path), moved.change.becomes(moved.path)
    if not moved.change.was("deliver_subject") or not moved.change.becomes("deliver_subject"):
        return  # it becomes another kind of consumer, of which its own rule speaks
    if moved.field == "flow_control":
        yield from _flow_control_findings(moved)
    elif moved.field == "deliver_group":
        old, new = (f"in queue group {group}" if group else "outside any queue group" for group in (before, after))
        if gets_recreated(moved):
            yield _silence_finding(moved, f"from then on nothing is delivered without a client {new}")
        else:
            words = (
                f"until the server's next restart nothing is delivered without a client {old} (if the consumer had "
                f"{'it' if before else 'none'} when the server started), and from then on without one {new}; while clients of both "
                "listen, both get each message"
            )
            yield _silence_finding(moved, words, fix="let the clients stay as they are, and move them at the restart")
    elif gets_recreated(moved) or not moved.change.info.get("push_bound"):
        yield _silence_finding(
            moved,
            f"messages are delivered to {after}, and subscribers of {before} receive nothing more{_redelivery_to_new_subject(moved)}",
        )


def _flow_control_findings(moved: MovedField) -> Iterator[Finding]:
    """Flow control is switched on or off."""
    subject, pending = moved.change.becomes("deliver_subject"), pending_messages(moved)
    if not moved.change.becomes("flow_control"):
        yield note(f"from then on the server does not slow down for a slow subscriber of {subject}")
        return
    now = f"; {amount(pending, 'message')} {verb(pending.most, 'are')} pending" if pending.most else ""
    yield _silence_finding(
        moved,
        f"from then on a subscriber of {subject} must answer flow-control requests (status 100), or it gets nothing more "
        f"after some 2 MiB{now}",
        fix="let clients use a JetStream subscription, which answers them, or answer to the reply subject",
    )


def _redelivery_to_new_subject(moved: MovedField) -> str:
    """Messages in flight go to the new subject at once, unless they were already delivered as often as allowed."""
    most, in_flight = moved.change.becomes("max_deliver") or -1, live_count(moved, "num_ack_pending")
    if not in_flight:
        return ""
    if most == 1:
        return (
            f"; {some(in_flight, 'message')} in flight {verb(in_flight, 'are')} never redelivered, acknowledged or not"
        )
    again = f"; {some(in_flight, 'message')} in flight {verb(in_flight, 'are')} redelivered there at once"
    return f"{again}, unless already delivered {most} times" if most > 1 else again


def _silence_finding(
    moved: MovedField, words: str, fix: str = "let clients subscribe to the new subject or queue group first"
) -> Finding:
    if not ever_had_client(moved):
        return note(words)
    return Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=words,
        fix=fix,
    )


@foretold(608, "paced")
def deliveries_paced(moved: MovedField) -> Iterable[Finding]:
    """Messages arrive more slowly: `rate_limit_bps` is lowered, or `replay_policy` becomes `original`, while messages are
    pending. Or another client gets them: the server pins another client once the pinned one has sent no new pull for
    `priority_timeout`.

    Only a new pull prolongs a pin. A pull that waits, a delivery and an acknowledgement do not. Once another client is
    pinned, the pull of the first one ends with 423. The first one may still work on messages, so two clients work at
    once, and may process messages of a key out of order.

    With `idle_heartbeat`, subscribers of a push consumer also get empty messages (status 100) while nothing else is
    delivered. A subscriber that expects them more often takes the consumer for stalled.

    Instead: lower it when fewer messages are pending; let subscribers tell heartbeats by their status; let clients pull
    again within the shorter `priority_timeout`, work included.
    """
    if moved.field == "idle_heartbeat":
        yield from _heartbeat_findings(moved)
        return
    if moved.field == "replay_policy":
        yield from _replay_findings(moved)
        return
    if moved.field == "backoff":
        if ack_waits(moved.change.was) != ack_waits(moved.change.becomes):
            yield note("messages that are not acknowledged are redelivered at other times")
        return
    if moved.field == "priority_timeout":
        yield from _pin_timeout_findings(moved)
        return
    most = value_after(moved.change, moved.path)
    words = f"from then on at most {some(most, 'bit')} {verb(most, 'are')} delivered each second"
    yield _pending_messages_finding(moved, words, "lower it when fewer messages are pending")


def _pending_messages_finding(moved: MovedField, words: str, fix: str) -> Finding:
    """A warning if messages are pending; a note otherwise."""
    pending, stay = pending_messages(moved), _longer_stay_text(moved)
    if not pending.most:
        return note(f"{words}{stay}")
    message = f"{words}, and {amount(pending, 'message')} {verb(pending.most, 'are')} pending{stay}"
    return Finding(outcome=Outcome.WARNS, path=moved.path, message=message, fix=fix)


def _heartbeat_findings(moved: MovedField) -> Iterator[Finding]:
    """Heartbeats come at other times, for the first time, or no longer."""
    before, after = moved.change.was("idle_heartbeat"), moved.change.becomes("idle_heartbeat")
    subject = moved.change.becomes("deliver_subject")
    if not moved.change.was("deliver_subject") or not subject:
        return  # it becomes another kind of consumer, of which its own rule speaks
    beat = f"a heartbeat, which is an empty message with status 100, after each {show_duration(after or 0)} without a message"
    words = f"from then on subscribers of {subject} get {beat if after else 'no heartbeats'}"
    if not before:
        yield clients_finding(moved, words, "let subscribers tell heartbeats by their status, and process none of them")
    elif after and after < before:
        yield note(words)
    else:
        stalled = f"{words}; those that expect one every {show_duration(before)} take the consumer for stalled"
        yield clients_finding(moved, stalled, "first let subscribers expect fewer heartbeats")


def _replay_findings(moved: MovedField) -> Iterator[Finding]:
    """Stored messages arrive at the pace of their publishers, or no longer."""
    if moved.change.becomes("replay_policy") != "original":
        yield note("from then on clients get stored messages as fast as they take them")
        return
    words = "from then on stored messages are delivered at the pace at which they were published"
    yield _pending_messages_finding(moved, words, "keep instant until fewer messages are pending")


def _pin_timeout_findings(moved: MovedField) -> Iterator[Finding]:
    """The pinned client has more or less time to send its next pull. With less, a working client loses its pin."""
    change = moved.change
    if not change.was("priority_policy") == change.becomes("priority_policy") == ONE_AT_A_TIME:
        return
    before = change.was("priority_timeout") or PINNED_TIMEOUT
    after = value_after(change, moved.path) or PINNED_TIMEOUT
    still = f"; for the client that is pinned now, {show_duration(before)} counts until its next pull"
    words = f"{pin_rule_text(after)}{still if pin_clause_of(change.info) else ''}"
    if after >= before:
        yield note(words)
        return
    yield clients_finding(
        moved,
        f"{words}. The first client may still work on messages then, so two clients work at once, and may process messages of a "
        "key out of order",
        "keep it longer than clients take from one pull to the next, work included; or let clients send shorter pulls first",
    )


@notes_of(301)
def other_messages(moved: MovedField) -> Iterable[Finding]:
    """Clients get other messages than before, even if the consumer skips and misses none."""
    if moved.field == "filter_subjects" and moved.change.touches("filter_subject"):
        return
    if not is_same_filter(moved.change) and filter_change.judge(moved.change, moved.view) is None:
        after = filters_of(moved.change.wanted)
        yield note(f"from then on clients get messages on {listed_few(after, 5)}")


@notes_of(609)
def deliveries_paused(moved: MovedField) -> Iterable[Finding]:
    """A pause keeps pending messages from clients, and its end sets all of them free at once."""
    before, after = moved.change.was("pause_until"), moved.change.becomes("pause_until")
    pending = pending_messages(moved)
    now = amount(pending, "message") if pending.most else "no message"
    if _lies_ahead(after, moved):
        pending_now = f"{now} {verb(max(1, pending.most), 'are')} pending now"
        until = f"from then on nothing is delivered until {after}; {pending_now}{_longer_stay_text(moved)}"
        yield note(until, pending=pending)
    elif _lies_ahead(before, moved) and pending.most:
        yield note(f"clients then get {amount(pending, 'pending message')} at once", pending=pending)


def _lies_ahead(until: Json, moved: MovedField) -> bool:
    """Does a pause until then still hold? The server's clock says when the consumer was read."""
    now = moved.change.info.get("ts")
    return bool(until) and (not now or nanoseconds_between(now, until) > 0)


FAMILIES = (
    other_messages,
    payloads_withheld,
    pulls_refused,
    never_delivered_again,
    vanishes_when_idle,
    delivered_again,
    deliveries_throttled,
    subscribers_fall_silent,
    deliveries_paced,
    deliveries_paused,
)


def _takes_effect(moved: MovedField) -> bool:
    """A field that no update changes only changes when the consumer is recreated."""
    before, after = moved.change.was(moved.field), moved.change.becomes(moved.field)
    return FIELDS[moved.field].may_become(before, after, moved.view.target.version) or gets_recreated(moved)


EFFECTS = Effects(family="CO", fields=FIELDS, families=FAMILIES, happens=_takes_effect)
