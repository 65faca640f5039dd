"""Reports as JSON text: values are raw, and an absent value is a missing key. `shape` makes the data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic_core import PydanticSerializationError, to_json

from reconciler.changes.plan import FORMAT, Plan
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.shape import ALWAYS, Like, format_of
from reconciler.report.codec.schema import bundled_schema, published_schema
from reconciler.report.codec.shape import data_of
from reconciler.report.document.document import Document

Data = Mapping[str, Any]

# JSON allows these raw, but a terminal obeys or hides them, and a GitHub runner obeys `##[` anywhere in a line.
_ESCAPED = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]|(?<=##)\\["
)


CONTRACTS = ("plan", "drift", "apply", "findings")
"""The contracts that a report about one topology may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsReport:
    """A report without a plan, drift or outcome: a check of files, or a command that could not work."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    command: str
    """The command that made this document, such as `plan` or `groups list`."""
    topology: str = ""
    """The topology in question, where the files could be read that far."""
    environment: str = ""
    """The environment that the files were read for."""
    diagnostics: tuple[Diagnostic, ...]
    """What was found, in reading order."""


def render(document: Document) -> str:
    """Render the data of a report or its plan by its contract, or findings in files, or the reason why a command could not
    work (`findings.schema.json`)."""
    if document.data is not None:
        return json_of(document.data)
    if document.plan is not None:
        return plan_json(document.plan)
    diagnostics = tuple(document.diagnostics)
    return json_of(
        FindingsReport(
            command=document.command,
            topology=document.topology,
            environment=document.environment,
            diagnostics=diagnostics,
        )
    )


def render_all(documents: Sequence[Document]) -> str:
    """Join reports, each by its own contract, in a list."""
    return json_list([*map(render, documents)])


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralReports:
    """The report of a command about several topologies."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    reports: Annotated[
        tuple[Any, ...], Like(items={"anyOf": [{"$ref": f"{name}.schema.json"} for name in CONTRACTS]}, minItems=1)
    ]
    """One document for each topology, in the order in which they were worked on."""


def json_list(texts: Sequence[str]) -> str:
    """Join the reports of one command about several topologies (`reports.schema.json`)."""
    return json_of(SeveralReports(reports=tuple(map(json.loads, texts))))


def plan_json(plan: Plan) -> str:
    """Return the plan as text; equal plans give equal bytes."""
    return json_text(plan_data(plan))


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return the plan in the shape of `plan.schema.json`, with changes sorted by address and steps in the plan's
    order."""
    return data_of(replace(plan, changes=tuple(sorted(plan.changes, key=lambda change: change.address))))


def json_of(value: Any) -> str:
    """Return a value whose type is a published contract as text."""
    return json_text(data_of(value))


def json_text(data: Data) -> str:
    """Write raw values as text, without anything that a terminal or a runner would obey."""
    return _with_escapes(_indented_json(data)) + "\n"


def _indented_json(data: Data) -> str:
    """Python's own encoder takes eight times as long where it indents, so it has only what needs it: numbers that JSON lacks,
    which it refuses, and half a surrogate pair, which is no UTF-8."""
    try:
        text = to_json(data, indent=2)
    except PydanticSerializationError:
        text = _LACKING[0]
    if any(number in text for number in _LACKING):
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return text.decode()


_LACKING = (b"NaN", b"Infinity")


def json_line(data: Data) -> str:
    """Write the same on one line, for streams of reports."""
    return _with_escapes(json.dumps(data, ensure_ascii=False, allow_nan=False)) + "\n"


def compact_json(data: Data) -> str:
    """Write data for ourselves to read."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _with_escapes(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def findings_schema() -> str:
    """Return the text of `findings.schema.json`."""
    description = "What `validate` found, or why another command could not work; the exit code is then 1, 64 or 130."
    return published_schema("reconciler findings", description, FindingsReport)


def reports_schema(schemas: Mapping[str, Callable[[], str]]) -> str:
    """Return the text of `reports.schema.json`: a report about each of several topologies, by one of these schemas."""
    description = (
        "The report of a command about several topologies: a document for each, by the contract that it has alone."
    )
    whole = published_schema("reconciler reports", description, SeveralReports)
    return bundled_schema(whole, {name: schemas[name]() for name in CONTRACTS})
