"""Topologies without a server: files in, a live account made up from other files, and the plan between the two.

What is live comes from the kinds' own create steps, taken as done without asking any rule: so a case may start from a
state that we would refuse to make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from reconciler.changes.kind import Registry
from reconciler.changes.plan import Plan
from reconciler.changes.view import View
from reconciler.documents.read.load import load
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide, record_after
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.stream_config import stream_config
from reconciler.memory.remembered import Ledger, Memory
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address
from reconciler.model.run_options import NO_OPTIONS, Origin, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.questions import (
    ANYWHERE,
    CopiedUpTo,
    Facts,
    Largest,
    MessagesFrom,
    MessagesSince,
    Peers,
    Question,
    QueuedFrom,
    SubjectCounts,
    Unanswered,
)
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import Version

TODAY = date(2026, 6, 1)
NAME = "orders"
HEADER = f"reconciler: 1\ntopology: {NAME}\n"


def read(folder: Path, text: str, name: str = NAME) -> Topology:
    """The topology in `text`, whose header stands in a file of its own so that lines are counted from its first one."""
    folder.mkdir(parents=True, exist_ok=True)
    header, body = folder / "header.yaml", folder / "topology.yaml"
    header.write_text(HEADER.replace(NAME, name), encoding="utf-8")
    body.write_text(text, encoding="utf-8")
    return from_files(header, body) if text.strip() else from_files(header)


def from_files(*paths: Path) -> Topology:
    """The topology in these files, which must be right."""
    loaded = load(paths, REGISTRY)
    assert loaded.topology is not None, [one.message for one in loaded.diagnostics]
    return loaded.topology


def target(server: str = "2.12", **more: Any) -> Target:
    return Target(version=Version.parse(server), account="ORDERS", **more)


def account(live: Topology | None, at: Target) -> Snapshot:
    """An account in which everything `live` declares has been created."""
    snapshot = Snapshot(target=at)
    if live is None:
        return snapshot
    view = compare(live, snapshot, Memory(), REGISTRY)
    for address, change in view.changes.items():
        for step in REGISTRY.of(address).steps(change, view):
            snapshot = done(step, snapshot)
    return snapshot


def done(step: Step, snapshot: Snapshot) -> Snapshot:
    """The account after a step that creates something."""
    if step.call is Call.STREAM_CREATE:
        info = {
            "config": _with_filled(step, snapshot),
            "state": {},
            "created": "2026-05-01T00:00:00Z",
            "ts": "2026-06-01T00:00:00Z",
        }
        return replace(snapshot, streams={**snapshot.streams, step.on[0]: info})
    if step.call is Call.CONSUMER_CREATE:
        stream, name = step.on
        info = {"config": _with_filled(step, snapshot), "stream_name": stream, "ts": "2026-06-01T00:00:00Z"}
        consumers = {**snapshot.consumers.get(stream, {}), name: info}
        return replace(snapshot, consumers={**snapshot.consumers, stream: consumers})
    if step.call is Call.ENTRY_PUT:
        bucket, key = step.on
        entries = {**snapshot.entries.get(bucket, {}), key: Entry((step.value or "").encode(), 1)}
        return replace(snapshot, entries={**snapshot.entries, bucket: entries})
    return snapshot


def _with_filled(step: Step, snapshot: Snapshot) -> dict[str, Any]:
    """The configuration sent, and what the server fills in beside it."""
    if len(step.on) == 1:
        origin = snapshot.streams.get((step.body.get("mirror") or {}).get("name", ""))
        lent = stream_config.canonical(origin["config"]) if origin else None
        settled = stream_config.settle(step.body, snapshot.target, name=step.on[0], origin=lent)
    else:
        parent = stream_config.canonical(snapshot.streams[step.on[0]]["config"])
        settled = consumer_config.settle(step.body, snapshot.target, parent=parent)
    filled = {name: one.value for name, one in settled.filled.items() if one.value is not None}
    return {**step.body, **filled}


def overlaid(snapshot: Snapshot, raw: Mapping[str, Any]) -> Snapshot:
    """The account with pieces of raw answers written over it; entries are texts, `null` takes something away."""
    merged = {
        part: merge(getattr(snapshot, part), raw.get(part, {}))
        for part in ("streams", "consumers", "copiers", "unknown")
    }
    entries = {bucket: dict(found) for bucket, found in snapshot.entries.items()}
    for bucket, texts in raw.get("entries", {}).items():
        written = {key: Entry(text.encode(), 2) for key, text in texts.items() if text is not None}
        kept = {key: one for key, one in entries.get(bucket, {}).items() if key not in texts}
        entries[bucket] = {**kept, **written}
    return replace(snapshot, entries=entries, **merged)


def merge(found: Any, over: Any) -> Any:
    if not isinstance(found, Mapping) or not isinstance(over, Mapping):
        return deepcopy(over)
    merged = {key: merge(found.get(key), value) for key, value in over.items() if value is not None}
    return {key: value for key, value in {**found, **merged}.items() if over.get(key, 0) is not None}


def facts(said: Iterable[Mapping[str, Any]]) -> Facts:
    """Answers as files write them: `{stream: S, filter: ">", answer: {s.a: 3}}`; with `start` about sequences,
    with `since` about times, with
    `source` about what a queue holds of it, with `copied` about what came through a source, and `unanswered: why` where there was none."""
    return {_question(**one): one["answer"] if "answer" in one else Unanswered(one["unanswered"]) for one in said}


def _question(
    stream: str = "",
    filter: str = ">",
    start: int | str | None = None,
    source: str | None = None,
    copied: Sequence[str] = (),
    subjects: Sequence[str] = (),
    likely: Sequence[str] = (),
    peers: int = 0,
    placement: tuple[str, Sequence[str]] = ANYWHERE,
    above: int | None = None,
    newest: int = 0,
    since: str = "",
    **_answered: Any,
) -> Question:
    if copied:
        return CopiedUpTo(
            stream=stream, source=(copied[0], copied[1], copied[2]), subjects=tuple(subjects), likely=tuple(likely)
        )
    if peers:
        return Peers(least=peers, placement=(placement[0], tuple(placement[1])))
    if above is not None:
        return Largest(stream=stream, above=above, newest=newest)
    if source:
        return QueuedFrom(stream=stream, source=source)
    if start is None:
        return MessagesSince(stream=stream, since=since) if since else SubjectCounts(stream=stream, filter=filter)
    return MessagesFrom(stream=stream, filter=filter, start=start)


def ledger_of(live: Topology | None, snapshot: Snapshot) -> dict[Address, Owned]:
    """The records that applying `live` would have left."""
    if live is None:
        return {}
    view = compare(live, snapshot, Memory(), REGISTRY)
    records = {address: record_after(change, view, NO_OPTIONS) for address, change in view.changes.items()}
    return {address: record for address, record in records.items() if record}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One comparison, ready to be planned: files, an account, and what we remember of it."""

    desired: Topology
    snapshot: Snapshot
    ledger: Ledger = field(default_factory=dict)
    ledger_known: bool = True
    source: str | None = None
    facts: Facts = field(default_factory=dict)
    owners_named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    registry: Registry = REGISTRY

    @property
    def options(self) -> RunOptions:
        return RunOptions(today=TODAY, origin=Origin(repository=self.source), owners_named=self.owners_named)

    def view(self, options: RunOptions | None = None) -> View:
        memory = Memory(records=self.ledger, is_known=self.ledger_known)
        found = compare(self.desired, self.snapshot, memory, self.registry, options or self.options)
        return replace(found, facts=self.facts)

    def plan(
        self, *, allow: Sequence[tuple[str, str]] = (), only: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> Plan:
        options = replace(self.options, allow=tuple(allow), only=tuple(only), exclude=tuple(exclude))
        return decide(self.view(), self.registry, options)


def scene(
    folder: Path,
    desired: str,
    live: str | None = None,
    *,
    server: str = "2.12",
    cluster: str | None = None,
    domain: str | None = None,
    owner: str | None = NAME,
    owner_source: str | None = None,
    records: Mapping[str, Mapping[str, Any]] | None = None,
    raw: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    usage: Mapping[str, Any] | None = None,
    **more: Any,
) -> Scene:
    """`live` owned by `owner` (None: by nobody) beside `desired`, on a server of this version; `records` stand over the
    ledger's."""
    there = read(folder / "live", live, owner or NAME) if live else None
    at = target(server, cluster=cluster, domain=domain, limits=limits or {}, usage=usage or {})
    snapshot = overlaid(account(there, at), raw or {})
    ledger = ledger_of(there, snapshot) if owner else {}
    if owner_source:
        ledger = {address: replace(owned, source=owner_source) for address, owned in ledger.items()}
    for address, said in (records or {}).items():
        one = Address.parse(address)
        ledger[one] = replace(ledger.get(one, Owned(topology=NAME)), **said)
    return Scene(desired=read(folder / "desired", desired), snapshot=snapshot, ledger=ledger, **more)
