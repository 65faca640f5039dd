"""Reads the policies that a topology's files name: files and folders beside it, and repositories at a fixed commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.fill.values import Filled
from reconciler.documents.find.git_tree import GitTree
from reconciler.documents.find.repository_cache import tree_at_commit
from reconciler.documents.parse.complain import complain
from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.parse.nodes import Mapping
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.read.header import Header
from reconciler.documents.read.load import Loaded
from reconciler.model.diagnostic import CannotContinue, Diagnostic, SourceSpan, ordered
from reconciler.model.policy import PlacedPolicy, PlacedSource
from reconciler.policies.policies import problems

POLICIES = "policies"


def with_policies(loaded: Loaded, registry: Registry, tree: Tree) -> Loaded:
    """Add the policies that the files name, and what is wrong with any of them."""
    topology = loaded.topology
    if topology is None or not (topology.policies or loaded.policies_from):
        return loaded
    results: list[PlacedPolicy | Diagnostic] = [*topology.policies]
    for result in loaded.policies_from:
        results += _policies_from(result, registry, tree)
    policies = tuple(result for result in results if isinstance(result, PlacedPolicy))
    errors = [result for result in results if isinstance(result, Diagnostic)] or list(
        _problems_of_policies(policies, registry)
    )
    judged = replace(topology, policies=() if errors else policies)
    if errors:
        diagnostics = tuple(ordered([*loaded.diagnostics, *errors]))
        return replace(loaded, topology=None, readable=judged, diagnostics=diagnostics)
    return replace(loaded, topology=judged, policies_from=())


def read_policies(paths: Sequence[Path], registry: Registry) -> tuple[list[PlacedPolicy], list[Diagnostic]]:
    """Read the policies in these files, whatever else stands there, and those that they name."""
    files, unreadable = DISK.find(paths)
    results: list[PlacedPolicy | Diagnostic] = [*unreadable]
    for path in files:
        for result in _policies_in_file(path, registry, DISK):
            results += _policies_from(result, registry, DISK) if isinstance(result, PlacedSource) else [result]
    policies = [result for result in results if isinstance(result, PlacedPolicy)]
    errors = [result for result in results if isinstance(result, Diagnostic)]
    return policies, ordered(errors or list(_problems_of_policies(policies, registry)))


def _problems_of_policies(policies: Sequence[PlacedPolicy], registry: Registry) -> Iterator[Diagnostic]:
    try:
        yield from problems(policies, registry)
    except CannotContinue as error:
        yield from (replace(diagnostic, span=policies[0].where("code")) for diagnostic in error.diagnostics)


def _policies_from(placed: PlacedSource, registry: Registry, tree: Tree) -> Iterator[PlacedPolicy | Diagnostic]:
    """The policies at the place that an entry names."""
    span = placed.where("from")
    try:
        path, within = _file_and_tree(placed, span, tree)
        files, unreadable = within.find([path])
    except CannotContinue as error:
        yield from (replace(item, code="XX528", name="policy", span=span) for item in error.diagnostics)
        return
    yield from (replace(item, code="XX528", name="policy", span=span) for item in unreadable)
    for file in files:
        for item in _policies_in_file(file, registry, within):
            if isinstance(item, PlacedSource):
                message = "policies that are named elsewhere name no others; name them in the topology"
                yield complain("XX528", "policy", message, item.where("from"))
            else:
                yield item


def _file_and_tree(placed: PlacedSource, span: SourceSpan | None, tree: Tree) -> tuple[Path, Tree]:
    source, folder = placed.source, Path(span.file).parent if span else Path()
    if source.revision is None:
        path = Path(os.path.normpath(folder / source.from_))
        return path, _tree_of(path, tree)
    path_from_file = folder / source.from_
    repository = tree_at_commit(
        str(path_from_file.resolve()) if path_from_file.is_dir() else source.from_, source.revision
    )
    return repository.root / os.path.normpath(source.path), repository


def _tree_of(path: Path, tree: Tree) -> Tree:
    """Return the tree of a path: of a revision, its own policies; those outside the repository are as they are on
    disk."""
    inner = tree.tree if isinstance(tree, Filled) else tree
    if isinstance(inner, GitTree):
        inside = Path(os.path.realpath(inner.root)) in Path(os.path.realpath(path)).parents
        return inner if inside else DISK
    return inner


def _policies_in_file(path: Path, registry: Registry, tree: Tree) -> Iterator[PlacedPolicy | PlacedSource | Diagnostic]:
    text, unreadable = tree.read(path)
    root, misread = (None, []) if unreadable else read_tree(str(path), text)
    yield from (*unreadable, *misread)
    if isinstance(root, Mapping) and POLICIES in root.entries:
        header = Header(registry)
        header.read_key(*root.entries[POLICIES])
        yield from (*header.policies, *header.problems)
    elif not (unreadable or misread):
        message = f"this file has no `{POLICIES}`; leave it out of what is named for policies"
        yield complain("XX528", "policy", message, SourceSpan(str(path), 1, 1, 1, 1))
