"""Which consumers have not processed the messages that are deleted: their positions in the snapshot, beside the
sequences.

A consumer tells how many messages it has yet to receive and how many it has received but not acknowledged. It does not
tell which. The number of its messages that stay tells how many of them are deleted. It gives only
bounds if nobody counted those, or if clients acknowledge out of order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from reconciler.changes.amount import Amount, exactly, total
from reconciler.changes.change import Action
from reconciler.changes.verdict import Finding, refusal
from reconciler.changes.view import View, once_per_view
from reconciler.engine.bindings import passed_in_flight
from reconciler.kinds.fields.words import amount, listed, some
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.lagging import lagging_copies, lagging_text
from reconciler.kinds.subjects.filters import EVERYTHING, filters_of
from reconciler.kinds.subjects.subject_lists import SubjectList
from reconciler.kinds.subjects.subjects import matches
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.questions import MessagesFrom
from reconciler.model.wire.snapshot import Scope

Info = Mapping[str, Json]
NAMED = 3
"""How many consumers are named; the others are counted."""
SOME = "some consumers"
"""The words for consumers whose names are not known either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostMessages:
    """Messages that a stream loses."""

    messages: Amount
    before: Amount | None = None
    """Sequence of the first message that stays; None: the lost messages are scattered."""


class Unread(NamedTuple):
    words: str = ""
    furthest: Amount = exactly(0)
    """How many of them the consumer that is furthest behind has not processed."""
    affects: Sequence[Address] = ()
    """All consumers that have not processed some of them, and the copies that lack some."""


ConsumerTest = Callable[[Info], bool]
"""Does a loss matter to this consumer?"""


def any_consumer(_consumer: Info) -> bool:
    """A deleted message is a loss to every consumer that has not processed it, ephemeral ones included."""
    return True


def deleted_consumers(stream: str, view: View) -> list[Info]:
    """Live consumers of the stream that this plan deletes."""
    live = view.snapshot.consumers.get(stream, {})
    changes = ((info, view.changes.get(Address.of("consumer", stream, name))) for name, info in live.items())
    return [info for info, change in changes if change and change.action is Action.DELETE]


def staying_consumer_test(stream: str, view: View, counts: ConsumerTest = any_consumer) -> ConsumerTest:
    """Of these consumers only those that the plan does not delete."""
    going = set(map(id, deleted_consumers(stream, view)))
    return lambda info: counts(info) and id(info) not in going


@once_per_view
def consumers_afterwards(stream: str, view: View) -> Mapping[str, Config]:
    """Configurations of its consumers once this plan is applied, by their names."""
    changes = {change.address.name: change for change in view.children(stream, "consumer")}
    live = {name: info["config"] for name, info in view.snapshot.consumers.get(stream, {}).items()}
    staying = (change for change in changes.values() if change.action is not Action.DELETE)
    changed = {
        change.address.name: resource.config for change in staying if (resource := change.desired or change.live)
    }
    return {name: config for name, config in live.items() if name not in changes} | changed


def is_durable(info: Info) -> bool:
    """Watchers, which come and go, are not durable."""
    return bool(info["config"].get("durable_name"))


ASKED = 50
"""For how many filters the server counts the messages that stay; the others get bounds."""


def questions(stream: str, going: LostMessages, view: View) -> Iterator[MessagesFrom]:
    """If the oldest messages are deleted: how many that each filter matches stay. If the server cannot count from the
    middle of a stream, the total and the first message may be enough."""
    yield from uncounted_questions(stream, view)
    if going.before is None:
        return
    wants = [
        (unprocessed_messages(stream, info, view).most, info)
        for info in view.snapshot.consumers.get(stream, {}).values()
    ]
    late = sorted(((number, info) for number, info in wants if number), key=lambda pair: -pair[0])
    wanted = dict.fromkeys(
        subject for _, info in late if not _takes_all(info) for subject in filters_of(info["config"])
    )
    for subject in list(wanted)[:ASKED]:
        counts = [MessagesFrom(stream=stream, start=kept, filter=subject) for kept in dict.fromkeys(going.before[:2])]
        yield from counts
        answers = [view.facts.get(question) for question in counts]
        if any(isinstance(answer, Mapping) and "messages" not in answer for answer in answers):
            yield MessagesFrom(stream=stream, start=1, filter=subject)


def taking_questions(stream: str, view: View) -> Iterator[MessagesFrom]:
    """How many of all stored messages each filter matches, and how many of those after what a consumer has acknowledged."""
    live = view.snapshot.consumers.get(stream, {})
    wanted = dict.fromkeys(
        subject for info in live.values() if not _takes_all(info) for subject in filters_of(info["config"])
    )
    yield from (MessagesFrom(stream=stream, start=1, filter=subject) for subject in list(wanted)[:ASKED])
    in_flight = [info for info in live.values() if info.get("num_ack_pending")]
    yield from [question for info in in_flight for question in _unacknowledged_questions(stream, info)][:ASKED]


def matched_messages(stream: str, info: Info, messages: int, view: View) -> int:
    """How many of the stored messages a consumer matches at most, whether or not it has received them."""
    return messages if _takes_all(info) else _staying_wanted(stream, info, 1, exactly(messages), view).most


def unread_by_consumers(
    stream: str,
    state: Info,
    going: LostMessages,
    view: View,
    *,
    by: Mapping[str, int] | None = None,
    goes_whole: Callable[[str], bool] = lambda _filter: False,
    counts: ConsumerTest = any_consumer,
    arrived: int = 0,
) -> Unread:
    """Which consumers have not processed what is deleted, as words after a semicolon; no words if nobody reads it.

    `by`: how many messages of each subject are deleted, if known; a consumer ignores what its filters leave out.
    `goes_whole`: is everything that a filter matches deleted, so that nothing stays for a consumer with such filters?
    `counts`: is it a loss to this consumer?
    `arrived`: how many messages came in after the consumers were read, and may be among those that were counted.
    """
    if not going.messages.most:
        return Unread()
    everybody = {name: info for name, info in view.snapshot.consumers.get(stream, {}).items() if counts(info)}
    parts = {name: _wanted_part(info, going, by) for name, info in everybody.items()}
    consumers = {name: info for name, info in everybody.items() if parts[name].messages.most}
    taken = {
        name: parts[name].messages.most
        if all(map(goes_whole, filters_of(info["config"])))
        else state.get("messages", 0)
        for name, info in consumers.items()
    }
    unprocessed = {
        name: _with_arrivals(
            unprocessed_deleted_messages(stream, info, taken[name], parts[name], view), parts[name], arrived
        )
        for name, info in consumers.items()
    }
    late = sorted(
        (name for name in unprocessed if unprocessed[name].most), key=lambda name: (-unprocessed[name].most, name)
    )
    words = _late_consumers_text(consumers, late, unprocessed, len(everybody)) + _bounds_reason(
        stream, consumers, unprocessed, going, view, arrived
    )
    if why := view.snapshot.unknown.get(Scope.consumers(stream)):
        words = f"its consumers could not be read ({why}), so who has not processed them is unknown"
    text = (f"; {words}" if words else "") + lagging_text(stream, view)
    numbers = (exactly(0), *unprocessed.values())
    affects = (*dependants.consumers(stream, late, view), *dependants.streams(lagging_copies(stream, view), view))
    return Unread(
        text, Amount(max(number.least for number in numbers), max(number.most for number in numbers)), affects
    )


def _with_arrivals(unprocessed: Amount, part: LostMessages, arrived: int) -> Amount:
    """The same with what came in since the consumer was read."""
    return Amount(unprocessed.least, min(unprocessed.most + arrived, part.messages.most))


def _late_consumers_text(
    consumers: Mapping[str, Info], late: list[str], unprocessed: Mapping[str, Amount], everybody: int
) -> str:
    """`consumers` want some of what is deleted; the stream has `everybody`."""
    if not late:
        choosy = any(not _takes_all(info) for info in consumers.values())
        wanted_text = f"what {'it wants' if len(consumers) == 1 else 'they want'} of them" if choosy else "them"
        return f"{_all_consumers_text(consumers, everybody)} processed {wanted_text}" if consumers else ""
    first, *others = ((consumer_label(name, consumers[name]), amount(unprocessed[name])) for name in late)
    texts = [f"{name} {number}" for name, number in others[: NAMED - 1]]
    if rest := len(others) - len(texts):
        is_certain = all(unprocessed[name].least for name in late[-rest:])
        texts.append(f"{'' if is_certain else 'perhaps '}{some(rest, 'more consumer')} some of them")
    return listed([f"{first[0]} has not processed {first[1]} of them", *texts])


def _bounds_reason(
    stream: str,
    consumers: Mapping[str, Info],
    unprocessed: Mapping[str, Amount],
    going: LostMessages,
    view: View,
    arrived: int,
) -> str:
    """Why there are only bounds, although the deleted messages themselves were counted."""
    in_bounds = [info for name, info in consumers.items() if not unprocessed[name].is_exact]
    if not in_bounds or not going.messages.is_exact:
        return ""
    if arrived:
        return " (only bounds: clients published while this was counted)"
    if (
        going.before
        and not view.snapshot.config_of(stream).get("allow_direct")
        and not all(_takes_all(reader) for reader in in_bounds)
    ):
        return (
            " (only bounds: without allow_direct, a server does not count a filter's messages from a given sequence on)"
        )
    given_up = any(given_up_messages(stream, info, view) for info in in_bounds)
    return f" (only bounds: {' and '.join(_unknown_facts_texts(in_bounds, going, given_up=given_up))})"


def _unknown_facts_texts(in_bounds: Sequence[Info], going: LostMessages, *, given_up: bool) -> Iterator[str]:
    """What nobody knows of these consumers. One without acknowledgements has processed what it has received."""
    if given_up:
        yield "the server does not tell which messages a consumer gave up at max_deliver"
        return
    is_unacknowledged = any(reader.get("num_ack_pending") for reader in in_bounds)
    if is_unacknowledged:
        yield "the server does not tell which messages a consumer has acknowledged"
    if not is_unacknowledged or (going.before is None and any(reader.get("num_pending") for reader in in_bounds)):
        yield "which of them a consumer has yet to receive was not counted"


def _all_consumers_text(consumers: Mapping[str, Info], everybody: int) -> str:
    if len(consumers) == 1:
        return f"its consumer {next(iter(consumers))} has"
    if len(consumers) < everybody:
        return f"its {len(consumers)} consumers that want some of them have"
    return "both its consumers have" if len(consumers) == 2 else f"all its {len(consumers)} consumers have"


def consumer_label(name: str, info: Info) -> str:
    """Its name, with a word beforehand if it is ephemeral."""
    return name if is_durable(info) else f"ephemeral {name}"


def unread_consumers(stream: str, view: View) -> dict[str, str]:
    """Consumers that exist but could not be read, each with the reason."""
    unknown = view.snapshot.unknown
    prefix = Scope.consumer(stream, "")
    reasons = {scope.removeprefix(prefix): why for scope, why in unknown.items() if scope.startswith(prefix)}
    if why := unknown.get(Scope.consumers(stream)):
        reasons[SOME] = why
    return reasons


def unread_consumers_refusal(stream: str, state: Info, view: View) -> Finding | None:
    """A refusal to delete a stream whose consumers could not be read: they may belong to others."""
    unread = unread_consumers(stream, view) if state.get("consumer_count", 1) else {}
    if not unread:
        return None
    who, why = min(unread.items())
    called = "its consumers" if who == SOME else f"its consumer {who}"
    more = f", nor could {some(len(unread) - 1, 'other')}" if len(unread) > 1 else ""
    return refusal(
        "",
        f"{called} could not be read ({why}){more}: this deletes consumers that may belong to others",
        "plan again when all of its consumers can be read, as a user who may list them",
        quantities={"unread": len(unread)},
    )


def _takes_all(info: Info) -> bool:
    return filters_of(info["config"]) == EVERYTHING


def _wanted_part(info: Info, going: LostMessages, by: Mapping[str, int] | None) -> LostMessages:
    """What is deleted of everything that a consumer wants."""
    mine = filters_of(info["config"])
    if by is None or _takes_all(info):
        return going
    number = sum(many for subject, many in by.items() if any(matches(subject, pattern) for pattern in mine))
    return replace(going, messages=Amount(min(number, going.messages.least), min(number, going.messages.most)))


def unprocessed_messages(stream: str, info: Info, view: View) -> Amount:
    """Messages a consumer still wants: not delivered yet, or delivered and not acknowledged."""
    return total((undelivered_messages(stream, info, view), exactly(int(info.get("num_ack_pending", 0)))))


def claimed_messages(stream: str, info: Info, view: View) -> Amount:
    """Messages that an interest stream keeps for a consumer: what it has not processed, without messages in flight that are not stored any
    more or that its filter has left out since they were delivered."""
    return total((undelivered_messages(stream, info, view), _claimed_in_flight(stream, info, view)))


# Measured: a filter that changes leaves messages of the old one in flight, and so does a deletion of messages that the filter
# does not match by then, or a purge of a subject after the first message was acknowledged.
def _claimed_in_flight(stream: str, info: Info, view: View) -> Amount:
    """The server tells how many messages are in flight, not which: perhaps all those that lie between its positions and are not
    stored, or not matched by its filter."""
    in_flight = int(info.get("num_ack_pending", 0))
    span = max(0, _sequence(info, "delivered") - _sequence(info, "ack_floor"))
    others = max(0, span - _matched_between(stream, info, view))
    above = in_flight - passed_in_flight(info)
    return Amount(max(0, above - others), above)


def _matched_between(stream: str, info: Info, view: View) -> int:
    """How many stored messages its filter matches between what is acknowledged and the last one delivered, at least."""
    floor, ahead = _sequence(info, "ack_floor"), undelivered_messages(stream, info, view).most
    answers = [view.facts.get(question) for question in _unacknowledged_questions(stream, info)]
    counts = [int(answer["messages"]) for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    if len(counts) == len(answers):
        return max(0, sum(counts) - ahead)
    state = view.snapshot.state_of(stream)
    stored = exactly(int(state.get("messages", 0)))
    matched = stored if _takes_all(info) else _staying_wanted(stream, info, 1, stored, view)
    early = 0 if _keeps_unacknowledged(stream, info, view) else max(0, floor - int(state.get("first_seq", 1)) + 1)
    return max(0, matched.least - ahead - early)


def _unacknowledged_questions(stream: str, info: Info) -> list[MessagesFrom]:
    start = _sequence(info, "ack_floor") + 1
    return [MessagesFrom(stream=stream, start=start, filter=subject) for subject in filters_of(info["config"])]


# Measured: of a consumer that had got the last of each of three subjects, 30 messages later, the server said 30; after its
# restart it said 3, and 0 once these had come, and delivered 30.
def undelivered_messages(stream: str, info: Info, view: View) -> Amount:
    """Messages that a consumer has yet to deliver. One that began with the last message of each subject is given all later
    ones, but its server counts one of each subject after a restart, or a change of its filter."""
    number = int(info.get("num_pending", 0))
    if not _began_with_last(info):
        return exactly(number)
    state = view.snapshot.state_of(stream)
    span = int(state.get("last_seq", 0)) - _sequence(info, "delivered")
    answers = (
        [view.facts.get(question) for question in uncounted_questions_of_consumer(stream, info)] if span > 0 else []
    )
    counted = [answer["messages"] for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    least = sum(counted)
    is_counted = len(counted) == len(answers) and number <= least
    return Amount(max(number, least), max(number, least if is_counted else min(span, int(state.get("messages", 0)))))


def uncounted_questions(stream: str, view: View) -> Iterator[MessagesFrom]:
    """How many messages come after the last one of each consumer whose server may not have counted them."""
    for info in view.snapshot.consumers.get(stream, {}).values():
        yield from uncounted_questions_of_consumer(stream, info)


def _began_with_last(info: Info) -> bool:
    return bool(info["config"].get("deliver_policy") == "last_per_subject")


def uncounted_questions_of_consumer(stream: str, info: Info) -> list[MessagesFrom]:
    """How many messages come after its last one, if its server may not have counted them."""
    start = _sequence(info, "delivered") + 1
    wanted = filters_of(info["config"]) if _began_with_last(info) else ()
    return [MessagesFrom(stream=stream, start=start, filter=subject) for subject in wanted]


def unprocessed_deleted_messages(stream: str, info: Info, messages: int, going: LostMessages, view: View) -> Amount:
    """How many of the deleted messages this consumer still wants. `messages`: how many stored ones it matches at most.

    The consumer may have been read later than its stream, after more messages had arrived. The number never exceeds the
    deleted messages.
    """
    wanted = unprocessed_messages(stream, info, view)
    least, most = max(0, wanted.least - (messages - going.messages.least)), min(wanted.most, going.messages.most)
    given_up = given_up_messages(stream, info, view)
    if going.before is not None:
        remain = Amount(messages - going.messages.most, messages - going.messages.least)
        early, late = (
            _wanted_before(
                info,
                kept,
                remain if _takes_all(info) else _staying_wanted(stream, info, kept, remain, view),
                view,
                stream,
            )
            for kept in going.before[:2]
        )
        least, most = max(least, early.least), min(most, late.most)
    return Amount(min(least, most), min(most + given_up, going.messages.most))


def given_up_messages(stream: str, info: Info, view: View) -> int:
    """How many stored messages a consumer gave up at `max_deliver` and nobody else wants, at most: a work queue or an interest
    stream keeps them, although the consumer is not given them any more."""
    limited = info["config"].get("max_deliver", -1) > 0
    if not limited or view.snapshot.config_of(stream).get("retention") not in ("workqueue", "interest"):
        return 0
    state = view.snapshot.state_of(stream)
    everybody = [
        info for where in (view.snapshot.consumers, view.snapshot.copiers) for info in where.get(stream, {}).values()
    ]
    wanted = least_wanted_together(
        (filters_of(info["config"]), claimed_messages(stream, info, view).least) for info in everybody
    )
    return max(0, min(int(state.get("messages", 0)) - wanted, _sequence(info, "delivered")))


def least_wanted_together(wanted: Iterable[tuple[Sequence[str], int]]) -> int:
    """How many messages consumers with these filters want together, at least: of those that take the same messages, only
    one is counted."""
    counted, number = SubjectList(), 0
    for subjects, wants in sorted(wanted, key=lambda pair: -pair[1]):
        if wants and not any(map(counted.colliding, subjects)):
            counted.extend(subjects)
            number += wants
    return number


def _staying_wanted(stream: str, info: Info, kept: int, remain: Amount, view: View) -> Amount:
    """How many messages that a consumer wants stay: of each filter, counted or in bounds."""
    stay = total(_count_of_filter(stream, subject, kept, remain.most, view) for subject in filters_of(info["config"]))
    return Amount(min(stay.least, remain.most), min(stay.most, remain.most))


def _count_of_filter(stream: str, filter: str, kept: int, most: int, view: View) -> Amount:
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


def _wanted_before(info: Info, kept: int, staying: Amount, view: View, stream: str) -> Amount:
    """Wanted messages with a sequence below `kept`; `staying`: how many that it matches have that sequence or a higher
    one."""
    delivered, floor = _sequence(info, "delivered"), _sequence(info, "ack_floor")
    pending, unacknowledged = undelivered_messages(stream, info, view), info.get("num_ack_pending", 0)
    if _began_with_last(info):  # it need not get everything that stays
        staying = Amount(0, staying.most)
    if delivered < kept:
        least, most = max(0, pending.least - staying.most), max(0, pending.most - staying.least)
        bounds = Amount(least, min(kept - 1 - delivered, most))
        return Amount(bounds.least + unacknowledged, bounds.most + unacknowledged)
    given = Amount(max(0, staying.least - pending.most), max(0, staying.most - pending.least))
    least, most = max(0, unacknowledged - given.most), min(unacknowledged, max(0, kept - 1 - floor))
    if _acknowledges_in_order(info) or _keeps_unacknowledged(stream, info, view):
        most = min(most, max(0, unacknowledged - given.least))
    return Amount(min(least, most), most)


def _acknowledges_in_order(info: Info) -> bool:
    """Everything that it received after the ack floor is unacknowledged."""
    return bool(info["config"].get("ack_policy") == "all")


def _keeps_unacknowledged(stream: str, info: Info, view: View) -> bool:
    """Everything that it received and that is still stored is unacknowledged. Messages that were tried too often stay
    as well."""
    tries: int = info["config"].get("max_deliver", -1)
    return bool(tries <= 0 and view.snapshot.config_of(stream).get("retention") == "workqueue")


def _sequence(info: Info, of: str) -> int:
    return int(info.get(of, {}).get("stream_seq", 0))
