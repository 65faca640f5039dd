"""Messages that an interest stream acknowledges and does not store, and those that a work queue stores for nobody: no consumer
wants their subject, and nothing copies it.

A server looks at the subject after `subject_transform`, and at the filters of all consumers that exist: durable and ephemeral
ones, paused ones, push consumers to which nobody listens, and those through which it feeds mirrors and sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import listed_few, some
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.unprocessed import consumers_afterwards, unread_consumers
from reconciler.kinds.stream_config.origins import (
    copied_entries,
    copies_afterwards,
    copies_now,
    feeds_in_other_accounts,
    given_subjects,
)
from reconciler.kinds.subjects.filters import EVERYTHING, filters_of
from reconciler.kinds.subjects.subject_lists import SubjectList, intersections
from reconciler.kinds.subjects.subject_part import SubjectPart, transformed_subjects
from reconciler.kinds.subjects.transforms import published_as
from reconciler.model.resource import Address, Config, Json
from reconciler.model.units import show_duration


class UnwantedSubjects(NamedTuple):
    """What an interest stream does not store once this plan is applied, and a work queue stores for nobody."""

    lost: list[SubjectPart]
    """What somebody wanted before."""
    new: list[SubjectPart]
    """What an interest stream takes for the first time. A work queue keeps that until somebody comes."""
    words: str
    """How to call messages, whose subjects may be those after a transform, and whether they are stored."""
    caveat: str
    """Why it is not certain."""
    stay: str = ""
    """How long a work queue keeps them, and what happens when it is full; empty: they are not stored."""

    def text(self, parts: Sequence[SubjectPart], stream: str) -> str:
        """The fate of these parts, in a sentence."""
        messages = self.words.format(listed_few([f"on {part}" for part in parts]))
        takes = "takes" if self.stay else "wants"
        return f"{messages} no consumer of {stream} {takes} them{self.caveat}{self.stay}"


NOTHING = UnwantedSubjects([], [], "", "")
NEED_READERS = ("interest", "workqueue")
"""How streams retain messages that are there to be processed."""


class _Zone(NamedTuple):
    """Subjects that one transform changes, or those that it does not."""

    within: str = ">"
    outside: tuple[str, ...] = ()
    transform: Mapping[str, Json] | None = None

    def published_subjects(self, filters: Iterable[str]) -> list[str]:
        """What is published that is stored under these."""
        if self.transform is None:
            return list(filters)
        return [one for each in filters if (one := published_as(each, self.transform)) is not None]


def unwanted_subjects(stream: str, view: View) -> UnwantedSubjects:
    """Compare who wants what of the stream before and after this plan."""
    before, after = view.snapshot.config_of(stream), config_afterwards(stream, view)
    if after is None or after.get("retention") not in NEED_READERS or after.get("sealed"):
        return NOTHING
    turns = before.get("retention") != after.get("retention")
    if turns and after.get("retention") == "workqueue":
        return NOTHING  # a new one
    wanted = EVERYTHING if turns else tuple(_subjects_wanted_now(stream, view))
    wanted_then = tuple(_subjects_wanted_afterwards(stream, view))
    if before is after and set(wanted) <= set(wanted_then):
        return NOTHING
    return _compare_configs(stream, (before, wanted), (after, wanted_then), view)


def config_afterwards(stream: str, view: View) -> Config | None:
    """The configuration of a stream once this plan is applied; None: it does not exist then."""
    change = next(filter(None, map(view.changes.get, view.backed_by(stream))), None)
    if change and change.action in (Action.DELETE, Action.ABSENT):
        return None
    if change and change.action.writes and change.desired and not change.desired.external:
        return view.kinds[change.address.kind].as_stream(change.desired)
    return view.snapshot.config_of(stream) or None


def unwanted_with_same_readers(stream: str, view: View) -> UnwantedSubjects:
    """The same if only the stream itself changed, and everybody wanted what they want now."""
    before, after = view.snapshot.config_of(stream), config_afterwards(stream, view)
    if after is None or before.get("retention") not in NEED_READERS:
        return NOTHING
    wanted = (*_subjects_wanted_now(stream, view), *_subjects_wanted_afterwards(stream, view))
    return _compare_configs(stream, (before, wanted), (after, wanted), view)


def _compare_configs(
    stream: str, now: tuple[Config, Sequence[str]], then: tuple[Config, Sequence[str]], view: View
) -> UnwantedSubjects:
    (before, wanted_before), (after, wanted_after) = now, then
    transforms = [_transform_of(config) for config in (before, after)]
    taken = [
        _taken_subjects(stream, config, is_whole=not any(transforms)) if config else [] for config in (before, after)
    ]
    is_queue, messages, are = after.get("retention") == "workqueue", "publishes {}", "will be acknowledged and"
    if transforms[0] == transforms[1] and transforms[0]:
        taken = [[*transformed_subjects(subjects, transforms[0])] for subjects in taken]
        messages, transforms = "publishes that subject_transform puts {}", [None, None]
    elif not after.get("subjects") and copied_entries(after):
        messages, are = "copied messages {}", "are"
    if transforms == [None, None]:  # what somebody wants before and afterwards is stored all the time
        left = set(wanted_after)
        wanted_before = [subject for subject in wanted_before if subject not in left]
    lost = [
        part
        for old in _zones(transforms[0])
        for new in _zones(transforms[1])
        for part in _rest(
            intersections(
                intersections(intersections(*taken), intersections([old.within], [new.within])),
                old.published_subjects(wanted_before),
            ),
            (*new.published_subjects(wanted_after), *old.outside, *new.outside),
        )
    ]
    wanted = (*wanted_after, *_subjects_read_by_groups("static_group", stream, view))
    added = [
        part
        for new in _zones(transforms[1])
        for part in _rest(
            intersections(taken[1], [new.within]), (*taken[0], *new.published_subjects(wanted), *new.outside)
        )
    ]
    caveat = _unless_unread_text(stream, view) if lost or added else ""
    if is_queue:
        return UnwantedSubjects(lost, [], f"{messages} will be stored, and", caveat, _stay_text(after))
    return UnwantedSubjects(lost, added, f"{messages} {are} not stored:", caveat)


def _stay_text(queue: Config) -> str:
    """How long messages stay that nobody takes, and what they do to others, as the end of a sentence."""
    age = queue.get("max_age")
    is_new = queue.get("discard") == "new"
    text = f": they stay until one does{f', or until they are {show_duration(age)} old' if age else ''}{when_full_text(queue)}"
    if (held := queue.get("max_msgs_per_subject") or -1) > 0:
        is_refused = is_new and queue.get("discard_new_per_subject")
        fate = "the server refuses publishes there" if is_refused else "each publish there deletes its oldest message"
        text += f"; once a subject holds {some(held, 'message')}, {fate}"
    return text


def when_full_text(stream: Config) -> str:
    """What a full stream does to publishes or to its messages, as the end of a sentence; empty: it has no such limit."""
    if not (full := [limit for limit in ("max_msgs", "max_bytes") if (stream.get(limit) or -1) > 0]):
        return ""
    is_new = stream.get("discard") == "new"
    fate = "the server refuses every publish" if is_new else "each publish deletes the oldest message"
    return f"; once {' or '.join(full)} is reached, {fate}"


def _rest(subjects: Sequence[str], kept: Sequence[str]) -> Iterator[SubjectPart]:
    """The subjects without those that are kept."""
    staying = SubjectList(kept)
    for subject in subjects:
        if not staying.covers(subject):
            yield SubjectPart(subject, tuple(staying.parts(subject)))


def _zones(transform: Mapping[str, Json] | None) -> list[_Zone]:
    if transform is None:
        return [_Zone()]
    src = transform.get("src") or ">"
    return [_Zone(src, (), transform), *([_Zone(outside=(src,))] if src != ">" else [])]


def _transform_of(config: Config) -> Mapping[str, Json] | None:
    transform = config.get("subject_transform")
    return transform if transform and transform.get("dest") else None


def _taken_subjects(stream: str, config: Config, *, is_whole: bool) -> list[str]:
    """What is published to it, and what it copies unless a transform hides under which subjects."""
    copied = copied_entries(config)
    own = list(config.get("subjects") or (() if copied else (stream,)))
    return [*own, *(subject for entry in copied for subject in given_subjects(entry))] if is_whole else own


def _subjects_wanted_now(stream: str, view: View) -> Iterator[str]:
    for info in view.snapshot.consumers.get(stream, {}).values():
        yield from filters_of(info["config"])
    for subjects in copies_now(stream, view).values():
        yield from subjects
    yield from _subjects_wanted_elsewhere(stream, view)


def _subjects_wanted_afterwards(stream: str, view: View) -> Iterator[str]:
    gone = {change.origin.name for change in view.children(stream, "consumer") if change.origin}
    for name, config in consumers_afterwards(stream, view).items():
        if name not in gone and not _goes_with_its_group(stream, name, view):
            yield from filters_of(config)
    for subjects in copies_afterwards(stream, view).values():
        yield from subjects
    yield from _subjects_read_by_groups("elastic_group", stream, view)
    yield from _subjects_wanted_elsewhere(stream, view)


def _subjects_read_by_groups(kind: str, stream: str, view: View) -> Iterator[str]:
    """What declared groups read. A queue begins to copy at once, and members of a static group when they start."""
    for address in _declared_groups(view).get(stream, ()):
        if address.kind == kind:
            reads = view.kinds[kind].reads(address, view.desired[address].config)
            yield from (subject for part in reads if part.stream == stream for subject in part.subjects)


@lru_cache(maxsize=4)
def _declared_groups(view: View) -> Mapping[str, Sequence[Address]]:
    """Groups by their streams; computed once per view."""
    by_stream: dict[str, list[Address]] = {}
    for address in view.desired:
        if address.kind in ("static_group", "elastic_group"):
            by_stream.setdefault(address.stream, []).append(address)
    return by_stream


def _goes_with_its_group(stream: str, name: str, view: View) -> bool:
    """The consumer of a member of a static group that this plan deletes."""
    return any(
        (change := view.changes.get(address)) is not None and change.action is Action.DELETE
        for address in dependants.consumers(stream, [name], view)
        if address.kind == "static_group"
    )


def _subjects_wanted_elsewhere(stream: str, view: View) -> Iterator[str]:
    """What streams of other accounts and domains copy, as far as the server lists the consumers that feed them."""
    for feed in feeds_in_other_accounts(stream, view.snapshot):
        yield from feed.subjects


def _unless_unread_text(stream: str, view: View) -> str:
    """Before 2.14 no server lists the consumers that feed streams of other accounts, but it counts them."""
    known = len(view.snapshot.consumers.get(stream, {})) + len(copies_now(stream, view))
    is_hidden = view.target.version < V2_14 and view.snapshot.state_of(stream).get("consumer_count", 0) > known
    return ", unless one does that the plan could not read" if is_hidden or unread_consumers(stream, view) else ""


def is_unused(change: Change) -> bool:
    """Nothing was ever published to the live stream."""
    state = change.info.get("state") or {}
    return not state.get("messages") and not state.get("last_seq")
