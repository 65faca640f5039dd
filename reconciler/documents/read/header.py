"""Reads the keys of a file that are not resources: its format, the topology's name, what it expects, what is moved,
removed and forgotten, and what is consented to."""

from __future__ import annotations

from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

from reconciler.changes.kind import Registry
from reconciler.documents.parse.explain_error import read_spec
from reconciler.documents.parse.files import KEYS
from reconciler.documents.parse.nodes import (
    Mapping,
    Node,
    Place,
    Scalar,
    Sequence,
    did_you_mean,
    error_at,
    is_null,
    listed,
    node_to_show,
    shape_in_words,
    span,
    start_of_block,
)
from reconciler.documents.parse.plain_values import NodeProblem, Plain
from reconciler.documents.parse.shape import Shape
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.ledger.entries import LONGEST, is_topology
from reconciler.model.policy import PlacedPolicy, PlacedSource, Policy, PolicySource
from reconciler.model.resource import Address, Json, Spec
from reconciler.model.selection import is_label
from reconciler.model.topology import (
    ADDRESS,
    HOW_TO_ADDRESS,
    HOW_TO_MATCH,
    TOPOLOGY,
    Allowance,
    Allowed,
    BulkEntry,
    BulkForget,
    BulkRemoval,
    Expect,
    Forgotten,
    Guard,
    Guarded,
    Ignored,
    IgnoreRule,
    Move,
    Moved,
    Removal,
    Removed,
)
from reconciler.model.written import quoted

FORMAT = 1

_TEXT, _NUMBER = Shape(types={"string"}), Shape(types={"integer"})
_ADDRESS = Shape(types={"string"}, patterns={ADDRESS}, advice=HOW_TO_ADDRESS)
_S = TypeVar("_S", bound=Spec)


def top_level_keys(registry: Registry) -> tuple[str, ...]:
    """Return the keys at the top of a topology's files."""
    return (*KEYS, *registry.sections(None))


class _PlacedValue(NamedTuple):
    """A value that may stand in several files, and its first place."""

    value: Json
    span: SourceSpan


@dataclass(slots=True)
class Header:
    registry: Registry
    problems: list[Diagnostic] = field(default_factory=list)
    values: dict[str, _PlacedValue] = field(default_factory=dict)
    removed: list[Removed] = field(default_factory=list)
    forget: list[Forgotten] = field(default_factory=list)
    bulk: list[BulkEntry] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    guards: list[Guarded] = field(default_factory=list)
    allowed: list[Allowed] = field(default_factory=list)
    ignored: list[IgnoreRule] = field(default_factory=list)
    policies: list[PlacedPolicy | PlacedSource] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the topology's name. Raises KeyError where no file says it; `known_name` does not."""
        return str(self.values["topology"].value)

    @property
    def known_name(self) -> str:
        """Return the name; empty where no file says it, or none that can be read."""
        return self.name if "topology" in self.values else ""

    @property
    def expect(self) -> Expect:
        """Return where the topology may be applied; anywhere, if no file says it."""
        return self.values["expect"].value if "expect" in self.values else Expect()

    def read_key(self, key: Scalar, node: Node) -> None:
        """Read one of KEYS, as one file has it."""
        if key.text == "reconciler":
            self._read_version(key, node)
        elif key.text == "topology":
            self._read_name(key, node)
        elif key.text == "expect":
            self._read_expect(key, node)
        elif not is_null(node):
            self._read_list(key, node)

    def require(self, file: str) -> None:
        """Report what at least one file must say and none does."""
        for key, wanted in (("reconciler", f"reconciler: {FORMAT}"), ("topology", "topology: NAME")):
            if key not in self.values:
                message = f"missing key `{key}`; write `{wanted}` at the top of one file"
                self.problems.append(error_at("XX503", "missing-key", message, SourceSpan(file, 1, 1, 1, 1)))

    def _read_version(self, key: Scalar, node: Node) -> None:
        value = self._read_plain(key, node, _NUMBER)
        if isinstance(value, int) and value != FORMAT:
            message = f"reconciler `{value}` is a format that this release does not read; it reads {FORMAT}"
            fix = "use the release this file was written for" if value > FORMAT else f"write reconciler: {FORMAT}"
            self.problems.append(error_at("XX530", "format-version", message, span(node), fix=fix))
        self._set_once(key, node, value)

    def _read_name(self, key: Scalar, node: Node) -> None:
        value = self._read_plain(key, node, _TEXT)
        if value == "":
            self._add_error(NodeProblem(node, "506", "bad-name", "topology is empty; write the owner's name"))
        elif isinstance(value, str) and not is_topology(value):
            self._add_error(NodeProblem(node, "506", "bad-name", f"topology is longer than {LONGEST:_} bytes as a key"))
        self._set_once(key, node, value)

    def _read_expect(self, key: Scalar, node: Node) -> None:
        if is_null(node):
            return
        expect = self._read_entry(key, node, Expect, "expect")
        if expect is not None:
            self._set_once(key, node, expect)

    def _set_once(self, key: Scalar, node: Node, value: Json) -> None:
        place = span(node_to_show(key, node))
        first = self.values.setdefault(key.text, _PlacedValue(value, place))
        if first.value != value and first.value is not None and value is not None:
            message = f"{key.text} differs from {first.span}; all files of one topology must say the same"
            self.problems.append(error_at("XX505", "duplicate", message, place))

    def _read_list(self, key: Scalar, node: Node) -> None:
        if not isinstance(node, Sequence):
            message = f"{key.text} is {shape_in_words(node)}; write a list (`[a, b]` or lines of `- a`)"
            self._add_error(NodeProblem(node_to_show(key, node), "504", "wrong-shape", message))
            return
        for index, item in enumerate(node.items):
            path = f"{key.text}[{index}]"
            _ITEMS[key.text](self, item, path)

    def _read_removal(self, item: Node, path: str) -> None:
        if isinstance(item, Mapping) and item.entries.keys() & {"on", "upto"}:
            self._read_bulk_removal(item, path)
            return
        removal = self._read_entry(None, item, Removal, path)
        if removal is None or not isinstance(item, Mapping):
            return
        where = Place(start_of_block(item), item)
        address = self._read_address(
            item.entries["address"][1], f"{path}.address", removal.address, "{{on: {on}, upto: NUMBER, reason: …}}"
        )
        if address:
            self.removed.append(Removed(address=address, reason=removal.reason, until=removal.until, where=where))

    def _read_bulk_removal(self, item: Mapping, path: str) -> None:
        if "address" in item.entries:
            message = (
                f"{path} has `address`, which names one object, beside `on` or `upto`, which are about many; keep one"
            )
            self._add_error(NodeProblem(item.entries["address"][0], "505", "duplicate", message))
            return
        removal = self._read_entry(None, item, BulkRemoval, path)
        if removal is not None:
            entry = BulkEntry(
                key="removed", on=removal.on, upto=removal.upto, reason=removal.reason, until=removal.until
            )
            self._add_bulk_entry(entry, item, path)

    def _read_bulk_forget(self, item: Mapping, path: str) -> None:
        forget = self._read_entry(None, item, BulkForget, path)
        if forget is not None:
            self._add_bulk_entry(BulkEntry(key="forget", on=forget.on, upto=forget.upto), item, path)

    def _add_bulk_entry(self, entry: BulkEntry, item: Mapping, path: str) -> None:
        """Keep an entry whose pattern or label can match something."""
        if wrong := _problem_with_pattern(entry.on, self.registry):
            self._add_error(NodeProblem(item.entries["on"][1], "502", "wrong-value", f"{path}.on `{entry.on}` {wrong}"))
        else:
            self.bulk.append(replace(entry, where=Place(start_of_block(item), item)))

    def _read_move(self, item: Node, path: str) -> None:
        move = self._read_entry(None, item, Move, path)
        if move is None or not isinstance(item, Mapping):
            return
        ends = (("from", move.from_), ("to", move.to))
        origin, to = (self._read_end_of_move(item.entries[key][1], f"{path}.{key}", text) for key, text in ends)
        if origin is None or to is None:
            return
        if origin.kind != to.kind or origin == to:
            message = f"{path} moves `{origin}` to `{to}`; write two addresses of one kind"
            self._add_error(NodeProblem(item.entries["to"][1], "502", "wrong-value", message))
            return
        where = Place(start_of_block(item), item)
        self.moved.append(Moved(origin=origin, address=to, reason=move.reason, until=move.until, where=where))

    def _read_end_of_move(self, node: Node, path: str, text: str) -> Address | None:
        """Read an address, or the name of an owner."""
        kind, _, name = text.partition("/")
        if kind == TOPOLOGY and name:
            return Address.of(TOPOLOGY, name)
        return self._read_address(node, path, text)

    def _read_raised_guard(self, item: Node, path: str) -> None:
        guard = self._read_entry(None, item, Guard, path)
        if guard is None or not isinstance(item, Mapping):
            return
        if guard.kind not in self.registry.by_name:
            kinds = self.registry.by_name
            message = (
                f"{path}.kind `{guard.kind}` is not a kind; write {listed(kinds)}{did_you_mean(guard.kind, kinds)}"
            )
            self._add_error(NodeProblem(item.entries["kind"][1], "502", "wrong-value", message))
            return
        where = Place(start_of_block(item), item)
        self.guards.append(
            Guarded(kind=guard.kind, upto=guard.upto, reason=guard.reason, until=guard.until, where=where)
        )

    def _read_allowance(self, item: Node, path: str) -> None:
        allowance = self._read_entry(None, item, Allowance, path)
        if allowance is not None and isinstance(item, Mapping):
            self.allowed.append(allowance.with_place(Place(start_of_block(item), item)))

    def _read_forgotten(self, item: Node, path: str) -> None:
        if isinstance(item, Mapping):
            self._read_bulk_forget(item, path)
            return
        text = self._read_plain(None, item, _ADDRESS, path=path)
        address = self._read_address(item, path, text, "{{on: {on}, upto: NUMBER}}") if isinstance(text, str) else None
        if address:
            self.forget.append(Forgotten(address=address, where=Place(item, item)))

    def _read_ignored(self, item: Node, path: str) -> None:
        ignored = self._read_entry(None, item, Ignored, path)
        if ignored is None or not isinstance(item, Mapping):
            return
        kind, slash, _ = ignored.address.partition("/")
        if not slash or not any(fnmatchcase(name, kind) for name in self.registry.by_name):
            message = (
                f"{path}.address `{ignored.address}` can match no address; write kind/name, for example stream/* "
                "or stream/ORDERS"
            )
            self._add_error(NodeProblem(item.entries["address"][1], "502", "wrong-value", message))
            return
        where = Place(start_of_block(item), item)
        self.ignored.append(
            IgnoreRule(
                address=ignored.address, path=ignored.path, reason=ignored.reason, until=ignored.until, where=where
            )
        )

    def _read_policy(self, item: Node, path: str) -> None:
        if isinstance(item, Mapping) and "from" in item.entries:
            if (source := self._read_entry(None, item, PolicySource, path)) is not None:
                self.policies.append(PlacedSource(source=source, where=Place(start_of_block(item), item)))
        elif (policy := self._read_entry(None, item, Policy, path)) is not None:
            self.policies.append(PlacedPolicy(policy=policy, where=Place(start_of_block(item), item)))

    def _read_address(self, node: Node, path: str, text: str, of_many: str = "") -> Address | None:
        """Read the address of one object. `of_many` is how an entry about many is written here."""
        wrong = None
        try:
            address = Address.parse(text)
            wrong = _problem_with_address(address, self.registry, of_many)
        except ValueError as error:
            wrong = str(error)
        if wrong is None:
            return address
        self._add_error(NodeProblem(node, "502", "wrong-value", f"{path} {wrong}"))
        return None

    def _read_plain(self, key: Scalar | None, node: Node, shape: Shape, *, path: str = "") -> Json:
        plain = Plain()
        value = plain.value(node, shape, path or (key.text if key else ""), key)
        for finding in plain.findings:
            self._add_error(finding)
        return None if plain.findings else value

    def _read_entry(self, key: Scalar | None, node: Node, spec: type[_S], path: str) -> _S | None:
        """Read one entry as this spec; None when something in it is wrong."""
        validated, findings = read_spec(spec, node, key, path)
        for finding in findings:
            self._add_error(finding)
        return None if findings else validated

    def _add_error(self, finding: NodeProblem) -> None:
        self.problems.append(finding.diagnostic())


_ITEMS = {
    "removed": Header._read_removal, "forget": Header._read_forgotten, "moved": Header._read_move, "guards": Header._read_raised_guard,
    "allow": Header._read_allowance, "ignore_drift": Header._read_ignored, "policies": Header._read_policy,
}  # fmt: skip
"""Reads one item of a list, by its key."""


def _problem_with_address(address: Address, registry: Registry, of_many: str) -> str | None:
    """Say why this cannot be the address of anything."""
    kinds = registry.by_name
    if address.kind not in kinds:
        return f"`{address}` begins with no known kind; write {listed(kinds)}{did_you_mean(address.kind, kinds)}"
    wanted, kind = ["NAME"], kinds[address.kind]
    while kind.place.within:
        wanted.insert(0, kind.place.within.upper())
        kind = kinds[kind.place.within]
    example = "/".join((address.kind, *wanted))
    if any(wildcard in str(address) for wildcard in "*>"):
        instead = of_many.format(on=quoted(str(address).replace(">", "*"))) if of_many else ""
        each = f"an entry for each of them, {example} without `*` or `>`"
        return f"`{address}` names many objects; write {f'`{instead}`, or {each}' if instead else each}"
    if len(wanted) != len(address.names):
        return f"`{address}` does not fit its kind; write {example}"
    return None


def _problem_with_pattern(on: str, registry: Registry) -> str | None:
    """Say why this can match nothing."""
    if is_label(on):
        return f"is a label without a name; write {HOW_TO_MATCH}" if on.startswith("=") else None
    kind, *names = on.split("/")
    if not names or not all((kind, *names)):
        return f"is neither an address nor a label; write {HOW_TO_MATCH}"
    kinds = registry.by_name
    if "*" in kind or any(fnmatchcase(name, kind) for name in kinds):
        return None
    return f"begins with no known kind; write {listed(kinds)}{did_you_mean(kind, kinds)}"
