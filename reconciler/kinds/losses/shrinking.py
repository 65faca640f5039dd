"""What the same plan deletes from the origin of a copy, by lowered limits or in ways that nobody counts here. The plan
changes an origin before its copies, so these messages are never copied.

What several limits delete together lies between bounds: one may delete what another would delete too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.losses.over_limit import Loss, State, limit_losses, state_of, stored_bytes, stream_of
from reconciler.kinds.losses.unprocessed import LostMessages
from reconciler.kinds.subjects.subjects import matches


def combined_loss(losses: Sequence[Loss], state: State) -> Loss:
    """What several lowered limits delete together: the server deletes the oldest messages first, as many as one of them
    wants, and then what each subject still holds too much of."""
    if len(losses) == 1:
        return losses[0]
    stored = state.get("messages", 0)
    counted = [(loss.going or LostMessages(messages=Amount(0, stored)), loss.keeps) for loss in losses]
    deletion = _furthest_deletion([loss for loss, keeps in counted if not keeps])
    for of_subjects, keeps in counted:
        if keeps:
            deletion = LostMessages(
                messages=_with_subject_limit(deletion.messages, of_subjects.messages, keeps, stored)
            )
    more = {name: Amount(of.least, state[name]) for loss in losses for name, of in loss.more.items()}
    return Loss(words="", going=deletion, is_prompt=all(loss.is_prompt for loss in losses), more=more)


def _furthest_deletion(deletions: Sequence[LostMessages]) -> LostMessages:
    """Each deletes from the oldest message on, so the one that goes furthest includes the others."""
    ends = [deletion.before for deletion in deletions if deletion.before]
    before = _largest_amount(ends) if ends and len(ends) == len(deletions) else None
    return LostMessages(messages=_largest_amount([deletion.messages for deletion in deletions]), before=before)


def _largest_amount(amounts: Sequence[Amount]) -> Amount:
    if not amounts:
        return exactly(0)
    guesses = [amount.least if amount.about is None else amount.about for amount in amounts]
    estimate = max(guesses) if any(amount.about is not None for amount in amounts) else None
    return Amount(max(amount.least for amount in amounts), max(amount.most for amount in amounts), estimate)


def _with_subject_limit(oldest: Amount, of_subjects: Amount, keeps: int, stored: int) -> Amount:
    """What is left of the newest messages may be on one subject, or on subjects that hold few."""
    remaining = min(stored - oldest.most, keeps)
    most = min(oldest.most + of_subjects.most, stored - remaining)
    return Amount(min(most, max(oldest.least, of_subjects.least)), most)


UNCOUNTED = Loss(words="")


def loss_of_stream(stream: str, view: View) -> Loss | None:
    """What a stream loses, if anything."""
    change = stream_changes(view).get(stream)
    losses = list(_losses_of_change(change, view)) if change else []
    return combined_loss(losses, state_of(change)) if change and losses else None


def remaining_amounts(change: Change, view: View) -> Mapping[str, Amount]:
    """How many messages and bytes of a stream the change leaves, by the words for what a limit limits."""
    state = state_of(change)
    messages, stored = state.get("messages", 0), state.get("bytes", 0)
    loss = loss_of_stream(stream_of(change), view)
    if loss is None or not messages:
        return {"messages": exactly(messages), "bytes": exactly(stored)}
    number = loss.going.messages if loss.going and loss.is_prompt else Amount(0, messages)
    lost = stored_bytes(number, change)
    return {
        "messages": Amount(messages - number.most, messages - number.least),
        "bytes": Amount(stored - lost.most, stored - lost.least, None if lost.about is None else stored - lost.about),
    }


def deleted_on_subjects(loss: Loss, subjects: Sequence[str], everything: int, others: int) -> Amount:
    """How many of the messages on these subjects are deleted, if the stream also holds `others`."""
    if loss.going is None:
        return Amount(0, everything)
    counted = exactly(
        sum(many for subject, many in loss.by.items() if any(matches(subject, other) for other in subjects))
    )
    number = counted if loss.by else loss.going.messages
    sure = number.least if loss.by else number.least - others
    return Amount(max(0, min(sure, everything)) if loss.is_prompt else 0, min(number.most, everything))


def _losses_of_change(change: Change, view: View) -> Iterator[Loss]:
    if change.action is not Action.UPDATE or (
        change.touches("retention") and change.becomes("retention") == "interest"
    ):
        yield UNCOUNTED
        return
    yield from limit_losses(change, view, view.kinds[change.address.kind].own_name).values()


@lru_cache(maxsize=4)
def stream_changes(view: View) -> Mapping[str, Change]:
    """Changes of live streams under any kind's name, by stream; computed once per view, which is compared by identity."""
    writing = (Action.UPDATE, Action.REPLACE, Action.DELETE)
    streams = (
        change for change in view.changes.values() if change.action in writing and view.is_stream(change.address)
    )
    return {stream_of(change): change for change in streams}
