"""An object that was applied before and is gone comes back empty: what is known of what it held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.effects import dependants
from reconciler.kinds.effects.surplus import OwnName, as_named
from reconciler.kinds.fields.known import V2_15
from reconciler.kinds.fields.words import consent_to, few, listed, some
from reconciler.model.resource import Json

NAMED = 3


def is_made_again(change: Change) -> bool:
    """Is it gone, although reconciler did not delete it?"""
    is_ours = change.on_record is not None and change.origin is None and change.intent is None
    return change.action is Action.CREATE and is_ours


def when_recorded(change: Change, held: str) -> str:
    """` (500 messages when it was recorded on 2026-11-22)`: what the bucket remembers of the lost object."""
    day = change.on_record.written[:10] if change.on_record else ""
    when = f"when it was recorded{f' on {day}' if day else ''}"
    return f" ({held} {when})" if held else f" (last recorded on {day})" if day else ""


def made_again(family: str, own: OwnName = as_named, stream: OwnName = as_named) -> Rule:
    """The 312 of a family. `own` gives the kind's name for a stream's field, `stream` the stream behind one of its
    kind."""

    def judge(change: Change, view: View) -> Found:
        """An object that was applied before is gone with everything in it, and apply recreates it empty.

        It stores new messages at once. The old ones do not come back, except those that a mirror or a source copies again from
        its origin. Its consumers are gone too: those that the files declare start over.

        The new stream counts from 1. Streams that copied from the old one continue after the last message they have copied. They
        silently skip as many messages of the new one, so this needs consent. Sources on servers from 2.15 on copy all of it.

        If somebody recreated it by hand, the new one exists, and this is a warning: an apply only updates the record.

        A stream that is created under the name of one that nobody recorded is judged as well if a mirror copied that one. On
        servers before 2.15, streams that have a source of that name are named too: nobody can tell whether they copied.

        Instead: restore a backup before applying, if you have one (`nats stream restore`). If other streams copy from it, let it
        continue their numbers with `first_seq`.
        """
        is_again = is_made_again(change) or bool(change.made_anew)
        if change.desired is None or not (is_again or _is_new(change)):
            return None
        messages = change.on_record.seen.get("messages", 0) if change.on_record else 0
        held = when_recorded(change, some(messages, "message") if messages else "")
        behind = _skipping(stream(change.address.name), change.becomes("first_seq") or 1, view, is_known=is_again)
        if change.made_anew:
            return _by_hand(held, messages, behind) if messages or behind.words else None
        if not is_again and not behind.words:
            return None
        said = [f"it is gone with everything in it{held}: recreated, it is empty", *_copied(change, view, own)]
        said = [*said, *_read(change, view)] if is_again else []
        said += behind.words
        needs_consent = bool(behind.words) and (is_again or bool(behind.most))
        counts_on = (
            behind.first if change.address.kind == "stream" and behind.first != change.becomes("first_seq") else 0
        )
        resume = (
            f"write first_seq: {counts_on}, so that the streams that copied from it skip nothing; or "
            if counts_on
            else ""
        )
        apart = "remove or promote the mirrors first" if needs_consent else _COUNT_ON
        way = _restore(change.becomes(own("mirror"))) if is_again else apart
        return Finding(
            outcome=Outcome.NEEDS_CONSENT if needs_consent else Outcome.WARNS,
            quantities={name: number for name, number in (("messages", messages), ("skipped", behind.most)) if number},
            message="; ".join(said),
            affects=dependants.streams(behind.skipping, view),
            fix=f"{resume}{way}" + (f"; or consent here: {consent_to(f'{family}312')}" if needs_consent else ""),
        )

    on = (Action.CREATE, Action.ADOPT, Action.UPDATE)
    harms = rule(f"{family}312", "made-again-empty", on=on, needs=("live",), reaction=Reaction.HARMS)
    return harms(judge)


def _is_new(change: Change) -> bool:
    return change.action is Action.CREATE and change.intent is None and change.origin is None


def _restore(mirror: Json) -> str:
    """A mirror gets everything again that its origin still holds."""
    when = "if its origin no longer holds all of it and there is one" if mirror else "if there is one"
    return f"restore a backup before you apply, {when} (nats stream restore)"


_COUNT_ON = (
    "write a first_seq above the last message that they copied, so that they skip nothing (the header Nats-Stream-Source of their "
    "newest messages names it)"
)


class _Skipping(NamedTuple):
    """What live streams that copied from the old one do not copy of the new one."""

    words: tuple[str, ...] = ()
    most: int = 0
    first: int = 0
    """The `first_seq` with which they skip nothing; 0: nobody knows it."""
    skipping: tuple[str, ...] = ()
    """Their names."""


def _skipping(origin: str, first: int, view: View, *, is_known: bool) -> _Skipping:
    """`is_known`: the old one is on record. A stream with sources need not have copied from one that is not."""
    old = "the old one" if is_known else "an earlier stream of this name"
    copies = _copies(origin, view)
    if not copies:
        return _Skipping()
    reached = max((at for at in copies.values() if at is not None), default=0)
    most, unsaid = max(0, reached + 1 - first), sorted(name for name, at in copies.items() if at is None)
    late = sorted(name for name, at in copies.items() if at is not None and at >= first)
    unsure = unsaid if first == 1 else []
    words = (
        [f"{listed(late)} copied from {old} and {_skips(late)} the first {some(most, 'message')} of the new one"]
        if late
        else []
    )
    if unsure and is_known:
        words.append(f"{listed(unsure)} copied from {old} and {_skips(unsure)} as many messages of the new one")
    elif unsure:
        have, they = ("has", "it") if len(unsure) == 1 else ("have", "they")
        words.append(
            f"{listed(unsure)} {have} a source of this name: if {they} copied from {old}, {they} {_skips(unsure)} as many "
            "messages of the new one"
        )
    return _Skipping(tuple(words), most, 0 if unsaid else reached + 1, (*late, *unsure))


def _by_hand(held: str, messages: int, behind: _Skipping) -> Finding:
    """Somebody recreated it: apply loses nothing more, and brings nothing back."""
    return Finding(
        outcome=Outcome.WARNS,
        reaction=Reaction.DOES,
        quantities={name: number for name, number in (("messages", messages), ("skipped", behind.most)) if number},
        message="; ".join([f"the old one is gone with everything in it{held}", *behind.words]),
        fix="an apply only updates the record and brings no message back; a backup, if there is one, can be restored only after "
        "the new one is deleted (nats stream restore)",
    )


def _skips(names: Sequence[str]) -> str:
    return "skips" if len(names) == 1 else "skip"


def _copies(origin: str, view: View) -> dict[str, int | None]:
    """Live streams that copy from it and stay, with the last of its messages they have; None: no server tells."""
    found: dict[str, int | None] = {}
    for name, info in view.snapshot.streams.items():
        config = info["config"]
        if (config.get("mirror") or {}).get("name") == origin and "external" not in config["mirror"]:
            found[name] = (info.get("state") or {}).get("last_seq", 0)
        elif view.target.version < V2_15 and any(
            one["name"] == origin and "external" not in one for one in config.get("sources") or ()
        ):
            found[name] = None if (info.get("state") or {}).get("last_seq") else 0
    return {name: at for name, at in found.items() if at != 0}


def _copied(change: Change, view: View, own: OwnName) -> Iterator[str]:
    """The streams that fill it again."""
    mirror, sources = change.becomes(own("mirror")), change.becomes(own("sources")) or ()
    origins = [_origin(one, view) for one in ([mirror] if mirror else sources)]
    if origins:
        yield f"it copies again from {few(origins, NAMED) if len(origins) > NAMED else listed(origins)}"


def _origin(copied: Json, view: View) -> str:
    there = view.snapshot.streams.get(copied["name"]) if "external" not in copied else None
    stored = f", which holds {some((there.get('state') or {}).get('messages', 0), 'message')}" if there else ""
    start = next((copied[key] for key in ("opt_start_seq", "opt_start_time") if copied.get(key)), None)
    return f"{copied['name']}{stored}{_part(copied)}{f', from {start} on' if start else ''}"


def _part(copied: Json) -> str:
    """What of it is copied, if not all."""
    filters = [one.get("src") for one in copied.get("subject_transforms") or () if one.get("src")]
    filters += [copied["filter_subject"]] if copied.get("filter_subject") else []
    return f" (only {listed(filters)} is copied)" if filters else ""


def _read(change: Change, view: View) -> Iterator[str]:
    """Consumers that are recreated with it."""
    if change.address.kind != "stream":
        return
    coming = sorted(one.address.name for one in view.children(change.address.name, "consumer") if is_made_again(one))
    if coming:
        yield f"its consumers begin again with it, where their files say: {few(coming, NAMED)}"
