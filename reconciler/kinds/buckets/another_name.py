"""How to rename a bucket or an object store, which no server does itself: steps that lose nothing."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.renaming import Renaming
from reconciler.kinds.fields.words import listed


def bucket_recipe(asked: Renaming) -> list[str]:
    """Steps that move a KV bucket to another name and lose no key. A mirror is declared again, and fills by itself."""
    return _mirrored_bucket(asked) if asked.live.get("mirror") else _bucket(asked)


def _bucket(asked: Renaming) -> list[str]:
    old, new = asked.old.name, asked.new.name
    return [
        f"Declare {new} like {old}{_with_consumers(asked)}, apply, and let all writers write to both.",
        f"Copy each key that {new} lacks: nats kv get {old} KEY --raw | nats kv create {new} KEY. {_FRESH}{_lasting(asked)}",
        *_copies(asked, "KV_", "key"),
        f"Let readers, and then writers, use only {new}. Revisions start again at 1 there.",
    ]


_FRESH = "This takes the last value alone, as one that was just written"


def _lasting(asked: Renaming) -> str:
    own = ": give keys with a time to live of their own a new one" if asked.live.get("allow_msg_ttl") else ""
    return f"{own}."


def _with_consumers(asked: Renaming) -> str:
    """They start with what is copied."""
    return ", with consumers like its own" if asked.has_consumers else ""


def _mirrored_bucket(asked: Renaming) -> list[str]:
    old, new = asked.old.name, asked.new.name
    return [
        f"Declare {new} like {old}{_with_consumers(asked)}, apply, and wait until `nats stream info KV_{new}` shows no lag. Revisions "
        "are the same there.",
        *_copies(asked, "KV_", "key"),
        f"Let readers use {new}.",
    ]


def store_recipe(asked: Renaming) -> list[str]:
    """Steps that move an object store to another name, object by object with the `nats` CLI."""
    old, new = asked.old.name, asked.new.name
    return [
        f"Declare {new} like {old}{_with_consumers(asked)}, and apply.",
        f"Copy each object: nats object get {old} NAME --output FILE; nats object put {new} FILE --name NAME. Its description and "
        "headers are not copied.",
        *_copies(asked, "OBJ_", "object"),
        f"Stop the writers. Copy the objects that were put into {old} meanwhile, and delete in {new} those that were deleted.",
        f"Let writers, and then readers, use {new}.",
    ]


def _copies(asked: Renaming, prefix: str, noun: str) -> Iterator[str]:
    old, new = asked.old.name, asked.new.name
    if asked.sourcing:
        yield (
            f"Let {listed([*asked.sourcing])} source {prefix}{new} instead of {prefix}{old}, also in filters, and apply: "
            f"the server copies every {noun} once more."
        )
    if asked.mirrors:
        yield (
            f"No server redirects a mirror: declare a new mirror of {new} in place of {listed([*asked.mirrors])}, apply, and "
            "let its readers use the new one."
        )
