"""How to rename a group, which no server does itself."""

from __future__ import annotations

from reconciler.changes.renaming import Renaming


def recipe(asked: Renaming) -> list[str]:
    """Steps that move the members to a new group, which does not know what the old one has processed."""
    old, new = asked.old, asked.new
    if asked.is_queue:
        return [
            f"Stop what publishes to {old.stream}. When nothing waits for the members of {old.name} any more, stop them too: "
            f"reconciler groups show {old.stream}/{old.name}",
            f"Declare {new.name} with those members, and apply. Start them with the new name.",
            f"Publish again only after {old.name} is removed, as the next step says: what is published before may wait in the queue "
            f"of {old.name}, which is deleted with it.",
        ]
    return [
        f"Stop the members of {old.name} when nothing waits for them any more: reconciler groups show {old.stream}/{old.name}",
        f"Declare {new.name} with those members, and apply. It starts with everything that {old.stream} holds, so its members "
        f"process again what {old.name} has processed. Start them with the new name when they are ready for that.",
    ]
