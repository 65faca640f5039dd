"""Puts values in the place of `${name}` in the nodes of a file, and many resources in the place of one with `for_each`. A value is
one node: it never changes the structure around it, and text stays text, whatever it looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace

from reconciler.changes.kind import Kind
from reconciler.documents.fill.for_each import EACH, FOR_EACH, Each, ElementScalar, InvalidElement, elements
from reconciler.documents.fill.parameters import WITHIN_TEXT, Chosen, Declaration, Type
from reconciler.documents.fill.values import MENTIONED, Mask
from reconciler.documents.parse.files import KEYS, LISTS
from reconciler.documents.parse.nodes import Mapping as Table
from reconciler.documents.parse.nodes import (
    Node,
    Scalar,
    Sequence,
    did_you_mean,
    error_at,
    list_at,
    mapping_at,
    span,
    without,
)
from reconciler.documents.parse.tree import MOST_EXPANDED
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
        one_file = _FileFilling(self, file, mask)
        root.entries = one_file.fill_top(root).entries
        for (place, name, why), keys in one_file.missing.items():
            others = f" and {len(keys) - 1:_} more" if len(keys) > 1 else ""
            message = f"`${{{name}}}` has no value for key `{keys[0]}`{others}: {why}"
            fix = "write it for every key, or mention something else"
            self.problems.append(error_at("XX515", "no-value", message, place, fix=fix))

    def note(self, node: Node, note: str) -> None:
        """Keep what is to be known of the value at this place. Of an entry that stands for many, each says the same."""
        place = (node.file, node.line + 1, node.column + 1)
        notes = self.notes.get(place, "")
        if note and note not in notes.split("; "):
            self.notes[place] = f"{notes}; {note}" if notes else note

    def explain(self, problem: Diagnostic) -> Diagnostic:
        """Return the problem with the value that stands at its place, if there is one."""
        place = problem.span
        note = self.notes.get((place.file, place.line, place.column)) if place else None
        return replace(problem, message=f"{problem.message} ({note})") if note else problem


@dataclass(slots=True)
class _FileFilling:
    """Returns the nodes of one file with values in place. A text that mentions nothing stays the same node."""

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

    def fill_top(self, root: Table) -> Table:
        """Fill in what stands at the top of a file."""
        sections, filled = self.whole.sections(None), mapping_at(root)
        for key, node in root.entries.values():
            if key.text not in sections and key.text not in KEYS:
                self._add_entry(
                    filled, key, node
                )  # an anchor is filled in where it is used, and an unknown key is reported
            elif key.text in LISTS and isinstance(node, Sequence):
                self._add_entry(filled, key, self._fill_list(node))
            else:
                self._add_entry(filled, self._fill_text(key), self._fill_below(key, node, sections))
        return filled

    def _fill_below(self, key: Scalar, node: Node, sections: Sections) -> Node:
        if key.text in sections and isinstance(node, Table):
            return self._fill_section(node, sections[key.text])
        return self.fill_node(node)

    def _fill_section(self, node: Table, kinds: tuple[Kind, ...]) -> Table:
        """Fill in a section of names. An entry with `for_each` becomes one for each element."""
        if id(node) in self.constant:
            return node
        inner = {name: below for kind in kinds for name, below in self.whole.sections(kind.name).items()}
        filled = mapping_at(node)
        for key, value in node.entries.values():
            if not isinstance(value, Table):
                self._add_entry(filled, self._fill_text(key), self.fill_node(value))
            elif FOR_EACH in value.entries:
                self._fill_for_each(filled, key, value, inner)
            else:
                self._add_entry(filled, self._fill_text(key), self._fill_table(value, inner))
        if (result := _original_if_same(node, filled)) is node:
            self.constant.add(id(node))
        return result

    def _fill_for_each(self, section: Table, key: Scalar, value: Table, inner: Sections) -> None:
        template, elements_by_name = without(value, (FOR_EACH,)), dict[str, str]()
        for of_element in self._each_element(*value.entries[FOR_EACH]):
            assert of_element.each
            text, element = of_element._fill_text(key), of_element.each.key.text
            if text.text in elements_by_name:
                message = f"keys `{elements_by_name[text.text]}` and `{element}` of {FOR_EACH} both give the name `{text.text}`"
                self._add_error("XX527", "for-each", message, key, "mention `${each.key}` in the name")
                return
            elements_by_name[text.text] = element
            name = ElementScalar(key, text.text, False, of_element.each.origin)
            self._add_entry(section, name, of_element._fill_table(template, inner))

    def _each_element(self, key: Scalar, node: Node) -> Iterator[_FileFilling]:
        """Yield the same file for each element."""
        if isinstance(node, Scalar) and (name := self._lone_parameter(node)):
            value = self._value_of(name, node)
            container = value.node if value else None
        else:
            container = self.fill_node(node)
        for element in elements(key, container, self.each) if container else ():
            if isinstance(element, InvalidElement):
                self.whole.problems.append(error_at("XX527", "for-each", element.message, span(element.node)))
            else:
                yield replace(self, each=element, done={})

    def _fill_list(self, node: Sequence) -> Sequence:
        filled = list_at(node)
        for item in node.items:
            if isinstance(item, Table) and FOR_EACH in item.entries:
                entry = without(item, (FOR_EACH,))
                filled.items += [
                    element._fill_table(entry, _NO_SECTIONS) for element in self._each_element(*item.entries[FOR_EACH])
                ]
            else:
                filled.items.append(self.fill_node(item))
        return filled

    def fill_node(self, node: Node) -> Node:
        """Fill in what stands anywhere below."""
        if isinstance(node, Scalar):
            return self._fill_scalar(node)
        if id(node) in self.constant:
            return node
        if (filled_before := self.done.get(id(node))) is not None:
            return filled_before
        filled = self._fill_table(node, _NO_SECTIONS) if isinstance(node, Table) else self._fill_items(node)
        self.done[id(node)] = filled
        if filled is node:
            self.constant.add(id(node))
        return filled

    def _fill_items(self, node: Sequence) -> Sequence:
        items = [self.fill_node(item) for item in node.items]
        if all(filled_item is item_before for filled_item, item_before in zip(items, node.items, strict=True)):
            return node
        filled = list_at(node)
        filled.items = items
        return filled

    def _fill_table(self, node: Table, sections: Sections) -> Table:
        filled = mapping_at(node)
        for key, value in node.entries.values():
            self._add_entry(filled, self._fill_text(key), self._fill_below(key, value, sections))
        return _original_if_same(node, filled)

    def _add_entry(self, node: Table, key: Scalar, value: Node) -> None:
        first = node.entries.setdefault(key.text, (key, value))[0]
        if first is not key:
            place = f"{first.line + 1}:{first.column + 1}"
            message = f"`{key.text}` is written here{_for_element_text(key)} and at {place}{_for_element_text(first)}; keep one"
            self._add_error("XX505", "duplicate", message, key)

    def _lone_parameter(self, node: Scalar) -> str | None:
        """The parameter that stands there alone."""
        text = self.mask.show_braces(node.text)
        match = MENTIONED.fullmatch(text) if text != node.text else None
        return match["name"] if match and not match["own"] else None

    def _fill_scalar(self, node: Scalar) -> Node:
        name = self._lone_parameter(node)
        if name is None:
            return self._fill_text(node)
        value = self._value_of(name, node)
        if value is None:
            return node.with_text(self.mask.show_braces(node.text), plain=False)
        note = f"`${{{name}}}` is {_value_in_words(value)}, from {value.origin}"
        if not _is_of_element(name):
            self.whole.note(node, note)
        return self._copy_to(value.node, value.type == "text", node, value.origin if _is_of_element(name) else None)

    def _fill_text(self, node: Scalar) -> Scalar:
        """Fill in a key, or a text that mentions parameters."""
        text = self.mask.show_braces(node.text)
        if text == node.text:
            return node
        notes: dict[bool, list[str]] = {True: [], False: []}

        def replace_mention(match: re.Match[str]) -> str:
            if match["own"]:
                return match[0][1:]
            value = self._value_of(match["name"], node)
            if value is None:
                return match[0]
            if value.type not in WITHIN_TEXT or not isinstance(value.node, Scalar):
                message = (
                    f"`{match[0]}` is a {value.type}, from {value.origin}, and cannot stand inside a text or a name"
                )
                self.whole.unfilled.add(self.file)
                self._add_error("XX517", "wrong-parameter", message, node, "let it stand alone, as a whole value")
                return match[0]
            is_of_element = _is_of_element(match["name"])
            note = value.origin if is_of_element else f"`{match[0]}` is `{value.node.text}`, from {value.origin}"
            notes[is_of_element].append(note)
            return value.node.text

        result = node.with_text(MENTIONED.sub(replace_mention, text), plain=False)
        self.whole.note(node, "; ".join(dict.fromkeys(notes[False])))
        return ElementScalar(node, result.text, False, "; ".join(dict.fromkeys(notes[True]))) if notes[True] else result

    def _value_of(self, name: str, node: Scalar) -> Chosen | None:
        """The value of a parameter that is mentioned here; None if it has none, which is reported."""
        if _is_of_element(name):
            return self._value_of_each(name, node)
        self.whole.mentioned.add(name)
        if (value := self.whole.values.get(name)) is not None:
            return value
        self.whole.unfilled.add(self.file)
        if name not in self.whole.names:
            message = f"`${{{name}}}` is no parameter of this topology{did_you_mean(name, self.whole.names)}"
            fix = f"declare {name} under `parameters`, or write `$${{{name}}}` for the text itself"
            self._add_error("XX515", "no-value", message, node, fix)
        elif (declaration := self.whole.declared.get(name)) and name not in self.whole.wrong:
            message = f"`${{{name}}}` has no value: parameter `{name}` at {declaration.place} has no default, and none was given"
            fix = (
                f"give it a value: --value {name}=…, a line in a file of --values, or `values` of an environment or of a "
                "target in fleet.yaml"
            )
            self._add_error("XX515", "no-value", message, node, fix)
        return None

    def _value_of_each(self, name: str, node: Scalar) -> Chosen | None:
        part = self.each.value_of(name) if self.each else ""
        if not isinstance(part, str):
            return Chosen(part.node, "text" if part.is_text else _type_of(part.node), part.origin)
        self.whole.unfilled.add(self.file)
        if self.each:
            self.missing.setdefault((span(node), name, part), []).append(self.each.key.text)
        else:
            message = f"`${{{name}}}` stands outside of any `{FOR_EACH}`"
            fix = f"write `{FOR_EACH}` where the resource is declared, also in an overlay, or `$${{{name}}}` for the text itself"
            self._add_error("XX515", "no-value", message, node, fix)
        return None

    def _copy_to(self, node: Node, is_text: bool, mention: Scalar, note: str | None) -> Node:
        """A copy of a value, at the place where it is mentioned."""
        self.whole.added += 1
        if self.whole.added == MOST_EXPANDED:
            self.whole.unfilled.add(self.file)
            message = f"the values add more than {MOST_EXPANDED:_} nodes to these files"
            self._add_error("XX513", "yaml-alias", message, mention, "mention large values less often")
        if self.whole.added >= MOST_EXPANDED or isinstance(node, Scalar):
            scalar = node if isinstance(node, Scalar) else mention
            plain = scalar.plain and not is_text
            return (
                mention.with_text(scalar.text, plain=plain)
                if note is None
                else ElementScalar(mention, scalar.text, plain, note)
            )
        if isinstance(node, Sequence):
            items = list_at(mention)
            items.flow, items.items = True, [self._copy_to(item, False, mention, note) for item in node.items]
            return items
        table = mapping_at(mention)
        table.flow = True
        table.entries = {
            name: (mention.with_text(key.text, plain=key.plain), self._copy_to(value, False, mention, note))
            for name, (key, value) in node.entries.items()
        }
        return table

    def _add_error(self, code: str, name: str, message: str, node: Scalar, fix: str | None = None) -> None:
        self.whole.problems.append(error_at(code, name, message, span(node), fix=fix))


def _type_of(node: Node) -> Type:
    return "mapping" if isinstance(node, Table) else "list" if isinstance(node, Sequence) else "number"


def _is_of_element(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] == EACH


def _original_if_same(node: Table, filled: Table) -> Table:
    """Return what was made of a mapping; the mapping itself, where nothing in it is different."""
    return node if [*filled.entries.values()] == [*node.entries.values()] else filled


def _for_element_text(key: Scalar) -> str:
    return f" for {key.note}" if isinstance(key, ElementScalar) else ""


def _value_in_words(value: Chosen) -> str:
    return f"`{value.node.text}`" if isinstance(value.node, Scalar) else f"a {value.type}"
