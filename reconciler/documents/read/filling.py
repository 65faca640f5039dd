"""Puts values in the place of `${name}` in the nodes of a file, and many resources in the place of one with `for_each`. A value is
one node: it never changes the structure around it, and text stays text, whatever it looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace

from reconciler.changes.kind import Kind
from reconciler.documents.read.complain import complain, did_you_mean
from reconciler.documents.read.for_each import EACH, FOR_EACH, Each, Stamped, Unfit, elements
from reconciler.documents.read.header import KEYS, LISTS
from reconciler.documents.read.nodes import Mapping as Table
from reconciler.documents.read.nodes import Node, Scalar, Sequence, list_at, mapping_at, span, without
from reconciler.documents.read.parameters import WITHIN_TEXT, Chosen, Declaration, Type
from reconciler.documents.read.tree import MOST_EXPANDED
from reconciler.documents.read.values import MENTIONED, Mask
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan

Sections = Mapping[str, tuple[Kind, ...]]
"""The sections below a resource, or at the top of a file, with the kinds that share each."""
_NO_SECTIONS: Sections = {}


@dataclass(slots=True)
class Filling:
    """Fills in the files of one topology."""

    values: Mapping[str, Chosen]
    declared: Mapping[str, Declaration]
    names: Mapping[str, SourceSpan]
    """Places of all names that are declared, also of those whose declaration cannot be read."""
    wrong: Collection[str]
    """Parameters whose value is wrong, which is reported once."""
    sections: Callable[[str | None], Sections]
    """The sections that may stand below a kind, or at the top."""
    problems: list[Diagnostic] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)
    notes: dict[tuple[str, int, int], str] = field(default_factory=dict)
    """What stands at each place with a value, and where that is from."""
    unfilled: set[str] = field(default_factory=set)
    """Files in which something has no value: what they declare is not known."""
    added: int = 0

    def fill(self, file: str, root: Table, mask: Mask) -> None:
        """Fill in one file: the top stays the same mapping, with other entries."""
        one = _OneFile(self, file, mask)
        root.entries = one.top(root).entries
        for (place, name, why), keys in one.missing.items():
            others = f" and {len(keys) - 1:_} more" if len(keys) > 1 else ""
            message = f"`${{{name}}}` has no value for key `{keys[0]}`{others}: {why}"
            fix = "write it for every key, or mention something else"
            self.problems.append(complain("XX515", "no-value", message, place, fix=fix))

    def note(self, node: Node, note: str) -> None:
        """Keep what is to be known of the value at this place. Of an entry that stands for many, each says the same."""
        place = (node.file, node.line + 1, node.column + 1)
        said = self.notes.get(place, "")
        if note and note not in said.split("; "):
            self.notes[place] = f"{said}; {note}" if said else note

    def explained(self, problem: Diagnostic) -> Diagnostic:
        """Return the problem with the value that stands at its place, if there is one."""
        at = problem.span
        note = self.notes.get((at.file, at.line, at.column)) if at else None
        return replace(problem, message=f"{problem.message} ({note})") if note else problem


@dataclass(slots=True)
class _OneFile:
    """Returns the nodes of one file with values in place. What mentions nothing stays the same node."""

    whole: Filling
    file: str
    mask: Mask
    each: Each | None = None
    """The element that `${each.…}` is about."""
    done: dict[int, Node] = field(default_factory=dict)
    """What became of each container: an alias leads to the same one again."""
    constant: set[int] = field(default_factory=set)
    """Containers that mention nothing: they are the same for every element."""
    missing: dict[tuple[SourceSpan, str, str], list[str]] = field(default_factory=dict)
    """What elements do not have, with their keys."""

    def top(self, root: Table) -> Table:
        """Fill in what stands at the top of a file."""
        sections, made = self.whole.sections(None), mapping_at(root)
        for key, node in root.entries.values():
            if key.text not in sections and key.text not in KEYS:
                self._entry(made, key, node)  # an anchor is filled in where it is used, and an unknown key is reported
            elif key.text in LISTS and isinstance(node, Sequence):
                self._entry(made, key, self._list(node))
            else:
                self._entry(made, self._text(key), self._below(key, node, sections))
        return made

    def _below(self, key: Scalar, node: Node, sections: Sections) -> Node:
        if key.text in sections and isinstance(node, Table):
            return self._section(node, sections[key.text])
        return self.node(node)

    def _section(self, node: Table, kinds: tuple[Kind, ...]) -> Table:
        """Fill in a section of names. An entry with `for_each` becomes one for each element."""
        if id(node) in self.constant:
            return node
        inner = {name: below for kind in kinds for name, below in self.whole.sections(kind.name).items()}
        made = mapping_at(node)
        for key, value in node.entries.values():
            if not isinstance(value, Table):
                self._entry(made, self._text(key), self.node(value))
            elif FOR_EACH in value.entries:
                self._stamp(made, key, value, inner)
            else:
                self._entry(made, self._text(key), self._table(value, inner))
        if (kept := _unless_same(node, made)) is node:
            self.constant.add(id(node))
        return kept

    def _stamp(self, made: Table, key: Scalar, value: Table, inner: Sections) -> None:
        one_of_them, first = without(value, (FOR_EACH,)), dict[str, str]()
        for one in self._elements(*value.entries[FOR_EACH]):
            assert one.each
            text, element = one._text(key), one.each.key.text
            if text.text in first:
                message = f"keys `{first[text.text]}` and `{element}` of {FOR_EACH} both give the name `{text.text}`"
                self._say("XX527", "for-each", message, key, "mention `${each.key}` in the name")
                return
            first[text.text] = element
            name = Stamped(key, text.text, False, one.each.origin)
            self._entry(made, name, one._table(one_of_them, inner))

    def _elements(self, key: Scalar, node: Node) -> Iterator[_OneFile]:
        """Yield the same file for each element."""
        if isinstance(node, Scalar) and (name := self._mentioned(node)):
            value = self._value(name, node)
            found = value.node if value else None
        else:
            found = self.node(node)
        for one in elements(key, found, self.each) if found else ():
            if isinstance(one, Unfit):
                self.whole.problems.append(complain("XX527", "for-each", one.message, span(one.node)))
            else:
                yield replace(self, each=one, done={})

    def _list(self, node: Sequence) -> Sequence:
        made = list_at(node)
        for item in node.items:
            if isinstance(item, Table) and FOR_EACH in item.entries:
                entry = without(item, (FOR_EACH,))
                made.items += [one._table(entry, _NO_SECTIONS) for one in self._elements(*item.entries[FOR_EACH])]
            else:
                made.items.append(self.node(item))
        return made

    def node(self, node: Node) -> Node:
        """Fill in what stands anywhere below."""
        if isinstance(node, Scalar):
            return self._scalar(node)
        if id(node) in self.constant:
            return node
        if (there := self.done.get(id(node))) is not None:
            return there
        made = self._table(node, _NO_SECTIONS) if isinstance(node, Table) else self._items(node)
        self.done[id(node)] = made
        if made is node:
            self.constant.add(id(node))
        return made

    def _items(self, node: Sequence) -> Sequence:
        items = [self.node(item) for item in node.items]
        if all(one is other for one, other in zip(items, node.items, strict=True)):
            return node
        made = list_at(node)
        made.items = items
        return made

    def _table(self, node: Table, sections: Sections) -> Table:
        made = mapping_at(node)
        for key, value in node.entries.values():
            self._entry(made, self._text(key), self._below(key, value, sections))
        return _unless_same(node, made)

    def _entry(self, node: Table, key: Scalar, value: Node) -> None:
        first = node.entries.setdefault(key.text, (key, value))[0]
        if first is not key:
            at = f"{first.line + 1}:{first.column + 1}"
            message = f"`{key.text}` is written here{_for(key)} and at {at}{_for(first)}; keep one"
            self._say("XX505", "duplicate", message, key)

    def _mentioned(self, node: Scalar) -> str | None:
        """The parameter that stands there alone."""
        text = self.mask.taken_off(node.text)
        found = MENTIONED.fullmatch(text) if text != node.text else None
        return found["name"] if found and not found["own"] else None

    def _scalar(self, node: Scalar) -> Node:
        name = self._mentioned(node)
        if name is None:
            return self._text(node)
        value = self._value(name, node)
        if value is None:
            return node.saying(self.mask.taken_off(node.text), plain=False)
        note = f"`${{{name}}}` is {_shown(value)}, from {value.origin}"
        if not _is_of_element(name):
            self.whole.note(node, note)
        return self._placed(value.node, value.type == "text", node, value.origin if _is_of_element(name) else None)

    def _text(self, node: Scalar) -> Scalar:
        """A key, or a text that mentions parameters."""
        text = self.mask.taken_off(node.text)
        if text == node.text:
            return node
        notes: dict[bool, list[str]] = {True: [], False: []}

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
            is_of_element = _is_of_element(found["name"])
            said = value.origin if is_of_element else f"`{found[0]}` is `{value.node.text}`, from {value.origin}"
            notes[is_of_element].append(said)
            return value.node.text

        result = node.saying(MENTIONED.sub(filled, text), plain=False)
        self.whole.note(node, "; ".join(dict.fromkeys(notes[False])))
        return Stamped(node, result.text, False, "; ".join(dict.fromkeys(notes[True]))) if notes[True] else result

    def _value(self, name: str, node: Scalar) -> Chosen | None:
        """The value of a parameter that is mentioned here; None if it has none, which is reported."""
        if _is_of_element(name):
            return self._of_element(name, node)
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

    def _of_element(self, name: str, node: Scalar) -> Chosen | None:
        found = self.each.found(name) if self.each else ""
        if not isinstance(found, str):
            return Chosen(found.node, "text" if found.is_text else _type(found.node), found.origin)
        self.whole.unfilled.add(self.file)
        if self.each:
            self.missing.setdefault((span(node), name, found), []).append(self.each.key.text)
        else:
            message = f"`${{{name}}}` stands outside of any `{FOR_EACH}`"
            fix = f"write `{FOR_EACH}` where the resource is declared, also in an overlay, or `$${{{name}}}` for the text itself"
            self._say("XX515", "no-value", message, node, fix)
        return None

    def _placed(self, node: Node, is_text: bool, at: Scalar, note: str | None) -> Node:
        """A copy of a value, at the place where it is mentioned."""
        self.whole.added += 1
        if self.whole.added == MOST_EXPANDED:
            self.whole.unfilled.add(self.file)
            message = f"the values add more than {MOST_EXPANDED:_} nodes to these files"
            self._say("XX513", "yaml-alias", message, at, "mention large values less often")
        if self.whole.added >= MOST_EXPANDED or isinstance(node, Scalar):
            one = node if isinstance(node, Scalar) else at
            plain = one.plain and not is_text
            return at.saying(one.text, plain=plain) if note is None else Stamped(at, one.text, plain, note)
        if isinstance(node, Sequence):
            items = list_at(at)
            items.flow, items.items = True, [self._placed(item, False, at, note) for item in node.items]
            return items
        table = mapping_at(at)
        table.flow = True
        table.entries = {
            name: (at.saying(key.text, plain=key.plain), self._placed(value, False, at, note))
            for name, (key, value) in node.entries.items()
        }
        return table

    def _say(self, code: str, name: str, message: str, node: Scalar, fix: str | None = None) -> None:
        self.whole.problems.append(complain(code, name, message, span(node), fix=fix))


def _type(node: Node) -> Type:
    return "mapping" if isinstance(node, Table) else "list" if isinstance(node, Sequence) else "number"


def _is_of_element(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] == EACH


def _unless_same(node: Table, made: Table) -> Table:
    """What was made of a mapping; the mapping itself, where nothing in it is different."""
    return node if [*made.entries.values()] == [*node.entries.values()] else made


def _for(key: Scalar) -> str:
    return f" for {key.note}" if isinstance(key, Stamped) else ""


def _shown(value: Chosen) -> str:
    return f"`{value.node.text}`" if isinstance(value.node, Scalar) else f"a {value.type}"
