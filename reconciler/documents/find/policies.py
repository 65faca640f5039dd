"""Reads the policies that a topology's files name: files and folders beside it, and repositories at a fixed commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.find.git_tree import GitTree
from reconciler.documents.find.repository_cache import fetched
from reconciler.documents.read.complain import complain
from reconciler.documents.read.files import DISK, Tree
from reconciler.documents.read.header import Header
from reconciler.documents.read.load import Loaded
from reconciler.documents.read.nodes import Mapping
from reconciler.documents.read.tree import read_tree
from reconciler.documents.read.values import Filled
from reconciler.model.diagnostic import CannotContinue, Diagnostic, SourceSpan, ordered
from reconciler.model.policy import PlacedPolicy, PlacedSource
from reconciler.policies.policies import problems

POLICIES = "policies"


def with_policies(loaded: Loaded, registry: Registry, tree: Tree) -> Loaded:
    """Add the policies that the files name, and what is wrong with any of them."""
    topology = loaded.topology
    if topology is None or not (topology.policies or loaded.policies_from):
        return loaded
    found: list[PlacedPolicy | Diagnostic] = [*topology.policies]
    for one in loaded.policies_from:
        found += _named(one, registry, tree)
    policies = tuple(one for one in found if isinstance(one, PlacedPolicy))
    wrong = [one for one in found if isinstance(one, Diagnostic)] or list(_misread(policies, registry))
    judged = replace(topology, policies=() if wrong else policies)
    if wrong:
        said = tuple(ordered([*loaded.diagnostics, *wrong]))
        return replace(loaded, topology=None, readable=judged, diagnostics=said)
    return replace(loaded, topology=judged, policies_from=())


def read_policies(paths: Sequence[Path], registry: Registry) -> tuple[list[PlacedPolicy], list[Diagnostic]]:
    """Read the policies in these files, whatever else stands there, and those that they name."""
    files, wrong = DISK.find(paths)
    found: list[PlacedPolicy | Diagnostic] = [*wrong]
    for path in files:
        for one in _in_file(path, registry, DISK):
            found += _named(one, registry, DISK) if isinstance(one, PlacedSource) else [one]
    policies = [one for one in found if isinstance(one, PlacedPolicy)]
    said = [one for one in found if isinstance(one, Diagnostic)]
    return policies, ordered(said or list(_misread(policies, registry)))


def _misread(policies: Sequence[PlacedPolicy], registry: Registry) -> Iterator[Diagnostic]:
    try:
        yield from problems(policies, registry)
    except CannotContinue as error:
        yield from (replace(one, span=policies[0].where("code")) for one in error.diagnostics)


def _named(one: PlacedSource, registry: Registry, tree: Tree) -> Iterator[PlacedPolicy | Diagnostic]:
    """The policies at the place that an entry names."""
    span = one.where("from")
    try:
        path, within = _place(one, span, tree)
        files, wrong = within.find([path])
    except CannotContinue as error:
        yield from (replace(each, code="XX528", name="policy", span=span) for each in error.diagnostics)
        return
    yield from (replace(each, code="XX528", name="policy", span=span) for each in wrong)
    for file in files:
        for each in _in_file(file, registry, within):
            if isinstance(each, PlacedSource):
                message = "policies that are named elsewhere name no others; name them in the topology"
                yield complain("XX528", "policy", message, each.where("from"))
            else:
                yield each


def _place(one: PlacedSource, span: SourceSpan | None, tree: Tree) -> tuple[Path, Tree]:
    source, folder = one.source, Path(span.file).parent if span else Path()
    if source.revision is None:
        path = Path(os.path.normpath(folder / source.from_))
        return path, _tree_with(path, tree)
    beside = folder / source.from_
    repository = fetched(str(beside.resolve()) if beside.is_dir() else source.from_, source.revision)
    return repository.root / os.path.normpath(source.path), repository


def _tree_with(path: Path, tree: Tree) -> Tree:
    """Of a revision, its own policies; those outside the repository are as they are on disk."""
    inner = tree.tree if isinstance(tree, Filled) else tree
    if isinstance(inner, GitTree):
        inside = Path(os.path.realpath(inner.root)) in Path(os.path.realpath(path)).parents
        return inner if inside else DISK
    return inner


def _in_file(path: Path, registry: Registry, tree: Tree) -> Iterator[PlacedPolicy | PlacedSource | Diagnostic]:
    text, wrong = tree.read(path)
    root, misread = (None, []) if wrong else read_tree(str(path), text)
    yield from (*wrong, *misread)
    if isinstance(root, Mapping) and POLICIES in root.entries:
        header = Header(registry)
        header.read(*root.entries[POLICIES])
        yield from (*header.policies, *header.problems)
    elif not (wrong or misread):
        message = f"this file has no `{POLICIES}`; leave it out of what is named for policies"
        yield complain("XX528", "policy", message, SourceSpan(str(path), 1, 1, 1, 1))
