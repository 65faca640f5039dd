"""Lowered limits: the server at once deletes what no longer fits. How much that is, and which consumers have not
processed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.amount import Amount
from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.effects import readers, surplus
from reconciler.kinds.effects.altogether import altogether
from reconciler.kinds.effects.readers import Unread
from reconciler.kinds.effects.surplus import Loss, OwnName, as_named, is_lowered
from reconciler.kinds.fields.words import amount, consent_to
from reconciler.model.fields import Unit
from reconciler.model.wire.questions import Question


def limit_lowered(family: str, own: OwnName = as_named, counts: readers.Counts = readers.every) -> Rule:
    """The 301 of a family. `own` gives the kind's name for a stream's field, and `counts` says for which consumers it
    is a loss."""

    def judge(change: Change, view: View) -> Found:
        """A limit is lowered below what is stored: the server deletes the surplus at once, even if somebody still wants it.

        Only changes that can delete something are flagged. The plan says how many messages the server deletes, and how many of
        them each consumer has not processed. The numbers come from live state, exact if the server tells them, otherwise as
        bounds. Consumers, copies and groups of other owners are named with their owners. From its next restart on, the server
        knows only the message ids of what is still stored. If a publisher repeats another id then, the server stores the message
        again.

        Instead: let it shrink first, or consent with the value: `allow: [{code: …301, to: …, reason: …}]`.
        """
        return list(_findings(change, view))

    def _findings(change: Change, view: View) -> Iterator[Finding]:
        losses = _losses(change, view, own)
        if not losses:
            return
        whole = altogether([*losses.values()], surplus.state_of(change))
        for path, loss in losses.items():
            late, others = _unread(change, whole, view, counts), [other for other in losses if other != path]
            yield Finding(
                outcome=Outcome.NEEDS_CONSENT,
                path=path,
                to=surplus.becomes(change, path),
                message=loss.words + _with(others, whole) + late.words,
                quantities=_quantities(whole, late),
                affects=late.affects,
                fix=f"consent here if that is meant: {consent_to(f'{family}301', surplus.becomes(change, path), _unit(change, path))}",
            )

    harms = rule(f"{family}301", "limit-lowered", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
    return harms(judge)


def questions(change: Change, view: View, own: OwnName = as_named) -> Iterator[Question]:
    """What must be asked about the lowered limits of a stream and about its readers."""
    yield from surplus.questions(change, view, own)
    for loss in _losses(change, view, own).values():
        if loss.going:
            yield from readers.questions(surplus.stream_of(change), loss.going, view)


def _losses(change: Change, view: View, own: OwnName) -> dict[str, Loss]:
    """What each lowered limit deletes by itself, by the kind's name of the limit."""
    lowered = {own(field): loss_of for field, loss_of in surplus.LOSSES.items() if is_lowered(change, own(field))}
    found = {path: loss_of(change, path, surplus.state_of(change), view) for path, loss_of in lowered.items()}
    return {path: loss for path, loss in found.items() if loss}


def _with(others: Sequence[str], whole: Loss) -> str:
    return f"; with {' and '.join(others)}, {amount(whole.going.messages)} altogether" if others and whole.going else ""


def _unread(change: Change, loss: Loss, view: View, counts: readers.Counts) -> Unread:
    if loss.going is None:
        return Unread()
    stream, state = surplus.stream_of(change), surplus.state_of(change)
    return readers.unread(
        stream,
        state,
        loss.going,
        view,
        by=loss.by or None,
        counts=readers.that_stay(stream, view, counts),
    )


def _quantities(whole: Loss, late: Unread) -> dict[str, Amount]:
    """The quantities that an `upto` may bound: of messages, what goes altogether."""
    lost = {"messages": whole.going.messages} if whole.going else {}
    return {**whole.more, **lost, **({"unprocessed": late.furthest} if late.furthest.most else {})}


def _unit(change: Change, path: str) -> Unit:
    found = change.field(path)
    return found.info.unit if found else "text"
