"""A bucket or a store by another name, which no server gives it: by steps that lose nothing."""

from __future__ import annotations

from reconciler.model.resource import Address, Config


def bucket_recipe(old: Address, new: Address, live: Config) -> list[str]:
    """Steps that move a KV bucket to another name and lose no key. A mirror is declared once more, and fills by itself."""
    return _mirrored_bucket(old, new) if live.get("mirror") else _bucket(old, new)


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


def store_recipe(old: Address, new: Address, _live: Config) -> list[str]:
    """Steps that move an object store to another name, object by object with the `nats` CLI."""
    return [
        f"Declare {new.name} like {old.name}, and apply.",
        f"Copy each object: nats object get {old.name} NAME --output FILE; nats object put {new.name} FILE --name NAME",
        f"Let writers, and then readers, use {new.name}; copy what came meanwhile.",
    ]
