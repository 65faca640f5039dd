"""Writes and reads a saved plan as JSON: the plan, what it takes to judge it again, and a fingerprint of both.

The file holds no secret: connections, contexts and logins never reach this module, and it leaves out who was logged in.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from reconciler.changes.kind import Registry
from reconciler.journeys.saved.declared import Data, declared_data, known, topology_of
from reconciler.journeys.saved.saved import FINGERPRINT, AccountPlace, Saved, fingerprint
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.run_options import Origin, RunOptions
from reconciler.report.codec.json import json_text, plan_data
from reconciler.report.codec.plan_reading import not_a_plan, parsed, plan_of


def saved_json(saved: Saved) -> str:
    """Return the text of a plan file."""
    plan = plan_data(saved.plan)
    target = {key: value for key, value in plan["target"].items() if key != "user"}
    data = {**plan, "target": target, "saved": _judging(saved)}
    whole = json.loads(json_text(data))  # the fingerprint covers what a reader will see
    return json_text({**whole, FINGERPRINT: fingerprint(whole)})


def _judging(saved: Saved) -> dict[str, Any]:
    plan = saved.plan
    return {
        "made_by": saved.made_by,
        "empty": plan.is_empty,
        "blocked": len(plan.blocked),
        "exit_code": plan.exit_code,
        "place": known(asdict(saved.place)),
        "seen": {name: dict(found) for name, found in saved.seen.items()},
        "state": saved.state,
        "terms": _terms(saved),
        **known({"source": saved.options.came_from.repository, "git_revision": saved.options.came_from.revision}),
        "declared": declared_data(saved.topology),
    }


def _terms(saved: Saved) -> Data:
    told = saved.options
    allow = [list(pair) for pair in told.allow]
    return {
        "only": told.only, "exclude": told.exclude, "allow": allow, "paths": saved.paths, "take_over": told.take_over,
    }  # fmt: skip


def saved_from_json(text: str, registry: Registry) -> Saved:
    """Read the plan that was saved. Raises CannotContinue for a file that was altered since, and for one that is no
    saved plan."""
    data = parsed(text)
    if "saved" not in data or FINGERPRINT not in data:
        raise not_a_plan(
            "this plan was printed for reading, and cannot be applied",
            "save a plan to apply with `reconciler plan --out plan.json`",
        )
    if data[FINGERPRINT] != fingerprint(data):
        raise _altered()
    try:
        return _saved_of(data, registry)
    except (KeyError, TypeError, ValueError, AttributeError, ValidationError) as error:
        what = "its declarations" if isinstance(error, ValidationError) else str(error)
        made_by = data["saved"].get("made_by") if isinstance(data["saved"], dict) else None
        by = f" by reconciler {made_by}" if made_by else ""
        raise not_a_plan(f"this plan was saved{by} in a form this version cannot read ({what})") from None


def _altered() -> CannotContinue:
    return CannotContinue(
        Diagnostic(
            severity=Severity.ERROR,
            code="XX911",
            name="plan-altered",
            message=(
                "Somebody changed this plan after it was saved: its fingerprint does not match its contents. "
                "Nothing was changed in the account."
            ),
            fix="plan again and apply the new plan; to change a plan, edit the topology",
        )
    )


def _saved_of(data: Data, registry: Registry) -> Saved:
    saved, plan = data["saved"], plan_of(data)
    terms = saved["terms"]
    return Saved(
        plan=plan,
        place=AccountPlace(**saved["place"]),
        topology=topology_of(plan.topology, saved["declared"], registry),
        seen=saved["seen"],
        state=saved["state"],
        options=RunOptions(
            only=tuple(terms["only"]),
            exclude=tuple(terms["exclude"]),
            allow=tuple((code, pattern) for code, pattern in terms["allow"]),
            take_over=tuple(terms["take_over"]),
            origin=Origin(repository=saved.get("source"), revision=saved.get("git_revision")),
        ),
        paths=tuple(terms["paths"]),
        made_by=saved["made_by"],
    )
