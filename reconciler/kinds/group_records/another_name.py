"""How a group gets another name, or settings that it cannot take, which no server does itself.

A new group does not know what an old one has processed. It starts with what the stream holds, and while both exist, each
of them gets every new message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reconciler.changes.consent import allow_entry
from reconciler.changes.renaming import Renaming, removal_text
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import listed_few
from reconciler.model.resource import Address


def recipe(renaming: Renaming) -> list[str]:
    """Steps that move the members to a new group, which does not know what the old one has processed."""
    return RECIPES.get((renaming.old.kind, renaming.retention), _recipe_from_start)(renaming)


def _recipe_from_start(renaming: Renaming) -> list[str]:
    old, new = renaming.old, renaming.new
    return [
        f"Stop the members of {old.name} when nothing waits for them any more: {show_command(old)}",
        f"Declare {new.name} with those members, and apply. It starts with everything that {old.stream} holds, so its members "
        f"process again what {old.name} has processed of that. Start them with the new name when they are ready for that.",
    ]


def _recipe_through_an_empty_stream(renaming: Renaming) -> list[str]:
    old, new = renaming.old, renaming.new
    return [
        *emptying_instructions(renaming),
        f"Declare {new.name} with those members{_consents_clause(renaming)}, and apply. Start them with the new name.",
        f"Publish again only {_delay_text(renaming)}after the next step{_copying_text(renaming)}. Both groups get what is published "
        f"before, and what then waits in the queue of {old.name} is deleted with it.{_reader_count_clause(renaming)}",
    ]


def _recipe_one_after_the_other(renaming: Renaming) -> list[str]:
    old, new = renaming.old, renaming.new
    return [
        f"Stop the members of {old.name} when nothing is in flight any more: {show_command(old)}. What waits stays in {old.stream}, and "
        "so does what is published meanwhile.",
        f"Declare {new.name} with those members, and apply.",
        f"Start them with the new name after the next step: until then the server refuses consumers whose filters overlap with "
        f"those of {old.name} (10100).",
    ]


RECIPES: Mapping[tuple[str, str], Callable[[Renaming], list[str]]] = {
    ("elastic_group", "workqueue"): _recipe_through_an_empty_stream,
    ("elastic_group", "interest"): _recipe_through_an_empty_stream,
    ("static_group", "workqueue"): _recipe_one_after_the_other,
}
"""By kind and by the retention of the stream. Elsewhere the stream holds what was processed, and the new group gets it
again."""


def redeclaration_recipe(renaming: Renaming) -> str:
    """The way of an elastic group to settings that it cannot take, if it cannot be recreated at its position either. It
    keeps its name."""
    group = renaming.old
    removal = removal_text(renaming)
    if renaming.retention == "limits":
        steps = [
            f"Stop the members of {group.name} when nothing waits for them any more: {show_command(group)}",
            removal,
            f"Declare it again with the new settings, and apply. It starts with everything that {group.stream} holds, so its members "
            "process that again. Start them when they are ready for that.",
        ]
    else:
        after = f" only {later}after the removal" if (later := _delay_text(renaming)) else ""
        steps = [
            *emptying_instructions(renaming),
            removal,
            f"Declare it again with the new settings{_consents_clause(renaming)}, and apply. Start its members.",
            f"Publish again{after}{_copying_text(renaming)}.{_reader_count_clause(renaming)}",
        ]
    return "remove it, and declare it again:\n" + "\n".join(
        f"  {number}. {text}" for number, text in enumerate(steps, 1)
    )


def emptying_instructions(renaming: Renaming) -> list[str]:
    """Steps after which neither the stream nor the queue of an elastic group holds a message that the group takes."""
    old, new, stream = renaming.old, renaming.new, renaming.old.stream
    filters = [filter_["filter"] for filter_ in renaming.live.get("partitioning_filters") or ()]
    messages = f"messages on {listed_few(filters, 5)}" if filters else "messages"
    leftovers = (
        " This server may keep messages there forever: those that two queues copied at once. If some stay, the members of "
        f"{new.name} process them again."
    )
    return [
        f"Stop what publishes to {stream}. When nothing waits for the members of {old.name} any more, stop them: {show_command(old)}",
        f"Wait until {stream} holds no {messages} (nats stream subjects {stream}): {new.name} copies what it finds there, and its "
        f"members would process it again.{leftovers if _is_deleted_queue_still_counted(renaming) else ''}",
    ]


def show_command(group: Address) -> str:
    """The command that shows what waits for the members of a group."""
    return f"reconciler groups show {group.stream}/{group.name}"


def _consents_clause(renaming: Renaming) -> str:
    """Whoever reads the steps has stopped publishers and members by then, and no plan may surprise them."""
    return "".join(f", and with {allow_entry(code)}" for code in renaming.consents)


def _copying_text(renaming: Renaming) -> str:
    """An interest stream drops what is published while no queue copies from it. A work queue keeps it."""
    if renaming.retention != "interest":
        return ""
    queue = "-".join(renaming.new.names)
    return f", and when {queue} copies from {renaming.new.stream} (nats stream info {queue} says when it last did)"


COUNTED_ON = 20
"""Seconds. Servers before 2.14 count what a deleted queue copied with as a reader of the work queue for 10 seconds more."""


def _is_deleted_queue_still_counted(renaming: Renaming) -> bool:
    return renaming.retention == "workqueue" and renaming.version < V2_14


def _delay_text(renaming: Renaming) -> str:
    return f"{COUNTED_ON} seconds " if _is_deleted_queue_still_counted(renaming) else ""


def _reader_count_clause(renaming: Renaming) -> str:
    if not _is_deleted_queue_still_counted(renaming):
        return ""
    stream = renaming.old.stream
    return (
        f" Until then this server counts the deleted queue as a reader of {stream}, and {stream} forever keeps what the new "
        "queue copies."
    )
