"""SARIF 2.1.0, which code scanning reads: a result per finding, also where several environments have it, and a rule per
code with its page as help.

A fingerprint depends on what a finding is about, never on its place or its numbers, so that one alert stays one alert
while lines move. Paths count from the root of the repository (`%SRCROOT%`), columns in characters.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from reconciler.model.code_pages import rule_url
from reconciler.model.diagnostic import Severity, SourceSpan
from reconciler.model.policy import is_policy
from reconciler.report.codec.json import json_text
from reconciler.report.document.document import Document, ReportedFinding, findings
from reconciler.report.document.headline import heading
from reconciler.report.words.visible import visible
from reconciler.report.words.ways_out import sentence, way_out_lines

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_ROOT = "%SRCROOT%"
_FIRST_SENTENCE = 200
"""The most characters of a page that viewers show in a list."""

Data = dict[str, Any]


def render_all(documents: Sequence[Document]) -> str:
    """Join several reports, with a run for each topology: what holds in several environments is one result."""
    by_topology = dict[Hashable, list[Document]]()
    for document in documents:
        by_topology.setdefault((document.command, _topology(document)), []).append(document)
    runs = [_run(environments) for environments in by_topology.values()]
    return json_text({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": runs})


def _run(environments: Sequence[Document]) -> Data:
    """Return the run of a topology, in all its environments that were reported."""
    first, reported = environments[0], _findings_by_environment(environments)
    codes = {finding.code: finding for finding, _ in reversed(reported)}
    rules = sorted(codes)
    name = first.name if len(environments) == 1 else _topology(first)
    return {
        "tool": {
            "driver": {
                "name": "reconciler",
                "semanticVersion": first.version,
                "rules": [_rule(codes[code], first) for code in rules],
            }
        },
        "automationDetails": {
            "id": f"reconciler/{quote(visible(name), safe='')}/",
            "description": {
                "text": f"reconciler {first.command}: {'; '.join(dict.fromkeys(map(heading, environments)))}"
            },
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": _results(reported, rules, first.fallback_place()),
    }


def _topology(document: Document) -> str:
    return document.plan.topology if document.plan else document.topology


def _findings_by_environment(documents: Sequence[Document]) -> list[tuple[ReportedFinding, list[str]]]:
    """Return each finding once, as the worst environment has it, with the environments that have it, where there are
    several."""
    found = dict[Hashable, dict[int, ReportedFinding]]()
    for number, document in enumerate(documents):
        times = Counter[Hashable]()
        for finding in findings(document):
            about = (finding.code, finding.place, finding.address, finding.path, finding.consented)
            times[about] += 1
            found.setdefault((about, times[about]), {})[number] = finding
    names = [document.environment if documents[1:] else "" for document in documents]
    return [(_worst(each.values()), [names[number] for number in each if names[number]]) for each in found.values()]


def _worst(each: Iterable[ReportedFinding]) -> ReportedFinding:
    return min(each, key=lambda finding: [*Severity].index(finding.severity))


def _rule(finding: ReportedFinding, document: Document) -> Data:
    page = document.explain(finding.code) or sentence(finding.name.replace("-", " "))
    paragraphs = [" ".join(paragraph.split()) for paragraph in page.split("\n\n")]
    where = {} if is_policy(finding.code) else {"helpUri": rule_url(finding.code)}
    return {
        "id": finding.code,
        "name": _pascal_case(finding.name),
        "shortDescription": {"text": _cut_sentence(paragraphs[0])},
        "fullDescription": {"text": paragraphs[0]},
        **where,
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": {"tags": ["nats", "jetstream", finding.name], "precision": "very-high"},
    }


def _pascal_case(name: str) -> str:
    """Turn `limit-lowered` into `LimitLowered`, as SARIF wants names."""
    return "".join(word.capitalize() for word in name.split("-"))


def _cut_sentence(text: str) -> str:
    return text if len(text) <= _FIRST_SENTENCE else text[: _FIRST_SENTENCE - 1] + "…"


def _results(
    reported: Iterable[tuple[ReportedFinding, Sequence[str]]], rules: Sequence[str], fallback: SourceSpan
) -> list[Data]:
    prints: Counter[str] = Counter()
    results = []
    for finding, environments in reported:
        print_ = _fingerprint(finding)
        prints[print_] += 1
        location = _location(finding, finding.place or fallback)
        results.append(
            _result(finding, environments, rules.index(finding.code), location, f"{print_}:{prints[print_]}")
        )
    return results


def _result(
    finding: ReportedFinding, environments: Sequence[str], index: int, location: Data, fingerprint: str
) -> Data:
    result: Data = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding, environments)},
        "locations": [location],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }
    if finding.consented is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": visible(finding.consented)}]
    return result


def _message(finding: ReportedFinding, environments: Sequence[str]) -> str:
    address = f"{finding.address}: " if finding.address else ""
    where = [f"In {', '.join(environments)}."] if environments else []
    lines = [address + sentence(finding.message, finding.path), *where, *way_out_lines(finding.fix)]
    return "\n".join(visible(line) for line in lines)


def _location(finding: ReportedFinding, place: SourceSpan) -> Data:
    """Return a location in any case: GitHub refuses a file in which one result has no place."""
    location: Data = {"physicalLocation": {"artifactLocation": _artifact(place.file), "region": _region(place)}}
    if finding.address:
        name = visible(finding.address)
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "resource"}]
    return location


def _artifact(file: str) -> Data:
    """Return a path; one outside the repository is absolute, and has no base."""
    file = visible(file)
    if file.startswith("/"):
        return {"uri": f"file://{quote(file)}"}
    return {"uri": quote(file), "uriBaseId": _ROOT}


def _region(span: SourceSpan) -> Data:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fingerprint(finding: ReportedFinding) -> str:
    """Return the fingerprint. Messages contain numbers that change by themselves, so they count only for findings
    without an address."""
    file = finding.place.file if finding.place else ""
    identity = (
        [finding.code, finding.address, finding.path] if finding.address else [finding.code, file, finding.message]
    )
    text = json.dumps(identity, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
