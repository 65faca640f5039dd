"""Our verdict on a case through the real path: file, load, reconcile, decide; and the request we would send."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Reaction, Verdict
from reconciler.changes.view import View
from reconciler.documents.read.load import load
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide, unanswered_questions
from reconciler.kinds import REGISTRY
from reconciler.memory.remembered import Memory
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.ledger.records import Owned
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.questions import Facts, Question
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Step
from tests.agreement.case import Body, Case, as_file

TODAY = date(2026, 3, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent to the server: an endpoint and its body."""

    endpoint: str
    body: Body | None = None


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
    steps: tuple[Step, ...] = ()
    """What we would do if nothing stood against it, in this order."""
    request: Request | None = None
    """What the file says as a raw request, where it was not even read."""

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
    view: View | None = None

    def questions(self, facts: Facts) -> list[Question]:
        """What these answers leave open."""
        return unanswered_questions(replace(self.view, facts=facts), REGISTRY) if self.view else []


def compared(case: Case, snapshot: Snapshot, folder: Path) -> Comparison:
    text = as_file(case, _wanted(case, snapshot))
    file = folder / "topology.yaml"
    file.write_text(text, encoding="utf-8")
    loaded = load([file], REGISTRY)
    if loaded.topology is None:
        return Comparison(text, None, tuple(d for d in loaded.diagnostics if d.is_error))
    ledger = {case.at: Owned(topology=loaded.topology.name, fields={})} if case.removes else {}
    view = compare(loaded.topology, snapshot, Memory(records=ledger), REGISTRY, RunOptions(today=TODAY))
    return Comparison(text, loaded.topology, (), view)


def _wanted(case: Case, snapshot: Snapshot) -> Body:
    if not case.edits:
        return case.body
    kind = REGISTRY.of(case.at)
    live = next((one for one in kind.recognise(snapshot) if one.address == case.at), None)
    found = kind.render(live) if live else {}
    said = {name: value for name, value in {**found, **case.body}.items() if value is not None}
    foreign = sorted(name for name in found if name not in kind.spec.model_fields)  # no file can say it: left as found
    written = {name: value for name, value in said.items() if name not in foreign}
    return {**written, "unmanaged": foreign} if foreign else written


def judged(case: Case, snapshot: Snapshot, comparison: Comparison, facts: Facts, registry: Registry = REGISTRY) -> Ours:
    """The verdict, and the request our own executor would send if nothing stood against it."""
    if comparison.view is None:
        return Ours(text=comparison.text, complaints=comparison.complaints, request=_as_written(case, snapshot))
    view = replace(comparison.view, facts=facts)
    plan = decide(view, registry, RunOptions(today=TODAY))
    going = [step for step in plan.steps if step.address == str(case.at)]
    steps = going or registry.of(case.at).steps(view.changes[case.at], view)
    return Ours(
        text=comparison.text,
        verdicts=tuple(verdict for one in plan.changes for verdict in one.verdicts),
        waits=any(one.address == str(case.at) and one.blocked_by for one in plan.changes),
        steps=tuple(step for step in steps if step.undoes is None),
    )


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
    return request_for(on, config, "update" if live else "create")


def request_for(on: tuple[str, ...], config: Body, action: str) -> Request:
    """The raw request that creates or updates a stream or a consumer."""
    name = ".".join(on)
    if len(on) == 1:
        return Request(endpoint=f"STREAM.{action.upper()}.{name}", body=config)
    body = {"stream_name": on[0], "action": action, "config": config}
    return Request(endpoint=f"CONSUMER.CREATE.{name}", body=body)
