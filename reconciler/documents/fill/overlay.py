"""Puts an overlay over the files of a topology: by name, and never by guessing.

A key of the overlay takes the place of the same key, whole. Everything else is said in words: `unset` leaves keys out,
`append` and `remove` change lists and mappings, `only_here` adds a resource, and `not_here` leaves one out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from reconciler.changes.kind import Kind
from reconciler.documents.fill.for_each import ElementScalar
from reconciler.documents.parse.nodes import Mapping as Table
from reconciler.documents.parse.nodes import (
    Node,
    Scalar,
    did_you_mean,
    error_at,
    is_null,
    list_at,
    listed,
    mapping_at,
    node_to_show,
    shape_in_words,
    span,
    without,
)
from reconciler.documents.parse.nodes import Sequence as Items
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic

ONLY_HERE, NOT_HERE, UNSET, APPEND, REMOVE = "only_here", "not_here", "unset", "append", "remove"
WORDS = (ONLY_HERE, NOT_HERE, UNSET, APPEND, REMOVE)
Sections = Callable[[str | None], Mapping[str, tuple[Kind, ...]]]
"""The sections below a kind, or at the top of a file."""


@dataclass(slots=True)
class OverlayMerger:
    """The files of one topology, while overlays change them."""

    base: Sequence[Table]
    """The top of each file."""
    sections: Sections
    note: Callable[[Node, str], None]
    """Takes what was there before, for messages about what is there now."""
    problems: list[Diagnostic] = field(default_factory=list)
    own: dict[int, Table] = field(default_factory=dict)
    """Mappings that belong to the place where they are: others may be shared by anchors."""
    named: dict[str, tuple[list[str], Scalar]] = field(default_factory=dict)
    """The first place that names each resource, with what it says of the whole of it."""
    by: dict[str, tuple[str, Scalar]] = field(default_factory=dict)
    """How each path was changed first, and the key that says so."""

    def apply(self, root: Table) -> Table:
        """Change the files, and return what is left: keys that are read as in any other file."""
        rest = mapping_at(root)
        sections = self.sections(None)
        for name, (key, node) in root.entries.items():
            if name in sections:
                self._change_section(self.base, key, node, sections[name], name)
            elif name == "expect":
                self._add_expectations(key, node)
            else:
                rest.entries[name] = (key, node)
        return rest

    def _change_section(
        self, homes: Sequence[Table], key: Scalar, node: Node, kinds: Iterable[Kind], path: str
    ) -> None:
        if is_null(node):
            return
        if not isinstance(node, Table):
            self._add_error(
                "XX504",
                "wrong-shape",
                f"{path} is {shape_in_words(node)}; write a mapping of names",
                node_to_show(key, node),
            )
            return
        known = {
            name: home for home in reversed(homes) if isinstance(at := home.get(key.text), Table) for name in at.entries
        }
        for name, (at, value) in node.entries.items():
            name_path = f"{path}.{name}"
            words = [word for word in (ONLY_HERE, NOT_HERE) if isinstance(value, Table) and value.get(word)]
            earlier, first_key = self.named.setdefault(name_path, (words, at))
            if first_key is not at and (words or earlier):
                with_word = f" with `{(earlier or words)[0]}`" if earlier else ""
                message = f"{name_path} is named here and at {span(first_key)}{with_word}; keep one"
                self._add_error("XX505", "duplicate", message, at)
                continue
            if not (isinstance(value, Table) or is_null(value)):
                message = f"`{name}` is {shape_in_words(value)}; write a mapping (`key: value`)"
                self._add_error("XX504", "wrong-shape", message, node_to_show(at, value))
            elif self._is_flagged(value, ONLY_HERE):
                self._add_resource(homes[0], known.get(name), key, at, value)
            elif name not in known:
                message = f"an overlay changes `{name}`, but there is none in the other files"
                fix = f"write `{ONLY_HERE}: true` below it, to add it for this environment"
                self._add_error("XX519", "overlay", f"{message}{did_you_mean(name, known)}", at, fix)
            elif self._is_flagged(value, NOT_HERE):
                self._leave_out_resource(known[name], key, at, value)
            elif isinstance(value, Table):
                section = self._own_copy(known[name], key.text)
                if section.get(name) is not None and not isinstance(section.get(name), Table):
                    section.entries[name] = (section.entries[name][0], mapping_at(at))
                self._change_resource(self._own_copy(section, name), value, list(kinds), name_path)

    def _is_flagged(self, value: Node, word: str) -> bool:
        flag = value.get(word) if isinstance(value, Table) else None
        if flag is None:
            return False
        if isinstance(flag, Scalar) and flag.plain and flag.text == "true":
            return True
        self._add_error("XX502", "wrong-value", f"{word} is `true`, or it is left out", flag)
        return False

    def _add_resource(self, home: Table, other_home: Table | None, key: Scalar, name: Scalar, value: Node) -> None:
        if other_home is not None:
            earlier = self._entry_of(other_home, key.text, name.text)[0]
            message = f"`{name.text}` is `{ONLY_HERE}`, but all environments have it: {span(earlier)}"
            self._add_error("XX519", "overlay", message, name, f"leave out `{ONLY_HERE}`, to change it here")
            return
        if not isinstance(home.get(key.text), Table):
            home.entries[key.text] = (key, mapping_at(key))
        self._own_copy(home, key.text).entries[name.text] = (name, without(value, (ONLY_HERE,)))

    def _leave_out_resource(self, home: Table, key: Scalar, at: Scalar, value: Node) -> None:
        others = [name for name in value.entries if name != NOT_HERE] if isinstance(value, Table) else []
        if others:
            message = f"`{at.text}` is `{NOT_HERE}`, so {listed(others)} below it would change nothing"
            self._add_error("XX519", "overlay", message, at, f"keep `{NOT_HERE}` alone")
            return
        del self._own_copy(home, key.text).entries[at.text]

    def _change_resource(self, base: Table, value: Table, kinds: Sequence[Kind], path: str) -> None:
        inner = {name: below for kind in kinds for name, below in self.sections(kind.name).items()}
        for name, (key, node) in value.entries.items():
            if name in inner:
                self._change_section([base], key, node, inner[name], f"{path}.{name}")
            elif name == UNSET:
                for unset_key in self._names_in(key, node):
                    self._unset_key(base, unset_key, path)
            elif name in (APPEND, REMOVE):
                for field_key, below in self._entries_of(key, node).values():
                    self._change_list_or_mapping(base, name, field_key, below, path)
            elif name not in WORDS:
                self._set_key(base, key, node, path)

    def _set_key(self, base: Table, key: Scalar, node: Node, path: str) -> None:
        if not self._is_first(key, f"{path}.{key.text}"):
            return
        before = base.entries.get(key.text)
        base.entries[key.text] = (key, node)
        if before:
            value = "what is said" if isinstance(before[1], ElementScalar) else _node_in_words(before[1])
            self.note(node_to_show(key, node), f"in place of {value} at {span(node_to_show(*before))}")

    def _unset_key(self, base: Table, item: Scalar, path: str) -> None:
        if item.text not in base.entries:
            message = f"{path} has no `{item.text}` that could be unset{did_you_mean(item.text, base.entries)}"
            self._add_error("XX519", "overlay", message, item)
        elif self._is_first(item, f"{path}.{item.text}"):
            del base.entries[item.text]

    def _change_list_or_mapping(self, base: Table, word: str, key: Scalar, node: Node, path: str) -> None:
        """Append to a list or a mapping, or remove from it."""
        current, key_path = base.get(key.text), f"{path}.{key.text}"
        if not self._is_first(key, key_path, word):
            return
        if isinstance(current, Table):
            self._change_keys(base, word, key, node, key_path)
        elif isinstance(current, Items):
            changed = list_at(current)
            changed.items = [*current.items]
            for item in node.items if isinstance(node, Items) else [node]:
                self._change_item(changed, word, item, key_path)
            base.entries[key.text] = (base.entries[key.text][0], changed)
        else:
            message = f"{key_path} is no list or mapping in the files of all environments, so `{word}` cannot change it"
            self._add_error("XX519", "overlay", message, key, f"write `{key.text}: …` itself, to set it")

    def _change_item(self, items: Items, word: str, item: Node, where: str) -> None:
        same = next(
            (
                other
                for other in items.items
                if _item_identity(other) is not None and _item_identity(other) == _item_identity(item)
            ),
            None,
        )
        if word == APPEND and same is None:
            items.items.append(item)
        elif word == REMOVE and same is not None:
            items.items.remove(same)
        else:
            wrong = f"has it already: {span(same)}" if same is not None else "does not have it"
            message = f"`{word}` names {_node_in_words(item)}, but {where} {wrong}"
            self._add_error("XX519", "overlay", message, item)

    def _change_keys(self, base: Table, word: str, key: Scalar, node: Node, where: str) -> None:
        changed = self._own_copy(base, key.text)
        if word == REMOVE:
            for item in self._names_in(key, node):
                if item.text in changed.entries:
                    del changed.entries[item.text]
                else:
                    message = f"`{word}` names `{item.text}`, but {where} does not have it"
                    self._add_error("XX519", "overlay", message + did_you_mean(item.text, changed.entries), item)
            return
        for name, (name_key, value) in self._entries_of(key, node).items():
            if name in changed.entries:
                message = f"`{word}` names `{name}`, but {where} has it already: {span(changed.entries[name][0])}"
                self._add_error(
                    "XX519", "overlay", message, name_key, f"write `{key.text}: …` itself, to set all of it"
                )
            else:
                changed.entries[name] = (name_key, value)

    def _add_expectations(self, key: Scalar, node: Node) -> None:
        """Add expectations one by one: none of them hides another."""
        home = next((root for root in self.base if isinstance(root.get("expect"), Table)), self.base[0])
        if not isinstance(home.get("expect"), Table):
            home.entries["expect"] = (key, mapping_at(key))
        expectations = self._own_copy(home, "expect")
        for name, (name_key, value) in self._entries_of(key, node).items():
            if self._is_first(name_key, f"expect.{name}"):
                expectations.entries[name] = (name_key, value)

    def _is_first(self, key: Scalar, path: str, word: str = UNSET) -> bool:
        """Check that only one overlay says what something is, though several may append to it."""
        earlier, first_key = self.by.setdefault(path, (word, key))
        is_fine = first_key is key or {earlier, word} <= {APPEND, REMOVE}
        if not is_fine:
            self._add_error("XX505", "duplicate", f"{path} is changed here and at {span(first_key)}; keep one", key)
        return is_fine

    def _own_copy(self, above: Table, name: str) -> Table:
        """Return the mapping below a key, copied unless it belongs to this place alone."""
        key, node = above.entries[name]
        if id(node) in self.own:
            return self.own[id(node)]
        copy = without(node, ())
        above.entries[name] = (key, copy)
        self.own[id(copy)] = copy
        return copy

    def _entry_of(self, home: Table, section: str, name: str) -> tuple[Scalar, Node]:
        below = home.get(section)
        assert isinstance(below, Table)
        return below.entries[name]

    def _names_in(self, key: Scalar, node: Node) -> Iterator[Scalar]:
        for item in node.items if isinstance(node, Items) else [node]:
            if isinstance(item, Scalar) and not is_null(item):
                yield item
            else:
                self._add_error(
                    "XX504",
                    "wrong-shape",
                    f"{key.text} holds {shape_in_words(item)}; write names",
                    node_to_show(key, item),
                )

    def _entries_of(self, key: Scalar, node: Node) -> Mapping[str, tuple[Scalar, Node]]:
        if isinstance(node, Table):
            return node.entries
        if not is_null(node):
            self._add_error(
                "XX504",
                "wrong-shape",
                f"{key.text} is {shape_in_words(node)}; write a mapping",
                node_to_show(key, node),
            )
        return {}

    def _add_error(self, code: str, name: str, message: str, node: Node, fix: str | None = None) -> None:
        self.problems.append(error_at(code, name, message, span(node), fix=fix))


def _item_identity(item: Node) -> str | None:
    """Return what distinguishes an item of a list: its text, or of a mapping its first value."""
    if isinstance(item, Table):
        item = next((value for _key, value in item.entries.values()), item)
    return item.text if isinstance(item, Scalar) else None


def _node_in_words(node: Node) -> str:
    return f"`{node.text}`" if isinstance(node, Scalar) else shape_in_words(node)
