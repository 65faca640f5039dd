"""Several topologies in one tree. Each is read on its own, and a command that works on one topology lists them.

Files that say the same name are one topology, wherever they are, unless they declare the same objects. Then each folder
is a topology for an account of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.find.discover import Discovered, Home, discover, unnamed_topology
from reconciler.documents.parse.complain import complain
from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.read.load import Loaded, load
from reconciler.model.diagnostic import Diagnostic

SHOWN = 20
"""How many topologies a sentence names."""


def load_each(paths: Sequence[Path], registry: Registry, tree: Tree = DISK) -> Loaded:
    """Load what the files declare; for several topologies, the files of each."""
    loaded = load(paths, registry, tree)
    if not (len(loaded.names) > 1 or _declares_twice(loaded)):
        return loaded
    discovered = discover(paths, tree, registry)
    topologies = [
        _load_topology(home, files, registry, tree) for home, files in _files_by_home(discovered, registry, tree)
    ]
    if len(topologies) < 2:
        return loaded
    lost = tuple(_lost_files(discovered, paths, tree))
    problem = _too_many_topologies(topologies)
    return replace(
        loaded, topology=None, diagnostics=lost or (problem,), name="", each=() if lost else tuple(topologies)
    )


def _declares_twice(loaded: Loaded) -> bool:
    return any(diagnostic.name == "duplicate" for diagnostic in loaded.diagnostics)


def _files_by_home(discovered: Discovered, registry: Registry, tree: Tree) -> Iterator[tuple[Home, list[Path]]]:
    """Merge places of the same name into one, unless that would declare something twice."""
    for name in dict.fromkeys(home.name for home in discovered.files):
        homes = {home: files for home, files in discovered.files.items() if home.name == name}
        all_files = [path for files in homes.values() for path in files]
        if len(homes) > 1 and _declares_twice(load(all_files, registry, tree)):
            yield from homes.items()
        else:
            yield next(iter(homes)), all_files


def _load_topology(home: Home, files: Sequence[Path], registry: Registry, tree: Tree) -> Loaded:
    """Name a topology by its folder where the folder holds nothing else."""
    inside, problems = tree.find([home.folder])
    short = (home.folder,) if not problems and set(inside) == set(files) else tuple(files)
    loaded = load(files, registry, tree)
    return replace(loaded, name=loaded.name or home.name, paths=short)


def _lost_files(discovered: Discovered, paths: Sequence[Path], tree: Tree) -> Iterator[Diagnostic]:
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
    return complain("XX522", "several-topologies", message, None, fix=fix)


def _first_paths(topology: Loaded) -> str:
    return ", ".join(map(str, topology.paths[:2])) + (", …" if len(topology.paths) > 2 else "")
