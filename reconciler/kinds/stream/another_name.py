"""How to rename a stream, which no server does itself: the steps that lose nothing, for each shape of stream."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.renaming import Renaming
from reconciler.kinds.fields.words import listed


def recipe(asked: Renaming) -> list[str]:
    """The steps for the live configuration: a mirror, a queue, or any other stream, with or without sources."""
    if asked.live.get("mirror"):
        return _mirror(asked)
    return _queue(asked) if asked.live.get("retention") in ("workqueue", "interest") else _stream(asked)


def _stream(asked: Renaming) -> list[str]:
    """A source writes and numbers messages again, so an old position means nothing in the copy. Clients therefore
    finish on the old stream, and consumers of the new one start after everything that was copied. So do copies."""
    old, new = asked.old.name, asked.new.name
    return [
        f"Declare {new} with `sources: [{{name: {old}}}]` and without subjects, apply, and wait until "
        f"`nats stream info {new}` shows no lag.",
        f"{_left_out(asked)} Wait until {new} shows no lag, and note its last sequence: N.",
        f"Give {new} the subjects and {_sourcing(asked)}. Declare its consumers with `deliver_policy: "
        "by_start_sequence` and `opt_start_seq:` N + 1, and apply. Publishers can publish again.",
        *_sourced(asked, "Wait", " with `opt_start_seq:` N + 1, and apply. Nothing is copied twice"),
        *_mirrored(asked, f", with consumers that start at N + 1 as those of {new} do. {_EMPTIED}"),
        *_grouped(
            asked, f"It starts at the first message of {new}, so its members process again what they processed in {old}"
        ),
        _worked_off(asked),
    ]


def _queue(asked: Renaming) -> list[str]:
    """Clients process the stored messages in the old queue."""
    old, new = asked.old.name, asked.new.name
    return [
        _left_out(asked),
        f"Declare {new} with those subjects{f', {_sourcing(asked)},' if asked.live.get('sources') else ''} and with "
        f"consumers like those of {old}, and apply. Publishers can publish again.",
        *_sourced(asked, "Wait", ", and apply. Nothing is copied twice"),
        *_mirrored(asked, f", with consumers like those of the old one. {_EMPTIED}"),
        *_grouped(asked, f"Let its members process what is left in {old} before they serve {new}"),
        _worked_off(asked),
    ]


def _mirror(asked: Renaming) -> list[str]:
    """Mirrors of one origin hold the same messages under the same numbers, and so do mirrors of these."""
    old, new = asked.old.name, asked.new.name
    return [
        f"Declare {new} with the same `mirror` as {old}, apply, and wait until `nats stream info {new}` shows "
        f"no lag. Messages that its origin no longer holds stay in {old} only.",
        f"Stop the clients of each consumer of {old}, declare a consumer like it on {new} {_where_it_stood(old)}, apply, and "
        f"start the clients on {new}. Messages that were acknowledged out of order are redelivered.",
        *_sourced(
            asked,
            f"Note the last sequence S of {old}, wait",
            " with `opt_start_seq:` S + 1, and apply. Messages that were copied after S arrive twice",
        ),
        *_mirrored(asked, f". Its clients and consumers move like those of {old}"),
        *_grouped(
            asked, f"It starts at the first message of {new}, so its members process again what they processed in {old}"
        ),
    ]


def _left_out(asked: Renaming) -> str:
    old = asked.old.name
    if asked.live.get("sources"):
        what = (
            f"Note the last sequence S of each stream that {old} sources, wait until `nats stream info {old}` shows "
            "no lag, then remove `subjects` and `sources`"
        )
    else:
        what = "Remove `subjects`"
    return f"{what} from {old}, and apply. From now on publishers get no answer and have to retry."


def _sourcing(asked: Renaming) -> str:
    """The new stream carries on the old one's own sources."""
    if asked.live.get("sources"):
        return "the removed sources, each with `opt_start_seq:` S + 1 (messages that were copied after S arrive twice)"
    return "remove its `sources`"


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
