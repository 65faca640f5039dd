"""Names that no server changes: what to do instead, step by step."""

from __future__ import annotations

from collections.abc import Callable

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address
from reconciler.core.rule import Finding, Found, Outcome, View, rule


@rule("XX110", "name-is-fixed", on=(Action.CREATE,), needs=("live",))
def name_is_fixed(change: Change, _view: View) -> Found:
    """`moved:` gives another name to what no server renames: a stream, a bucket, a store, a group, or a consumer on another
    stream. The name is in its subjects, its files and its clients.

    Only a copy can have another name, and clients must be moved to it. Each kind has steps that lose nothing on the way; the
    refusal prints them with the names filled in.

    Instead: follow those steps, without the entry in `moved`; or keep the name.
    """
    if change.origin is None:
        return None
    old, new = change.origin, change.address
    steps = ["Take the entry out of `moved` and keep both declared until the end.", *RECIPES[new.kind](old, new)]
    steps.append(f"Write removed: [{{address: {old}, reason: …}}] instead of its declaration, and apply.")
    numbered = "\n".join(f"  {number}. {text}" for number, text in enumerate(steps, 1))
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"no server renames a {new.kind.replace('_', ' ')}, so {old} cannot become {new}",
        fix=f"copy it, and let its clients move:\n{numbered}",
    )


def _stream(old: Address, new: Address) -> list[str]:
    """A source stamps messages anew and numbers them anew, so no old position means anything in the copy: consumers work
    off the old stream, and those on the new one start behind all that was copied."""
    return [
        f"Declare {new.name} with `sources: [{{name: {old.name}}}]` and without subjects; apply, and wait until "
        f"`nats stream info {new.name}` shows no lag. Not for a work queue or an interest stream: declare {new.name} without "
        "sources, since what is stored there is worked off where it is.",
        f"Leave `subjects` of {old.name} out, and apply. From now on publishers get no answer, and have to try again. Wait "
        f"until {new.name} shows no lag, and note its last sequence: N.",
        f"Give {new.name} the subjects and take `sources` out; declare its consumers with `deliver_policy: "
        "by_start_sequence` and `opt_start_seq:` N + 1; apply. Publishers go on.",
        f"Let the clients of {old.name} work off what it holds, until `nats consumer report {old.name}` shows nothing "
        f"unprocessed; then let them use {new.name}.",
    ]


def _bucket(old: Address, new: Address) -> list[str]:
    return [
        f"Declare {new.name} like {old.name}, apply, and let whoever writes write to both.",
        f"Copy each key that {new.name} lacks: nats kv get {old.name} KEY --raw | nats kv create {new.name} KEY",
        f"Let readers, and then writers, use {new.name} alone. Revisions start anew there.",
    ]


def _store(old: Address, new: Address) -> list[str]:
    return [
        f"Declare {new.name} like {old.name}, and apply.",
        f"Copy each object: nats object get {old.name} NAME --output FILE; nats object put {new.name} FILE --name NAME",
        f"Let writers, and then readers, use {new.name}; copy what came meanwhile.",
    ]


def _group(old: Address, new: Address) -> list[str]:
    return [
        f"Take the members of {old.name} out, when nothing waits for them any more: "
        f"reconciler groups show {old.stream} {old.name}",
        f"Declare {new.name} with those members, apply, and start them with the new name.",
    ]


def _consumer(old: Address, new: Address) -> list[str]:
    return [
        f"Declare {new.name} on {new.stream} with `deliver_policy: new`, and apply: it keeps what {new.stream} takes in from "
        "then on.",
        f"Let the clients of {old.name} work off what {old.stream} holds, until `nats consumer info {old.stream} {old.name}` "
        f"shows nothing unprocessed; then let them use {new.name}. What {new.stream} copies from {old.stream} meanwhile comes "
        "to both.",
    ]


RECIPES: dict[str, Callable[[Address, Address], list[str]]] = {
    "stream": _stream, "kv_bucket": _bucket, "object_store": _store,
    "static_group": _group, "elastic_group": _group, "consumer": _consumer,
}  # fmt: skip

RULES = (name_is_fixed,)
