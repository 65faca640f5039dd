"""Several topologies in one tree. Each is read on its own, and a command that works on one topology lists them.

Files that say the same name are one topology, wherever they are, unless they declare the same objects. Then each folder
is a topology for an account of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.find.discover import Discovered, Home, discover, stray
from reconciler.documents.find.policies import with_policies
from reconciler.documents.read.complain import complain
from reconciler.documents.read.files import DISK, Tree
from reconciler.documents.read.load import Loaded, load
from reconciler.model.diagnostic import Diagnostic

SHOWN = 20
"""How many topologies a sentence names."""


def load_each(paths: Sequence[Path], registry: Registry, tree: Tree = DISK) -> Loaded:
    """Load what the files declare; for several topologies, the files of each."""
    whole = _load(paths, registry, tree)
    if not (len(whole.names) > 1 or _repeats(whole)):
        return whole
    found = discover(paths, tree, registry)
    each = [_read(home, files, registry, tree) for home, files in _told_apart(found, registry, tree)]
    if len(each) < 2:
        return whole
    lost = tuple(_lost(found, paths, tree))
    told = _several(each)
    return replace(whole, topology=None, diagnostics=lost or (told,), name="", each=() if lost else tuple(each))


def _load(paths: Sequence[Path], registry: Registry, tree: Tree) -> Loaded:
    return with_policies(load(paths, registry, tree), registry, tree)


def _repeats(loaded: Loaded) -> bool:
    return any(one.name == "duplicate" for one in loaded.diagnostics)


def _told_apart(found: Discovered, registry: Registry, tree: Tree) -> Iterator[tuple[Home, list[Path]]]:
    """Merge places of the same name into one, unless that would declare something twice."""
    for name in dict.fromkeys(home.name for home in found.files):
        homes = {home: files for home, files in found.files.items() if home.name == name}
        together = [path for files in homes.values() for path in files]
        if len(homes) > 1 and _repeats(load(together, registry, tree)):
            yield from homes.items()
        else:
            yield next(iter(homes)), together


def _read(home: Home, files: Sequence[Path], registry: Registry, tree: Tree) -> Loaded:
    """Name a topology by its folder where the folder holds nothing else."""
    inside, problems = tree.find([home.folder])
    short = (home.folder,) if not problems and set(inside) == set(files) else tuple(files)
    loaded = _load(files, registry, tree)
    return replace(loaded, name=loaded.name or home.name, paths=short)


def _lost(found: Discovered, paths: Sequence[Path], tree: Tree) -> Iterator[Diagnostic]:
    """Files that belong to no topology although they should, or that were named on the command line."""
    yield from found.problems
    placed = {path for files in found.files.values() for path in files} | {
        Path(one.span.file) for one in found.problems if one.span
    }
    for path in paths:
        if path not in placed and tree.find([path])[0] == [path]:
            yield from found.strange.get(path) or [
                stray(path, "no file of its folder, or of one above it, names a topology")
            ]


def _several(each: Sequence[Loaded]) -> Diagnostic:
    named = [f"{one.name} ({', '.join(map(str, one.paths[:2]))}{', …' if len(one.paths) > 2 else ''})" for one in each]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    message = f"these files hold {len(each)} topologies, but this works on one: {', '.join(named[:SHOWN])}{more}"
    fix = f"name the files of one topology, for example {' '.join(map(str, each[0].paths[:2]))}"
    return complain("XX522", "several-topologies", message, None, fix=fix)
