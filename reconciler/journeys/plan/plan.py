"""Plans a topology against a server. Planning changes nothing: every request here only reads.

Predicts configurations for the executor: how to patch an object, and what the server should answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.changes.plan import Plan
from reconciler.changes.view import View
from reconciler.documents.find.git import origin
from reconciler.engine.compare import compare, count_objects, refuse_wrong_target
from reconciler.engine.decide import decide, unanswered_questions
from reconciler.engine.idle_patterns import refuse_idle_patterns
from reconciler.engine.ignoring import IgnoredDrift
from reconciler.kinds import REGISTRY
from reconciler.kinds.across.went_back import went_back_warnings
from reconciler.kinds.consumer.replacement import leftover_placeholder_warnings
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.stream_config import stream_config
from reconciler.memory import remembered
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Severity
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Config, Json, ServerDefault
from reconciler.model.run_options import NO_OPTIONS, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.questions import Facts, Question, Unanswered
from reconciler.model.wire.snapshot import Entry, Snapshot
from reconciler.model.wire.steps import Step
from reconciler.server.read.observe import ask, observe
from reconciler.server.run.handling import Forms
from reconciler.server.wire.api import JetStream


class PlanPurpose(StrEnum):
    """What a plan is made for."""

    APPLY = "apply"
    RESTORE = "restore"
    ADOPT = "adopt"
    ADOPT_AS_IS = "adopt as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with the snapshot it was made from."""

    plan: Plan
    snapshot: Snapshot
    topology: Topology | None = None
    """What was declared; None for a plan that was read from a file, which holds its own declarations."""
    options: RunOptions = NO_OPTIONS
    purpose: PlanPurpose = PlanPurpose.APPLY


async def plan(topology: Topology, js: JetStream, options: RunOptions = NO_OPTIONS) -> Planned:
    """Read the account, compare it with the topology, ask the server what the changes need to know, and decide the
    plan."""
    return await plan_from_snapshot(topology, await observe(js), js, options)


async def plan_from_snapshot(
    topology: Topology,
    snapshot: Snapshot,
    js: JetStream | None,
    options: RunOptions = NO_OPTIONS,
    registry: Registry = REGISTRY,
) -> Planned:
    """Plan from a snapshot that was already taken. Without a connection, questions about the changes stay unanswered."""
    options = complete_options(options, topology, snapshot)
    view = compare_with_snapshot(topology, snapshot, options, registry, is_looked_at=js is not None)
    refuse_idle_patterns(view, options)
    decided_plan = await decide_plan(view, js, options, registry)
    ignored = IgnoredDrift(topology.ignore_drift, options.day).reverted_drift_warnings(decided_plan.changes)
    decided_plan = replace(decided_plan, diagnostics=(*decided_plan.diagnostics, *ignored))
    return Planned(plan=decided_plan, snapshot=snapshot, topology=topology, options=options)


def complete_options(options: RunOptions, topology: Topology, snapshot: Snapshot) -> RunOptions:
    """Fill in the day from the server's clock and the origin of the files from git, unless the options give them."""
    from_files = origin(Path(topology.files[0])) if topology.files and options.origin is None else options.came_from
    return replace(
        options,
        today=options.today or snapshot.target.day or datetime.now(UTC).date(),
        origin=options.origin or from_files,
    )


def compare_with_snapshot(
    topology: Topology,
    snapshot: Snapshot,
    options: RunOptions,
    registry: Registry = REGISTRY,
    *,
    is_looked_at: bool = True,
) -> View:
    """Compare the topology with the snapshot. Raises CannotContinue where the account is not the one the files expect,
    or where the server did not tell who owns what."""
    refuse_wrong_target(topology, snapshot.target)
    unread = remembered.unreadable_warning(snapshot) if is_looked_at else None
    if unread and unread.severity is Severity.ERROR:
        raise CannotContinue(unread)
    view = compare(topology, snapshot, remembered.read_memory(snapshot, registry), registry, options)
    diagnostics = (*([unread] if unread else ()), *leftover_placeholder_warnings(snapshot), *went_back_warnings(view))
    return replace(view, diagnostics=(*diagnostics, *view.diagnostics))


async def decide_plan(view: View, js: JetStream | None, options: RunOptions, registry: Registry = REGISTRY) -> Plan:
    """Ask the server what the changes need to know, and decide the plan."""
    decided_plan = decide(replace(view, facts=await _answers(js, view, registry)), registry, options)
    return replace(decided_plan, read=count_objects(view))


async def _answers(js: JetStream | None, view: View, registry: Registry) -> Facts:
    """Ask until no answer leads to another question."""
    facts: dict[Question, Json | Unanswered] = {}
    while unanswered := unanswered_questions(replace(view, facts=facts), registry):
        facts |= await ask(js, unanswered) if js else dict.fromkeys(unanswered, Unanswered("no server was asked"))
    return facts


def predicted_forms(snapshot: Snapshot) -> Forms:
    """Build the predictions for one run. A consumer inherits from its stream as that is at the time, so this remembers
    what the server answered for each stream."""
    streams: dict[str, Config] = {name: info["config"] for name, info in snapshot.streams.items()}

    def wrong(step: Step, sent: Config, before: Config | None, echo: Config) -> Sequence[str]:
        if len(step.on) == 1:
            streams[step.on[0]] = echo
            settled = stream_config.settle(sent, snapshot.target, name=step.on[0], origin=_origin_of(sent, streams))
            return mispredicted_field_texts(settled.config, settled.filled, stream_config.canonical(echo))
        parent = stream_config.canonical(streams.get(step.on[0], {}))
        written = sent if before is None else _without_pause(sent, echo)
        predicted = consumer_config.settle(written, snapshot.target, parent=parent)
        return mispredicted_field_texts(predicted.config, predicted.filled, consumer_config.canonical(echo))

    def stored_entry(on: tuple[str, ...]) -> Entry | None:
        bucket, key = on
        return snapshot.entries.get(bucket, {}).get(key)

    return Forms(patch=stream_config.update_body, wrong=wrong, fields=field_infos_of, stored=stored_entry)


def field_infos_of(step: Step) -> Mapping[str, FieldInfo]:
    """Return what is known of the fields of its stream or consumer."""
    return stream_config.FIELD_INFOS if len(step.on) == 1 else consumer_config.FIELD_INFOS


def _without_pause(sent: Config, echo: Config) -> Config:
    """Keep `pause_until` as the server answered it: no update pauses or resumes a consumer, and the value read before
    may be older than the pause."""
    paused = {"pause_until": echo["pause_until"]} if "pause_until" in echo else {}
    return {**{name: value for name, value in sent.items() if name != "pause_until"}, **paused}


def _origin_of(sent: Config, streams: Mapping[str, Config]) -> Config | None:
    mirror = sent.get("mirror") or {}
    origin = streams.get(mirror.get("name", ""))
    return stream_config.canonical(origin) if origin is not None else None


def mispredicted_field_texts(predicted: Config, filled: Mapping[str, ServerDefault], echoed: Config) -> list[str]:
    """Describe each field whose answer differs from the prediction, except where a limit of the server explains the
    difference."""
    surprises = []
    for name in sorted(predicted.keys() | echoed.keys()):
        wanted, stored = predicted.get(name), echoed.get(name)
        if wanted != stored and not (name in filled and filled[name].could_be(stored)):
            surprises.append(f"{name} is {_show_value(stored)}, expected {_show_value(wanted)}")
    return surprises


def _show_value(value: Json) -> str:
    return "absent" if value is None else str(value)
