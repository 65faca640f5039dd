"""Consent: permission for one rule and one value, for a time and up to a loss, and warnings about consent that is left
over."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from reconciler.changes.verdict import Verdict
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.policy import is_policy
from reconciler.model.resource import Address, Consent, Json, Resource, Terms, is_over, model_in, no_terms
from reconciler.model.topology import Allowed, Topology
from reconciler.model.units import show_quantity


def allow_entry(code: str, to: str = "", on: str = "") -> str:
    """`allow: [{code: ST101, to: memory, reason: …}]`, ready to be pasted; `to` as files write it, `on` for an entry at
    the top of a file. A waiver of a policy has an end."""
    value, many = f"to: {to}, " if to else "", f'on: "{on}", ' if on else ""
    end = ", until: …" if is_policy(code) else ""
    return f"allow: [{{code: {code}, {value}{many}reason: …{end}}}]"


@dataclass(frozen=True, slots=True)
class DeclaredConsents:
    """The consents that the files of a topology give."""

    terms: Mapping[str, Terms]
    """Of declared resources, by address."""
    allows: Sequence[Allowed]
    """Those that are about many."""

    @classmethod
    def of(cls, topology: Topology) -> DeclaredConsents:
        """Index them by address."""
        return cls({str(resource.address): resource.spec for resource in topology.resources}, topology.allow)

    def to(self, address: str) -> tuple[Consent, ...]:
        """Return those that reach this address."""
        terms = self.terms.get(address, no_terms())
        return (*terms.allow, *bulk_consents(Address.parse(address), terms.labels, self.allows))


def bulk_consents(address: Address, labels: Mapping[str, str], allows: Iterable[Allowed]) -> Iterator[Consent]:
    """Consents that the files give to many and that reach this address, without the resource's own."""
    return (allowance.consent for allowance in allows if allowance.selects(address, labels))


def first_covering(verdict: Verdict, allows: Iterable[Consent], today: date, spec: type[Terms]) -> Consent | None:
    """The first consent that covers a verdict: same code, same value, not expired, within bounds."""
    if not verdict.consentable:
        return None
    return next((allow for allow in allows if covers(allow, verdict, today, spec)), None)


def covers(allow: Consent, verdict: Verdict, today: date, spec: type[Terms]) -> bool:
    """Does this consent cover what was found?"""
    return allow.code == verdict.code and not _shortfall_text(allow, verdict, today, spec)


REFUSED = "the change is refused, and no consent allows it"


def _shortfall_text(allow: Consent, verdict: Verdict, today: date, spec: type[Terms]) -> str:
    """The shortcoming of a consent to the right rule, in words; empty if it lacks nothing."""
    if is_over(allow, today):
        return f"it ended on {allow.until}"
    if verdict.is_final:
        return REFUSED
    if another := _other_value(allow, verdict, spec):
        return another
    for quantity, most in allow.upto.items():
        if (lost := verdict.quantities.get(quantity)) is None:
            return f"the {quantity} lost were not counted"
        if lost > most:
            return f"{show_quantity(quantity, lost)} are lost, and it allows {show_quantity(quantity, most)}"
    return ""


def _other_value(allow: Consent, verdict: Verdict, spec: type[Terms]) -> str:
    if allow.to is None and verdict.to is not None:
        return "it names no value (`to:`), without which an old consent could cover a new change"
    is_other = allow.to is not None and _raw_value(allow.to, verdict.path, spec) != verdict.to
    return "it is for another value" if is_other else ""


def _raw_value(value: Json, path: str, spec: type[Terms]) -> Json:
    """The raw value that the field of this path would have from a consent's value, such as `3d`."""
    reader = _field_reader(spec, path)
    if reader is None:
        return value
    try:
        return reader.dump_python(reader.validate_python(value), mode="json", exclude_unset=True)
    except ValidationError:
        return value


@cache
def _field_reader(spec: type[Terms], path: str) -> TypeAdapter[Json] | None:
    """The reader of a dotted path; None if a file holds no such field."""
    model: type[BaseModel] = spec
    *outer, last = re.sub(r"\[\d+\]", "", path).split(".")
    for name in outer:
        model = model_in(model.model_fields[name].annotation) if name in model.model_fields else BaseModel
    if last not in model.model_fields:
        return None
    field: Any = model.model_fields[last]
    is_item = path.endswith("]")
    return TypeAdapter(model_in(field.annotation) if is_item else field.annotation)


Option = tuple[str, str]
"""(code, address pattern) of `--allow ST301=stream/ORDERS`."""


def is_about(option: Option, verdict: Verdict) -> bool:
    """Does the option name this rule, and its pattern this address? Whether consent helps there is another question."""
    return option[0] == verdict.code and fnmatchcase(verdict.address, option[1])


def is_of_use(option: Option, verdicts: Iterable[Verdict]) -> bool:
    """Does the option consent to anything here?"""
    return not is_policy(option[0]) and any(verdict.consentable and is_about(option, verdict) for verdict in verdicts)


def unused_option_warnings(
    options: Iterable[Option], verdicts: Iterable[Verdict], codes: Collection[str]
) -> Iterable[Diagnostic]:
    """Warnings about options that consent to nothing here: whoever gave one believes that something is allowed."""
    by_code: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_code.setdefault(verdict.code, []).append(verdict)
    for code, pattern in options:
        option, same_rule = (code, pattern), by_code.get(code, ())
        if is_of_use(option, same_rule):
            continue
        statement = f"--allow {code}={pattern} allows nothing"
        if (met := next((candidate for candidate in same_rule if is_about(option, candidate)), None)) is None:
            why = f"no verdict {code} was found at {pattern}" if code in codes else f"no rule has the code {code}"
            fix = "leave it out, or write the code and the address as the plan shows them"
        elif is_policy(code) and met.blocks:
            why, fix = f"{code} is a policy, which only the files waive", met.fix or "leave it out"
        elif met.blocks:
            why, fix = f"no consent covers {code} {met.name} here", met.fix or "leave it out"
        else:
            why, fix = f"{code} {met.name} is only a warning here and stops nothing", "leave it out"
        yield Diagnostic(
            severity=Severity.WARNING, code="XX304", name="allowed-in-vain", message=f"{statement}: {why}", fix=fix,
            address=met.address if met else None,
        )  # fmt: skip


IsShared = Callable[[SourceSpan | None], bool]
"""Does an entry at this place count in other environments too?"""


def leftover_consents(
    resource: Resource,
    verdicts: Sequence[Verdict],
    today: date,
    unjudged: Collection[str] = (),
    is_shared: IsShared = lambda _: False,
) -> Iterable[Diagnostic]:
    """Warnings about consent that covers nothing, and why it does not. If a rule was not judged here, nobody knows
    whether consent to it is needed."""
    spec = type(resource.terms)
    for index, allow in enumerate(resource.terms.allow):
        same_rule = [verdict for verdict in verdicts if verdict.code == allow.code]
        lacking = [_shortfall_text(allow, verdict, today, spec) for verdict in same_rule]
        where = f"allow[{index}]"
        if is_over(allow, today):
            yield _warning_about_consent(
                resource, where, "XX301", "consent-expired", f"consent to {allow.code} ended on {allow.until}"
            )
        elif not same_rule and allow.code in unjudged:
            continue
        elif not same_rule:
            message = f"consent to {allow.code} is not needed by this change"
            fix = unused_fix(is_shared=is_shared(resource.where(where)))
            yield _warning_about_consent(resource, where, "XX302", "consent-unused", message, fix)
        elif all(lacking):
            message = f"consent to {allow.code} does not cover this change: {lacking[0]}"
            yield _warning_about_consent(resource, where, "XX303", "consent-falls-short", message, _fix_of(lacking[0]))


def leftover_allowances(
    allowed: Allowed,
    verdicts: Sequence[tuple[Verdict, type[Terms]]],
    today: date,
    *,
    is_judged: bool,
    is_shared: IsShared = lambda _: False,
) -> Iterable[Diagnostic]:
    """The same for consent that is given to many: it must cover something, but need not cover the changes of others."""
    allow, statement = allowed.consent, f"consent to {allowed.consent.code} on {allowed.on}"
    same_rule = [
        (verdict, _shortfall_text(allow, verdict, today, spec))
        for verdict, spec in verdicts
        if verdict.code == allow.code
    ]
    short = [(verdict, why) for verdict, why in same_rule if why and verdict.consented is None]
    if is_over(allow, today):
        yield _warning(allowed.where(""), "XX301", "consent-expired", f"{statement} ended on {allow.until}")
    elif short:
        (first, why), more = short[0], f" and {len(short) - 1:_} more" if short[1:] else ""
        message = f"{statement} does not cover the change of {first.address}{more}: {why}"
        yield _warning(allowed.where(""), "XX303", "consent-falls-short", message, fix=_fix_of(why))
    elif is_judged and all(why for _, why in same_rule):
        message, fix = f"{statement} is not needed by any change", unused_fix(is_shared=is_shared(allowed.where("")))
        yield _warning(allowed.where(""), "XX302", "consent-unused", message, fix=fix)


_REMOVE = "remove it, so that it never covers a change nobody thought of"
_MOVE = "remove it, or move it into the overlay of the environment that needs it, so that it never covers a change nobody thought of"
_RENEW = "review the change again, and write a consent for it"
_OBEY = "remove it, and do what the refusal advises"


def unused_fix(*, is_shared: bool) -> str:
    """Say what to do with an entry that nothing needs here. Another environment may need one that counts in all of them."""
    return _MOVE if is_shared else _REMOVE


def _fix_of(shortfall: str) -> str:
    return _OBEY if shortfall == REFUSED else _RENEW


def _warning_about_consent(
    resource: Resource, where: str, code: str, name: str, message: str, fix: str = _REMOVE
) -> Diagnostic:
    return _warning(resource.where(where), code, name, message, str(resource.address), fix)


def _warning(
    span: SourceSpan | None, code: str, name: str, message: str, address: str | None = None, fix: str = _REMOVE
) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING,
        code=code,
        name=name,
        message=message,
        address=address,
        span=span,
        fix=fix,
    )
