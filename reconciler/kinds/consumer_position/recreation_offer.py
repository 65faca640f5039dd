"""What a plan says of a consumer that it would have to recreate: why not, or at which position, and what clients notice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.consumer_config.consumer_config import FIELDS, placeholder_name
from reconciler.kinds.consumer_position.ended_pulls import ended_pulls_clause, missing_consumer_clause
from reconciler.kinds.consumer_position.position import (
    leaves_out,
    obstacle,
    redelivered_and_unacknowledged,
    resumed_start,
    start,
    start_by_record,
)
from reconciler.kinds.consumer_position.retention import is_interest, is_queue
from reconciler.kinds.consumer_position.start_position import BEGINS, START_FIELDS, has_delivered
from reconciler.kinds.consumer_position.unclaimed import has_delivery_limit, unclaimed_messages
from reconciler.kinds.fields.words import amount, some, verb
from reconciler.kinds.losses.lagging import is_kept, keeping_sentence
from reconciler.model.ledger.records import BUCKET

START_STAYS = "The new one starts where this one would have: a replacement never skips or repeats anything."
OTHER_START = "remove it, apply, and declare it again: it then starts as the file says; or declare a second consumer"
SECOND_CONSUMER = "declare a second consumer with the wanted setting and move the clients to it"


def offer_or_refusal(change: Change, view: View, refusal: Finding) -> Finding:
    """The finding that consent recreates it at its position; or the refusal, with the reason why that is impossible."""
    if hindrance := obstacle(change, view):
        return replace(refusal, message=f"{refusal.message} {hindrance.why}", fix=hindrance.fix or refusal.fix)
    again, unacknowledged = redelivered_and_unacknowledged(change, view)
    point = start_by_record(change, view)
    offer = (
        f"Apply can recreate it at its position: {_redelivery_clause(again, unacknowledged, change, view)}"
        if point is None
        else f"Apply can recreate it at sequence {point}, {_origin_of_start_text(point, change)}: {_redelivered_text(again)}"
    )
    dropped = Amount(0, unclaimed_messages(change, view))
    kept = f" {keeping_sentence(stream, view)}." if is_kept(stream := change.address.stream, view) else ""
    lost = (
        f" It deletes up to {some(dropped.most, 'stored message')} that no consumer is given any more."
        if dropped.most
        else ""
    )
    return replace(
        refusal,
        outcome=Outcome.REPLACES,
        message=f"{refusal.message} {offer}.{kept}{lost}",
        quantities={
            "redelivered": again,
            "unacknowledged": unacknowledged,
            **({"dropped": dropped} if dropped.most else {}),
        },
    )


def offer_instead_of_refusal(change: Change, view: View, refusal: Finding) -> Finding | None:
    """No update changes this, but a replacement with consent does, unless its position or messages would be lost."""
    if is_mode_switch_field(change, refusal.path):
        return None
    instead = _fix_on_work_queue(refusal.fix) if is_queue(change, view) else refusal.fix
    finding = offer_or_refusal(change, view, replace(refusal, fix=instead))
    if finding.outcome is not Outcome.REPLACES:
        return finding
    if refusal.path in BEGINS and _would_start_as_before(change, view):
        finding = replace(finding, message=f"{finding.message} {START_STAYS}")
        instead = OTHER_START
    fix = _fix_after_power_cut(change, refusal.path) + (instead or "")
    return replace(finding, fix=fix, to=refusal.to if refusal.to is not None else FIELDS[refusal.path].default)


def _would_start_as_before(change: Change, view: View) -> bool:
    """Would the new one start where the old one did, because neither clients nor a record say otherwise?"""
    return change.live is not None and not has_delivered(change.live) and start_by_record(change, view) is None


def _fix_on_work_queue(fix: str | None) -> str | None:
    """A work queue refuses a second consumer of the same messages, and keeps them while there is none."""
    if fix != SECOND_CONSUMER:
        return fix
    return "stop its clients, remove it, and declare it again with the next apply: a work queue takes no second consumer beside it"


def _fix_after_power_cut(change: Change, path: str) -> str:
    """A fix for a start that only a replacement gives, where the bucket remembers no replacement; else empty."""
    sequence = change.was("opt_start_seq")
    if (
        path not in BEGINS
        or not sequence
        or change.owned is None
        or change.owned.applied.get("opt_start_seq") == sequence
    ):
        return ""
    return (
        f"if an apply recreated it and bucket {BUCKET} has since lost its last entries, as after a power cut: write deliver_policy: "
        f"by_start_sequence and opt_start_seq: {sequence}, apply, and remove both again once something was delivered; otherwise "
    )


def is_mode_switch_field(change: Change, path: str) -> bool:
    """The field belongs to one way to consume, pull or push. It disappears when the consumer switches to the other, or the
    server gives it a value that nobody wrote."""
    pulled, pulls = change.was("deliver_subject") is None, change.becomes("deliver_subject") is None
    field = change.field(path)
    appears = change.was(path) is None and bool(field and field.filled)
    return path != "deliver_subject" and pulled != pulls and (change.becomes(path) is None or appears)


def _origin_of_start_text(point: int, change: Change) -> str:
    return (
        "as this file says"
        if point == change.becomes("opt_start_seq")
        else "where the deleted one stood when it was recorded"
    )


def _redelivered_text(again: Amount) -> str:
    if not again.most:
        return "nothing is redelivered"
    return f"the server delivers {amount(again, 'message')} from there on, including those that were processed since"


def _redelivery_clause(again: Amount, unacknowledged: int, change: Change, view: View) -> str:
    is_processed = is_queue(change, view) and is_kept(change.address.stream, view)
    if not again.most:
        return f"nothing {'of what is stored now ' if is_processed else ''}is redelivered"
    if leaves_out(change) and not is_processed:
        return (
            f"the server redelivers {amount(again, 'message')}: those not yet acknowledged that the new filter matches"
        )
    if again.is_exact or again.most <= unacknowledged:
        return f"the server redelivers {amount(again, 'message')} that {verb(again.most, 'are')} not yet acknowledged"
    if is_queue(change, view):
        left = [
            *(["processed already"] if is_processed else []),
            *(["given up at max_deliver"] if has_delivery_limit(change) else []),
        ]
        in_flight = f", {some(unacknowledged)} in flight and the others" if unacknowledged else ""
        return f"the server redelivers {amount(again, 'message')}{in_flight} {' or '.join(left)}"
    has_limit = (change.was("max_deliver") or -1) > 0
    others = f"acknowledged or terminated out of order{', or given up at max_deliver' if has_limit else ''}"
    return f"the server redelivers {amount(again, 'message')}, {some(unacknowledged)} in flight and the others {others}"


def consequences(change: Change, view: View) -> Iterable[Consequence]:
    """What a replacement means for messages and clients, where there can be one."""
    if change.action is not Action.REPLACE or (change.intent is None and obstacle(change, view)):
        return
    is_being_finished = change.intent is not None and (change.live is None or not change.fields)
    lines = _lines_when_resumed(change, view) if is_being_finished else _lines_of_recreation(change, view)
    yield from (Consequence(message=line) for line in lines)


def _lines_when_resumed(change: Change, view: View) -> Iterable[str]:
    if change.live is not None or change.intent is None or not change.intent.start:
        return
    noted, known = change.intent.start.get("opt_start_seq"), resumed_start(change, view)
    lost = f"since the run was interrupted, the stream was recreated or lost its last messages, up to {noted}"
    if not known:
        yield f"The new consumer starts as declared: {lost}"
    elif known["opt_start_seq"] == noted:
        yield f"The new consumer continues at stream sequence {noted}, noted before the old one was deleted"
    else:
        yield f"The new consumer continues at stream sequence {known['opt_start_seq']}: {lost}"


def _lines_of_recreation(change: Change, view: View) -> Iterable[str]:
    new_start, point = start(change, view), start_by_record(change, view)
    if new_start:
        policy = change.becomes("deliver_policy") or "all"
        field = START_FIELDS.get(policy)
        setting = f"{field} {change.becomes(field)}" if field else f"deliver_policy {policy}"
        after = f"after the ack floor of the old one, at stream sequence {new_start['opt_start_seq']} or later"
        where = after if point is None else f"at stream sequence {point}, {_origin_of_start_text(point, change)}"
        yield (
            f"The new consumer continues {where}. The server then shows by_start_sequence, which counts as the {setting} of this file; "
            "it refuses an application that creates the consumer itself at start-up, with another start (10012)"
        )
    else:
        yield "The new consumer starts with everything that is left in the work queue"
    if is_interest(change, view):
        yield f"A placeholder consumer, {placeholder_name(change.address.name)}, keeps its messages meanwhile"
    yield f"{_effect_on_clients_text(change)}; delivery counts start again"


def _effect_on_clients_text(change: Change) -> str:
    subject, new_subject = change.was("deliver_subject"), change.becomes("deliver_subject")
    if subject and subject == new_subject:
        return f"Subscribers of {subject} stay subscribed"
    if subject:
        return f"Subscribers of {subject} receive nothing more: " + (
            f"messages are delivered to {new_subject}" if new_subject else "clients must pull"
        )
    if new_subject:
        after = f"later ones get 409 Consumer is push based: messages are delivered to {new_subject}"
    elif change.origin:
        after = f"{missing_consumer_clause(change.origin.name)}: clients must use {change.address.name}"
    else:
        after = "clients must pull again"
    clause = ended_pulls_clause(change.info, after)
    return f"{clause[0].upper()}{clause[1:]}"
