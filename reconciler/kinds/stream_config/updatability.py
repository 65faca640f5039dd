"""Rules made from the field tables: one for every field that servers fix at creation or let change only one way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reconciler.changes.change import Action, Change, FieldChange
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.fields.known import Known
from reconciler.kinds.fields.words import in_words
from reconciler.kinds.stream_config.validity import Lower
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json


@dataclass(frozen=True, slots=True)
class Fixed:
    """A field's rule in words: its code and name, why the server cares, and what to do instead."""

    code: str
    name: str
    why: str
    instead: str
    consentable: bool = False
    also: tuple[int, ...] = ()
    """What the server answers if it complains first about something else in the same change."""
    part_of: str = ""
    """A field that sets this one too. If that field is taken back, its own rule says everything."""
    with_consent: str = ""
    """What happens if the kind knows another way, for the rule's page."""


Manner = Callable[[Change, View, Finding], Finding | None]
"""What becomes of a refusal if the kind knows another way."""


def _configurations(change: Change) -> tuple[Config, Config]:
    return change.desired.config if change.desired else {}, change.live.config if change.live else {}


def updatability_rules(
    fields: Mapping[str, Known],
    fixed: Mapping[str, Fixed],
    *,
    of: str,
    manner: Manner = lambda _change, _view, refusal: refusal,
    lower: Lower = _configurations,
) -> tuple[Rule, ...]:
    """One rule per entry; the versions and the server's answer come from the field's own table. `lower` gives the
    configurations that the server compares."""
    return tuple(_rule(field, fields[field], words, of, manner, lower) for field, words in fixed.items())


def _rule(field: str, about: Known, words: Fixed, of: str, manner: Manner, lower: Lower) -> Rule:
    def judge(change: Change, view: View) -> Found:
        if (found := change.field(field)) is None:
            return None
        desired, before = lower(change)
        wanted, live = desired.get(field), before.get(field)
        if before.get(words.part_of) and not desired.get(words.part_of):
            return None
        if about.may_become(live, wanted, view.target.version):
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

    what = f"`{field}` of an existing {of} changes. Updates: {about.updatability}."
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
    """What was asked for: adding and removing are no changes from or to nothing."""
    if found.desired is None and about.default is None:
        return "go back to the server's own" if about.depends else "be removed"
    live, desired = (_shown(value, found) for value in (found.live, found.desired))
    if found.live is None and about.default is None:
        if about.depends:
            return f"change to {desired}"
        return f"be added ({desired})" if isinstance(found.desired, str | int) else "be added"
    return f"change from {live} to {desired}"


def _shown(value: Json, found: FieldChange) -> str:
    return in_words(found.info.default if value is None else value, found.info.unit)
