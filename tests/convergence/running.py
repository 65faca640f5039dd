"""Plan, apply and plan again: on the fake, and on a real server with many cases at once over one connection."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from types import TracebackType
from typing import Any

from nats.aio.client import Client

from reconciler.changes.change import Action
from reconciler.changes.events import Done, Finished
from reconciler.changes.plan import Plan
from reconciler.documents.write.dump import dump
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide
from reconciler.engine.judging import verdicts_of_all
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan_from_snapshot
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.stream_config import stream_config
from reconciler.memory import remembered
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from reconciler.testbed import imagined
from tests.convergence.drawing import Case, Wishes, merged, topology
from tests.support.accounts import Account
from tests.support.exporting import export

TODAY = date(2026, 3, 1)
CONSENTED = tuple((rule.code, "*") for rule in REGISTRY.rules())
"""Consent to whatever consent can be given to."""

NEIGHBOURS: dict[str, dict[str, Any]] = {
    "PLAIN": {"subjects": ["plain"]},
    "DIRECT": {"subjects": ["direct"], "allow_direct": True},
    "KV_origin": {"subjects": ["$KV.origin.>"], "max_msgs_per_subject": 1, "max_msgs": 100},
}
"""Streams of somebody else in the same account; the bucket is not as any KV client makes it."""


def plan_offline(wanted: Topology, snapshot: Snapshot) -> Plan:
    """What `workflow.plan` does, without a server to ask."""
    view = compare(wanted, snapshot, remembered.read_memory(snapshot, REGISTRY), REGISTRY)
    judged = verdicts_of_all(view, REGISTRY)
    found = {verdict.code for verdicts in judged.values() for verdict in verdicts}
    return decide(view, REGISTRY, RunOptions(today=TODAY, allow=tuple((code, "*") for code in sorted(found))), judged)


def apply_offline(plan: Plan, snapshot: Snapshot) -> Snapshot:
    """What `workflow.apply` does, on the imagined."""
    return imagined.snapshot_after_plan(snapshot, plan)


def remaining(plan: Plan, excused: Iterable[str]) -> list[str]:
    """Changes still to be made, or made by nobody yet, apart from those that were refused."""
    excused = set(excused)
    return [
        f"{change.action} {change.address} {change.fields}"
        for change in plan.changes
        if (change.action.writes or change.action in (Action.ADOPT, Action.UNKNOWN)) and change.address not in excused
    ]


def blocked(plan: Plan) -> set[str]:
    return {change.address for change in plan.changes if change.is_blocked}


def as_yaml(case: Case, version: Version) -> str:
    """A case as files, to be read by people and tried by hand."""
    texts = [_as_file(case.first), _as_file(case.then)]
    more = "".join(f"# removed: {a}\n" for a in case.removed) + "".join(f"# forget: {a}\n" for a in case.forget)
    return f"# nats-server {version}\n{texts[0]}---\n{texts[1]}{more}"


def _as_file(wishes: Wishes) -> str:
    sections: dict[str, Any] = {}
    for address, body in wishes.items():
        kind = REGISTRY.of(address)
        home = sections
        if kind.place.within:
            home = sections.setdefault("streams", {}).setdefault(address.stream, {"external": True})
        tag = dict([kind.place.tag]) if kind.place.tag else {}
        home.setdefault(kind.place.section, {})[address.name] = {**tag, **body}
    return dump("drawn", sections)


@dataclass(slots=True)
class Findings:
    """What a run over many cases saw."""

    cases: int = 0
    steps: int = 0
    blocked: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Everything that must not be: steps that our rules allowed and the server refused, surprises after an answer of ok,
    changes that never end."""

    def none_wrong(self) -> None:
        assert self.steps > self.cases, f"next to nothing was done: {self}"
        shortest = sorted(self.wrong, key=len)[:8]
        assert not shortest, f"{len(self.wrong)} of {self.cases} cases went wrong:\n" + "\n".join(shortest)

    def __str__(self) -> str:
        refused = ", ".join(f"{code} {number}" for code, number in self.blocked.most_common())
        return f"{self.cases} cases, {self.steps} steps; blocked: {refused}; wrong: {len(self.wrong)}"


class Real:
    """One account of a real server, used from plain functions."""

    def __init__(self, account: Account, *, unforeseeable: str = "") -> None:
        """`unforeseeable`: words of refusals by settings of the server's own that nobody can read; the fake cannot stand
        for a server that has any."""
        self.unforeseeable = unforeseeable
        self.version = Version.parse(account.version)
        self.target = Target(version=self.version, peers=1)
        self._account, self._runner = account, asyncio.Runner()

    def __enter__(self) -> Real:
        self._runner.run(self._open())
        return self

    async def _open(self) -> None:
        self._nc: Client = await self._account.connect()
        self.js = await JetStream.open(self._nc, within=20)  # 64 requests are served one after the other
        for name, config in NEIGHBOURS.items():
            await self.js.write(f"STREAM.CREATE.{name}", {"name": name, "storage": "memory", **config})

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._runner.run(self._close())
        self._runner.close()

    async def _close(self) -> None:
        await self.js.close()
        await self._nc.close()

    def snapshot(self) -> Snapshot:
        return self._runner.run(observe(self.js))

    def plan(self, wanted: Topology) -> Planned:
        return self._runner.run(self._plan(wanted))

    async def _plan(self, wanted: Topology) -> Planned:
        options = RunOptions(allow=CONSENTED, today=TODAY)
        return await plan_from_snapshot(wanted, await observe(self.js), self.js, options, REGISTRY)

    def apply(self, made: Planned, steps: int | None = None) -> Finished:
        """`steps`: nothing more is begun when so many are done."""
        return self._runner.run(self._apply(made, steps))

    async def _apply(self, made: Planned, steps: int | None) -> Finished:
        stop, done = asyncio.Event(), 0
        async for event in apply(made, self.js, stop=stop):
            if isinstance(event, Finished):
                return event
            done += isinstance(event, Done)
            if done == steps:
                stop.set()
        raise AssertionError("an apply says how it ended")

    def export(self, name: str) -> str:
        return self._runner.run(export(self.js, topology=name))

    def write(self, api: str, body: dict[str, Any] | None = None) -> Any:
        return self._runner.run(self.js.write(api, body))

    def put(self, bucket: str, key: str, value: str) -> None:
        self._runner.run(self.js.put_entry(bucket, key, value.encode(), expected_revision=0))

    def clean(self) -> None:
        """Everything but the neighbours goes."""
        self._runner.run(self._clean())

    async def _clean(self) -> None:
        names = (await observe(self.js)).streams.keys() - NEIGHBOURS.keys()
        await asyncio.gather(*(self.js.write(f"STREAM.DELETE.{name}") for name in names))


def converges(real: Real, wanted: Topology, findings: Findings) -> Iterator[tuple[str, str]]:
    """Applies a topology and plans again; yields (address, what is wrong)."""
    made = real.plan(wanted)
    finished = real.apply(made)
    findings.steps += len(finished.done)
    findings.blocked.update(v.code for c in made.plan.changes for v in c.verdicts if v.blocks)
    excused = blocked(made.plan) | {skipped.step.address for skipped in finished.skipped}
    for failed in finished.failed:
        excused.add(failed.step.address)
        if not real.unforeseeable or real.unforeseeable not in failed.reason.message:
            yield failed.step.address, f"{failed.step.id}: {failed.reason.message}"
    if not finished.went_wrong:
        yield from ((one.step.address, f"skipped for nothing: {one.because}") for one in finished.skipped)
    for doubtful in finished.in_doubt:
        yield doubtful.step.address, f"in doubt: {doubtful.reason.message}"
    again = real.plan(wanted)
    for text in remaining(again.plan, excused):
        yield text.split()[1], f"not converged: {text}"
    if not real.unforeseeable:
        yield from unlike_the_fake(made, finished, again.snapshot)


def unlike_the_fake(made: Planned, finished: Finished, after: Snapshot) -> Iterator[tuple[str, str]]:
    """What the same steps make of the same snapshot on the fake, where it is something else."""
    done = {outcome.step.id for outcome in finished.done}
    carried_out = [replace(step, undoes=None) for step in made.plan.steps if step.id in done]
    predicted = held(imagined.snapshot_after_steps(made.snapshot, carried_out))
    found = held(after)
    addresses = {step.on: step.address for step in made.plan.steps}
    for on in predicted.keys() | found.keys():
        if on in addresses and predicted.get(on) != found.get(on):
            yield addresses[on], f"{on}: the fake holds {predicted.get(on)}, the server {found.get(on)}"


def held(snapshot: Snapshot) -> dict[tuple[str, ...], Any]:
    """Everything in a snapshot by what steps call it, canonical."""
    found: dict[tuple[str, ...], Any] = {}
    found |= {(name,): stream_config.canonical(info["config"]) for name, info in snapshot.streams.items()}
    found |= {
        (stream, name): consumer_config.canonical(info["config"])
        for stream, own in snapshot.consumers.items()
        for name, info in own.items()
    }
    found |= {
        (bucket, key): _without_what_was_seen(entry.value)
        for bucket, own in snapshot.entries.items()
        for key, entry in own.items()
        if not entry.deleted
    }
    return found


def _without_what_was_seen(value: bytes) -> Any:
    """A record, without the time at which a server made the object, which no fake knows."""
    try:
        record = json.loads(value)
    except ValueError:
        return value
    return {name: one for name, one in record.items() if name != "seen"} if isinstance(record, dict) else value


def run_batch(real: Real, batch: list[Case], findings: Findings) -> None:
    """Applies all first halves as one topology, then all second halves; what goes wrong is shown as YAML."""
    findings.cases += len(batch)
    first = topology("drawn", merged([case.first for case in batch]))
    then = topology(
        "drawn",
        merged([case.then for case in batch]),
        tuple(a for case in batch for a in case.removed),
        tuple(a for case in batch for a in case.forget),
    )
    before = _neighbours(real.snapshot())
    for wanted in (first, then):
        for address, what in converges(real, wanted, findings):
            case = next((c for c in batch if Address.parse(address) in {**c.first, **c.then}), None)
            findings.wrong.append(f"{what}\n{as_yaml(case, real.version) if case else ''}")
    if (after := _neighbours(real.snapshot())) != before:
        findings.wrong.append(f"somebody else's streams changed: {before} → {after}")


def _neighbours(snapshot: Snapshot) -> dict[str, Any]:
    return {name: snapshot.streams[name]["config"] for name in NEIGHBOURS}
