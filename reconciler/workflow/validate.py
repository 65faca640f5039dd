"""Offline checks: what the files alone say, judged for the oldest server they are written for and for the newest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.core.diagnostic import Diagnostic, ordered
from reconciler.core.judging import judged_all
from reconciler.core.kind import Registry
from reconciler.core.reconcile import reconcile
from reconciler.core.rule import View
from reconciler.core.topology import Topology
from reconciler.core.wire import SUPPORTED, Snapshot, Target, Version
from reconciler.documents.files import DISK, Tree
from reconciler.documents.load import Loaded
from reconciler.kinds import REGISTRY
from reconciler.workflow.files import load

OFFLINE = frozenset({"spec", "neighbours"})
"""What can be judged without looking at a server."""


def validate(paths: Sequence[Path], server: Version | None = None) -> tuple[Topology | None, list[Diagnostic]]:
    """The topology, if it could be read, and everything wrong with it."""
    loaded = checked(paths, server)
    return loaded.topology, list(loaded.diagnostics)


def checked_each(paths: Sequence[Path], server: Version | None = None, tree: Tree = DISK) -> list[Loaded]:
    """The same of every topology that the files hold."""
    loaded = load(paths, tree)
    return [_judged(one, server) for one in loaded.each or (loaded,)]


def checked(paths: Sequence[Path], server: Version | None = None, tree: Tree = DISK) -> Loaded:
    """What the files say, with everything wrong with it."""
    return _judged(load(paths, tree), server)


def _judged(loaded: Loaded, server: Version | None) -> Loaded:
    if loaded.topology is None:
        return loaded
    found = dict.fromkeys(loaded.diagnostics)
    for version in versions(loaded.topology, server):
        found |= dict.fromkeys(offline(loaded.topology, version, REGISTRY))
    return replace(loaded, diagnostics=tuple(ordered(found)))


def versions(topology: Topology, server: Version | None) -> list[Version]:
    if server is not None:
        return [server]
    oldest = topology.expect.min_server
    return sorted({Version.parse(oldest) if oldest else SUPPORTED[-1], SUPPORTED[-1]})


def nowhere(topology: Topology, version: Version) -> Target:
    """A cluster, so that nothing is refused for want of servers; called what the files expect."""
    expect = topology.expect
    return Target(version=version, cluster=expect.cluster or "(offline)", domain=expect.domain, account=expect.account)


def offline(topology: Topology, version: Version, registry: Registry) -> Iterator[Diagnostic]:
    """Verdicts on creating everything on an empty cluster of this version, from the rules that need no live state."""
    snapshot = Snapshot(target=nowhere(topology, version))
    world = reconcile(topology, snapshot, {}, registry, ledger_known=True)
    view = View(
        target=snapshot.target, topology=topology.name, snapshot=snapshot, desired=world.desired, changes=world.changes
    )
    for verdicts in judged_all(world, view, registry, needing=OFFLINE).values():
        yield from (verdict.diagnostic() for verdict in verdicts)
