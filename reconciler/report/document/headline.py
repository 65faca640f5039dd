"""The first and the last lines of a plan: the account, the sums, and what to run next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from reconciler.changes.plan import Plan
from reconciler.model.wire.snapshot import Target
from reconciler.report.document.document import Document
from reconciler.report.document.entries import Section, section_of
from reconciler.report.document.judgements import shared_consents
from reconciler.report.words.commands import CommandLines, plan_commands
from reconciler.report.words.diagnostics import count_line
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted, show_seconds
from reconciler.report.words.visible import lines_visible, visible

_STOPS = (
    ("refused", Section.REFUSED),
    ("needs consent", Section.CONSENT),
    ("unknown", Section.UNKNOWN),
    ("waiting", Section.WAITS),
)
_CHANGES = (
    ("create", Section.CREATE),
    ("change", Section.UPDATE),
    ("replacement", Section.REPLACE),
    ("delete", Section.DELETE),
)
_KEPT = (
    ("adopted", Section.ADOPT),
    ("recorded", Section.RECORD),
    ("orphaned", Section.ORPHAN),
    ("forgotten", Section.FORGET),
)
_APPLICABLE = {Section.CREATE, Section.UPDATE, Section.REPLACE, Section.DELETE}


def topology_and_account(topology: str, target: Target) -> str:
    """Return `orders → account ORDERS at prod-eu (nats-server 2.12.8, 3 nodes)`."""
    name = target.account_name or target.account
    account = f"account {visible(name)}" if name else "its account"
    cluster = f" at {visible(target.cluster)}" if target.cluster else ""
    domain = f", domain {visible(target.domain)}" if target.domain else ""
    nodes = f", {counted(target.peers, 'node')}" if target.peers and target.peers > 1 else ""
    return f"{visible(topology)} → {account}{cluster}{domain} (nats-server {target.version}{nodes})"


def what_was_read_text(read: Mapping[str, int], seconds: float | None, after: str | None = None) -> str:
    """Return `42 streams, 118 consumers, 7 groups read in 0.4 s`; similar kinds (`static_group`) are counted together.
    What is there only `after` another topology was applied nobody has read."""
    sorts: Counter[str] = Counter()
    for kind, count in read.items():
        sorts[kind.replace(" ", "_").split("_")[-1].removesuffix("s")] += count
    counts = ", ".join(counted(count, sort) for sort, count in sorts.items() if count) or "empty account"
    if after:
        return f"{counts} once {visible(after)} is applied"
    return f"{counts} read" + (f" in {show_seconds(seconds)}" if seconds is not None else "")


def headline(document: Document) -> list[str]:
    """Return the account of a plan and, at the right edge, what was read; two lines where both do not fit on one."""
    plan = document.plan
    right = what_was_read_text(plan.read, document.seconds, plan.after) if plan and plan.read else ""
    return document.paper.heading_lines(heading(document), right)


def sums_line(plan: Plan, paper: Paper) -> str:
    """Return `1 refused, 1 needs consent · 1 create, 1 change · 163 unchanged`."""
    counts = Counter(section_of(change) for change in plan.changes)
    stops = [f"{counts[section]:_} {word}" for word, section in _STOPS if counts[section]]
    untouched = [*_record_count_texts(counts), f"{plan.summary['keep']:_} unchanged"]
    parts = (
        paper.paint(", ".join(stops), "refused") if stops else "",
        ", ".join(_change_count_texts(counts)),
        ", ".join(untouched),
    )
    return " · ".join(filter(None, parts))


def count_texts(counts: Mapping[Section, int]) -> list[str]:
    """Return `3 creates`, `1 change`, `12 adopted`: what is neither stopped nor as declared already."""
    return [*_change_count_texts(counts), *_record_count_texts(counts)]


def _change_count_texts(counts: Mapping[Section, int]) -> list[str]:
    return [counted(counts[section], word) for word, section in _CHANGES if counts[section]]


def _record_count_texts(counts: Mapping[Section, int]) -> list[str]:
    return [f"{counts[section]:_} {word}" for word, section in _KEPT if counts[section]]


AS_READ = "Counted when the account was read; clients may have changed that since."


_OF_CLIENTS = re.compile(
    r"\d\S*( \w+){0,2} (messages?|pulls?|pull requests?)\b| in flight|not yet (acknowledged|delivered)"
    r"|\d\S* of (those|them)\b|(\d|shows) now\)"
)


def moment_note(plan: Plan | None) -> list[str]:
    """Say of which moment the numbers are, if the plan counts in an account what publishers and readers change."""
    changes = plan.changes if plan and plan.read else ()
    messages = [verdict.message for change in changes for verdict in change.verdicts]
    messages += [consequence.message for change in changes for consequence in change.consequences]
    return [AS_READ] if any(map(_OF_CLIENTS.search, messages)) else []


def next_line(plan: Plan, commands: CommandLines) -> str:
    """Say what to do now."""
    sections = {section_of(change) for change in plan.changes}
    apply, rest = commands.go, commands.rest
    editing = f"\n{commands.editing}\n" if commands.editing else " "
    edited = f"{editing}After editing: {commands.edited}"
    if Section.REFUSED in sections:
        others = f"\nTo apply what does not depend on it: {rest}" if rest and sections & _APPLICABLE else ""
        return f"Nothing can be applied while something is refused.{edited}{others}{_shared_consent_lines(plan)}"
    if Section.CONSENT in sections:
        return f"Nothing can be applied until the missing consent is given.{edited}{_shared_consent_lines(plan)}"
    if Section.UNKNOWN in sections or any(diagnostic.is_error for diagnostic in plan.diagnostics):
        others = f". To apply what does not depend on it: {rest}" if rest else f". To look again later: {commands.look}"
        return f"Nothing can be applied while something is unknown{others}"
    if not plan.is_empty:
        stuck = Section.WAITS in sections and not sections & _APPLICABLE
        return (
            f"Every change depends on one that is not selected. After selecting it: {commands.edited}"
            if stuck
            else f"Next: {apply}"
        )
    if sections & {Section.ADOPT, Section.RECORD, Section.FORGET}:
        return f"No object changes. To update the records: {apply}"
    return "Nothing to apply."


def _shared_consent_lines(plan: Plan) -> str:
    """Show the consent that several changes lack as one line for the top level of the files."""
    return "".join(
        f"\nConsent to {code} for {whom}, at the top level of the files:\n  {entry}"
        for code, whom, entry in shared_consents(plan.changes)
    )


_TYPED = re.compile(r"reconciler |allow: \[")


def split_command(line: str) -> tuple[str, str]:
    """Split a line into its words and the command or entry to type."""
    match = _TYPED.search(line)
    return (line[: match.start()], line[match.start() :]) if match else (line, "")


def heading(document: Document) -> str:
    """Return the account and topology in one line."""
    if document.title:
        return visible(document.title)
    if document.plan:
        return topology_and_account(document.name, document.plan.target)
    if document.topology or not document.diagnostics:
        return visible(document.name) or "files"
    in_files = any(diagnostic.span and not diagnostic.is_about_connection for diagnostic in document.diagnostics)
    return "the files cannot be read" if in_files else "stopped before it began"


def totals_line(document: Document) -> str:
    """Return one line of sums."""
    if document.plan:
        hidden = f" · {counted(document.plan.hidden, 'change')} left out of this run" if document.plan.hidden else ""
        return sums_line(document.plan, Paper()) + hidden
    counts = count_line(document.diagnostics)
    return " · ".join(filter(None, (counts, visible(document.summary.strip())))) or "nothing found"


def what_next(document: Document) -> str:
    """Say what to do now; empty where that is obvious."""
    if document.closing is not None:
        return lines_visible(document.closing)
    if document.plan is None or document.goes_on:
        return ""
    return next_line(document.plan, document.commands or plan_commands(document.arguments, document.applying))
