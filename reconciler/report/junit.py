"""JUnit XML, which every CI shows: a test case per resource, per case of a policy, and per finding in files.

A case fails where something is refused or lacks consent, is an error where the live state is unknown, is skipped where
it waits for another, and passes otherwise. Names stay the same from one run to the next, so that viewers can follow
them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reconciler.changes.plan import PlannedChange
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Severity, SourceSpan
from reconciler.report.document.document import Document, ReportedCase, ReportedFinding, findings
from reconciler.report.document.entries import ChangeEntry, Section, section_of
from reconciler.report.document.entry_lines import entry_lines
from reconciler.report.document.headline import heading, totals_line
from reconciler.report.markdown.gfm import shortened
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import inert, visible
from reconciler.report.words.ways_out import sentence, way_out_lines

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_WIDE = Paper(width=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    group: str
    place: SourceSpan | None = None
    verdict: str = ""
    """`failure`, `error`, `skipped`, or empty: it passed."""
    type: str = ""
    message: str = ""
    body: str = ""


def render_all(documents: Sequence[Document]) -> str:
    """Join several reports, with a suite for each."""
    suites = [
        (document, _with_unique_names(sorted(_cases(document), key=lambda case: (case.group, case.name))))
        for document in documents
    ]
    every = [case for _, cases in suites for case in cases]
    root = Element("testsuites", {"name": f"reconciler {documents[0].command}", **_counts(every)})
    for document, cases in suites:
        _write_suite(document, cases, root)
    indent(root, "  ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _write_suite(document: Document, cases: Sequence[Case], root: Element) -> None:
    suite = SubElement(root, "testsuite", {"name": _one_line(document.name or "files"), **_counts(cases)})
    properties = SubElement(suite, "properties")
    for name, value in (("target", heading(document)), ("summary", totals_line(document))):
        SubElement(properties, "property", {"name": name, "value": _one_line(value)})
    for case in cases:
        _write_case(case, suite)


def _with_unique_names(cases: Sequence[Case]) -> list[Case]:
    """Tell cases of one name apart, because viewers take them for one case."""
    counts_by_name: Counter[tuple[str, str]] = Counter()
    apart = []
    for case in cases:
        counts_by_name[case.group, case.name] += 1
        count = counts_by_name[case.group, case.name]
        apart.append(case if count == 1 else replace(case, name=f"{case.name} #{count}"))
    return apart


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    counted = {"tests": len(cases)}
    for word, verdict in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counted[word] = sum(case.verdict == verdict for case in cases)
    return {**{word: str(count) for word, count in counted.items()}, "time": "0"}


def _write_case(case: Case, suite: Element) -> None:
    place = {"file": _one_line(case.place.file), "line": str(case.place.line)} if case.place else {}
    attributes = {"name": _one_line(case.name), "classname": _one_line(case.group), "time": "0", **place}
    test = SubElement(suite, "testcase", attributes)
    if case.verdict:
        words = {"message": _one_line(case.message), **({"type": case.type} if case.type else {})}
        SubElement(test, case.verdict, words).text = _xml_text(case.body)
    elif case.body:
        SubElement(test, "system-out").text = _xml_text(case.body)


def _cases(document: Document) -> Iterator[Case]:
    """Make one case per resource and per check, with everything found about it, and one for each other finding."""
    by_address: dict[str, list[ReportedFinding]] = {}
    places = {document.place(check.span) for check in document.checks}
    about_checks = [finding for finding in findings(document) if finding.place in places]
    for check in document.checks:
        yield _check_case(
            check, [finding for finding in about_checks if finding.place == document.place(check.span)], document
        )
    for finding in findings(document):
        if finding not in about_checks:
            by_address.setdefault(finding.address, []).append(finding)
    resources = _declared_places(document)
    for change in document.changes:
        resources.pop(change.address, None)
        yield _change_case(change, by_address.pop(change.address, []), document)
    for address, place in resources.items():
        yield _resource_case(address, place, by_address.pop(address, []), document)
    for remaining in by_address.values():
        yield from (_finding_case(finding, document) for finding in remaining)


def _declared_places(document: Document) -> dict[str, SourceSpan | None]:
    """A declared resource without a change passes. A selection leaves out what nobody looked at."""
    if document.declared is None or (document.plan and document.plan.hidden):
        return {}
    return {str(resource.address): document.place(resource.where("")) for resource in document.declared.resources}


def _classname(document: Document, address: str) -> str:
    return f"{document.name}.{address.partition('/')[0]}"


def _resource_case(
    address: str, place: SourceSpan | None, about_it: Sequence[ReportedFinding], document: Document
) -> Case:
    return _judged_case(address, _classname(document, address), place, about_it)


def _check_case(check: ReportedCase, about_it: Sequence[ReportedFinding], document: Document) -> Case:
    place = document.place(check.span)
    return _judged_case(check.name, f"{document.name or 'files'}.{place.file if place else 'checks'}", place, about_it)


def _judged_case(name: str, group: str, place: SourceSpan | None, about_it: Sequence[ReportedFinding]) -> Case:
    errors = [finding for finding in about_it if finding.severity is Severity.ERROR]
    return Case(
        name=name,
        group=group,
        place=errors[0].place if errors else place,
        verdict="failure" if errors else "",
        type=errors[0].code if errors else "",
        message="; ".join(map(_message_of, errors)),
        body="".join(map(_body_of, about_it)),
    )


def _change_case(change: PlannedChange, about_it: Sequence[ReportedFinding], document: Document) -> Case:
    section = section_of(change)
    body = "\n".join(entry_lines(ChangeEntry(section=section, changes=(change,)), _WIDE)) + "\n"
    errors = [finding for finding in about_it if finding.severity is Severity.ERROR]
    verdict, message = "", ""
    if section is Section.UNKNOWN:
        verdict, message = "error", change.reason
    elif errors:
        verdict, message = "failure", "; ".join(_message_of(finding) for finding in errors)
    elif section is Section.WAITS:
        verdict, message = "skipped", f"waits for {change.blocked_by}"
    first = errors[0] if errors else None
    place = first.place if first else document.place(change.span)
    return Case(
        name=change.address, group=_classname(document, change.address), place=place, verdict=verdict,
        type=first.code if first else "", message=message, body=body,
    )  # fmt: skip


def _finding_case(finding: ReportedFinding, document: Document) -> Case:
    failed = finding.severity is Severity.ERROR
    return Case(
        name=" ".join(filter(None, (finding.code, finding.name, finding.address))),
        group=f"{document.name or 'files'}.{finding.place.file if finding.place else 'findings'}",
        place=finding.place,
        verdict="failure" if failed else "",
        type=finding.code,
        message=_message_of(finding),
        body=_body_of(finding),
    )


def _body_of(finding: ReportedFinding) -> str:
    place = f"{finding.place.file}:{finding.place.line}:{finding.place.column}: " if finding.place else ""
    head = f"{place}{finding.severity} {finding.code} {finding.name}: {sentence(finding.message, finding.path)}"
    return "\n".join([head, *way_out_lines(finding.fix)]) + "\n"


def _message_of(finding: ReportedFinding) -> str:
    return f"{finding.code} {finding.name}: {finding.message}"


def _one_line(text: str) -> str:
    """Put a text on one line, for an attribute."""
    return _xml_text(visible(text))


def _xml_text(text: str) -> str:
    """Remove characters that XML cannot hold, and anything that a terminal would obey."""
    lines = (shortened(visible(line), 2_000) for line in inert(text).split("\n"))
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines))
