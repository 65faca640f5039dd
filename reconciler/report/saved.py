"""A saved plan as JSON: the plan itself, what is needed to judge it again, and a fingerprint over both.

No secret can be in it: connections, contexts and logins never come this far, and who was logged in is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

from pydantic import ValidationError

from reconciler.core.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.core.kind import Registry
from reconciler.core.resource import Address, Declared
from reconciler.core.saved import FINGERPRINT, Place, Saved, Terms, fingerprint
from reconciler.core.topology import Expect, Forgotten, Guarded, Moved, Removed, Topology
from reconciler.report.json import json_text, not_a_plan, parsed, plan_data, plan_of

Data = Mapping[str, Any]


def saved_json(saved: Saved) -> str:
    """The text of a plan file."""
    plan = plan_data(saved.plan)
    target = {key: value for key, value in plan["target"].items() if key != "user"}
    data = {**plan, "target": target, "saved": _judging(saved)}
    whole = json.loads(json_text(data))  # what a reader will see is what counts
    return json_text({**whole, FINGERPRINT: fingerprint(whole)})


def _judging(saved: Saved) -> dict[str, Any]:
    plan = saved.plan
    return {
        "made_by": saved.made_by,
        "empty": plan.is_empty,
        "blocked": len(plan.blocked),
        "exit_code": plan.exit_code,
        "place": _known(asdict(saved.place)),
        "seen": {name: dict(found) for name, found in saved.seen.items()},
        "state": saved.state,
        "terms": {**asdict(saved.terms), "allow": [list(pair) for pair in saved.terms.allow]},
        **_known({"source": saved.source, "git_revision": saved.git_revision}),
        "declared": _declared(saved.topology),
    }


def _known(items: Data) -> dict[str, Any]:
    return {key: value for key, value in items.items() if value is not None}


def _declared(topology: Topology) -> dict[str, Any]:
    return {
        "expect": topology.expect.model_dump(mode="json", exclude_unset=True),
        "resources": [
            {"address": str(one.address), "spec": one.spec.model_dump(mode="json", exclude_unset=True, by_alias=True)}
            for one in topology.resources
        ],
        "removed": [
            _known({"address": str(one.address), "reason": one.reason, "until": _iso(one.until)})
            for one in topology.removed
        ],
        "forget": [str(one.address) for one in topology.forget],
        "moved": [
            _known({"from": str(one.origin), "to": str(one.address), "reason": one.reason, "until": _iso(one.until)})
            for one in topology.moved
        ],
        "guards": [
            _known({"kind": one.kind, "upto": one.upto, "reason": one.reason, "until": _iso(one.until)})
            for one in topology.guards
        ],
    }


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def saved_from_json(text: str, registry: Registry) -> Saved:
    """The very plan that was saved; what was altered since, or is none, is refused with the reason."""
    data = parsed(text)
    if "saved" not in data or FINGERPRINT not in data:
        raise not_a_plan(
            "this plan was printed for reading, and cannot be applied",
            "save one to be applied with `reconciler plan --out plan.json`",
        )
    if data[FINGERPRINT] != fingerprint(data):
        raise _altered()
    try:
        return _saved_of(data, registry)
    except (KeyError, TypeError, ValueError, AttributeError, ValidationError) as error:
        what = "what it declares" if isinstance(error, ValidationError) else str(error)
        made_by = data["saved"].get("made_by") if isinstance(data["saved"], dict) else None
        by = f" by reconciler {made_by}" if made_by else ""
        raise not_a_plan(f"this plan was saved{by} in a form this version cannot read ({what})") from None


def _altered() -> CannotContinue:
    return CannotContinue(
        Diagnostic(
            severity=Severity.ERROR,
            code="XX911",
            name="plan-altered",
            message="This plan is not as it was saved: its fingerprint does not fit its contents. Nothing was changed.",
            fix="plan again and apply that; edit the topology, never a plan",
        )
    )


def _saved_of(data: Data, registry: Registry) -> Saved:
    saved, plan = data["saved"], plan_of(data)
    terms = saved["terms"]
    return Saved(
        plan=plan,
        place=Place(**saved["place"]),
        topology=_topology(plan.topology, saved["declared"], registry),
        seen=saved["seen"],
        state=saved["state"],
        terms=Terms(
            only=tuple(terms["only"]),
            exclude=tuple(terms["exclude"]),
            allow=tuple((code, pattern) for code, pattern in terms["allow"]),
            paths=tuple(terms["paths"]),
            take_over=tuple(terms.get("take_over", ())),
        ),
        source=saved.get("source"),
        git_revision=saved.get("git_revision"),
        made_by=saved["made_by"],
    )


def _topology(name: str, data: Data, registry: Registry) -> Topology:
    return Topology(
        name=name,
        expect=Expect.model_validate(data["expect"]),
        resources=tuple(_resource(one, registry) for one in data["resources"]),
        removed=tuple(_removed(one) for one in data["removed"]),
        forget=tuple(Forgotten(address=Address.parse(one)) for one in data["forget"]),
        moved=tuple(_moved(one) for one in data.get("moved", ())),
        guards=tuple(Guarded(**{**one, "until": _day(one)}) for one in data.get("guards", ())),
    )


def _resource(data: Data, registry: Registry) -> Declared:
    address = Address.parse(data["address"])
    return Declared(address=address, spec=registry.of(address).spec.model_validate(data["spec"]))


def _removed(data: Data) -> Removed:
    return Removed(address=Address.parse(data["address"]), reason=data["reason"], until=_day(data))


def _moved(data: Data) -> Moved:
    origin, to = Address.parse(data["from"]), Address.parse(data["to"])
    return Moved(origin=origin, address=to, reason=data.get("reason"), until=_day(data))


def _day(data: Data) -> date | None:
    return date.fromisoformat(data["until"]) if "until" in data else None
