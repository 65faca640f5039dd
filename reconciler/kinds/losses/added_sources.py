"""Where a new or changed source of a stream, or a new copy, starts: what it copies at once, and what it leaves out.

If the stream still stores a copy from this source, the server continues after the last one, whatever start is written; from
2.15 on not if its origin was recreated since. Any other source starts where it says, or else with the first message of its
origin. But if the stream has lost its own first messages, a source starts no earlier than the newest message there, and what
its origin stores from before is never copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_14, V2_15
from reconciler.kinds.fields.times import ZERO, moment
from reconciler.kinds.losses.over_limit import state_of, stream_of
from reconciler.kinds.losses.shrinking import deleted_on_subjects, loss_of_stream
from reconciler.kinds.losses.unprocessed import taking_questions
from reconciler.kinds.stream_config.mirrors_and_sources import origin_of, source_identity, source_index
from reconciler.kinds.stream_config.origins import fed_stream, given_subjects, is_fed_durably, taken_subjects
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subject_lists import intersections, widest_subjects
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import BUCKET, encode_key
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.questions import CopiedUpTo, MessagesFrom, MessagesSince

Source = Mapping[str, Json]
Question = CopiedUpTo | MessagesFrom | MessagesSince
MANY = 10
"""With more subjects of an origin, they are not counted one by one."""


class LastCopy(NamedTuple):
    """How far a source copied an earlier stream of the name of its origin."""

    at: int
    """A sequence of that stream; 0: nobody knows whether it copied any."""
    is_known: bool
    """Otherwise it may have copied more."""


class SourceStart(NamedTuple):
    """Where a source starts."""

    at: int | str = 1
    """A sequence of its origin, or a time."""
    is_known: bool = True
    """Otherwise the source may have existed before, and continues after its last copy. Only the headers of messages
    tell. If many newer messages of the same subjects came through other sources, all of these would have to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """A source, or a mirror, that did not exist before, and whose origin lies in this account."""

    path: str
    source: Source
    change: Change
    view: View

    @property
    def origin(self) -> str:
        """The stream that is copied from."""
        return str(self.source["name"])

    @property
    def continues_after(self) -> int | None:
        """The message of its origin after which the server continues with this source, whatever else of it changes. From 2.14 on a
        work queue or an interest stream feeds its copies through a durable consumer, and the only source from there keeps that."""
        return int(self._feeder["ack_floor"]["stream_seq"]) if self._feeder else None

    @property
    def unacknowledged_count(self) -> int:
        """How many messages behind that the stream has, and has not acknowledged yet: it gets them once more, unless it does."""
        return int(self._feeder.get("num_ack_pending", 0)) if self._feeder else 0

    @property
    def refused_by(self) -> Sequence[str]:
        """Consumers of a work queue that take the same messages: the server lets its own consumer, which feeds this source, take no
        filter beside them."""
        if self.continues_after is None or retention_afterwards(self.origin, self.view) != "workqueue":
            return ()
        subjects, live = taken_subjects(self.source), self.view.snapshot.consumers.get(self.origin, {})
        return sorted(
            name
            for name, info in live.items()
            if subjects != [">"] and intersections(filters_of(info["config"]), subjects)
        )

    @property
    def _feeder(self) -> Mapping[str, Json] | None:
        origin = self.view.snapshot.config_of(self.origin)
        if self.change.action is not Action.UPDATE or not is_fed_durably(origin, self.view.target.version):
            return None
        sides = (self.change.was("sources") or (), self.change.becomes("sources") or ())
        every = [[entry for entry in side if origin_of(entry) == origin_of(self.source)] for side in sides]
        if [len(same) for same in every] != [1, 1] or any("consumer" in entry for same in every for entry in same):
            return None
        fed = self.view.snapshot.copiers.get(self.origin, {}).values()
        mine = [info for info in fed if fed_stream(info) == stream_of(self.change)]
        return mine[0] if len(mine) == 1 else None

    @property
    def start(self) -> SourceStart:
        """It continues after its last copy still stored; without one it starts where the file says, not before
        `earliest`."""
        if (after := self.continues_after) is not None:
            return SourceStart(after + 1, is_known=not self.unacknowledged_count)
        copied = self._answer(self.copied_so_far) if self.copied_so_far else {"seq": 0}
        if copied and copied.get("seq") and not self._came_from_another(copied):
            return SourceStart(copied["seq"] + 1)
        if copied and copied.get("least") and not self._came_from_another(copied):
            return SourceStart(copied["least"] + 1, is_known=False)
        is_known = copied is not None and "seq" in copied
        if self.source.get("opt_start_seq"):
            return SourceStart(self.source["opt_start_seq"], is_known)
        times = [time for time in (self.source.get("opt_start_time"), self.earliest_time) if time]
        return SourceStart(max(times, key=moment) if times else 1, is_known and not self._may_lose_its_first)

    def _came_from_another(self, copied: Mapping[str, Json]) -> bool:
        """Was the origin created after this copy, which tells so? The server begins again with the new one."""
        created = self.view.snapshot.streams.get(self.origin, {}).get("created")
        return bool(created and copied.get("stored")) and moment(str(created)) > moment(copied["stored"])

    @property
    def earliest_time(self) -> str | None:
        """The time before which servers let it copy nothing, unless it starts at a sequence."""
        state = state_of(self.change)
        newest = state.get("last_ts")
        has_lost = (state.get("first_seq", 0) > 1 or self._loses_its_first) and newest != ZERO
        is_late = bool(state.get("messages") and self.source.get("opt_start_time"))
        return str(newest) if newest and (has_lost or is_late) else None

    @property
    def _loses_its_first(self) -> bool:
        """Does the same change delete the first messages of the stream that copies? It does so before the source begins."""
        loss = loss_of_stream(stream_of(self.change), self.view)
        return bool(loss and loss.is_prompt and loss.going and loss.going.before and loss.going.messages.least)

    @property
    def why_start_is_uncertain(self) -> str:
        """Why it may start elsewhere."""
        loses = "this change deletes the first messages of the stream before it begins"
        return loses if self._may_lose_its_first else "an earlier source had the same filter and transforms"

    @property
    def _may_lose_its_first(self) -> bool:
        return loss_of_stream(stream_of(self.change), self.view) is not None and self.earliest_time is None

    def questions(self) -> Iterator[Question]:
        """How far the source has copied before, and how many messages its origin stores from the start on."""
        of_origin = _questions_from(self.origin, 1, self._origin_subjects) if self.copied_so_far else []
        yield from of_origin
        if any(question not in self.view.facts for question in of_origin):
            return
        if self.copied_so_far:
            yield self.copied_so_far
        if self._starts_later and self.since is None:
            yield self._search
        yield from self.count_questions(taken_subjects(self.source))

    def count_questions(self, subjects: Sequence[str]) -> Iterator[Question]:
        """What tells how many of these it copies, and how many the stream already stores."""
        for start in dict.fromkeys((1, self.start.at, *self._first_kept, *([self.since] if self.since else ()))):
            yield from _questions_from(self.origin, start, subjects)
        if self._was_filled_before:
            yield from _questions_from(stream_of(self.change), 1, taken_subjects(self.source))

    def copies(self, subjects: Sequence[str]) -> Amount:
        """How many messages on these subjects it copies at once; at most all that its origin then stores."""
        if self.refused_by:
            return exactly(0)
        start, stays, ahead = self.start, self._stays(subjects), self._count_from(self.start.at, subjects)
        if ahead is None:  # not every server counts from the middle of a stream
            return Amount(0, min(stays.most, self._most_messages_ahead))
        before = 0 if self._first_kept else (self._count_from(1, subjects) or ahead) - ahead
        least = max(0, min(ahead, stays.least - before)) if start.is_known else 0
        return Amount(least, min(ahead, stays.most))

    @property
    def _most_messages_ahead(self) -> int:
        """How many messages its origin can store from the start on, if that is a sequence."""
        state, start = self.origin_state, self.start.at
        messages = int(state.get("messages", 0))
        last = max(int(state.get("last_seq", 0)), messages)
        return max(0, last - start + 1) if isinstance(start, int) else messages

    def _stays(self, subjects: Sequence[str]) -> Amount:
        """How many messages on these subjects its origin stores after the plan's deletions."""
        stored, counted = int(self.origin_state.get("messages", 0)), self._count_from(1, subjects)
        all_of_it = Amount(0, stored) if counted is None else exactly(counted)
        kept = [number for sequence in self._first_kept if (number := self._count_from(sequence, subjects)) is not None]
        if kept and len(kept) == len(self._first_kept):
            return Amount(kept[-1], kept[0])
        loss = loss_of_stream(self.origin, self.view)
        lost = deleted_on_subjects(loss, subjects, all_of_it.most, stored - all_of_it.most) if loss else exactly(0)
        return Amount(max(0, all_of_it.least - lost.most), max(0, all_of_it.most - lost.least))

    @property
    def _first_kept(self) -> Sequence[int]:
        """If the same plan deletes the oldest messages of its origin: the first that stays, at least and at most."""
        loss = loss_of_stream(self.origin, self.view)
        return loss.going.before[:2] if loss and loss.going and loss.going.before else ()

    @property
    def stored_messages(self) -> Amount:
        """How many messages that it may take its origin stores after the plan's deletions."""
        return self._stays(taken_subjects(self.source))

    @property
    def lands_on(self) -> Sequence[str]:
        """Subjects under which its copies are stored, unless the stream renames all that it stores. `>`: nobody knows."""
        if self._subject_transforms:
            return given_subjects(self.source)
        return intersections(taken_subjects(self.source), self._ever_stored)

    @property
    def held_messages(self) -> int:
        """How many of the messages it copies at once the stream may already store, through sources that are removed or
        change."""
        if not self._was_filled_before or self.continues_after is not None:
            return 0
        subjects = taken_subjects(self.source)
        stored_here, coming = self._stored_in(stream_of(self.change), 1, subjects), self.copies(subjects)
        return coming.most if stored_here is None else min(coming.most, stored_here)

    @property
    def _was_filled_before(self) -> bool:
        """Did the same origin fill it before? Renamed messages lie elsewhere, and are not searched."""
        copied = self._answer(self.copied_so_far) if self.copied_so_far else None
        return bool(copied and copied.get("others")) and not self._subject_transforms

    @property
    def left_out(self) -> Amount:
        """How many messages that its origin stores are never copied, although nothing in the file says so."""
        if self.continues_after is not None:
            return self._passed_over
        written_start = self.source.get("opt_start_seq") or self.source.get("opt_start_time")
        if written_start or not isinstance(self.start.at, str):
            return exactly(0)
        subjects = taken_subjects(self.source)
        stays, copied = self._stays(subjects), self.copies(subjects)
        least = stays.least - copied.most if self.start.is_known else 0
        return Amount(max(0, least), max(0, stays.most - copied.least))

    @property
    def passed_messages(self) -> Amount | None:
        """How many messages between the start time of the file and the start that servers choose instead are not copied.
        None: it starts as the file says, or after its last copy."""
        if not self._starts_later:
            return None
        subjects = taken_subjects(self.source)
        between = self._messages_between(self.since, self.start.at, subjects)
        is_kept = self.start.is_known and loss_of_stream(self.origin, self.view) is None
        most = min(between.most, self._stays(subjects).most)
        return Amount(min(between.least, most) if is_kept else 0, most)

    @property
    def since(self) -> int | None:
        """The first message of its origin since the start time of the file, or the next one to come; None: nobody looked, or it
        starts then."""
        if not self._starts_later:
            return None
        oldest, answer = self.origin_state.get("first_ts"), self.view.facts.get(self._search)
        if oldest and moment(self._search.since) < moment(oldest):
            return 1
        return int(answer.get("first") or self._next_sequence) if isinstance(answer, Mapping) else None

    @property
    def _search(self) -> MessagesSince:
        return MessagesSince(stream=self.origin, since=str(self.source["opt_start_time"]))

    @property
    def _starts_later(self) -> bool:
        """Do servers start it later than at the time that the file says?"""
        time, at = self.source.get("opt_start_time"), self.start.at
        if self.continues_after is not None or self.source.get("opt_start_seq") or not time:
            return False
        return isinstance(at, str) and moment(time) < moment(at)

    def _messages_between(self, start: int | None, end: int | str, subjects: Sequence[str]) -> Amount:
        """How many messages on these subjects its origin stores from the start on, and before the end."""
        state, last = self.origin_state, self._first_from(end, subjects)
        every, oldest = int(state.get("messages", 0)), int(state.get("first_seq", 1))
        since, ahead = (
            self._count_from(start or 1, subjects),
            self._count_from(end, subjects) if last != self._next_sequence else 0,
        )
        if start and since is not None and ahead is not None:
            return exactly(max(0, since - ahead))
        most = every if since is None else since
        if start is None or last is None:
            return Amount(0, most)
        sequences = max(0, last - max(start, oldest))
        missing = self._next_sequence - oldest - every if subjects == [">"] else sequences
        return Amount(max(0, sequences - missing), min(sequences, most))

    def _first_from(self, time: int | str, subjects: Sequence[str]) -> int | None:
        """The first message on these subjects from there on, or else the next one to come; None: nobody looked."""
        newest = self.origin_state.get("last_ts")
        if isinstance(time, str) and newest and moment(newest) < moment(time):
            return self._next_sequence
        answers = [self._answer(question) for question in _questions_from(self.origin, time, subjects)]
        return (
            min(int(answer.get("first") or self._next_sequence) for answer in answers if answer)
            if all(answers)
            else None
        )

    @property
    def _next_sequence(self) -> int:
        """The sequence of the next message that its origin will store."""
        return int(self.origin_state.get("last_seq", 0)) + 1

    @property
    def last_copy(self) -> LastCopy | None:
        """The last message of an earlier stream of this name that it copied, if it skips some of the new one for it: the server
        continues after that. Copies tell from 2.15 on which stream of a name they came from."""
        copied = self._answer(self.copied_so_far) if self.copied_so_far else None
        if copied is None or copied.get("stored"):
            return None
        last_copied = int(copied.get("seq") or copied.get("least") or 0)
        if last_copied:
            return LastCopy(last_copied, is_known="seq" in copied) if last_copied > self._last_of_origin else None
        is_new = self.origin not in self.view.snapshot.streams and self.view.target.version < V2_15
        return None if "seq" in copied or not is_new else LastCopy(0, is_known=False)

    @property
    def skipped_future_messages(self) -> int:
        """How many messages yet to come it skips, at least as far as anybody can tell."""
        return max(0, self.last_copy.at - self._last_of_origin) if self.last_copy else 0

    @property
    def is_on_record(self) -> bool:
        """Was an earlier stream of this name applied here? A mark stays of one that was removed."""
        marks = self.view.snapshot.entries.get(BUCKET, {})
        return any(encode_key(address) in marks for address in self.view.backed_by(self.origin))

    @property
    def continues_numbering(self) -> bool:
        """Does the file let a new origin continue the numbers of an earlier one?"""
        return not self.origin_state and self._last_of_origin > 0

    @property
    def _last_of_origin(self) -> int:
        if self.origin_state:
            return int(self.origin_state.get("last_seq", 0))
        origin_change = self.view.change_of_stream(self.origin)
        return int((origin_change.becomes("first_seq") if origin_change else None) or 1) - 1

    @property
    def _passed_over(self) -> Amount:
        """What matches only now and lies where the source has been already."""
        new, was = taken_subjects(self.source), self.change.was("sources") or ()
        old = [
            subject
            for source in was
            if origin_of(source) == origin_of(self.source)
            for subject in taken_subjects(source)
        ]
        stored, taken = (self._before_the_start(subjects) for subjects in (new, intersections(old, new)))
        least = 0 if stored is None or taken is None else max(0, stored - taken)
        if stored is None or self.unacknowledged_count:
            return Amount(least, max(least, self.stored_messages.most))
        return Amount(least, max(0, stored - (taken or 0)))

    def _before_the_start(self, subjects: Sequence[str]) -> int | None:
        every, ahead = self._count_from(1, subjects), self._count_from(self.start.at, subjects)
        return None if every is None or ahead is None else max(0, every - ahead)

    def _count_from(self, start: int | str, subjects: Sequence[str]) -> int | None:
        """How many messages its origin stores; None: nobody counted."""
        return self._stored_in(self.origin, start, subjects)

    def _stored_in(self, stream: str, start: int | str, subjects: Sequence[str]) -> int | None:
        answers = [self._answer(question) for question in _questions_from(stream, start, subjects)]
        counted = [int(answer["messages"]) for answer in answers if answer and "messages" in answer]
        return sum(counted) if len(counted) == len(answers) else None

    def _answer(self, question: Question) -> Mapping[str, Json] | None:
        answer = self.view.facts.get(question)
        return answer if isinstance(answer, Mapping) else None

    @property
    def copied_so_far(self) -> CopiedUpTo | None:
        """The question for its last copy. Nothing to ask if nothing is stored."""
        if not state_of(self.change).get("messages"):
            return None
        likely = (
            ()
            if self._subject_transforms
            else tuple(intersections(taken_subjects(self.source), self._subjects_to_come))
        )
        config = (self.change.live.state.get("config") or {}) if self.change.live else {}
        return last_copy_question(stream_of(self.change), config, self.source, self.lands_on, likely)

    @property
    def _subjects_to_come(self) -> Sequence[str]:
        """What its origin stores once this plan is applied."""
        declared = self.view.desired.get(Address.of("stream", self.origin))
        return (declared.config.get("subjects") or ()) if declared else self._origin_subjects

    @property
    def _ever_stored(self) -> Sequence[str]:
        """Subjects of everything that its origin has ever stored. They are known if the origin still stores all of that
        under the subjects it declares: messages of other subjects in the stream are then no copies."""
        state, subjects = self.origin_state, self._origin_subjects
        is_whole = subjects and state.get("messages") == state.get("last_seq")
        return subjects if is_whole and self._count_from(1, subjects) == state.get("messages") else (">",)

    @property
    def _origin_subjects(self) -> Sequence[str]:
        """Empty if it declares too many to count."""
        subjects: Sequence[str] = self.view.snapshot.config_of(self.origin).get("subjects") or ()
        return subjects if len(subjects) <= MANY else ()

    @property
    def _subject_transforms(self) -> Sequence[Mapping[str, Json]]:
        return self.source.get("subject_transforms") or ()

    @property
    def origin_state(self) -> Mapping[str, Json]:
        """What the server says of the messages that its origin stores."""
        return self.view.snapshot.state_of(self.origin)


def last_copy_question(
    stream: str, config: Config, source: Source, lands_on: Sequence[str], likely: tuple[str, ...] = ()
) -> CopiedUpTo | None:
    """The question which message was the last that `stream`, with this `config`, copied through this source. None: the
    headers of its copies do not say so."""
    named, kept = source_index(source), tuple(widest_subjects(lands_on))
    if not named:
        return None
    if config.get("subject_transform"):
        return CopiedUpTo(stream=stream, source=named, subjects=(">",))
    is_narrower = likely != kept and len(likely) <= MANY
    return CopiedUpTo(stream=stream, source=named, subjects=kept, likely=likely if is_narrower else ())


def _questions_from(origin: str, start: int | str, subjects: Sequence[str]) -> list[MessagesFrom]:
    return [MessagesFrom(stream=origin, start=start, filter=subject) for subject in subjects]


def new_sources(change: Change, view: View) -> Iterator[NewSource]:
    """New sources of an existing stream, from streams that are there."""
    return (source for source in _added_sources(change, view) if source.origin in view.snapshot.streams)


def sources_of_new_streams(change: Change, view: View) -> Iterator[NewSource]:
    """New sources of an existing stream, from streams that the same plan creates."""
    for source in _added_sources(change, view):
        origin_change = view.change_of_stream(source.origin)
        if origin_change is not None and origin_change.action is Action.CREATE:
            yield source


def _added_sources(change: Change, view: View) -> Iterator[NewSource]:
    if change.action is not Action.UPDATE or not change.touches("sources"):
        return
    before = {source_identity(source, view.target.version) for source in change.was("sources") or ()}
    for source in _local_sources(None, change.becomes("sources"), change, view):
        if source_identity(source.source, view.target.version) not in before:
            yield source


def draining_sources(change: Change, view: View, config: Config) -> Iterator[NewSource]:
    """Sources of a stream with this configuration, new or existing, that begin to copy a stream that deletes what is
    copied."""
    is_new = change.action is Action.CREATE
    every = (
        _local_sources(config.get("mirror"), config.get("sources"), change, view)
        if is_new
        else new_sources(change, view)
    )
    return (source for source in every if deletes_copied(source.origin, view))


def _local_sources(
    mirror: Source | None, sources: Sequence[Source] | None, change: Change, view: View
) -> Iterator[NewSource]:
    """A source that copies through a consumer somebody made is left out: that consumer decides."""
    by_path = (
        {"mirror": mirror} if mirror else {f"sources[{index}]": entry for index, entry in enumerate(sources or ())}
    )
    for path, source in by_path.items():
        if "external" not in source and "consumer" not in source:
            yield NewSource(path=path, source=source, change=change, view=view)


def retention_afterwards(stream: str, view: View) -> str:
    """As declared, or else as it is live."""
    declared = view.desired.get(Address.of("stream", stream))
    config = declared.config if declared and not declared.external else view.snapshot.config_of(stream)
    return str(config.get("retention") or "limits")


def deletes_copied(stream: str, view: View) -> bool:
    """Does it delete messages that are copied and that no consumer wants? Interest streams do from 2.14 on."""
    retention = retention_afterwards(stream, view)
    return retention == "workqueue" or (retention == "interest" and view.target.version >= V2_14)


def questions(change: Change, view: View) -> Iterator[Question]:
    """What must be asked about sources that a stream gets, and about streams that delete what a new stream copies."""
    asking = [*new_sources(change, view)]
    if change.action is Action.CREATE and change.desired:
        asking += draining_sources(change, view, change.desired.config)
    for source in asking:
        yield from source.questions()
        if deletes_copied(source.origin, view):
            yield from taking_questions(source.origin, view)
    yield from (source.copied_so_far for source in sources_of_new_streams(change, view) if source.copied_so_far)
