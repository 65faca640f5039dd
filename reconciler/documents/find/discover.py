"""Finds the topologies below some paths: a repository may hold several, each one file or a folder.

A file that says `topology:` belongs to that topology, together with files of the same one in folders below. A file that
names none belongs to the topology of the nearest folder around it. Other YAML belongs to no topology, and neither does
text that is not YAML: charts, templates and encrypted files stand beside topologies in many repositories.

Several topologies in one tree. Each is read on its own, and a command that works on one topology lists them.

Files that say the same name are one topology, wherever they are, unless they declare the same objects. Then each folder
is a topology for an account of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from dataclasses import field, replace
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.fill.environments import OF_FILE
from reconciler.documents.fill.values import Mask
from reconciler.documents.parse.files import DISK, INCLUDE, Tree
from reconciler.documents.parse.nodes import Mapping, Node, Scalar, error_at
from reconciler.documents.parse.nodes import Sequence as Items
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.read.header import top_level_keys
from reconciler.documents.read.load import Loaded, load
from reconciler.documents.read.other_files import other_file_error
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan

POLICIES = "policies"
_OURS = re.compile(r"reconciler|topology|parameters|environment|^include:", re.MULTILINE)
"""A file without any of these words has none of our keys, so it is not even parsed: big repositories have thousands of
them."""
_BEGINS_AS_OURS = re.compile(
    r"""^\{?["']?(reconciler["']?[ \t]*:[ \t]*\d|topology["']?[ \t]*:[ \t]*["'\w])""", re.MULTILINE
)


@dataclass(frozen=True, slots=True, order=True)
class Home:
    """The place of a topology: two folders may each hold one of the same name, for two accounts."""

    folder: Path
    name: str
    environment: str = ""
    """The environment that it is read for; empty where it has none."""


@dataclass(slots=True)
class Discovered:
    files: dict[Home, list[Path]] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    """About files that should belong to a topology but do not."""
    strange: dict[Path, list[Diagnostic]] = field(default_factory=dict)
    """Errors of files that cannot be read and do not look like ours, and what other files are."""
    parameters: set[str] = field(default_factory=set)
    """Names of all parameters that the files declare."""
    read_besides: dict[Home, set[Path]] = field(default_factory=dict)
    """Files and folders that the files of a topology include, or take policies from."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    name: str
    """The topology it names; empty if it names none."""
    is_ours: bool
    """It has a key that only our files have, or looks like it does."""
    problems: list[Diagnostic]
    parameters: frozenset[str] = frozenset()
    includes: frozenset[Path] = frozenset()
    policies: frozenset[Path] = frozenset()
    """Files and folders whose policies it takes."""


Headers = Table[Path, set[str]]
"""Topology names found in the files of a folder."""


def discover(paths: Sequence[Path], tree: Tree, registry: Registry) -> Discovered:
    """Find every topology below these paths, with its files. Nothing else in the files is checked yet."""
    yaml_files, problems = tree.find(paths)
    own_keys, named = top_level_keys(registry), set(paths)
    files = [_read_file(path, tree, own_keys, in_full=path in named) for path in yaml_files]
    headers: dict[Path, set[str]] = {}
    for file in files:
        if file.name:
            headers.setdefault(file.path.parent, set()).add(file.name)
    parameters = {name for file in files for name in file.parameters}
    discovered = Discovered(problems=problems, parameters=parameters)
    included = {os.path.realpath(path) for file in files for path in file.includes}
    for file in files:
        is_stray = len(_possible_homes(file, headers)) > 1
        if is_stray and not file.name and os.path.realpath(file.path) in included:
            continue  # several topologies share it, and each reads it
        _add_to_its_topology(
            _read_file(file.path, tree, own_keys, in_full=True) if is_stray else file, headers, discovered
        )
    by_path = {os.path.realpath(file.path): file for file in files}
    for besides in discovered.read_besides.values():
        besides.update(_named_by(besides, by_path))
    return discovered


def _named_by(paths: Iterable[Path], files: Table[str, _File]) -> Iterator[Path]:
    """What files at these paths include and take policies from, and what those do."""
    todo, seen = [*paths], set[str]()
    while todo:
        file = files.get(os.path.realpath(todo.pop()))
        if file and os.path.realpath(file.path) not in seen:
            seen.add(os.path.realpath(file.path))
            todo += [*file.includes, *file.policies]
            yield from (*file.includes, *file.policies)


def _add_to_its_topology(file: _File, headers: Headers, discovered: Discovered) -> None:
    homes = _possible_homes(file, headers)
    if len(homes) == 1:
        discovered.files.setdefault(homes[0], []).append(file.path)
        discovered.read_besides.setdefault(homes[0], set()).update(file.includes, file.policies)
    elif homes and file.problems:
        discovered.problems += file.problems
    elif homes:
        names = ", ".join(home.name for home in homes)
        discovered.problems.append(unnamed_topology(file.path, f"{homes[0].folder} holds several topologies: {names}"))
    elif file.problems and file.is_ours:
        discovered.problems += file.problems
    elif file.problems:
        discovered.strange[file.path] = file.problems
    elif file.is_ours:
        discovered.problems.append(
            unnamed_topology(file.path, "no file of its folder, or of one above it, names a topology")
        )


def unnamed_topology(path: Path, why: str) -> Diagnostic:
    """Return XX521 for a file that names no topology where the folders around it do not settle one either."""
    message = f"this file does not say which topology it belongs to, and {why}"
    start_of_file = SourceSpan(str(path), 1, 1, 1, 1)
    return error_at("XX521", "topology-unnamed", message, start_of_file, fix="write `topology: NAME` into the file")


def _possible_homes(file: _File, headers: Headers) -> list[Home]:
    above = [folder for folder in file.path.parents if folder in headers]
    names = [file.name] if file.name else sorted(headers[above[0]]) if above else []
    return [Home([folder for folder in above if name in headers[folder]][-1], name) for name in names]


def _read_file(path: Path, tree: Tree, own_keys: Sequence[str], *, in_full: bool) -> _File:
    text, problems = tree.read(path)
    if not (problems or in_full or _OURS.search(text)):
        return _File(path, "", is_ours=False, problems=[])
    mask = Mask.for_text(text)
    root, wrong = (None, problems) if problems else read_tree(str(path), mask.hide_braces(text))
    if other := other_file_error(str(path), root, own_keys):
        return _File(path, "", is_ours=False, problems=[other])
    if not isinstance(root, Mapping):
        return _File(path, "", is_ours=_BEGINS_AS_OURS.search(text) is not None, problems=wrong)
    topology_entry = root.entries.get("topology")
    name = mask.show_braces(topology_entry[1].text) if topology_entry and isinstance(topology_entry[1], Scalar) else ""
    declared = root.get("parameters")
    parameters = frozenset(declared.entries if isinstance(declared, Mapping) else ())
    is_ours = not {"reconciler", OF_FILE}.isdisjoint(root.entries) or bool(name)
    includes = frozenset(_named_paths(path, _items(root.get(INCLUDE))))
    policies = frozenset(_named_paths(path, _places_of_policies(root.get(POLICIES))))
    return _File(
        path, name, is_ours=is_ours, problems=wrong, parameters=parameters, includes=includes, policies=policies
    )


def _items(node: Node | None) -> Iterable[Node | None]:
    return node.items if isinstance(node, Items) else [node]


def _named_paths(path: Path, nodes: Iterable[Node | None]) -> Iterator[Path]:
    """The paths that a file names, from its own folder."""
    return (Path(os.path.normpath(path.parent / node.text)) for node in nodes if isinstance(node, Scalar))


def _places_of_policies(node: Node | None) -> Iterator[Node | None]:
    """The places that may change; a commit of another repository never does."""
    return (item.get("from") for item in _items(node) if isinstance(item, Mapping) and "revision" not in item.entries)


SHOWN = 20
"""How many topologies a sentence names."""


def load_each(paths: Sequence[Path], registry: Registry, tree: Tree = DISK) -> Loaded:
    """Load what the files declare; for several topologies, the files of each."""
    loaded = load(paths, registry, tree)
    if not (len(loaded.names) > 1 or _declares_twice(loaded)):
        return loaded
    discovered = discover(paths, tree, registry)
    topologies = [
        _load_topology(home, files, registry, tree) for home, files in _merged_homes(discovered, registry, tree)
    ]
    if len(topologies) < 2:
        return loaded
    lost = tuple(_lost_file_problems(discovered, paths, tree))
    problem = _too_many_topologies(topologies)
    return replace(
        loaded, topology=None, diagnostics=lost or (problem,), name="", each=() if lost else tuple(topologies)
    )


def _declares_twice(loaded: Loaded) -> bool:
    return any(diagnostic.name == "duplicate" for diagnostic in loaded.diagnostics)


def _merged_homes(discovered: Discovered, registry: Registry, tree: Tree) -> Iterator[tuple[Home, list[Path]]]:
    """Merge places of the same name into one, unless that would declare something twice."""
    for name in dict.fromkeys(home.name for home in discovered.files):
        homes = {home: files for home, files in discovered.files.items() if home.name == name}
        all_files = [path for files in homes.values() for path in files]
        if len(homes) > 1 and _declares_twice(load(all_files, registry, tree)):
            yield from homes.items()
        else:
            yield next(iter(homes)), all_files


def _load_topology(home: Home, files: Sequence[Path], registry: Registry, tree: Tree) -> Loaded:
    loaded = load(files, registry, tree)
    return replace(loaded, name=loaded.name or home.name, paths=short_paths(home.folder, files, tree))


def short_paths(folder: Path, files: Sequence[Path], tree: Tree = DISK) -> tuple[Path, ...]:
    """Return the folder where it holds these files and nothing else, else the files."""
    inside, problems = tree.find([folder])
    return (folder,) if not problems and set(inside) == set(files) else tuple(files)


def _lost_file_problems(discovered: Discovered, paths: Sequence[Path], tree: Tree) -> Iterator[Diagnostic]:
    """Files that belong to no topology although they should, or that were named on the command line."""
    yield from discovered.problems
    placed = {path for files in discovered.files.values() for path in files} | {
        Path(problem.span.file) for problem in discovered.problems if problem.span
    }
    for path in paths:
        if path not in placed and tree.find([path])[0] == [path]:
            yield from discovered.strange.get(path) or [
                unnamed_topology(path, "no file of its folder, or of one above it, names a topology")
            ]


def _too_many_topologies(topologies: Sequence[Loaded]) -> Diagnostic:
    named = [f"{topology.name} ({_first_paths(topology)})" for topology in topologies]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    message = f"these files hold {len(topologies)} topologies, but this works on one: {', '.join(named[:SHOWN])}{more}"
    fix = f"name the files of one topology, for example {' '.join(map(str, topologies[0].paths[:2]))}"
    return error_at("XX522", "several-topologies", message, None, fix=fix)


def _first_paths(topology: Loaded) -> str:
    return ", ".join(map(str, topology.paths[:2])) + (", …" if len(topology.paths) > 2 else "")
