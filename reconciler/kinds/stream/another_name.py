"""How to rename a stream, which no server does itself: the steps that lose nothing, for each shape of stream."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reconciler.changes.renaming import Renaming
from reconciler.kinds.fields.known import V2_12, V2_14, V2_15
from reconciler.kinds.fields.words import in_words, listed
from reconciler.kinds.stream_config.origins import FED_FOR, IDLE, PENDING, can_remove_limit, limits_that_forbid_copying
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.written import quoted

DONE_ONCE = ("duplicate_window", "subject_transform", "republish", "sealed")
"""What a copy must not do a second time to the messages it copies, or before it has copied everything. A window would
drop messages whose ids it has seen, however long ago they were published."""


def recipe(renaming: Renaming) -> list[str]:
    """The steps for the live configuration: a mirror, a queue, or any other stream, with or without sources. Schedules
    are never copied: messages that are stored beside them stay in the old stream, as in a queue."""
    if renaming.live.get("mirror"):
        return _mirror_instructions(renaming)
    stays = renaming.live.get("retention") in ("workqueue", "interest") or renaming.live.get("allow_msg_schedules")
    return _queue_instructions(renaming) if stays or _can_never_be_copied(renaming) else _stream_instructions(renaming)


def _stream_instructions(renaming: Renaming) -> list[str]:
    """A source writes and numbers messages again, so an old position means nothing in the copy. Clients therefore
    finish on the old stream, and consumers of the new one start after everything that was copied. So do copies."""
    old, new = renaming.old.name, renaming.new.name
    later = [name for name in DONE_ONCE if renaming.live.get(name) and name not in renaming.left_out]
    given = listed([*(["subjects"] if renaming.live.get("subjects") else []), *later])
    return [
        *_instructions_that_allow_copying(renaming),
        f"Declare {new} with `sources: [{{name: {quoted(old)}}}]` and without {listed(['subjects', *later])}; apply, and wait "
        f"until `nats stream info {new}` shows no lag.{_caveats_of_copied_messages(renaming)}",
        f"{_instruction_that_ends_intake(renaming)} Wait until {new} shows no lag, and note its last sequence: N.",
        f"Give {new} {f'the {given} and ' if given else ''}{_clause_about_own_sources(renaming)}; declare its "
        f"consumers{_except_push_consumers_text(renaming)} with `deliver_policy: by_start_sequence` and `opt_start_seq:` "
        f"N + 1{_clause_about_sourcing_both(renaming)}; apply.{_sentence_about_publishers(renaming, is_copied=True)}",
        *_instructions_that_end_sourcing(renaming),
        *_own_mirrors_instruction(renaming, f", with consumers that start at N + 1 as those of {new} do. {_EMPTIED}"),
        *_groups_instruction(
            renaming,
            f"It starts at the first message of {new}, so its members process again what they processed in {old}",
        ),
        _instruction_that_empties_the_old(renaming),
        *_push_consumers_instruction(renaming),
        *_instruction_that_removes_starts(renaming, also=renaming.sourcing),
    ]


def _instructions_that_allow_copying(renaming: Renaming) -> Iterator[str]:
    """The server feeds a copy through a consumer of its own, to which the limits of the origin apply."""
    old, parts, limits = renaming.old.name, list[str](), limits_that_forbid_copying(renaming.live, renaming.version)
    if PENDING in limits:
        parts.append(f"Remove `{PENDING}` from the `consumer_limits` of {old}, and write it into each of its consumers")
    if IDLE in limits:
        least = in_words(FED_FOR, "duration")
        parts.append(f"{'raise' if parts else 'Raise'} `{IDLE}` in the `consumer_limits` of {old} to {least} or more")
    if (renaming.live.get("max_consumers") or 0) > 0 and renaming.version < V2_15:
        parts.append(f"{'let' if parts else 'Let'} `max_consumers` of {old} leave a place for a copy")
    if parts:
        yield f"{'; '.join(parts)}; apply. Else the server copies nothing, and {renaming.new.name} shows no lag all the same."


def _can_never_be_copied(renaming: Renaming) -> bool:
    """Does it have a limit with which the server copies nothing, and which cannot be removed beside consumers?"""
    return (
        PENDING in limits_that_forbid_copying(renaming.live, renaming.version)
        and renaming.has_consumers
        and not can_remove_limit(renaming.version)
    )


def _backup_instruction(renaming: Renaming) -> Iterator[str]:
    if renaming.live.get("retention", "limits") == "limits" and _can_never_be_copied(renaming):
        yield (
            f"Back up what {renaming.old.name} stores, if it is still of use when it has been processed: it is not copied. With "
            f"`{PENDING}` in `consumer_limits` a server copies nothing, and this one does not let it go beside consumers (10069)."
        )


def _queue_instructions(renaming: Renaming) -> list[str]:
    """Clients process the stored messages in the old queue. All readers of the new one are declared with it: an interest
    stream drops what nobody wants, and apply lets it take subjects when its readers listen."""
    old, new = renaming.old.name, renaming.new.name
    return [
        *_backup_instruction(renaming),
        _instruction_that_ends_intake(renaming),
        f"Declare {new} with {_clause_about_intake(renaming)}and with consumers like those of {old}"
        f"{_clause_about_other_readers(renaming)}, and apply.{_sentence_about_publishers(renaming, is_copied=False)}",
        *_schedules_instruction(renaming),
        *_instructions_that_end_other_readers(renaming),
        f"{_instruction_that_empties_the_old(renaming)}{_caveat_about_double_pushes(renaming)}",
        *_instruction_that_removes_starts(renaming),
    ]


def _clause_about_other_readers(renaming: Renaming) -> str:
    """What copies or divides the old queue reads the new one as well."""
    old, new, parts = renaming.old.name, renaming.new.name, list[str]()
    if renaming.sourcing:
        parts += [f"let {listed([*renaming.sourcing])} source {new} as well as {old}"]
    if renaming.mirrors:
        parts += [f"declare a mirror of {new} beside {listed([*renaming.mirrors])}, with the same consumers"]
    if renaming.groups:
        parts += [f"declare group {listed([*renaming.groups])} on {new} too"]
    return "".join(f"; {part}" for part in parts)


def _instructions_that_end_other_readers(renaming: Renaming) -> Iterator[str]:
    """The readers of the old queue end, each when it has everything."""
    old, new = renaming.old.name, renaming.new.name
    yield from _instructions_that_end_sourcing(renaming)
    if renaming.mirrors:
        yield f"{_EMPTIED}. Messages that {old} no longer holds stay in the old mirror only."
    if renaming.groups:
        yield f"Let the members of group {listed([*renaming.groups])} process what is left in {old} before they serve {new}."


def _clause_about_sourcing_both(renaming: Renaming) -> str:
    """What the limits of the new stream delete before another one sources it would never be copied."""
    if not renaming.sourcing:
        return ""
    return f"; let {listed([*renaming.sourcing])} source {renaming.new.name}, with `opt_start_seq:` N + 1, as well as {renaming.old.name}"


def _instructions_that_end_sourcing(renaming: Renaming) -> Iterator[str]:
    if renaming.sourcing:
        yield (
            f"Wait until `nats stream info` shows no lag of {renaming.old.name} for {listed([*renaming.sourcing])}, then remove "
            f"{renaming.old.name} from {'its' if len(renaming.sourcing) == 1 else 'their'} `sources`, and apply. Nothing is copied twice."
        )


def _caveats_of_copied_messages(renaming: Renaming) -> str:
    """A source stores messages as new ones: it stamps them. Before 2.14 every copy has a window for message ids; on 2.11
    copying waits until it is over, and 2.12 drops them."""
    sentences = (
        " The time that `max_age` allows a message begins again with its copy." if renaming.live.get("max_age") else ""
    )
    if V2_12 <= renaming.version < V2_14:
        sentences += " Of messages with the same `Nats-Msg-Id`, only the first is copied."
    return sentences


def _mirror_instructions(renaming: Renaming) -> list[str]:
    """Mirrors of one origin hold the same messages under the same numbers, and so do mirrors of these."""
    old, new = renaming.old.name, renaming.new.name
    return [
        f"Declare {new} with the same `mirror` as {old}, apply, and wait until `nats stream info {new}` shows "
        f"no lag. Messages that its origin no longer holds stay in {old} only.",
        f"Let the clients of {old} process what only {old} holds: until the ack floor of each consumer, the stream sequence in `nats "
        f"consumer info {old} CONSUMER`, is at least the first sequence of {new} less one.",
        f"Stop the clients of each consumer of {old}, declare a consumer like it on {new} {_clause_about_position(old)}"
        f"{_clause_about_push_consumers(renaming)}, apply, and start the clients on {new}. "
        "Messages that were acknowledged out of order are redelivered.",
        *_sourcing_streams_instruction(
            renaming,
            f"Note the last sequence S of {old}, wait",
            " with `opt_start_seq:` S + 1, and apply. Messages that were copied after S arrive twice",
        ),
        *_own_mirrors_instruction(renaming, f". Its clients and consumers move like those of {old}"),
        *_groups_instruction(
            renaming,
            f"It starts at the first message of {new}, so its members process again what they processed in {old}",
        ),
        *_instruction_that_removes_starts(renaming, also=renaming.sourcing),
    ]


def _instruction_that_ends_intake(renaming: Renaming) -> str:
    """The step that ends the old stream's intake. A stream without subjects has its own name as its subject."""
    old, subjects = renaming.old.name, renaming.live.get("subjects") or ()
    before = after = ""
    if renaming.live.get("sources"):
        before = (
            f"Note the last sequence S of each stream that {old} sources, wait until `nats stream info {old}` shows "
            "no lag, then "
        )
    if subjects:
        after = " From now on publishers get an error (no responders) and have to retry."
    if before:
        after += f" Until {renaming.new.name} has these sources, what limits of their origins delete is not copied: lift small ones first."
    fields = [name for name in ("subjects", "sources") if renaming.live.get(name)]
    if any(collide(subject, old) for subject in subjects):
        free = next(
            candidate
            for candidate in (f"{old}.moved", f"moved-{old}")
            if not any(collide(candidate, its) for its in subjects)
        )
        instruction = f"write `subjects: [{quoted(free)}]` for {old}, whose own name is one of them"
        instruction += ", without `sources`" if "sources" in fields else ""
    else:
        instruction = f"remove {listed([f'`{name}`' for name in fields])} from {old}"
    return (
        f"{before}{instruction}, and apply.{after}"
        if before
        else f"{instruction[:1].upper()}{instruction[1:]}, and apply.{after}"
    )


def _sentence_about_publishers(renaming: Renaming, *, is_copied: bool) -> str:
    """A copy has remembered ids of what it copied until 2.14, which gives streams with sources no window for them."""
    old, new = renaming.old.name, renaming.new.name
    if not renaming.live.get("subjects"):
        return ""
    ids = ""
    if renaming.live.get("duplicate_window") and (not is_copied or renaming.version >= V2_14):
        ids = f" {new} knows no message ids (`Nats-Msg-Id`) of {old}, so what is published again is stored again."
    return (
        f" Publishers can publish again. Those that expect {old} by name (`Nats-Expected-Stream`) are refused until they "
        f"expect {new}.{ids}"
    )


def _clause_about_intake(renaming: Renaming) -> str:
    """The subjects and sources of the new queue, in the step that declares it."""
    subjects = "those subjects, " if renaming.live.get("subjects") else ""
    sources = f"{_clause_about_own_sources(renaming)}, " if renaming.live.get("sources") else ""
    return f"{subjects}{sources}".removesuffix(", ") + (", " if sources else " ")


def _schedules_instruction(renaming: Renaming) -> Iterator[str]:
    if renaming.live.get("allow_msg_schedules"):
        yield (
            f"Publish each schedule that waits in {renaming.old.name} once more, so that {renaming.new.name} stores it, and delete "
            f"it in {renaming.old.name}: messages that {renaming.old.name} fires are stored only there."
        )


def _clause_about_own_sources(renaming: Renaming) -> str:
    """The new stream carries on the old one's own sources."""
    if renaming.live.get("sources"):
        return "the removed sources, each with `opt_start_seq:` S + 1 (messages that were copied after S arrive twice)"
    return "remove its `sources`"


def _instruction_that_removes_starts(renaming: Renaming, *, also: Collection[str] = ()) -> Iterator[str]:
    """A start that stays in the file counts again when the server looks for it."""
    streams = [*([renaming.new.name] if renaming.live.get("sources") else []), *also]
    if not streams:
        return
    if renaming.version < V2_15:
        why = "a server that restarts while nothing of its origin is stored there begins at that start again"
    else:
        why = "a source skips as much of an origin that is deleted and recreated"
    yield (
        f"When {listed(streams)} {'has' if len(streams) == 1 else 'have'} stored a message since, take `opt_start_seq` out of "
        f"{'its' if len(streams) == 1 else 'their'} `sources`, and apply: with it, {why}."
    )


def _clause_about_position(stream: str) -> str:
    return (
        "with `deliver_policy: by_start_sequence` and `opt_start_seq:` one more than the ack floor's stream sequence in "
        f"`nats consumer info {stream} CONSUMER`"
    )


def _instruction_that_empties_the_old(renaming: Renaming) -> str:
    old = renaming.old.name
    return (
        f"Let the clients of {old} process what is left in it, until `nats consumer report {old}` shows nothing "
        f"unprocessed; then let them use {renaming.new.name}."
    )


def _push_consumers_text(renaming: Renaming) -> str:
    return f"push consumer{'s' if len(renaming.pushed) > 1 else ''} {listed([*renaming.pushed])}"


def _except_push_consumers_text(renaming: Renaming) -> str:
    return f", except {_push_consumers_text(renaming)}," if renaming.pushed else ""


def _push_consumers_instruction(renaming: Renaming) -> Iterator[str]:
    """Two consumers that push to one subject mix the messages of both streams."""
    if renaming.pushed:
        yield (
            f"In one apply, declare {_push_consumers_text(renaming)} on {renaming.new.name} with `opt_start_seq:` N + 1, and "
            f"write `removed` for {'it' if len(renaming.pushed) == 1 else 'them'} on {renaming.old.name}."
        )


def _clause_about_push_consumers(renaming: Renaming) -> str:
    """Mirrors hold the same messages, so two consumers that push to one subject deliver each message twice."""
    return (
        f" (and write `removed` for {_push_consumers_text(renaming)} of {renaming.old.name})" if renaming.pushed else ""
    )


def _caveat_about_double_pushes(renaming: Renaming) -> str:
    if not renaming.pushed:
        return ""
    who, verb = _push_consumers_text(renaming), "delivers" if len(renaming.pushed) == 1 else "deliver"
    return f" Meanwhile {who} {verb} from both, so clients get newer messages among older ones."


def _sourcing_streams_instruction(renaming: Renaming, first: str, closing: str) -> Iterator[str]:
    if renaming.sourcing:
        who, them = listed([*renaming.sourcing]), "it" if len(renaming.sourcing) == 1 else "them"
        yield (
            f"{first} until `nats stream info` shows no lag for {who}, then let {them} source {renaming.new.name} instead of "
            f"{renaming.old.name}{closing}."
        )


_EMPTIED = "Let its clients process what is left in the old mirror, then let them use the new one"


def _own_mirrors_instruction(renaming: Renaming, closing: str) -> Iterator[str]:
    if renaming.mirrors:
        yield (
            f"No server redirects a mirror: declare a new mirror of {renaming.new.name} in place of {listed([*renaming.mirrors])}"
            f"{closing}. Messages that {renaming.old.name} no longer holds stay in the old mirror only."
        )


def _groups_instruction(renaming: Renaming, closing: str) -> Iterator[str]:
    if renaming.groups:
        yield f"Declare group {listed([*renaming.groups])} on {renaming.new.name} too, and apply. {closing}."
