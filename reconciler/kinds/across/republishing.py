"""Where messages go on their own: republished messages that come back, and transforms that store them under foreign
subjects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.across.subjects import captured_subjects
from reconciler.kinds.afterwards.readers import stored_subjects_afterwards
from reconciler.kinds.afterwards.stored import has_known_subjects, narrowed_subjects
from reconciler.kinds.afterwards.streams import afterwards, config_of, copies
from reconciler.kinds.losses.dependants import streams
from reconciler.kinds.subjects.subject_part import transformed_subjects
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.kinds.subjects.transforms import outcome
from reconciler.model.resource import Config

SHAPES_FLOW = ("republish", "subjects", "subject_transform", "mirror", "sources")


@rule("XX241", "republish-loop", needs=("neighbours",), reaction=Reaction.HARMS)
def republish_loop(change: Change, view: View) -> Found:
    """Other streams capture what a stream republishes, and republish or copy it in turn, until it arrives where it came
    from.

    The server checks a stream against its own subjects only. So each message goes round. Two streams that republish
    into each other make 512 messages of one before its headers are too large. A mirror that republishes into its origin
    never stops.

    Instead: republish to subjects that no stream on the way captures.
    """
    if not view.is_stream(change.address) or not (change.action is Action.CREATE or change.touches(*SHAPES_FLOW)):
        return None
    name = view.stream_of(change.address) or ""
    way = next((way for way in loops(view) if name in way), None)
    if way is None:
        return None
    begin, republish = way.index(name), change.becomes("republish")
    return refusal(
        "republish.dest" if republish else next((path for path in SHAPES_FLOW if change.becomes(path)), ""),
        f"messages would go round forever: {' → '.join((*way[begin:], *way[:begin], name))}",
        "republish to subjects that no stream on the way captures",
        consentable=True,
        to=republish["dest"] if republish else None,
        affects=streams(way, view),
    )


@lru_cache(maxsize=4)
def loops(view: View) -> tuple[tuple[str, ...], ...]:
    """Streams on each loop that starts with a republishing one. Computed once per view."""
    republishing = [name for name, config in afterwards(view).streams.items() if config.get("republish")]
    return tuple(way for name in republishing if (way := _loop_from(name, view)))


def _loop_from(start: str, view: View) -> tuple[str, ...] | None:
    """Follow everything that `start` stores; each stream is entered once, with all its ways in."""
    everything = stored_subjects_afterwards(view).by(start) or (">",)
    todo: list[tuple[str, str, tuple[str, ...]]] = [(start, subject, (start,)) for subject in everything]
    seen: set[tuple[str, str]] = set()
    while todo:
        name, stored, way = todo.pop()
        for other, subject in _next_streams(name, stored, view):
            if other == start and _republishes(other, subject, view):
                return way
            if (other, subject) not in seen and len(way) < LONGEST_WAY:
                seen.add((other, subject))
                todo.append((other, subject, (*way, other)))
    return None


LONGEST_WAY = 20


def _republishes(name: str, stored: str, view: View) -> bool:
    """The stream republishes the arriving message once more."""
    return collide(stored, afterwards(view).streams[name]["republish"].get("src") or ">")


def _next_streams(name: str, stored: str, view: View) -> Iterator[tuple[str, str]]:
    """(stream, subject it stores it under) of everything that happens to a message stored here."""
    after = afterwards(view)
    republish = after.streams.get(name, {}).get("republish")
    if republish and republish.get("dest") and collide(stored, republish.get("src") or ">"):
        sent = republished_subject(stored, republish)
        for other, theirs in captured_subjects(view).near(sent):
            if other != name and collide(sent, theirs):
                for arriving in narrowed_subjects([sent], theirs):
                    yield from (
                        (other, subject) for subject in _stored_subjects(arriving, after.streams.get(other, {}))
                    )
    for copy in after.copiers.get(name, ()):
        if not copy.filters or any(collide(stored, subject) for subject in copy.filters):
            transforms = copy.entry.get("subject_transforms") or [{}]
            for arriving in {subject for t in transforms for subject in transformed_subjects([stored], t)}:
                yield copy.stream, arriving


def republished_subject(stored: str, republish: Config) -> str:
    """The subject it is republished under; a mapping of everything to everything keeps the subject."""
    dest = outcome(republish["dest"])
    src = republish.get("src") or ">"
    if dest.endswith(">") and src.endswith(">") and is_subset(stored, src):
        tail = stored.split(".")[len(src.split(".")) - 1 :]
        return ".".join([*dest.split(".")[:-1], *tail])
    return dest


def _stored_subjects(arriving: str, config: Config) -> Iterator[str]:
    return transformed_subjects([arriving], config.get("subject_transform"))


@rule("XX242", "transform-into-foreign-subject", needs=("neighbours",), reaction=Reaction.INERT)
def transform_into_foreign_subject(change: Change, view: View) -> Iterator[Finding]:
    """A stream stores messages under subjects that another stream captures, or has a transform that matches none of its
    own subjects.

    A transform renames what this stream stores, and publishes nothing. Readers that look for those subjects in the
    other stream find nothing there. Servers accept both.

    Instead: transform to subjects of your own; to fill another stream, let it source this one.
    """
    config = config_of(change, view)
    transform = config.get("subject_transform")
    if not transform or not (change.action is Action.CREATE or change.touches("subject_transform", "subjects")):
        return
    if not has_known_subjects(config):
        return
    name, src = view.stream_of(change.address) or "", transform.get("src") or ">"
    if not any(copies(name, config)) and not any(collide(subject, src) for subject in config.get("subjects") or ()):
        yield Finding(
            outcome=Outcome.WARNS,
            path="subject_transform.src",
            message=f"`{src}` matches none of this stream's subjects, so the transform never applies",
            fix="name one of the stream's subjects, or remove the transform",
        )
        return
    stored = outcome(transform["dest"]) if transform.get("dest") else src
    for other, theirs in captured_subjects(view).near(stored):
        if other != name and collide(stored, theirs) and is_subset(stored, theirs):
            yield Finding(
                outcome=Outcome.WARNS,
                path="subject_transform.dest",
                message=f"this stream stores messages under `{stored}`, which stream {other} captures (`{theirs}`) but never gets",
                fix="transform to subjects of your own; to fill another stream, let it source this one",
            )
            return


@rule("XX243", "unreadable-bucket-source", needs=("neighbours",), reaction=Reaction.HARMS)
def unreadable_bucket_source(change: Change, view: View) -> Iterator[Finding]:
    """A KV bucket sources another bucket without a transform that puts the values under its own keys.

    The server stores them under `$KV.<the other>.<key>`, where no client of this bucket looks. They only take up room.

    Instead: `subject_transforms: [{src: "$KV.<the other>.>", dest: "$KV.<this one>.>"}]` in the source.
    """
    if change.address.kind != "kv_bucket" or not (change.action is Action.CREATE or change.touches("sources")):
        return
    name, own = view.stream_of(change.address) or "", f"$KV.{change.address.name}.>"
    for copy in copies(name, config_of(change, view)):
        arriving = stored_subjects_afterwards(view).copied_patterns(copy)
        if not copy.is_mirror and arriving and not any(collide(part, own) for part in arriving):
            yield Finding(
                outcome=Outcome.WARNS,
                path=copy.path,
                message=f"values from {copy.origin} would be stored under {', '.join(arriving[:3])}, where no reader of this bucket looks",
                fix=f"add subject_transforms: [{{src: {arriving[0]}, dest: {own}}}] to this source",
            )


RULES = (republish_loop, transform_into_foreign_subject, unreadable_bucket_source)
