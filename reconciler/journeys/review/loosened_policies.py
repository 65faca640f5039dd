"""Policies that a change of the files removes or weakens. A review judges with the policies of the newer files, so what the
older ones forbade would pass unseen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from reconciler.changes.change import Change
from reconciler.changes.consent import bulk_consents, first_covering
from reconciler.changes.verdict import Verdict
from reconciler.changes.view import View
from reconciler.engine.judging import EVERYTHING
from reconciler.kinds import REGISTRY
from reconciler.kinds.fields.words import listed, listed_few
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.policy import PlacedPolicy, Policy
from reconciler.model.topology import Topology
from reconciler.policies.policies import Policies

POLICIES, SHOWN = "policies", 60
"""How many characters of a condition a message shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loosened:
    """How a policy was weakened."""

    message: str
    span: SourceSpan | None
    passing: tuple[str, ...] = ()
    """What the policy forbade as it was, and nothing of its code forbids now."""


def loosened_policies(base: Topology, head: Topology, compared: Callable[[], View]) -> Iterator[Loosened]:
    """Judge what the newer files amount to with each policy that was weakened, as it was and as it is."""
    changed = [*_changed_policies(base, head)]
    if not changed:
        return
    view = compared()
    where = f" of {head.name} in {head.environment}" if head.environment else f" of {head.name}"
    for was, now, message, key in changed:
        is_now = _refusals([now] if now else [], view)
        passing = tuple(
            f"{address}{where}"
            for address, is_refused in _refusals([was], view).items()
            if address not in is_now or is_refused > is_now[address]
        )
        span = now.where(key) if now else head.where(key) or head.where("")
        yield Loosened(message=message, span=span, passing=passing)


def policy_warnings(each: Sequence[Loosened]) -> Iterator[Diagnostic]:
    """Warn of each policy once, however many topologies and environments share it."""
    for message, span in dict.fromkeys((loosened.message, loosened.span) for loosened in each):
        passing = [
            name
            for loosened in each
            if (loosened.message, loosened.span) == (message, span)
            for name in loosened.passing
        ]
        effect = f"as it was, it forbids {listed_few(passing)}" if passing else "as it was, it forbids nothing here"
        yield Diagnostic(
            severity=Severity.WARNING, code="RV108", name="policy-loosened", message=f"{message}; {effect}", span=span,
            fix="let the owners of the policy agree to that; to let one resource pass, waive the policy there instead",
        )  # fmt: skip


def _changed_policies(base: Topology, head: Topology) -> Iterator[tuple[PlacedPolicy, PlacedPolicy | None, str, str]]:
    """Yield each policy as it was and as it is, with what to say of it, and the key that was changed."""
    by_code = {placed.policy.code: placed for placed in head.policies}
    terms = [_terms(placed.policy) for placed in head.policies]
    for was in base.policies:
        now = by_code.get(was.policy.code)
        weakening = _weakening(was.policy, now.policy if now else None)
        if weakening and _terms(was.policy) not in terms:
            yield was, now, *weakening


def _terms(policy: Policy) -> tuple[object, ...]:
    """What counts for a judgement: a policy that only has another code is no weaker."""
    return _condition(policy), policy.kinds, policy.severity


def _condition(policy: Policy) -> str:
    return " ".join(policy.forbid.split())


def _weakening(was: Policy, now: Policy | None) -> tuple[str, str] | None:
    if now is None:
        return f"policy {was.code} {was.name} is gone", POLICIES
    if _condition(was) != _condition(now):
        return f"policy {was.code} has another condition: `{_shortened(was)}` became `{_shortened(now)}`", "forbid"
    if now.kinds and (not was.kinds or set(was.kinds) - set(now.kinds)):
        before = listed(was.kinds) or "every kind"
        return f"policy {was.code} is about {listed(now.kinds)} alone, and until now about {before}", "on"
    if (was.severity, now.severity) == ("error", "warning"):
        return f"policy {was.code} only warns from now on", "severity"
    return None


def _shortened(policy: Policy) -> str:
    condition = _condition(policy)
    return condition if len(condition) <= SHOWN else f"{condition[: SHOWN - 1]}…"


def _refusals(placed: Sequence[PlacedPolicy], view: View) -> dict[str, bool]:
    """What these policies say something of, unless a waiver stands there, and whether they refuse it."""
    policies = Policies(placed, REGISTRY)
    return {
        str(address): verdict.blocks
        for address, change in sorted(view.changes.items())
        for verdict in policies.judge(change, view, EVERYTHING)
        if not _is_waived(verdict, change, view)
    }


def _is_waived(verdict: Verdict, change: Change, view: View) -> bool:
    waivers = (*change.terms.allow, *bulk_consents(change.address, change.labels, view.allow))
    return first_covering(verdict, waivers, view.today, REGISTRY.of(change.address).spec) is not None
