"""What several lowered limits delete together, in bounds: one may delete what another would delete too."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.changes.amount import Amount, exactly
from reconciler.kinds.effects.readers import Going
from reconciler.kinds.effects.surplus import Loss, State


def altogether(losses: Sequence[Loss], state: State) -> Loss:
    """What several lowered limits delete together: the server deletes the oldest messages first, as many as one of them
    wants, and then what each subject still holds too much of."""
    if len(losses) == 1:
        return losses[0]
    stored = state.get("messages", 0)
    counted = [(loss.going or Going(messages=Amount(0, stored)), loss.keeps) for loss in losses]
    going = _furthest([one for one, keeps in counted if not keeps])
    for of_subjects, keeps in counted:
        if keeps:
            going = Going(messages=_and_then(going.messages, of_subjects.messages, keeps, stored))
    more = {name: Amount(of.least, state[name]) for one in losses for name, of in one.more.items()}
    return Loss(words="", going=going, is_prompt=all(one.is_prompt for one in losses), more=more)


def _furthest(each: Sequence[Going]) -> Going:
    ends = [going.before for going in each if going.before]
    before = _largest(ends) if ends and len(ends) == len(each) else None
    return Going(messages=_largest([going.messages for going in each]), before=before)


def _largest(amounts: Sequence[Amount]) -> Amount:
    if not amounts:
        return exactly(0)
    guesses = [one.least if one.about is None else one.about for one in amounts]
    about = max(guesses) if any(one.about is not None for one in amounts) else None
    return Amount(max(one.least for one in amounts), max(one.most for one in amounts), about)


def _and_then(oldest: Amount, of_subjects: Amount, keeps: int, stored: int) -> Amount:
    """What is left of the newest messages may be on one subject, or on subjects that hold few."""
    staying = min(stored - oldest.most, keeps)
    most = min(oldest.most + of_subjects.most, stored - staying)
    return Amount(min(most, max(oldest.least, of_subjects.least)), most)
