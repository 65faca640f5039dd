"""Plans of many targets: one line for each target, and equal changes shown once with the targets that have them.

Findings over all targets that are no verdicts: equal ones are shown once, with the targets that have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Annotated

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.fleet.report.drift import MOST, all_names, few_names, on_targets_text
from reconciler.fleet.report.run_rows import TargetFinding
from reconciler.fleet.report.targets import sentences_with_reasons
from reconciler.fleet.tables.rows import TargetLabels, TargetName
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.fields import info_at
from reconciler.model.shape import ALWAYS, UNWRITTEN
from reconciler.report.codec.shape import data_of
from reconciler.report.document.change_details import entry_fold
from reconciler.report.document.document import Document
from reconciler.report.document.entries import ChangeEntry, Section, section_of
from reconciler.report.document.pieces import Cell, Fold, Folds, Grid, Prose, ReportPart, Tone, cells
from reconciler.report.words.values import counted, show_seconds, show_side

_MOST = 300
_VALUES = 20
"""How many values of what is created differently are shown."""
WAITING = "waiting"
"""What depends on something that is refused or unknown; most fleets have none."""
_Counts = tuple[tuple[str, tuple[Section, ...], Tone], ...]
_COUNTS: _Counts = (
    ("refused", (Section.REFUSED,), "bad"), ("needs consent", (Section.CONSENT,), "warn"),
    ("unknown", (Section.UNKNOWN,), "odd"), (WAITING, (Section.WAITS,), "odd"), ("create", (Section.CREATE,), ""),
    ("change", (Section.UPDATE, Section.REPLACE), ""), ("delete", (Section.DELETE,), ""),
)  # fmt: skip
_STOPS = (Section.REFUSED, Section.CONSENT, Section.UNKNOWN, Section.WAITS)
_QUIET = (Section.KEEP, Section.ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPlan:
    """What would be done to one target, or why that is unknown."""

    target: TargetName
    labels: Annotated[TargetLabels, ALWAYS] = field(default_factory=dict)
    plan: Plan | None = None
    """Its plan, as `plan --format json` prints it."""
    problems: tuple[Diagnostic, ...] = ()
    """Why there is no plan, or what else is wrong."""
    seconds: Annotated[float, UNWRITTEN] = 0.0

    @property
    def error(self) -> str:
        """Return the first reason why there is no plan, with its place and how many more there are; empty where there
        is a plan."""
        if self.plan is not None:
            return ""
        first, *rest = self.problems
        place = f"{first.span} " if first.span else ""
        return f"{place}{first.message}{f' (and {len(rest)} more)' if rest else ''}"


def plans_report(fleet: str, plans: Sequence[TargetPlan], seconds: float, following: Sequence[str] = ()) -> Document:
    """Return a table of targets, and below it their changes, equal ones together; `seconds` is the total time."""
    changes = _equal_changes(plans)
    errors = [(planned.target, planned.error) for planned in plans if planned.error]
    failed = tuple(sentences_with_reasons(errors, ("has no plan", "have no plan"), _MOST))
    grid = _targets_grid(plans)
    parts = [ReportPart(title="", pieces=(grid, Prose(lines=failed)) if failed else (grid,))]
    parts += findings_part(
        TargetFinding.of(planned.target, diagnostic)
        for planned in plans
        if planned.plan
        for diagnostic in planned.plan.diagnostics
    )
    if changes:
        folds = tuple(_fold(*group) for group in changes[:_MOST])
        lead = "Equal changes are one entry, however many targets they are for."
        parts.append(
            ReportPart(title="Changes", lead=lead, pieces=(Folds(folds=folds, left_out=max(0, len(changes) - _MOST)),))
        )
    return Document(
        command="fleet plan", topology=fleet, title=f"{fleet}: {counted(len(plans), 'target')}", summary=_totals_line(plans),
        about=f"in {show_seconds(seconds)}", parts=tuple(parts), closing="\n".join(following),
    )  # fmt: skip


def _totals_line(plans: Sequence[TargetPlan]) -> str:
    made_plans = [section.plan for section in plans if section.plan]
    counts = Counter(section_of(change) for plan in made_plans for change in plan.changes)
    counts_in_words = [
        f"{sum(counts[section] for section in sections):_} {word}"
        for word, sections, _ in _COUNTS
        if any(counts[section] for section in sections)
    ]
    empty = sum(plan.is_empty and not _is_stopped(plan) for plan in made_plans)
    failed = len(plans) - len(made_plans)
    parts = [", ".join(counts_in_words), f"{counted(empty, 'target')} without changes" if empty else ""]
    return " · ".join(filter(None, [*parts, f"{counted(failed, 'target')} without a plan" if failed else ""]))


def _targets_grid(plans: Sequence[TargetPlan]) -> Grid:
    waits = any(section_of(change) is Section.WAITS for one in plans if one.plan for change in one.plan.changes)
    counts = tuple(count for count in _COUNTS if waits or count[0] != WAITING)
    head = ("target", "server", *(word for word, _, _ in counts), "unchanged", "in")
    rows = tuple(_target_row(planned, counts) for planned in sorted(plans, key=_trouble_key))
    return Grid(head=head, rows=rows, right=frozenset(range(2, len(head))))


def _is_stopped(plan: Plan) -> bool:
    return any(section_of(change) in _STOPS for change in plan.changes)


def _trouble_key(planned: TargetPlan) -> tuple[object, ...]:
    return (
        planned.plan is not None,
        planned.plan is not None and not _is_stopped(planned.plan),
        planned.plan is not None and planned.plan.is_empty,
        planned.target,
    )


def _target_row(planned: TargetPlan, columns: _Counts) -> tuple[Cell, ...]:
    took = Cell(text=show_seconds(planned.seconds), tone="quiet")
    if planned.plan is None:
        return (
            Cell(text=planned.target),
            Cell(text="no plan", tone="odd"),
            *([Cell(text="")] * (len(columns) + 1)),
            took,
        )
    counts = Counter(map(section_of, planned.plan.changes))
    numbers = [_count_cell(sum(counts[section] for section in sections), tone) for _, sections, tone in columns]
    return (
        *cells(planned.target, str(planned.plan.target.version)),
        *numbers,
        Cell(text=f"{planned.plan.summary['keep']:_}"),
        took,
    )


def _count_cell(number: int, tone: Tone) -> Cell:
    return Cell(text=f"{number:_}", tone=tone) if number else Cell(text="·", tone="quiet")


Targets = dict[str, PlannedChange]
"""What is planned for each of these targets."""
Group = tuple[Section, Targets]


def _equal_changes(plans: Sequence[TargetPlan]) -> list[Group]:
    """What stops comes first, then what most targets have."""
    groups: dict[object, Group] = {}
    for planned in plans:
        for change in planned.plan.changes if planned.plan else ():
            section = section_of(change)
            if section not in _QUIET:
                groups.setdefault(_grouping_key(section, change), (section, {}))[1][planned.target] = change
    return sorted(groups.values(), key=lambda group: (group[0], -len(group[1]), _first(group[1]).address))


def _first(targets: Targets) -> PlannedChange:
    return next(iter(targets.values()))


_TOLD = ("address", "span", "fields", "reason", "verdicts", "consequences")
"""All that an entry shows of a change. What it creates may differ: the entry says how."""


def _grouping_key(section: Section, change: PlannedChange) -> object:
    data = data_of(change)
    return section, repr({name: data.get(name) for name in _TOLD})


def _fold(section: Section, targets: Targets) -> Fold:
    fold, differing = entry_fold(ChangeEntry(section=section, changes=(_first(targets),))), _differing_values(targets)
    about = " ".join(filter(None, (fold.about or ("differently" if differing else ""), on_targets_text([*targets]))))
    pieces = (*([differing] if differing else ()), *fold.pieces, *all_names([*targets]))
    return replace(fold, about=about, addresses=(), pieces=pieces)


def _differing_values(targets: Targets) -> Grid | None:
    """Return the fields that are not equal in what is created, with each value and its targets."""
    kind = REGISTRY.by_name[_first(targets).address.partition("/")[0]]
    created = {
        target: change.record.applied
        for target, change in targets.items()
        if change.action is Action.CREATE and change.record
    }
    rows = []
    for name in sorted({name for config in created.values() for name in config}):
        holders: dict[str, list[str]] = {}
        for target, config in created.items():
            holders.setdefault(show_side(config.get(name), info_at(kind.fields, name)), []).append(target)
        if len(holders) > 1:
            rows += [
                cells(Cell(text=name, is_code=True), Cell(text=value, is_code=True), few_names(names))
                for value, names in sorted(holders.items(), key=lambda holder: -len(holder[1]))
            ]
    return (
        Grid(head=("field", "created as", "targets"), rows=tuple(rows[:_VALUES]), left_out=max(0, len(rows) - _VALUES))
        if rows
        else None
    )


_ORDER = [*Severity]


def findings_part(findings: Iterable[TargetFinding]) -> Iterator[ReportPart]:
    """Yield the part about them, where there are any: errors first, then what most targets have."""
    groups: dict[TargetFinding, list[str]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, target=""), []).append(finding.target)
    worst = sorted(groups.items(), key=lambda group: (_ORDER.index(group[0].severity), -len(group[1]), group[0].code))
    lines = [_line(finding, [*dict.fromkeys(targets)]) for finding, targets in worst[:MOST]]
    if len(worst) > MOST:
        lines.append(f"and {len(worst) - MOST:_} more")
    if lines:
        yield ReportPart(title="Findings", pieces=(Prose(lines=tuple(lines), is_list=True),))


def _line(finding: TargetFinding, targets: Sequence[str]) -> str:
    """`shop.yaml:7 warning DR102 stream/ORDERS on eu-1, eu-2: what is wrong. Instead: what to do`"""
    head = " ".join(filter(None, (finding.place, finding.severity, finding.code, finding.address)))
    fix = f" Instead: {finding.fix}" if finding.fix else ""
    return f"{head} {on_targets_text(targets)}: {finding.message.removesuffix('.')}.{fix}"
