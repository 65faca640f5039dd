"""The findings of a rehearsal, as text that follows its plan."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import FieldChange
from reconciler.changes.rehearsal import Foresight, Missing, Rehearsal, Restarted
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.report.document.entries import Section, section_of
from reconciler.report.document.probe import ProbeRow, probe_rows
from reconciler.report.outcome import outcome_text
from reconciler.report.words.paper import Paper, table
from reconciler.report.words.values import counted, show_value
from reconciler.report.words.visible import inert, visible


def setting_text(rehearsal: Rehearsal) -> str:
    """Return `on throw-away servers: nats-server 2.12.8, 3 nodes`."""
    nodes = f", {counted(rehearsal.size, 'node')}" if rehearsal.size > 1 else ""
    return f"on throw-away servers (nats-server {rehearsal.version}{nodes}) without messages"


def rehearsal_text(rehearsal: Rehearsal, paper: Paper | None = None) -> str:
    """Return what the throw-away servers answered, what is left or was not tried, and at the end whether it went
    well."""
    paper = paper or Paper()
    lines = [
        *_outcome_lines(rehearsal, paper),
        *_left_lines(rehearsal),
        *_missing_lines(rehearsal.missing),
        *_unrehearsed_lines(rehearsal),
    ]
    lines += _restarted_lines(rehearsal.restarted) if rehearsal.restarted else []
    return inert("\n".join([*lines, *paper.wrapped(_verdict_sentence(rehearsal))]) + "\n")


def _outcome_lines(rehearsal: Rehearsal, paper: Paper) -> Iterator[str]:
    """Say what the server answered, and whether it holds what was predicted."""
    done = rehearsal.finished
    if not done.is_success:
        yield from outcome_text(done, paper).splitlines()
    elif done.done:
        yield f"The server did {counted(len(done.done), 'step')}, and holds what was predicted."
    else:
        yield "There was nothing to do."


def _left_lines(rehearsal: Rehearsal) -> Iterator[str]:
    if rehearsal.left:
        yield "A second plan still wants these changes:"
        yield from (f"  {change.action} {visible(change.address)}" for change in rehearsal.left)


def _missing_lines(missing: tuple[Missing, ...]) -> Iterator[str]:
    if missing:
        yield "These could not be recreated for the rehearsal:"
        yield from table([[item.what, item.why] for item in missing], indent=2)


_NOT_TRIED = {
    Section.REFUSED: "the plan refuses them",
    Section.CONSENT: "they need consent",
    Section.UNKNOWN: "their live state is unknown",
    Section.WAITS: "they wait for a change that is not made",
}


def _unrehearsed_lines(rehearsal: Rehearsal) -> Iterator[str]:
    blocked = [change for change in rehearsal.plan.changes if change.is_blocked]
    by_reason = [
        (why, [change.address for change in blocked if section_of(change) is section])
        for section, why in _NOT_TRIED.items()
    ]
    for why, names in (*by_reason, ("they need what could not be recreated", rehearsal.unrehearsed_addresses)):
        if names:
            yield f"Not rehearsed, because {why}:"
            yield from (f"  {visible(name)}" for name in names)


def _restarted_lines(after: Restarted) -> Iterator[str]:
    yield f"The same stores, started by nats-server {after.version}:"
    if after.gone:
        yield from (f"  {visible(address)} is gone" for address in after.gone)
    if after.rewritten:
        fields = [[address, field.path, _live_and_desired_text(field)] for address, field in after.rewritten]
        yield from table(fields, indent=2)
    yield from (f"  a plan there wants to {change.action} {visible(change.address)}" for change in after.left)
    if not (after.gone or after.rewritten or after.left):
        yield "  everything exists, and nothing changed"


def _live_and_desired_text(field: FieldChange) -> str:
    return " → ".join(
        "absent" if value is None else show_value(value, field.info) for value in (field.live, field.desired)
    )


def rehearsal_findings(rehearsal: Rehearsal) -> Iterator[Diagnostic]:
    """Return failures as findings, for viewers that show findings only: a failed rehearsal must not look like a good
    one."""
    after = rehearsal.restarted
    for address in after.gone if after else ():
        yield _failure(address, f"is gone when nats-server {after.version if after else ''} starts on the same stores")
    for change in (*rehearsal.left, *(after.left if after else ())):
        yield _failure(change.address, f"is still to be changed ({change.action}) by a second plan")
    for address in rehearsal.unrehearsed_addresses:
        yield _failure(address, "could not be rehearsed, because it needs something that could not be recreated")
    yield from (
        (_unforetold_finding(row) for row in probe_rows(rehearsal.probe, Foresight.UNFORETOLD))
        if rehearsal.probe
        else ()
    )


def _failure(address: str, message: str) -> Diagnostic:
    return Diagnostic(severity=Severity.ERROR, code="RV103", name="rehearsal-failed", message=message, address=address)


def _unforetold_finding(row: ProbeRow) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code="RV104", name="effect-not-foretold", address=row.address,
        message=f"clients feel something that the plan does not foretell: {row.operation}: {row.before} → {row.after}",
        fix="judge this difference yourself before you apply, and report it: the plan should have foretold it",
    )  # fmt: skip


def _verdict_sentence(rehearsal: Rehearsal) -> str:
    if not rehearsal.is_fine:
        return "The rehearsal failed: the account would have the same trouble."
    if rehearsal.unrehearsed_addresses:
        return "Not rehearsed: the objects that the plan needs could not be recreated, as named above."
    if rehearsal.refused_addresses:
        return "Everything that was tried went well."
    if rehearsal.probe:
        return "The rehearsal went well."
    return "The rehearsal went well. --probe shows what clients will feel; the plan counts what happens to messages, and asks for consent."
