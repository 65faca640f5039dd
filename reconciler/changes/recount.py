"""Losses counted again: does a change now cost more than the plan said, or than its consent allows?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.changes.change import Action
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.model.resource import Consent

TWICE = 2
"""How many times the planned loss is allowed if consent names no bound."""
NAMED = frozenset({"consumers", "dependants", "readers"})
"""What the plan names one by one: one more is another one, which nobody has seen."""
STAYING = frozenset({"stored"})
"""What stays where it is: however many there are, nothing is lost."""
GLIMPSED = frozenset({"waiting", "instances"})
"""Clients, of which a server shows only those that ask for messages at that moment: another number says nothing of them."""
PASSING = frozenset({"undelivered", "unacknowledged", "redelivered", "queued", "skipped", "copied"})
"""What comes and goes while everything works, and is not lost: messages that are redelivered, copied twice or continue in
a new queue."""
BY_DEFAULT = 1_000
"""How many messages a consumer has in flight unless configured otherwise."""


def losses_beyond_consent_sentences(
    change: PlannedChange, recounted: PlannedChange, consents: Iterable[Consent]
) -> Iterator[str]:
    """Losses that grew beyond what somebody agreed to: the bound that consent names, or else twice what the plan said.
    Nobody agreed to a loss that the plan did not mention. `consents`: those that the files give to this resource."""
    planned_losses, counted = (
        losses(change.verdicts),
        {(verdict.code, verdict.path) for verdict in change.verdicts if verdict.quantities},
    )
    judged = {(verdict.code, verdict.path) for verdict in change.verdicts}
    shown, shown_now = _losses_in_words(change), _losses_in_words(recounted)
    bounds = {(allow.code, name) for allow in consents for name in allow.upto}
    for (code, path, name), number in losses(recounted.verdicts).items():
        uncounted = (code, path) in judged - counted
        planned = planned_losses.get((code, path, name), 0)
        if (
            not uncounted
            and name not in STAYING | GLIMPSED
            and (code, name) not in bounds
            and number > allowed_loss(name, planned)
        ):  # bounds: judged by consent
            many = "" if name in NAMED or not planned else ", more than twice as many"
            was, now = shown.get((code, path, name), "0"), shown_now[code, path, name]
            yield f"the plan said {was} {name} ({code}), and now it is {now}{many}"
    if recounted.action is Action.UPDATE:  # if an object was half deleted before, less of it is left to count
        yield from _uncounted_losses_sentences(change, recounted)


def changed_losses_sentences(change: PlannedChange, recounted: PlannedChange) -> Iterator[str]:
    """Losses that have become more or fewer since the plan was made, as sentences."""
    planned_losses, uncounted = (
        losses(change.verdicts),
        {(verdict.code, verdict.path) for verdict in change.verdicts if not verdict.quantities},
    )
    shown, shown_now = _losses_in_words(change), _losses_in_words(recounted)
    for (code, path, name), number in losses(recounted.verdicts).items():
        planned = planned_losses.get((code, path, name), 0)
        if planned != number and name not in GLIMPSED and (code, path) not in uncounted:
            was, now = shown.get((code, path, name), "0"), shown_now[code, path, name]
            yield f"{change.address}: the plan said {was} {name} ({code}), and now it is {now}."
    yield from _changed_starts_sentences(change, recounted)


STARTING = {"skipped": "skipped", "delivered_before": "delivered before", "copied": "copied at once"}
"""What the start of a new consumer costs, or that of a source, in words."""


def _changed_starts_sentences(change: PlannedChange, recounted: PlannedChange) -> Iterator[str]:
    """The same of a new consumer, and of a source that says where it starts, whose starts no rule judges: others have gone on
    since."""
    planned, now = _start_quantities(change), _start_quantities(recounted)
    for name, words in STARTING.items():
        if planned.get(name) != now.get(name):
            yield f"{change.address}: the plan said {planned.get(name, 0)} {words}, and now it is {now.get(name, 0)}."


def _start_quantities(change: PlannedChange) -> dict[str, str]:
    """The costs of all starts together, as a plan shows them."""
    costs: dict[str, str] = {}
    for name in STARTING:
        counted = [consequence for consequence in change.consequences if name in consequence.quantities]
        if counted:
            bound = "up to " if any(name in consequence.bounds for consequence in counted) else ""
            costs[name] = f"{bound}{sum(consequence.quantities[name] for consequence in counted):_}"
    return costs


def _uncounted_losses_sentences(change: PlannedChange, recounted: PlannedChange) -> Iterator[str]:
    """Messages that the plan counted, if nobody can tell any more how many are lost."""
    counted = {(verdict.code, verdict.path) for verdict in change.verdicts if "messages" in verdict.quantities}
    losing = [verdict for verdict in recounted.verdicts if verdict.is_loss or verdict.consented is not None]
    still_counted = {(verdict.code, verdict.path) for verdict in losing if verdict.quantities}
    for code, _path in sorted((counted & {(verdict.code, verdict.path) for verdict in losing}) - still_counted):
        yield f"the plan said how many messages are lost ({code}), and now they cannot be counted"


def losses(verdicts: Iterable[Verdict]) -> dict[tuple[str, str, str], int]:
    """Losses by code, field and name: of losses, and of everything that somebody consented to."""
    sums: dict[tuple[str, str, str], int] = {}
    for verdict in verdicts:
        if verdict.is_loss or verdict.consented is not None:
            for name, number in verdict.quantities.items():
                sums[verdict.code, verdict.path, name] = sums.get((verdict.code, verdict.path, name), 0) + number
    return sums


def _losses_in_words(change: PlannedChange) -> dict[tuple[str, str, str], str]:
    """Losses as a plan shows them: `up to 7` where nobody counted exactly."""
    inexact = {(verdict.code, verdict.path, name) for verdict in change.verdicts for name in verdict.bounds}
    return {key: f"{'up to ' if key in inexact else ''}{number:_}" for key, number in losses(change.verdicts).items()}


def allowed_loss(name: str, planned: int) -> int:
    """How many of these may be lost now, if the plan said `planned` and no consent names a bound."""
    if name in NAMED:
        return planned
    return max(TWICE * planned, BY_DEFAULT) if name in PASSING else TWICE * planned
