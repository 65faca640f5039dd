"""How a group gets another name, or settings that it cannot take, which no server does itself.

A new group does not know what an old one has processed. It starts with what the stream holds, and while both exist, each
of them gets every new message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reconciler.changes.renaming import Renaming
from reconciler.model.resource import Address


def recipe(asked: Renaming) -> list[str]:
    """Steps that move the members to a new group, which does not know what the old one has processed."""
    return RECIPES.get((asked.old.kind, asked.retention), _again)(asked)


def _again(asked: Renaming) -> list[str]:
    old, new = asked.old, asked.new
    return [
        f"Stop the members of {old.name} when nothing waits for them any more: {shown(old)}",
        f"Declare {new.name} with those members, and apply. It starts with everything that {old.stream} holds, so its members "
        f"process again what {old.name} has processed of that. Start them with the new name when they are ready for that.",
    ]


def _through_an_empty_stream(asked: Renaming) -> list[str]:
    old, new = asked.old, asked.new
    return [
        *emptied(old),
        f"Declare {new.name} with those members, and apply. Start them with the new name.",
        f"Publish again only after {old.name} is removed, as the next step says{_copying(new, asked.retention)}. Both groups "
        f"get messages that are published before, and those that then wait in the queue of {old.name} are deleted with it.",
    ]


def _one_after_the_other(asked: Renaming) -> list[str]:
    old, new = asked.old, asked.new
    return [
        f"Stop the members of {old.name}. {old.stream} keeps what they have not acknowledged.",
        f"Declare {new.name} with those members, and apply. Start them with the new name only after {old.name} is removed, as the "
        f"next step says: until then the server refuses consumers whose filters overlap with those of {old.name} (10100).",
    ]


RECIPES: Mapping[tuple[str, str], Callable[[Renaming], list[str]]] = {
    ("elastic_group", "workqueue"): _through_an_empty_stream,
    ("elastic_group", "interest"): _through_an_empty_stream,
    ("static_group", "workqueue"): _one_after_the_other,
}
"""By kind and by the retention of the stream. Elsewhere the stream holds what was processed, and the new group gets it
again."""


def declared_again(group: Address, retention: str) -> str:
    """The way of an elastic group to settings that it cannot take, if it cannot be recreated at its position either."""
    removal = f"Write removed: [{{address: {group}, reason: …}}] instead of its declaration, and apply."
    if retention == "limits":
        steps = [
            f"Stop the members of {group.name} when nothing waits for them any more: {shown(group)}",
            removal,
            f"Declare it again with the new settings, and apply. It starts with everything that {group.stream} holds, so its members "
            "process that again. Start them when they are ready for that.",
        ]
    else:
        steps = [
            *emptied(group),
            removal,
            "Declare it again with the new settings, and apply. Start its members.",
            f"Publish again{_copying(group, retention)}.",
        ]
    return "remove it, and declare it again:\n" + "\n".join(
        f"  {number}. {text}" for number, text in enumerate(steps, 1)
    )


def emptied(group: Address) -> list[str]:
    """Steps after which neither the stream nor the queue of an elastic group holds a message that the group takes."""
    return [
        f"Stop what publishes to {group.stream}. When {group.stream} stores nothing that {group.name} takes, and nothing waits for "
        f"its members, stop them too: nats stream info {group.stream}; {shown(group)}",
    ]


def shown(group: Address) -> str:
    """The command that shows what waits for the members of a group."""
    return f"reconciler groups show {group.stream}/{group.name}"


def _copying(group: Address, retention: str) -> str:
    """An interest stream drops what is published while no queue copies from it. A work queue keeps it."""
    if retention != "interest":
        return ""
    queue = "-".join(group.names)
    return f", and when {queue} copies from {group.stream} (nats stream info {queue} says when it last did)"
