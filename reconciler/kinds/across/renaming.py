"""Names that no server changes: what to do instead, step by step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Finding, Found, Outcome, View, rule
from reconciler.model.resource import Address, Config


@rule("XX110", "name-is-fixed", on=(Action.CREATE,), needs=("live",))
def name_is_fixed(change: Change, view: View) -> Found:
    """`moved:` gives another name to what no server renames: a stream, a bucket, a store, a group, or a consumer on another
    stream. The name is in its subjects, its files and its clients.

    Only a copy can have another name, and clients must be moved to it. Each kind has steps that lose nothing on the way; the
    refusal prints them with the names filled in.

    Instead: follow those steps, without the entry in `moved`; or keep the name.
    """
    if change.origin is None:
        return None
    old, new = change.origin, change.address
    there = view.live.get(old)
    recipe = _shaped(new.kind, there.config if there else {})
    steps = ["Take the entry out of `moved` and keep both declared until the end.", *recipe(old, new)]
    steps.append(
        f"Write removed: [{{address: {old}, reason: …}}{_beside(old, view)}] instead of its declaration, and apply."
    )
    numbered = "\n".join(f"  {number}. {text}" for number, text in enumerate(steps, 1))
    noun = new.kind.replace("_", " ")
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"no server renames {'an' if noun[0] in 'eo' else 'a'} {noun}, so {old} cannot become {new}",
        fix=f"copy it, and let its clients move:\n{numbered}",
    )


Recipe = Callable[..., list[str]]


def _shaped(kind: str, config: Config) -> Recipe:
    """How something like this gets another name."""
    shape = "mirror" if config.get("mirror") else config.get("retention", "")
    recipe = RECIPES.get((kind, shape)) or RECIPES[kind, ""]
    return partial(recipe, sources=True) if kind == "stream" and config.get("sources") else recipe


def _beside(old: Address, view: View) -> str:
    """Consumers of a stream are resources of their own."""
    theirs = (one for one in view.live if old.kind == "stream" and one.kind == "consumer" and one.stream == old.name)
    return ", the same of its consumers" if any(theirs) else ""


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


def _bucket(old: Address, new: Address) -> list[str]:
    return [
        f"Declare {new.name} like {old.name}, apply, and let whoever writes write to both.",
        f"Copy each key that {new.name} lacks: nats kv get {old.name} KEY --raw | nats kv create {new.name} KEY",
        f"Let readers, and then writers, use {new.name} alone. Revisions start anew there.",
    ]


def _mirrored_bucket(old: Address, new: Address) -> list[str]:
    return [
        f"Declare {new.name} like {old.name}; apply, and wait until `nats stream info KV_{new.name}` shows no lag. Revisions "
        "are the same there.",
        f"Let readers use {new.name}.",
    ]


def _store(old: Address, new: Address) -> list[str]:
    return [
        f"Declare {new.name} like {old.name}, and apply.",
        f"Copy each object: nats object get {old.name} NAME --output FILE; nats object put {new.name} FILE --name NAME",
        f"Let writers, and then readers, use {new.name}; copy what came meanwhile.",
    ]


def _group(old: Address, new: Address) -> list[str]:
    """A new group knows nothing of what the old one has worked off."""
    return [
        f"Stop the members of {old.name} when nothing waits for them any more: reconciler groups show {old.stream}/{old.name}",
        f"Declare {new.name} with those members, and apply. It begins with everything that {old.stream} holds, so what "
        f"{old.name} has worked off comes again: start them with the new name when they can take that.",
    ]


def _consumer(old: Address, new: Address) -> list[str]:
    return [
        f"Declare {new.name} on {new.stream} with `deliver_policy: new`, and apply: it keeps what {new.stream} takes in from "
        "then on.",
        f"Let the clients of {old.name} work off what {old.stream} holds, until `nats consumer info {old.stream} {old.name}` "
        f"shows nothing unprocessed; then let them use {new.name}. What {new.stream} copies from {old.stream} meanwhile comes "
        "to both.",
    ]


RECIPES: dict[tuple[str, str], Recipe] = {
    ("stream", ""): _stream,
    ("stream", "mirror"): _mirror,
    ("stream", "workqueue"): _queue,
    ("stream", "interest"): _queue,
    ("kv_bucket", ""): _bucket,
    ("kv_bucket", "mirror"): _mirrored_bucket,
    ("object_store", ""): _store,
    ("static_group", ""): _group,
    ("elastic_group", ""): _group,
    ("consumer", ""): _consumer,
}
"""By kind, and by the shape of what has the name; none: as most are."""

RULES = (name_is_fixed,)
