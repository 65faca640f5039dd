"""Does a saved plan still fit the account? Compares each of its changes with the same change as planned now.

A change is already done, still to be done, or stopped. A stopped change comes with three values: the one the plan was
made from, the live one, and the wanted one. It also stops what depends on it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum

from reconciler.changes.change import Action, FieldChange
from reconciler.changes.consent import DeclaredConsents
from reconciler.changes.events import ChangedSince, Failed, Skipped, StepOutcome
from reconciler.changes.plan import Plan, PlannedChange, removes
from reconciler.changes.recount import changed_losses_sentences, losses_beyond_consent_sentences
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.engine.pairing.identity import Seen, recreated_object
from reconciler.engine.pairing.unfinished import Begun
from reconciler.journeys.plan.plan import field_infos_of
from reconciler.journeys.saved.interrupted import (
    is_continued,
    is_different_step,
    is_rest,
    is_resumed,
    kept_start,
    only_later_steps_needed,
    own_values,
    steps_left,
)
from reconciler.journeys.saved.saved_plan import Saved
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Address, Consent, Json
from reconciler.model.wire.steps import Call, Step
from reconciler.server.run.handling import value_changed_since
from reconciler.server.wire.answers import PLAN_AGAIN

SETTLED = frozenset({Action.KEEP, Action.ABSENT, Action.ORPHAN})


class SavedStanding(StrEnum):
    AS_WANTED = "as wanted"
    TO_DO = "to do"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What has become of one change of a saved plan."""

    change: PlannedChange
    standing: SavedStanding
    why: Diagnostic | None = None
    changed_since: tuple[ChangedSince, ...] = ()
    rest: tuple[Step, ...] | None = None
    """The steps left where an earlier apply of this plan was cut off; None: all of its steps."""
    counted_again: tuple[str, ...] = ()
    """Losses that are other ones now, within what was agreed to; as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is left to do of a saved plan."""

    plan: Plan
    """Holds the steps still to be done, and those that are stopped."""
    stopped: tuple[StepOutcome, ...] = ()
    """The outcomes of steps that are known before anything runs."""
    stopped_changes: tuple[Judged, ...] = ()
    as_wanted: tuple[str, ...] = ()
    """Addresses with nothing left to do."""
    counted_again: tuple[str, ...] = ()
    """Losses of what is left to do that are other ones than the plan said; as sentences."""

    @property
    def is_done(self) -> bool:
        """Is everything already as the plan wants it?"""
        return all(change.is_blocked for change in self.plan.changes) and not self.stopped_changes


@dataclass(frozen=True, slots=True)
class _BothPlans:
    """The saved plan and the plan of now, indexed for look-ups."""

    saved: Saved
    now: Plan
    seen: Seen
    found: Mapping[str, PlannedChange]
    planned_steps: Mapping[str, list[Step]]
    """By address."""
    steps: Mapping[str, Step]
    """Steps planned now, by id."""
    needed: Mapping[str, list[Step]]
    """Steps planned now, by address."""
    begun: Begun
    declared: DeclaredConsents

    @classmethod
    def of(cls, saved: Saved, now: Plan, seen: Seen, begun: Begun) -> _BothPlans:
        changes = {change.address: change for change in now.changes}
        steps = {step.id: step for step in now.steps}
        declared = DeclaredConsents.of(saved.topology)
        return cls(
            saved,
            now,
            seen,
            changes,
            _steps_by_address(saved.plan.steps),
            steps,
            _steps_by_address(now.steps),
            begun,
            declared,
        )


def _steps_by_address(steps: Iterable[Step]) -> dict[str, list[Step]]:
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.address, []).append(step)
    return groups


def outlook(saved: Saved, now: Plan, seen: Seen, begun: Begun | None = None) -> Outlook:
    """Judge a saved plan. `now` is what the same declarations would plan at this moment, `seen` what its objects look
    like, and `begun` the replacements that are under way."""
    both = _BothPlans.of(saved, now, seen, begun or {})
    judged = [_judge(change, both) for change in saved.plan.changes if not (change.is_blocked or _is_settled(change))]
    left = {item.change.address: item for item in judged if item.standing is not SavedStanding.AS_WANTED}
    renewed = {
        address for address, item in left.items() if item.change.action is Action.ADOPT and not item.change.adopts
    }
    done = tuple(
        item.change.address
        for item in judged
        if item.standing is SavedStanding.AS_WANTED or item.change.address in renewed
    )
    acting = {
        address for address, item in left.items() if item.change.action.writes
    }  # a change of records alone has no step
    rests = {address: item.rest for address, item in left.items() if item.rest is not None and address in acting}
    steps = steps_left([step for step in saved.plan.steps if step.address in acting], rests)
    blocked = tuple(change for change in saved.plan.changes if change.is_blocked)
    going = tuple(item.change for item in left.values() if item.standing is SavedStanding.TO_DO)
    stopped = tuple(item for item in left.values() if item.standing is SavedStanding.STOPPED)
    return Outlook(
        plan=replace(saved.plan, steps=steps, changes=(*going, *blocked), ledger_known=now.ledger_known),
        stopped=tuple(_outcomes_of_stopped(steps, {item.change.address: item for item in stopped})),
        stopped_changes=stopped,
        as_wanted=done,
        counted_again=tuple(text for item in left.values() for text in item.counted_again),
    )


def _outcomes_of_stopped(steps: Iterable[Step], stopped: Mapping[str, Judged]) -> Iterator[StepOutcome]:
    """The first step of a stopped change counts as failed before it began; its other steps are not tried."""
    begun: set[str] = set()
    for step in steps:
        if (judgement := stopped.get(step.address)) is None or judgement.why is None:
            continue
        if step.address in begun:
            yield Skipped(step=step, because=f"{step.address} has changed since the plan was made")
        else:
            yield Failed(step=step, reason=judgement.why, nothing_done=True, changed_since=judgement.changed_since)
        begun.add(step.address)


def _is_settled(change: PlannedChange) -> bool:
    """There is nothing to do or to record. A change of owner is recorded, also for an object that is no longer
    declared."""
    return change.action in SETTLED and not (change.action is Action.ORPHAN and change.record)


def _judge(change: PlannedChange, both: _BothPlans) -> Judged:
    change_now = both.found.get(change.address)
    if kept := _why_kept(change, change_now, both.now):
        return _stopped_change(change, "AP203", "no-longer-allowed", kept)
    if change_now is None or (_is_settled(change_now) and not change_now.is_blocked):
        return Judged(change=change, standing=SavedStanding.AS_WANTED)
    if blocking := next((verdict for verdict in change_now.verdicts if verdict.blocks), None):
        return _judge_blocked(change, blocking, both)
    if hindered := _what_hinders_text(change_now):
        return _stopped_change(change, "AP204", "no-longer-possible", hindered)
    if change_now.action in (Action.ADOPT, Action.FORGET) and change.action.writes:
        return Judged(
            change=change_now, standing=SavedStanding.TO_DO
        )  # the object is made, or gone, but the record does not say so yet
    return _judge_to_do(change, change_now, both)


def _judge_to_do(change: PlannedChange, change_now: PlannedChange, both: _BothPlans) -> Judged:
    """Judge a change that is still to be done, by as much as can have happened to it."""
    if _is_under_way(change, both):
        return _judge_resumed(change, change_now, both)
    if _is_as_saved(change, change_now, both):
        return _judge_as_saved(change, both)
    return _compare(change, change_now, both)


def _why_kept(change: PlannedChange, change_now: PlannedChange | None, now: Plan) -> str | None:
    """Why nobody would delete an object any more that the plan deletes and that still exists."""
    if change.action is not Action.DELETE:
        return None
    if change_now is not None and change_now.action is Action.ORPHAN:
        return f"it was not deleted, and no longer should be: {change_now.reason or 'it is merely not declared'}"
    if change_now is None and change.address in now.unmanaged:
        return (
            "it was not deleted, and no longer should be: its removal has ended, and this topology does not "
            "own it any more"
        )
    return None


def _compare(change: PlannedChange, change_now: PlannedChange, both: _BothPlans) -> Judged:
    mine = both.planned_steps.get(change.address, [])
    needed = both.needed.get(change.address, [])
    is_being_replaced = Address.parse(change.address) in both.begun  # and not by this plan
    if (is_rest(mine, needed) or only_later_steps_needed(mine, needed)) and not is_being_replaced:
        return Judged(change=change, standing=SavedStanding.TO_DO, rest=tuple(needed))
    if recreated_name := _first_recreated_object(change, both):
        return _stopped_as_recreated(change, recreated_name)
    changed_since = tuple(_values_changed_since(change, change_now, mine, both.steps))
    if changed_since or change_now.action is not change.action:
        return replace(
            _stopped_change(change, "AP103", "changed-since-plan", _what_changed_text(change, change_now)),
            changed_since=changed_since,
        )
    if more := next(losses_beyond_consent_sentences(change, change_now, both.declared.to(change.address)), None):
        return _stopped_change(change, "AP202", "more-than-consented", more)
    if _needs_other_steps(_without_waiting_steps(mine), _without_waiting_steps(needed), both.steps):
        why = "other steps are needed now than the plan holds; nothing was done to it"
        return _stopped_change(change, "AP103", "changed-since-plan", why)
    return Judged(
        change=change,
        standing=SavedStanding.TO_DO,
        rest=tuple(needed) if _waiting_step_ids(mine) != _waiting_step_ids(needed) else None,
        counted_again=tuple(changed_losses_sentences(change, change_now)),
    )


def _is_as_saved(change: PlannedChange, change_now: PlannedChange, both: _BothPlans) -> bool:
    """Does planning again give the very same change, by the very same steps?"""
    return change_now == change and both.needed.get(change.address) == both.planned_steps.get(change.address)


def _judge_as_saved(change: PlannedChange, both: _BothPlans) -> Judged:
    """Nothing is lost that the plan does not name, but an object of the same values may be another one."""
    if recreated_name := _first_recreated_object(change, both):
        return _stopped_as_recreated(change, recreated_name)
    return Judged(change=change, standing=SavedStanding.TO_DO)


def _judge_blocked(change: PlannedChange, blocking: Verdict, both: _BothPlans) -> Judged:
    if change.action is Action.DELETE and (recreated_name := _first_recreated_object(change, both)):
        return _stopped_as_recreated(change, recreated_name)
    if more := next(_above_upto_texts(blocking, both.declared.to(change.address)), None):
        return _stopped_change(change, "AP202", "more-than-consented", more)
    now = "this is refused" if blocking.outcome is Outcome.REFUSED else "this needs consent"
    why = f"as things are now, {now}: {blocking.code} {blocking.message.rstrip('.')}"
    return _stopped_change(change, "AP203", "no-longer-allowed", why)


def _above_upto_texts(verdict: Verdict, consents: Iterable[Consent]) -> Iterator[str]:
    """What is lost now beyond the bound of a consent to it."""
    for allow in consents:
        for name, most in allow.upto.items() if allow.code == verdict.code else ():
            if (number := verdict.quantities.get(name, 0)) > most:
                yield f"the consent to {allow.code} allows up to {most:_} {name}, and now it is {number:_}"


def _first_recreated_object(change: PlannedChange, both: _BothPlans) -> str | None:
    """The first object of its steps that was recreated since the plan was made."""
    mine = both.planned_steps.get(change.address, [])
    return next((name for step in mine if (name := recreated_object(step, both.saved.seen, both.seen))), None)


def _is_under_way(change: PlannedChange, both: _BothPlans) -> bool:
    mine, needed = both.planned_steps.get(change.address, []), both.needed.get(change.address, [])
    return is_resumed(change, mine, both.begun) or is_continued(change, mine, needed, both.begun)


def _judge_resumed(change: PlannedChange, change_now: PlannedChange, both: _BothPlans) -> Judged:
    """Continue a replacement that was cut off. What it still has to remove must be what the plan was made from, or what
    the replacement itself created with the kept position."""
    mine = [step for step in both.planned_steps[change.address] if removes(step)]
    left = [step for step in mine if step.id in both.steps]
    start = kept_start(change, both.begun)
    anew = (recreated_object(step, both.saved.seen, both.seen) for step in left)
    if start is None and (recreated_name := next(filter(None, anew), None)):
        return _stopped_as_recreated(change, recreated_name)
    raw = [value for step in left for value in _raw_values_changed_since(step, both.steps[step.id])]
    if changed_since := tuple(value for value in raw if not (start and value.now == start.get(value.path, value))):
        return replace(
            _stopped_change(change, "AP103", "changed-since-plan", _what_changed_text(change, change)),
            changed_since=changed_since,
        )
    if left == mine and (
        more := next(losses_beyond_consent_sentences(change, change_now, both.declared.to(change.address)), None)
    ):
        return _stopped_change(change, "AP202", "more-than-consented", more)
    return Judged(change=change, standing=SavedStanding.TO_DO, rest=tuple(both.needed.get(change.address, [])))


def _stopped_as_recreated(change: PlannedChange, recreated_object: str) -> Judged:
    why = f"{recreated_object} was deleted and recreated after the plan was made; it was left alone"
    return _stopped_change(change, "AP201", "recreated", why)


def _waiting_step_ids(steps: Iterable[Step]) -> set[str]:
    return {step.id for step in steps if step.call.waits}


def _without_waiting_steps(steps: Iterable[Step]) -> list[Step]:
    """Leave out waiting steps: they depend on the moment, for example on whether a mirror lags."""
    return [step for step in steps if not step.call.waits]


def _stopped_change(change: PlannedChange, code: str, name: str, message: str) -> Judged:
    why = Diagnostic(
        severity=Severity.ERROR, code=code, name=name, message=f"{message[0].upper()}{message[1:]}.",
        address=change.address, span=change.span, fix=PLAN_AGAIN,
    )  # fmt: skip
    return Judged(change=change, standing=SavedStanding.STOPPED, why=why)


def _what_changed_text(change: PlannedChange, change_now: PlannedChange) -> str:
    if change_now.action is change.action:
        return "somebody changed it after the plan was made; it was left alone"
    planned, now = f"{change.action.value} it", f"{change_now.action.value} it"
    did = "created" if change.action is Action.CREATE else "changed"
    return f"somebody {did} it after the plan was made: the plan was to {planned}, but a plan made now would {now}"


def _what_hinders_text(change_now: PlannedChange) -> str | None:
    """What stands in the way without a rule: an unknown state, or a dependency that cannot be done."""
    if change_now.action is Action.UNKNOWN:
        return f"its live state has become unknown: {change_now.reason}"
    return f"it depends on {change_now.blocked_by}, which cannot be done any more" if change_now.blocked_by else None


def _values_changed_since(
    change: PlannedChange, change_now: PlannedChange, mine: Iterable[Step], now: Mapping[str, Step]
) -> Iterator[ChangedSince]:
    """Values that differ from what the plan was made from: by field, and by the raw values of its steps where no field
    shows the difference."""
    before, after = ({field.path: field for field in each.fields} for each in (change, change_now))
    named = set()
    for path in sorted(before.keys() | after.keys()):
        field_ = before.get(path) or after[path]
        was, is_ = (
            _live_value(before.get(path), field_, change),
            _live_value(after.get(path), field_, change_now),
        )
        if was != is_:
            named.add(field_.top)
            yield ChangedSince(path=path, planned=was, now=is_, wanted=field_.desired, info=field_.info)
    for step in mine:
        yield from (field for field in _raw_values_changed_since(step, now.get(step.id)) if field.path not in named)


def _live_value(field: FieldChange | None, other: FieldChange, change: PlannedChange) -> Json:
    """The live value that a change was made from. If only the `other` change names the path, this one found the wanted
    value, unless there was no object."""
    if field is None:
        return None if change.action is Action.CREATE else other.desired
    return field.live


def _raw_values_changed_since(step: Step, now: Step | None) -> Iterator[ChangedSince]:
    if now is None:
        return
    before, after, infos = step.before or {}, now.before or {}, field_infos_of(step)
    for name in sorted(before.keys() | after.keys()):
        was, is_ = own_values(name, before.get(name)), own_values(name, after.get(name))
        if was != is_:
            yield value_changed_since(step, name, was, is_, infos)
    if step.call in (Call.ENTRY_PUT, Call.ENTRY_DELETE) and step.revision != now.revision:
        yield ChangedSince(path="revision", planned=step.revision, now=now.revision)


def _needs_other_steps(mine: Iterable[Step], needed: Iterable[Step], now: Mapping[str, Step]) -> bool:
    """Are other steps needed now? A create that somebody made unnecessary does no harm: the server answers that it has
    the object."""
    planned = {step.id: step for step in mine}
    new = any(step.id not in planned for step in needed)
    lost = any(id_ not in now and not step.call.value.endswith(".create") for id_, step in planned.items())
    return new or lost or any(is_different_step(step, now[id_]) for id_, step in planned.items() if id_ in now)
