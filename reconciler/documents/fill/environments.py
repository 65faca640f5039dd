"""Reads `environments:`, the places where a topology is applied, and finds the one that a run is for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from reconciler.documents.fill.values import NAME, Given, Mask, unmask
from reconciler.documents.parse.explain_error import read_spec
from reconciler.documents.parse.files import Tree
from reconciler.documents.parse.nodes import Mapping as Table
from reconciler.documents.parse.nodes import (
    Node,
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
from reconciler.documents.parse.nodes import Sequence as Items
from reconciler.documents.parse.plain_values import NodeProblem
from reconciler.documents.parse.tree import read_tree
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.resource import Json, Spec
from reconciler.model.topology import Expect

SECTION, OF_FILE = "environments", "environment"
"""The section that declares environments, and the key of a file that is an overlay for some of them."""
FEW = 8
"""How many environments a message names."""
_NO_PATTERN = frozenset("*?[")


class Environment(Spec):
    """A place where this topology is applied, with what is different there."""

    description: str | None = None
    """What it is for. Left out: its name says it."""
    values: dict[str, Json] = Field(default_factory=dict)
    """Values of parameters. They count before a default, and after `--values` and `--value`. Left out: none."""
    context: str | None = None
    """Context of the `nats` CLI that leads there. Left out: `server` says where, or the command line."""
    server: str | None = None
    """URLs of the servers, separated by commas, without a login. Left out: `context` says where, or the command line."""
    expect: Expect = Field(default_factory=Expect)
    """Where this environment belongs, added to `expect` of all environments. Left out: nothing more."""
    overlay: dict[str, Json] = Field(default_factory=dict)
    """What is different in the files for this environment alone. Left out: what the files of this environment say, which
    begin with `environment: NAME`."""


class FileEnvironment(NamedTuple):
    """An environment as a file declares it."""

    says: Environment
    name: Scalar
    node: Table

    def given_values(self) -> dict[str, Given]:
        """Return its values."""
        values = self.node.get("values")
        entries = values.entries if isinstance(values, Table) else {}
        where = f"environment `{self.name.text}`"
        return {
            name: Given(node, f"{where} at {span(node_to_show(key, node))}", span(node_to_show(key, node)))
            for name, (key, node) in entries.items()
        }

    @property
    def way(self) -> SourceSpan:
        """Return the place of its context or server, or of its name where it has neither."""
        entries = (self.node.entries.get(key) for key in ("context", "server"))
        return next((span(node_to_show(*entry)) for entry in entries if entry), span(self.name))

    @property
    def leads_to(self) -> str:
        """Return where it leads, in words."""
        if self.says.context is not None:
            return f"context {self.says.context}"
        return f"server {self.says.server}" if self.says.server is not None else "where the command line says"

    def overlay_table(self) -> Table | None:
        """Return what it changes in the files, as if it stood at the top of a file of its own."""
        table = Table(False, self.node.line, self.node.column, self.node.file)
        if isinstance(overlay := self.node.get("overlay"), Table):
            table.entries.update(overlay.entries)
        if "expect" in self.node.entries:
            table.entries["expect"] = self.node.entries["expect"]
        return table if table.entries else None


@dataclass(slots=True)
class Environments:
    """Gathers the environments of all files of a topology."""

    declared: dict[str, FileEnvironment] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    names: dict[str, SourceSpan] = field(default_factory=dict)
    """Every name that is declared, even one that cannot be read."""

    def read_section(self, key: Scalar, node: Node, mask: Mask | None) -> None:
        """Read the section of one file. No parameter stands for any of it but what is in overlays."""
        if is_null(node):
            return
        if not isinstance(node, Table):
            message = f"{key.text} is {shape_in_words(node)}; write a mapping of names (`dev: {{context: dev}}`)"
            self._add_error(NodeProblem(node_to_show(key, node), "504", "wrong-shape", message))
            return
        for name, declaration in node.entries.values():
            earlier = self.names.setdefault(name.text, span(name))
            if earlier != span(name):
                message = f"environment `{name.text}` is declared here and at {earlier}; keep one"
                self._add_error(NodeProblem(name, "505", "duplicate", message))
            elif not re.fullmatch(NAME, name.text):
                message = f"`{name.text}` cannot name an environment; begin with a letter, and write letters, digits, `_`, `.` and `-`"
                self._add_error(NodeProblem(name, "506", "bad-name", message))
            elif not (isinstance(declaration, Table) or is_null(declaration)):
                example = f"{name.text}: {{context: {name.text}}}"
                message = f"environment `{name.text}` is {shape_in_words(declaration)}; write a mapping (`{example}`)"
                self._add_error(NodeProblem(node_to_show(name, declaration), "504", "wrong-shape", message))
            else:
                unmasked_table = mapping_at(declaration)
                for entry_name, (entry_key, value) in (
                    declaration.entries.items() if isinstance(declaration, Table) else ()
                ):
                    unmasked_table.entries[entry_name] = (
                        entry_key,
                        value if entry_name == "overlay" else unmask(value, mask),
                    )
                self._read_declaration(name, unmasked_table)

    def _read_declaration(self, name: Scalar, node: Table) -> None:
        path = f"{SECTION}.{name.text}"
        # An overlay is read like a file.
        own = without(node, ("overlay",)) if isinstance(node.get("overlay"), Table) else node
        environment, findings = read_spec(Environment, node, name, path, read=own)
        if environment is not None:
            findings = [*findings, *_contradictions(environment, node, path)]
        for finding in findings:
            self._add_error(finding)
        if environment is not None and not findings:
            self.declared[name.text] = FileEnvironment(environment, name, node)

    def choose(self, wanted: str | None, topology: str, start: SourceSpan | None) -> FileEnvironment | None:
        """Return the environment of this run. One is needed where there are any."""
        if wanted is None:
            if self.names:
                message = f"topology {topology} has environments, and each is planned by itself: {_first_names([*self.names])}"
                first_place = next(iter(self.names.values()))
                self._add_problem(message, first_place, f"choose one: --environment {next(iter(self.names))}")
        elif not self.names:
            message = f"topology {topology} has no environments, and none `{wanted}`"
            self._add_problem(message, start, f"leave --environment out, or declare {wanted} under `{SECTION}`")
        elif is_pattern(wanted):
            matches = matching_names(self.names, wanted)
            message = f"`{wanted}` can mean several environments, and this command or one of its options works on one"
            message = message if matches else f"no environment of topology {topology} matches `{wanted}`"
            self._add_problem(
                message, next(iter(self.names.values())), f"choose {_first_names(matches or [*self.names])}"
            )
        elif wanted not in self.names:
            guess = did_you_mean(wanted, self.names)
            message = f"topology {topology} has no environment `{wanted}`{guess}"
            self._add_problem(message, next(iter(self.names.values())), f"choose {_first_names([*self.names])}")
        return self.declared.get(wanted) if wanted else None

    def names_of_file(self, node: Node) -> set[str]:
        """Return the environments that a file is an overlay for, as its key `environment` says."""
        items = node.items if isinstance(node, Items) else [node]
        names = set[str]()
        if not items:
            message = f"{OF_FILE} is an empty list, so this file is for no environment; name one"
            self._add_error(NodeProblem(node, "504", "wrong-shape", message))
        for item in items:
            if not isinstance(item, Scalar) or is_null(item):
                message = f"{OF_FILE} is {shape_in_words(item)}; write the name of an environment, or a list of names"
                self._add_error(NodeProblem(item, "504", "wrong-shape", message))
            elif item.text not in self.names:
                message = f"there is no environment `{item.text}`{did_you_mean(item.text, self.names)}"
                other = f"choose {_first_names([*self.names])}" if self.names else "name the files that declare it too"
                self._add_problem(message, span(item), f"declare {item.text} under `{SECTION}`, or {other}")
            else:
                names.add(item.text)
        return names

    def _add_problem(self, message: str, where: SourceSpan | None, fix: str) -> None:
        self.problems.append(error_at("XX518", "environment", message, where, fix=fix))

    def _add_error(self, finding: NodeProblem) -> None:
        self.problems.append(finding.diagnostic())


def _first_names(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return listed(names[:FEW]) + (f" … ({len(names) - FEW:_} more)" if len(names) > FEW else "")


def _contradictions(environment: Environment, node: Table, path: str) -> Iterator[NodeProblem]:
    """Report what of a declaration contradicts itself, or is unsafe."""
    if environment.context is not None and environment.server is not None:
        yield NodeProblem(node.entries["server"][0], "502", "wrong-value", f"{path} has context and server; keep one")
    for key, text in (("context", environment.context), ("server", environment.server)):
        if text is not None and not (text and text.isprintable()):
            wrong = "is empty" if not text else "contains a character that nobody can see"
            yield NodeProblem(node_to_show(*node.entries[key]), "502", "wrong-value", f"{path}.{key} {wrong}")
    if environment.server is not None and "@" in environment.server:
        yield NodeProblem(
            node_to_show(*node.entries["server"]), "502", "wrong-value",
            f"{path}.server contains a login; log in with --creds, --user, a variable or a context instead",
        )  # fmt: skip


def environments_in(paths: Sequence[Path], tree: Tree) -> Mapping[str, FileEnvironment]:
    """Return the environments that these files declare, as far as they can be read: loading them reports the rest."""
    files, environments = tree.find(paths)[0], Environments()
    for path in files:
        text, problems = tree.read(path)
        if problems or SECTION not in text:
            continue
        mask = Mask.for_text(text)
        root, _ = read_tree(str(path), mask.hide_braces(text))
        if isinstance(root, Table) and (entry := root.entries.get(SECTION)):
            environments.read_section(*entry, mask)
    return environments.declared


def is_pattern(wanted: str) -> bool:
    """May several environments be meant?"""
    return not _NO_PATTERN.isdisjoint(wanted)


def matching_names(names: Iterable[str], wanted: str) -> list[str]:
    """Return the names that a pattern such as `prod-*` matches."""
    return [name for name in names if fnmatchcase(name, wanted)]
