"""Lowered limits: the server at once deletes what no longer fits. How much that is, and which consumers have not
processed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.words import amount, consent_to
from reconciler.kinds.losses import copied_headers, dependants, over_limit, schedules_and_counters, unprocessed
from reconciler.kinds.losses.over_limit import Loss, OwnName, as_named, is_lowered
from reconciler.kinds.losses.shrinking import combined_loss
from reconciler.kinds.losses.unprocessed import Unread
from reconciler.model.fields import Unit
from reconciler.model.resource import Address
from reconciler.model.units import show_duration
from reconciler.model.wire.questions import Question


def limit_lowered_rule(
    family: str, own: OwnName = as_named, counts: unprocessed.ConsumerTest = unprocessed.any_consumer
) -> Rule:
    """The 301 of a family. `own` gives the kind's name for a stream's field, and `counts` says for which consumers it
    is a loss."""

    def judge(change: Change, view: View) -> Found:
        """A limit is lowered below what is stored: the server deletes the surplus at once, even if somebody still wants it.

        On streams with `allow_msg_schedules` or `allow_msg_counter`, `max_msgs`, `max_bytes` and `max_age` also delete
        schedules that are not due yet, and the last message of a counter, which then starts again at 0. A shorter `max_age` needs consent
        there even if nothing is that old yet. Schedules with `Nats-TTL: never` outlast `max_age`.

        So it does with `allow_msg_ttl` on a stream that copies: messages whose `Nats-TTL` has ended go. Copies without it keep
        what has ended at their origin.

        A copy with `allow_rollup_hdrs`, which all KV buckets and object stores have, obeys the header `Nats-Rollup` of what
        it copies. The marker of a subject that expires carries it: when the origin stores markers, each copy, and each copy
        of a copy, deletes all it holds of that subject. That needs consent when the markers begin, when a shorter `max_age`
        makes more of them, and when a stream with messages begins to obey or to copy them. A copy without
        `allow_rollup_hdrs` deletes nothing; before 2.14 it does not store messages with that header, and most stop at the
        first of them (XX214).

        Only changes that can delete something are flagged. The plan says how many messages the server deletes, and how many of
        them each consumer has not processed. The numbers come from live state, exact if the server tells them, otherwise as
        bounds. Consumers, copies and groups of other owners are named with their owners. Copies in other accounts and domains
        are in no plan (ST310). From its next restart on, the server
        knows only the message ids of what is still stored. If a publisher repeats another id then, the server stores the message
        again.

        Instead: let it shrink first, or consent with the value: `allow: [{code: …301, to: …, reason: …}]`.
        """
        return list(_findings(change, view))

    def _findings(change: Change, view: View) -> Iterator[Finding]:
        yield from _expired_copies_findings(change, view, f"{family}301")
        yield from copied_headers.rollup_findings(change, view, own, f"{family}301")
        lost = LimitLosses(change, view, own, counts)
        for path in lost.each:
            if not is_lowered(change, path):
                continue  # the rule about discard says it
            loss, to = lost.described_loss(path), over_limit.becomes(change, path)
            yield Finding(
                outcome=Outcome.NEEDS_CONSENT,
                path=path,
                to=to,
                message=loss.words,
                quantities=loss.quantities,
                affects=loss.affects,
                fix=f"consent here if that is meant: {consent_to(f'{family}301', to, _unit_of(change, path))}",
            )
        if own("max_age") not in lost.each:
            yield from _aging_findings(change, view, family, own)

    judge.__doc__ = (judge.__doc__ or "").replace("…301", f"{family}301")
    harms = rule(f"{family}301", "limit-lowered", on=(Action.UPDATE,), needs=("live", "facts"), reaction=Reaction.HARMS)
    return harms(judge)


def _expired_copies_findings(change: Change, view: View, code: str) -> Iterator[Finding]:
    """A stream that has no times to live ignores those of the messages it copies, until it gets them."""
    begins = change.touches("allow_msg_ttl") and change.becomes("allow_msg_ttl")
    if begins and (change.was("mirror") or change.was("sources")) and over_limit.state_of(change).get("messages"):
        most = Amount(0, over_limit.state_of(change)["messages"])
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path="allow_msg_ttl",
            to=True,
            message="copies carry the `Nats-TTL` of their origin, which counts from now on: apply deletes those whose time has "
            f"ended, {amount(most, 'message')} (only headers tell which)",
            quantities={"messages": most},
            affects=dependants.everybody(over_limit.stream_of(change), view),
            fix=f"consent here if that is meant: {consent_to(code, True)}",
        )


def _aging_findings(change: Change, view: View, family: str, own: OwnName) -> Iterator[Finding]:
    """A shorter `max_age` that deletes nothing yet, of a stream whose schedules and counters it deletes one day."""
    path, most = own("max_age"), Amount(0, schedules_and_counters.aging_count(change))
    if most.most and is_lowered(change, path):
        to, unit = over_limit.becomes(change, path), _unit_of(change, path)
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path=path,
            to=to,
            message=f"from then on the server deletes messages when they are {show_duration(to)} old"
            f"{schedules_and_counters.limit_text(change, 'max_age', path)}",
            quantities={"messages": most},
            affects=dependants.everybody(over_limit.stream_of(change), view),
            fix=f"consent here if that is meant: {consent_to(f'{family}301', to, unit)}",
        )


class DescribedLoss(NamedTuple):
    """What a limit deletes, who has not processed it, and the quantities that an `upto` may bound: of messages, what
    all limits delete together."""

    words: str = ""
    quantities: Mapping[str, Amount] = MappingProxyType({})
    affects: Sequence[Address] = ()


class LimitLosses:
    """What the limits of one stream delete that begin to delete with this change, each by itself and all together."""

    def __init__(
        self, change: Change, view: View, own: OwnName, counts: unprocessed.ConsumerTest = unprocessed.any_consumer
    ) -> None:
        self.each = over_limit.limit_losses(change, view, own)
        self._change, self._view, self._counts = change, view, counts
        self._limits = {own(limit): limit for limit in over_limit.LOSSES}

    def described_loss(self, path: str) -> DescribedLoss:
        """What is to be said of one of them."""
        altogether_lost = combined_loss([*self.each.values()], over_limit.state_of(self._change))
        late, others = self._unread_by_consumers(altogether_lost), [other for other in self.each if other != path]
        return DescribedLoss(
            self.each[path].words
            + _others_text(others, altogether_lost)
            + late.words
            + schedules_and_counters.limit_text(self._change, self._limits[path], path),
            _lost_quantities(altogether_lost, late),
            late.affects,
        )

    def _unread_by_consumers(self, altogether_lost: Loss) -> Unread:
        if altogether_lost.going is None:
            return Unread()
        stream, state = over_limit.stream_of(self._change), over_limit.state_of(self._change)
        counts = unprocessed.staying_consumer_test(stream, self._view, self._counts)
        return unprocessed.unread_by_consumers(
            stream, state, altogether_lost.going, self._view, by=altogether_lost.by or None, counts=counts
        )


def questions(change: Change, view: View, own: OwnName = as_named) -> Iterator[Question]:
    """What must be asked about the limits of a stream that begin to delete, and about its readers."""
    yield from over_limit.questions(change, view, own)
    for loss in over_limit.limit_losses(change, view, own).values():
        if loss.going:
            yield from unprocessed.questions(over_limit.stream_of(change), loss.going, view)


def _others_text(others: Sequence[str], altogether_lost: Loss) -> str:
    return (
        f"; with {' and '.join(others)}, {amount(altogether_lost.going.messages)} altogether"
        if others and altogether_lost.going
        else ""
    )


def _lost_quantities(altogether_lost: Loss, late: Unread) -> dict[str, Amount]:
    lost = {"messages": altogether_lost.going.messages} if altogether_lost.going else {}
    return {**altogether_lost.more, **lost, **({"unprocessed": late.furthest} if late.furthest.most else {})}


def _unit_of(change: Change, path: str) -> Unit:
    field_change = change.field(path)
    return field_change.info.unit if field_change else "text"
