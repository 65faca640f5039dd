"""An object that was applied before and is gone comes back empty: what is known of what it held.

Streams that copied from one that is gone skip some of the one that apply creates under its name, or copy it twice. A
mirror counts on from the last message that it copied; so does a source on servers before 2.15, and the headers of its
copies tell where that is, as far as they are still stored. From 2.15 on a source copies everything of the new stream from
its `opt_start_seq` on, also what that has copied again from its own origins.
A mirror has the numbers of its origin: what its copies skip of a new mirror is what they have. A stream with sources
gives other numbers to what it copies again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_15
from reconciler.kinds.fields.words import consent_to, few, listed, listed_few, some
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.added_sources import last_copy_question
from reconciler.kinds.losses.over_limit import OwnName, as_named
from reconciler.kinds.losses.restored import is_restored
from reconciler.kinds.stream_config.mirrors_and_sources import origin_label, origin_of
from reconciler.kinds.stream_config.origins import copies_now, given_subjects, origin_names
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.questions import CopiedUpTo, Elsewhere


class EffectsOnCopies(NamedTuple):
    """What live streams that copied from the old one skip of the new one, or copy twice."""

    words: tuple[str, ...] = ()
    skipped: int = 0
    """Messages, at most, as far as anybody can tell."""
    copied: int = 0
    """Messages copied twice, at most."""
    first: int = 0
    """The `first_seq` with which they skip nothing; 0: nobody knows it, or it cannot have one."""
    needs_number: bool = False
    """Would they skip nothing with a `first_seq` that nobody knows?"""
    behind: tuple[str, ...] = ()
    """Their names."""
    mirrors: tuple[str, ...] = ()
    """Those of them that are mirrors and skip some."""
    answering: tuple[str, ...] = ()
    """Mirrors that answer direct gets of the new one with what they hold of the old one."""

    @property
    def quantities(self) -> dict[str, int]:
        """Without those that are zero."""
        return {name: number for name, number in (("skipped", self.skipped), ("copied", self.copied)) if number}


def effects_on_copies(origin: str, change: Change, view: View, own: OwnName, *, is_known: bool) -> EffectsOnCopies:
    """Tell it for the stream `origin` that this change creates.

    `is_known`: the old one is on record. A stream with sources need not have copied from one that is not."""
    old = "the old one" if is_known else "an earlier stream of this name"
    config = {name: change.becomes(own(name)) for name in ("mirror", "sources")}
    mirrors, sourced = _copies_that_stay(origin, view)
    first, is_new_server = _first_of_new(change, own), view.target.version >= COPIES_NEW_ONES
    filled = sum(_stored_messages(name, view) for name in origin_names(config))
    reached = {**mirrors, **{name: sourcing.reached for name, sourcing in sourced.items() if sourcing.is_last}}
    if is_known and _has_same_numbering(change, config, max(reached.values(), default=0), view, own):
        mirrors, sourced = {}, {name: SourcedCopy(0, 0, is_last=False) for name in sourced if is_new_server}
    late = {name: reached[name] for name in (*mirrors, *sourced) if reached.get(name, 0) >= first}
    begun = {name: sourcing.start - 1 for name, sourcing in sourced.items() if is_new_server and sourcing.start > first}
    least = _last_number_noted(change, own, first)
    unsure = [
        name
        for name, sourcing in sourced.items()
        if not (is_new_server or sourcing.is_last) and first <= max(sourcing.reached, least)
    ]
    twice = sorted(
        name for name in (*mirrors, *sourced) if name not in late and (name in mirrors or is_new_server or first > 1)
    )
    answering = _mirrors_with_old_messages(mirrors, change, view, own)
    skipped_up_to, copied = max((*late.values(), *begun.values()), default=0), filled if twice else 0
    again = twice if filled else []
    words = (
        *_copies_sentence([*late], "skips", _first_messages_text(late, first), old, is_known=True),
        *_copies_sentence(
            unsure, "skips", f"up to as many messages of the new one as {old} ever stored", old, is_known=is_known
        ),
        *_copies_sentence(again, "copies", f"up to {some(copied, 'message')} again", old, is_known=is_known),
        *_begun_sources_text(begun, first),
        *_stale_gets_text(answering),
    )
    can_count_on = skipped_up_to and not (unsure or filled or config["mirror"])
    return EffectsOnCopies(
        words=words,
        skipped=skipped_up_to + 1 - first if skipped_up_to else 0,
        copied=copied,
        first=skipped_up_to + 1 if can_count_on else 0,
        needs_number=bool(unsure) and not (filled or config["mirror"]),
        behind=tuple(dict.fromkeys((*late, *unsure, *again, *begun))),
        mirrors=tuple(name for name in late if name in mirrors),
        answering=answering,
    )


COPIES_NEW_ONES = V2_15
"""From this version on, a source copies all of a stream that was recreated."""


def _first_of_new(change: Change, own: OwnName) -> int:
    """The number of the first message of the new one: of one that somebody recreated, as it was created."""
    name = own("first_seq")
    return (change.was(name) if change.made_anew else change.becomes(name)) or 1


def _last_number_noted(change: Change, own: OwnName, first: int) -> int:
    """The number up to which copies may have come, as far as it is not read from them. A `first_seq` that was applied with the
    old one says nothing of how far that came; one that is written since says that nobody came further."""
    if not change.record:
        return 1
    is_written_since = first != (change.record.applied.get(own("first_seq")) or 1)
    return max(1, change.record.seen.get("at") or 0) if is_written_since else first


def _first_messages_text(late: Mapping[str, int], first: int) -> str:
    return f"up to the first {some(max(late.values(), default=first) + 1 - first, 'message')} of the new one"


def _begun_sources_text(begun: Mapping[str, int], first: int) -> Iterator[str]:
    """Sources with a start, which numbers the messages of the old one."""
    if begun:
        begins, where = ("begins", "its") if len(begun) == 1 else ("begin", "their")
        yield (
            f"{listed(sorted(begun))} {begins} where {where} opt_start_seq says and {_verb_for([*begun], 'skips')} "
            f"{_first_messages_text(begun, first)}"
        )


def _mirrors_with_old_messages(mirrors: Iterable[str], change: Change, view: View, own: OwnName) -> tuple[str, ...]:
    """A mirror answers direct gets of its origin, whatever that is now. Clients send none to a stream without
    `allow_direct`."""
    declared, stock = change.becomes(own("allow_direct")), change.desired.stock if change.desired else {}
    if not (stock.get("allow_direct") if declared is None else declared):
        return ()
    streams = view.snapshot.streams
    return tuple(sorted(name for name in mirrors if streams[name]["config"].get("mirror_direct")))


def _stale_gets_text(answering: tuple[str, ...]) -> Iterator[str]:
    if answering:
        answer, hold = ("answers", "it holds") if len(answering) == 1 else ("answer", "they hold")
        yield f"{listed([*answering])} {answer} direct gets of the new one with what {hold} of the old one (mirror_direct)"


def _copies_sentence(copies: list[str], verb: str, objects: str, old: str, *, is_known: bool) -> Sequence[str]:
    """What these streams do, as a sentence; `is_known`: they certainly copied from the old one."""
    if not copies:
        return ()
    do, named = _verb_for(copies, verb), listed(sorted(copies))
    if is_known:
        return (f"{named} copied from {old} and {do} {objects}",)
    have, they = ("has", "it") if len(copies) == 1 else ("have", "they")
    return (f"{named} {have} a source of this name: if {they} copied from {old}, {they} {do} {objects}",)


def _verb_for(names: Sequence[str], verb: str) -> str:
    """The verb for one of them, or for several."""
    return verb if len(names) == 1 else {"skips": "skip", "copies": "copy"}[verb]


def _has_same_numbering(change: Change, config: Config, reached: int, view: View, own: OwnName) -> bool:
    """Is it a mirror of the same stream as the old one, which still has all the numbers that the copies have reached?"""
    mirror, before = config["mirror"], change.record.applied.get(own("mirror")) if change.record else None
    if not mirror or not before or mirror["name"] != before["name"]:
        return False
    is_live = mirror["name"] in view.snapshot.streams
    return "external" in mirror or (is_live and view.snapshot.state_of(mirror["name"]).get("last_seq", 0) >= reached)


class SourcedCopy(NamedTuple):
    """A live stream that has stored messages, and has a source of the name."""

    start: int
    """Its `opt_start_seq`; of several the latest one."""
    reached: int
    """A message of the old one that it certainly copied, the last one known; 0: none is known."""
    is_last: bool
    """Has it copied none after that?"""


def _copies_that_stay(origin: str, view: View) -> tuple[dict[str, int], dict[str, SourcedCopy]]:
    """Live streams that have copied from it and stay: mirrors, with the last of its messages they have, and streams with a
    source of that name."""
    mirrors, sourced = dict[str, int](), dict[str, SourcedCopy]()
    for name in sorted(copies_now(origin, view)):
        config, last = view.snapshot.config_of(name), view.snapshot.state_of(name).get("last_seq", 0)
        if last and config.get("mirror"):
            mirrors[name] = last
        elif last:
            sourced[name] = _sourced_copy(name, origin, view)
    return mirrors, sourced


def _sourced_copy(name: str, origin: str, view: View) -> SourcedCopy:
    """Consumers delete what a work queue or an interest stream copied, also the last of it."""
    config, asked = view.snapshot.config_of(name), [*_last_copy_questions(name, origin, view)]
    answers = [answer for question in asked if isinstance(answer := view.facts.get(question), Mapping)]
    reached = [answer.get("seq") or answer.get("least") or 0 for answer in answers]
    sources = _sources_from(origin, config)
    are_kept = config.get("retention", "limits") == "limits" and len(answers) == len(sources)
    return SourcedCopy(
        start=max(source.get("opt_start_seq") or 0 for source in sources),
        reached=max(reached, default=0),
        is_last=are_kept and all(answer.get("seq") for answer in answers),
    )


def _sources_from(origin: str, config: Config) -> list[Config]:
    return [
        source for source in config.get("sources") or () if source.get("name") == origin and "external" not in source
    ]


def _last_copy_questions(name: str, origin: str, view: View) -> Iterator[CopiedUpTo]:
    """How far each source of this live stream has copied the old one."""
    config = view.snapshot.config_of(name)
    for source in _sources_from(origin, config):
        if question := last_copy_question(name, config, source, given_subjects(source)):
            yield question


OTHER_DOMAIN = re.compile(r"\$JS\.[^.]+\.API")
"""A prefix that a domain answers at. What an account imports may leave out the question whether a stream exists."""


def elsewhere_questions(change: Change, view: View, own: OwnName = as_named) -> Iterator[Elsewhere]:
    """Whether anybody answers for the streams of other domains that it comes to copy."""
    if change.action not in (Action.CREATE, Action.UPDATE) or view.target.is_throwaway:
        return
    before = [change.was(own("mirror")), *(change.was(own("sources")) or ())]
    known = [origin_of(copied) for copied in before if copied]
    for copied in _declared_origins(change, own):
        name, api = origin_of(copied)
        if (name, api) not in known and OTHER_DOMAIN.fullmatch(str(api)):
            yield Elsewhere(api=str(api), stream=name)


def elsewhere_text(copied: Json, view: View) -> str:
    """What a plan knows of a stream in another account or domain."""
    answer = view.facts.get(Elsewhere(api=str(origin_of(copied)[1]), stream=copied["name"]))
    why_not = answer.get("why_not") if isinstance(answer, Mapping) else ""
    return why_not or "which this plan does not see"


def questions(change: Change, view: View, origin: str) -> Iterator[CopiedUpTo]:
    """How far sources have come that count on from there when this change creates the stream `origin`."""
    if view.target.version >= COPIES_NEW_ONES or not (_is_applied_object_gone(change) or _is_plain_create(change)):
        return
    for name in sorted(copies_now(origin, view)):
        if view.snapshot.state_of(name).get("messages"):
            yield from _last_copy_questions(name, origin, view)


def _stored_messages(name: str, view: View) -> int:
    """How many messages a live stream holds."""
    return int(view.snapshot.state_of(name).get("messages", 0))


NAMED = 3


def is_made_again(change: Change) -> bool:
    """Is it gone, although reconciler did not delete it?"""
    is_ours = change.record is not None and change.origin is None and change.intent is None
    return change.action is Action.CREATE and is_ours


def when_recorded_text(change: Change, held: str) -> str:
    """` (500 messages when it was recorded on 2026-11-22)`: what the bucket remembers of the lost object."""
    day = change.record.written[:10] if change.record else ""
    when = f"when it was recorded{f' on {day}' if day else ''}"
    return f" ({held} {when})" if held else f" (last recorded on {day})" if day else ""


def is_lost_at_restart(change: Change, view: View) -> bool:
    """Was it only in the memory of a single server, by its record? That server forgets it at each restart."""
    if view.target.is_clustered or change.record is None:
        return False
    applied = change.record.applied
    if applied.get("storage") == "memory" or applied.get("mem_storage"):
        return True
    stream = (
        view.changes.get(Address.of("stream", change.address.stream)) if change.address.kind == "consumer" else None
    )
    return stream is not None and stream.live is None and is_lost_at_restart(stream, view)


def lost_at_restart_clause(change: Change, view: View) -> str:
    """Why it may be gone although nobody deleted it; empty if its record names no memory."""
    return ", as is what a single server keeps in memory when it restarts" if is_lost_at_restart(change, view) else ""


def made_again_rule(family: str, own: OwnName = as_named, stream: OwnName = as_named) -> Rule:
    """Make rule 312 of a family of kinds. `own` gives the kind's name for a stream's field, `stream` the stream behind one of its
    kind."""

    def judge(change: Change, view: View) -> Found:
        """An object that was applied before is gone with everything in it, and apply recreates it empty.

        It stores new messages at once. The old ones do not come back, except those that a mirror or a source copies again from
        its origin. Its consumers are gone too: those that the files declare start over.

        The new stream counts from 1. Streams that copied from the old one continue after the last message they have copied. They
        silently skip as many messages of the new one, so this needs consent. The newest messages of a stream with a source say how
        far it came; where they are gone, or consumers delete them, nobody can tell. A `first_seq` that was applied with the old
        one does not help: the old one counted on from there. Sources on servers from 2.15 on copy all of the new one from their
        `opt_start_seq` on: take that out when a source has begun. If the new stream is a mirror or has sources itself, they also
        copy again what it copies again from its origins.

        Copies in other accounts and domains do the same, and so do clients that watch it or read it in order. No plan sees them:
        their consumers are gone with the old one (XX231).

        A mirror with `mirror_direct` answers direct gets of its origin. It answers those of the new one, too, with the messages of
        the old one: its readers get values that were deleted with it.

        If somebody recreated it by hand, the new one exists, and this is a warning: an apply only updates the record. If
        somebody restored a backup, it holds what that holds, and its consumers continue where they stood then.

        A stream that is created under the name of one that nobody recorded is judged as well if a live stream copied that one. On
        servers before 2.15, streams that have a source of that name are named too where nobody can tell whether they copied.

        A single server forgets at each restart what it keeps in memory, with its configuration. No backup holds that.

        Instead: restore a backup before applying, if you have one (`nats stream restore`). If other streams copy from it and nothing
        fills it again, let it continue their numbers: a stream by `first_seq`, and what has no such key by
        `nats stream purge --seq` while it is empty.
        """
        is_again = _is_applied_object_gone(change)
        if change.desired is None or not (is_again or _is_plain_create(change)):
            return None
        messages = change.record.seen.get("messages", 0) if change.record else 0
        held = when_recorded_text(change, some(messages, "message") if messages else "")
        if is_restored(change):
            return _restored_finding(change, stream(change.address.name), view)
        copies = effects_on_copies(stream(change.address.name), change, view, own, is_known=is_again)
        if change.made_anew:
            return _recreated_by_hand_finding(held, messages, copies) if messages or copies.words else None
        if not is_again and not copies.words:
            return None
        texts = [
            f"it is gone with everything in it{held}{lost_at_restart_clause(change, view)}: recreated, it is empty",
            *_refilling_streams(change, view, own),
        ]
        texts = [*texts, *_restarting_consumers_text(change, view)] if is_again else []
        needs_consent = bool(copies.words) and (is_again or bool(copies.skipped))
        ways = _advice(change, copies, own, stream(change.address.name), view, is_again=is_again)
        return Finding(
            outcome=Outcome.NEEDS_CONSENT if needs_consent else Outcome.WARNS,
            quantities=_quantities_of_gone(messages, copies),
            message="; ".join([*texts, *copies.words]),
            affects=dependants.streams(copies.behind, view),
            fix="; or ".join([*ways, *([f"consent here: {consent_to(f'{family}312')}"] if needs_consent else [])])
            or None,
        )

    on = (Action.CREATE, Action.ADOPT, Action.UPDATE)
    harms = rule(f"{family}312", "made-again-empty", on=on, needs=("live",), reaction=Reaction.HARMS)
    return harms(judge)


def _is_applied_object_gone(change: Change) -> bool:
    """Is the object that was applied gone, whether or not somebody recreated it?"""
    return is_made_again(change) or bool(change.made_anew)


def _is_plain_create(change: Change) -> bool:
    return change.action is Action.CREATE and change.intent is None and change.origin is None


def _quantities_of_gone(messages: int, copies: EffectsOnCopies) -> dict[str, int]:
    return {**({"messages": messages} if messages else {}), **copies.quantities}


def _advice(
    change: Change, copies: EffectsOnCopies, own: OwnName, stream: str, view: View, *, is_again: bool
) -> list[str]:
    """What to do about it, in the order of what helps most."""
    mirror, ways, is_stream = change.becomes(own("mirror")), list[str](), change.address.kind == "stream"
    if copies.first and not (is_stream and copies.first == change.becomes("first_seq")):
        count_on = f"write first_seq: {copies.first}" if is_stream else purge_advice(stream, copies.first)
        ways.append(f"{count_on}, so that the streams that copied from it skip nothing")
    elif copies.needs_number:
        count_on = "write a first_seq" if is_stream else f"{purge_advice(stream, 'NUMBER')}, with a number"
        ways.append(f"{count_on} above the last message that they copied, so that they skip nothing {_COPIED}")
    if copies.answering:
        ways.append(
            f"remove {listed([*copies.answering])} in an apply before this one, with what is stored there, and declare "
            f"{'it' if len(copies.answering) == 1 else 'them'} again; or write allow_direct: false, so that clients ask the leader"
        )
    if mirror and copies.copied:
        ways.append(_ONCE)
    if is_again and is_lost_at_restart(change, view):
        ways.append("write storage: file, if it is to outlast a restart")
    elif is_again:
        ways.append(_restore_advice(mirror))
    elif copies.mirrors:
        ways.append("remove or promote the mirrors first")
    return ways


def purge_advice(stream: str, first: int | str) -> str:
    """How a stream whose file takes no `first_seq`, as that of a bucket, begins with this number. Measured on 2.11.11 to
    2.15.1: its copies go on there."""
    return f"right after the apply, before anybody writes to it, run nats stream purge {stream} --seq {first} --force"


def _restore_advice(mirror: Json) -> str:
    """A mirror gets everything again that its origin still holds."""
    when = "if its origin no longer holds all of it and there is one" if mirror else "if there is one"
    return f"restore a backup before you apply, {when} (nats stream restore)"


_COPIED = "(the header Nats-Stream-Source of their newest messages names it)"
_ONCE = (
    "take the source off those streams first and add it back with opt_start_seq, one more than the last message that they copied "
    f"{_COPIED}"
)


def _recreated_by_hand_finding(held: str, messages: int, copies: EffectsOnCopies) -> Finding:
    """Somebody recreated it: apply loses nothing more, and brings nothing back."""
    return Finding(
        outcome=Outcome.WARNS,
        reaction=Reaction.DOES,
        quantities=_quantities_of_gone(messages, copies),
        message="; ".join([f"the old one is gone with everything in it{held}", *copies.words]),
        fix="an apply only updates the record and brings no message back; a backup, if there is one, can be restored only after "
        "the new one is deleted (nats stream restore)",
    )


def _restored_finding(change: Change, origin: str, view: View) -> Finding:
    """Somebody restored a backup: what came after that is gone, and copies do not go back with it."""
    last, noted = (
        int(change.info["state"].get("last_seq", 0)),
        int(change.record.seen.get("at") or 0) if change.record else 0,
    )
    lost = max(0, noted - last)
    known = f", {some(lost, 'message')} of them by its record" if lost else ""
    texts = [
        f"somebody restored a backup of it, which ends at sequence {last}: messages that the old one stored after that are "
        f"gone{known}; its consumers continue where they stood in the backup",
        *_copies_of_restored_text(last, origin, view),
    ]
    return Finding(
        outcome=Outcome.WARNS,
        reaction=Reaction.DOES,
        quantities={"messages": lost} if lost else {},
        message="; ".join(texts),
        fix="find out what publishers sent and clients processed since the backup; an apply only updates the record",
    )


def _copies_of_restored_text(last: int, origin: str, view: View) -> Iterator[str]:
    """What streams do that copied from the old one."""
    mirrors, sourced = _copies_that_stay(origin, view)
    again = [*sourced] if view.target.version >= COPIES_NEW_ONES else []
    beyond = [name for name, reached in mirrors.items() if reached > last]
    beyond += [name for name, copy in sourced.items() if not again and (copy.reached > last or not copy.is_last)]
    if again:
        yield f"{listed(sorted(again))} {'copies' if len(again) == 1 else 'copy'} again what it holds"
    if beyond:
        they = "it" if len(beyond) == 1 else "they"
        yield f"{listed(sorted(beyond))} may skip new messages, up to the number of the last one that {they} copied of the old one"


def _refilling_streams(change: Change, view: View, own: OwnName) -> Iterator[str]:
    """The streams that fill it again."""
    if origins := _origins_text(change, view, own):
        yield f"it copies again from {origins}"


def _origins_text(change: Change, view: View, own: OwnName) -> str:
    origins = [_origin_text(entry, view) for entry in _declared_origins(change, own)]
    return few(origins, NAMED) if len(origins) > NAMED else listed(origins)


def _declared_origins(change: Change, own: OwnName) -> list[Json]:
    """What it will copy."""
    return [entry for entry in (change.becomes(own("mirror")), *(change.becomes(own("sources")) or ())) if entry]


def initial_copy_consequences(change: Change, view: View, own: OwnName = as_named) -> Iterator[Consequence]:
    """What a new stream copies when it is created, where no rule speaks of one that was there before."""
    if change.action is not Action.CREATE or is_made_again(change):
        return
    if is_filled_at_once(change, view, own) or any("external" in entry for entry in _declared_origins(change, own)):
        yield Consequence(message=f"It copies from {_origins_text(change, view, own)}")


def is_filled_at_once(change: Change, view: View, own: OwnName = as_named) -> bool:
    """Does a new stream copy messages that are stored already?"""
    if change.action is not Action.CREATE:
        return False
    return any(
        _stored_messages(entry["name"], view) for entry in _declared_origins(change, own) if "external" not in entry
    )


def _origin_text(copied: Json, view: View) -> str:
    is_live = "external" not in copied and copied["name"] in view.snapshot.streams
    stored = f", which holds {some(_stored_messages(copied['name'], view), 'message')}" if is_live else ""
    if "external" in copied:
        stored = f", {elsewhere_text(copied, view)}"
    start = next((copied[key] for key in ("opt_start_seq", "opt_start_time") if copied.get(key)), None)
    return f"{origin_label(copied)}{stored}{_copy_filters_text(copied)}{f', from {start} on' if start else ''}"


def _copy_filters_text(copied: Json) -> str:
    """What of it is copied, if not all."""
    filters = [transform.get("src") for transform in copied.get("subject_transforms") or () if transform.get("src")]
    filters += [copied["filter_subject"]] if copied.get("filter_subject") else []
    return f" (only {listed_few(filters, 5)} is copied)" if filters else ""


def _restarting_consumers_text(change: Change, view: View) -> Iterator[str]:
    """Consumers that are recreated with it."""
    if change.address.kind != "stream":
        return
    coming = sorted(
        child.address.name for child in view.children(change.address.name, "consumer") if is_made_again(child)
    )
    if coming:
        yield f"its consumers begin again with it, where their files say: {few(coming, NAMED)}"
