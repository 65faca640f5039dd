"""Findings over all targets that are no verdicts: equal ones are shown once, with the targets that have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reconciler.fleet.formats.elements import Prose, ReportPart
from reconciler.fleet.report.drift import MOST, on_targets_text
from reconciler.fleet.report.run_rows import TargetFinding
from reconciler.model.diagnostic import Severity

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
