"""What publishers, listeners and direct gets experience when a stream changes: the same for streams, buckets and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from reconciler.changes.diff import Action
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.effects import surplus
from reconciler.kinds.effects.dependants import everybody, groups, streams
from reconciler.kinds.effects.foretold import MovedField, foretold, note, notes_of
from reconciler.kinds.effects.sources_begun import begun
from reconciler.kinds.effects.surplus import FEW_BYTES, MANY_SUBJECTS, is_lowered, state_of, stream_of
from reconciler.kinds.fields.felt import value_after
from reconciler.kinds.fields.known import V2_12
from reconciler.kinds.fields.times import ZERO, between
from reconciler.kinds.fields.words import amount, listed, size, some, written_size
from reconciler.kinds.stream_config import origins
from reconciler.kinds.stream_config.origins import taken_subjects
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.kinds.subjects.transforms import outcome, transformed
from reconciler.model.resource import Address, Json
from reconciler.model.units import show_duration
from reconciler.model.wire.questions import Largest, SubjectCounts

MOST_READ = 256
"""Messages that are read at most for their size."""
LIMITS = {"max_msgs": "messages", "max_bytes": "bytes"}


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _size_questions(moved: MovedField) -> Iterator[Largest | SubjectCounts]:
    if moved.field == "max_msg_size":
        yield from _largest(moved)
    elif moved.field in ("max_msgs_per_subject", "discard_new_per_subject"):
        yield from _counts(moved)


@foretold(601, "publishes-refused", ask=_size_questions)
def publishes_refused(moved: MovedField) -> Iterable[Finding]:
    """A limit is set below what is stored, or below what is published, and publishes are refused from then on.

    With `discard: new` a stream that holds as much as its limit refuses each publish (10077) until messages are gone, and a
    message above `max_msg_size` is refused (10054) whatever is stored.

    Instead: choose a limit above what is stored, let messages go first, or consent with the value.
    """
    change = moved.change
    if change.becomes("mirror") or change.becomes("sealed"):
        return ()  # nobody publishes to it
    if moved.field == "max_msg_size":
        return _too_large(moved)
    if moved.field in ("max_msgs_per_subject", "discard_new_per_subject"):
        is_told = moved.field == "discard_new_per_subject" and is_lowered(change, moved.own("max_msgs_per_subject"))
        refuses = change.becomes("discard_new_per_subject") and not is_told
        return _full_subjects(moved, "refused (10077)") if refuses else ()
    if not surplus.keeps_old(change):
        return ()
    limits = (moved.field,) if moved.field in LIMITS else LIMITS
    return (found for limit in limits if _presses(moved, limit) for found in _full(moved, limit))


def _presses(moved: MovedField, limit: str) -> bool:
    """Each limit is told once: where it is lowered itself, or else where the stream begins to refuse."""
    return moved.field == limit or not is_lowered(moved.change, moved.own(limit))


def _full(moved: MovedField, limit: str) -> Iterator[Finding]:
    most, stored = _limit(moved, limit), state_of(moved.change).get(LIMITS[limit], 0)
    if not most:
        return
    of, limited = _in_words(limit, most)
    every = "every publish" if not _limit(moved, "max_msgs_per_subject") else "every publish that replaces no message"
    if stored < most:
        yield note(f"once {limited} are stored, {every} is refused")
        return
    over = stored - most + 1
    until = f"{of(over)} {'is' if limit == 'max_msgs' and over == 1 else 'are'} gone"
    becomes = "becomes" if moved.field in LIMITS else "is"
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{of(stored)} {_are(state_of(moved.change)['messages'])} stored, and {moved.own(limit)} {becomes} {limited}: "
        f"{every} is refused (10077) until {until}"
        + ("; what its sources hold waits as well" if moved.change.becomes("sources") else ""),
        quantities={"over": over} if limit == "max_msgs" else {"bytes_over": over},
        fix=f"write a {moved.own(limit)} above what is stored, or let messages go first",
    )


def _in_words(limit: str, most: int) -> tuple[Callable[[int], str], str]:
    """How to say so much of what it limits, and the limit itself."""
    if limit == "max_msgs":
        return partial(some, noun="message"), some(most, "message")
    return partial(size, beside=most), written_size(most)


def _limit(moved: MovedField, field: str) -> int | None:
    """The limit there will be, whether or not it changes."""
    change, path = moved.change, moved.own(field)
    raw = change.live.state.get("config", {}) if change.live else {}  # a bucket does not show its history of 1
    value = value_after(change, path) if change.touches(path) else raw.get(field)
    return value if value and value > 0 else None


def _too_large(moved: MovedField) -> Iterator[Finding]:
    most = _limit(moved, "max_msg_size")
    if not most:
        return
    asked = next(iter(_largest(moved)), None)
    answer = moved.view.facts.get(asked) if asked else None
    if asked is None or (isinstance(answer, Mapping) and not answer["larger"]):
        yield note(
            f"messages above {written_size(most)} are refused from then on; none that large was found among those stored"
        )
        return
    fix = f"write a {moved.path} that holds what is published, or let publishers send less first"
    if not isinstance(answer, Mapping):
        yield Finding(
            outcome=Outcome.WARNS, path=moved.path, fix=fix,
            message=f"messages above {written_size(most)} are refused from then on (10054); how large those stored are was not read",
        )  # fmt: skip
        return
    larger, read = answer["larger"], answer["read"]
    what = f"{some(larger)} of the last {some(read, 'message')}" if read > 1 else "the last message"
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{what} {_are(larger)} larger than {written_size(most)}, the largest {size(answer['largest'], most)}: "
        "publishes like these are refused (10054)",
        quantities={"larger": larger},
        fix=fix,
    )


def _largest(moved: MovedField) -> Iterator[Largest]:
    """The newest messages, unless none that is stored can be so large."""
    state, most = state_of(moved.change), _limit(moved, "max_msg_size")
    messages, stored = state.get("messages", 0), state.get("bytes", 0)
    if not most or not messages or stored - (messages - 1) * surplus.smallest_message(moved.change) <= most:
        return
    number = min(MOST_READ, messages, max(1, FEW_BYTES * messages // stored))
    yield Largest(stream=stream_of(moved.change), above=most, newest=number)


def _counts(moved: MovedField) -> Iterator[SubjectCounts]:
    if 0 < state_of(moved.change).get("num_subjects", 0) <= MANY_SUBJECTS and _limit(moved, "max_msgs_per_subject"):
        yield SubjectCounts(stream=stream_of(moved.change), filter=">")


def _full_subjects(moved: MovedField, fate: str) -> Iterator[Finding]:
    """What becomes of publishes on subjects that hold as many messages as they may."""
    most = _limit(moved, "max_msgs_per_subject")
    if not most:
        return
    asked = next(iter(_counts(moved)), None)
    counts = moved.view.facts.get(asked) if asked else {}
    if not isinstance(counts, Mapping):
        yield Finding(
            outcome=Outcome.WARNS, path=moved.path, fix="raise max_msgs_per_subject, or let messages go first",
            message=f"on subjects with {some(most, 'message')} every publish is {fate}; how many each subject holds was not counted",
        )  # fmt: skip
        return
    full = sum(number >= most for number in counts.values())
    if not full:
        yield note(f"on subjects with {some(most, 'message')} every publish is {fate}; none holds so many now")
        return
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{some(full)} of {some(len(counts), 'subject')} {'holds' if full == 1 else 'hold'} {most:_} or more: "
        f"every publish there is {fate}",
        quantities={"subjects": full},
        fix="raise max_msgs_per_subject, or let messages go first",
    )


@foretold(602, "publishers-unanswered")
def publishers_unanswered(moved: MovedField) -> Iterable[Finding]:
    """`no_ack` is set: publishes are stored and not confirmed.

    A client that publishes to JetStream waits for the confirmation until it gives up, reports an error, and mostly publishes
    again.

    Instead: let publishers stop waiting first, or consent: `allow: [{code: ST602, to: true, reason: …}]`.
    """
    if not moved.change.becomes("mirror"):
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path=moved.path,
            to=True,
            message="publishers that wait for an answer get none: each publish times out, although it is stored",
            fix="let publishers stop waiting first",
        )


@foretold(603, "queue-drops", ask=_size_questions)
def queue_drops(moved: MovedField) -> Iterable[Finding]:
    """`discard` turns from `new` to `old` on a stream that is full: what is there is removed instead of what comes refused.

    What is above a limit goes at apply, and each publish removes the oldest message, whether or not anybody has processed it.

    Instead: raise the limit in the same change, or consent: `allow: [{code: ST603, to: old, reason: …}]`.
    """
    if moved.change.becomes("mirror"):
        return
    if moved.field == "discard_new_per_subject":
        yield from _full_subjects(moved, "stored and removes the oldest there")
    elif not surplus.keeps_old(moved.change):
        for limit in LIMITS:
            if not is_lowered(moved.change, moved.own(limit)):
                yield from _drops(moved, limit)
            elif moved.change.was("retention"):  # what goes at apply is told where the limit is
                yield from _drops(moved, limit, is_told=True)


def _drops(moved: MovedField, limit: str, is_told: bool = False) -> Iterator[Finding]:
    most, state = _limit(moved, limit), state_of(moved.change)
    stored, messages = state.get(LIMITS[limit], 0), state.get("messages", 0)
    if not most:
        return
    of, limited = _in_words(limit, most)
    mean = 1 if limit == "max_msgs" else stored // messages if messages else 0
    if stored - most + mean <= 0:
        yield from () if is_told else (note(f"once {limited} are stored, each publish removes the oldest message"),)
        return
    over, is_ = (0, "becomes") if is_told else (max(0, stored - most), "is")
    goes = f"{of(over)} {'goes' if over == 1 else 'go'} at apply, and " if over else ""
    unread = ", which nobody may have processed" if moved.change.was("retention") else ""
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=moved.path,
        to=value_after(moved.change, moved.path),
        message=f"{of(stored)} {_are(messages)} stored, and {moved.own(limit)} {is_} {limited}: {goes}each publish removes the "
        f"oldest message{unread}",
        quantities={"messages" if limit == "max_msgs" else "bytes": over} if over else {},
        affects=everybody(stream_of(moved.change), moved.view),
        fix=f"raise {moved.own(limit)} in the same change, or keep discard: new",
    )


@foretold(604, "deduplication-shortened")
def deduplication_shortened(moved: MovedField) -> Iterable[Finding]:
    """`duplicate_window` is lowered: a message whose id is repeated after the new window is stored a second time.

    It is no verdict where nothing was stored within the old window. A server that looks over its ids in the moment before it
    takes the new window looks again only when the old one ends.

    Instead: keep the window at least as long as publishers go on repeating.
    """
    change, state = moved.change, state_of(moved.change)
    before, after = (show_duration(value) for value in (change.was(moved.path), value_after(change, moved.path)))
    words = f"a message id that is repeated between {after} and {before} later is stored twice"
    asked, last = change.live.state.get("ts") if change.live else None, state.get("last_ts")
    since = between(last, asked) if asked and last and last != ZERO else None
    if not state.get("messages") or since is None or since > change.was(moved.path):
        yield note(words)
        return
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{words}, and messages were stored within that time",
        fix="keep the window at least as long as publishers go on repeating",
    )


@foretold(605, "direct-gets-refused")
def direct_gets_refused(moved: MovedField) -> Iterable[Finding]:
    """Direct gets are no longer answered, or by a mirror that does not hold all of its origin.

    Clients that read with direct gets, as most clients of buckets do from the moment they open one, get "no responders".
    Where a mirror goes on answering in its origin's place, it is a note. Any mirror with `mirror_direct` answers for its
    origin, also one with a filter or limits of its own: a get of what it does not hold finds nothing, now and then.

    Instead: let these clients read through the stream's leader first.
    """
    if moved.field == "mirror_direct":
        yield from _in_its_origins_place(moved)
    elif not state_of(moved.change).get("messages"):
        yield note("direct gets get no answer from then on")
    elif mirrors := list(_answering(moved, stream_of(moved.change))):
        yield note(f"direct gets are answered by {listed(mirrors)} alone, with what is copied there")
    else:
        opened = "clients that have opened it read with direct gets, and get no answer until they open it anew"
        readers = "direct gets get no answer" if moved.change.address.kind == "stream" else opened
        yield Finding(
            outcome=Outcome.WARNS,
            path=moved.path,
            message=f"{readers}: {some(state_of(moved.change)['messages'], 'stored message')} can then be read "
            "through the leader alone",
            fix="let these clients read through the leader first",
        )


def _in_its_origins_place(moved: MovedField) -> Iterator[Finding]:
    """What becomes of direct gets of a mirror's origin."""
    origin = ((moved.change.becomes("mirror") or moved.change.was("mirror")) or {}).get("name", "")
    own, streams = stream_of(moved.change), moved.view.snapshot.streams
    if value_after(moved.change, moved.path):
        held, all_of_it = (streams.get(name, {}).get("state", {}).get("messages", 0) for name in (own, origin))
        words = (
            f"this mirror answers direct gets of {origin} as well, and holds {some(held)} of its "
            f"{some(all_of_it, 'message')}: gets of the others find nothing (404), now and then"
        )
        fix = f"take allow_direct off {origin}, or let the mirror hold all of it"
        yield from [_at_once(moved, words, fix)] if held < all_of_it else []
    elif streams.get(origin, {}).get("config", {}).get("allow_direct") or list(_answering(moved, origin)):
        yield note(f"this mirror no longer answers direct gets of its origin {origin}, which are left to others")
    elif origin in streams:
        words = f"direct gets of {origin} get no answer: this mirror alone answered them, since {origin} has no allow_direct"
        yield _at_once(
            moved, words, f"set allow_direct of {origin}, or let these clients read through the leader first"
        )


def _at_once(moved: MovedField, words: str, fix: str) -> Finding:
    """Servers before 2.12 look at a mirror's mirror_direct only when they start."""
    if moved.view.target.version < V2_12:
        return note(f"from the server's next restart on: {words}")
    return Finding(outcome=Outcome.WARNS, path=moved.path, message=words, fix=fix)


def _answering(moved: MovedField, stream: str) -> Iterator[str]:
    """Mirrors that hold all of this stream and answer in its place, now and after this plan."""
    return (name for name, origin in _in_its_place(moved, stream) if not _takes_a_part(origin))


def _in_its_place(moved: MovedField, stream: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Mirrors that answer for this stream, with what they say of it."""
    streams = moved.view.snapshot.streams
    for name, info in streams.items():
        config, change = info.get("config", {}), moved.view.changes.get(Address.of("stream", name))
        origin = config.get("mirror") or {}
        is_of_it = origin.get("name") == stream and not origin.get("external")
        goes = change is not None and change.action in (Action.DELETE, Action.REPLACE)
        stays = not goes and (
            change is None
            or change.action is not Action.UPDATE
            or change.becomes("mirror_direct")
            or moved.view.target.version < V2_12
        )
        if is_of_it and config.get("mirror_direct") and stays:
            yield name, origin


def _takes_a_part(origin: Mapping[str, Json]) -> bool:
    return bool(origin.get("filter_subject") or origin.get("subject_transforms"))


KINDS = {
    "allow_rollup_hdrs": "a message with Nats-Rollup",
    "allow_atomic": "an atomic batch",
    "allow_batched": "a fast batch",
}


@foretold(606, "kinds-of-publish-refused")
def kinds_of_publish_refused(moved: MovedField) -> Iterable[Finding]:
    """A kind of publish that was allowed is refused from then on: rollups, atomic batches, fast batches.

    No server says whether clients publish like this, and those that do are refused at once: that takes consent. Nobody
    publishes to a mirror, or to what is sealed.

    Instead: let publishers stop it first, or consent: `allow: [{code: ST606, to: false, reason: …}]`.
    """
    if not (moved.change.becomes("mirror") or moved.change.becomes("sealed")):
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path=moved.path,
            to=False,
            message=f"{KINDS[moved.field]} is refused from then on",
            fix="let publishers stop it first",
        )


@foretold(607, "listeners-fall-silent")
def listeners_fall_silent(moved: MovedField) -> Iterable[Finding]:
    """Plain subscribers hear nothing more: what is stored is not published again, or under another subject.

    No server says whether anybody listens.

    Instead: move the subscribers first.
    """
    if moved.field == "subject_delete_marker_ttl":
        yield from _without_markers(moved)
        return
    before, after = moved.change.was(moved.path) or {}, moved.change.becomes(moved.path) or {}
    old, new = before.get("dest", ""), after.get("dest", "")
    if not after:
        said = f"what is stored is no longer published to {old}"
    elif old != new:
        said = f"what is stored is published to {new} and no longer to {old}"
    elif after.get("src", ">") != before.get("src", ">"):
        said = f"of what is stored only {after.get('src', '>')} is published to {new}"
    elif after.get("headers_only") and not before.get("headers_only"):
        said = f"what is stored is published to {new} without its payload"
    else:
        return
    if not _is_republished(moved, before.get("src") or ">"):
        yield note(f"{said}; nothing is stored under {before.get('src')}, so nobody heard anything")
        return
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"{said}: its subscribers are not told",
        affects=streams(_taking_in(old, moved), moved.view),
        fix="move the subscribers first",
    )


def _taking_in(dest: str, moved: MovedField) -> Iterator[str]:
    """Streams that store what is published again."""
    sent = outcome(dest) if dest else ">"
    for name, info in moved.view.snapshot.streams.items():
        if any(collide(sent, one) for one in info["config"].get("subjects") or ()):
            yield name


def _is_republished(moved: MovedField, src: str) -> bool:
    """Does this match anything that is stored? What is published again goes by the subject that a transform made."""
    was = moved.change.was
    transform = was(moved.own("subject_transform"))
    if not transform or not transform.get("dest") or was("mirror") or was("sources"):
        return True
    if is_subset(src, transform.get("src") or ">"):
        return collide(outcome(transform["dest"]), src)
    return any(collide(subject, src) for subject in transformed(was("subjects") or (">",), transform))


def _without_markers(moved: MovedField) -> Iterator[Finding]:
    words = "no marker tells watchers from then on that the last message of a subject has expired"
    if not value_after(moved.change, moved.own("max_age")):
        yield note(words)
    else:
        affects = everybody(stream_of(moved.change), moved.view)
        fix = "move the watchers first"
        yield Finding(outcome=Outcome.WARNS, path=moved.path, message=words, affects=affects, fix=fix)


@foretold(608, "stored-elsewhere")
def stored_elsewhere(moved: MovedField) -> Iterable[Finding]:
    """The subjects under which messages are stored change, and filters and direct gets go by these.

    What is stored keeps its subject.

    Instead: let consumers and readers know both subjects first.
    """
    shown = [_rewriting(value(moved.path)) for value in (moved.change.was, moved.change.becomes)]
    yield Finding(
        outcome=Outcome.WARNS,
        path=moved.path,
        message=f"new messages are stored under other subjects ({shown[0]} → {shown[1]}): filters and reads that name the old "
        "ones do not find them",
        affects=everybody(stream_of(moved.change), moved.view),
        fix="let consumers and readers know both subjects first",
    )


def _rewriting(transform: Json) -> str:
    return f"{transform.get('src') or '>'} as {transform.get('dest') or 'it is'}" if transform else "as published"


@foretold(609, "consumers-refused")
def consumers_refused(moved: MovedField) -> Iterable[Finding]:
    """Consumers that clients would make are refused: there are as many as `max_consumers` allows, or they ask for more than
    `consumer_limits` allow.

    Clients that read in order or watch make a consumer each time. It is no verdict where there is room for more; what it
    means for consumers that are there other rules say.

    Instead: leave room for consumers that clients make.
    """
    if moved.field == "consumer_limits":
        before, after = moved.change.was(moved.path) or {}, moved.change.becomes(moved.path) or {}
        tighter = [name for name, most in after.items() if most and not 0 < (before.get(name) or 0) <= most]
        if tighter:
            yield note(f"consumers that clients make with more than these {' and '.join(tighter)} are refused (10121)")
        return
    most, there = _limit(moved, moved.field) or 0, state_of(moved.change).get("consumer_count", 0)
    if there < most:
        yield note(
            f"once there {'is' if most == 1 else 'are'} {some(most, 'consumer')}, clients can make no other (10026)"
        )
    elif there == most:
        yield Finding(
            outcome=Outcome.WARNS,
            path=moved.path,
            message=f"{some(there, 'consumer')} {_are(there)} there, which is all that max_consumers allows: clients can make no other "
            "(10026)",
            affects=groups(stream_of(moved.change), moved.view),
            fix="leave room for consumers that clients make",
        )


@foretold(610, "copies-stop")
def copies_stop(moved: MovedField) -> Iterable[Finding]:
    """`consumer_limits` are given a `max_ack_pending`, which the consumer through which the server copies does not keep: after
    its next restart, mirrors, sources and elastic groups of this stream take in nothing more.

    The server says so nowhere but in the copy's own state (10082). Versions before 2.12.12 and 2.14.3 refuse the change while
    a copy is at work. From 2.14 on, work queues and interest streams feed their copies in another way.

    Instead: write `max_ack_pending` into each consumer in place of `consumer_limits`.
    """
    before, after = (
        (value(moved.path) or {}).get("max_ack_pending") or 0 for value in (moved.change.was, moved.change.becomes)
    )
    live, fed = moved.change.live, origins.fed_now(stream_of(moved.change), moved.view)
    at_work = [name for name in fed if name not in origins.removed(moved.view)]
    is_limited = before <= 0 < after
    if not (is_limited and at_work and live) or origins.is_fed_durably(live.config, moved.view.target.version):
        return
    yield Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=f"{moved.path}.max_ack_pending",
        to=after,
        message=f"{listed(at_work)} {'copies' if len(at_work) == 1 else 'copy'} this stream, and the consumer through which the "
        f"server copies keeps no max_ack_pending: after the server's next restart nothing more is copied (10082)",
        affects=streams(at_work, moved.view),
        fix="write max_ack_pending into each consumer in place of consumer_limits",
    )


@notes_of(301)
def limits_to_come(moved: MovedField) -> Iterable[Finding]:
    """A limit that removes nothing now does so once it is reached."""
    change, path = moved.change, moved.path
    if not any(state_of(change).get(name) for name in ("messages", "last_seq")):
        return  # nobody has used it yet
    if not is_lowered(change, path) or surplus.LOSSES[moved.field](change, path, state_of(change), moved.view):
        return
    most = surplus.becomes(change, path)
    if moved.field in LIMITS:
        if not surplus.keeps_old(change):
            _, limited = _in_words(moved.field, most)
            yield note(f"once {limited} are stored, each publish removes the oldest messages")
    elif moved.field == "max_age":
        yield note(f"messages are removed when they are {show_duration(most)} old")
    elif not change.becomes("discard_new_per_subject"):
        yield note(f"once a subject holds {some(most, 'message')}, each publish there removes its oldest")


@notes_of(301)
def kept_by_mirrors(moved: MovedField) -> Iterable[Finding]:
    """What a limit removes a mirror may keep, and goes on giving it to clients that ask the origin. Of what is stored for one
    subject, they ask for the last."""
    change, path = moved.change, moved.path
    if moved.field == "max_msgs_per_subject" or not is_lowered(change, path) or not state_of(change).get("messages"):
        return
    if not change.becomes("allow_direct") or (moved.field in LIMITS and surplus.keeps_old(change)):
        return
    most = surplus.becomes(change, path)
    keeping = [name for name, _ in _in_its_place(moved, stream_of(change)) if _keeps_more(name, moved, most)]
    if keeping:
        who = f"{listed(keeping)}, which answer{'s' if len(keeping) == 1 else ''} in its place"
        yield note(f"direct gets find what is gone in {who}, now and then")


def _keeps_more(mirror: str, moved: MovedField, most: int) -> bool:
    """Is its own limit higher, or none, once this plan is applied?"""
    change = next((one for one in moved.view.changes.values() if one.live and stream_of(one) == mirror), None)
    live = moved.view.snapshot.streams.get(mirror, {}).get("config", {})
    said = (path for path in (moved.path, moved.field) if change and change.touches(path))
    limit = next((change.becomes(path) for path in said if change), live.get(moved.field)) or 0
    return not 0 < limit <= most


@notes_of(304)
def copied_at_once(moved: MovedField) -> Iterable[Finding]:
    """A source that is added brings what its origin stores, and readers get it."""
    for one in begun(moved.change, moved.view):
        if (number := one.copies(taken_subjects(one.source))).most:
            hidden = "" if one.start.is_known else ": fewer, if it was there before, which was not found out"
            yield note(
                f"{amount(number, 'message')} that {one.origin} stores {_are(number.most)} copied at once{hidden}"
            )


@notes_of(305)
def copies_to_come(moved: MovedField) -> Iterable[Finding]:
    """A source that is taken off is copied no more, also where nothing of it is left."""
    before, after = (
        {source["name"]: None for source in said(moved.path) or ()} for said in (moved.change.was, moved.change.becomes)
    )
    if gone := [name for name in before if name not in after]:
        yield note(f"what is stored in {listed(gone)} from then on is copied no more")


FAMILIES = (
    publishes_refused,
    publishers_unanswered,
    queue_drops,
    deduplication_shortened,
    direct_gets_refused,
    kinds_of_publish_refused,
    listeners_fall_silent,
    stored_elsewhere,
    consumers_refused,
    copies_stop,
    limits_to_come,
    kept_by_mirrors,
    copied_at_once,
    copies_to_come,
)
