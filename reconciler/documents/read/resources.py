"""Turns sections into declared resources: names become addresses, and nested sections become children."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import NamedTuple

from reconciler.changes.kind import Kind, Registry
from reconciler.documents.fill.for_each import ElementScalar
from reconciler.documents.parse.explain_error import read_spec
from reconciler.documents.parse.nodes import (
    Mapping,
    Node,
    Place,
    Scalar,
    did_you_mean,
    error_at,
    is_null,
    listed,
    mapping_at,
    node_to_show,
    shape_in_words,
    span,
    without,
)
from reconciler.documents.parse.plain_values import NodeProblem, needs_quotes_as_name
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.resource import Address, Declared


class NamedSection(NamedTuple):
    """A section of names: the kinds that share it, and the names of the resources around it."""

    kinds: tuple[Kind, ...]
    parents: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """Return the family of codes for a name whose kind is not known yet."""
        return self.kinds[0].family if len(self.kinds) == 1 else "XX"

    def error_at(self, number: str, name: str, message: str, node: Node) -> Diagnostic:
        """Report about something without an address of its own; the resource around it has one."""
        parent_kind = self.kinds[0].place.within
        above = str(Address(parent_kind, self.parents)) if parent_kind else None
        return error_at(f"{self.family}{number}", name, message, span(node), address=above)


@dataclass(slots=True)
class Collector:
    """Gathers the resources of all files; a name that is declared twice is reported with both places."""

    registry: Registry
    resources: list[Declared] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    first: dict[tuple[str, tuple[str, ...]], Place] = field(default_factory=dict)
    """Where each name was first declared, by its section and the names around it."""
    unreadable: set[Address] = field(default_factory=set)
    """Resources that are declared, but so wrong that they cannot be read."""
    alike: dict[tuple[str, SourceSpan | None], list[str]] = field(default_factory=dict)
    """Elements of a `for_each` that have the same problem at the same place."""

    def read_section(self, section: NamedSection, key: Scalar, node: Node) -> None:
        """Read everything under `streams:` or, inside a stream, under `consumers:`."""
        if is_null(node):
            return
        if not isinstance(node, Mapping):
            message = f"{key.text} is {shape_in_words(node)}; write a mapping of names (`NAME: {{…}}`)"
            self.problems.append(section.error_at("504", "wrong-shape", message, node_to_show(key, node)))
            return
        for name, value in node.entries.values():
            before = len(self.problems)
            if wrong := _problem_with_name(name, section.kinds):
                self.problems.append(section.error_at("506", "bad-name", wrong, name))
            elif kind := self._kind_of(section, name, value):
                self._read_resource(section, kind, Place(name, value))
            if isinstance(name, ElementScalar) and len(self.problems) > before:
                new_problems = self.problems[before:]
                self.problems[before:] = self._not_seen_before(new_problems, name.note)

    def _not_seen_before(self, problems: Iterable[Diagnostic], element: str) -> Iterator[Diagnostic]:
        """Yield what is wrong with one element, unless it is wrong with an earlier one too."""
        for problem in problems:
            if (sameness := (problem.code, problem.span)) not in self.alike:
                self.alike[sameness] = [element]
                yield problem
            else:
                self.alike[sameness].append(element)

    def all_problems(self) -> Iterator[Diagnostic]:
        """Yield the problems. One that several elements have says so."""
        for problem in self.problems:
            if elements := self.alike.get((problem.code, problem.span)):
                others = f", and for {len(elements) - 1:_} more" if len(elements) > 1 else ""
                yield replace(problem, message=f"{problem.message} (for {elements[0]}{others})")
            else:
                yield problem

    def _kind_of(self, section: NamedSection, name: Scalar, value: Node) -> Kind | None:
        """The section's kind, or among several the one that the tag names (`type: elastic`)."""
        by_tag = {kind.place.tag[1]: kind for kind in section.kinds if kind.place.tag}
        if not by_tag:
            return section.kinds[0]
        key = section.kinds[0].place.tag[0]  # type: ignore[index]
        entry = value.entries.get(key) if isinstance(value, Mapping) else None
        if entry is None:
            message = f"`{name.text}` needs `{key}`: {listed(by_tag)}"
            self.problems.append(section.error_at("503", "missing-key", message, name))
            return None
        tag = entry[1].text if isinstance(entry[1], Scalar) else ""
        if tag not in by_tag:
            written = f"`{tag}`" if tag else shape_in_words(entry[1])
            message = f"{key} {written} is not {listed(by_tag)}{did_you_mean(tag, by_tag)}"
            self.problems.append(section.error_at("502", "wrong-value", message, node_to_show(*entry)))
        return by_tag.get(tag)

    def _read_resource(self, section: NamedSection, kind: Kind, place: Place) -> None:
        name, node = place.key, place.node
        assert isinstance(name, Scalar)
        address = Address(kind.name, (*section.parents, name.text))
        earlier = self.first.setdefault((kind.section, address.names), place)
        if earlier is not place:
            message = f"`{name.text}` is declared here and at {earlier('')}; keep one"
            self._add_error(kind, address, NodeProblem(name, "505", "duplicate", message))
        if not (isinstance(node, Mapping) or is_null(node)):
            message = f"`{name.text}` is {shape_in_words(node)}; write a mapping (`key: value`)"
            self._add_error(kind, address, NodeProblem(node_to_show(name, node), "504", "wrong-shape", message))
            return
        inner = self.registry.sections(kind.name)
        other_keys = (*inner, *(kind.place.tag or ())[:1])
        spec, findings = read_spec(kind.spec, _spec_mapping(kind, node, inner), name, known=other_keys)
        for finding in findings:
            self._add_error(kind, address, finding)
        if spec is not None and not findings:
            self.resources.append(Declared(address=address, spec=spec, where=place))
        for key, kinds in inner.items():
            if isinstance(node, Mapping) and key in node.entries:
                self.read_section(NamedSection(kinds, address.names), *node.entries[key])

    def readable_resources(self) -> Iterator[Declared]:
        """Return the resources that could be read, with everything around them."""
        for resource in self.resources:
            if self.unreadable.isdisjoint((resource.address, self.registry.parent_of(resource.address))):
                yield resource

    def _add_error(self, kind: Kind, address: Address, finding: NodeProblem) -> None:
        self.unreadable.add(address)
        self.problems.append(finding.diagnostic(kind.family, str(address)))


def _spec_mapping(kind: Kind, node: Node, inner: Iterable[str]) -> Mapping:
    """What the resource's spec is read from: its keys without its children's sections and its tag."""
    if not isinstance(node, Mapping):
        return mapping_at(node)
    other = set(inner)
    if kind.place.tag and kind.place.tag[0] not in kind.spec.model_fields:
        other.add(kind.place.tag[0])
    return node if other.isdisjoint(node.entries) else without(node, other)


def _problem_with_name(name: Scalar, kinds: Iterable[Kind]) -> str | None:
    """Report names that need quotes; the kind's own rule reports names that quotes do not help."""
    if not name.text:
        return "a name is empty"
    other = needs_quotes_as_name(name.text) if name.plain else None
    if other and any(re.fullmatch(kind.place.names, name.text) for kind in kinds):
        return f'name `{name.text}` is {other} to YAML readers; put it in quotes: "{name.text}"'
    if "/" in name.text:
        return f"name `{name.text}` holds `/`, which separates names in addresses"
    return None
