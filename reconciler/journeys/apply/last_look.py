"""Looks at an object just before it is changed or deleted: is it the object that was judged, and if it goes, does it hold
no more than the plan said?

The plan may be old by then: somebody had to agree to it, and other steps had to wait for their gates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.recount import lost, most
from reconciler.engine.identity import Seen, recreated, seen, stands_on
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.server.run.problems import PLAN_AGAIN


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
            one.address: _messages(one)
            for one in plan.changes
            if one.action is Action.DELETE and not one.address.partition("/")[0].endswith("_group")
        }
        return cls(seen=seen(plan.steps, snapshot), target=snapshot.target, messages=going)

    def at(self, step: Step, info: Mapping[str, Json], server: str | None) -> Diagnostic | None:
        """Return why this object must be left alone after all. `info` is what the server says of it now, and `server`
        the id of this server."""
        now = {"/".join(step.on): stands_on(info, replace(self.target, server=server))}
        if what := recreated(step, self.seen, now):
            why = f"{what} was deleted and recreated after the plan was made; it was left alone"
            return _because(step, "AP201", "recreated", why)
        said, holds = self.messages.get(step.address), (info.get("state") or {}).get("messages", 0)
        if step.call is Call.STREAM_DELETE and said is not None and holds > most("messages", said):
            why = f"the plan said that {said:_} messages go with it, but now it holds {holds:_}; it was left alone"
            return _because(step, "AP202", "more-than-consented", why)
        return None


def _messages(change: PlannedChange) -> int:
    return sum(number for (_, _, name), number in lost(change.verdicts).items() if name == "messages")


def _because(step: Step, code: str, name: str, message: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code=code, name=name, message=f"{message[0].upper()}{message[1:]}.",
        address=step.address, fix=PLAN_AGAIN,
    )  # fmt: skip
