"""A stream by another name, which no server gives it: by steps that lose nothing, for each shape of a stream."""

from __future__ import annotations

from reconciler.model.resource import Address, Config


def recipe(old: Address, new: Address, live: Config) -> list[str]:
    """By its live configuration: a mirror, a queue, or any other, with or without sources."""
    if live.get("mirror"):
        return _mirror(old, new)
    shaped = _queue if live.get("retention") in ("workqueue", "interest") else _stream
    return shaped(old, new, sources=bool(live.get("sources")))


def _stream(old: Address, new: Address, sources: bool = False) -> list[str]:
    """A source stamps messages anew and numbers them anew, so no old position means anything in the copy: consumers work
    off the old stream, and those on the new one start behind all that was copied."""
    return [
        f"Declare {new.name} with `sources: [{{name: {old.name}}}]` and without subjects; apply, and wait until "
        f"`nats stream info {new.name}` shows no lag.",
        f"{_left_out(old, sources)} Wait until {new.name} shows no lag, and note its last sequence: N.",
        f"Give {new.name} the subjects and {_sourcing(sources)}; declare its consumers with `deliver_policy: "
        "by_start_sequence` and `opt_start_seq:` N + 1; apply. Publishers go on.",
        _worked_off(old, new),
    ]


def _queue(old: Address, new: Address, sources: bool = False) -> list[str]:
    """What is stored there is worked off where it is."""
    return [
        _left_out(old, sources),
        f"Declare {new.name} with those subjects{f', {_sourcing(sources)},' if sources else ''} and with consumers like "
        f"those of {old.name}, and apply. Publishers go on.",
        _worked_off(old, new),
    ]


def _left_out(old: Address, sources: bool) -> str:
    if sources:
        what = (
            f"Note the last sequence S of each stream that {old.name} sources, wait until `nats stream info {old.name}` shows "
            "no lag, then leave `subjects` and `sources`"
        )
    else:
        what = "Leave `subjects`"
    return f"{what} of {old.name} out, and apply. From now on publishers get no answer, and have to try again."


def _sourcing(sources: bool) -> str:
    """Its own sources go on in the new stream."""
    if sources:
        return "the sources that were left out, each with `opt_start_seq:` S + 1 (what was copied after S comes twice)"
    return "take `sources` out"


def _mirror(old: Address, new: Address) -> list[str]:
    """Mirrors of one origin have the same messages under the same numbers."""
    return [
        f"Declare {new.name} with the same `mirror` as {old.name}; apply, and wait until `nats stream info {new.name}` shows "
        f"no lag. What its origin holds no more stays in {old.name} alone.",
        f"Stop the clients of each consumer of {old.name}, and declare one like it on {new.name}, with `deliver_policy: "
        f"by_start_sequence` and `opt_start_seq:` one more than the ack floor's stream sequence in `nats consumer info "
        f"{old.name} CONSUMER`; apply, and start them with {new.name}. What was acknowledged out of order comes again.",
    ]


def _worked_off(old: Address, new: Address) -> str:
    return (
        f"Let the clients of {old.name} work off what it holds, until `nats consumer report {old.name}` shows nothing "
        f"unprocessed; then let them use {new.name}."
    )
