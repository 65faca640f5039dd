"""Puts values in the place of `${name}` in the nodes of a file. A value is one node: it never changes the structure around
it, and text stays text, whatever it looks like."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from reconciler.documents.read.complain import complain, did_you_mean
from reconciler.documents.read.nodes import Mapping as Table
from reconciler.documents.read.nodes import Node, Scalar, Sequence, span
from reconciler.documents.read.parameters import WITHIN_TEXT, Chosen, Declaration
from reconciler.documents.read.tree import MOST_EXPANDED
from reconciler.documents.read.values import MENTIONED, Mask
from reconciler.model.diagnostic import Diagnostic, SourceSpan


@dataclass(slots=True)
class Filling:
    """Fills in the files of one topology."""

    values: Mapping[str, Chosen]
    declared: Mapping[str, Declaration]
    names: Mapping[str, SourceSpan]
    """Places of all names that are declared, also of those whose declaration cannot be read."""
    wrong: Collection[str]
    """Parameters whose value is wrong, which is reported once."""
    problems: list[Diagnostic] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)
    notes: dict[tuple[str, int, int], str] = field(default_factory=dict)
    """What stands at each place with a value, and where that is from."""
    unfilled: set[str] = field(default_factory=set)
    """Files in which something has no value: what they declare is not known."""
    added: int = 0

    def fill(self, file: str, root: Table, mask: Mask) -> None:
        """Fill in one file, in place."""
        _OneFile(self, file, mask).container(root)

    def note(self, node: Node, note: str) -> None:
        """Keep what is to be known of the value at this place."""
        place = (node.file, node.line + 1, node.column + 1)
        if note:
            self.notes[place] = f"{self.notes[place]}; {note}" if place in self.notes else note

    def explained(self, problem: Diagnostic) -> Diagnostic:
        """Return the problem with the value that stands at its place, if there is one."""
        at = problem.span
        note = self.notes.get((at.file, at.line, at.column)) if at else None
        return replace(problem, message=f"{problem.message} ({note})") if note else problem


@dataclass(slots=True)
class _OneFile:
    whole: Filling
    file: str
    mask: Mask
    seen: set[int] = field(default_factory=set)
    """Containers that are filled: an alias leads to the same one again."""

    def container(self, node: Table | Sequence) -> None:
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        if isinstance(node, Sequence):
            node.items = [self.node(item) for item in node.items]
            return
        entries, node.entries = node.entries, {}
        for key, value in entries.values():
            self._entry(node, self._text(key), self.node(value))

    def _entry(self, node: Table, key: Scalar, value: Node) -> None:
        first = node.entries.setdefault(key.text, (key, value))[0]
        if first is not key:
            message = f"`{key.text}` is written here and at {first.line + 1}:{first.column + 1}; keep one"
            self._say("XX505", "duplicate", message, key)

    def node(self, node: Node) -> Node:
        if not isinstance(node, Scalar):
            self.container(node)
            return node
        found = MENTIONED.fullmatch(text) if (text := self.mask.taken_off(node.text)) != node.text else None
        if found is None or found["own"]:
            return self._text(node)
        value = self._value(found["name"], node)
        if value is None:
            return node.saying(text, plain=False)
        self.whole.note(node, f"`{text}` is {_shown(value)}, from {value.origin}")
        return self._placed(value.node, value.type == "text", node)

    def _text(self, node: Scalar) -> Scalar:
        """A key, or a text that mentions parameters."""
        text = self.mask.taken_off(node.text)
        if text == node.text:
            return node
        notes: list[str] = []

        def filled(found: re.Match[str]) -> str:
            if found["own"]:
                return found[0][1:]
            value = self._value(found["name"], node)
            if value is None:
                return found[0]
            if value.type not in WITHIN_TEXT or not isinstance(value.node, Scalar):
                message = (
                    f"`{found[0]}` is a {value.type}, from {value.origin}, and cannot stand inside a text or a name"
                )
                self.whole.unfilled.add(self.file)
                self._say("XX517", "wrong-parameter", message, node, "let it stand alone, as a whole value")
                return found[0]
            notes.append(f"`{found[0]}` is `{value.node.text}`, from {value.origin}")
            return value.node.text

        result = node.saying(MENTIONED.sub(filled, text), plain=False)
        self.whole.note(node, "; ".join(dict.fromkeys(notes)))
        return result

    def _value(self, name: str, node: Scalar) -> Chosen | None:
        """The value of a parameter that is mentioned here; None if it has none, which is reported."""
        self.whole.mentioned.add(name)
        if (value := self.whole.values.get(name)) is not None:
            return value
        self.whole.unfilled.add(self.file)
        if name not in self.whole.names:
            message = f"`${{{name}}}` is no parameter of this topology{did_you_mean(name, self.whole.names)}"
            fix = f"declare {name} under `parameters`, or write `$${{{name}}}` for the text itself"
            self._say("XX515", "no-value", message, node, fix)
        elif (one := self.whole.declared.get(name)) and name not in self.whole.wrong:
            message = (
                f"`${{{name}}}` has no value: parameter `{name}` at {one.place} has no default, and none was given"
            )
            fix = f"give it a value: --value {name}=…, a line in a file of --values, or `values` in fleet.yaml"
            self._say("XX515", "no-value", message, node, fix)
        return None

    def _placed(self, node: Node, is_text: bool, at: Scalar) -> Node:
        """A copy of a value, at the place where it is mentioned."""
        self.whole.added += 1
        if self.whole.added == MOST_EXPANDED:
            self.whole.unfilled.add(self.file)
            message = f"the values add more than {MOST_EXPANDED:_} nodes to these files"
            self._say("XX513", "yaml-alias", message, at, "mention large values less often")
        if self.whole.added >= MOST_EXPANDED or isinstance(node, Scalar):
            one = node if isinstance(node, Scalar) else at
            return at.saying(one.text, plain=one.plain and not is_text)
        made = (Table if isinstance(node, Table) else Sequence)(True, at.line, at.column, at.file)
        made.end_line, made.end_column = at.end_line, at.end_column
        if isinstance(made, Table):
            assert isinstance(node, Table)
            made.entries = {
                name: (at.saying(key.text, plain=key.plain), self._placed(value, False, at))
                for name, (key, value) in node.entries.items()
            }
        elif isinstance(node, Sequence):
            made.items = [self._placed(item, False, at) for item in node.items]
        return made

    def _say(self, code: str, name: str, message: str, node: Scalar, fix: str | None = None) -> None:
        self.whole.problems.append(complain(code, name, message, span(node), fix=fix))


def _shown(value: Chosen) -> str:
    return f"`{value.node.text}`" if isinstance(value.node, Scalar) else f"a {value.type}"
