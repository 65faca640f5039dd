"""Which consumers have not processed what goes: their positions in the snapshot beside the sequences that go.

A consumer tells how many messages it has yet to be given and how many it was given and has not acknowledged, not which.
Without a filter and without gaps that gives a number; otherwise it gives bounds, and is said as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from reconciler.core.resource import Json
from reconciler.core.rule import Finding, Outcome, View
from reconciler.core.wire import Scope
from reconciler.kinds.primitives.lagging import behind_in
from reconciler.kinds.primitives.subjects import matches
from reconciler.kinds.primitives.words import Amount, amount, listed, some

Info = Mapping[str, Json]
NAMED = 3
"""So many consumers are named; the others are counted."""
SOME = "some consumers"
"""What is said where not even their names are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """Messages that leave a stream."""

    messages: Amount
    before: Amount | None = None
    """Sequence of the first message that stays; None: what goes is scattered."""
    is_estimate: bool = False


class Unread(NamedTuple):
    words: str = ""
    most: int = 0
    """How many of them the consumer that is furthest behind has not processed, at most."""


def unread(stream: str, state: Info, going: Going, view: View, *, stored: Mapping[str, int] | None = None) -> Unread:
    """Who has not processed what goes, in words after a semicolon; no words where nobody reads it. `stored`: how many go by
    subject, where that is known: a consumer has nothing to do with what its filters leave out."""
    if view.snapshot is None or not going.messages.most:
        return Unread()
    everybody = view.snapshot.consumers.get(stream, {})
    parts = {name: _part(info, going, stored) for name, info in everybody.items()}
    consumers = {name: info for name, info in everybody.items() if parts[name].messages.most}
    behind = {name: unprocessed(info, state, parts[name]) for name, info in consumers.items()}
    late = sorted((name for name in behind if behind[name].most), key=lambda name: (-behind[name].most, name))
    words = _in_words(consumers, late, behind, going)
    if why := view.snapshot.unknown.get(Scope.consumers(stream)):
        words = f"which consumers have not processed them could not be read ({why})"
    said = (f"; {words}" if words else "") + behind_in(stream, view)
    return Unread(said, max((one.most for one in behind.values()), default=0))


def _in_words(consumers: Mapping[str, Info], late: list[str], behind: Mapping[str, Amount], going: Going) -> str:
    if not late:
        return f"{_all(consumers)} processed them" if consumers else ""
    first, *others = (
        (_name(name, consumers[name]), amount(behind[name], is_estimate=going.is_estimate)) for name in late
    )
    said = [f"{name} {number}" for name, number in others[: NAMED - 1]]
    if rest := len(others) - len(said):
        said.append(f"{some(rest, 'more consumer')} some")
    return listed([f"{first[0]} has not processed {first[1]} of them", *said])


def _all(consumers: Mapping[str, Info]) -> str:
    return f"all {len(consumers)} consumers have" if len(consumers) > 1 else f"its consumer {next(iter(consumers))} has"


def _name(name: str, info: Info) -> str:
    return name if info["config"].get("durable_name") else f"ephemeral {name}"


def unread_consumers(stream: str, view: View) -> dict[str, str]:
    """Those that are there, but could not be read, with why."""
    unknown = view.snapshot.unknown if view.snapshot else {}
    prefix = Scope.consumer(stream, "")
    found = {scope.removeprefix(prefix): why for scope, why in unknown.items() if scope.startswith(prefix)}
    if why := unknown.get(Scope.consumers(stream)):
        found[SOME] = why
    return found


def going_unread(stream: str, state: Info, view: View) -> Finding | None:
    """A stream whose consumers nobody could read does not go: they may be anybody's."""
    unread = unread_consumers(stream, view) if state.get("consumer_count", 1) else {}
    if not unread:
        return None
    who, why = min(unread.items())
    called = "its consumers" if who == SOME else f"its consumer {who}"
    more = f", nor could {some(len(unread) - 1, 'other')}" if len(unread) > 1 else ""
    return Finding(
        outcome=Outcome.REFUSED,
        quantities={"unread": len(unread)},
        message=f"{called} could not be read ({why}){more}: what goes with it may be anybody's",
        fix="plan again when all of its consumers can be read, as a user who may list them",
    )


def filters(config: Info) -> list[str]:
    """What a consumer is given; `>` where it says nothing."""
    one = [config["filter_subject"]] if config.get("filter_subject") else []
    return one + list(config.get("filter_subjects") or ()) or [">"]


def _part(info: Info, going: Going, stored: Mapping[str, int] | None) -> Going:
    """What goes of all that a consumer is given."""
    mine = filters(info["config"])
    if stored is None or mine == [">"]:
        return going
    number = sum(many for subject, many in stored.items() if any(matches(subject, one) for one in mine))
    return replace(going, messages=Amount(min(number, going.messages.least), min(number, going.messages.most)))


def behind(info: Info) -> int:
    """Messages a consumer still wants: not delivered yet, or delivered and not acknowledged."""
    return int(info.get("num_pending", 0) + info.get("num_ack_pending", 0))


def unprocessed(info: Info, state: Info, going: Going) -> Amount:
    """How many of the messages that go this consumer still wants. It may have been read later than its stream, when more
    had come: no more than go are said."""
    staying = state.get("messages", 0) - going.messages.least
    least, most = max(0, behind(info) - staying), min(behind(info), going.messages.most)
    if going.before is not None:
        least = max(least, _before(info, state, going.before.least).least)
        most = min(most, _before(info, state, going.before.most).most)
    return Amount(min(least, most), most)


def _before(info: Info, state: Info, kept: int) -> Amount:
    """Wanted messages with a sequence below `kept`."""
    delivered, floor = _sequence(info, "delivered"), _sequence(info, "ack_floor")
    pending, unacknowledged = info.get("num_pending", 0), info.get("num_ack_pending", 0)
    last = state.get("last_seq", 0)
    surely_pending = max(0, pending - max(0, last - kept + 1))
    most_pending = surely_pending if _is_plain(info, state) else min(pending, max(0, kept - 1 - delivered))
    surely_unacknowledged = max(0, unacknowledged - max(0, delivered - kept + 1))
    most_unacknowledged = min(unacknowledged, max(0, kept - 1 - floor))
    return Amount(surely_pending + surely_unacknowledged, most_pending + most_unacknowledged)


def _sequence(info: Info, of: str) -> int:
    return int(info.get(of, {}).get("stream_seq", 0))


def _is_plain(info: Info, state: Info) -> bool:
    """Every sequence holds a message, and the consumer wants them all."""
    return filters(info["config"]) == [">"] and not state.get("num_deleted")
