"""What a stream loses when its retention becomes interest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.effects import dependants, surplus
from reconciler.kinds.effects.lagging import lagging, taking_in
from reconciler.kinds.effects.readers import (
    SOME,
    behind,
    taking,
    unread_consumers,
)
from reconciler.kinds.fields.words import amount, consent_to, listed, some
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version

EMPTIES = Version(2, 15)
"""From here on, interest retention without any consumer removes what is stored."""


@rule("ST302", "interest-retention", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)
def interest_retention(change: Change, view: View) -> Found:
    """Retention changes from limits to interest on a stream that holds messages.

    Messages that every consumer has acknowledged go at once; without any consumer, servers from 2.15 on remove all of
    them. From then on, what no consumer wants is not stored at all.

    Consumers that the same plan makes are there before, and so is what those want. What no consumer has got yet stays, and
    so does all of it while nobody but mirrors and sources take from the stream.

    Instead: make sure every consumer is there and behind, or consent: `allow: [{code: ST302, to: interest, reason: …}]`.
    """
    if not turns_to_interest(change):
        return None
    going, words = _without_interest(change, view, surplus.state_of(change)["messages"])
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path="retention",
        to="interest",
        quantities={"messages": going},
        message=words,
        affects=dependants.streams(lagging(change.address.name, view), view),
        fix=f"consent here if that is meant: {consent_to('ST302', 'interest')}",
    )


def turns_to_interest(change: Change) -> bool:
    """And holds messages."""
    turns = change.touches("retention") and change.becomes("retention") == "interest"
    return turns and surplus.state_of(change).get("messages", 0) > 0


def _without_interest(change: Change, view: View, messages: int) -> tuple[Amount, str]:
    """How many go, and why. Consumers of the same plan come and go before."""
    stored, takers = some(messages, "stored message"), _takers(change, messages, view)
    if not takers and (copies := taking_in(change.address.name, view)):
        who = f"nobody but {listed(copies)}, which cop{'ies' if len(copies) == 1 else 'y'} this stream, takes from it"
        return exactly(0), f"{who}: {stored} stay for now, and new ones are kept only as far as they are copied"
    if not takers:
        if view.target.version >= EMPTIES:
            return exactly(
                messages
            ), f"nobody consumes this stream, so all of {stored} go at apply, and new ones are not kept"
        return exactly(0), f"nobody consumes this stream: {stored} stay for now, but new ones are not kept"
    furthest = max(sorted(takers), key=lambda name: takers[name].wants)
    wanted = min(messages, takers[furthest].wants)
    wants = "still wants" if furthest in view.snapshot.consumers.get(change.address.name, {}) else "will want"
    going = Amount(0, min(messages - wanted, sum(one.done for one in takers.values())))
    held = "" if going.most else ", since no consumer has acknowledged any"
    held = f", since {furthest} {wants} {some(wanted)}" if wanted else held
    words = f"{amount(going)} of {stored} go" if going.most else f"none of {stored} goes"
    return going, f"{words} at apply{held}: what every consumer has acknowledged is not kept"


class _Taker(NamedTuple):
    """A consumer by then."""

    wants: int
    """How many of the stored messages it still wants, at least."""
    done: int
    """How many of them it has acknowledged, at most: what nobody has acknowledged stays, as what no filter matches does."""


def _takers(above: Change, messages: int, view: View) -> dict[str, _Taker]:
    """All consumers by then; what a new filter matches nobody knows yet."""
    stream, unknown = above.address.name, _Taker(0, messages)
    found = {
        name: _taker(above, info, messages, view) for name, info in view.snapshot.consumers.get(stream, {}).items()
    }
    found |= dict.fromkeys(unread_consumers(stream, view), unknown)
    copying = len(view.snapshot.copiers.get(stream, {}))
    if surplus.state_of(above).get("consumer_count", 0) > len(found) + copying:
        found[SOME] = unknown
    for address, change in view.changes.items():
        if address.kind != "consumer" or address.stream != stream:
            continue
        if change.action is Action.DELETE:
            found.pop(address.name, None)
        elif change.action is Action.CREATE:
            found[address.name] = _Taker(messages if _wants_all(change) else 0, _up_to(_skipped(change), above))
        elif change.touches("filter_subject", "filter_subjects"):
            found[address.name] = _Taker(
                0, _up_to(_given(view.snapshot.consumers.get(stream, {}).get(address.name, {})), above)
            )
    return found


def _taker(above: Change, info: Mapping[str, Json], messages: int, view: View) -> _Taker:
    got = taking(above.address.name, info, messages, view) - behind(info)
    return _Taker(behind(info), max(0, min(got, _up_to(_given(info), above))))


def _up_to(sequence: int | None, above: Change) -> int:
    """How many messages are stored up to this sequence, at most; None: the last."""
    state = surplus.state_of(above)
    messages: int = state["messages"]
    return messages if sequence is None else max(0, min(messages, sequence - state.get("first_seq", 1) + 1))


def _given(info: Mapping[str, Json]) -> int | None:
    """The sequence up to which a consumer was given messages."""
    found: int | None = info.get("delivered", {}).get("stream_seq")
    return found


def _skipped(change: Change) -> int | None:
    """The sequence behind which a new consumer begins; None: nobody knows."""
    starts: dict[str, int | None] = {"all": 0, "by_start_sequence": (change.becomes("opt_start_seq") or 1) - 1}
    return starts.get(change.becomes("deliver_policy") or "all")


def _wants_all(change: Change) -> bool:
    said = [change.becomes(field) for field in ("filter_subject", "filter_subjects", "deliver_policy")]
    return said in ([None, None, None], [None, None, "all"])
