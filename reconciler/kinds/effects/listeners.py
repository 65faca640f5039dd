"""What subscribers, consumers and copies of a stream experience when it changes.

It captures subjects from now on, others come to lead it, or it republishes, answers and stores in another way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.effects.effect_rules import MovedField, foretold, note, notes_of
from reconciler.kinds.effects.publishers import limit_after, stored_value
from reconciler.kinds.fields.field_effects import value_after
from reconciler.kinds.fields.known import V2_12
from reconciler.kinds.fields.words import amount, few, listed, outside, some, verb
from reconciler.kinds.losses import copied_headers, unprocessed
from reconciler.kinds.losses.added_sources import NewSource, new_sources
from reconciler.kinds.losses.copied_headers import streams_storing_markers
from reconciler.kinds.losses.dependants import everybody, groups, live_consumers, streams
from reconciler.kinds.losses.fewer_copies import consumers_with_unanswered_pulls
from reconciler.kinds.losses.made_again import elsewhere_text
from reconciler.kinds.losses.over_limit import state_of, stream_of
from reconciler.kinds.losses.uncaptured import readers_with_subjects
from reconciler.kinds.losses.unprocessed import NAMED, Info
from reconciler.kinds.stream_config import origins
from reconciler.kinds.stream_config.mirrors_and_sources import SOURCE_HEADER, origin_label, origin_of, source_identity
from reconciler.kinds.stream_config.origins import taken_subjects
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subject_lists import SubjectList, intersections, not_inside
from reconciler.kinds.subjects.subject_moves import is_parking_subject
from reconciler.kinds.subjects.subject_part import transformed_subjects
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.kinds.subjects.transforms import outcome
from reconciler.model.resource import Config, Json
from reconciler.model.units import show_duration


@notes_of(303)
def taken_in_besides(moved: MovedField) -> Iterable[Finding]:
    """Subjects are added, and readers whose filters match them get what is published there."""
    held = [held_subject for held_subject in moved.change.was(moved.path) or () if not is_parking_subject(held_subject)]
    added = not_inside(moved.change.becomes(moved.path) or (), held)
    if not held or not added:
        return
    getting: dict[tuple[str, ...], list[str]] = {}
    is_renamed = bool((stored_value(moved, "subject_transform") or {}).get("dest"))
    for reader in readers_with_subjects(stream_of(moved.change), moved.view):
        if list(reader.filters) == [">"] or not is_renamed:
            new = not_inside(intersections(added, reader.filters), held)
            getting.setdefault(tuple(new), []).append(reader.label)
    kept = SubjectList(held)
    for subjects, names in getting.items():
        if subjects:
            rest = [some(len(names) - NAMED, "more reader")] if len(names) > NAMED else []
            published = few([outside(subject, kept.inside(subject)) for subject in subjects])
            yield note(f"what is published on {published} goes to {listed([*names[:NAMED], *rest])} as well")


# Measured on three nodes, with 50 messages a second: 2 or 3 of them got no answer in each of 4 rises from one replica and of
# 6 moves, on 2.11 and 2.15, and were not stored; none in 3 reductions. With 30 publishers at work, up to 30 publishes got no answer
# in each of 5 of 47 reductions to one replica, on 2.11, 2.12 and 2.15. At 200 a second 236 publishes got no answer in 24 moves,
# none of them stored; on a loaded machine one of them was stored, in 2 moves of about 20 (the old leader had
# passed it on). Consumers of a moved stream were silent for up to 9 s, and two messages came again. Their positions stayed.
# After a reduction to one replica, all of 79 pulls on 2.11, 2.12 and 2.14 whose consumer another server led than the stream got
# nothing, nor did all of 12 on 2.15 whose consumer had no copy on the server that stays. With a copy there, all of 42 on 2.15
# ended with 409, as such pulls do on each of these versions where two replicas are left.
PUBLISHES = (
    "a publish at that moment may get no answer, stored or not, so publishers have to retry with the same Nats-Msg-Id"
)
# On 2.11, a stream whose last but one server leaves, as at the end of a move, may keep the ids of messages that were on their way and
# are never stored. Whoever sends one of these once more gets the answer of a duplicate, with sequence 0, as long as the window for
# duplicates lasts. Measured with 30 publishers at work: 30 messages were lost like this in each of 2 of 12 reductions from three
# replicas to one and of 2 of 10 moves, and none in 25 rises. None was lost on 2.12, 2.14 and 2.15.
UNSTORED = "; an answer that calls it a duplicate with sequence 0 means that it is not stored, and needs another id"
RISES = f"its new servers elect a leader: {PUBLISHES}"
MOVES = f"if other servers have to lead it then: {PUBLISHES}"
FALLS = f"one server alone keeps it: {PUBLISHES}"
# A rise of 300,000 messages was done for apply after 4 to 5 s, with 60,000 to 120,000 operations to go. The server that held them all
# was killed then, and nobody answered before it was back. A move of 200,000 ended some 6 s after its apply. On 2.11, 145 messages
# were lost that a server had acknowledged which was killed during a move.
BEHIND = "apply does not wait until the new servers hold what is stored: keep those that hold it now running until then"
CONSUMERS = (
    "; consumers deliver nothing for some seconds, pulls that wait get nothing until they expire, and what is in flight may be "
    "redelivered"
)

PULLS = "a pull that waits then gets nothing, not even a status when it expires"


@notes_of(611)
def leader_changes(moved: MovedField) -> Iterable[Finding]:
    """Notes about publishers and consumers while the leader of a clustered stream changes."""
    if not moved.view.target.is_clustered:
        return
    if moved.field == "placement":
        consumers = moved.view.snapshot.consumers.get(stream_of(moved.change)) or {}
        yield _note_on_pulls(MOVES + _unstored_text(moved) + (CONSUMERS if consumers else ""), consumers)
        yield from _copied_after_apply(moved)
    elif moved.change.touches("placement") and moved.change.becomes("placement"):
        return
    elif int(moved.change.was(moved.path) or 1) == 1:
        yield note(RISES)
        yield from _copied_after_apply(moved)
    elif int(moved.change.becomes(moved.path) or 1) == 1:
        yield from _single_replica_findings(moved)


def _single_replica_findings(moved: MovedField) -> Iterator[Finding]:
    """What publishers and consumers of a stream feel that keeps one of its servers."""
    yield note(FALLS + _unstored_text(moved))
    if moving := consumers_with_unanswered_pulls(moved.change, moved.view):
        names = f"consumer {few([*moving])} moves" if len(moving) == 1 else f"consumers {few([*moving])} move"
        yield _note_on_pulls(f"{names} to the one server that keeps it: {PULLS}", moving)


def _unstored_text(moved: MovedField) -> str:
    return UNSTORED if moved.view.target.version < V2_12 else ""


def _copied_after_apply(moved: MovedField) -> Iterator[Finding]:
    """What new servers have yet to copy when the apply is over."""
    if state_of(moved.change).get("messages"):
        yield note(BEHIND)


def _note_on_pulls(text: str, consumers: Mapping[str, Info]) -> Finding:
    """A note that also counts the pulls that wait at the moment."""
    if waiting := sum(int(info.get("num_waiting") or 0) for info in consumers.values()):
        return note(f"{text}; {some(waiting, 'pull')} {verb(waiting, 'wait')} now", waiting=exactly(waiting))
    return note(text)


@foretold(607, "listeners-fall-silent")
def listeners_fall_silent(moved: MovedField) -> Iterable[Finding]:
    """Plain subscribers receive nothing more: the stream no longer republishes its messages, or does so on another
    subject.

    No server tells whether anybody listens.

    Instead: move the subscribers first.
    """
    if moved.field == "subject_delete_marker_ttl":
        yield from _missing_marker_findings(moved)
        return
    before, after = moved.change.was(moved.path) or {}, moved.change.becomes(moved.path) or {}
    old, new = before.get("dest", ""), after.get("dest", "")
    if not after:
        text = f"from then on the stream does not republish messages to {old}"
    elif old != new:
        text = f"from then on the stream republishes messages to {new} instead of {old}"
    elif after.get("src", ">") != before.get("src", ">"):
        text = f"from then on the stream republishes only {after.get('src', '>')} to {new}"
    elif after.get("headers_only") and not before.get("headers_only"):
        text = f"from then on the stream republishes messages to {new} without their payload"
    else:
        return
    if not _is_republished(moved, before.get("src") or ">"):
        yield note(f"{text}; it stores nothing under {before.get('src')}, so nobody received anything")
        return
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{text}, and subscribers get no notice of that",
        affects=streams(_streams_capturing(old, moved), moved.view),
        fix="move the subscribers first",
    )


def _streams_capturing(dest: str, moved: MovedField) -> Iterator[str]:
    """Streams that store the republished messages."""
    sent = outcome(dest) if dest else ">"
    for name, info in moved.view.snapshot.streams.items():
        if any(collide(sent, subject) for subject in info["config"].get("subjects") or ()):
            yield name


def _is_republished(moved: MovedField, src: str) -> bool:
    """Does this match anything that is stored? Republishing matches the subject that a transform made."""
    was = moved.change.was
    transform = was(moved.own("subject_transform"))
    if not transform or not transform.get("dest") or was("mirror") or was("sources"):
        return True
    if is_subset(src, transform.get("src") or ">"):
        return collide(outcome(transform["dest"]), src)
    return any(collide(subject, src) for subject in transformed_subjects(was("subjects") or (">",), transform))


def _missing_marker_findings(moved: MovedField) -> Iterator[Finding]:
    words = "from then on no marker tells watchers that the last message of a subject has expired"
    if not value_after(moved.change, moved.own("max_age")):
        yield note(words)
    else:
        affects = everybody(stream_of(moved.change), moved.view)
        fix = "move the watchers first"
        yield Finding(outcome=Outcome.WARNS, path=moved.path, message=words, affects=affects, fix=fix)


@foretold(612, "markers-read")
def markers_read(moved: MovedField) -> Iterable[Finding]:
    """The stream begins to store markers: when the last message of a subject expires, by `max_age` or by its own
    `Nats-TTL`, a message takes its place that has no payload and the header `Nats-Marker-Reason`.

    Consumers get these messages as all others. Copies with `allow_rollup_hdrs`, which every bucket has, store them, and from
    2.14 on all copies do. A client that does not expect this processes and acknowledges empty messages. Purges, deletions and
    other limits leave no marker.

    A marker carries `Nats-Rollup`, so a copy with `allow_rollup_hdrs` keeps nothing else of its subject; the rule about limits
    asks for consent to that. It also carries `Nats-TTL`: a copy without `allow_msg_ttl` keeps the marker itself.

    The server also keeps new messages with a shorter `Nats-TTL` as long as a marker, unless `max_msgs_per_subject` is 1.

    Instead: first let the clients skip messages with `Nats-Marker-Reason`.
    """
    lasts = show_duration(moved.change.becomes(moved.path))
    if moved.change.was(moved.own("allow_msg_ttl")) and limit_after(moved, "max_msgs_per_subject") != 1:
        yield note(f"from then on new messages with a shorter Nats-TTL are kept for {lasts}")
    if moved.change.was(moved.path):
        return
    words = "from then on the stream stores a message without payload when the last message of a subject expires"
    stream, age = stream_of(moved.change), value_after(moved.change, moved.own("max_age"))
    copies = streams_storing_markers(stream, moved.view)
    readers = [
        *(reader.label for reader in readers_with_subjects(stream, moved.view) if reader.place == stream),
        *copies,
    ]
    if not age or not readers:
        yield note(words)
        return
    named = listed([*readers[:NAMED], *([some(len(readers) - NAMED, "more reader")] if len(readers) > NAMED else [])])
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{words}, after {show_duration(age)}, and {named} {'gets' if len(readers) == 1 else 'get'} it",
        affects=[*live_consumers(stream, moved.view), *streams(copies, moved.view)],
        fix="first let their clients skip messages with Nats-Marker-Reason",
    )


@notes_of(301)
def headers_in_copies(moved: MovedField) -> Iterable[Finding]:
    """Messages may have headers that do something else in copies, or nothing."""
    tells = {"allow_msg_ttl": copied_headers.outlasting_text, "allow_rollup_hdrs": copied_headers.unheeding_text}
    if moved.field in tells and (text := tells[moved.field](moved.change, moved.view)):
        yield note(text)


@foretold(608, "stored-elsewhere")
def stored_elsewhere(moved: MovedField) -> Iterable[Finding]:
    """The stream stores new messages under other subjects, and filters and direct gets use these subjects.

    Messages that are already stored keep their subject.

    Instead: let consumers and readers know both subjects first.
    """
    shown = [_transform_text(value(moved.path)) for value in (moved.change.was, moved.change.becomes)]
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"new messages are stored under other subjects ({shown[0]} → {shown[1]}): filters and reads that name the old "
        "subjects do not find them",
        affects=everybody(stream_of(moved.change), moved.view),
        fix="let consumers and readers know both subjects first",
    )


def _transform_text(transform: Json) -> str:
    return f"{transform.get('src') or '>'} as {transform.get('dest') or 'it is'}" if transform else "as published"


@foretold(609, "consumers-refused")
def consumers_refused(moved: MovedField) -> Iterable[Finding]:
    """The server refuses consumers that clients create: there are as many as `max_consumers` allows, or they ask for
    more than `consumer_limits` allow.

    Clients that read in order or watch create a consumer each time. The rule is silent if there is room for more.
    Other rules say what happens to existing consumers.

    Instead: leave room for consumers that clients create.
    """
    if moved.field == "consumer_limits":
        before, after = moved.change.was(moved.path) or {}, moved.change.becomes(moved.path) or {}
        tighter = [name for name, most in after.items() if most and not 0 < (before.get(name) or 0) <= most]
        if tighter:
            yield note(
                f"the server refuses consumers that clients create with more than these {' and '.join(tighter)} (10121)"
            )
        return
    most, existing = limit_after(moved, moved.field) or 0, state_of(moved.change).get("consumer_count", 0)
    if existing < most:
        yield note(
            f"once {some(most, 'consumer')} {'exists' if most == 1 else 'exist'}, clients can create no other (10026)"
        )
    elif existing == most:
        yield Finding(
            outcome=Outcome.WARNS,
            path=moved.path,
            message=f"{some(existing, 'consumer')} {'exists' if existing == 1 else 'exist'}, which is all that max_consumers allows: "
            "clients can create no other (10026)",
            affects=groups(stream_of(moved.change), moved.view),
            fix="leave room for consumers that clients create",
        )


@foretold(610, "copies-stop")
def copies_stop(moved: MovedField) -> Iterable[Finding]:
    """`consumer_limits` get a `max_ack_pending`, and the server's own consumer for copies does not keep to it. After
    its next restart the server copies nothing more to mirrors, sources and elastic groups of this stream.

    The server reports that only in the copy's own state (10082). Versions before 2.12.12 and 2.14.3 refuse the change
    while a copy is at work. From 2.14 on, work queues and interest streams feed their copies in another way.

    Instead: write `max_ack_pending` into each consumer in place of `consumer_limits`.
    """
    before, after = (
        (value(moved.path) or {}).get("max_ack_pending") or 0 for value in (moved.change.was, moved.change.becomes)
    )
    live, fed = moved.change.live, origins.streams_fed_now(stream_of(moved.change), moved.view)
    at_work = [name for name in fed if name not in origins.deleted_streams(moved.view)]
    is_limited = before <= 0 < after
    if not (is_limited and at_work and live) or origins.is_fed_durably(live.config, moved.view.target.version):
        return
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=f"{moved.path}.max_ack_pending",
        to=after,
        message=f"{listed(at_work)} {'copies' if len(at_work) == 1 else 'copy'} this stream through a consumer of the server's own, "
        "which does not keep to max_ack_pending: after its next restart the server copies nothing more (10082)",
        affects=streams(at_work, moved.view),
        fix="write max_ack_pending into each consumer in place of consumer_limits",
    )


@notes_of(304)
def copied_at_once(moved: MovedField) -> Iterable[Finding]:
    """A new source brings what its origin stores, and readers get it."""
    for source in new_sources(moved.change, moved.view):
        if (number := source.copies(taken_subjects(source.source))).most:
            hidden = (
                ""
                if source.start.is_known or source.continues_after is not None
                else f"; fewer if {source.why_start_is_uncertain}, which could not be determined"
            )
            number = Amount(0, number.most) if _may_not_fit(moved, source) else number
            copied = f"the server at once copies {amount(number, 'message')} that {source.origin} stores{hidden}"
            yield note(
                copied
                + _caveat_about_earlier_source(source)
                + _limit_per_subject_text(moved)
                + _treatment_of_copies_text(moved, source)
                + _readers_text(source, number),
                copied=number,
            )
        elif source.stored_messages.most and source.start.at in (
            source.source.get("opt_start_time"),
            source.source.get("opt_start_seq"),
        ):
            yield note(
                f"the server copies none of the {amount(source.stored_messages, 'message')} that {source.origin} stores: its start, "
                f"{source.start.at}, comes after them",
                copied=number,
            )
    yield from _copied_from_elsewhere(moved)


def _copied_from_elsewhere(moved: MovedField) -> Iterator[Finding]:
    """Sources from another account or domain, unless a rule says that they copy once more what an earlier one has copied."""
    if moved.change.action is not Action.UPDATE:
        return
    version, before = moved.view.target.version, moved.change.was(moved.path) or ()
    known = {source_identity(source, version) for source in before}
    for source in moved.change.becomes(moved.path) or ():
        is_new = source_identity(source, version) not in known
        if source.get("external") and is_new and origin_of(source) not in map(origin_of, before):
            start = next((source[key] for key in ("opt_start_seq", "opt_start_time") if source.get(key)), None)
            since = f" from {start} on" if start else ""
            yield note(
                f"the server at once copies what {origin_label(source)} stores{since}, {elsewhere_text(source, moved.view)}"
            )


def _may_not_fit(moved: MovedField, source: NewSource) -> bool:
    """At the first message that is too large the server stops (XX211)."""
    origin = moved.view.snapshot.config_of(source.origin)
    own, theirs = limit_after(moved, "max_msg_size"), origin.get("max_msg_size") or -1
    return own is not None and (theirs < 0 or own < theirs + SOURCE_HEADER)


def _caveat_about_earlier_source(source: NewSource) -> str:
    """Of a source that says where to start; of others a rule says it."""
    held = source.held_messages if source.source.keys() & {"opt_start_seq", "opt_start_time"} else 0
    return f", and may have up to {some(held)} of them already, through an earlier source" if held else ""


def _limit_per_subject_text(moved: MovedField) -> str:
    """A limit for each subject holds for copies as well."""
    most = moved.change.becomes(moved.own("max_msgs_per_subject"))
    return f", and keeps at most {some(most, 'message')} of each subject" if most and most > 0 else ""


def _treatment_of_copies_text(moved: MovedField, source: NewSource) -> str:
    """What the stream does with copies as with every message that it stores. On 2.11, copying waits until a window for
    message ids is over."""
    text = ""
    origin = moved.view.snapshot.config_of(source.origin)
    if origin.get("allow_rollup_hdrs") and moved.change.raw.get("allow_rollup_hdrs"):
        text += "; those with `Nats-Rollup` delete older messages here"
    if limit_after(moved, "duplicate_window") and moved.view.target.version >= V2_12:
        text += "; of those with the same `Nats-Msg-Id` it stores the first"
    if origin.get("allow_msg_ttl") and not stored_value(moved, "allow_msg_ttl"):
        text += "; times to live of their own (`Nats-TTL`) do not count here"
    if stored_value(moved, "retention") == "interest":
        text += "; it keeps those that a consumer here wants"
    if stored_value(moved, "republish"):
        text += "; subscribers of its republish get them, too"
    return text


def _readers_text(source: NewSource, number: Amount) -> str:
    """Consumers that stay and want some of it. One that this plan narrows changes before the stream copies anything."""
    if source.change.becomes("subject_transform"):
        return ""  # its copies lie under other subjects
    stream = stream_of(source.change)
    live, afterwards = (
        source.view.snapshot.consumers.get(stream, {}),
        unprocessed.consumers_afterwards(stream, source.view),
    )
    names = sorted(
        name
        for name, info in live.items()
        if (then := afterwards.get(name)) is not None and _wants(info["config"], source) and _wants(then, source)
    )
    if not names:
        return ""
    read = "may read" if ">" in source.lands_on else "reads" if len(names) == 1 else "read"
    return f"; {_consumer_names(names, live)} {read} {'it' if number.most == 1 else 'them'} here"


def _wants(consumer: Config, source: NewSource) -> bool:
    return bool(intersections(filters_of(consumer), source.lands_on))


def _consumer_names(names: Sequence[str], live: Mapping[str, Mapping[str, Json]]) -> str:
    """The first of these consumers by name, and how many more there are."""
    named = [unprocessed.consumer_label(name, live[name]) for name in names[: unprocessed.NAMED]]
    more = [some(rest, "more consumer")] if (rest := len(names) - len(named)) else []
    return listed([*named, *more])


@notes_of(305)
def copies_to_come(moved: MovedField) -> Iterable[Finding]:
    """A removed source copies nothing more, even if nothing of it was left to copy."""
    before, after = (
        {origin_label(source): None for source in value(moved.path) or ()}
        for value in (moved.change.was, moved.change.becomes)
    )
    if gone := [name for name in before if name not in after]:
        yield note(f"from then on the stream does not copy new messages of {listed(gone)}")
