"""Rules stamped from the field tables: one for every field that servers fix at creation or let change one way only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reconciler.core.diff import Action, Change, FieldChange
from reconciler.core.rule import Finding, Found, Outcome, Rule, View, rule
from reconciler.kinds.primitives.known import Known
from reconciler.kinds.primitives.words import in_words


@dataclass(frozen=True, slots=True)
class Fixed:
    """A field's rule in words: its code and name, why the server cares, and the way out."""

    code: str
    name: str
    why: str
    instead: str
    consentable: bool = False
    also: tuple[int, ...] = ()
    """What the server answers where it stumbles over something else of the same change first."""
    with_consent: str = ""
    """What happens where the kind knows another way, for the rule's page."""


Manner = Callable[[Change, View, Finding], Finding | None]
"""What becomes of a refusal where the kind knows another way."""


def updatability_rules(
    fields: Mapping[str, Known],
    fixed: Mapping[str, Fixed],
    *,
    of: str,
    manner: Manner = lambda _change, _view, refusal: refusal,
) -> tuple[Rule, ...]:
    """One rule per entry; the versions and the server's answer come from the field's own table."""
    return tuple(_rule(field, fields[field], words, of, manner) for field, words in fixed.items())


def _rule(field: str, about: Known, words: Fixed, of: str, manner: Manner) -> Rule:
    def judge(change: Change, view: View) -> Found:
        found = change.field(field)
        if found is None or about.may_become(change.was(field), change.becomes(field), view.target.version):
            return None
        refusal = Finding(
            outcome=Outcome.REFUSED,
            path=found.path,
            message=f"{found.path} cannot {_turn(found, about)}. {words.why}",
            fix=words.instead,
            to=found.desired,
            consentable=words.consentable,
        )
        return manner(change, view, refusal)

    what = f"A change of `{field}` of an existing {of}: {_by_version(about)}."
    judge.__doc__ = "\n\n".join((what, words.why, f"Instead: {words.instead}{words.with_consent}."))
    return rule(
        words.code,
        words.name,
        on=(Action.UPDATE,),
        needs=("live",),
        since=about.since,  # a server that does not know the field refuses no change of it
        err_code=(*((about.err_code,) if about.err_code else ()), *words.also),
    )(judge)


def _turn(found: FieldChange, about: Known) -> str:
    """What was asked for: adding and removing are no changes from nothing and to nothing."""
    if found.desired is None and about.default is None:
        return "go back to the server's own" if about.depends else "be removed"
    if found.live is None and about.default is None:
        if about.depends:
            return f"change to {_shown(found.desired, about)}"
        return f"be added ({_shown(found.desired, about)})" if isinstance(found.desired, str | int) else "be added"
    return f"change from {_shown(found.live, about)} to {_shown(found.desired, about)}"


def _by_version(about: Known) -> str:
    """`fixed at creation`, or `fixed at creation before 2.12, then removable`."""
    if isinstance(about.update, str):
        return about.update
    (_, first), *later = about.update
    return str(first) + "".join(f" before {since.short}, then {update}" for since, update in later)


def _shown(value: object, about: Known) -> str:
    return in_words(about.default if value is None else value, about.unit)
