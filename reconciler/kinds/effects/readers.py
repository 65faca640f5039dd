"""Which consumers have not processed what goes: their positions in the snapshot beside the sequences that go.

A consumer tells how many messages it has yet to be given and how many it was given and has not acknowledged, not which.
How many of what it is given stay says how many of them go; where nobody counted those, and where it acknowledges out of
order, there are bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.effects import dependants
from reconciler.kinds.effects.lagging import behind_in, lagging
from reconciler.kinds.fields.words import amount, listed, some
from reconciler.kinds.subjects.subjects import matches
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.questions import MessagesFrom
from reconciler.model.wire.snapshot import Scope

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


class Unread(NamedTuple):
    words: str = ""
    furthest: Amount = exactly(0)
    """How many of them the consumer that is furthest behind has not processed."""
    affects: Sequence[Address] = ()
    """All that have not processed some of them, and the copies that lack some."""


Counts = Callable[[Info], bool]
"""Does it matter to this consumer?"""


def every(_consumer: Info) -> bool:
    """What goes is a loss to whichever consumer has not processed it, ephemeral ones included."""
    return True


def is_durable(info: Info) -> bool:
    """Watchers, which come and go, are not."""
    return bool(info["config"].get("durable_name"))


ASKED = 50
"""Filters of which the server counts the messages that stay; what there are more of are bounds."""


def questions(stream: str, going: Going, view: View) -> Iterator[MessagesFrom]:
    """Where the oldest go: how many of what each filter takes stay. Where the server cannot count from the middle on, how
    many there are and which is the first may be enough."""
    if going.before is None:
        return
    late = sorted(view.snapshot.consumers.get(stream, {}).values(), key=behind, reverse=True)
    wanted = dict.fromkeys(
        one for info in late if behind(info) and not _takes_all(info) for one in filters(info["config"])
    )
    for one in list(wanted)[:ASKED]:
        asked = [MessagesFrom(stream=stream, start=kept, filter=one) for kept in dict.fromkeys(going.before[:2])]
        yield from asked
        answers = [view.facts.get(question) for question in asked]
        if any(isinstance(answer, Mapping) and "messages" not in answer for answer in answers):
            yield MessagesFrom(stream=stream, start=1, filter=one)


def taking_questions(stream: str, view: View) -> Iterator[MessagesFrom]:
    """How many of all that is stored each filter takes."""
    there = view.snapshot.consumers.get(stream, {})
    wanted = dict.fromkeys(one for info in there.values() if not _takes_all(info) for one in filters(info["config"]))
    yield from (MessagesFrom(stream=stream, start=1, filter=one) for one in list(wanted)[:ASKED])


def taking(stream: str, info: Info, messages: int, view: View) -> int:
    """How many of the stored messages a consumer takes at most, whether or not it has got them."""
    return messages if _takes_all(info) else _from_on(stream, info, 1, exactly(messages), view).most


def unread(
    stream: str,
    state: Info,
    going: Going,
    view: View,
    *,
    by: Mapping[str, int] | None = None,
    goes_whole: Callable[[str], bool] = lambda _filter: False,
    counts: Counts = every,
) -> Unread:
    """Who has not processed what goes, in words after a semicolon; no words where nobody reads it. `by`: how many go by
    subject, where that is known: a consumer has nothing to do with what its filters leave out. `goes_whole`: does all
    that a filter takes go, so that nothing stays for a consumer of such filters? `counts`: is it a loss to this consumer?"""
    if not going.messages.most:
        return Unread()
    everybody = {name: one for name, one in view.snapshot.consumers.get(stream, {}).items() if counts(one)}
    parts = {name: _part(info, going, by) for name, info in everybody.items()}
    consumers = {name: info for name, info in everybody.items() if parts[name].messages.most}
    taken = {
        name: parts[name].messages.most if all(map(goes_whole, filters(info["config"]))) else state.get("messages", 0)
        for name, info in consumers.items()
    }
    behind = {name: unprocessed(stream, info, taken[name], parts[name], view) for name, info in consumers.items()}
    late = sorted((name for name in behind if behind[name].most), key=lambda name: (-behind[name].most, name))
    words = _in_words(consumers, late, behind) + _why(stream, consumers, behind, going, view)
    if why := view.snapshot.unknown.get(Scope.consumers(stream)):
        words = f"which consumers have not processed them could not be read ({why})"
    said = (f"; {words}" if words else "") + behind_in(stream, view)
    numbers = (exactly(0), *behind.values())
    affects = (*dependants.consumers(stream, late, view), *dependants.streams(lagging(stream, view), view))
    return Unread(said, Amount(max(one.least for one in numbers), max(one.most for one in numbers)), affects)


def _in_words(consumers: Mapping[str, Info], late: list[str], behind: Mapping[str, Amount]) -> str:
    if not late:
        return f"{_all(consumers)} processed them" if consumers else ""
    first, *others = ((_name(name, consumers[name]), amount(behind[name])) for name in late)
    said = [f"{name} {number}" for name, number in others[: NAMED - 1]]
    if rest := len(others) - len(said):
        said.append(f"{some(rest, 'more consumer')} some")
    return listed([f"{first[0]} has not processed {first[1]} of them", *said])


def _why(stream: str, consumers: Mapping[str, Info], behind: Mapping[str, Amount], going: Going, view: View) -> str:
    """Why these are bounds, where what goes itself was counted."""
    in_bounds = [info for name, info in consumers.items() if not behind[name].is_exact]
    if not in_bounds or not going.messages.is_exact:
        return ""
    if going.before and not _config(stream, view).get("allow_direct") and not all(_takes_all(one) for one in in_bounds):
        return " (in bounds: without allow_direct a server does not count what a filter takes from the middle of a stream on)"
    return " (in bounds: which messages it has acknowledged a server does not say)"


def _all(consumers: Mapping[str, Info]) -> str:
    return f"all {len(consumers)} consumers have" if len(consumers) > 1 else f"its consumer {next(iter(consumers))} has"


def _name(name: str, info: Info) -> str:
    return name if is_durable(info) else f"ephemeral {name}"


def unread_consumers(stream: str, view: View) -> dict[str, str]:
    """Those that are there, but could not be read, with why."""
    unknown = view.snapshot.unknown
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


def _takes_all(info: Info) -> bool:
    return filters(info["config"]) == [">"]


def _part(info: Info, going: Going, by: Mapping[str, int] | None) -> Going:
    """What goes of all that a consumer is given."""
    mine = filters(info["config"])
    if by is None or _takes_all(info):
        return going
    number = sum(many for subject, many in by.items() if any(matches(subject, one) for one in mine))
    return replace(going, messages=Amount(min(number, going.messages.least), min(number, going.messages.most)))


def behind(info: Info) -> int:
    """Messages a consumer still wants: not delivered yet, or delivered and not acknowledged."""
    return int(info.get("num_pending", 0) + info.get("num_ack_pending", 0))


def unprocessed(stream: str, info: Info, messages: int, going: Going, view: View) -> Amount:
    """How many of the messages that go this consumer still wants; `messages`: of how many that are stored at most. It may
    have been read later than its stream, when more had come: no more than go are said."""
    least, most = max(0, behind(info) - (messages - going.messages.least)), min(behind(info), going.messages.most)
    if going.before is not None:
        remain = Amount(messages - going.messages.most, messages - going.messages.least)
        early, late = (
            _before(
                info, kept, remain if _takes_all(info) else _from_on(stream, info, kept, remain, view), view, stream
            )
            for kept in going.before[:2]
        )
        least, most = max(least, early.least), min(most, late.most)
    return Amount(min(least, most), most)


def _from_on(stream: str, info: Info, kept: int, remain: Amount, view: View) -> Amount:
    """How many messages stay of what a consumer takes: of each filter, counted or in bounds."""
    each = [_counted(stream, one, kept, remain.most, view) for one in filters(info["config"])]
    return Amount(min(sum(one.least for one in each), remain.most), min(sum(one.most for one in each), remain.most))


def _counted(stream: str, filter: str, kept: int, most: int, view: View) -> Amount:
    answer = view.facts.get(MessagesFrom(stream=stream, start=kept, filter=filter))
    if not isinstance(answer, Mapping):
        return Amount(0, most)
    if "messages" in answer:
        return exactly(answer["messages"])
    everything = view.facts.get(MessagesFrom(stream=stream, start=1, filter=filter))
    if not isinstance(everything, Mapping) or "messages" not in everything:
        return Amount(1, most)
    number = everything["messages"]
    return exactly(number) if everything["first"] == answer["first"] else Amount(1, number - 1)


def _before(info: Info, kept: int, staying: Amount, view: View, stream: str) -> Amount:
    """Wanted messages with a sequence below `kept`; `staying`: how many of what it takes there are from that on."""
    delivered, floor = _sequence(info, "delivered"), _sequence(info, "ack_floor")
    pending, unacknowledged = info.get("num_pending", 0), info.get("num_ack_pending", 0)
    if info["config"].get("deliver_policy") == "last_per_subject":  # of what stays, it need not be given all
        staying = Amount(0, staying.most)
    if delivered < kept:
        bounds = Amount(max(0, pending - staying.most), min(kept - 1 - delivered, max(0, pending - staying.least)))
        return Amount(bounds.least + unacknowledged, bounds.most + unacknowledged)
    given = Amount(max(0, staying.least - pending), max(0, staying.most - pending))
    least, most = max(0, unacknowledged - given.most), min(unacknowledged, max(0, kept - 1 - floor))
    if _in_order(info) or _is_queue(stream, info, view):
        most = min(most, max(0, unacknowledged - given.least))
    return Amount(min(least, most), most)


def _in_order(info: Info) -> bool:
    """What it was given after the ack floor is unacknowledged, all of it."""
    return bool(info["config"].get("ack_policy") == "all")


def _is_queue(stream: str, info: Info, view: View) -> bool:
    """What it was given and is still stored is unacknowledged; what was tried too often stays as well."""
    tries: int = info["config"].get("max_deliver", -1)
    return bool(tries <= 0 and _config(stream, view).get("retention") == "workqueue")


def _config(stream: str, view: View) -> Config:
    found: Config = view.snapshot.streams.get(stream, {}).get("config", {})
    return found


def _sequence(info: Info, of: str) -> int:
    return int(info.get(of, {}).get("stream_seq", 0))
