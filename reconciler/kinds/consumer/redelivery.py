"""What a consumer has in flight or yet to deliver when it changes, and what it then delivers again, or never."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.changes.amount import Amount, exactly, total
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.consumer_checks.neighbours import is_work_queue, stream_of
from reconciler.kinds.consumer_config.consumer_config import FIELDS
from reconciler.kinds.consumer_config.consumer_settle import ACK_WAIT
from reconciler.kinds.consumer_position.position import is_recreated, redelivered_and_unacknowledged
from reconciler.kinds.effects.effect_rules import MovedField, foretold, note
from reconciler.kinds.fields.field_effects import value_after
from reconciler.kinds.fields.times import ZERO, nanoseconds_between
from reconciler.kinds.fields.words import in_words, share, some
from reconciler.kinds.losses.unprocessed import undelivered_messages
from reconciler.kinds.subjects.filters import gained_subjects
from reconciler.model.resource import Config
from reconciler.model.units import show_duration

TRIMMING = ("max_msgs", "max_bytes", "max_msgs_per_subject")
OF_DELIVERIES = ("num_ack_pending", "num_redelivered")


def live_count(moved: MovedField, name: str) -> int:
    """`num_pending` and the like, as the server counts them when the change takes effect: a consumer that the plan recreates
    has delivered nothing yet."""
    if name in OF_DELIVERIES and gets_recreated(moved):
        return 0
    return int(moved.change.info.get(name) or 0)


def gets_recreated(moved: MovedField) -> bool:
    """Does the plan recreate the consumer?"""
    return is_recreated(moved.change, moved.view)


def pending_messages(moved: MovedField) -> Amount:
    """Messages that it has yet to deliver. A consumer that the plan recreates delivers those in flight again as well."""
    pending = (
        undelivered_messages(moved.change.address.stream, moved.change.info, moved.view)
        if moved.change.info
        else exactly(0)
    )
    again, _ = redelivered_and_unacknowledged(moved.change, moved.view) if gets_recreated(moved) else (exactly(0), 0)
    return total((pending, again))


def has_client(moved: MovedField) -> bool:
    """Does a client wait on it now?"""
    return bool(live_count(moved, "num_waiting") or moved.change.info.get("push_bound"))


def ever_had_client(moved: MovedField) -> bool:
    """Does a client wait on it, or was it ever given a message?"""
    return has_client(moved) or bool((moved.change.info.get("delivered") or {}).get("consumer_seq"))


def _stored_in_flight(moved: MovedField) -> Amount:
    """Messages that clients have not acknowledged, as far as the stream still holds them. No others can be
    redelivered."""
    in_flight, snapshot = live_count(moved, "num_ack_pending"), moved.view.snapshot
    stream = snapshot.streams.get(moved.change.address.stream)
    stored = stream["state"].get("messages", in_flight) if stream else in_flight
    return exactly(in_flight) if stored >= in_flight else Amount(0, stored)


def new_value_in_words(moved: MovedField) -> str:
    """The new value in words, and where it comes from if the file does not say it."""
    field_change = moved.change.field(moved.path)
    value = in_words(value_after(moved.change, moved.path), FIELDS[moved.field].unit)
    source = field_change.filled if field_change else ""
    return f"{value} ({source})" if source else value


def acknowledges(moved: MovedField) -> bool:
    """Does it acknowledge before and after the change? Otherwise it is recreated, or stays as it is."""
    return all(value_of("ack_policy") in ("explicit", "all") for value_of in (moved.change.was, moved.change.becomes))


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
        yield from _ack_policy_findings(moved)
        return
    most, in_flight = value_after(moved.change, moved.path), live_count(moved, "num_ack_pending")
    if not acknowledges(moved) or not most or most < 1:
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


def _ack_policy_findings(moved: MovedField) -> Iterator[Finding]:
    """Another `ack_policy`, under which messages count as processed that no client has acknowledged itself."""
    after = moved.change.becomes("ack_policy") or "none"
    if after == "all":
        words = (
            "from then on an acknowledgement counts for all messages before it, also for those that other clients still process: "
            "if such a client fails, this consumer never redelivers its messages"
        )
        yield clients_finding(moved, words, "keep explicit if several clients work on it")
    elif after != "explicit":
        deleted = ", and this interest stream deletes it once no other consumer wants it" if _is_interest(moved) else ""
        words = (
            "from then on a message counts as processed as soon as it is delivered"
            f"{deleted}: this consumer never redelivers it; "
            f"going back to {moved.change.was('ack_policy') or 'none'} is refused, as no server then knows what was processed"
        )
        yield clients_finding(moved, words, "declare a second consumer for clients that need no redelivery")


def _is_interest(moved: MovedField) -> bool:
    return (stream_of(moved.change, moved.view) or {}).get("retention") == "interest"


def clients_finding(moved: MovedField, words: str, fix: str) -> Finding:
    """A warning if the consumer ever had a client; a note otherwise."""
    return (
        Finding(outcome=Outcome.WARNS, path=moved.path, message=words, fix=fix)
        if ever_had_client(moved)
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
        yield from _more_deliveries_findings(moved)
        return
    if moved.field == "ack_policy":
        yield from _explicit_ack_findings(moved)
        return
    wait, unacknowledged = value_after(moved.change, moved.path), live_count(moved, "num_ack_pending")
    if not acknowledges(moved) or not wait:
        return
    if moved.change.becomes("max_deliver") == 1:
        yield note(
            f"a message that a client does not acknowledge within {new_value_in_words(moved)} is never redelivered"
        )
        return
    in_flight = _stored_in_flight(moved)
    if not in_flight.most:
        yield note(f"a message that a client does not acknowledge within {new_value_in_words(moved)} is redelivered")
        return
    now, last_delivery = moved.change.info.get("ts"), (moved.change.info.get("delivered") or {}).get("last_active")
    is_old = bool(now and last_delivery and last_delivery != ZERO and nanoseconds_between(last_delivery, now) >= wait)
    again = Amount(max(0, in_flight.least - _out_of_tries(moved)) if is_old else 0, in_flight.most)
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"the server redelivers {share(again, exactly(unacknowledged), 'message')} in flight unless clients acknowledge "
        f"{'it' if again.most == 1 else 'them'} within {new_value_in_words(moved)} of delivery, and so it does with every later message",
        quantities={"redelivered": again},
        fix="wait until what is in flight is acknowledged, and write more than clients take for all that they pull at once",
    )


def _more_deliveries_findings(moved: MovedField) -> Iterator[Finding]:
    """`max_deliver` is raised: what it kept from being redelivered is redelivered."""
    most = moved.change.was("max_deliver") or -1
    again = Amount(0, _delivered_so_often(moved, most).most) if most > 0 and acknowledges(moved) else exactly(0)
    if again.most:
        yield Finding(
            outcome=Outcome.WARNS,
            path=moved.path,
            message=f"the server redelivers {share(again, exactly(live_count(moved, 'num_ack_pending')), 'message')} in flight, which it "
            f"has already delivered {_times_in_words(most)}, unless clients acknowledge them in time",
            quantities={"redelivered": again},
            fix="wait until what is in flight is acknowledged",
        )


def _explicit_ack_findings(moved: MovedField) -> Iterator[Finding]:
    """`ack_policy: explicit`, where clients may rely on the acknowledgement of a later message, or on none."""
    if moved.change.becomes("ack_policy") == "explicit":
        wait = show_duration(moved.change.becomes("ack_wait") or ACK_WAIT)
        words = (
            "from then on clients must acknowledge each message: the server redelivers it after "
            f"{wait} even if they acknowledge a later one"
        )
        yield clients_finding(moved, words, "let clients acknowledge each message first, which `all` accepts as well")


def _delivered_so_often(moved: MovedField, most: int) -> Amount:
    """How many messages in flight may have been delivered that often. A server counts those it has redelivered at all."""
    in_flight = _stored_in_flight(moved)
    return in_flight if most == 1 else Amount(0, min(in_flight.most, live_count(moved, "num_redelivered")))


def _times_in_words(number: int) -> str:
    return "once" if number == 1 else f"{number:_} times"


def _out_of_tries(moved: MovedField) -> int:
    """How many messages in flight may have been delivered as often as they ever will be."""
    return live_count(moved, "num_redelivered") if (moved.change.becomes("max_deliver") or -1) > 1 else 0
