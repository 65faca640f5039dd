"""Drift as findings, one for each field or object, for the formats that show findings at their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reconciler.changes.change import FieldClass
from reconciler.journeys.drift.drift import FieldDrift, Item, Standing
from reconciler.journeys.drift.words import field_sentence, item_sentence
from reconciler.model.code_pages import DRIFT
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan

_WHOLE = {Standing.MISSING: "DR203", Standing.RECREATED: "DR204", Standing.FOREIGN: "DR205", Standing.UNKNOWN: "DR207"}

BY_HAND = {
    "DR201": "`drift restore` puts it back; to keep it, edit the files by hand",
    "DR206": "apply, or edit the files by hand",
}
"""What to do where `drift accept` writes nothing, since the files hold for other environments or values too."""


def findings_of_item(item: Item, *, is_shared: bool) -> Iterator[Diagnostic]:
    """Yield a finding for the object as a whole, and for each of its fields that drifted, unless that is ignored; a change
    that waits to be applied is none. Files that are `is_shared` hold for other environments or values too."""
    if item.standing in _WHOLE and not item.ignored:
        code = _WHOLE[item.standing]
        yield _finding(code, item, item_sentence(item), item.span, _way_out(item, code))
    for field in item.fields:
        if field.is_drift:
            code = _code_of_field(field)
            fix = _way_out_of_field(item, field, code, is_shared=is_shared)
            yield _finding(code, item, field_sentence(field), field.span or item.span, fix)


def _code_of_field(field: FieldDrift) -> str:
    return {FieldClass.DRIFTED: "DR201", FieldClass.BOTH: "DR202"}.get(field.change.field_class, "DR206")


def _way_out(item: Item, code: str) -> str:
    if item.standing is not Standing.MISSING:
        return DRIFT[code].instead
    if not item.is_ours:
        return "ask its owner to recreate it, or take it out of the files"
    back = "`drift restore` recreates it" if item.owned else "apply creates it"
    give_up = "write it into `removed`" if item.owned else "take it out of the files"
    return f"{f'nothing puts it back{_codes_text(item.refusals)}' if item.refusals else back}; to give it up, {give_up}"


def _way_out_of_field(item: Item, field: FieldDrift, code: str, *, is_shared: bool) -> str:
    if not item.is_ours:
        return "ask its owner, or correct what the file says"
    if field.is_stuck or (item.refusals and not item.stuck):
        then = "write what is live into the file" if field.is_sayable else "`plan` says what to do"
        return f"nothing puts it back{_codes_text(item.refusals)}; {then}"
    if not field.is_sayable:
        return "`drift restore` puts it back; no file can say what is live"
    return BY_HAND[code] if is_shared and code in BY_HAND else DRIFT[code].instead


def _codes_text(codes: Sequence[str]) -> str:
    return f" ({', '.join(codes)})" if codes else ""


def _finding(code: str, item: Item, message: str, span: SourceSpan | None, fix: str) -> Diagnostic:
    name = DRIFT[code].name
    diagnostic = Diagnostic(severity=Severity.ERROR, code=code, name=name, message=message, address=item.address)
    return replace(diagnostic, span=span, fix=fix)
