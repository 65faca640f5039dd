"""What a condition may mention, by name and type: the fields of a resource, of its stream, and of what was live before.

Every name always has a value. A field that is not set has the value that the server uses; where there is none, it is the
empty text, 0, `false`, or an empty list. So no condition fails for want of a field, and a slip in a name is found when the
condition is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from reconciler.changes.change import Change
from reconciler.changes.consent import bulk_consents
from reconciler.changes.kind import Kind, Registry
from reconciler.changes.view import View
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Address, Json, Resource

DURATION, DURATIONS, NUMBER, FLAG, TEXT, TEXTS, ITEMS, TABLE, ANYTHING = (
    "duration", "list(duration)", "int", "bool", "string", "list(string)", "list(dyn)", "map(string, string)", "dyn",
)  # fmt: skip
"""Types of CEL, as its documentation spells them."""
_OF_UNIT: Mapping[str, tuple[str, Any]] = {
    "duration": (DURATION, 0), "durations": (DURATIONS, []), "bytes": (NUMBER, 0), "count": (NUMBER, 0), "flag": (FLAG, False),
    "text": (TEXT, ""), "time": (TEXT, ""), "list": (TEXTS, []), "mapping": (TABLE, {}),
}  # fmt: skip
"""By unit, the type, and what stands for nothing."""
MOST = (1 << 63) - 1
"""The highest number of CEL; sequences of streams are counted twice as far."""
LITERAL = r"""[rRbB]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
"""A text on one line."""
CHAIN = re.compile(
    r"""[rRbB]{0,2}("{3}|'{3}).*?\1|[rRbB]{0,2}"(?:\\.|[^"\\])*"|[rRbB]{0,2}'(?:\\.|[^'\\])*'|//[^\n]*"""
    r"""|(?<![.\w])(?P<chain>[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)+)""",
    re.DOTALL,
)
_KEY = re.compile(r"""[ \t]*\[\s*(?:'([^'\\\n]+)'|"([^"\\\n]+)")\s*\]""")
_IN_BRACKETS = "in_brackets_"
"""What the name of a key begins with that a condition writes in brackets; the key follows in hexadecimal digits."""


class Subject(NamedTuple):
    """What is judged."""

    change: Change
    resource: Resource
    """What it will be; of what is deleted or given up, what it is."""
    before: Resource
    stream: Resource
    view: View
    today: date


class Variable(NamedTuple):
    """One name that conditions may mention."""

    type: str
    read: Callable[[Subject], Any]
    needs: frozenset[str] = frozenset()
    """What must be known for it, as rules say it."""
    fields: Mapping[str, Any] = {}
    """The fields of its items, where it is a list of such."""


LIVE, NEIGHBOURS = frozenset({"live"}), frozenset({"neighbours"})


def variables(kind: Kind, registry: Registry) -> Mapping[str, Variable]:
    """Everything that a condition about a kind may mention."""
    by_name = {
        "environment.name": Variable(TEXT, lambda subject: subject.view.environment),
        "topology.name": Variable(TEXT, lambda subject: subject.view.topology),
        "today": Variable(TEXT, lambda subject: subject.today.isoformat()),
        "change.action": Variable(TEXT, lambda subject: subject.change.action.value, LIVE),
        "change.fields": Variable(
            TEXTS, lambda subject: list(dict.fromkeys(f.top for f in subject.change.fields)), LIVE
        ),
        "resource.kind": Variable(TEXT, lambda subject: subject.change.address.kind),
        "resource.address": Variable(TEXT, lambda subject: str(subject.change.address)),
        "resource.name": Variable(TEXT, lambda subject: subject.change.address.name),
        "resource.labels": Variable(TABLE, lambda subject: subject.change.labels),
        "resource.protect": Variable(FLAG, lambda subject: subject.resource.terms.protect),
        "resource.allow": Variable(ITEMS, _consents, fields=dict.fromkeys(("code", "reason", "until"))),
    }
    by_name |= dict(_variables_of_fields("resource", kind.fields, attrgetter("resource"), frozenset()))
    by_name |= dict(_variables_of_fields("before", kind.fields, attrgetter("before"), LIVE))
    if kind.place.within:
        by_name["stream.name"] = Variable(TEXT, lambda subject: subject.change.address.stream)
        by_name |= dict(
            _variables_of_fields("stream", registry[kind.place.within].fields, attrgetter("stream"), NEIGHBOURS)
        )
    return by_name


def without_brackets(condition: str, known_variables: Mapping[str, Variable]) -> str:
    """The condition with a name in place of each key in brackets, so that `resource.labels['cost-center']` is empty where it
    is absent, as `resource.labels.owner` is."""
    parts, end = [], 0
    for match in CHAIN.finditer(condition):
        variable = known_variables.get(re.sub(r"\s", "", match["chain"] or ""))
        if variable and variable.type == TABLE and (key := _KEY.match(condition, match.end())):
            parts += [condition[end : match.end()], f".{_IN_BRACKETS}{(key[1] or key[2]).encode().hex()}"]
            end = key.end()
    return "".join([*parts, condition[end:]])


def shown_name(name: str) -> str:
    """A name as conditions write it."""
    table, _, key = name.rpartition(".")
    return f"{table}['{_key_of(key)}']" if key.startswith(_IN_BRACKETS) else name


def _key_of(name: str) -> str:
    in_brackets = name.startswith(_IN_BRACKETS)
    return bytes.fromhex(name.removeprefix(_IN_BRACKETS)).decode() if in_brackets else name


def mentioned_variables(condition: str, known_variables: Mapping[str, Variable]) -> dict[str, Variable]:
    """The variables that a condition mentions. A key of labels or metadata is one of its own, and empty where it is absent,
    unless the condition asks with `has(…)` whether it is there."""
    by_name = {
        name: known_variables[name]
        for name in known_variables
        if "." not in name and re.search(rf"\b{name}\b", condition)
    }
    tested = set(_presence_tests(condition))
    for match in CHAIN.finditer(condition):
        parts = re.split(r"\s*\.\s*", match["chain"] or "")
        names = [".".join(parts[:length]) for length in range(len(parts), 1, -1)]
        name = next((candidate for candidate in names if candidate in known_variables), None)
        if name is None:
            continue
        by_name[name] = known_variables[name]
        rest = parts[name.count(".") + 1 :]
        if (
            known_variables[name].type == TABLE
            and rest
            and f"{name}.{rest[0]}" not in tested
            and not _is_called(condition, match)
        ):
            by_name[f"{name}.{rest[0]}"] = _variable_of_key(known_variables[name], rest[0])
    return by_name


def first_tested_field(condition: str, known_variables: Mapping[str, Variable]) -> str:
    """A field of which the condition asks with `has(…)` whether it is there; empty if it asks of none."""
    return next((name for name in _presence_tests(condition) if name in known_variables), "")


def _presence_tests(condition: str) -> Iterator[str]:
    for match in CHAIN.finditer(condition):
        if match["chain"] and re.search(r"\bhas\s*\(\s*$", condition[: match.start()]):
            yield re.sub(r"\s", "", match["chain"])


def _is_called(condition: str, match: re.Match[str]) -> bool:
    """`resource.labels.size()`: what follows is a function, and no key."""
    parts = match["chain"].count(".")
    return parts == 2 and condition[match.end() :].lstrip().startswith("(")


def _variable_of_key(table: Variable, key: str) -> Variable:
    return Variable(TEXT, lambda subject: table.read(subject).get(_key_of(key), ""), table.needs)


def _consents(subject: Subject) -> list[dict[str, Json]]:
    """Every consent to this resource, with empty texts where it says nothing."""
    change = subject.change
    if not change.terms.allow and not subject.view.allow:
        return []
    consents = (*change.terms.allow, *bulk_consents(change.address, change.labels, subject.view.allow))
    return [{"code": consent.code, "reason": consent.reason, "until": str(consent.until or "")} for consent in consents]


def _variables_of_fields(
    prefix: str, fields: Mapping[str, FieldInfo], of: Callable[[Subject], Resource], needs: frozenset[str]
) -> Iterator[tuple[str, Variable]]:
    for name, info in fields.items():
        yield from _variables_of_field(f"{prefix}.{name}", info, (name,), of, needs)


def _variables_of_field(
    name: str, info: FieldInfo, path: tuple[str, ...], of: Callable[[Subject], Resource], needs: frozenset[str]
) -> Iterator[tuple[str, Variable]]:
    if info.unit == "mapping" and info.nested and "member" not in info.nested:
        for inside, nested_info in info.nested.items():
            yield from _variables_of_field(f"{name}.{inside}", nested_info, (*path, inside), of, needs)
        return
    type_, default = _type_and_default(info)
    convert = partial(_complete_items, info.nested) if type_ == ITEMS and info.nested else _CONVERTED.get(type_)
    fields = info.nested if type_ == ITEMS and info.nested else {}
    yield name, Variable(type_, _reader(of, path, convert, default), needs, fields)


def _type_and_default(info: FieldInfo) -> tuple[str, Json]:
    type_, nothing = _OF_UNIT[info.unit]
    if info.nested:
        type_, nothing = (ITEMS, []) if info.unit == "list" else (ANYTHING, {})
    return type_, nothing if info.default is None else info.default


def _complete_items(nested: Mapping[str, FieldInfo], items: Sequence[Mapping[str, Json]]) -> list[dict[str, Any]]:
    """The items with a value for each field that they leave out."""
    return [_complete_item(nested, item) for item in items]


def _complete_item(nested: Mapping[str, FieldInfo], item: Mapping[str, Json]) -> dict[str, Any]:
    return {**item, **{name: _value_in_item(info, item.get(name)) for name, info in nested.items()}}


def _value_in_item(info: FieldInfo, value: Json) -> Any:
    if info.nested and info.unit == "mapping":
        return _complete_item(info.nested, value or {})
    if info.nested:
        return _complete_items(info.nested, value or [])
    type_, default = _type_and_default(info)
    convert = _CONVERTED.get(type_)
    found = default if value is None else value
    return convert(found) if convert else found


def _reader(
    of: Callable[[Subject], Resource], path: tuple[str, ...], convert: Callable[[Json], Any] | None, default: Json
) -> Callable[[Subject], Any]:
    """Return a function that reads the value at a path: what the canonical form leaves out is the default."""
    top, *inside = path

    def read(subject: Subject) -> Any:
        resource = of(subject)
        value = resource.config.get(top)
        for key in inside:
            value = value.get(key) if value else None
        if value is None:
            value = None if inside else resource.stock.get(top)
            value = default if value is None else value
        return convert(value) if convert else value

    return read


@lru_cache(maxsize=1024)
def _to_timedelta(nanoseconds: int) -> timedelta:
    return timedelta(microseconds=nanoseconds / 1000)


_CONVERTED: Mapping[str, Callable[[Json], Any]] = {
    DURATION: _to_timedelta,
    DURATIONS: lambda value: [_to_timedelta(item) for item in value],
    NUMBER: lambda value: min(value, MOST),
}


def subject_of(change: Change, stream: Resource | None, view: View) -> Subject | None:
    """Return what policies judge about a change; None where nothing is left, or somebody else manages it."""
    resource = change.desired or change.live
    if resource is None or resource.external:
        return None
    return Subject(change, resource, change.live or resource, stream or resource, view, view.today)


def stream_of(address: Address, view: View, registry: Registry) -> Resource | None:
    """The stream that this belongs to, as it will be; None where it belongs to none, or none is declared or live."""
    above = registry.parent_of(address)
    if above is None:
        return None
    if resource := view.desired.get(above) or view.live.get(above):
        return resource
    for bucket in view.backed_by(address.stream):
        if resource := view.desired.get(bucket) or view.live.get(bucket):
            return Resource(address=bucket, config=registry.of(bucket).as_stream(resource))
    return None
