"""Looks at an object just before it is changed or deleted: is it the object that was judged, and if it goes, does it hold
no more than the plan said?

The plan may be old by then: somebody had to agree to it, and other steps had to wait for their gates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.recount import allowed_loss, losses
from reconciler.engine.pairing.identity import Seen, identities_touched, identity_in_info, recreated_object
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.server.wire.advice import PLAN_AGAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLook:
    """The objects of a plan's steps as they were judged."""

    seen: Seen
    target: Target
    messages: Mapping[str, int]
    """The number of messages that go with a stream or bucket, by the address of its removal, as the plan says. Groups
    are left out: the number in a queue changes while its members leave."""

    @classmethod
    def of(cls, plan: Plan, snapshot: Snapshot) -> LastLook:
        """Take down what the plan's steps touch. Removals of groups are not held to a number of messages."""
        going = {
            change.address: _messages_deleted(change)
            for change in plan.changes
            if change.action is Action.DELETE and not change.address.partition("/")[0].endswith("_group")
        }
        return cls(seen=identities_touched(plan.steps, snapshot), target=snapshot.target, messages=going)

    def at(self, step: Step, info: Mapping[str, Json], server: str | None) -> Diagnostic | None:
        """Return why this object must be left alone after all. `info` is what the server says of it now, and `server`
        the id of this server."""
        now = {"/".join(step.on): identity_in_info(info, replace(self.target, server=server))}
        if name := recreated_object(step, self.seen, now):
            why = f"{name} was deleted and recreated after the plan was made; it was left alone"
            return _refusal(step, "AP201", "recreated", why)
        planned, holds = self.messages.get(step.address), (info.get("state") or {}).get("messages", 0)
        if step.call is Call.STREAM_DELETE and planned is not None and holds > allowed_loss("messages", planned):
            why = f"the plan said that {planned:_} messages go with it, but now it holds {holds:_}; it was left alone"
            return _refusal(step, "AP202", "more-than-consented", why)
        return None


def _messages_deleted(change: PlannedChange) -> int:
    return sum(number for (_, _, name), number in losses(change.verdicts).items() if name == "messages")


def _refusal(step: Step, code: str, name: str, message: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code=code, name=name, message=f"{message[0].upper()}{message[1:]}.",
        address=step.address, fix=PLAN_AGAIN,
    )  # fmt: skip
