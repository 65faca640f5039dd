"""Policies compiled for each kind, and what they forbid of a change.

Nearly every resource violates nothing, so the conditions about a kind are also compiled as one, joined by "or". Only where that
is not false is each judged by itself.

Says in plain words why a condition is not CEL, and where in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from reconciler.model.resource import is_over
from reconciler.model.spelling import meant_choice
from reconciler.model.units import show_number
from reconciler.policies.slips import ASKS_IN_VAIN, slips_in_items, slips_in_texts
from reconciler.policies.texts import FIELDS, ImpossibleText, impossible_texts, possible_texts
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
    first_tested_field,
    mentioned_variables,
    shown_name,
    stream_of,
    subject_of,
    variables,
    without_brackets,
)

if TYPE_CHECKING:
    from cel_expr_python import cel

JUDGED = frozenset(
    {Action.CREATE, Action.UPDATE, Action.REPLACE, Action.DELETE, Action.ADOPT, Action.KEEP, Action.FORGET}
)
TOGETHER = 24
"""How many conditions are joined. The library lets expressions nest so and so deep."""
MANY = 8
"""Up to how many texts a message names of those that there can be."""
SHOWN = 4
"""How many values a message names."""
_KNOWN = frozenset({
    "resource.name", "resource.address", "resource.kind", "environment.name", "topology.name", "change.action", "today",
})  # fmt: skip
"""What whoever reads a message sees anyway."""
CANNOT_TELL, COMPARES_IN_VAIN = "cannot tell", "compares in vain"
MISSING = CannotContinue.because(
    "XX528", "policy", "the files have policies, and the package that judges them (cel-expr-python) is not installed",
    fix="install `nats-reconciler[policies]`",
)  # fmt: skip


class Program(NamedTuple):
    placed: PlacedPolicy
    condition: str
    """As it is judged: with a name in place of each key in brackets."""
    expression: cel.Expression
    mentions: Mapping[str, Variable]

    def needs(self) -> frozenset[str]:
        """Return what must be known for it."""
        return frozenset().union(*(variable.needs for variable in self.mentions.values()))


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

    def judge(self, change: Change, view: View, needing: frozenset[str]) -> list[Verdict]:
        """Return what the policies forbid of this change, of those that need to know no more than `needing`."""
        if change.action not in JUDGED:
            return []
        stream = stream_of(change.address, view, self.registry)
        available = needing if stream is not None else needing - NEIGHBOURS
        ready = self._ready.get((change.address.kind, available)) or self._prepare(
            self.registry.of(change.address), available
        )
        subject = subject_of(change, stream, view) if ready.programs else None
        if subject is None or _violates_none(ready, subject):
            return []
        return [verdict for program in ready.programs if (verdict := _verdict_of(program, subject))]

    def _prepare(self, kind: Kind, available: frozenset[str]) -> Ready:
        compiled = (_compile(policy, kind, self.registry) for policy in self.placed if is_about(policy.policy, kind))
        programs = [program for program in compiled if isinstance(program, Program) and program.needs() <= available]
        joined = [_compile_joined(programs[start : start + TOGETHER]) for start in range(0, len(programs), TOGETHER)]
        mentions = {name: variable for program in programs for name, variable in program.mentions.items()}
        self._ready[kind.name, available] = ready = Ready(programs, joined, mentions)
        return ready


def is_about(policy: Policy, kind: Kind) -> bool:
    """Does it judge resources of this kind?"""
    return not policy.kinds or kind.name in policy.kinds


def problems(placed: Sequence[PlacedPolicy], registry: Registry) -> Iterator[Diagnostic]:
    """Report what is wrong with policies: kinds that do not exist, and conditions that cannot be compiled. Raises
    CannotContinue where the library is not installed."""
    by_code = dict[str, PlacedPolicy]()
    for entry in placed:
        policy = entry.policy
        if (earlier := by_code.setdefault(policy.code, entry)) is not entry:
            yield _problem(
                entry, "code", f"policy {policy.code} is declared at {earlier.where('code')} already; keep one"
            )
            continue
        unknown = next((name for name in policy.kinds if name not in registry.by_name), None)
        if unknown is not None:
            likely = meant_choice(unknown, registry.by_name)
            hint = f"; did you mean `{likely}`?" if likely else f"; write {', '.join(registry.by_name)}"
            yield _problem(entry, "on", f"policy {policy.code} is about `{unknown}`, which is no kind{hint}")
            continue
        for kind in (kind for kind in registry.kinds if is_about(policy, kind)):
            if isinstance(misreading := _compile(entry, kind, registry), ConditionProblem):
                on_kind = f" (on {kind.name})" if len(policy.kinds) != 1 else ""
                yield _problem(
                    entry,
                    "forbid",
                    f"policy {policy.code} {misreading.fault}{on_kind}: {misreading.message_with_place(policy.forbid)}",
                )
                break


def _problem(entry: PlacedPolicy, path: str, message: str) -> Diagnostic:
    return Diagnostic(severity=Severity.ERROR, code="XX528", name="policy", message=message, span=entry.where(path))


def _compile(placed: PlacedPolicy, kind: Kind, registry: Registry) -> Program | ConditionProblem:
    condition, known_variables = placed.policy.forbid, variables(kind, registry)
    if tested := first_tested_field(condition, known_variables):
        return ConditionProblem(
            f"`has({tested})` is not needed: a field that is not set has the server's default, or is empty",
            fault=ASKS_IN_VAIN,
        )
    mentions = mentioned_variables(condition, known_variables)
    try:
        expression = _environment(mentions).compile(condition)
    except RuntimeError as error:
        return explain_compile_error(str(error), known_variables, condition)
    if (result := expression.return_type().name()) not in ("bool", "BOOL"):
        return ConditionProblem(f"it is {type_in_words(result)}, and not a condition that is true or false")
    possible = possible_texts(kind, registry, placed.policy.kinds, sorted(action.value for action in JUDGED))
    for never in impossible_texts(condition, possible):
        return _explain_impossible(never, condition)
    for misreading in _slips(condition, known_variables):
        return misreading
    if (judged := without_brackets(condition, known_variables)) != condition:
        mentions = mentioned_variables(judged, known_variables)
        expression = _environment(mentions).compile(judged)
    return Program(placed, judged, expression, mentions)


def _slips(condition: str, known_variables: Mapping[str, Variable]) -> Iterator[ConditionProblem]:
    for slip in (*slips_in_items(condition, known_variables), *slips_in_texts(condition, _why_it_fails)):
        yield ConditionProblem(slip.message, *_line_and_column(condition, slip.at), slip.fault)


def _why_it_fails(expression: str) -> str:
    """Return why an expression without names fails; empty if it does not."""
    try:
        answer = _environment({}).compile(expression).eval(data={})
    except RuntimeError:  # such as a text with a line break in it, which the whole condition shows
        return ""
    return str(answer.value()) if answer.type().name() == "ERROR" else ""


def _line_and_column(condition: str, at: int) -> tuple[int, int]:
    before = condition[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


def _explain_impossible(never: ImpossibleText, condition: str) -> ConditionProblem:
    line, column = _line_and_column(condition, never.at)
    near = meant_choice(never.text, never.possible)
    verb = "never names" if never.name == FIELDS else "is never"
    choices = f"; it is {', '.join(never.possible)}" if len(never.possible) <= MANY else ""
    return ConditionProblem(
        f"`{never.name}` {verb} `{never.text}`{f'; did you mean `{near}`?' if near else choices}",
        line,
        column,
        COMPARES_IN_VAIN,
    )


def _compile_joined(programs: Sequence[Program]) -> cel.Expression:
    condition = " || ".join(f"(\n{program.condition}\n)" for program in programs)
    mentions = {name: variable for program in programs for name, variable in program.mentions.items()}
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
    return cel.NewEnv(variables={name: by_name[variable.type] for name, variable in mentions.items()})


def _values(mentions: Mapping[str, Variable], subject: Subject) -> dict[str, Any]:
    return {name: variable.read(subject) for name, variable in mentions.items()}


def _violates_none(ready: Ready, subject: Subject) -> bool:
    """Is none of the conditions met?"""
    values = _values(ready.mentions, subject)
    try:
        return all(expression.eval(data=values).value() is False for expression in ready.joined)
    except RuntimeError:  # such as: too many iterations
        return False


def _verdict_of(program: Program, subject: Subject) -> Verdict | None:
    """Return what the policy says; None if it forbids nothing. If it cannot tell, it is violated: a rule that fails
    must not pass for one that is kept."""
    values = _values(program.mentions, subject)
    try:
        answer = program.expression.eval(data=values)
        result, is_known = answer.value(), answer.type().name().lower() == "bool"
    except RuntimeError as error:
        result, is_known = str(error), False
    if is_known and result is False:
        return None
    policy, change = program.placed.policy, subject.change
    message = policy.message.rstrip(".")
    if not is_known:
        message = f"{CANNOT_TELL} whether {policy.code} is kept ({_reason_in_words(str(result))}): {message}"
    details = _deciding_values(subject, values)
    path = _mentioned_field(program, subject)
    return Verdict(
        code=policy.code,
        name=policy.name,
        outcome=Outcome.NEEDS_CONSENT if policy.severity == "error" else Outcome.WARNS,
        message=f"{message}{details}{_ended_waiver_text(policy.code, subject)}",
        address=str(change.address),
        span=change.where(path),
        path=path,
        fix=_fix(policy, change),
        consentable=policy.severity == "error",
    )


def _reason_in_words(error: str) -> str:
    text = re.sub(r"^[A-Z_]+: ", "", error.removesuffix("]").partition(" [")[0])
    match = re.search(r'Key not found in map : "(.*)"', text)
    return f"there is no key `{match[1]}`; ask `'{match[1]}' in …` first" if match else text[:1].lower() + text[1:]


def _fix(policy: Policy, change: Change) -> str | None:
    on = "" if change.desired else str(change.address)
    waiver = f"waive it for a time: {consent.allow_entry(policy.code, on=on)}"
    if policy.severity != "error":
        return policy.help
    return f"{policy.help.rstrip('.')}; or {waiver}" if policy.help else waiver


def _ended_waiver_text(code: str, subject: Subject) -> str:
    """Say when the latest waiver of this ended."""
    change = subject.change
    waivers = (*change.terms.allow, *consent.bulk_consents(change.address, change.labels, subject.view.allow))
    ended = [
        waiver.until for waiver in waivers if waiver.code == code and waiver.until and is_over(waiver, subject.today)
    ]
    return f"; its waiver ended on {max(ended)}" if ended else ""


def _mentioned_field(program: Program, subject: Subject) -> str:
    """The first field of the resource that the condition mentions, if the file says something of it."""
    for name in program.mentions:
        top = name.split(".")[1] if name.startswith("resource.") else ""
        if top in type(subject.change.terms).model_fields:
            return top
    return ""


def _deciding_values(subject: Subject, values: Mapping[str, Any]) -> str:
    """The values that decided, as a file has them."""
    kind = subject.view.kinds.get(subject.change.address.kind)
    parts = []
    for name, value in values.items():
        if name in _KNOWN or isinstance(value, (dict, Mapping)):
            continue
        parts.append(f"{shown_name(name).removeprefix('resource.')} is {_value_in_words(value, name, kind)}")
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return f" ({', '.join(parts[:SHOWN])}{more})" if parts else ""


def _value_in_words(value: Any, name: str, kind: Any) -> str:
    if hasattr(value, "total_seconds"):
        return show_number(round(value.total_seconds() * 1e9), "duration")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        info = getattr(kind, "fields", {}).get(name.rsplit(".", maxsplit=1)[-1])
        return show_number(value, info.unit if info and value >= 0 else "text")
    if isinstance(value, list):
        is_short = len(value) <= SHOWN and all(isinstance(item, str) for item in value)
        return f"[{', '.join(value)}]" if is_short else f"{len(value)} {'entry' if len(value) == 1 else 'entries'}"
    return str(value) or "empty"


_ERROR = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([\w.]+)'")
_OVERLOAD = re.compile(r"found no matching overload for '(\S+)' applied to '(.*?)'(?= |$)")
_UNEXPECTED = re.compile(r"(?:mismatched|extraneous) input '(.*?)' expecting|no viable alternative at input '(.*?)'$")
_DEEP = re.compile(r"recursion (?:limit|depth)", re.IGNORECASE)
CHARACTERS = 40
"""How many characters of a condition a message shows."""
_WORDS = {
    "int": "a number", "uint": "a number", "double": "a number", "string": "a text", "bool": "true or false", "dyn": "anything",
    "google.protobuf.duration": "a duration", "duration": "a duration", "null": "null", "null_type": "null",
    "google.protobuf.timestamp": "a time", "timestamp": "a time", "bytes": "bytes",
}  # fmt: skip


class ConditionProblem(NamedTuple):
    """Why a condition cannot be compiled."""

    message: str
    line: int = 0
    """Inside the condition, from 1; 0: nowhere in particular."""
    column: int = 0
    fault: str = "cannot be read"
    """What that does to the policy."""

    def message_with_place(self, condition: str) -> str:
        """The message, with the place in the condition and what stands there."""
        lines = condition.splitlines() or [""]
        if not 0 < self.line <= len(lines):
            return self.message
        rest = lines[self.line - 1][self.column - 1 :].strip()
        where = f"line {self.line}, column {self.column}" if len(lines) > 1 else f"column {self.column}"
        shown = f": `{rest[:CHARACTERS]}{'…' if len(rest) > CHARACTERS else ''}`" if rest else ""
        return f"{self.message}; {where} of the condition{shown}"


def type_in_words(type_: str) -> str:
    """A type of CEL in words."""
    plain = type_.lower()
    if plain.startswith(("list", "map")):
        return "a list" if plain.startswith("list") else "a mapping"
    return _WORDS.get(plain, type_)


def explain_compile_error(error: str, names: Collection[str], condition: str) -> ConditionProblem:
    """Say in words what the library says of a condition."""
    match = _ERROR.search(error)
    if _DEEP.search(error) or match is None:
        text = error.partition(" [")[0].partition(": ")[2] or error
        return ConditionProblem(
            "it nests too deep; divide it into several policies" if _DEEP.search(error) else text.splitlines()[0]
        )
    line, column, message = int(match[1]), int(match[2]), match[3].removesuffix(" (in container '')")
    if name := _UNDECLARED.search(message):
        return _explain_undeclared(name[1], names, condition, line, column)
    if overload := _OVERLOAD.search(message):
        return ConditionProblem(_explain_overload(overload[1], overload[2]), line, column)
    if unexpected := _UNEXPECTED.search(message):
        token = unexpected[1] or unexpected[2]
        return ConditionProblem(
            "it ends too early" if token == "<EOF>" else f"`{token}` cannot stand there", line, column
        )
    return ConditionProblem(message.removeprefix("Syntax error: "), line, column)


def _explain_undeclared(name: str, names: Collection[str], condition: str, line: int, column: int) -> ConditionProblem:
    """Explain a name that does not exist. The library points at a dot, and names as much as it looked at; a reader
    wants the whole name."""
    lines = condition.splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if hyphened := re.search(rf"(\w+\.(?:labels|metadata))\.(\w[\w-]*-{re.escape(name)})\b", text):
        advice = f"write a key with a hyphen in brackets: `{hyphened[1]}['{hyphened[2]}']`"
        return ConditionProblem(f"there is no `{name}`; {advice}", line, hyphened.start() + 1)
    around = next((word for word in re.finditer(r"[A-Za-z_][\w.]*", text) if word.start() < column <= word.end()), None)
    whole = around[0] if around and around[0].startswith(name) else name
    start = around.start() + 1 if around else column
    is_called = text[column - 1 : column] == "(" or (around and text[around.end() : around.end() + 1] == "(")
    if is_called and "." not in name and not whole.startswith(f"{name}."):
        return ConditionProblem(f"there is no function `{name}`", line, start)
    if around and whole == around[0] and text[around.end() : around.end() + 1] == "(":
        whole = whole.rpartition(".")[0]  # the rest is a function that is asked of it
    of_resource = f"resource.{whole.partition('.')[2]}"
    near = of_resource if whole.startswith("stream.") and of_resource in names else _likely_name(whole, names)
    return ConditionProblem(f"there is no `{whole}`" + (f"; did you mean `{near}`?" if near else ""), line, start)


def _likely_name(full_name: str, names: Collection[str]) -> str | None:
    """Find what was probably meant: of names with the same beginning, which alone says nothing."""
    beginning, _, rest = full_name.partition(".")
    same = {name.partition(".")[2]: name for name in names if name.startswith(f"{beginning}.")}
    if not same:
        return meant_choice(full_name, names)
    near = meant_choice(rest, same) if rest else None
    return same[near] if near else None


def _explain_overload(function: str, types: str) -> str:
    given_types = [
        type_in_words(type_name)
        for type_name in re.findall(
            r"[\w.]+(?:\([^()]*\))?", types.strip("()") if "(" not in types[1:] else types[1:-1]
        )
    ]
    name = function.strip("_").replace("_", " ").strip() or function
    hint = "; write a duration as duration('36h')" if "a duration" in given_types and len({*given_types}) > 1 else ""
    return f"`{name}` does not take {' and '.join(given_types)}{hint}"
