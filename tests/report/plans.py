"""Plans built by hand, as short as a sentence about them."""

from __future__ import annotations

from typing import Any

from reconciler.changes.change import Action, Consequence, FieldChange
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.model.diagnostic import SourceSpan
from reconciler.model.fields import FieldInfo
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

DAY = 86_400_000_000_000
AGE = FieldInfo(unit="duration", default=0)
PROD = Target(version=Version(2, 12, 8), account="ORDERS", cluster="prod-eu", peers=3)


def at(line: int, column: int, file: str = "streams/orders.yaml") -> SourceSpan:
    return SourceSpan(file, line, column, line, column + 4)


def planned(address: str, action: Action, **more: Any) -> PlannedChange:
    return PlannedChange(address=address, action=action, **more)


def create(address: str, **more: Any) -> PlannedChange:
    return planned(address, Action.CREATE, **more)


def update(address: str, *fields: FieldChange, **more: Any) -> PlannedChange:
    return planned(address, Action.UPDATE, fields=fields, **more)


def delete(address: str, reason: str = "", **more: Any) -> PlannedChange:
    return planned(address, Action.DELETE, reason=reason, **more)


def field(path: str, live: Any = None, desired: Any = None, info: FieldInfo | None = None, **more: Any) -> FieldChange:
    return FieldChange(path=path, live=live, desired=desired, info=info or FieldInfo(), **more)


def verdict(
    code: str, name: str, outcome: Outcome, message: str, address: str = "stream/ORDERS", **more: Any
) -> Verdict:
    return Verdict(code=code, name=name, outcome=outcome, message=message, address=address, **more)


def plan(*changes: PlannedChange, **more: Any) -> Plan:
    ordered = tuple(sorted(changes, key=lambda change: change.address))
    return Plan(**{"topology": "orders", "target": PROD, "changes": ordered, **more})


def policy_switch() -> PlannedChange:
    dispatch = "consumer/ORDERS/dispatch"
    refused = verdict(
        "CO121", "priority-policy-switch", Outcome.REFUSED,
        "3 clients pull from this consumer for group jobs, one of them pinned for 3 h; after the switch their pulls "
        "fail and the old pin blocks the others for up to 2 min.",
        dispatch, path="priority_policy", span=at(21, 26), to="overflow", consentable=True,
        fix="declare a second consumer with the new policy and move the clients",
    )  # fmt: skip
    changed = field("priority_policy", "pinned_client", "overflow")
    return update(dispatch, changed, verdicts=(refused,), span=at(20, 7))


def limit_lowered(address: str = "stream/ORDERS", messages: int = 1_200_000, **more: Any) -> PlannedChange:
    lowered = verdict(
        "ST301", "limit-lowered", Outcome.NEEDS_CONSENT, f"apply deletes {messages:_} messages.",
        address, path="max_age", span=at(8, 14), to=3 * DAY, consentable=True, quantities={"messages": messages},
    )  # fmt: skip
    return update(address, field("max_age", 7 * DAY, 3 * DAY, AGE), verdicts=(lowered,), span=at(7, 5), **more)


def members_moved() -> PlannedChange:
    drawn = {
        "now": ["b1"] * 4 + ["b2"] * 4 + ["b3"] * 4,
        "then": ["b1", "b1", "b1", "b2", "b2", "b2", "b3", "b3", "b3", "b4", "b4", "b4"],
        "queued": [0, 12, 3, 0, 410, 0, 0, 71, 9, None, 0, 699],
    }
    said = "6 of 12 partitions move with 770 queued messages; about 37 in flight are delivered again."
    moved = Consequence(message=said, quantities={"messages": 770}, detail={"partition_map": drawn})
    members = field("members", ["b1", "b2", "b3"], ["b1", "b2", "b3", "b4"], FieldInfo(unit="list"))
    return update("elastic_group/ORDERS/billing", members, consequences=(moved,), span=at(34, 18))


def everything() -> Plan:
    """One of each, as in the sketch people were shown."""
    gone = Consequence(message="nothing stored, no consumers")
    return plan(
        policy_switch(),
        limit_lowered(),
        members_moved(),
        create("consumer/ORDERS/west", span=at(26, 7)),
        create("stream/NEW", span=at(60, 5)),
        create("consumer/NEW/a", span=at(62, 7)),
        create("consumer/NEW/b", span=at(63, 7)),
        delete("stream/OLD", "moved to ORDERS in May", consequences=(gone,), span=at(51, 5)),
        planned("stream/FAR", Action.UNKNOWN, reason="server n3 did not answer for it within 5 s"),
        planned("stream/AUDIT", Action.ADOPT, adopts=True),
        planned("kv_bucket/LEFT", Action.ORPHAN),
        kept=163,
        read={"stream": 42, "consumer": 118, "static_group": 2, "elastic_group": 5},
        unmanaged=("stream/THEIRS",),
    )
