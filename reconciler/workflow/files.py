"""Files → topology, with the kinds we have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reconciler.core.diagnostic import CannotContinue
from reconciler.core.topology import Topology
from reconciler.documents.files import DISK, Tree
from reconciler.documents.load import Loaded
from reconciler.documents.load import load as load_documents
from reconciler.kinds import REGISTRY


def load(paths: Sequence[Path], tree: Tree = DISK) -> Loaded:
    """One topology from files and folders, or every problem in them."""
    return load_documents(paths, REGISTRY, tree)


def read(paths: Sequence[Path], tree: Tree = DISK) -> Topology:
    """The topology alone; without one there is nothing to go on with."""
    return topology_of(load(paths, tree))


def topology_of(loaded: Loaded) -> Topology:
    if loaded.topology is None:
        raise CannotContinue(*loaded.diagnostics, topology=loaded.name)
    return loaded.topology
