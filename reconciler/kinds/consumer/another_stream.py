"""A consumer on another stream, to which no server moves it."""

from __future__ import annotations

from reconciler.model.resource import Address, Config


def recipe(old: Address, new: Address, _live: Config) -> list[str]:
    """Steps that move clients from a consumer to one on another stream, while the old one is worked off."""
    return [
        f"Declare {new.name} on {new.stream} with `deliver_policy: new`, and apply: it keeps what {new.stream} takes in from "
        "then on.",
        f"Let the clients of {old.name} work off what {old.stream} holds, until `nats consumer info {old.stream} {old.name}` "
        f"shows nothing unprocessed; then let them use {new.name}. What {new.stream} copies from {old.stream} meanwhile comes "
        "to both.",
    ]
