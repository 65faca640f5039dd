"""The position of a consumer: whether the consumer can be recreated there, and which messages are then redelivered.

On a work queue the stream holds exactly what is still to be done, so a new consumer starts with all of it. On other
streams it starts after the ack floor. The floor only grows, so a floor that is read before the old consumer is deleted
is never too high: nothing is lost, and messages delivered above it are redelivered. The file's deliver_policy says
where a consumer without a past starts; a replacement keeps the position, whatever that policy says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.diff import Action, Change, Consequence
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.engine.bindings import after_ack_floor
from reconciler.kinds.consumer import recorded
from reconciler.kinds.consumer.counts import counted_from, number_of
from reconciler.kinds.consumer_config.consumer_config import FIELDS
from reconciler.kinds.effects import rewound, shrinking
from reconciler.kinds.effects.readers import filters
from reconciler.kinds.fields.words import amount, some, verb
from reconciler.kinds.subjects.subjects import is_subset
from reconciler.model.records import BUCKET
from reconciler.model.resource import Address, Config, Json, Resource
from reconciler.model.wire.questions import Question
from reconciler.model.wire.snapshot import Snapshot

KNOWING = ("explicit", "all")
"""Ack policies under which a consumer knows what was processed."""


BEGINS = ("deliver_policy", "opt_start_seq", "opt_start_time")
NEEDS = {"by_start_sequence": "opt_start_seq", "by_start_time": "opt_start_time"}
"""The field that each of these policies requires, and that no other policy may have."""


def begins(desired: Resource, live: Resource, snapshot: Snapshot) -> tuple[str, ...]:
    """The start fields that no longer mean anything, since something was delivered. None if no server would accept
    their values."""
    return BEGINS if has_delivered(live) and _may_begin(desired.config, live, snapshot) else ()


def has_delivered(live: Resource) -> bool:
    """It has a past, so that where it was to start no longer matters."""
    return bool((live.state.get("delivered") or {}).get("consumer_seq"))


def _may_begin(config: Config, live: Resource, snapshot: Snapshot) -> bool:
    """A server would accept these start fields of a consumer of this stream."""
    stream, needed = snapshot.streams.get(live.address.stream, {}), NEEDS.get(config.get("deliver_policy", "all"))
    fits = all((name in config) == (name == needed) for name in NEEDS.values())
    return fits and (stream.get("config") or {}).get("retention") != "workqueue"


def whose_start(change: Change, view: View) -> str:
    """Why the start of this consumer is not only recorded, as the end of a sentence; empty where it never is."""
    if change.live is None or change.desired is None or change.intent:
        return ""
    if not _may_begin(change.desired.config, change.live, view.snapshot):
        return ""
    if change.made_anew:
        return ", and somebody recreated this consumer since it was applied"
    if has_delivered(change.live):
        return ""
    return ", and this consumer has delivered nothing yet; once it has, apply only records the new value"


def is_recreated(change: Change, view: View) -> bool:
    """With consent it is: it gets another name, or a value that no update gives it."""
    tops = {one.top for one in change.fields}
    anew = change.origin is not None or any(
        top == "mem_storage" or not FIELDS[top].may_become(change.was(top), change.becomes(top), view.target.version)
        for top in tops & FIELDS.keys()
    )
    return anew and change.live is not None and not _immovable(change, view)


SECOND = "declare a second consumer with the wanted setting and move the clients to it"


def made_anew(change: Change, view: View, refusal: Finding) -> Finding:
    """The finding that consent recreates it at its position; or the refusal, with the reason why that is impossible."""
    if why := _immovable(change, view):
        return replace(refusal, message=f"{refusal.message} {why}")
    again, unacknowledged = redelivered(change, view)
    point = by_record(change, view)
    offer = (
        f"Apply can recreate it at its position: {_comes_again(again, unacknowledged, change)}"
        if point is None
        else f"Apply can recreate it at sequence {point}, {_whose(point, change)}: {_comes_since(again)}"
    )
    return replace(
        refusal,
        outcome=Outcome.REPLACES,
        message=f"{refusal.message} {offer}.",
        quantities={"redelivered": again, "unacknowledged": unacknowledged},
    )


def instead_of_refusing(change: Change, view: View, refusal: Finding) -> Finding | None:
    """No update changes this, but a replacement with consent does, unless its position or messages would be lost."""
    if follows_from_the_switch(change, refusal.path):
        return None
    instead = _beside_no_other(refusal.fix) if is_queue(change, view) else refusal.fix
    found = made_anew(change, view, replace(refusal, fix=instead))
    if found.outcome is not Outcome.REPLACES:
        return found
    fix = _as_it_was_made(change, refusal.path) + (instead or "")
    return replace(found, fix=fix, to=refusal.to if refusal.to is not None else FIELDS[refusal.path].default)


def _beside_no_other(fix: str | None) -> str | None:
    """A work queue refuses a second consumer of the same messages, and keeps them while there is none."""
    if fix != SECOND:
        return fix
    return "stop its clients, remove it, and declare it again with the next apply: a work queue takes no second consumer beside it"


def _as_it_was_made(change: Change, path: str) -> str:
    """It has a start that only a replacement gives it, and the bucket remembers no replacement."""
    start = change.was("opt_start_seq")
    if path not in BEGINS or not start or change.owned is None or change.owned.applied.get("opt_start_seq") == start:
        return ""
    return (
        f"if an apply recreated it and bucket {BUCKET} has since lost its last entries, as after a power cut: write deliver_policy: "
        f"by_start_sequence and opt_start_seq: {start}, apply, and remove both again once something was delivered; otherwise "
    )


def follows_from_the_switch(change: Change, path: str) -> bool:
    """The field belongs to one way to consume, pull or push, and disappears when the consumer switches to the other."""
    pulled, pulls = change.was("deliver_subject") is None, change.becomes("deliver_subject") is None
    return path != "deliver_subject" and pulled != pulls and change.becomes(path) is None


def _whose(point: int, change: Change) -> str:
    return (
        "as this file says"
        if point == change.becomes("opt_start_seq")
        else "where the deleted one stood when it was recorded"
    )


def follows_from_the_policy(change: Change, path: str) -> bool:
    """The field belongs to one deliver_policy, and comes or disappears with it."""
    policies = {change.was("deliver_policy"), change.becomes("deliver_policy")}
    return len(policies) > 1 and any(NEEDS.get(str(one)) == path for one in policies)


def _comes_since(again: Amount) -> str:
    if not again.most:
        return "nothing is redelivered"
    return f"the server delivers {amount(again, 'message')} from there on, including those that were processed since"


def _comes_again(again: Amount, unacknowledged: int, change: Change) -> str:
    if not again.most:
        return "nothing is redelivered"
    if _leaves_out(change):
        return (
            f"the server redelivers {amount(again, 'message')}: those not yet acknowledged that the new filter matches"
        )
    if again.is_exact or again.most <= unacknowledged:
        return f"the server redelivers {amount(again, 'message')} that {verb(again.most, 'are')} not yet acknowledged"
    gives_up = (change.was("max_deliver") or -1) > 0
    others = f"acknowledged or terminated out of order{', or given up at max_deliver' if gives_up else ''}"
    return f"the server redelivers {amount(again, 'message')}, {some(unacknowledged)} in flight and the others {others}"


def _immovable(change: Change, view: View) -> str:
    """Why it cannot be replaced without losing its position or messages; empty when it can."""
    if not view.ledger_known:
        return "It cannot be replaced either: bucket reconciler, which an interrupted replacement needs, could not be read here."
    if is_queue(change, view):
        return ""
    if is_interest(change, view) and not _has_room(change, view):
        return (
            "It cannot be replaced either: a placeholder consumer must keep its messages meanwhile, and the stream's "
            "max_consumers leaves no room for one."
        )
    return _unknowable(info_of(change)) if by_record(change, view) is None else ""


def _unknowable(info: Mapping[str, Json]) -> str:
    policy = info["config"].get("ack_policy", "none")
    if policy not in KNOWING:
        return f"With ack_policy {policy} no server knows what was processed, so it cannot be replaced either."
    if info["config"].get("deliver_policy") == "last_per_subject":
        return "It started at last_per_subject, so its position is no sequence, and it cannot be replaced either."
    if after_ack_floor(info) is None:
        return (
            "Servers before 2.14 do not tell its position until its first message is acknowledged, so it cannot be "
            "replaced yet."
        )
    return ""


def info_of(change: Change) -> Mapping[str, Json]:
    """The live consumer as the server describes it."""
    return {"config": {}, **(change.live.state if change.live else {})}


def is_queue(change: Change, view: View) -> bool:
    """The stream is a work queue, now or after this plan: it holds exactly what is still to be done."""
    return "workqueue" in _retentions(change, view)


def is_interest(change: Change, view: View) -> bool:
    """The stream has interest retention, now or after this plan: it deletes what no consumer wants."""
    return "interest" in _retentions(change, view)


def _retentions(change: Change, view: View) -> set[str]:
    """The stream's, now and after this plan."""
    stream = Address.of("stream", change.address.stream)
    found = [where[stream] for where in (view.live, view.desired) if stream in where and not where[stream].external]
    return {resource.config.get("retention", "limits") for resource in found}


def _has_room(change: Change, view: View) -> bool:
    stream = change.address.stream
    most = view.live[Address.of("stream", stream)].config.get("max_consumers", 0)
    there = view.snapshot.consumers.get(stream, {})
    return most <= 0 or len(there) < most or placeholder(change.address.name) in there


def redelivered(change: Change, view: View) -> tuple[Amount, int]:
    """Messages that are redelivered when it is recreated, and how many are not acknowledged.

    Above the ack floor clients may have acknowledged some out of order; no server tells which.
    """
    again, unacknowledged = _above_the_floor(change, view)
    return Amount(0, again.most) if _leaves_out(change) else again, unacknowledged


def _leaves_out(change: Change) -> bool:
    """The filter changes too, and does not match everything that the old one matched."""
    if not (change.live and change.desired):
        return False
    before, after = filters(change.live.config), filters(change.desired.config)
    return not all(any(is_subset(old, new) for new in after) for old in before)


def _above_the_floor(change: Change, view: View) -> tuple[Amount, int]:
    info = info_of(change)
    unacknowledged = info.get("num_ack_pending", 0)
    if is_queue(change, view):
        return exactly(unacknowledged), unacknowledged
    if point := by_record(change, view):
        end, reached = sys.maxsize, after_ack_floor(info) or point
        known = recorded.between(point, reached, change, view) + recorded.still_to_come(change)
        counted = number_of(counted_from(change, point), view)
        most = min(recorded.between(point, end, change, view), known)
        return Amount(0, most if counted is None else min(most, counted)), unacknowledged
    delivered, floor = info.get("delivered") or {}, info.get("ack_floor") or {}
    messages = delivered.get("stream_seq", 0) + 1 - after_ack_floor(info)
    deliveries = delivered.get("consumer_seq", 0) - floor.get("consumer_seq", 0)
    again = Amount(min(unacknowledged, max(0, messages)), max(0, min(messages, deliveries)))
    return _of_what_stays(again, info, change, view), unacknowledged


def _of_what_stays(again: Amount, info: Mapping[str, Json], change: Change, view: View) -> Amount:
    """The same without what this plan deletes from the stream: its oldest messages, or nobody knows which."""
    if (loss := shrinking.going(change.address.stream, view)) is None:
        return again
    kept = loss.going.before if loss.going and loss.is_prompt else None
    if kept is None:
        return Amount(0, again.most)
    floor, end = after_ack_floor(info) or 1, (info.get("delivered") or {}).get("stream_seq", 0) + 1
    early, late = max(0, kept.least - floor), max(0, kept.most - floor)
    most = max(0, min(again.most, end - max(floor, kept.least)))
    return Amount(min(most, max(0, again.least - late)), most) if early or late else again


def start(change: Change, view: View) -> Config:
    """What a new consumer must say of its start, as known now; nothing if the file's own start is right."""
    if is_queue(change, view):
        return {}
    sequence = by_record(change, view) or after_ack_floor(info_of(change))
    if change.intent and is_noted(change):
        sequence = min(sequence, resumed(change, view).get("opt_start_seq", 1))
    return {"deliver_policy": "by_start_sequence", "opt_start_seq": sequence, "opt_start_time": None}


BY_RECORD = "by_record"
"""In the notes of a replacement: its start does not come from the live consumer."""


def by_record(change: Change, view: View) -> int | None:
    """The start that replaces the position of a consumer that somebody recreated by hand; a run that was interrupted has
    noted it."""
    if is_queue(change, view):
        return None
    if change.intent is None:
        return recorded.continues_at(change, view)
    is_its_own = BY_RECORD not in change.intent.notes or is_noted(change)
    return None if is_its_own else int(resumed(change, view).get("opt_start_seq", 1))


def questions(change: Change, view: View) -> Iterable[Question]:
    """Whether the stream is still the one it was when the position was noted; what comes from a position on record on."""
    if change.intent and is_start_noted(change):
        yield from rewound.questions(change.address.stream, change.intent)
    if change.intent is None and is_recreated(change, view) and (point := by_record(change, view)):
        yield from counted_from(change, point)


def is_start_noted(change: Change) -> bool:
    """A replacement was begun that names the sequence to start at; until it is `ready`, that is what the plan saw."""
    return bool(change.intent and "opt_start_seq" in change.intent.start)


def resumed(change: Change, view: View) -> Config:
    """The position of the deleted consumer. It is an earlier one if the stream has since lost messages and given their
    numbers to others. It is the file's own start if that means the first message."""
    if change.intent is None or not is_start_noted(change):
        return {}
    noted = change.intent.start
    point = rewound.where(noted["opt_start_seq"], change.address.stream, change.intent, view)
    asked = (change.desired.config if change.desired else {}).get("deliver_policy", "all")
    return {} if point == 1 < noted["opt_start_seq"] and asked == "all" else {**noted, "opt_start_seq": point}


def is_noted(change: Change) -> bool:
    """An earlier run noted the position, and the live consumer may be another one that somebody made since."""
    intent = change.intent
    if intent is None or not intent.ready or "opt_start_seq" not in intent.start:
        return False
    return bool(intent.created != info_of(change).get("created"))


def placeholder(name: str) -> str:
    """The durable that wants the same messages as long as an interest stream would delete them."""
    return f"{name[:50]}-{sha256(name.encode()).hexdigest()[:8]}-kept"


def consequences(change: Change, view: View) -> Iterable[Consequence]:
    """What a replacement means for messages and clients, where there can be one."""
    if change.action is not Action.REPLACE or (change.intent is None and _immovable(change, view)):
        return
    is_being_finished = change.intent is not None and (change.live is None or not change.fields)
    lines = _of_the_rest(change, view) if is_being_finished else _of_all(change, view)
    yield from (Consequence(message=line) for line in lines)


def _of_the_rest(change: Change, view: View) -> Iterable[str]:
    if change.live is not None or change.intent is None or not change.intent.start:
        return
    noted, known = change.intent.start.get("opt_start_seq"), resumed(change, view)
    lost = f"since the run was interrupted, the stream was recreated or lost its last messages, up to {noted}"
    if not known:
        yield f"The new consumer starts as declared: {lost}"
    elif known["opt_start_seq"] == noted:
        yield f"The new consumer continues at stream sequence {noted}, noted before the old one was deleted"
    else:
        yield f"The new consumer continues at stream sequence {known['opt_start_seq']}: {lost}"


def _of_all(change: Change, view: View) -> Iterable[str]:
    known, point = start(change, view), by_record(change, view)
    if known:
        policy = change.becomes("deliver_policy") or "all"
        field = NEEDS.get(policy)
        said = f"{field} {change.becomes(field)}" if field else f"deliver_policy {policy}"
        after = f"after the ack floor of the old one, at stream sequence {known['opt_start_seq']} or later"
        where = after if point is None else f"at stream sequence {point}, {_whose(point, change)}"
        yield (
            f"The new consumer continues {where}. The server then shows by_start_sequence, which counts as the {said} of this file; "
            "it refuses an application that creates the consumer itself at start-up, with another start (10012)"
        )
    else:
        yield "The new consumer starts with everything that is left in the work queue"
    if is_interest(change, view):
        yield f"A placeholder consumer, {placeholder(change.address.name)}, keeps its messages meanwhile"
    yield f"{_what_clients_see(change)}; delivery counts start again"


def _what_clients_see(change: Change) -> str:
    subject, then = change.was("deliver_subject"), change.becomes("deliver_subject")
    if subject and subject == then:
        return f"Subscribers of {subject} notice nothing"
    if subject:
        return f"Subscribers of {subject} receive nothing more: " + (
            f"messages are delivered to {then}" if then else "clients must pull"
        )
    waiting = info_of(change).get("num_waiting", 0)
    pulls = "The waiting pull ends" if waiting == 1 else f"{some(waiting, 'waiting pull')} end"
    ends = pulls if waiting else "No pull is waiting now; a pull that waits when the old consumer is deleted ends"
    then = (
        f"later pulls on {change.origin.name} get 503: clients must use {change.address.name}" if change.origin else ""
    )
    return f"{ends} with 409 Consumer Deleted, and {then or 'clients must pull again'}"
