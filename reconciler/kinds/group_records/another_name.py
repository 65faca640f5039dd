"""A group by another name, which no server gives it."""

from __future__ import annotations

from reconciler.changes.renaming import Renaming


def recipe(asked: Renaming) -> list[str]:
    """A new group knows nothing of what the old one has worked off."""
    old, new = asked.old, asked.new
    return [
        f"Stop the members of {old.name} when nothing waits for them any more: reconciler groups show {old.stream}/{old.name}",
        f"Declare {new.name} with those members, and apply. It begins with everything that {old.stream} holds, so what "
        f"{old.name} has worked off comes again: start them with the new name when they can take that.",
    ]
