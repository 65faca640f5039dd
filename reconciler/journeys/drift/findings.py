"""Drift as findings, one for each field or object, for the formats that show findings at their lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reconciler.changes.change import FieldClass
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing
from reconciler.journeys.drift.text import field_sentence, item_sentence
from reconciler.model.code_pages import DRIFT
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan

_WHOLE = {Standing.MISSING: "DR203", Standing.RECREATED: "DR204", Standing.FOREIGN: "DR205", Standing.UNKNOWN: "DR207"}


def drift_findings(drift: Drift) -> tuple[Diagnostic, ...]:
    """Return a finding for all drift that is not ignored; a change that waits to be applied is none."""
    return (*drift.diagnostics, *(finding for item in drift.items for finding in _findings_of_item(item)))


def _findings_of_item(item: Item) -> Iterator[Diagnostic]:
    if item.standing in _WHOLE and not item.ignored:
        yield _finding(_WHOLE[item.standing], item, item_sentence(item), item.span)
    for field in item.fields:
        if field.is_drift:
            yield _finding(_code_of_field(field), item, field_sentence(field), field.span or item.span)


def _code_of_field(field: FieldDrift) -> str:
    return {FieldClass.DRIFTED: "DR201", FieldClass.BOTH: "DR202"}.get(field.change.field_class, "DR206")


def _finding(code: str, item: Item, message: str, span: SourceSpan | None) -> Diagnostic:
    page = DRIFT[code]
    diagnostic = Diagnostic(severity=Severity.ERROR, code=code, name=page.name, message=message, address=item.address)
    return replace(diagnostic, span=span, fix=page.instead)
