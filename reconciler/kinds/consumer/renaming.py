"""How a consumer gets another name or another stream, which no server does itself: a new one can continue at the position
of the old one."""

from __future__ import annotations

from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.renaming import Renaming, moved_section_text
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.consumer_position import recreation_offer
from reconciler.kinds.consumer_position.retention import is_queue


def recipe(renaming: Renaming) -> list[str]:
    """Steps that move clients to a consumer on another stream, after they have processed what the old stream holds."""
    old, new = renaming.old, renaming.new
    new_address = f"{new.name} of {new.stream}" if old.name == new.name else new.name
    meanwhile = (
        f" Both consumers get the messages that {new.stream} copies from {old.stream} meanwhile."
        if renaming.is_fed
        else ""
    )
    return [
        f"Declare {new.name} on {new.stream}, and apply. It gets everything that {new.stream}, a work queue, stores."
        if renaming.into == "workqueue"
        else f"Declare {new.name} on {new.stream} with `deliver_policy: new`, and apply. It collects what {new.stream} stores from "
        "then on.",
        f"Let the clients of {old.name} process what {old.stream} holds, until `nats consumer info {old.stream} {old.name}` "
        f"shows nothing unprocessed; then let them use {new_address}.{meanwhile}",
    ]


@rule("CO330", "consumer-rename", on=(Action.REPLACE,), needs=("live",))
def consumer_rename(change: Change, view: View) -> Found:
    """`moved:` gives a consumer another name.

    No server renames a consumer. With consent apply deletes the old one and creates the new one at its position:
    nothing is lost, and unacknowledged messages are redelivered, except those that a changed filter leaves out (CO301).
    Clients of the old name must use the new one from then on. The `reason` in the entry is the consent. With
    `ack_policy: none` no server knows the position, so the consumer cannot be moved.

    Instead: keep the name; or declare the new consumer beside the old one, move the clients, and remove the old one. A work
    queue takes none beside it: there, declare the new one and remove the old one in the same apply.
    """
    if change.origin is None or change.live is None:
        return None
    old, new = change.origin.name, change.address.name
    alternative = (
        f"without the entry in `moved`, declare {new} and write {old} under `removed`, for a work queue takes none beside it: "
        f"{new} gets what is left"
        if is_queue(change, view)
        else f"without the entry in `moved`, declare {new} beside {old}, move the clients, and then remove {old}"
    )
    finding = recreation_offer.offer_or_refusal(
        change,
        view,
        Finding(
            outcome=Outcome.REFUSED,
            message=f"a consumer cannot be renamed from {old} to {new}, and its clients must use the new name.",
            to=old,
            fix=alternative,
        ),
    )
    if finding.outcome is not Outcome.REPLACES:
        return finding
    entry = moved_section_text(change.origin, change.address)
    return replace(finding, fix=f"consent with a reason in the entry,\n  {entry}\nor {alternative}")


RULES = (consumer_rename,)
