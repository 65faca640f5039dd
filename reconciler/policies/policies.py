"""Policies compiled for each kind, and what they forbid of a change.

Nearly every resource violates nothing, so the conditions about a kind are also compiled as one, joined by "or". Only where that
is not false is each judged by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.changes import consent
from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Kind, Registry
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.changes.view import View
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.policy import PlacedPolicy, Policy
from reconciler.model.spelling import meant
from reconciler.model.units import show_number
from reconciler.policies.misread import Misread, misread, worded
from reconciler.policies.variables import (
    ANYTHING,
    DURATION,
    DURATIONS,
    FLAG,
    ITEMS,
    NEIGHBOURS,
    NUMBER,
    TABLE,
    TEXT,
    TEXTS,
    Subject,
    Variable,
    asked_for,
    mentioned,
    stream_of,
    subject_of,
    variables,
)

if TYPE_CHECKING:
    from cel_expr_python import cel

JUDGED = frozenset(
    {Action.CREATE, Action.UPDATE, Action.REPLACE, Action.DELETE, Action.ADOPT, Action.KEEP, Action.FORGET}
)
TOGETHER = 24
"""How many conditions are joined. The library lets expressions nest so and so deep."""
SHOWN = 4
"""How many values a message names."""
_KNOWN = frozenset({
    "resource.name", "resource.address", "resource.kind", "environment.name", "topology.name", "change.action", "today",
})  # fmt: skip
"""What whoever reads a message sees anyway."""
CANNOT_TELL = "cannot tell"
MISSING = CannotContinue.because(
    "XX528", "policy", "the files have policies, and the package that judges them (cel-expr-python) is not installed",
    fix="install `nats-reconciler[policies]`",
)  # fmt: skip


class Program(NamedTuple):
    placed: PlacedPolicy
    expression: cel.Expression
    mentions: Mapping[str, Variable]

    def needs(self) -> frozenset[str]:
        """What must be known for it."""
        return frozenset().union(*(one.needs for one in self.mentions.values()))


class Ready(NamedTuple):
    """What judges a kind, where so much is known."""

    programs: Sequence[Program]
    joined: Sequence[cel.Expression]
    """Their conditions, joined."""
    mentions: Mapping[str, Variable]
    """What any of them mentions."""


@dataclass(slots=True)
class Policies:
    """Policies that are ready to judge what a topology changes."""

    placed: Sequence[PlacedPolicy]
    registry: Registry
    _ready: dict[tuple[str, frozenset[str]], Ready] = field(default_factory=dict)

    def judged(self, change: Change, view: View, needing: frozenset[str]) -> list[Verdict]:
        """What the policies forbid of this change, of those that need to know no more than `needing`."""
        if change.action not in JUDGED:
            return []
        stream = stream_of(change.address, view, self.registry)
        known = needing if stream is not None else needing - NEIGHBOURS
        ready = self._ready.get((change.address.kind, known)) or self._made(self.registry.of(change.address), known)
        subject = subject_of(change, stream, view) if ready.programs else None
        if subject is None or _is_clear(ready, subject):
            return []
        return [verdict for one in ready.programs if (verdict := _verdict(one, subject))]

    def _made(self, kind: Kind, known: frozenset[str]) -> Ready:
        compiled = (_compiled(one, kind, self.registry) for one in self.placed if is_about(one.policy, kind))
        programs = [one for one in compiled if isinstance(one, Program) and one.needs() <= known]
        joined = [_joined(programs[start : start + TOGETHER]) for start in range(0, len(programs), TOGETHER)]
        mentions = {name: variable for one in programs for name, variable in one.mentions.items()}
        self._ready[kind.name, known] = ready = Ready(programs, joined, mentions)
        return ready


def is_about(policy: Policy, kind: Kind) -> bool:
    """Does it judge resources of this kind?"""
    return not policy.kinds or kind.name in policy.kinds


def problems(placed: Sequence[PlacedPolicy], registry: Registry) -> Iterator[Diagnostic]:
    """What is wrong with policies: kinds that do not exist, and conditions that cannot be compiled. Raises CannotContinue
    where the library is not installed."""
    first = dict[str, PlacedPolicy]()
    for one in placed:
        policy = one.policy
        if (earlier := first.setdefault(policy.code, one)) is not one:
            yield _told(one, "code", f"policy {policy.code} is declared at {earlier.where('code')} already; keep one")
            continue
        unknown = next((name for name in policy.kinds if name not in registry.by_name), None)
        if unknown is not None:
            near = meant(unknown, registry.by_name)
            hint = f"; did you mean `{near}`?" if near else f"; write {', '.join(registry.by_name)}"
            yield _told(one, "on", f"policy {policy.code} is about `{unknown}`, which is no kind{hint}")
            continue
        for kind in (kind for kind in registry.kinds if is_about(policy, kind)):
            if isinstance(wrong := _compiled(one, kind, registry), Misread):
                about = f" (on {kind.name})" if len(policy.kinds) != 1 else ""
                yield _told(one, "forbid", f"policy {policy.code} cannot be read{about}: {wrong.placed(policy.forbid)}")
                break


def _told(one: PlacedPolicy, path: str, message: str) -> Diagnostic:
    return Diagnostic(severity=Severity.ERROR, code="XX528", name="policy", message=message, span=one.where(path))


def _compiled(placed: PlacedPolicy, kind: Kind, registry: Registry) -> Program | Misread:
    condition, known = placed.policy.forbid, variables(kind, registry)
    if asked := asked_for(condition, known):
        return Misread(f"`has({asked})` is not needed: a field that is not set has the server's default, or is empty")
    mentions = mentioned(condition, known)
    try:
        expression = _environment(mentions).compile(condition)
    except RuntimeError as error:
        return misread(str(error), known, condition)
    if (result := expression.return_type().name()) not in ("bool", "BOOL"):
        return Misread(f"it is {worded(result)}, and not a condition that is true or false")
    return Program(placed, expression, mentions)


def _joined(programs: Sequence[Program]) -> cel.Expression:
    condition = " || ".join(f"(\n{one.placed.policy.forbid}\n)" for one in programs)
    mentions = {name: variable for one in programs for name, variable in one.mentions.items()}
    return _environment(mentions).compile(condition)


def _environment(mentions: Mapping[str, Variable]) -> cel.Env:
    """The types of what is mentioned. Imported late: most files have no policies."""
    try:
        from cel_expr_python import cel  # noqa: PLC0415
    except ImportError:
        raise MISSING from None
    types = cel.Type
    by_name = {
        DURATION: types.DURATION, DURATIONS: types.List(types.DURATION), NUMBER: types.INT, FLAG: types.BOOL, TEXT: types.STRING,
        TEXTS: types.List(types.STRING), ITEMS: types.List(types.DYN), TABLE: types.Map(types.STRING, types.STRING),
        ANYTHING: types.DYN,
    }  # fmt: skip
    return cel.NewEnv(variables={name: by_name[one.type] for name, one in mentions.items()})


def _values(mentions: Mapping[str, Variable], subject: Subject) -> dict[str, Any]:
    return {name: one.read(subject) for name, one in mentions.items()}


def _is_clear(ready: Ready, subject: Subject) -> bool:
    """Is none of the conditions met?"""
    values = _values(ready.mentions, subject)
    try:
        return all(one.eval(data=values).value() is False for one in ready.joined)
    except RuntimeError:  # such as: too many iterations
        return False


def _verdict(one: Program, subject: Subject) -> Verdict | None:
    """What the policy says; None if it forbids nothing. If it cannot tell, it is violated: a rule that fails must not pass for
    one that is kept."""
    values = _values(one.mentions, subject)
    try:
        answer = one.expression.eval(data=values)
        said, is_known = answer.value(), answer.type().name().lower() == "bool"
    except RuntimeError as error:
        said, is_known = str(error), False
    if is_known and said is False:
        return None
    policy, change = one.placed.policy, subject.change
    message = policy.message.rstrip(".")
    if not is_known:
        message = f"{CANNOT_TELL} whether {policy.code} is kept ({_reason(str(said))}): {message}"
    seen = _seen(subject, values)
    path = _path(one, subject)
    return Verdict(
        code=policy.code,
        name=policy.name,
        outcome=Outcome.NEEDS_CONSENT if policy.severity == "error" else Outcome.WARNS,
        message=f"{message}{seen}{_ended(policy.code, subject)}",
        address=str(change.address),
        span=change.where(path),
        path=path,
        fix=_fix(policy, change),
        consentable=policy.severity == "error",
    )


def _reason(said: str) -> str:
    text = re.sub(r"^[A-Z_]+: ", "", said.removesuffix("]").partition(" [")[0])
    found = re.search(r'Key not found in map : "(.*)"', text)
    return f"there is no key `{found[1]}`; ask `'{found[1]}' in …` first" if found else text[:1].lower() + text[1:]


def _fix(policy: Policy, change: Change) -> str | None:
    on = "" if change.desired else str(change.address)
    waiver = f"waive it for a time: {consent.allow_entry(policy.code, on=on)}"
    if policy.severity != "error":
        return policy.help
    return f"{policy.help.rstrip('.')}; or {waiver}" if policy.help else waiver


def _ended(code: str, subject: Subject) -> str:
    """Says when the latest waiver of this ended."""
    change = subject.change
    waivers = (*change.terms.allow, *consent.consents_reaching(change.address, change.labels, subject.view.allow))
    over = [one.until for one in waivers if one.code == code and one.until and consent.is_over(one, subject.today)]
    return f"; its waiver ended on {max(over)}" if over else ""


def _path(one: Program, subject: Subject) -> str:
    """The first field of the resource that the condition mentions, if the file says something of it."""
    for name in one.mentions:
        top = name.split(".")[1] if name.startswith("resource.") else ""
        if top in type(subject.change.terms).model_fields:
            return top
    return ""


def _seen(subject: Subject, values: Mapping[str, Any]) -> str:
    """The values that decided, as a file has them."""
    kind = subject.view.kinds.get(subject.change.address.kind)
    said = []
    for name, value in values.items():
        if name in _KNOWN or isinstance(value, (dict, Mapping)):
            continue
        said.append(f"{name.removeprefix('resource.')} is {_shown(value, name, kind)}")
    more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return f" ({', '.join(said[:SHOWN])}{more})" if said else ""


def _shown(value: Any, name: str, kind: Any) -> str:
    if hasattr(value, "total_seconds"):
        return show_number(round(value.total_seconds() * 1e9), "duration")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        info = getattr(kind, "fields", {}).get(name.rsplit(".", maxsplit=1)[-1])
        return show_number(value, info.unit if info and value >= 0 else "text")
    if isinstance(value, list):
        is_short = len(value) <= SHOWN and all(isinstance(one, str) for one in value)
        return f"[{', '.join(value)}]" if is_short else f"{len(value)} entries"
    return str(value) or "empty"
