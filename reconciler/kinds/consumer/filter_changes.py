"""What is lost, missed or given again when the filter of a consumer changes, in words."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer import taking_over
from reconciler.kinds.consumer.filter_counts import FilterChange, FilterCounts, counts_of, filter_change_of, starts_over
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.fields.words import amount, consent_to, listed_few, share, some, verb
from reconciler.kinds.losses.lagging import keeping_sentence
from reconciler.kinds.subjects.filters import EVERYTHING, FILTERS, filters_of, subjects_kept_by
from reconciler.kinds.subjects.subject_lists import any_collide
from reconciler.kinds.subjects.subject_moves import passed_on_subjects, subjects_at_consumer_deletions
from reconciler.model.resource import Config

LISTED = "those that were the last of their subjects when the consumer was created"


@rule("CO301", "filter-change", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
def filter_change(change: Change, view: View) -> Found:
    """The filter of a consumer changes. The consumer keeps its position and never goes back.

    It never gets pending messages that the new filter leaves out. It does not go back to messages before its position
    that the old filter left out. Nor does it get those after its position that the server has already moved past. While
    it looks for a message of the old filter, the server passes all others, up to the next match or to the end of the
    stream. No server tells how far it has come. Messages in flight are redelivered until they are acknowledged, whatever
    the new filter is.

    Nothing of this comes with a filter that goes from `filter_subject` into a list of one, or back. Clients get the same
    messages, and only an application that creates the consumer with the old field is refused (10148).

    Where the filter goes, apply writes `>`, which takes everything and counts as none: a server does not wake a consumer
    for new messages that an update left without a filter.

    A consumer that the same plan recreates continues after its ack floor with the new filter. It gets what the old
    filter left out there, but no message in flight that the new filter leaves out. On other streams than a work queue
    this needs consent.

    A consumer that started with `last_per_subject` still delivers the messages that the server listed when the consumer
    was created, until the server restarts. It misses newly matched ones that are older than the end of this list.

    On an interest stream the server at once deletes the messages that the new filter leaves out and no other consumer
    wants. That includes messages in flight, so a client that fails does not get them again. It redelivers those in flight
    that another consumer wants.

    On a work queue, messages that the new filter leaves out wait for a consumer that takes them, and the same plan may
    create it. A consumer whose new filter takes more starts over, so it misses nothing. Where the queue keeps processed messages for
    a copy, it then delivers them again. Messages that it then has in
    flight wait with the rest if the new filter leaves them out and clients do not acknowledge them within `ack_wait`.

    Where the same plan creates consumers that take every stored message that the new filter leaves out, it says so, and
    nothing is deleted.

    Instead: declare a second consumer with the new filter, which starts where you say; or let this one process what is
    pending first.
    """
    if not (change.touches(*FILTERS) and change.live and change.desired):
        return None
    move = filter_change_of(change, view)
    retention = retention_of(move.stream, view)
    counts = counts_of(change, move, retention, view)
    if _is_harmless(change, move, counts, retention, view):
        return None
    missed, passed_over, left_out = counts.missed, counts.passed_over, counts.left_out
    successors = taking_over.successors_clause(change, move.before, move.after, view) if left_out.most else ""
    drops = retention == "interest" and left_out.most > 0 and not successors
    loses = drops or (move.point is not None and retention == "limits" and counts.ending.most > 0 and not successors)
    fate = (
        f": {successors}"
        if successors and retention != "workqueue"
        else _fate_of_left_out_text(change, move, retention, view)
    )
    others = successors or ("apply deletes the others" if any(others_of(change, view)) else "")
    sentences = (
        _position_sentence(move, retention, passed_over),
        *_left_out_sentences(counts, move, fate, others if retention == "interest" else ""),
        *_missed_sentences(missed, move),
        *_passed_over_sentence(passed_over, move),
        *_processed_again_sentences(counts.again, move, view),
        *(
            ()
            if counts.ending.most
            else _redelivery_sentence(counts.in_flight, move, change.becomes("max_deliver") or 0)
        ),
    )
    path = next(field_change.path for field_change in change.fields if field_change.top in FILTERS)
    lost = exactly(0) if drops else left_out if loses else counts.skipped
    return Finding(
        outcome=Outcome.NEEDS_CONSENT if loses else Outcome.WARNS,
        path=path,
        to=change.becomes(path) if loses else None,
        message=". ".join(sentences),
        quantities=({"messages": _dropped_messages(left_out, change, view)} if drops else {})
        | ({"skipped": Amount(lost.least, lost.most + passed_over)} if passed_over or not drops else {})
        | ({} if missed is None else {"missed": missed})
        | ({"redelivered": Amount(0, counts.again)} if counts.again else {}),
        fix="let this one process what is pending first, if its clients are to get it"
        if successors and not (missed is None or missed.most or passed_over)
        else _without_loss_text(retention)
        + (f", or consent here: {consent_to('CO301', change.becomes(path))}" if loses else ""),
    )


def _is_harmless(change: Change, move: FilterChange, counts: FilterCounts, retention: str, view: View) -> bool:
    """Is no message left out, missed or given again for which no other consumer comes?"""
    if counts.skipped.most or counts.passed_over or counts.again:
        return False
    if move.position if counts.missed is None else counts.missed.most:
        return False
    if not counts.ending.most:
        return not counts.in_flight.most
    return retention == "workqueue" and taking_over.is_taken(change, move.lost_subjects, view)


def _without_loss_text(retention: str) -> str:
    """A work queue takes no second consumer with a filter that overlaps with that of this one."""
    other = (
        "another consumer for what this one gives up"
        if retention == "workqueue"
        else "a second consumer with the new filter"
    )
    return f"declare {other}, or let this one process what is pending first"


def _processed_again_sentences(again: int, move: FilterChange, view: View) -> Iterator[str]:
    if again:
        yield f"It delivers up to {some(again, 'message')} that {verb(again, 'were')} processed already"
        yield keeping_sentence(move.stream, view)


def _dropped_messages(left_out: Amount, change: Change, view: View) -> Amount:
    """How many of them an interest stream deletes: all, if no other consumer exists that may want them, and the stream
    keeps its subjects."""
    is_less = any(others_of(change, view)) or passed_on_subjects(change.address.stream, view)
    return Amount(0, left_out.most) if is_less else left_out


def others_of(change: Change, view: View) -> Iterator[Config]:
    """Configurations of consumers that want messages of the same stream: declared ones, also as they will be, live ones, and
    those that feed its copies."""
    stream = change.address.stream
    own = (change.address.name, change.origin.name if change.origin else "")
    for where in (view.snapshot.consumers, view.snapshot.copiers):
        yield from (other["config"] for key, other in where.get(stream, {}).items() if key not in own)
    yield from (
        child.desired.config
        for child in view.children(stream, "consumer")
        if child.desired and child.address.name not in own
    )


def _fate_of_left_out_text(change: Change, move: FilterChange, retention: str, view: View) -> str:
    """The fate of messages that the new filter leaves out, as the end of a sentence."""
    if retention == "interest":
        is_passed = any_collide(move.lost_subjects, passed_on_subjects(move.stream, view))
        passing_on = f", or stream {move.stream} passes their subjects on before" if is_passed else ""
        return f"; apply deletes them unless another consumer wants them{_unfiltered_readers_clause(change, view)}{passing_on}"
    if retention == "workqueue":
        return f": {taking_over.fate_of_left_text(change, move.before, move.after, view)}"
    return f", except, until it restarts, {LISTED}" if move.is_listed and move.point is None else ""


def _unfiltered_readers_clause(change: Change, view: View) -> str:
    """A consumer whose filters are all that the stream takes keeps also what its filters do not match."""
    stream = change.address.stream
    taken = subjects_at_consumer_deletions(stream, view)
    filters_of_others = [filters_of(subjects) for subjects in others_of(change, view)]
    is_kept = any(subjects != subjects_kept_by(subjects, taken) for subjects in filters_of_others)
    return f", as one may whose filter is all that {stream} takes" if is_kept else ""


def _position_sentence(move: FilterChange, retention: str, passed: int) -> str:
    """What it gets from now on; on a work queue, a consumer that takes more starts over."""
    only = "" if move.is_listed else "only "
    subjects = "everything" if tuple(move.after) == EVERYTHING else f"{only}what matches {listed_few(move.after, 5)}"
    if starts_over(move, retention):
        return f"it starts over and gets {subjects}"
    if move.point is not None:
        also = "" if move.narrows else ", also what the old filter left out there"
        return f"it is recreated and gets {subjects} from sequence {move.point} on{also}"
    where = f"sequence {move.position}{' or later' if passed else ''}"
    return f"it gets {subjects}{f' after its position ({where})' if move.position else ''}"


def _passed_over_sentence(passed: int, move: FilterChange) -> Iterator[str]:
    if passed:
        them, after = "it" if passed == 1 else "them", f" after sequence {move.position}" if move.position else ""
        yield (
            f"Up to {some(passed, 'message')}{after} that the new filter matches may be skipped: the server "
            f"may have moved past {them} while it looked for messages of the old filter, and does not tell"
        )


def _redelivery_sentence(in_flight: Amount, move: FilterChange, max_deliver: int) -> Iterator[str]:
    if in_flight.most:
        limit = f", or delivered {some(max_deliver, 'time')}" if max_deliver > 0 else ""
        them = "it" if in_flight.most == 1 else "them"
        which = (
            f", although the new filter leaves {them} out"
            if in_flight.is_exact
            else ": those that the new filter leaves out"
        )
        messages = share(in_flight, exactly(move.in_flight), "message")
        yield f"The server still redelivers {messages} in flight until acknowledged{limit}{which}"


def _left_out_sentences(counts: FilterCounts, move: FilterChange, fate: str, others: str) -> Iterator[str]:
    """`others`: another consumer of an interest stream may want them, too, and this becomes of those in flight that it
    does not want."""
    pending = share(counts.skipped, move.pending, "pending message") if counts.skipped.most else ""
    in_flight = f"{share(counts.ending, exactly(move.in_flight), 'message')} in flight" if counts.ending.most else ""
    comes_again = bool(others) and move.point is None
    if never := " and ".join(filter(None, (pending, "" if comes_again else in_flight))):
        yield f"The new filter leaves out {never}, which the server does not deliver any more{fate}"
    if in_flight and comes_again:
        yield (
            f"{'It also' if pending else 'The new filter'} leaves out {in_flight}: the server redelivers those that another "
            f"consumer wants until they are acknowledged, and {others}"
        )


def _missed_sentences(missed: Amount | None, move: FilterChange) -> Iterator[str]:
    before = "before its position " if move.point is None else f"before sequence {move.point} "
    where = f"{'' if move.is_listed else before}that the old filter left out"
    if missed is None:
        yield f"It does not go back to messages {where}; these were not counted"
    elif missed.most:
        yield f"It does not go back to {amount(missed, 'message')} {where}"
