"""What the same plan deletes from the origin of a copy, by lowered limits or in ways that nobody counts here. The plan
changes an origin before its copies, so these messages are never copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.diff import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.effects.altogether import altogether
from reconciler.kinds.effects.surplus import LOSSES, Loss, is_lowered, state_of, stream_of
from reconciler.kinds.subjects.subjects import matches

UNCOUNTED = Loss(words="")


def going(stream: str, view: View) -> Loss | None:
    """What a stream loses, if anything."""
    change = _changes(view).get(stream)
    losses = list(_losses(change, view)) if change else []
    return altogether(losses, state_of(change)) if change and losses else None


def gone(loss: Loss, subjects: Sequence[str], everything: int, others: int) -> Amount:
    """How many of the messages on these subjects are deleted, if the stream also holds `others`."""
    if loss.going is None:
        return Amount(0, everything)
    counted = exactly(sum(many for one, many in loss.by.items() if any(matches(one, other) for other in subjects)))
    known = counted if loss.by else loss.going.messages
    sure = known.least if loss.by else known.least - others
    return Amount(max(0, min(sure, everything)) if loss.is_prompt else 0, min(known.most, everything))


def _losses(change: Change, view: View) -> Iterator[Loss]:
    if change.action is not Action.UPDATE or (
        change.touches("retention") and change.becomes("retention") == "interest"
    ):
        yield UNCOUNTED
        return
    own, state = view.kinds[change.address.kind].own_name, state_of(change)
    for field, loss_of in LOSSES.items():
        if is_lowered(change, own(field)) and (loss := loss_of(change, own(field), state, view)):
            yield loss


@lru_cache(maxsize=4)
def _changes(view: View) -> Mapping[str, Change]:
    """Changes of existing streams, by stream. Computed once per view, which is compared by identity."""
    writing = (Action.UPDATE, Action.REPLACE, Action.DELETE)
    streams = (one for one in view.changes.values() if one.action in writing and view.is_stream(one.address))
    return {stream_of(one): one for one in streams}
