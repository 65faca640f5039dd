"""How to move a consumer to another stream, which no server does itself."""

from __future__ import annotations

from reconciler.changes.renaming import Renaming


def recipe(asked: Renaming) -> list[str]:
    """Steps that move clients to a consumer on another stream, after they have processed what the old stream holds."""
    old, new = asked.old, asked.new
    there = f"{new.name} of {new.stream}" if old.name == new.name else new.name
    both = (
        f" Both consumers get the messages that {new.stream} copies from {old.stream} meanwhile."
        if asked.is_fed
        else ""
    )
    return [
        f"Declare {new.name} on {new.stream}, and apply. It gets everything that {new.stream}, a work queue, stores."
        if asked.into == "workqueue"
        else f"Declare {new.name} on {new.stream} with `deliver_policy: new`, and apply. It collects what {new.stream} stores from "
        "then on.",
        f"Let the clients of {old.name} process what {old.stream} holds, until `nats consumer info {old.stream} {old.name}` "
        f"shows nothing unprocessed; then let them use {there}.{both}",
    ]
