"""Loads a topology from files: one run finds every problem of every file, each at its line and column."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import field, replace
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.fill.environments import OF_FILE, SECTION, Environments, FileEnvironment
from reconciler.documents.fill.filling import Filling
from reconciler.documents.fill.for_each import FOR_EACH
from reconciler.documents.fill.overlay import OverlayMerger
from reconciler.documents.fill.parameters import Chosen, Parameters, unmentioned_parameters
from reconciler.documents.fill.values import MENTIONED, Filled, Given, Mask, unmask
from reconciler.documents.parse.files import ANCHORS, DISK, INCLUDE, KEYS, LISTS, Tree, included_files
from reconciler.documents.parse.nodes import Mapping, Node, Place, Scalar, did_you_mean, error_at, items_below, span
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.read.header import Header, top_level_keys
from reconciler.documents.read.other_files import errors_of_root, other_file_error
from reconciler.documents.read.resources import Collector, NamedSection
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan, ordered
from reconciler.model.policy import PlacedPolicy, PlacedSource
from reconciler.model.resource import Address, Where
from reconciler.model.selection import likely_pattern
from reconciler.model.topology import TOPOLOGY, Topology

ONLY_IN_FILES = tuple(key for key in KEYS if key not in (*LISTS, "expect"))
"""What no environment changes in its own words."""
_NAMED = re.compile(r"^topology:[ \t]+([\w.-]+)[ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the files declare; no topology when anything in them is wrong."""

    topology: Topology | None
    readable: Topology | None = None
    """What could be read, where that is not everything."""
    diagnostics: tuple[Diagnostic, ...]
    name: str = ""
    """The topology's name, as far as the files could be read."""
    names: frozenset[str] = frozenset()
    """All that files say for `topology:`; the files of one topology say the same."""
    paths: tuple[Path, ...] = ()
    """The paths that name its files on a command line."""
    each: tuple[Loaded, ...] = ()
    """The topologies, where there are several."""
    environments: tuple[str, ...] = ()
    """The environments that the files declare."""
    tops: tuple[Mapping, ...] = field(default=(), repr=False)
    """What the files say, with values in place and overlays over it."""
    origins: Table[tuple[str, int, int], str] = field(default_factory=dict, repr=False)
    """Where values are from, by their place."""
    policies_from: tuple[PlacedSource, ...] = ()
    """Where more policies are, which nobody has read yet."""


def load(paths: Sequence[Path], registry: Registry, tree: Tree = DISK) -> Loaded:
    """Load one topology from files and folders. Never raises for the contents of files."""
    tree = tree if isinstance(tree, Filled) else Filled(tree)
    files, problems = tree.find(paths)
    loading = _Loading(registry, tree, problems, paths)
    for path in files:
        loading.read_file(path, ())
    loading.resolve()
    names, environments = frozenset(loading.names), tuple(loading.environments.names)
    return replace(loading.result(), names=names, paths=tuple(paths), environments=environments)


@dataclass(frozen=True, slots=True)
class _Root:
    """The top of one file, or what an environment says in place of a file."""

    first: Node
    """Where it begins."""
    node: Mapping
    mask: Mask | None = None
    mentions: frozenset[str] = frozenset()
    """Parameters that its text mentions."""
    environments: frozenset[str] = frozenset()
    """The environments that it is an overlay for; empty for a file of all of them."""


@dataclass(slots=True)
class _Loading:
    registry: Registry
    tree: Filled
    problems: list[Diagnostic]
    paths: Sequence[Path]
    header: Header = field(init=False)
    collector: Collector = field(init=False)
    filling: Filling = field(default_factory=lambda: Filling({}, {}, {}, (), lambda _: {}))
    parameters: Parameters = field(default_factory=Parameters)
    environments: Environments = field(default_factory=Environments)
    roots: list[_Root] = field(default_factory=list)
    tops: list[Mapping] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """Files that were read, by their real paths."""
    name: str = ""
    """The topology's name, as far as text that is not YAML tells."""
    names: set[str] = field(default_factory=set)
    leads_to: str = ""
    """Where the environment of this run leads."""
    own_entries: frozenset[SourceSpan] = frozenset()
    """Places of the entries of every list in overlays."""
    is_complete: bool = field(init=False)
    """Every file could be read to its end, so whatever is missing is really missing."""

    def __post_init__(self) -> None:
        self.header, self.collector = Header(self.registry), Collector(self.registry)
        self.is_complete = not self.problems

    def read_file(self, path: Path, above: Sequence[Path]) -> None:
        """Read one file, and those that it includes. `above` are the files that include it."""
        if (real := os.path.realpath(path)) in self.seen:
            return
        self.seen.add(real)
        file = str(path)
        text, problems = self.tree.read(path)
        mask = Mask.for_text(text) if "${" in text or FOR_EACH in text else None
        root, misread = (
            read_tree(file, mask.hide_braces(text) if mask else text) if text or not problems else (None, [])
        )
        if other := other_file_error(file, root, top_level_keys(self.registry)):
            self.problems.append(other)
            return
        if problems:
            root = None
        elif root is not None or not misread:
            misread += errors_of_root(file, root)
        self.problems += problems or misread
        if root is None and (named := _NAMED.search(text)):
            self.name = named[1]
        if isinstance(root, Mapping):
            mentions = frozenset(match["name"] for match in MENTIONED.finditer(text)) if mask else frozenset[str]()
            self.roots.append(_Root(next((key for key, _ in root.entries.values()), root), root, mask, mentions))
            if above and SECTION in root.entries:
                message = f"`{SECTION}` stands in a file that {above[-1]} includes; write it there"
                self.problems.append(error_at("XX518", "environment", message, span(root.entries[SECTION][0])))
            if entry := root.entries.pop(INCLUDE, None):
                self._read_included(entry[0], unmask(entry[1], mask), (*above, path))
        else:
            self.is_complete = False

    def _read_included(self, key: Scalar, node: Node, above: Sequence[Path]) -> None:
        for file in included_files(key, node, self.paths, above, self.tree):
            if isinstance(file, Diagnostic):
                self.problems.append(file)
                self.is_complete = False
            else:
                self.read_file(file, above)

    def resolve(self) -> None:
        """Fill in parameters, put overlays over the rest, and read what the files declare then."""
        for root in self.roots:
            if entry := root.node.entries.pop("parameters", None):
                self.parameters.read_section(entry[0], unmask(entry[1], root.mask))
            if entry := root.node.entries.pop(SECTION, None):
                self.environments.read_section(*entry, root.mask)
        self.name = next(self._topology_names(), self.name)
        start = span(self.roots[0].first) if self.roots else None
        can_choose = self.is_complete or self.environments.names
        environment = self.environments.choose(self.tree.environment, self.name, start) if can_choose else None
        self.leads_to = environment.leads_to if environment else ""
        overlays = [*self._take_out_overlays(), *(self._inline_overlay(environment) if environment else ())]
        if self.environments.problems:
            self.problems += [*self.environments.problems, *self.parameters.problems]
            self.names.update(self._topology_names())
            self.is_complete = False
            return
        base = [root for root in self.roots if not root.environments]
        given, misread = self.tree.given_values()
        given = (environment.given_values() if environment else {}) | given
        self._fill_values(given, environment, [*base, *overlays])
        if base:
            self._apply_overlays(
                [root.node for root in base], [overlay.node for overlay in overlays if self._is_filled(overlay)]
            )
        for root in base:
            if self._is_filled(root):
                self._read_sections(root.node)
        self.problems += [*misread, *self.parameters.problems, *self.filling.problems]
        if self.is_complete and self.roots and not misread:
            self.problems += self.tree.unused_value_problems(given) if self.tree.reports_unused else ()
            mentioned = set[str]().union(*(root.mentions for root in self.roots)) if self.environments.names else set()
            self.problems += unmentioned_parameters(
                self.parameters.declared.values(), self.filling.mentioned | mentioned
            )
        self.is_complete = self.is_complete and not self.filling.unfilled

    def _take_out_overlays(self) -> Iterator[_Root]:
        """Take out the files that are overlays, and return those for the environment of this run."""
        for index, root in enumerate(self.roots):
            if entry := root.node.entries.pop(OF_FILE, None):
                names = self.environments.names_of_file(unmask(entry[1], root.mask))
                self.roots[index] = replace(root, environments=frozenset(names | {""}))
                if self.tree.environment in names:
                    yield root

    def _inline_overlay(self, environment: FileEnvironment) -> Iterator[_Root]:
        """The overlay that an environment itself holds."""
        if (node := environment.overlay_table()) is not None:
            for name in [key for key in node.entries if key in ONLY_IN_FILES]:
                message = f"`{name}` stands at the top of a file, and not in the overlay of an environment"
                self.problems.append(error_at("XX501", "unknown-key", message, span(node.entries.pop(name)[0])))
            mask = next(root.mask for root in self.roots if root.first.file == environment.name.file)
            yield _Root(environment.name, node, mask)

    def _fill_values(
        self, given: Table[str, Given], environment: FileEnvironment | None, roots: Sequence[_Root]
    ) -> None:
        self.tree.known.update(self.parameters.names)
        values, names = self.parameters.settle(given), dict(self.parameters.names)
        if environment and OF_FILE not in names:
            values[OF_FILE] = Chosen(
                environment.name, "text", f"the name of the environment at {span(environment.name)}"
            )
        self.filling = Filling(values, self.parameters.declared, names, self.parameters.wrong, self.registry.sections)
        for root in roots:
            if root.mask:
                self.filling.fill(root.first.file, root.node, root.mask)
        self.names.update(self._topology_names())
        self.name = next(self._topology_names(), self.name)

    def _topology_names(self) -> Iterator[str]:
        """Yield what the files say for `topology`, as far as it is known by now."""
        nodes = (root.node.get("topology") for root in self.roots)
        return (node.text for node in nodes if isinstance(node, Scalar))

    def _is_filled(self, root: _Root) -> bool:
        return root.first.file not in self.filling.unfilled

    def _apply_overlays(self, base: Sequence[Mapping], overlays: Sequence[Mapping]) -> None:
        self.own_entries = frozenset(span(item) for overlay in overlays for item in items_below(overlay))
        overlaying = OverlayMerger(base, self.registry.sections, self.filling.note)
        rest = [overlaying.apply(overlay) for overlay in overlays]
        for overlay in rest:
            self._read_sections(overlay)
        self.tops = [*base, *rest]
        self.problems += overlaying.problems

    def _read_sections(self, root: Mapping) -> None:
        sections = self.registry.sections(None)
        for name, (key, node) in root.entries.items():
            if name in sections:
                self.collector.read_section(NamedSection(sections[name]), key, node)
            elif name.startswith(ANCHORS):
                continue
            elif name in KEYS:
                self.header.read_key(key, node)
            else:
                message = f"unknown key `{name}`{did_you_mean(name, top_level_keys(self.registry))}"
                self.problems.append(error_at("XX501", "unknown-key", message, span(key)))

    def result(self) -> Loaded:
        """Return what was loaded, with every problem."""
        if self.is_complete and self.roots:
            self.header.require(self.roots[0].first.file)
        problems = [*self.problems, *self.header.problems, *self.collector.all_problems(), *self._contradictions()]
        problems += [*self._stray_moves(), *self._unused_consent_problems()]
        roots = tuple(Place(root.first, root.node) for root in self.roots if not root.environments)
        topology = Topology(
            name=self.header.known_name, expect=self.header.expect, resources=tuple(self.collector.readable_resources()),
            removed=tuple(self.header.removed), forget=tuple(self.header.forget),
            bulk=tuple(sorted(self.header.bulk, key=lambda entry: entry.key != "removed")),
            moved=tuple(self.header.moved), guards=tuple(self.header.guards),
            allow=tuple(self.header.allowed), ignore_drift=tuple(self.header.ignored),
            policies=tuple(placed for placed in self.header.policies if isinstance(placed, PlacedPolicy)),
            where=_TopLevel(roots), files=tuple(root.first.file for root in self.roots),
            environment=self.tree.environment or "", leads_to=self.leads_to,
            own_entries=self.own_entries,
        )  # fmt: skip
        diagnostics = tuple(ordered(map(self.filling.explain, problems)))
        if any(problem.is_error for problem in diagnostics):
            return Loaded(topology=None, readable=topology, diagnostics=diagnostics, name=topology.name or self.name)
        tops, origins = tuple(self.tops), self.filling.notes
        sources = tuple(placed for placed in self.header.policies if isinstance(placed, PlacedSource))
        return Loaded(
            topology=topology,
            diagnostics=diagnostics,
            name=topology.name,
            tops=tops,
            origins=origins,
            policies_from=sources,
        )

    def _contradictions(self) -> Iterator[Diagnostic]:
        """Check that an address is either declared, or removed, or forgotten, and only once. An `external` object may
        be forgotten as well."""
        seen: dict[Address, tuple[str, Where]]
        seen = {resource.address: ("declared", resource.where) for resource in self.collector.resources}
        elsewhere = {resource.address for resource in self.collector.resources if resource.external}
        mentions: Iterable[tuple[str, Address, Where, str]] = [
            *(("removed", removal.address, removal.where, "address") for removal in self.header.removed),
            *(("forgotten", forgotten.address, forgotten.where, "") for forgotten in self.header.forget),
            *(("moved away", move.origin, move.where, "from") for move in self.header.moved),
        ]
        for state, address, where, path in mentions:
            earlier, earlier_where = seen.setdefault(address, (state, where))
            if earlier_where is not where and not (state == "forgotten" and address in elsewhere):
                message = f"`{address}` is {state} here but {earlier} at {earlier_where('')}; keep one"
                yield error_at("XX505", "duplicate", message, where(path), address=str(address))

    def _stray_moves(self) -> Iterator[Diagnostic]:
        """Check that the target of a move is declared, and that only one move goes there."""
        declared = {move.address for move in self.collector.resources} | self.collector.unreadable
        if "topology" in self.header.values:
            declared.add(Address.of(TOPOLOGY, self.header.name))
        targets: dict[Address, Where] = {}
        for move in self.header.moved:
            if move.address not in declared:
                message = f"`{move.address}`, the new name of `{move.origin}`, is not declared; declare it, or remove this entry"
                yield error_at("XX502", "wrong-value", message, move.where("to"), address=str(move.address))
            elif not move.is_of_topology and (first := targets.setdefault(move.address, move.where)) is not move.where:
                message = f"`{move.address}` is the target of another move at {first('')}; keep one"
                yield error_at("XX505", "duplicate", message, move.where("to"), address=str(move.address))

    def _unused_consent_problems(self) -> Iterator[Diagnostic]:
        """Report consent for objects that are neither declared nor removed here. Where something could not be read, or
        an entry is about many, that is unknown."""
        if not self.header.allowed or not self.is_complete or self.collector.unreadable or self.header.bulk:
            return
        named = {resource.address: resource.spec.labels for resource in self.collector.resources}
        named |= {removal.address: {} for removal in self.header.removed}
        for allowance in self.header.allowed:
            if not any(allowance.selects(address, labels) for address, labels in named.items()):
                near = likely_pattern(allowance.on, named.keys(), named.values())
                message = f"`allow` names `{allowance.on}`, but no object here has that address or label"
                full_message = f"{message}; did you mean `{near}`?" if near else message
                example = min(named, default="stream/ORDERS")
                instead = (
                    f"write an address such as {example}, a pattern such as 'stream/*', or a label such as team=orders"
                )
                fix = f"write {near}, or remove the entry" if near else instead
                yield error_at("XX916", "names-nothing", full_message, allowance.where("on"), fix=fix)


@dataclass(frozen=True, slots=True)
class _TopLevel:
    """Places of top-level paths, in the first file that has them."""

    roots: tuple[Place, ...]

    def __call__(self, path: str) -> SourceSpan | None:
        wanted = path or "topology"
        for root in self.roots:
            if isinstance(root.node, Mapping) and wanted.split(".")[0].split("[")[0] in root.node.entries:
                return root(wanted)
        return self.roots[0]("") if self.roots else None
