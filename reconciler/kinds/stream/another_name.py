"""How to rename a stream, which no server does itself: the steps that lose nothing, for each shape of stream."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reconciler.changes.renaming import Renaming
from reconciler.kinds.fields.known import V2_12, V2_14, V2_15
from reconciler.kinds.fields.words import in_words, listed
from reconciler.kinds.stream_config.origins import FED_FOR, IDLE, PENDING, can_end, forbidding
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.written import quoted

DONE_ONCE = ("duplicate_window", "subject_transform", "republish", "sealed")
"""What a copy must not do a second time to the messages it copies, or before it has copied everything. A window would
drop messages whose ids it has seen, however long ago they were published."""


def recipe(asked: Renaming) -> list[str]:
    """The steps for the live configuration: a mirror, a queue, or any other stream, with or without sources. Schedules
    are never copied: messages that are stored beside them stay in the old stream, as in a queue."""
    if asked.live.get("mirror"):
        return _mirror(asked)
    stays = asked.live.get("retention") in ("workqueue", "interest") or asked.live.get("allow_msg_schedules")
    return _queue(asked) if stays or _is_never_fed(asked) else _stream(asked)


def _stream(asked: Renaming) -> list[str]:
    """A source writes and numbers messages again, so an old position means nothing in the copy. Clients therefore
    finish on the old stream, and consumers of the new one start after everything that was copied. So do copies."""
    old, new = asked.old.name, asked.new.name
    later = [name for name in DONE_ONCE if asked.live.get(name) and name not in asked.left_out]
    given = listed([*(["subjects"] if asked.live.get("subjects") else []), *later])
    return [
        *_fed(asked),
        f"Declare {new} with `sources: [{{name: {quoted(old)}}}]` and without {listed(['subjects', *later])}; apply, and wait "
        f"until `nats stream info {new}` shows no lag.{_anew(asked)}",
        f"{_left_out(asked)} Wait until {new} shows no lag, and note its last sequence: N.",
        f"Give {new} {f'the {given} and ' if given else ''}{_sourcing(asked)}; declare its consumers{_but_pushed(asked)} with "
        f"`deliver_policy: by_start_sequence` and `opt_start_seq:` N + 1{_sourced_beside(asked)}; apply.{_publishers(asked)}",
        *_no_longer_sourced(asked),
        *_mirrored(asked, f", with consumers that start at N + 1 as those of {new} do. {_EMPTIED}"),
        *_grouped(
            asked, f"It starts at the first message of {new}, so its members process again what they processed in {old}"
        ),
        _worked_off(asked),
        *_pushed_last(asked),
        *_without_start(asked, also=asked.sourcing),
    ]


def _fed(asked: Renaming) -> Iterator[str]:
    """The server feeds a copy through a consumer of its own, to which the limits of the origin apply."""
    old, said, limits = asked.old.name, list[str](), forbidding(asked.live, asked.version)
    if PENDING in limits:
        said.append(f"Remove `{PENDING}` from the `consumer_limits` of {old}, and write it into each of its consumers")
    if IDLE in limits:
        least = in_words(FED_FOR, "duration")
        said.append(f"{'raise' if said else 'Raise'} `{IDLE}` in the `consumer_limits` of {old} to {least} or more")
    if (asked.live.get("max_consumers") or 0) > 0 and asked.version < V2_15:
        said.append(f"{'let' if said else 'Let'} `max_consumers` of {old} leave a place for a copy")
    if said:
        yield f"{'; '.join(said)}; apply. Else the server copies nothing, and {asked.new.name} shows no lag all the same."


def _is_never_fed(asked: Renaming) -> bool:
    """It has a limit with which the server copies nothing, and which cannot be removed beside consumers."""
    return PENDING in forbidding(asked.live, asked.version) and asked.has_consumers and not can_end(asked.version)


def _uncopied(asked: Renaming) -> Iterator[str]:
    if asked.live.get("retention", "limits") == "limits" and _is_never_fed(asked):
        yield (
            f"Back up what {asked.old.name} stores, if it is still of use when it has been processed: it is not copied. With "
            f"`{PENDING}` in `consumer_limits` a server copies nothing, and this one does not let it go beside consumers (10069)."
        )


def _queue(asked: Renaming) -> list[str]:
    """Clients process the stored messages in the old queue. All readers of the new one are declared with it: an interest
    stream drops what nobody wants, and apply lets it take subjects when its readers listen."""
    old, new = asked.old.name, asked.new.name
    return [
        *_uncopied(asked),
        _left_out(asked),
        f"Declare {new} with {_own(asked)}and with consumers like those of {old}{_readers(asked)}, and apply.{_publishers(asked)}",
        *_scheduled(asked),
        *_copied_out(asked),
        f"{_worked_off(asked)}{_pushed_from_both(asked)}",
        *_without_start(asked),
    ]


def _readers(asked: Renaming) -> str:
    """What copies or divides the old queue reads the new one as well."""
    old, new, said = asked.old.name, asked.new.name, list[str]()
    if asked.sourcing:
        said += [f"let {listed([*asked.sourcing])} source {new} as well as {old}"]
    if asked.mirrors:
        said += [f"declare a mirror of {new} beside {listed([*asked.mirrors])}, with the same consumers"]
    if asked.groups:
        said += [f"declare group {listed([*asked.groups])} on {new} too"]
    return "".join(f"; {one}" for one in said)


def _copied_out(asked: Renaming) -> Iterator[str]:
    """The readers of the old queue end, each when it has everything."""
    old, new = asked.old.name, asked.new.name
    yield from _no_longer_sourced(asked)
    if asked.mirrors:
        yield f"{_EMPTIED}. Messages that {old} no longer holds stay in the old mirror only."
    if asked.groups:
        yield f"Let the members of group {listed([*asked.groups])} process what is left in {old} before they serve {new}."


def _sourced_beside(asked: Renaming) -> str:
    """What the limits of the new stream delete before another one sources it would never be copied."""
    if not asked.sourcing:
        return ""
    return f"; let {listed([*asked.sourcing])} source {asked.new.name}, with `opt_start_seq:` N + 1, as well as {asked.old.name}"


def _no_longer_sourced(asked: Renaming) -> Iterator[str]:
    if asked.sourcing:
        yield (
            f"Wait until `nats stream info` shows no lag of {asked.old.name} for {listed([*asked.sourcing])}, then remove "
            f"{asked.old.name} from {'its' if len(asked.sourcing) == 1 else 'their'} `sources`, and apply. Nothing is copied twice."
        )


def _anew(asked: Renaming) -> str:
    """A source stores messages as new ones: it stamps them. Before 2.14 every copy has a window for message ids; on 2.11
    copying waits until it is over, and 2.12 drops them."""
    said = " The time that `max_age` allows a message begins again with its copy." if asked.live.get("max_age") else ""
    if V2_12 <= asked.version < V2_14:
        said += " Of messages with the same `Nats-Msg-Id`, only the first is copied."
    return said


def _mirror(asked: Renaming) -> list[str]:
    """Mirrors of one origin hold the same messages under the same numbers, and so do mirrors of these."""
    old, new = asked.old.name, asked.new.name
    return [
        f"Declare {new} with the same `mirror` as {old}, apply, and wait until `nats stream info {new}` shows "
        f"no lag. Messages that its origin no longer holds stay in {old} only.",
        f"Let the clients of {old} process what only {old} holds: until the ack floor of each consumer, the stream sequence in `nats "
        f"consumer info {old} CONSUMER`, is at least the first sequence of {new} less one.",
        f"Stop the clients of each consumer of {old}, declare a consumer like it on {new} {_where_it_stood(old)}{_pushed_once(asked)}, "
        f"apply, and start the clients on {new}. Messages that were acknowledged out of order are redelivered.",
        *_sourced(
            asked,
            f"Note the last sequence S of {old}, wait",
            " with `opt_start_seq:` S + 1, and apply. Messages that were copied after S arrive twice",
        ),
        *_mirrored(asked, f". Its clients and consumers move like those of {old}"),
        *_grouped(
            asked, f"It starts at the first message of {new}, so its members process again what they processed in {old}"
        ),
        *_without_start(asked, also=asked.sourcing),
    ]


def _left_out(asked: Renaming) -> str:
    """The step that ends the old stream's intake. A stream without subjects has its own name as its subject."""
    old, subjects = asked.old.name, asked.live.get("subjects") or ()
    before = after = ""
    if asked.live.get("sources"):
        before = (
            f"Note the last sequence S of each stream that {old} sources, wait until `nats stream info {old}` shows "
            "no lag, then "
        )
    if subjects:
        after = " From now on publishers get an error (no responders) and have to retry."
    if before:
        after += f" Until {asked.new.name} has these sources, what limits of their origins delete is not copied: lift small ones first."
    fields = [name for name in ("subjects", "sources") if asked.live.get(name)]
    if any(collide(one, old) for one in subjects):
        free = next(one for one in (f"{old}.moved", f"moved-{old}") if not any(collide(one, its) for its in subjects))
        said = f"write `subjects: [{quoted(free)}]` for {old}, whose own name is one of them"
        said += ", without `sources`" if "sources" in fields else ""
    else:
        said = f"remove {listed([f'`{name}`' for name in fields])} from {old}"
    return f"{before}{said}, and apply.{after}" if before else f"{said[:1].upper()}{said[1:]}, and apply.{after}"


def _publishers(asked: Renaming) -> str:
    return " Publishers can publish again." if asked.live.get("subjects") else ""


def _own(asked: Renaming) -> str:
    """The subjects and sources of the new queue, in the step that declares it."""
    subjects = "those subjects, " if asked.live.get("subjects") else ""
    sources = f"{_sourcing(asked)}, " if asked.live.get("sources") else ""
    return f"{subjects}{sources}".removesuffix(", ") + (", " if sources else " ")


def _scheduled(asked: Renaming) -> Iterator[str]:
    if asked.live.get("allow_msg_schedules"):
        yield (
            f"Publish each schedule that waits in {asked.old.name} once more, so that {asked.new.name} stores it, and delete "
            f"it in {asked.old.name}: messages that {asked.old.name} fires are stored only there."
        )


def _sourcing(asked: Renaming) -> str:
    """The new stream carries on the old one's own sources."""
    if asked.live.get("sources"):
        return "the removed sources, each with `opt_start_seq:` S + 1 (messages that were copied after S arrive twice)"
    return "remove its `sources`"


def _without_start(asked: Renaming, *, also: Collection[str] = ()) -> Iterator[str]:
    """A start that stays in the file counts again when the server looks for it."""
    streams = [*([asked.new.name] if asked.live.get("sources") else []), *also]
    if not streams:
        return
    if asked.version < V2_15:
        why = "a server that restarts while nothing of its origin is stored there begins at that start again"
    else:
        why = "a source skips as much of an origin that is deleted and recreated"
    yield (
        f"When {listed(streams)} {'has' if len(streams) == 1 else 'have'} stored a message since, take `opt_start_seq` out of "
        f"{'its' if len(streams) == 1 else 'their'} `sources`, and apply: with it, {why}."
    )


def _where_it_stood(stream: str) -> str:
    return (
        "with `deliver_policy: by_start_sequence` and `opt_start_seq:` one more than the ack floor's stream sequence in "
        f"`nats consumer info {stream} CONSUMER`"
    )


def _worked_off(asked: Renaming) -> str:
    old = asked.old.name
    return (
        f"Let the clients of {old} process what is left in it, until `nats consumer report {old}` shows nothing "
        f"unprocessed; then let them use {asked.new.name}."
    )


def _push_consumers(asked: Renaming) -> str:
    return f"push consumer{'s' if len(asked.pushed) > 1 else ''} {listed([*asked.pushed])}"


def _but_pushed(asked: Renaming) -> str:
    return f", except {_push_consumers(asked)}," if asked.pushed else ""


def _pushed_last(asked: Renaming) -> Iterator[str]:
    """Two consumers that push to one subject mix the messages of both streams."""
    if asked.pushed:
        yield (
            f"In one apply, declare {_push_consumers(asked)} on {asked.new.name} with `opt_start_seq:` N + 1, and write `removed` "
            f"for {'it' if len(asked.pushed) == 1 else 'them'} on {asked.old.name}."
        )


def _pushed_once(asked: Renaming) -> str:
    """Mirrors hold the same messages, so two consumers that push to one subject deliver each message twice."""
    return f" (and write `removed` for {_push_consumers(asked)} of {asked.old.name})" if asked.pushed else ""


def _pushed_from_both(asked: Renaming) -> str:
    if not asked.pushed:
        return ""
    who, verb = _push_consumers(asked), "delivers" if len(asked.pushed) == 1 else "deliver"
    return f" Meanwhile {who} {verb} from both, so clients get newer messages among older ones."


def _sourced(asked: Renaming, first: str, closing: str) -> Iterator[str]:
    if asked.sourcing:
        who, them = listed([*asked.sourcing]), "it" if len(asked.sourcing) == 1 else "them"
        yield (
            f"{first} until `nats stream info` shows no lag for {who}, then let {them} source {asked.new.name} instead of "
            f"{asked.old.name}{closing}."
        )


_EMPTIED = "Let its clients process what is left in the old mirror, then let them use the new one"


def _mirrored(asked: Renaming, closing: str) -> Iterator[str]:
    if asked.mirrors:
        yield (
            f"No server redirects a mirror: declare a new mirror of {asked.new.name} in place of {listed([*asked.mirrors])}"
            f"{closing}. Messages that {asked.old.name} no longer holds stay in the old mirror only."
        )


def _grouped(asked: Renaming, closing: str) -> Iterator[str]:
    if asked.groups:
        yield f"Declare group {listed([*asked.groups])} on {asked.new.name} too, and apply. {closing}."
