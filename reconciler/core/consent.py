"""Consent: permission for one rule and one value, for a time and up to a loss, and what is left over of it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from reconciler.core.diagnostic import Diagnostic, Severity
from reconciler.core.resource import Consent, Json, Resource, Terms
from reconciler.core.rule import Verdict

_PLAIN = re.compile(r"(?!(?:on|off|yes|no|y|n|true|false|null)$)[A-Za-z_][\w./-]*", re.ASCII | re.IGNORECASE)


def quoted(text: str) -> str:
    """A text as it stands in a file, also between braces."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def entry(code: str, to: str = "") -> str:
    """`allow: [{code: ST101, to: memory, reason: …}]`, ready to be pasted; `to` as it stands in a file."""
    return f"allow: [{{code: {code}, {f'to: {to}, ' if to else ''}reason: …}}]"


def given(verdict: Verdict, allows: Iterable[Consent], today: date, spec: type[Terms]) -> Consent | None:
    """The first consent that covers a verdict: same code, same value, not expired, within bounds."""
    if not verdict.consentable:
        return None
    return next((allow for allow in allows if covers(allow, verdict, today, spec)), None)


def covers(allow: Consent, verdict: Verdict, today: date, spec: type[Terms]) -> bool:
    """Does this consent reach as far as what was found?"""
    return allow.code == verdict.code and not _short_of(allow, verdict, today, spec)


def _short_of(allow: Consent, verdict: Verdict, today: date, spec: type[Terms]) -> str:
    """What a consent to the right rule lacks, in words; empty when it lacks nothing."""
    if is_over(allow, today):
        return f"it ended on {allow.until}"
    if allow.to is None and verdict.to is not None:
        return "it names no value (`to:`), and an old consent must never cover a new change"
    if allow.to is not None and _raw(allow.to, verdict.path, spec) != verdict.to:
        return "it is for another value"
    for quantity, most in allow.upto.items():
        if (found := verdict.quantities.get(quantity)) is None:
            return f"how many {quantity} are lost was not counted"
        if found > most:
            return f"{found:_} {quantity} are lost, more than the {most:_} it allows"
    return ""


def is_over(allow: Consent, today: date) -> bool:
    return allow.until is not None and today > allow.until


def _raw(said: Json, path: str, spec: type[Terms]) -> Json:
    """`3d`, as it stands in a consent, is the raw value that the field of this path would have from it."""
    if path not in spec.model_fields:
        return said
    try:
        return _reader(spec, path).dump_python(_reader(spec, path).validate_python(said), mode="json")
    except ValidationError:
        return said


@cache
def _reader(spec: type[Terms], field: str) -> TypeAdapter[Json]:
    annotation: Any = spec.model_fields[field].annotation
    return TypeAdapter(annotation)


Option = tuple[str, str]
"""(code, address pattern) of `--allow ST301=stream/ORDERS`."""


def is_about(option: Option, verdict: Verdict) -> bool:
    return option[0] == verdict.code and fnmatchcase(verdict.address, option[1])


def is_of_use(option: Option, verdicts: Iterable[Verdict]) -> bool:
    """Is it consent to anything here?"""
    return any(verdict.consentable and is_about(option, verdict) for verdict in verdicts)


def in_vain(options: Iterable[Option], verdicts: Sequence[Verdict], codes: Collection[str]) -> Iterable[Diagnostic]:
    """Options that are consent to nothing here: who gave one believes that something is allowed."""
    for option in options:
        if is_of_use(option, verdicts):
            continue
        code, pattern = option
        said = f"--allow {code}={pattern} allows nothing"
        if (met := next((one for one in verdicts if is_about(option, one)), None)) is None:
            why = f"nothing of {code} was found at {pattern}" if code in codes else f"there is no rule {code}"
            fix = "leave it out, or write the code and the address as the plan shows them"
        elif met.blocks:
            why, fix = f"no consent covers {code} {met.name} here", met.fix or "leave it out"
        else:
            why, fix = f"{code} {met.name} is a warning here, and stops nothing", "leave it out"
        yield Diagnostic(
            severity=Severity.WARNING, code="XX304", name="allowed-in-vain", message=f"{said}: {why}", fix=fix,
            address=met.address if met else None,
        )  # fmt: skip


def leftovers(
    resource: Resource, verdicts: Sequence[Verdict], today: date, unjudged: Collection[str] = ()
) -> Iterable[Diagnostic]:
    """Consent that covers nothing is a loaded gun left lying about: say so, and why it does not cover. Whether one to a
    rule that was not judged here is needed, nobody knows."""
    spec = type(resource.terms)
    for index, allow in enumerate(resource.terms.allow):
        same_rule = [verdict for verdict in verdicts if verdict.code == allow.code]
        lacking = [_short_of(allow, verdict, today, spec) for verdict in same_rule]
        where = f"allow[{index}]"
        if is_over(allow, today):
            yield _leftover(
                resource, where, "XX301", "consent-expired", f"consent to {allow.code} ended on {allow.until}"
            )
        elif not same_rule and allow.code in unjudged:
            continue
        elif not same_rule:
            message = f"consent to {allow.code} is not needed by this change"
            yield _leftover(resource, where, "XX302", "consent-unused", message)
        elif all(lacking):
            message = f"consent to {allow.code} does not cover this change: {lacking[0]}"
            yield _leftover(resource, where, "XX303", "consent-falls-short", message)


_REMOVE = "remove it, so that it never covers a change nobody thought of"
_RENEW = "judge the change anew, and write the consent for it"


def _leftover(resource: Resource, where: str, code: str, name: str, message: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING,
        code=code,
        name=name,
        message=message,
        address=str(resource.address),
        span=resource.where(where),
        fix=_RENEW if code == "XX303" else _REMOVE,
    )
