"""Reads `parameters:` and settles the value of each: the one that was given, or its default, of the type that is declared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError
from pydantic_core import PydanticCustomError, SchemaError, SchemaValidator, core_schema

from reconciler.documents.fill.for_each import EACH, FOR_EACH
from reconciler.documents.fill.values import MENTIONED, NAME, Given
from reconciler.documents.parse.explain_error import read_spec
from reconciler.documents.parse.nodes import Mapping as Table
from reconciler.documents.parse.nodes import (
    Node,
    Place,
    Scalar,
    error_at,
    is_null,
    listed,
    mapping_at,
    node_to_show,
    shape_in_words,
    span,
)
from reconciler.documents.parse.plain_values import NodeProblem, Plain, needs_quotes_as_name, spell
from reconciler.documents.parse.shape import Shape
from reconciler.documents.parse.tree import read_tree
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.resource import Json, Spec
from reconciler.model.units import parse_bytes, parse_duration

Type = Literal["text", "number", "duration", "size", "flag", "list", "mapping"]


class Parameter(Spec):
    """A value that the files leave open, mentioned as `${name}`."""

    type: Type = "text"
    """What the value is: text, a number, a duration, a size, a flag, a list or a mapping. Left out: text."""
    description: str | None = None
    """What it is for. Left out: its name says it."""
    default: Json = None
    """The value where none is given. Left out: a value must be given."""
    allowed: tuple[Json, ...] | None = Field(default=None, min_length=1)
    """The only values that it may have. Left out: any of its type."""
    pattern: str | None = None
    """A regular expression that a whole text must match, without look-around and back-references. Left out: any text."""


SHAPES: Mapping[str, Shape] = {
    "text": Shape(types={"string"}),
    "number": Shape(types={"integer", "number"}),
    "duration": Shape(types={"string", "integer"}),
    "size": Shape(types={"string", "integer"}),
    "flag": Shape(types={"boolean"}),
    "list": Shape(types={"array"}),
    "mapping": Shape(types={"object"}),
}
PARSED = {"duration": parse_duration, "size": parse_bytes}
WITHIN_TEXT = ("text", "number", "duration", "size", "flag")
"""Types whose values may stand inside a text: `orders.${region}.>`."""


class Chosen(NamedTuple):
    """The value of a parameter."""

    node: Node
    type: Type
    origin: str
    """Where it is from, in words."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A parameter as a file declares it."""

    name: str
    says: Parameter
    where: Place
    default: Node | None

    @property
    def place(self) -> SourceSpan:
        """Return the place of its name."""
        return self.where("")


@dataclass(slots=True)
class Parameters:
    """Gathers the parameters of all files of a topology."""

    declared: dict[str, Declaration] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    names: dict[str, SourceSpan] = field(default_factory=dict)
    """Every name that is declared, even one that cannot be read."""
    wrong: set[str] = field(default_factory=set)
    """Those that were given a wrong value."""

    def read_section(self, key: Scalar, node: Node) -> None:
        """Read the section of one file."""
        if is_null(node):
            return
        if not isinstance(node, Table):
            message = f"{key.text} is {shape_in_words(node)}; write a mapping of names (`region: {{type: text}}`)"
            self._add_error(NodeProblem(node_to_show(key, node), "504", "wrong-shape", message))
            return
        for name, below in node.entries.values():
            if earlier := self.names.setdefault(name.text, span(name)):
                self._read_parameter(name, below, earlier)

    def _read_parameter(self, name: Scalar, node: Node, earlier: SourceSpan) -> None:
        if earlier != span(name):
            message = f"parameter `{name.text}` is declared here and at {earlier}; keep one"
            self._add_error(NodeProblem(name, "505", "duplicate", message))
        elif wrong := _problem_with_name(name):
            self._add_error(NodeProblem(name, "506", "bad-name", wrong))
        elif not isinstance(node, Table) and not is_null(node):
            message = (
                f"parameter `{name.text}` is {shape_in_words(node)}; write a mapping (`{name.text}: {{type: text}}`)"
            )
            self._add_error(NodeProblem(node_to_show(name, node), "504", "wrong-shape", message))
        else:
            self._read_declaration(name, node if isinstance(node, Table) else mapping_at(node))

    def _read_declaration(self, name: Scalar, node: Table) -> None:
        path = f"parameters.{name.text}"
        parameter, findings = read_spec(Parameter, node, name, path)
        if parameter is not None:
            findings = [*findings, *_contradictions(parameter, node, path)]
        for finding in findings:
            self._add_error(finding)
        if parameter is not None and not findings:
            default = node.get("default")
            self.declared[name.text] = Declaration(name.text, parameter, Place(name, node), default)

    def _add_error(self, finding: NodeProblem) -> None:
        self.problems.append(finding.diagnostic())

    def settle(self, given: Mapping[str, Given]) -> dict[str, Chosen]:
        """Return the value of each parameter that has one. A wrong value is reported, and counts for nothing."""
        chosen: dict[str, Chosen] = {}
        for name, declaration in self.declared.items():
            if name in given:
                node = _node_of(given[name], declaration.says.type)
                wrongs = list(_problems_with_value(declaration.says, node, name))
                self.problems += (_wrong_parameter(wrong, given[name], declaration) for wrong in wrongs[:1])
                if wrongs:
                    self.wrong.add(name)
                else:
                    chosen[name] = Chosen(node, declaration.says.type, given[name].origin)
            elif declaration.default is not None:
                place = declaration.where("default")
                chosen[name] = Chosen(declaration.default, declaration.says.type, f"the default at {place}")
        return chosen


def _problem_with_name(name: Scalar) -> str | None:
    if not re.fullmatch(NAME, name.text):
        return (
            f"`{name.text}` cannot stand in `${{…}}`; begin with a letter, and write letters, digits, `_`, `.` and `-`"
        )
    if name.text.split(".")[0] == EACH:
        return f"`{name.text}` is a name that `{FOR_EACH}` gives a meaning; choose another"
    other = needs_quotes_as_name(name.text) if name.plain else None
    return f'name `{name.text}` is {other} to YAML readers; put it in quotes: "{name.text}"' if other else None


def _contradictions(parameter: Parameter, node: Table, path: str) -> Iterator[NodeProblem]:
    """Report what of a declaration contradicts itself."""
    if parameter.pattern is not None:
        if parameter.type != "text":
            yield NodeProblem(
                node.entries["pattern"][1],
                "502",
                "wrong-value",
                f"{path}.pattern is for text, not for a {parameter.type}",
            )
        elif wrong := _why_pattern_is_unusable(parameter.pattern):
            yield NodeProblem(node.entries["pattern"][1], "502", "wrong-value", f"{path}.pattern {wrong}")
            return
    bare = parameter.model_copy(update={"allowed": None})
    for key in ("allowed", "default"):
        if (entry := node.get(key)) is None:
            continue
        items = entry.items if key == "allowed" and not isinstance(entry, (Scalar, Table)) else [entry]
        for item in items:
            for objection in _problems_with_value(bare if key == "allowed" else parameter, item, f"{path}.{key}"):
                yield NodeProblem(item, "502", "wrong-value", objection)


def _why_pattern_is_unusable(pattern: str) -> str | None:
    """None: values can be checked with it."""
    try:
        _validator_in_linear_time(pattern)
        _validator_of_whole(pattern)
    except SchemaError as error:
        reason = re.split("[Ee]rror: ", str(error))[-1].strip().rstrip(".")
        return f"`{pattern}` cannot be used: {reason[:1].lower()}{reason[1:]}"
    return None


def _validator_of_whole(pattern: str) -> SchemaValidator:
    """Accept texts that the pattern matches whole."""
    return _validator_in_linear_time(rf"\A(?:{pattern})\z")


def _validator_in_linear_time(pattern: str) -> SchemaValidator:
    """Accept texts that hold the pattern. Whatever it is, the time that it takes grows only with the text."""
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _matches(pattern: str, text: str) -> bool:
    try:
        _validator_of_whole(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


def _node_of(given: Given, type_: Type) -> Node:
    """Return a given value as a node. What the command line gives for a text is that text. For any other type it is
    read as YAML."""
    if not isinstance(given.value, str):
        return given.value
    if type_ in ("list", "mapping"):
        root, _ = read_tree(given.origin, given.value)
        if root is not None:
            return root
    return Scalar.of(given.value, plain=type_ != "text")


def _problems_with_value(parameter: Parameter, node: Node, name: str) -> Iterator[str]:
    """Yield why this cannot be a value of the parameter."""
    if is_null(node):
        yield f"{name} has no value; write one, or leave it out"
        return
    if mention := _first_mention(node):
        yield f"{name} mentions `{mention}`, but a value is taken as it is, and nothing in it is replaced"
        return
    plain = Plain()
    value = plain.value(node, SHAPES[parameter.type], name)
    yield from (each.message for each in plain.findings)
    if plain.findings:
        return
    if wrong := _problem_with_unit(parameter.type, value):
        yield f"{name}: {wrong}"
    elif isinstance(value, str) and not value.isprintable():
        yield f"{name} contains a line break, or another character that does not fit on a line"
    elif parameter.allowed is not None and not any(
        _are_equal(value, each, parameter.type) for each in parameter.allowed
    ):
        choices = [spell(each) for each in parameter.allowed]
        yield f"{name} `{_spell_single(value)}` is not allowed; write {listed(choices)}"
    elif parameter.pattern is not None and not _matches(parameter.pattern, str(value)):
        yield f"{name} `{value}` does not match the pattern `{parameter.pattern}`"


def _first_mention(node: Node) -> str | None:
    """A mention of a parameter, anywhere in a value."""
    if isinstance(node, Scalar):
        match = MENTIONED.search(node.text)
        return match[0] if match else None
    children = node.items if not isinstance(node, Table) else [value for _, value in node.entries.values()]
    return next(filter(None, map(_first_mention, children)), None)


def _are_equal(value: Json, other: Json, type_: Type) -> bool:
    parse = PARSED.get(type_)
    return parse(value) == parse(other) if parse else type(value) is type(other) and value == other


def _spell_single(value: Json) -> str:
    return spell(value) if not isinstance(value, (list, dict)) else "…"


def _problem_with_unit(type_: Type, value: Json) -> str | None:
    if parse := PARSED.get(type_):
        try:
            parse(value)
        except PydanticCustomError as error:
            return error.message()
    return None


def _wrong_parameter(wrong: str, given: Given, declared: Declaration) -> Diagnostic:
    origin = "" if given.span else f" (from {given.origin})"
    message = f"{wrong}{origin}; parameter `{declared.name}` is declared at {declared.place}"
    return error_at("XX517", "wrong-parameter", message, given.span or declared.place)


def unmentioned_parameters(declared: Iterable[Declaration], mentioned: set[str]) -> Iterator[Diagnostic]:
    """Report parameters that no file mentions: whoever gives one a value would believe that it changes something."""
    for declaration in declared:
        if declaration.name not in mentioned:
            message = f"parameter `{declaration.name}` is declared, but no file mentions `${{{declaration.name}}}`"
            yield error_at("XX516", "unused-value", message, declaration.place, fix="mention it, or remove it")
