"""Lowered limits: the server removes what no longer fits at once. How much that is, and who has not processed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Json
from reconciler.core.rule import Finding, Found, Outcome, Reaction, Rule, View, rule
from reconciler.kinds.primitives import surplus
from reconciler.kinds.primitives.readers import Going, Unread, unread
from reconciler.kinds.primitives.surplus import Loss, OwnName, as_named, is_lowered
from reconciler.kinds.primitives.words import consent_to


def limit_lowered(family: str, own: OwnName = as_named) -> Rule:
    """The 301 of a family; `own` gives a kind's name for a stream's field."""

    def judge(change: Change, view: View) -> Found:
        """A limit is lowered below what is stored: the server removes the surplus at once, whoever still wants it.

        Only changes that can remove something are flagged. How many messages go, and how many of them each consumer has
        not processed, comes from live state: exact where the server tells, else as bounds.

        Instead: let it shrink first, or consent with the value: `allow: [{code: …301, to: …, reason: …}]`.
        """
        return list(_findings(change, view))

    def _findings(change: Change, view: View) -> Iterator[Finding]:
        for field, loss_of in LOSSES.items():
            path = own(field)
            if is_lowered(change, path) and (loss := loss_of(change, path, surplus.state_of(change), view)):
                late = _unread(change, loss.going, view)
                yield Finding(
                    outcome=Outcome.NEEDS_CONSENT,
                    path=path,
                    to=change.becomes(path),
                    message=loss.words + late.words,
                    quantities=_quantities(loss, late),
                    fix=f"consent here if that is meant: {consent_to(f'{family}301', change.becomes(path), _unit(change, path))}",
                )

    harms = rule(f"{family}301", "limit-lowered", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
    return harms(judge)


LOSSES: Mapping[str, Callable[[Change, str, Mapping[str, Json], View], Loss | None]] = {
    "max_age": surplus.too_old,
    "max_msgs": surplus.too_many,
    "max_bytes": surplus.too_large,
    "max_msgs_per_subject": surplus.too_many_per_subject,
}


def _unread(change: Change, going: Going | None, view: View) -> Unread:
    """Nobody consumes a bucket; watchers that read it now are no loss to anybody."""
    if going is None or change.address.kind != "stream":
        return Unread()
    return unread(change.address.name, surplus.state_of(change), going, view)


def _quantities(loss: Loss, late: Unread) -> dict[str, int]:
    """What an `upto` may bound; never an estimate, and the most where there are bounds."""
    counted = loss.going is not None and not loss.going.is_estimate
    lost = {"messages": loss.going.messages.most} if loss.going and counted else {}
    return {**loss.more, **lost} | ({"unprocessed": late.most} if counted and late.most else {})


def _unit(change: Change, path: str) -> str:
    found = change.field(path)
    return found.info.unit if found else "text"
