"""A consumer on another stream, to which no server moves it."""

from __future__ import annotations

from reconciler.changes.renaming import Renaming


def recipe(asked: Renaming) -> list[str]:
    """Steps that move clients from a consumer to one on another stream, while the old one is worked off."""
    old, new = asked.old, asked.new
    there = f"{new.name} of {new.stream}" if old.name == new.name else new.name
    both = f" What {new.stream} copies from {old.stream} meanwhile comes to both." if asked.is_fed else ""
    return [
        f"Declare {new.name} on {new.stream} with `deliver_policy: new`, and apply: it keeps what {new.stream} takes in from "
        "then on.",
        f"Let the clients of {old.name} work off what {old.stream} holds, until `nats consumer info {old.stream} {old.name}` "
        f"shows nothing unprocessed; then let them use {there}.{both}",
    ]
