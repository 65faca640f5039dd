"""Mirrors and sources: missing origins, cycles, and what a change of an origin does to its copies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import Copy, afterwards, config_of, copies
from reconciler.kinds.elastic_group.immutable import QUEUE
from reconciler.kinds.fields.known import V2_15
from reconciler.kinds.fields.words import in_words, written_size
from reconciler.kinds.losses import dependants
from reconciler.kinds.subjects.subjects import collide, name_problem
from reconciler.model.resource import Address, Config

WRITTEN = (Action.CREATE, Action.UPDATE)
STANDING = (Action.KEEP, Action.ADOPT)
AS_THE_COPY_SAYS = "mirror", "sources"


def is_new(change: Change, *fields: str) -> bool:
    """Does this change create the object or its queue, or touch one of these fields?"""
    return change.action is Action.CREATE or change.was(QUEUE) == "missing" or change.touches(*fields)


@rule("XX203", "copy-cycle", needs=("neighbours",), err_code=10052, can_stand=True)
def copy_cycle(change: Change, view: View) -> Found:
    """Mirrors and sources lead from this stream back to one that the server has already visited on its walk.

    The server walks origins breadth first and refuses a stream that it meets again ("detected cycle"), unless a source
    with a `filter_subject` leads there that matches none of the *copying* stream's own subjects. So it also refuses
    some configurations without a cycle, such as sourcing a stream directly and again through another stream. Transforms
    do not count as filters.

    Instead: let one of them not copy, or copy from the first stream of the chain only; if there are two ways to one
    origin, name the longer one first.
    """
    if not view.is_stream(change.address):
        return None
    name = view.stream_of(change.address) or ""
    if (ring := first_cycle(name, afterwards(view).streams)) is None:
        return None
    return refusal(
        (
            next((copy.path for copy in copies(name, config_of(change, view)) if copy.origin == ring.stream), "")
            or next((copy.path for copy in copies(name, config_of(change, view))), "")
        ),
        f"{cycle_text(name, ring)}: the server takes that for a cycle",
        "remove one of these mirrors or sources; if there are two ways to one origin, name the longer one first",
    )


def cycle_text(name: str, ring: Copy) -> str:
    """How `name` reaches an origin for the second time, in words; `ring` is the copy that leads there."""
    if ring.stream == name:
        return (
            f"stream {name} copies {ring.origin} in two ways" if ring.origin != name else f"stream {name} copies itself"
        )
    return f"stream {name} copies messages of {ring.stream}, and {ring.stream} copies {ring.origin}"


def first_cycle(name: str, streams: Mapping[str, Config]) -> Copy | None:
    """The copy at which the server says "detected cycle" when it checks this stream."""
    todo, visited = deque([name]), set()
    while todo:
        visited.add(stream := todo.popleft())
        config = streams.get(stream, {})
        sourced = [copy for copy in copies(stream, config) if not copy.is_mirror]
        for copy in (*sourced, *(copy for copy in copies(stream, config) if copy.is_mirror)):
            if copy.origin not in visited:
                todo.extend([copy.origin] if copy.origin in streams else [])
            elif copy.is_mirror or _matches_own_subjects(config, copy.entry.get("filter_subject")):
                return copy
    return None


def _matches_own_subjects(config: Config, filter_subject: str | None) -> bool:
    return not filter_subject or any(collide(subject, filter_subject) for subject in config.get("subjects") or ())


def largest_message_of(config: Config) -> int:
    """Bytes of the largest message that a stream accepts; 0 if nothing limits it."""
    return max(0, config.get("max_msg_size") or 0)


def copies_of_larger(name: str, streams: Mapping[str, Config]) -> Iterator[Copy]:
    """Copies of origins whose messages may be larger than this stream accepts. A side without a limit
    is not compared."""
    if own := largest_message_of(streams.get(name, {})):
        yield from (
            copy for copy in copies(name, streams[name]) if own < largest_message_of(streams.get(copy.origin, {}))
        )


@rule("XX205", "copy-too-small", needs=("neighbours",), err_code=(10030, 10046), can_stand=True)
def copy_too_small(change: Change, view: View) -> Iterator[Finding]:
    """A mirror or sourcing stream has a `max_msg_size` below that of its origin.

    It could never copy messages between the two sizes. The server refuses the copy (10030 a mirror, 10046 a source).

    Instead: raise its `max_msg_size` to the origin's, or leave it out.
    """
    if not view.is_stream(change.address):
        return
    name, streams = view.stream_of(change.address) or "", afterwards(view).streams
    for copy in copies_of_larger(name, streams):
        own, wanted = (largest_message_of(streams[stream]) for stream in (name, copy.origin))
        yield refusal(
            "max_value_size" if change.address.kind == "kv_bucket" else "max_msg_size",
            (
                f"messages may have {written_size(own)} here and {written_size(wanted)} in its origin {copy.origin}: this stream "
                "would never copy larger ones"
            ),
            f"write {in_words(wanted, 'bytes')} or more, or no limit at all",
        )


@rule("XX206", "origin-missing", needs=("neighbours",), reaction=Reaction.INERT)
def origin_missing(change: Change, view: View) -> Iterator[Finding]:
    """A mirror or source names a stream that does not exist in the account and that this plan does not create.

    The server accepts it, and copies nothing until a stream of that name appears.

    Instead: check the name. If somebody else manages the stream, declare it with `external: true`. If the origin is in
    another account or domain, write `external` into the copy.
    """
    if not view.is_stream(change.address) or not is_new(change, *AS_THE_COPY_SAYS):
        return
    streams = afterwards(view).streams
    for copy in copies(view.stream_of(change.address) or "", config_of(change, view)):
        if copy.origin in streams or any(map(name_problem, (copy.origin, *streams))):
            continue  # a stream with an impossible name may be meant, once it has the right one
        if (declared := view.desired.get(Address.of("stream", copy.origin))) and declared.external:
            continue  # ST109 says whether it exists
        if not view.snapshot.why_stream_unknown(copy.origin):
            yield Finding(
                outcome=Outcome.WARNS,
                path=copy.path,
                message=f"stream {copy.origin} does not exist, and the server copies nothing until it does",
                fix="check the name; if it is elsewhere, write `external` here to say how to reach it; if others manage it here, "
                "declare it with `external: true`",
            )


@rule(
    "XX207",
    "direct-reads-overwritten",
    on=(*WRITTEN, *STANDING),
    of=("stream",),
    needs=("neighbours",),
    reaction=Reaction.DROPS,
)
def direct_reads_overwritten(change: Change, view: View) -> Found:
    """The file sets `mirror_direct`, and the origin's `allow_direct` says otherwise.

    If the server can see the origin of a mirror, it overwrites `mirror_direct` with the origin's `allow_direct`, at
    creation and at every update. The value in the file never takes effect. A mirror that has another value since the origin
    changed, and is left as found, gets the origin's at its next update.

    Instead: leave `mirror_direct` out, or change `allow_direct` of the origin.
    """
    if (declared := getattr(change.terms, "mirror_direct", None)) is None:
        return None
    origin = next((copy.origin for copy in copies("", config_of(change, view)) if copy.is_mirror), None)
    config = afterwards(view).streams.get(origin or "")
    if config is None or declared == bool(config.get("allow_direct")):
        return None
    is_found = "mirror_direct" in change.terms.unmanaged
    when = " at its next update" if is_found and not change.action.writes else ""
    return Finding(
        outcome=Outcome.WARNS,
        path="mirror_direct",
        message=f"the server sets mirror_direct to {str(not declared).lower()}{when}, like allow_direct of its origin {origin}, and "
        "ignores this value",
        fix=f"{'' if is_found else 'leave it out, or '}change allow_direct of the origin",
    )


@rule("XX208", "deliver-prefix-overlap", needs=("neighbours",), err_code=10022, can_stand=True)
def deliver_prefix_overlap(change: Change, view: View) -> Iterator[Finding]:
    """The deliver prefix of an external source, put before a subject of another origin of this stream, gives a subject
    that this origin captures.

    That origin would also store what is copied from elsewhere. The server refuses it (10022).

    Instead: choose a prefix that no origin's subjects cover.
    """
    if not view.is_stream(change.address):
        return
    config, streams = config_of(change, view), afterwards(view).streams
    theirs = [
        (copy.origin, subject)
        for copy in copies("", config)
        for subject in streams.get(copy.origin, {}).get("subjects") or ()
    ]
    for path, prefix in _deliver_prefixes(config) if theirs else ():
        for origin, subject in theirs:
            if collide(subject, f"{prefix}.{subject}"):
                yield refusal(
                    f"{path}.external.deliver",
                    f"{origin}, which has `{subject}`, would capture `{prefix}.{subject}`",
                    "choose a prefix that no origin's subjects cover",
                )
                break


def _deliver_prefixes(config: Config) -> Iterator[tuple[str, str]]:
    for index, source in enumerate(config.get("sources") or ()):
        if prefix := (source.get("external") or {}).get("deliver"):
            yield f"sources[{index}]", prefix


LIMITS = ("max_msgs", "max_bytes", "max_age")


@rule(
    "XX210",
    "mirror-answers-for-a-part",
    on=(Action.CREATE, Action.ADOPT),
    needs=("neighbours",),
    reaction=Reaction.HARMS,
)
def mirror_answers_for_a_part(change: Change, view: View) -> Found:
    """A mirror that is created or adopted holds only part of its origin, because of a filter, a start or limits of its
    own, and the origin has `allow_direct`.

    Whatever its file says, such a mirror also answers direct gets of its origin. It answers some of the gets, and finds
    nothing although the origin has the message. Clients of buckets read with direct gets.

    Instead: declare a stream that sources the origin, which answers only for itself; or remove `allow_direct` from the
    origin.
    """
    if not view.is_stream(change.address):
        return None
    name, streams = view.stream_of(change.address) or "", afterwards(view).streams
    copy = next((copier for copier in copies(name, config_of(change, view)) if copier.is_mirror), None)
    origin = streams.get(copy.origin, {}) if copy else {}
    if (
        copy is None
        or not origin.get("allow_direct")
        or not (part := _partial_reasons(copy, streams[name], origin, view.kinds[change.address.kind].own_name))
    ):
        return None
    return Finding(
        outcome=Outcome.WARNS,
        path="mirror",
        affects=dependants.streams([copy.origin], view),
        message=f"this mirror answers direct gets of {copy.origin} as well, and holds only a part of it ({part}): gets of the rest "
        "sometimes find nothing (404)",
        fix=f"source {copy.origin} instead of mirroring it, or remove allow_direct from {copy.origin}",
    )


def _partial_reasons(copy: Copy, config: Config, origin: Config, own_name: Callable[[str], str]) -> str:
    """What keeps it from holding all of its origin, in the words of its file; empty: nothing."""
    parts = copy.filters or [name for name in ("opt_start_seq", "opt_start_time") if copy.entry.get(name)]
    tighter = [
        own_name(limit)
        for limit in LIMITS
        if (own := config.get(limit) or 0) > 0 and not 0 < (origin.get(limit) or 0) <= own
    ]
    return ", ".join([*parts, *tighter])


@rule(
    "XX213",
    "copied-again-at-restart",
    on=(*WRITTEN, *STANDING),
    needs=("neighbours",),
    until=V2_15,
    reaction=Reaction.HARMS,
)
def copied_again_at_restart(change: Change, view: View) -> Iterator[Finding]:
    """A source has an `opt_start_seq`, its stream can become empty, and the server is older than 2.15.

    The start says where the source begins, and the file keeps it. A server that restarts continues after the last message
    of the origin that the stream still stores. If it stores none, because all are processed or too old, the source begins
    at its start once more: consumers get all of that again.

    Instead: take `opt_start_seq` out in a later apply, when the stream has stored a message of the origin. It then
    continues after the last message that it stored.
    """
    config = config_of(change, view) if view.is_stream(change.address) else {}
    if config.get("retention", "limits") == "limits" and not config.get("max_age"):
        return
    for copy in copies(view.stream_of(change.address) or "", config):
        if not copy.is_mirror and (start := copy.entry.get("opt_start_seq")):
            yield Finding(
                outcome=Outcome.WARNS,
                path=f"{copy.path}.opt_start_seq",
                affects=dependants.everybody(copy.stream, view),
                message=f"if the server restarts while nothing of {copy.origin} is stored here, it copies {copy.origin} from message "
                f"{start} on again, and consumers get that once more",
                fix=f"take opt_start_seq out in a later apply, when a message of {copy.origin} is stored here",
            )


RULES = (
    copy_cycle,
    copy_too_small,
    origin_missing,
    direct_reads_overwritten,
    deliver_prefix_overlap,
    mirror_answers_for_a_part,
    copied_again_at_restart,
)
