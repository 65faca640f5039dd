"""What servers fix when a stream is created, or let change one way only: the same for every family of streams."""

from __future__ import annotations

from collections.abc import Callable

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.stream_config.updatability import Fixed

SUBJECTS_OF_ITS_OWN = 10034
"""What servers may stumble over first where a stream becomes a mirror."""
MIRROR = "A stream is a mirror, and of what, for its whole life; from 2.12 on it can be promoted by removing `mirror`, which is final."


def fixed_fields(family: str, *, another: str, stays: Callable[[str], str]) -> dict[str, Fixed]:
    """By field. `another` is the way out by a second stream; `stays` says how a file leaves a field as it is."""
    never = {
        "storage": (101, "storage-change", "The server fixes storage at creation."),
        "retention": (
            102,
            "workqueue-retention-change",
            "The server never turns a stream into a work queue, or a work queue into something else.",
        ),
        "mirror": (103, "mirror-change", MIRROR),
        "max_consumers": (104, "max-consumers-change", "Servers before 2.12.5 fix it at creation."),
        "allow_msg_counter": (105, "counter-change", "Counting is decided at creation, in both directions."),
        "persist_mode": (106, "persist-mode-change", "The server fixes it at creation."),
        "sealed": (201, "unsealing", "A sealed stream stays sealed."),
        "deny_delete": (202, "delete-denial-cancelled", "Once denied, deleting stays denied."),
        "deny_purge": (203, "purge-denial-cancelled", "Once denied, purging stays denied."),
        "allow_msg_ttl": (204, "message-ttl-disabled", "Stored messages may carry a time to live already."),
        "allow_msg_schedules": (205, "schedules-disabled", "Schedules may be stored already."),
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

        The server refuses to create sealed streams, since nothing could ever be stored in them.

        Instead: create it, fill it, then declare `sealed: true`.
        """
        if not change.becomes("sealed"):
            return None
        return Finding(
            outcome=Outcome.REFUSED,
            path="sealed",
            message="a new stream cannot be sealed. The server refuses it: nothing could ever be stored.",
            fix="create and fill it first, then declare sealed: true",
        )

    return rule(f"{family}108", "seal-at-creation", on=(Action.CREATE,), err_code=10052, can_stand=True)(judge)
