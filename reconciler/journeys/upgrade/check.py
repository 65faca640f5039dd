"""Judges what another nats-server version would make of an account, or of files: lost, not served, refused,
rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from reconciler.changes.kind import Raw, Registry
from reconciler.changes.verdict import Outcome
from reconciler.changes.view import View
from reconciler.documents.parse.files import DISK, Tree
from reconciler.engine.compare import compare
from reconciler.engine.judging import verdicts_of_all
from reconciler.engine.pairing.canonical import recognised_resources
from reconciler.journeys.plan.files import load, topology_of
from reconciler.journeys.plan.validate import OFFLINE, imagined_target
from reconciler.journeys.upgrade.outcomes import (
    Fate,
    UpgradeFinding,
    finding,
    marked_findings,
    refused_configurations,
    worst_first,
)
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.copies import at_restart
from reconciler.kinds.fields.known import unknown_fields
from reconciler.kinds.fields.words import in_words
from reconciler.kinds.stream_config import stream_config
from reconciler.kinds.stream_config.restarts import (
    COPY,
    FOR_LIFE,
    OF_ROOM,
    kept_in_memory,
    news_sentences,
    rewrites,
    wait_for_replicas_sentence,
    why_capped,
)
from reconciler.kinds.stream_config.stream_config import StreamConfig
from reconciler.memory import remembered
from reconciler.memory.remembered import Memory
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Address, Json, Resource
from reconciler.model.shape import ALWAYS, UNWRITTEN, As, Count, Like, Name, computed, counts_by
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream

TOO_YOUNG = "401"
"""The last digits of the codes of rules about fields and values that a version does not know."""
GONE = (Fate.LOST, Fate.OFFLINE)
CANON = {"stream": stream_config.canonical, "consumer": consumer_config.canonical}


_SHORT = As(Annotated[str, Like(pattern=r"^\d+\.\d+(\.\d+)?$")], attrgetter("short"))
_COUNTED = {
    Fate.LOST.value: "Findings about what is gone when the server has started.",
    Fate.OFFLINE.value: "Findings about what is kept on disk, but not served.",
    Fate.EMPTIED.value: "Findings about what loses messages, or a position, when servers restart.",
    Fate.REFUSED.value: "Findings about what cannot be changed there before it is repaired; of files, what is refused there.",
    Fate.CAPPED.value: "Findings about what cannot grow there.",
    Fate.REWRITTEN.value: "Findings about what is silently rewritten there.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The findings, worst first, and what was looked at."""

    before: Annotated[Version, Name("from"), _SHORT]
    """The version that runs; of files, the oldest one that they are for."""
    after: Annotated[Version, Name("to"), _SHORT]
    """The version to upgrade to."""
    findings: tuple[UpgradeFinding, ...]
    """What happens there, worst first."""
    news: Annotated[tuple[str, ...], ALWAYS] = ()
    """Changes that applications will notice, whatever the account holds."""
    unknown: Annotated[Mapping[str, str], ALWAYS] = field(default_factory=dict)
    """Why something could not be judged, by what could not be read."""
    read: Annotated[Mapping[str, Count], ALWAYS] = field(default_factory=dict)
    """How many objects were judged, by what they are."""
    diagnostics: Annotated[tuple[Diagnostic, ...], UNWRITTEN] = ()

    @property
    @computed("summary", after="to")
    def summary(self) -> Annotated[dict[str, int], counts_by(_COUNTED)]:
        """How many findings there are of each fate."""
        return {fate.value: sum(found.fate is fate for found in self.findings) for fate in Fate}


async def check_account(js: JetStream, after: Version) -> Checked:
    """Check everything live, managed or not."""
    return check_snapshot(await observe(js), after)


def check_snapshot(snapshot: Snapshot, after: Version, registry: Registry = REGISTRY) -> Checked:
    """Judge a snapshot of the account for another version; no server is asked."""
    before, live = snapshot.target.version, _live(snapshot, after)
    there = refused_configurations(live, _view(snapshot, after), registry, OF_ROOM)
    here = list(refused_configurations(_live(snapshot, before), _view(snapshot, before), registry, OF_ROOM))
    refused = [*_without_unknown_streams(marked_findings(there, here)), *_offline_stream_findings(live, after)]
    lost = [*refused, *_memory_only_findings(snapshot)]
    gone = {upgrade_finding.address for upgrade_finding in lost if upgrade_finding.fate in GONE}
    rewritten = [
        upgrade_finding for upgrade_finding in _rewritten_fields(snapshot, after) if upgrade_finding.address not in gone
    ]
    findings = [
        *(_with_quantities(upgrade_finding, live) for upgrade_finding in lost),
        *_emptied_streams(snapshot, after),
        *_capped_streams(snapshot, after),
        *rewritten,
    ]
    named = _names(snapshot, registry)
    copied = [named.get(str(kept.address), str(kept.address)) for kept in kept_in_memory(snapshot) if kept.has_copies]
    return Checked(
        before=before,
        after=after,
        findings=tuple(
            worst_first(
                replace(upgrade_finding, address=named.get(upgrade_finding.address, upgrade_finding.address))
                for upgrade_finding in findings
            )
        ),
        news=(
            *news_sentences(before, after),
            *([wait_for_replicas_sentence(copied)] if copied else []),
            *_cluster_sentences(snapshot, refused),
        ),
        unknown=snapshot.unknown,
        read={"streams": len(snapshot.streams), "consumers": sum(map(len, snapshot.consumers.values()))},
    )


def _view(snapshot: Snapshot, version: Version) -> View:
    target = replace(snapshot.target, version=version)
    return View(snapshot=replace(snapshot, target=target), kinds=REGISTRY.by_name)


def _raw(snapshot: Snapshot) -> Iterator[tuple[Address, Mapping[str, Json]]]:
    """Every stream, also those behind buckets and groups, and every durable consumer, also those of groups."""
    for name, info in snapshot.streams.items():
        yield Address.of("stream", name), info
    for stream, consumers in snapshot.consumers.items():
        for name, info in consumers.items():
            if info["config"].get("durable_name"):
                yield Address("consumer", (stream, name)), info


def _live(snapshot: Snapshot, version: Version) -> dict[Address, Resource]:
    """The configurations that this version has once it has started."""
    return {address: _resource(address, info, version) for address, info in _raw(snapshot)}


def _resource(address: Address, info: Mapping[str, Json], version: Version) -> Resource:
    raw = info["config"]
    config = {**raw, **{rewrite.path: rewrite.after for rewrite in rewrites(address.kind, raw, version)}}
    return Resource(address=address, config=CANON[address.kind](config), state={**info, "config": config})


def _names(snapshot: Snapshot, registry: Registry) -> dict[str, str]:
    """People know `stream/KV_CONFIG` as `kv_bucket/CONFIG`."""
    return {
        str(Address.of("stream", raw.on[0])): str(address)
        for address in recognised_resources(
            snapshot, registry, known_as=remembered.read_memory(snapshot, registry).records
        )
        if (raw := registry.of(address).primary(address)) == Raw("stream", raw.on)
    }


def _cluster_sentences(snapshot: Snapshot, lost: Iterable[UpgradeFinding]) -> Iterator[str]:
    if snapshot.target.is_clustered and any(
        upgrade_finding.address.startswith("consumer/") for upgrade_finding in lost
    ):
        yield (
            "Consumers of replicated streams may be listed again after such a start, because the cluster remembers "
            "them apart from its stores; do not rely on it."
        )


def _with_quantities(finding: UpgradeFinding, live: Mapping[Address, Resource]) -> UpgradeFinding:
    """Add what is at stake, and a way out that still works: some fields cannot be changed by any update."""
    kind, *names = finding.address.split("/")
    info = live[Address(kind, tuple(names))].state
    held = info.get("state", {}) if kind == "stream" else {"pending": info.get("num_pending", 0)}
    quantities = {name: held[name] for name in ("messages", "bytes", "consumer_count", "pending") if held.get(name)}
    fix = COPY if finding.fate is Fate.LOST and finding.path in FOR_LIFE else finding.fix
    return replace(finding, quantities=quantities, fix=fix)


def _memory_only_findings(snapshot: Snapshot) -> Iterator[UpgradeFinding]:
    """What only the memory of one server keeps. A server without a cluster forgets that it was there; others create it again,
    empty."""
    fate = Fate.EMPTIED if snapshot.target.is_clustered else Fate.LOST
    for kept in kept_in_memory(snapshot):
        if not kept.has_copies:
            message, fix = _OF_MEMORY[fate, kept.address.kind]
            yield UpgradeFinding(
                fate=fate, address=str(kept.address), path=kept.path, message=message, fix=fix, already=True
            )


_OF_MEMORY = {
    (Fate.LOST, "stream"): (
        "only the memory of this one server keeps it: what it holds, its consumers, and that it was there",
        "apply after each restart, which recreates it empty; or before, let publishers and consumers move to a second stream "
        "on disk that sources this one",
    ),
    (Fate.LOST, "consumer"): (
        "only the memory of this one server keeps it: its position, and that it was there",
        "before a restart, stop its clients and note its ack floor; the plan after it asks where the new one is to start (CO312)",
    ),
    (Fate.EMPTIED, "stream"): (
        "only the memory of one server keeps what it holds, and the positions of its consumers",
        "before that server restarts, write num_replicas: 3, and wait until every replica is current",
    ),
    (Fate.EMPTIED, "consumer"): (
        "only the memory of one server keeps its position, and it starts over after a restart",
        "before that server restarts, write num_replicas: 3, and wait until every replica is current",
    ),
}


def _emptied_streams(snapshot: Snapshot, after: Version) -> Iterator[UpgradeFinding]:
    """Interest streams from which restarts delete what consumers have yet to process: those of the new version, and in a
    cluster, whose servers restart one after another, those of the old one."""
    rule, now, losses = (
        at_restart.unread_gone_at_restart,
        [*at_restart.at_restart(snapshot)],
        dict[str, list[at_restart.AtRisk]](),
    )
    then = at_restart.at_restart(replace(snapshot, target=replace(snapshot.target, version=after)))
    for risk in dict.fromkeys((*then, *(now if snapshot.target.is_clustered else ()))):
        losses.setdefault(risk.origin, []).append(risk)
    for origin, theirs in losses.items():
        yield UpgradeFinding(
            fate=Fate.EMPTIED, address=str(Address.of("stream", origin)), code=rule.code, name=rule.name,
            message=at_restart.loss_text(origin, theirs, snapshot.target), fix=at_restart.fix_of_loss(snapshot.target),
            already=not {*theirs}.isdisjoint(now),
        )  # fmt: skip


def _without_unknown_streams(findings: Iterable[UpgradeFinding]) -> Iterator[UpgradeFinding]:
    """Leave out streams with fields that the version does not know: it does not judge them at all."""
    return (
        upgrade_finding
        for upgrade_finding in findings
        if not (upgrade_finding.code.endswith(TOO_YOUNG) and upgrade_finding.address.startswith("stream/"))
    )


def _offline_stream_findings(live: Mapping[Address, Resource], after: Version) -> Iterator[UpgradeFinding]:
    for address, resource in live.items():
        if address.kind == "stream" and (young := unknown_fields(StreamConfig, resource.config, after)):
            message = (
                f"{' and '.join(young)} {'is' if len(young) == 1 else 'are'} unknown to it, so it does not open "
                "this stream"
            )
            yield UpgradeFinding(
                fate=Fate.OFFLINE, address=str(address), path=young[0], message=message,
                fix="go back only to a version that knows the field; the messages are there again after the "
                "next upgrade",
            )  # fmt: skip


def _rewritten_fields(snapshot: Snapshot, after: Version) -> Iterator[UpgradeFinding]:
    for address, info in _raw(snapshot):
        for path, old, new in rewrites(address.kind, info["config"], after):
            unit = REGISTRY.of(address).fields[path].unit
            words = f"{path} {in_words(old, unit)} {'goes' if new is None else f'becomes {in_words(new, unit)}'}"
            yield UpgradeFinding(fate=Fate.REWRITTEN, address=str(address), path=path, message=words)


def _capped_streams(snapshot: Snapshot, after: Version) -> Iterator[UpgradeFinding]:
    target = replace(snapshot.target, version=after)
    for name, info in snapshot.streams.items():
        number = info["state"].get("consumer_count", len(snapshot.consumers.get(name, {})))
        if why := why_capped(info["config"], number, target):
            fix = f"set max_consumers to {2 * number} before you add a consumer"
            yield UpgradeFinding(fate=Fate.CAPPED, address=f"stream/{name}", path="max_consumers", message=why, fix=fix)


def check_files(paths: Sequence[Path], after: Version, tree: Tree = DISK) -> Checked:
    """Judge what such a server would refuse of the files, as if it had to create everything."""
    loaded = load(paths, tree)
    topology = topology_of(loaded)
    oldest = topology.expect.min_server
    before = Version.parse(oldest) if oldest else SUPPORTED[-1]
    refused_before = _refused_resources(topology, before) if oldest else []
    return Checked(
        before=before,
        after=after,
        findings=tuple(worst_first(marked_findings(_refused_resources(topology, after), refused_before))),
        news=tuple(news_sentences(before, after)),
        read={"resources": len(topology.resources)},
        diagnostics=loaded.diagnostics,
    )


def _refused_resources(topology: Topology, version: Version) -> list[UpgradeFinding]:
    view = compare(topology, Snapshot(target=imagined_target(topology, version)), Memory(), REGISTRY)
    found = verdicts_of_all(view, REGISTRY, needing=OFFLINE).values()
    return [
        finding(verdict, Fate.REFUSED)
        for verdicts_ in found
        for verdict in verdicts_
        if verdict.outcome is Outcome.REFUSED
    ]
