"""How to rename a bucket or an object store, which no server does itself: steps that lose nothing."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.renaming import Renaming
from reconciler.kinds.fields.words import listed


def bucket_recipe(renaming: Renaming) -> list[str]:
    """Steps that move a KV bucket to another name and lose no key. A mirror is declared again, and fills by itself."""
    return _steps_for_mirrored_bucket(renaming) if renaming.live.get("mirror") else _steps_for_bucket(renaming)


def _steps_for_bucket(renaming: Renaming) -> list[str]:
    old, new = renaming.old.name, renaming.new.name
    return [
        f"Declare {new} like {old}{_clause_about_consumers(renaming)}, apply, and let all writers write to both.",
        f"Copy each key that {new} lacks: nats kv get {old} KEY --raw | nats kv create {new} KEY. {_FRESH}{_caveat_about_ttl(renaming)}",
        *_steps_for_copies(renaming, "KV_", "key"),
        f"Let readers, and then writers, use only {new}. Revisions start again at 1 there.",
    ]


_FRESH = "This takes the last value alone, as one that was just written"


def _caveat_about_ttl(renaming: Renaming) -> str:
    own = ": give keys with a time to live of their own a new one" if renaming.live.get("allow_msg_ttl") else ""
    return f"{own}."


def _clause_about_consumers(renaming: Renaming) -> str:
    """They start with what is copied."""
    return ", with consumers like its own" if renaming.has_consumers else ""


def _steps_for_mirrored_bucket(renaming: Renaming) -> list[str]:
    old, new = renaming.old.name, renaming.new.name
    return [
        f"Declare {new} like {old}{_clause_about_consumers(renaming)}, apply, and wait until `nats stream info KV_{new}` shows "
        "no lag. Revisions are the same there.",
        *_steps_for_copies(renaming, "KV_", "key"),
        f"Let readers use {new}.",
    ]


def store_recipe(renaming: Renaming) -> list[str]:
    """Steps that move an object store to another name, object by object with the `nats` CLI."""
    old, new = renaming.old.name, renaming.new.name
    return [
        f"Declare {new} like {old}{_clause_about_consumers(renaming)}, and apply.",
        f"Copy each object: nats object get {old} NAME --output FILE; nats object put {new} FILE --name NAME. Its description, "
        "headers, metadata and chunk size are not copied, and a link becomes an object of its own.",
        *_steps_for_copies(renaming, "OBJ_", "object"),
        f"Stop the writers. Copy the objects that were put into {old} meanwhile, and delete in {new} those that were deleted.",
        f"Let writers, and then readers, use {new}.",
    ]


def _steps_for_copies(renaming: Renaming, prefix: str, noun: str) -> Iterator[str]:
    old, new = renaming.old.name, renaming.new.name
    if renaming.sourcing:
        yield (
            f"Let {listed([*renaming.sourcing])} source {prefix}{new} instead of {prefix}{old}, also in filters, and apply: "
            f"the server copies every {noun} once more."
        )
    if renaming.mirrors:
        yield (
            f"No server redirects a mirror: declare a new mirror of {new} in place of {listed([*renaming.mirrors])}, apply, and "
            "let its readers use the new one."
        )
