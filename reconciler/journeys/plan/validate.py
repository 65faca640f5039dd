"""Offline checks: judges the files alone, for the oldest server they are written for and for the newest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from reconciler.changes.change import Change
from reconciler.changes.consent import bulk_consents, first_covering
from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.changes.view import View
from reconciler.documents.fill.values import Filled
from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.read.load import Loaded
from reconciler.engine.compare import compare, version_warnings
from reconciler.engine.judging import verdicts_of_all
from reconciler.engine.pairing.moves import is_renamable
from reconciler.journeys.plan.files import in_environments, load, used_stream_problems, without_repeated_diagnostics
from reconciler.kinds import REGISTRY
from reconciler.memory.remembered import Memory
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, ordered
from reconciler.model.policy import is_policy
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import SOME_CLUSTER, Scope, Snapshot, Target
from reconciler.model.wire.version import SUPPORTED, Version

OFFLINE = frozenset({"spec", "neighbours"})
"""What rules may need when no server is asked."""
ALONE = frozenset({"spec"})
"""What rules may need when other resources could not be read."""
FILLED = Filled()


def validate(paths: Sequence[Path], server: Version | None = None) -> tuple[Topology | None, list[Diagnostic]]:
    """Return the topology, if it could be read, and everything wrong with it."""
    loaded = checked_topology(paths, server)
    return loaded.topology, list(loaded.diagnostics)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFiles:
    """Every topology of some files, checked in its environments."""

    each: tuple[Loaded, ...]
    left_out: tuple[str, ...]
    """Topologies that lack the environment that was asked for, while others have it."""


def checked_each(
    paths: Sequence[Path], server: Version | None = None, tree: Filled = FILLED, environment: str | None = None
) -> CheckedFiles:
    """Check every topology that the files hold, in every environment that the name or pattern matches."""
    files = load(paths, tree)
    topologies = files.each or (files,)
    placed = in_environments(topologies, tree, environment)
    each = [loaded for places in placed for loaded in places]
    checked_ = [_checked_loaded(loaded, server, [*_neighbour_topologies(loaded, each)]) for loaded in each]
    return CheckedFiles(
        each=(*without_repeated_diagnostics(checked_),),
        left_out=tuple(loaded.name for loaded, places in zip(topologies, placed, strict=True) if not places),
    )


def _neighbour_topologies(loaded: Loaded, all_loaded: Sequence[Loaded]) -> Iterator[Topology]:
    """Topologies of the same account, as far as files tell."""
    for other in all_loaded:
        if other.topology and loaded.topology and other.topology.environment == loaded.topology.environment:
            yield other.topology


def checked_topology(paths: Sequence[Path], server: Version | None = None, tree: Tree = DISK) -> Loaded:
    """Check what the files say, and report everything wrong with it."""
    return _checked_loaded(load(paths, tree), server)


def _checked_loaded(loaded: Loaded, server: Version | None, neighbours: Collection[Topology] = ()) -> Loaded:
    topology, needing = (loaded.topology, OFFLINE) if loaded.topology else (loaded.readable, ALONE)
    if topology is None:
        return loaded
    diagnostics = dict.fromkeys(
        [*loaded.diagnostics, *(used_stream_problems(topology, neighbours) if loaded.topology else ())]
    )
    for version in versions(topology, server):
        span = None if server else topology.where("expect.min_server")
        diagnostics |= dict.fromkeys(version_warnings(version, span))
        diagnostics |= dict.fromkeys(offline(topology, version, REGISTRY, needing, neighbours))
    diagnostics |= dict.fromkeys(_impossible_rename_warnings(topology, REGISTRY))
    return replace(loaded, diagnostics=tuple(ordered(diagnostics)))


def _impossible_rename_warnings(topology: Topology, registry: Registry) -> Iterator[Diagnostic]:
    """Warn of entries in `moved` that a plan refuses while the old object is live, which no file can tell."""
    for entry in topology.moved:
        if not (entry.is_of_topology or is_renamable(entry, registry.of(entry.origin))):
            yield Diagnostic(
                severity=Severity.WARNING, code="XX110", name="name-is-fixed", address=str(entry.address), span=entry.where("to"),
                message=f"no server gives {entry.origin} the name of {entry.address}; a plan refuses this while the old one is live",
                fix="remove the entry; or plan, which prints the steps of a copy that loses nothing",
            )  # fmt: skip


def versions(topology: Topology, server: Version | None) -> list[Version]:
    """Return the versions to judge the files for: the one given, or the oldest that they expect and the newest
    supported."""
    if server is not None:
        return [server]
    oldest = topology.expect.min_server
    return sorted({Version.parse(oldest) if oldest else SUPPORTED[-1], SUPPORTED[-1]})


def imagined_target(topology: Topology, version: Version) -> Target:
    """An imagined target with the names that the files expect. It is a cluster, so that no rule refuses for want of
    servers."""
    expect = topology.expect
    cluster = expect.cluster or SOME_CLUSTER
    return Target(version=version, cluster=cluster, domain=expect.domain, account=expect.account, is_imagined=True)


def offline(
    topology: Topology,
    version: Version,
    registry: Registry,
    needing: frozenset[str] = OFFLINE,
    neighbours: Collection[Topology] = (),
) -> Iterator[Diagnostic]:
    """Judge the creation of everything on an empty cluster of this version. The objects that topologies in `neighbours`
    declare may exist there."""
    for verdict in offline_verdicts(topology, version, registry, needing, neighbours):
        yield verdict.diagnostic()


def offline_verdicts(
    topology: Topology,
    version: Version,
    registry: Registry = REGISTRY,
    needing: frozenset[str] = OFFLINE,
    neighbours: Collection[Topology] = (),
) -> Iterator[Verdict]:
    """Verdicts on that creation. What may be live already is refused to nobody."""
    older = tolerated_verdicts(topology, version, registry)
    for verdict in _verdicts(topology, version, registry, needing, neighbours):
        yield softened_unless_live(verdict, older)


Said = Callable[[], Collection[tuple[str, str, str]]]


def tolerated_verdicts(topology: Topology, version: Version, registry: Registry) -> Said:
    """The address, code and path of each finding that would not stop an object which an older server accepted."""

    @cache
    def tolerated_verdict_keys() -> frozenset[tuple[str, str, str]]:
        older = (each for each in SUPPORTED if each < version)
        verdicts = (verdict for each in older for verdict in _verdicts(topology, each, registry))
        return frozenset((judged.address, judged.code, judged.path) for judged in verdicts if judged.can_stand)

    return tolerated_verdict_keys


def softened_unless_live(verdict: Verdict, older: Said) -> Verdict:
    """Turn a refusal into a warning where the object may already be live and unchanged: no server was asked whether it
    is."""
    if not verdict.blocks:
        return verdict
    if not (verdict.can_stand or (verdict.address, verdict.code, verdict.path) in older()):
        return verdict
    return replace(verdict, outcome=Outcome.WARNS, message=f"{verdict.message.rstrip('.')}. {UNLESS_LIVE}")


UNLESS_LIVE = "A plan refuses this unless the object is already live like this."


def _verdicts(
    topology: Topology,
    version: Version,
    registry: Registry,
    needing: frozenset[str] = OFFLINE,
    neighbours: Collection[Topology] = (),
) -> Iterator[Verdict]:
    ours = set(_stream_names(topology, registry))
    theirs = {stream for other in neighbours for stream in _stream_names(other, registry)} - ours
    unknown = {Scope.stream(stream): "another topology declares it" for stream in theirs}
    snapshot = Snapshot(target=imagined_target(topology, version), unknown=unknown)
    view = compare(topology, snapshot, Memory(), registry, RunOptions(today=datetime.now(UTC).date()))
    for address, verdicts in verdicts_of_all(view, registry, needing=needing).items():
        yield from (verdict for verdict in verdicts if not _is_waived(verdict, view.changes[address], view))


def _is_waived(verdict: Verdict, change: Change, view: View) -> bool:
    """Of the rules, only policies are waived by the files alone; others depend on what is live."""
    if not is_policy(verdict.code):
        return False
    waivers = (*change.terms.allow, *bulk_consents(change.address, change.labels, view.allow))
    return first_covering(verdict, waivers, view.today, type(change.terms)) is not None


def _stream_names(topology: Topology, registry: Registry) -> Iterator[str]:
    """The streams behind what is declared; a consumer has none of its own."""
    names = (registry.of(resource.address).stream(resource.address) for resource in topology.resources)
    yield from (stream for stream in names if stream)
