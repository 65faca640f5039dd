"""Groups beside their surroundings: names that would be shared, and streams that are not divided as a static group
expects."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import consumer_readers, static_groups, stored_subjects_afterwards
from reconciler.kinds.afterwards.streams import GONE, afterwards
from reconciler.kinds.fields.words import consent_to, few, outside, some
from reconciler.kinds.group_records.group_record import PRIORITY_GROUP, durable_name, durable_names, members
from reconciler.kinds.group_records.member_subjects import owned_partitions
from reconciler.kinds.losses.dependants import consumers
from reconciler.kinds.subjects.partitions import members_without_partition
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.kinds.subjects.transforms import partition_call
from reconciler.model.resource import Address, Config

OTHER_NAME = "choose another group or member name"


@rule("XX551", "shared-queue-name", on=(Action.CREATE,), needs=("neighbours",), err_code=10058)
def shared_queue_stream(change: Change, view: View) -> Found:
    """Two elastic groups would have the same work-queue stream: group `b-c` of stream `a` and group `c` of stream `a-b`
    both mean `a-b-c`.

    Nobody checks that before the record is written. Then the server refuses the second stream (10058), and the record
    that is left blocks a corrected create.

    Instead: choose another group name.
    """
    if change.address.kind != "elastic_group":
        return None
    name = "-".join(change.address.names)
    others = [a for a in _groups_by_queue(view).get(name, ()) if a != change.address]
    if not others:
        return None
    return refusal("", f"its stream {name} would also be the stream of {others[0]}", OTHER_NAME)


@lru_cache(maxsize=4)
def _groups_by_queue(view: View) -> dict[str, list[Address]]:
    by_queue: dict[str, list[Address]] = {}
    for address in dict.fromkeys((*view.live, *view.desired)):
        change = view.changes.get(address)
        if address.kind == "elastic_group" and not (change and change.action in GONE):
            by_queue.setdefault("-".join(address.names), []).append(address)
    return by_queue


@lru_cache(maxsize=4)
def _groups_by_durable(view: View) -> dict[str, dict[str, list[Address]]]:
    """The static groups that want a durable consumer of this name, by stream and name."""
    by_durable: dict[str, dict[str, list[Address]]] = {}
    for stream in {a.stream for a in (*view.live, *view.desired) if a.kind == "static_group"}:
        for address, config in static_groups(stream, view):
            for name in durable_names(address.name, config):
                by_durable.setdefault(stream, {}).setdefault(name, []).append(address)
    return by_durable


@rule(
    "XX552", "member-consumer-taken", on=(Action.CREATE, Action.ADOPT), needs=("neighbours",), reaction=Reaction.HARMS
)
def member_consumer_taken(change: Change, view: View) -> Iterator[Finding]:
    """Another group also wants the durable consumer `<group>-<member>` of a static group, or a plain consumer has that
    name.

    Group `a` with member `b-c` and group `a-b` with member `c` compete for one durable. Each finds it with another
    configuration, and deletes it when it ends.

    Instead: choose another group, member or consumer name.
    """
    address = change.address
    if address.kind == "consumer" and not change.only_renews:
        for group in _groups_by_durable(view).get(address.stream, {}).get(address.name, ())[:1]:
            text = f"consumer {address.name} is the durable of a member of {group}"
            yield refusal("", text, "choose another consumer name", affects=[group])
    elif address.kind == "static_group" and change.action is Action.CREATE:
        plain = _plain_consumers(address.stream, view)
        for member in members(change.wanted):
            name = durable_name(address.name, member)
            others = [a for a in _groups_by_durable(view)[address.stream][name] if a != address]
            if others:
                yield refusal(
                    "members",
                    f"{name}, the durable of member {member}, is also a durable of {others[0]}",
                    OTHER_NAME,
                    affects=others,
                )
            elif name in plain:
                theirs = consumers(address.stream, [name], view)
                text = f"{name}, the durable of member {member}, already exists as a plain consumer"
                yield refusal("members", text, OTHER_NAME, affects=theirs)


def _plain_consumers(stream: str, view: View) -> Set[str]:
    """Consumers that do not belong to members. Consumers of an earlier group of that name do."""
    return _plain_by_stream(view).get(stream, frozenset())


@lru_cache(maxsize=4)
def _plain_by_stream(view: View) -> dict[str, set[str]]:
    by_stream: dict[str, set[str]] = {}
    for address in view.desired:
        if address.kind == "consumer":
            by_stream.setdefault(address.stream, set()).add(address.name)
    for stream, consumers_now in view.snapshot.consumers.items():
        plain = (name for name, i in consumers_now.items() if i["config"].get("priority_groups") != [PRIORITY_GROUP])
        by_stream.setdefault(stream, set()).update(plain)
    return by_stream


@rule("XX553", "prefix-of-others", on=(Action.CREATE,), needs=("neighbours",))
def prefix_of_others(change: Change, view: View) -> Found:
    """The name of a static group is the beginning of another group's or consumer's name on its stream: `orders` beside
    `orders-eu`.

    The reference deletes a static group's consumers by the prefix `<group>-`, and with `orders` those of `orders-eu`.
    Reconciler deletes exactly the members' own consumers, but somebody may also use the reference's command line tool.

    Instead: choose names of which none, followed by `-`, begins another.
    """
    if change.address.kind != "static_group":
        return None
    stream, name = change.address.names
    own = set(durable_names(name, change.wanted))
    groups, names = _group_and_durable_names(view)[stream]
    victims = list(takewhile(lambda victim: victim.startswith(f"{name}-"), names[bisect_left(names, f"{name}-") :]))
    victims = [victim for victim in victims if victim not in own]
    endangered = [name[:index] for index, letter in enumerate(name) if letter == "-" and name[:index] in groups]
    if not victims and not endangered:
        return None
    text = (
        f"deleting it with the reference's tool would also delete consumers of {', '.join(victims[:5])}"
        if victims
        else f"deleting group {endangered[0]} with the reference's tool would also delete this group's consumers"
    )
    return Finding(
        outcome=Outcome.WARNS,
        message=text,
        fix="choose names of which none, followed by `-`, begins another",
    )


@lru_cache(maxsize=4)
def _group_and_durable_names(view: View) -> dict[str, tuple[set[str], list[str]]]:
    """By stream: its static groups, and a sorted list of these and its durable consumers."""
    streams = {a.stream for a in view.desired if a.kind == "static_group"}
    by_stream = {}
    for stream in streams:
        groups = {address.name for address, _ in static_groups(stream, view)}
        consumers = {
            reader.label.removeprefix("consumer ")
            for reader in consumer_readers(stream, view)
            if not reader.is_ephemeral
        }
        by_stream[stream] = (groups, sorted(groups | consumers))
    return by_stream


def _dividing_transform(stream: str, view: View) -> Mapping[str, str] | None:
    transform: Mapping[str, str] | None = afterwards(view).streams.get(stream, {}).get("subject_transform")
    return transform if transform and transform.get("dest") else None


def _partition_count(transform: Mapping[str, str] | None) -> int | None:
    """How many partitions a stream's own transform makes; None if it makes none."""
    call = partition_call(transform["dest"]) if transform else None
    return call.numbers[0] if call else None


@rule("XX554", "partitions-mismatch", needs=("neighbours",), reaction=Reaction.HARMS)
def partitions_mismatch(change: Change, view: View) -> Iterator[Finding]:
    """A static group divides another number of partitions than its stream's transform makes.

    Nothing compares the two. No member reads partitions from `max_members` on. If there are too few partitions, members
    that own only missing ones idle.

    Instead: write the same number in `max_members` and in `{{partition(…)}}`.
    """
    if change.address.kind == "static_group" and change.action is Action.CREATE:
        partitions, wanted = (
            _partition_count(_dividing_transform(change.address.stream, view)),
            change.becomes("max_members") or 0,
        )
        if partitions is not None and partitions != wanted:
            config = change.desired.config if change.desired else {}
            yield _partition_count_refusal(
                "max_members", f"the transform of {change.address.stream} makes", partitions, config
            )
    elif change.address.kind == "stream" and change.touches("subject_transform"):
        partitions = _partition_count(_dividing_transform(change.address.name, view))
        for group, config in static_groups(change.address.name, view):
            if partitions is not None and partitions != config.get("max_members"):
                path = "subject_transform.dest"
                mismatch = _partition_count_refusal(
                    path, f"for static group {group.name} this makes", partitions, config
                )
                yield replace(mismatch, affects=[group])


def _partition_count_refusal(path: str, who: str, partitions: int, group: Config) -> Finding:
    wanted = group.get("max_members") or 0
    harm = (
        f"nobody would read {partitions - wanted} of them"
        if partitions > wanted
        else _missing_partitions_text(group, partitions)
    )
    text = f"{who} {partitions} partitions, and max_members is {wanted}: {harm}"
    return refusal(path, text, "write the same number in both")


def _missing_partitions_text(group: Config, partitions: int) -> str:
    """What it means that the transform makes fewer partitions than the group has."""
    expected = group.get("max_members") or 0
    partitions_of = owned_partitions(group)
    missing = f"{some(expected - partitions, 'partition')} would get no message"
    if not partitions_of:
        return f"{missing}, and a member that owns no other would idle"
    idle = members_without_partition(partitions_of, partitions)
    return f"{missing}, and member{'s' if len(idle) > 1 else ''} {few(idle)} would idle" if idle else missing


@rule("XX555", "unpartitioned-subjects", needs=("neighbours",), reaction=Reaction.HARMS)
def unpartitioned_subjects(change: Change, view: View) -> Found:
    """A static group's stream stores subjects without a partition number in front, and no member ever gets them.

    Members read `<partition>.…`. Either the stream's transform does not cover the subject, or there is no transform and
    publishers do not write the number themselves.

    Instead: let the transform's `src` cover every subject of the stream.
    """
    stream = _grouped_stream(change, view)
    if stream is None or (stored := stored_subjects_afterwards(view).by(stream)) is None:
        return None
    lost = [subject for subject in stored if not _may_be_numbered(subject)]
    if (transform := _dividing_transform(stream, view)) and _partition_count(transform) is not None:
        subjects = afterwards(view).streams[stream].get("subjects") or ()
        src = transform.get("src") or ">"
        lost += [s for s in subjects if not is_subset(s, src) and s not in lost]
        lost = [outside(s, [src] if collide(s, src) else []) for s in lost]
    elif len(lost) < len(stored):
        return None  # publishers number the messages for the group themselves
    if not lost:
        return None
    return Finding(
        outcome=Outcome.WARNS,
        affects=[address for address, _ in static_groups(stream, view)],
        path="subject_transform" if change.address.kind == "stream" else "",
        message=f"messages on {', '.join(lost[:5])} get no partition number, so no member of a static group receives them",
        fix="let the transform's src cover every subject of the stream",
    )


def _grouped_stream(change: Change, view: View) -> str | None:
    if change.address.kind == "static_group":
        return change.address.stream if change.action is Action.CREATE else None
    touched = change.address.kind == "stream" and change.touches("subject_transform", "subjects")
    return change.address.name if touched and any(static_groups(change.address.name, view)) else None


def _may_be_numbered(subject: str) -> bool:
    first = subject.split(".", maxsplit=1)[0]
    return first in ("*", ">") or first.isdigit()


@rule("XX556", "partitions-renumbered", on=(Action.UPDATE,), needs=("live", "neighbours"), reaction=Reaction.HARMS)
def partitions_renumbered(change: Change, view: View) -> Found:
    """The transform of a stream changes while static groups divide the stream by that transform.

    Stored messages keep their number and new ones get another. So messages of one key lie in two partitions. Two
    members process them at the same time, and their order is lost.

    Instead: make a new stream with the new transform and a group of its own; or consent once the groups have read
    everything.
    """
    if change.address.kind != "stream" or not change.touches("subject_transform"):
        return None
    groups = [a for a, _ in static_groups(change.address.name, view) if a in view.live]
    if not groups or not change.was("subject_transform"):
        return None
    dest = (change.becomes("subject_transform") or {}).get("dest")
    return refusal(
        "subject_transform.dest" if dest else "subject_transform",
        (
            f"static groups ({', '.join(address.name for address in groups[:5])}) divide this stream by its transform, and stored "
            "messages keep their old partition number"
        ),
        (
            "make a new stream and group, or consent here once the groups have read everything: "
            + consent_to("XX556", dest)
        ),
        consentable=True,
        to=dest,
        affects=groups,
    )


RULES = (
    shared_queue_stream,
    member_consumer_taken,
    prefix_of_others,
    partitions_mismatch,
    unpartitioned_subjects,
    partitions_renumbered,
)
