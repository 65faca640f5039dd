"""Our verdict on a case through the real path: file, load, reconcile, decide; and the request we would send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from reconciler.core.decide import Options, decide, questions
from reconciler.core.diagnostic import Diagnostic
from reconciler.core.diff import Change
from reconciler.core.kind import Registry
from reconciler.core.reconcile import World, reconcile
from reconciler.core.records import Owned
from reconciler.core.rule import Reaction, Verdict, View
from reconciler.core.topology import Topology
from reconciler.core.wire import Call, Facts, Question, Snapshot, Step
from reconciler.documents.load import load
from reconciler.kinds import REGISTRY
from reconciler.kinds.primitives.patch import update_body
from tests.agreement.case import Body, Case, as_file

TODAY = date(2026, 3, 1)
WRITES = {
    Call.STREAM_CREATE: "STREAM.CREATE", Call.STREAM_UPDATE: "STREAM.UPDATE", Call.STREAM_DELETE: "STREAM.DELETE",
    Call.CONSUMER_CREATE: "CONSUMER.CREATE", Call.CONSUMER_UPDATE: "CONSUMER.CREATE",
    Call.CONSUMER_DELETE: "CONSUMER.DELETE",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent to the server: an endpoint and its body."""

    endpoint: str
    body: Body | None
    config: Body
    """The configuration in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """What we say about a case."""

    text: str
    """The file."""
    complaints: tuple[Diagnostic, ...] = ()
    """Why the file was not even read."""
    verdicts: tuple[Verdict, ...] = ()
    waits: bool = False
    """Blocked by something it needs."""
    step: Step | None = None
    request: Request | None = None
    """None: there is nothing to write."""

    @property
    def blocking(self) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.blocks)

    @property
    def blocks(self) -> bool:
        return bool(self.complaints or self.blocking or self.waits)

    @property
    def refusing(self) -> tuple[Verdict, ...]:
        """Those that foretell the server's refusal."""
        return tuple(v for v in self.blocking if v.reaction is Reaction.REFUSES)


def restricted(snapshot: Snapshot, case: Case) -> Snapshot:
    """What a snapshot holds of one case: everything else in a shared account has other names and subjects."""
    if case.room != "shared":
        return snapshot
    return Snapshot(
        target=snapshot.target,
        streams={name: snapshot.streams[name] for name in case.streams if name in snapshot.streams},
        consumers={name: snapshot.consumers[name] for name in case.streams if name in snapshot.consumers},
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """A file beside a snapshot: everything a judgement needs but the answers to its questions."""

    text: str
    loaded: Topology | None
    complaints: tuple[Diagnostic, ...]
    world: World | None

    @property
    def questions(self) -> list[Question]:
        return questions(self.world, REGISTRY) if self.world else []


def compared(case: Case, snapshot: Snapshot, folder: Path) -> Comparison:
    text = as_file(case, _wanted(case, snapshot))
    file = folder / "topology.yaml"
    file.write_text(text, encoding="utf-8")
    loaded = load([file], REGISTRY)
    if loaded.topology is None:
        return Comparison(text, None, tuple(d for d in loaded.diagnostics if d.is_error), None)
    ledger = {case.at: Owned(topology=loaded.topology.name, fields={})} if case.removes else {}
    world = reconcile(loaded.topology, snapshot, ledger, REGISTRY, ledger_known=True, today=TODAY)
    return Comparison(text, loaded.topology, (), world)


def _wanted(case: Case, snapshot: Snapshot) -> Body:
    if not case.edits:
        return case.body
    kind = REGISTRY.of(case.at)
    live = next((one for one in kind.recognise(snapshot) if one.address == case.at), None)
    said = {**(kind.render(live) if live else {}), **case.body}
    return {name: value for name, value in said.items() if value is not None}


def judged(case: Case, snapshot: Snapshot, comparison: Comparison, facts: Facts, registry: Registry = REGISTRY) -> Ours:
    """The verdict, and the request our own executor would send if nothing stood against it."""
    world = comparison.world
    if comparison.loaded is None or world is None:
        return Ours(text=comparison.text, complaints=comparison.complaints, request=_as_written(case, snapshot))
    view = View(
        target=snapshot.target, topology=comparison.loaded.name, facts=facts, snapshot=snapshot,
        desired=world.desired, live=world.live, changes=world.changes,
    )  # fmt: skip
    plan = decide(world, view, registry, Options(today=TODAY))
    change = world.changes[case.at]
    step = _main_step(change, view, registry)
    return Ours(
        text=comparison.text,
        verdicts=tuple(verdict for one in plan.changes for verdict in one.verdicts),
        waits=any(one.address == str(case.at) and one.blocked_by for one in plan.changes),
        step=step,
        request=_request(step, change) if step else None,
    )


def _main_step(change: Change, view: View, registry: Registry) -> Step | None:
    """The create, update or delete among the steps; pins and pauses are requests of their own."""
    steps = registry.of(change.address).steps(change, view)
    return next((step for step in steps if step.call in WRITES), None)


def _request(step: Step, change: Change) -> Request:
    name = ".".join(step.on)
    endpoint = f"{WRITES[step.call]}.{name}"
    if step.call in (Call.STREAM_DELETE, Call.CONSUMER_DELETE):
        return Request(endpoint=endpoint, body=None, config={})
    if step.call in (Call.STREAM_CREATE, Call.CONSUMER_CREATE):
        config: Mapping[str, Any] = {"name": step.on[-1], **step.body}
    else:
        live = change.live.state["config"] if change.live else {}
        config = update_body(live, step.set, step.unset)
    return _with_config(endpoint, step.on, config, "update" if step.call is Call.CONSUMER_UPDATE else "create")


def _with_config(endpoint: str, on: tuple[str, ...], config: Body, action: str) -> Request:
    body = config if len(on) == 1 else {"stream_name": on[0], "action": action, "config": config}
    return Request(endpoint=endpoint, body=body, config=config)


def _as_written(case: Case, snapshot: Snapshot) -> Request | None:
    """The raw request that says what the file says, where the file is not even read."""
    on = case.at.names
    if case.at.kind not in ("stream", "consumer"):
        return None
    held = snapshot.streams if len(on) == 1 else snapshot.consumers.get(on[0], {})
    live = held.get(on[-1])
    over = {**(live["config"] if live else {}), **case.body}
    durable = {} if len(on) == 1 else {"durable_name": on[1]}
    config = {"name": on[-1], **durable, **{name: value for name, value in over.items() if value is not None}}
    call = "UPDATE" if live and len(on) == 1 else "CREATE"
    return _with_config(
        f"{'STREAM' if len(on) == 1 else 'CONSUMER'}.{call}.{'.'.join(on)}", on, config, "update" if live else "create"
    )
