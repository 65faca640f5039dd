"""JUnit XML, which every CI shows: a test case per resource, and per finding in files.

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
from reconciler.report.document.blocks import block
from reconciler.report.document.document import Document, ReportedFinding, findings
from reconciler.report.document.entries import ChangeEntry, Section, section_of
from reconciler.report.document.headline import heading, totals
from reconciler.report.document.judgements import instead, sentence
from reconciler.report.markdown.gfm import shortened
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import inert, visible

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


def joined(documents: Sequence[Document]) -> str:
    """Join several reports, with a suite for each."""
    suites = [(one, _told_apart(sorted(_cases(one), key=lambda case: (case.group, case.name)))) for one in documents]
    every = [case for _, cases in suites for case in cases]
    root = Element("testsuites", {"name": f"reconciler {documents[0].command}", **_counts(every)})
    for document, cases in suites:
        _suite(document, cases, root)
    indent(root, "  ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(document: Document, cases: Sequence[Case], root: Element) -> None:
    suite = SubElement(root, "testsuite", {"name": _line(document.name or "files"), **_counts(cases)})
    properties = SubElement(suite, "properties")
    for name, value in (("target", heading(document)), ("summary", totals(document))):
        SubElement(properties, "property", {"name": name, "value": _line(value)})
    for case in cases:
        _write(case, suite)


def _told_apart(cases: Sequence[Case]) -> list[Case]:
    """Tell cases of one name apart, because viewers take them for one case."""
    seen: Counter[tuple[str, str]] = Counter()
    apart = []
    for case in cases:
        seen[case.group, case.name] += 1
        count = seen[case.group, case.name]
        apart.append(case if count == 1 else replace(case, name=f"{case.name} #{count}"))
    return apart


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    counted = {"tests": len(cases)}
    for word, verdict in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counted[word] = sum(case.verdict == verdict for case in cases)
    return {**{word: str(count) for word, count in counted.items()}, "time": "0"}


def _write(case: Case, suite: Element) -> None:
    place = {"file": _line(case.place.file), "line": str(case.place.line)} if case.place else {}
    said = {"name": _line(case.name), "classname": _line(case.group), "time": "0", **place}
    test = SubElement(suite, "testcase", said)
    if case.verdict:
        words = {"message": _line(case.message), **({"type": case.type} if case.type else {})}
        SubElement(test, case.verdict, words).text = _text(case.body)
    elif case.body:
        SubElement(test, "system-out").text = _text(case.body)


def _cases(document: Document) -> Iterator[Case]:
    """Make one case per resource, with everything found about it, and one for each finding about no resource."""
    about: dict[str, list[ReportedFinding]] = {}
    for one in findings(document):
        about.setdefault(one.address, []).append(one)
    resources = _declared(document)
    for change in document.changes:
        resources.pop(change.address, None)
        yield _of_change(change, about.pop(change.address, []), document)
    for address, place in resources.items():
        yield _of_resource(address, place, about.pop(address, []), document)
    for found in about.values():
        yield from (_of_finding(one, document) for one in found)


def _declared(document: Document) -> dict[str, SourceSpan | None]:
    """A declared resource without a change passes. A selection leaves out what nobody looked at."""
    if document.declared is None or (document.plan and document.plan.hidden):
        return {}
    return {str(one.address): document.place(one.where("")) for one in document.declared.resources}


def _group(document: Document, address: str) -> str:
    return f"{document.name}.{address.partition('/')[0]}"


def _of_resource(address: str, place: SourceSpan | None, found: Sequence[ReportedFinding], document: Document) -> Case:
    errors = [one for one in found if one.severity is Severity.ERROR]
    return Case(
        name=address,
        group=_group(document, address),
        place=errors[0].place if errors else place,
        verdict="failure" if errors else "",
        type=errors[0].code if errors else "",
        message="; ".join(map(_said, errors)),
        body="".join(map(_told, found)),
    )


def _of_change(change: PlannedChange, found: Sequence[ReportedFinding], document: Document) -> Case:
    section = section_of(change)
    body = "\n".join(block(ChangeEntry(section=section, changes=(change,)), _WIDE)) + "\n"
    errors = [one for one in found if one.severity is Severity.ERROR]
    verdict, message = "", ""
    if section is Section.UNKNOWN:
        verdict, message = "error", change.reason
    elif errors:
        verdict, message = "failure", "; ".join(_said(one) for one in errors)
    elif section is Section.WAITS:
        verdict, message = "skipped", f"waits for {change.blocked_by}"
    first = errors[0] if errors else None
    place = first.place if first else document.place(change.span)
    return Case(
        name=change.address, group=_group(document, change.address), place=place, verdict=verdict,
        type=first.code if first else "", message=message, body=body,
    )  # fmt: skip


def _of_finding(one: ReportedFinding, document: Document) -> Case:
    failed = one.severity is Severity.ERROR
    return Case(
        name=" ".join(filter(None, (one.code, one.name, one.address))),
        group=f"{document.name or 'files'}.{one.place.file if one.place else 'findings'}",
        place=one.place,
        verdict="failure" if failed else "",
        type=one.code,
        message=_said(one),
        body=_told(one),
    )


def _told(one: ReportedFinding) -> str:
    place = f"{one.place.file}:{one.place.line}:{one.place.column}: " if one.place else ""
    head = f"{place}{one.severity} {one.code} {one.name}: {sentence(one.message, one.path)}"
    return "\n".join([head, *instead(one.fix)]) + "\n"


def _said(one: ReportedFinding) -> str:
    return f"{one.code} {one.name}: {one.message}"


def _line(text: str) -> str:
    """Put a text on one line, for an attribute."""
    return _text(visible(text))


def _text(text: str) -> str:
    """Remove characters that XML cannot hold, and anything that a terminal would obey."""
    lines = (shortened(visible(line), 2_000) for line in inert(text).split("\n"))
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines))
