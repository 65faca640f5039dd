"""What servers fix when a stream is created, or let change only one way: the same for every family of streams."""

from __future__ import annotations

from collections.abc import Callable

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.stream_config.updatability import Fixed

SUBJECTS_OF_ITS_OWN = 10034
"""What servers may complain about first if a stream becomes a mirror."""
MIRROR = (
    "The server fixes at creation whether a stream is a mirror, and of what. "
    "From 2.12 on, removing `mirror` makes it an ordinary stream; that cannot be undone."
)


def fixed_fields(family: str, *, another: str, stays: Callable[[str], str]) -> dict[str, Fixed]:
    """By field. `another` is the alternative of a second stream; `stays` tells how a file leaves a field as it is."""
    never = {
        "storage": (101, "storage-change", "The server fixes storage at creation."),
        "retention": (
            102,
            "workqueue-retention-change",
            "The server never turns a stream into a work queue, or a work queue into something else.",
        ),
        "mirror": (103, "mirror-change", MIRROR),
        "max_consumers": (104, "max-consumers-change", "Servers before 2.12.5 fix it at creation."),
        "allow_msg_counter": (105, "counter-change", "The server fixes at creation whether a stream counts."),
        "persist_mode": (106, "persist-mode-change", "The server fixes it at creation."),
        "sealed": (201, "unsealing", "A sealed stream stays sealed."),
        "deny_delete": (202, "delete-denial-cancelled", "Once denied, deleting stays denied."),
        "deny_purge": (203, "purge-denial-cancelled", "Once denied, purging stays denied."),
        "allow_msg_ttl": (204, "message-ttl-disabled", "Stored messages may already carry a time to live."),
        "allow_msg_schedules": (205, "schedules-disabled", "The stream may already store schedules."),
    }
    ways = {
        "mirror": "declare the mirror under another name, and let its readers move there; to promote a mirror, remove `mirror` on "
        "servers from 2.12 on",
        "max_consumers": "upgrade the servers to 2.12.5 or newer",
    }
    return {
        field: Fixed(
            f"{family}{number}",
            name,
            why,
            ways.get(field, f"{stays(field)}, or {another}"),
            part_of="sealed" if field.startswith("deny_") else "",
            also=(SUBJECTS_OF_ITS_OWN,) if field == "mirror" else (),
        )
        for field, (number, name, why) in never.items()
    }


def seal_at_creation(family: str) -> Rule:
    """The 108 of a family."""

    def judge(change: Change, _view: View) -> Found:
        """A new stream is declared sealed.

        The server refuses to create a sealed stream, since nothing could ever be stored in it.

        Instead: create it, fill it, then declare `sealed: true`.
        """
        if not change.becomes("sealed"):
            return None
        return Finding(
            outcome=Outcome.REFUSED,
            path="sealed",
            message="a new stream cannot be sealed: the server refuses it, since nothing could ever be stored in it",
            fix="create and fill it first, then declare sealed: true",
        )

    return rule(f"{family}108", "seal-at-creation", on=(Action.CREATE,), err_code=10052, can_stand=True)(judge)
