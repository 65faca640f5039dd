"""What recreating an elastic group costs, and when it is impossible: pure arithmetic over what was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.renaming import Renaming
from reconciler.changes.view import View
from reconciler.engine.bindings import source_progress
from reconciler.kinds.elastic_group import recreation_steps, refilling
from reconciler.kinds.elastic_group.filters import (
    arrival_questions,
    arrived_messages,
    is_copying_extended,
    unmatched_messages,
)
from reconciler.kinds.elastic_group.immutable import QUEUE, fixed_fields
from reconciler.kinds.fields.times import moment
from reconciler.kinds.fields.words import amount, few, in_words, some, verb
from reconciler.kinds.group_records.another_name import redeclaration_recipe
from reconciler.kinds.group_records.group_record import members
from reconciler.kinds.group_records.group_rules import has_current_record
from reconciler.kinds.group_records.group_start import overflow_clause, stored_messages
from reconciler.kinds.stream_config.origins import group_creation_consents, group_removal_consents
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.units import show_quantity
from reconciler.model.wire.questions import MessagesFrom
from reconciler.model.wire.snapshot import Scope

Info = Mapping[str, Json]


class Obstacle(NamedTuple):
    reason: str
    fix: str


READABLE = "let this connection read bucket reconciler, and plan again"


def recreation_obstacle(change: Change, view: View) -> Obstacle | None:
    """Why nobody can tell where a new queue would have to start; None if that can be known."""
    name, stream = recreation_steps.queue_of(change), change.address.stream
    queue, source = recreation_steps.queue_info(change, view), _source(change, view)
    if not view.ledger_known:
        return Obstacle("bucket reconciler, which an interrupted replacement needs, could not be read here", READABLE)
    if source is None:
        return Obstacle(f"its source {stream} does not exist", f"create stream {stream} first")
    if queue is None:
        return _note_obstacle(
            name, stream, recreation_steps.noted_start(change), int(source["state"].get("last_seq", 0))
        )
    origins, retention = queue["config"].get("sources") or [], source["config"].get("retention", "limits")
    if [origin.get("name") for origin in origins] != [stream] or origins[0].get("external"):
        return Obstacle(
            f"its stream {name} is not fed by {stream} alone", _redeclaration_steps(change, retention, view)
        )
    return _retention_obstacle(change, retention, view) or _lag_obstacle(name, stream, queue)


def _retention_obstacle(change: Change, retention: str, view: View) -> Obstacle | None:
    """Messages that a queue copies from such a stream exist only in the queue, and without a queue an interest stream
    stores no new ones."""
    if retention == "limits":
        return None
    stream, name = change.address.stream, recreation_steps.queue_of(change)
    drops_clause = ", and drops new messages meanwhile" if retention == "interest" else ""
    reason = f"its source {stream} has {retention} retention: it deletes what {name} has copied{drops_clause}"
    return Obstacle(reason, _redeclaration_steps(change, retention, view))


def _redeclaration_steps(change: Change, retention: str, view: View) -> str:
    group, live = change.address, change.live.config if change.live else {}
    consents = group_creation_consents(group.stream, change.wanted, view)
    return redeclaration_recipe(
        Renaming(
            old=group,
            new=group,
            live=live,
            retention=retention,
            version=view.target.version,
            consents=consents,
            removal_consents=group_removal_consents(group.stream, view),
        )
    )


def _note_obstacle(name: str, stream: str, point: int | None, last: int) -> Obstacle | None:
    """The old queue is deleted. The position noted of it must lie within its source, or directly after its end."""
    again = "remove the group, and declare it again: then it starts with the first message that the stream holds"
    if point is None:
        return Obstacle(f"its stream {name} is gone, and so is its position", again)
    if point <= last + 1:
        return None
    replaced = (
        f"it was to start at message {point} of {stream}, which now ends at {last}: since then, the stream was replaced or lost "
        "its last messages"
    )
    return Obstacle(replaced, again)


def _lag_obstacle(name: str, stream: str, queue: Info) -> Obstacle | None:
    """From 2.15 on, an empty queue tells its position. Before, only a queue that has copied everything tells it."""
    position, state = source_progress(queue), queue["state"]
    if state.get("messages") or not state.get("last_seq") or position.get("seq") or not position.get("lag"):
        return None
    return Obstacle(
        f"its stream {name} is empty and {position['lag']} messages behind, and this server does not tell its position",
        f"plan again when {name} has caught up with {stream}, or holds a message",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a recreation means for members and messages."""

    instances: int
    """How many instances show at least: of a member's standbys only those whose pulls wait at that moment."""
    queued: int
    redelivered: Amount
    unmatched: Amount
    """How many of the queued messages the new filters leave out."""
    has_holes: bool = False
    """Members have processed queued messages out of order."""
    gone: int = 0
    """How many of the queued messages its source no longer stores, at most."""
    waiting: str = ""
    """What happens to queued messages that do not fit into the new queue."""
    source: str = ""
    """The source stream, if the new filters match other messages of it."""

    @property
    def quantities(self) -> dict[str, int | Amount]:
        """What a consent can bound, by name; `unmatched` only if the new filters leave something out."""
        left_out = {"unmatched": self.unmatched} if self.unmatched.most else {}
        return {"instances": self.instances, "queued": self.queued, "redelivered": self.redelivered, **left_out}

    def in_words(self) -> str:
        """One line for a message: which members must be restarted, where the new queue starts, and what is
        redelivered."""
        seen = f"at least {some(self.instances)} now" if self.instances else "none shows now"
        ended = f"running instances end ({seen}), and their owners must restart them"
        return "; ".join([ended, *self._beginning_texts(), self._redelivery_clause()])

    def _redelivery_clause(self) -> str:
        at_work = "members process messages until they end" if self.instances else ""
        if not self.redelivered.most:
            return f"nothing is redelivered{f', unless {at_work}' if at_work else ''}"
        also = [
            *(["also what members acknowledged out of order"] if self.has_holes else []),
            *([f"more if {at_work}"] if at_work else []),
        ]
        clause = (
            f"{amount(self.redelivered, 'message')} delivered before {verb(self.redelivered.most, 'are')} redelivered"
        )
        return ", ".join([clause, " and ".join(also)]) if also else clause

    def _beginning_texts(self) -> Iterator[str]:
        begins = f"the new queue starts with what is queued ({some(self.queued)} now)"
        if self.gone:
            begins += f" and its source still stores (up to {some(self.gone)} less)"
        if self.unmatched.most:
            yield f"{begins}, except {amount(self.unmatched)} that no filter matches any more: no member gets them"
        else:
            yield begins
        if self.waiting:
            yield f"it {self.waiting}"
        if self.source:
            yield f"it also gets what else its filters match in {self.source}, from the first unprocessed message on"


def costs(change: Change, view: View) -> Costs:
    """A pull request shows an instance. Messages that were processed out of order leave holes after the lowest one."""
    queue: Info = recreation_steps.queue_info(change, view) or {}
    state: Info = queue.get("state") or {}
    consumers = view.snapshot.consumers.get(recreation_steps.queue_of(change), {}).values()
    in_flight = sum(info.get("num_ack_pending", 0) for info in consumers)
    may_fly = state.get("messages", 0) if _has_member_without_consumer(change, view) else in_flight
    left_out, gone = (
        unmatched_messages(change, state.get("messages", 0), view),
        refilling.messages_gone(change, view) or 0,
    )
    staying = state.get("messages", 0) - left_out.least
    config, stream = change.wanted, change.address.stream
    return Costs(
        instances=sum(_least_instances(info) for info in consumers),
        queued=state.get("messages", 0),
        redelivered=Amount(max(0, in_flight - left_out.most - gone), may_fly + state.get("num_deleted", 0)),
        has_holes=bool(state.get("num_deleted")),
        unmatched=left_out,
        gone=gone,
        waiting=overflow_clause(config, staying, _bytes_of(state, staying), stream),
        source=stream if is_copying_extended(change) else "",
    )


def _has_member_without_consumer(change: Change, view: View) -> bool:
    """Does a member have no consumer? A stopped member's consumer disappears, and with it what it had not acknowledged."""
    names = members(change.live.config) if change.live else []
    return not view.snapshot.consumers.get(recreation_steps.queue_of(change), {}).keys() >= {*names}


def _bytes_of(queue: Info, messages: int) -> int:
    """Bytes of this many of its messages."""
    return int(queue.get("bytes", 0) * messages / max(1, queue.get("messages", 0)))


def _least_instances(info: Info) -> int:
    is_pinned = any(group.get("pinned_client_id") for group in info.get("priority_groups") or ())
    return max(int(info.get("num_waiting", 0)), int(is_pinned))


def questions(change: Change, view: View) -> Iterable[MessagesFrom]:
    """How much of its source a group takes that has to be recreated: it tells how fast the new queue fills."""
    return arrival_questions(change, view) if change.intent or fixed_fields(change) else ()


def consequences(change: Change, view: View) -> Iterable[Consequence]:
    """The fate of members and messages when the group is recreated, or its queue, which somebody deleted."""
    if change.was(QUEUE) == "missing" and not recreation_steps.noted_start(change) and has_current_record(change):
        yield from _missing_queue_consequences(change, view)
    if change.action is not Action.REPLACE:
        return
    if change.live is None or not fixed_fields(change):  # the rest of one that was interrupted
        yield from _resumed_consequences(change, view)
        return
    if change.touches("max_members", "partitioning_filters"):
        yield Consequence(
            message="Keys move between partitions; all members end first, so no two of them work on one key"
        )
    if filling := _filling_sentence(change, view):
        yield Consequence(message=filling)


def is_queue_lost(change: Change) -> bool:
    """Somebody deleted the queue of a group that was applied, and no run has noted where a new one starts."""
    return (
        change.was(QUEUE) == "missing"
        and change.owned is not None
        and change.intent is None
        and has_current_record(change)
    )


def has_source_deleted_messages(change: Change, view: View) -> bool:
    """Has its source deleted any message? A queue may have held one of these."""
    state = (_source(change, view) or {}).get("state") or {}
    return bool(state.get("num_deleted") or state.get("first_seq", 0) > 1)


def _missing_queue_consequences(change: Change, view: View) -> Iterable[Consequence]:
    """Only the old queue knew what was processed, and only it held what its source no longer stores."""
    stream, state = change.address.stream, (_source(change, view) or {}).get("state") or {}
    number, config = stored_messages(change, view), change.wanted
    if not number:
        return
    if not is_queue_lost(change):  # otherwise a rule says it, and asks for consent
        held = amount(Amount(0, number), "message")
        yield Consequence(
            message=f"Its queue starts with everything that {stream} holds: {held}, whatever members have processed before"
        )
    if waiting := overflow_clause(config, number, int(state.get("bytes", 0)), stream):
        yield Consequence(message=f"{'The queue' if is_queue_lost(change) else 'It'} {waiting}")


def _resumed_consequences(change: Change, view: View) -> Iterable[Consequence]:
    noted, point, stream = (
        recreation_steps.noted_start(change),
        recreation_steps.resume_start(change, view),
        change.address.stream,
    )
    if point and recreation_steps.queue_info(change, view) is None:
        why = "noted before the old one was deleted"
        if point != noted:
            why = f"since {stream} was recreated or lost its last messages, up to {noted}"
        yield Consequence(message=f"The new queue starts at message {point} of {stream}, {why}")
    if change.live is None:
        yield Consequence(message=_ended_members_sentence(change, view))


def _ended_members_sentence(change: Change, view: View) -> str:
    """The members were told to end when the record was deleted. Whether they did, only their consumers tell."""
    name = recreation_steps.queue_of(change)
    remaining = sorted(view.snapshot.consumers.get(name, {}))
    if remaining:
        still = "still has a consumer" if len(remaining) == 1 else "still have consumers"
        return f"Its members were told to end, but {few(remaining)} {still}; the owners of all must restart them"
    if view.snapshot.unknown.get(Scope.consumers(name)):
        return "Its members were told to end, and their owners must restart them"
    return "Its members have ended, and their owners must restart them"


def _filling_sentence(change: Change, view: View) -> str | None:
    """Until when members must be back. The rate is only known as an average over what the source retains."""
    source = _source(change, view)
    state: Info = source["state"] if source else {}
    room = _room_left(change, view, state)
    if room and not room[0]:
        return f"Its buffer of {room[1]} is full at once, and copies more only as members process messages"
    if (seconds := _seconds_stored(state)) is None:
        return None
    if seconds < SHORTEST_SPAN:
        return f"How fast the queue fills is not known: what {change.address.stream} holds arrived within {max(seconds, 0.1):.2g} s"
    messages = arrived_messages(change, view)
    if messages is None or messages < 2:
        return f"How fast the queue fills is not known, for it takes only part of what {change.address.stream} holds"
    stream, rate = change.address.stream, (messages - 1) / seconds
    those = "messages" if messages == state["messages"] else "messages on its subjects"
    rate_clause = f"At {stream}'s average of {rate:.3g} {those} a second over what it retains, "
    if room is None:
        return f"{rate_clause}the queue grows without limit until members work"
    free, bound = room
    after = in_words(int(free / rate) * 1_000_000_000, "duration")
    return f"{rate_clause}its buffer of {bound} is full after about {after}; then it copies nothing more until members work"


def _room_left(change: Change, view: View, source: Info) -> tuple[float, str] | None:
    """How many more messages fit beside what is queued and what its source still holds for it, by the limit that is
    reached first; None: it has no limit."""
    info: Info = recreation_steps.queue_info(change, view) or {}
    queue: Info = info.get("state") or {}
    queued, outside = queue.get("messages", 0), int(source_progress(info).get("lag") or 0) if info else 0
    staying = queued - unmatched_messages(change, queued, view).most
    size = source.get("bytes", 0) / max(1, source.get("messages", 0))
    bounds = []
    if most := change.becomes("max_buffered_msg"):
        bounds.append((float(most - staying - outside), some(most, "message")))
    if (most := change.becomes("max_buffered_bytes")) and size:
        left_over = (most - _bytes_of(queue, staying)) / size - outside
        bounds.append((left_over, f"{show_quantity('bytes', most)}, by the average size of its messages,"))
    left, bound = min(bounds, default=(0.0, ""))
    return (max(left, 0.0), bound) if bounds else None


SHORTEST_SPAN = 60
"""Seconds. Messages that arrived in less time were a burst, and do not tell how fast messages arrive."""


def _seconds_stored(state: Info) -> float | None:
    """Between the first and the last stored message; None if there are not two."""
    if state.get("messages", 0) < 2 or not state.get("first_ts") or not state.get("last_ts"):
        return None
    return (moment(state["last_ts"]) - moment(state["first_ts"])).total_seconds()


def _source(change: Change, view: View) -> Info | None:
    return view.snapshot.streams.get(change.address.stream)
