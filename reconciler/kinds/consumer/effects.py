"""What readers experience when a consumer changes, and when its position is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.changes.amount import Amount, exactly, total
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.consumer.clients import ONE_AT_A_TIME, pin_clause_of, pin_rule_text
from reconciler.kinds.consumer.filter_changes import filter_change
from reconciler.kinds.consumer.spelling import is_same_filter
from reconciler.kinds.consumer_checks.neighbours import is_work_queue, stream_of
from reconciler.kinds.consumer_checks.priority import ack_waits
from reconciler.kinds.consumer_checks.pull_push import pushes
from reconciler.kinds.consumer_config.consumer_config import FIELDS
from reconciler.kinds.consumer_config.consumer_settle import ACK_WAIT, PINNED_TIMEOUT
from reconciler.kinds.consumer_position.position import is_recreated, redelivered_and_unacknowledged
from reconciler.kinds.effects.effect_rules import Effects, MovedField, foretold, note, notes_of
from reconciler.kinds.fields.field_effects import value_after
from reconciler.kinds.fields.times import ZERO, nanoseconds_between
from reconciler.kinds.fields.words import amount, in_words, listed, share, some, verb
from reconciler.kinds.losses.unprocessed import behind, undelivered_messages
from reconciler.kinds.subjects.filters import filters_of, gained_subjects
from reconciler.model.resource import Config, Json
from reconciler.model.units import show_duration

TRIMMING = ("max_msgs", "max_bytes", "max_msgs_per_subject")
OF_DELIVERIES = ("num_ack_pending", "num_redelivered")


def _count(moved: MovedField, name: str) -> int:
    """`num_pending` and the like, as the server counts them when the change takes effect: a consumer that the plan recreates
    has delivered nothing yet."""
    if name in OF_DELIVERIES and _is_recreated(moved):
        return 0
    return int(moved.change.info.get(name) or 0)


def _is_recreated(moved: MovedField) -> bool:
    return is_recreated(moved.change, moved.view)


def _pending_messages(moved: MovedField) -> Amount:
    """Messages that it has yet to deliver. A consumer that the plan recreates delivers those in flight again as well."""
    pending = (
        undelivered_messages(moved.change.address.stream, moved.change.info, moved.view)
        if moved.change.info
        else exactly(0)
    )
    again, _ = redelivered_and_unacknowledged(moved.change, moved.view) if _is_recreated(moved) else (exactly(0), 0)
    return total((pending, again))


def _has_client(moved: MovedField) -> bool:
    """Does a client wait on it now?"""
    return bool(_count(moved, "num_waiting") or moved.change.info.get("push_bound"))


def _ever_had_client(moved: MovedField) -> bool:
    return _has_client(moved) or bool((moved.change.info.get("delivered") or {}).get("consumer_seq"))


def _stored_in_flight(moved: MovedField) -> Amount:
    """Messages that clients have not acknowledged, as far as the stream still holds them. No others can be
    redelivered."""
    in_flight, snapshot = _count(moved, "num_ack_pending"), moved.view.snapshot
    stream = snapshot.streams.get(moved.change.address.stream)
    stored = stream["state"].get("messages", in_flight) if stream else in_flight
    return exactly(in_flight) if stored >= in_flight else Amount(0, stored)


def _new_value_in_words(moved: MovedField) -> str:
    """The new value in words, and where it comes from if the file does not say it."""
    field_change = moved.change.field(moved.path)
    value = in_words(value_after(moved.change, moved.path), FIELDS[moved.field].unit)
    source = field_change.filled if field_change else ""
    return f"{value} ({source})" if source else value


def _acknowledges(moved: MovedField) -> bool:
    """Does it acknowledge before and after the change? Otherwise it is recreated, or stays as it is."""
    return all(value_of("ack_policy") in ("explicit", "all") for value_of in (moved.change.was, moved.change.becomes))


@foretold(601, "payloads-withheld")
def payloads_withheld(moved: MovedField) -> Iterable[Finding]:
    """`headers_only` is set. Clients get messages without their payload; `Nats-Msg-Size` tells how large the payload
    is.

    Redelivered messages come without it too, even if they were first delivered with it. A client that does not expect
    this processes and acknowledges empty messages.

    Instead: declare a second consumer with headers only.
    """
    if not _ever_had_client(moved) and not _pending_messages(moved).most:
        yield note("from then on clients get messages without their payload")
        return
    pending, in_flight = _pending_messages(moved), _count(moved, "num_ack_pending")
    first = [f"{some(in_flight, 'message')} in flight, unless acknowledged in time"] if in_flight else []
    first += [amount(pending, "pending message")] if pending.most else []
    counts = f": first {', then '.join(first)}" if first else ""
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"from then on clients get messages without their payload{counts}",
        fix="declare a second consumer with headers_only",
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
    words = f"from then on the server refuses pulls {ASKS[moved.field].format(_new_value_in_words(moved))} (409)"
    waiting = _count(moved, "num_waiting")
    if not (
        waiting > value_after(moved.change, moved.path) if moved.field == "max_waiting" else _ever_had_client(moved)
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


@foretold(603, "never-delivered-again")
def never_delivered_again(moved: MovedField) -> Iterable[Finding]:
    """`max_deliver` is lowered to the number of times that messages in flight were already delivered. If clients do not
    acknowledge these messages in time, nobody ever gets them again.

    On a work queue or an interest stream they stay stored until a limit or somebody deletes them; on a work queue, also
    until another consumer takes them. A consumer that the same change starts over gets them all.

    Another `ack_policy` does the same to messages that are still to come. With `all`, an acknowledgement counts for all
    messages before it, also for those that other clients still process: if such a client fails, nobody gets its messages.
    With `none` and `flow_control`, no message is redelivered, and there is no way back at the same position.

    Instead: let clients acknowledge what is in flight first, or consent with the value; keep `ack_policy: explicit` if
    several clients work on it.
    """
    if moved.field == "ack_policy":
        yield from _unacknowledged_alone(moved)
        return
    most, in_flight = value_after(moved.change, moved.path), _count(moved, "num_ack_pending")
    if not _acknowledges(moved) or not most or most < 1:
        return
    stream = stream_of(moved.change, moved.view) or {}
    spent = exactly(0) if is_work_queue(stream) and gained_subjects(moved.change) else _delivered_so_often(moved, most)
    if not spent.most:
        yield note(f"from then on a message is delivered at most {some(most, 'time')}")
        return
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=most,
        message=f"{share(spent, exactly(in_flight), 'message')} in flight {'was' if spent.most == 1 else 'were'} already delivered "
        f"{_times_in_words(most)}: unless clients acknowledge them in time, this consumer never redelivers them"
        f"{_stored_until_text(stream)}",
        quantities={"messages": spent},
        fix="let clients acknowledge what is in flight first",
    )


def _unacknowledged_alone(moved: MovedField) -> Iterator[Finding]:
    """Another `ack_policy`, under which messages count as processed that no client has acknowledged itself."""
    after = moved.change.becomes("ack_policy") or "none"
    if after == "all":
        words = (
            "from then on an acknowledgement counts for all messages before it, also for those that other clients still process: "
            "if such a client fails, this consumer never redelivers its messages"
        )
        yield _for_clients(moved, words, "keep explicit if several clients work on it")
    elif after != "explicit":
        deleted = ", and this interest stream deletes it once no other consumer wants it" if _is_interest(moved) else ""
        words = (
            "from then on a message counts as processed as soon as it is delivered"
            f"{deleted}: this consumer never redelivers it; "
            f"going back to {moved.change.was('ack_policy') or 'none'} is refused, as no server then knows what was processed"
        )
        yield _for_clients(moved, words, "declare a second consumer for clients that need no redelivery")


def _is_interest(moved: MovedField) -> bool:
    return (stream_of(moved.change, moved.view) or {}).get("retention") == "interest"


def _for_clients(moved: MovedField, words: str, fix: str) -> Finding:
    """A warning if the consumer ever had a client; a note otherwise."""
    return (
        Finding(outcome=Outcome.WARNS, path=moved.path, message=words, fix=fix)
        if _ever_had_client(moved)
        else note(words)
    )


def _stored_until_text(stream: Config) -> str:
    """The fate of messages that a consumer gave up, as the end of a sentence."""
    if not (is_work_queue(stream) or stream.get("retention") == "interest"):
        return ""
    deleted = [
        *(["another consumer takes them"] if is_work_queue(stream) else []),
        *(["a limit deletes them"] if _is_trimmed(stream) else []),
    ]
    return f", and they stay stored until {', or '.join([*deleted, 'somebody deletes them'])}"


def _is_trimmed(stream: Config) -> bool:
    """Does it delete old messages, by their age or to make room?"""
    makes_room = stream.get("discard") != "new" and any((stream.get(limit) or -1) > 0 for limit in TRIMMING)
    return bool(stream.get("max_age")) or makes_room


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
    threshold, in_flight = value_after(moved.change, moved.path), _count(moved, "num_ack_pending")
    wait = (moved.change.becomes("ack_wait") or ACK_WAIT) if in_flight and _acknowledges(moved) else 0
    idle = f"after {_new_value_in_words(moved)} without a client" + (
        f", or {show_duration(threshold + wait)} while messages are in flight" if wait else ""
    )
    unread = behind(moved.change.address.stream, moved.change.info, moved.view) if moved.change.info else exactly(0)
    lose = _fate_when_deleted_text(unread, stream_of(moved.change, moved.view) or {})
    is_used = _has_client(moved)
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


@foretold(605, "delivered-again")
def delivered_again(moved: MovedField) -> Iterable[Finding]:
    """`ack_wait`, or the first `backoff`, becomes shorter than the time that messages in flight already take. The
    server redelivers them at once, and clients process them twice. It does the same with every later message that
    clients do not acknowledge in time; they receive such a message again and again.

    The server does not redeliver a message that it has already delivered `max_deliver` times (CO603). If `max_deliver`
    is raised, it does, as long as the message is in flight. With `ack_policy: explicit`, it also redelivers each message
    that clients leave to the acknowledgement of a later one, as `all` allows.

    Instead: wait until what is in flight is acknowledged, and let clients acknowledge each message within the new time.
    """
    if moved.field == "max_deliver":
        yield from _more_tries(moved)
        return
    if moved.field == "ack_policy":
        yield from _acknowledged_one_by_one(moved)
        return
    wait, unacknowledged = value_after(moved.change, moved.path), _count(moved, "num_ack_pending")
    if not _acknowledges(moved) or not wait:
        return
    if moved.change.becomes("max_deliver") == 1:
        yield note(
            f"a message that a client does not acknowledge within {_new_value_in_words(moved)} is never redelivered"
        )
        return
    in_flight = _stored_in_flight(moved)
    if not in_flight.most:
        yield note(f"a message that a client does not acknowledge within {_new_value_in_words(moved)} is redelivered")
        return
    now, last_delivery = moved.change.info.get("ts"), (moved.change.info.get("delivered") or {}).get("last_active")
    is_old = bool(now and last_delivery and last_delivery != ZERO and nanoseconds_between(last_delivery, now) >= wait)
    again = Amount(max(0, in_flight.least - _out_of_tries(moved)) if is_old else 0, in_flight.most)
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"the server redelivers {share(again, exactly(unacknowledged), 'message')} in flight unless clients acknowledge "
        f"{'it' if again.most == 1 else 'them'} within {_new_value_in_words(moved)} of delivery, and so it does with every later message",
        quantities={"redelivered": again},
        fix="wait until what is in flight is acknowledged, and write more than clients take for all that they pull at once",
    )


def _more_tries(moved: MovedField) -> Iterator[Finding]:
    """`max_deliver` is raised: what it kept from being redelivered is redelivered."""
    most = moved.change.was("max_deliver") or -1
    again = Amount(0, _delivered_so_often(moved, most).most) if most > 0 and _acknowledges(moved) else exactly(0)
    if again.most:
        yield Finding(
            outcome=Outcome.WARNS,
            path=moved.path,
            message=f"the server redelivers {share(again, exactly(_count(moved, 'num_ack_pending')), 'message')} in flight, which it "
            f"has already delivered {_times_in_words(most)}, unless clients acknowledge them in time",
            quantities={"redelivered": again},
            fix="wait until what is in flight is acknowledged",
        )


def _acknowledged_one_by_one(moved: MovedField) -> Iterator[Finding]:
    """`ack_policy: explicit`, where clients may rely on the acknowledgement of a later message, or on none."""
    if moved.change.becomes("ack_policy") == "explicit":
        wait = show_duration(moved.change.becomes("ack_wait") or ACK_WAIT)
        words = (
            "from then on clients must acknowledge each message: the server redelivers it after "
            f"{wait} even if they acknowledge a later one"
        )
        yield _for_clients(moved, words, "let clients acknowledge each message first, which `all` accepts as well")


def _delivered_so_often(moved: MovedField, most: int) -> Amount:
    """How many messages in flight may have been delivered that often. A server counts those it has redelivered at all."""
    in_flight = _stored_in_flight(moved)
    return in_flight if most == 1 else Amount(0, min(in_flight.most, _count(moved, "num_redelivered")))


def _times_in_words(number: int) -> str:
    return "once" if number == 1 else f"{number:_} times"


def _out_of_tries(moved: MovedField) -> int:
    """How many messages in flight may have been delivered as often as they ever will be."""
    return _count(moved, "num_redelivered") if (moved.change.becomes("max_deliver") or -1) > 1 else 0


@foretold(606, "throttled")
def deliveries_throttled(moved: MovedField) -> Iterable[Finding]:
    """`max_ack_pending` is lowered to the number of messages in flight, or below. Nothing new is delivered until enough
    of them are acknowledged, or have been delivered `max_deliver` times.

    Instead: lower it when fewer messages are in flight.
    """
    most, in_flight = value_after(moved.change, moved.path), _count(moved, "num_ack_pending")
    if not _acknowledges(moved) or not most or most < 1:
        return
    if in_flight < most:
        yield note(f"from then on at most {some(most, 'message')} {verb(most, 'are')} in flight at once")
        return
    excess = in_flight - most + 1
    or_given_up = ", or given up at max_deliver" if (moved.change.becomes("max_deliver") or -1) > 0 else ""
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{some(in_flight, 'message')} {verb(in_flight, 'are')} in flight: nothing new is delivered until "
        f"{some(excess)} of them {verb(excess, 'are')} acknowledged{or_given_up}",
        quantities={"over": excess},
        fix="lower it when fewer messages are in flight",
    )


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
        yield from _flow_control(moved)
    elif moved.field == "deliver_group":
        old, new = (f"in queue group {group}" if group else "outside any queue group" for group in (before, after))
        if _is_recreated(moved):
            yield _silence_finding(moved, f"from then on nothing is delivered without a client {new}")
        else:
            words = (
                f"until the server's next restart nothing is delivered without a client {old} (if the consumer had "
                f"{'it' if before else 'none'} when the server started), and from then on without one {new}; while clients of both "
                "listen, both get each message"
            )
            yield _silence_finding(moved, words, fix="let the clients stay as they are, and move them at the restart")
    elif _is_recreated(moved) or not moved.change.info.get("push_bound"):
        yield _silence_finding(
            moved,
            f"messages are delivered to {after}, and subscribers of {before} receive nothing more{_redelivery_to_new_subject(moved)}",
        )


def _flow_control(moved: MovedField) -> Iterator[Finding]:
    """Flow control is switched on or off."""
    subject, pending = moved.change.becomes("deliver_subject"), _pending_messages(moved)
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
    most, in_flight = moved.change.becomes("max_deliver") or -1, _count(moved, "num_ack_pending")
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
    if not _ever_had_client(moved):
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
        yield from _heartbeats(moved)
        return
    if moved.field == "replay_policy":
        yield from _replay(moved)
        return
    if moved.field == "backoff":
        if ack_waits(moved.change.was) != ack_waits(moved.change.becomes):
            yield note("messages that are not acknowledged are redelivered at other times")
        return
    if moved.field == "priority_timeout":
        yield from _other_time_to_pull(moved)
        return
    most = value_after(moved.change, moved.path)
    words = f"from then on at most {some(most, 'bit')} {verb(most, 'are')} delivered each second"
    yield _for_pending_messages(moved, words, "lower it when fewer messages are pending")


def _for_pending_messages(moved: MovedField, words: str, fix: str) -> Finding:
    """A warning if messages are pending; a note otherwise."""
    pending = _pending_messages(moved)
    if not pending.most:
        return note(words)
    message = f"{words}, and {amount(pending, 'message')} {verb(pending.most, 'are')} pending"
    return Finding(outcome=Outcome.WARNS, path=moved.path, message=message, fix=fix)


def _heartbeats(moved: MovedField) -> Iterator[Finding]:
    """Heartbeats come at other times, for the first time, or no longer."""
    before, after = moved.change.was("idle_heartbeat"), moved.change.becomes("idle_heartbeat")
    subject = moved.change.becomes("deliver_subject")
    if not moved.change.was("deliver_subject") or not subject:
        return  # it becomes another kind of consumer, of which its own rule speaks
    beat = f"a heartbeat, which is an empty message with status 100, after each {show_duration(after or 0)} without a message"
    words = f"from then on subscribers of {subject} get {beat if after else 'no heartbeats'}"
    if not before:
        yield _for_clients(moved, words, "let subscribers tell heartbeats by their status, and process none of them")
    elif after and after < before:
        yield note(words)
    else:
        stalled = f"{words}; those that expect one every {show_duration(before)} take the consumer for stalled"
        yield _for_clients(moved, stalled, "first let subscribers expect fewer heartbeats")


def _replay(moved: MovedField) -> Iterator[Finding]:
    """Stored messages arrive at the pace of their publishers, or no longer."""
    if moved.change.becomes("replay_policy") != "original":
        yield note("from then on clients get stored messages as fast as they take them")
        return
    words = "from then on stored messages are delivered at the pace at which they were published"
    yield _for_pending_messages(moved, words, "keep instant until fewer messages are pending")


def _other_time_to_pull(moved: MovedField) -> Iterator[Finding]:
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
    yield _for_clients(
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
        yield note(f"from then on clients get messages on {listed(after)}")


@notes_of(609)
def deliveries_paused(moved: MovedField) -> Iterable[Finding]:
    """A pause keeps pending messages from clients, and its end sets all of them free at once."""
    before, after = moved.change.was("pause_until"), moved.change.becomes("pause_until")
    pending = _pending_messages(moved)
    now = amount(pending, "message") if pending.most else "no message"
    if _lies_ahead(after, moved):
        pending_now = f"{now} {verb(max(1, pending.most), 'are')} pending now"
        yield note(f"from then on nothing is delivered until {after}; {pending_now}", pending=pending)
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


def _happens(moved: MovedField) -> bool:
    """A field that no update changes only changes when the consumer is recreated."""
    before, after = moved.change.was(moved.field), moved.change.becomes(moved.field)
    return FIELDS[moved.field].may_become(before, after, moved.view.target.version) or _is_recreated(moved)


EFFECTS = Effects(family="CO", fields=FIELDS, families=FAMILIES, happens=_happens)
