"""*Copy*: an account exported and applied on an empty server is configured the same, object by object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.files import load
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.journeys.plan.validate import offline
from reconciler.journeys.review.review import Pair, review
from reconciler.kinds import REGISTRY
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.version import SUPPORTED, Version
from reconciler.server.read.observe import observe
from tests.faithful.accounts import Live, On, configurations
from tests.faithful.drawing import NEIGHBOURS, Drawn
from tests.support.exporting import export

EXPORTED = "exported.yaml"
TODAY = date(2026, 3, 1)
CONSENTED = tuple((rule.code, "*") for rule in REGISTRY.rules())
OPTIONS = RunOptions(allow=CONSENTED, today=TODAY)


@dataclass(slots=True)
class Tally:
    """What was tried, and what came of it."""

    objects: int = 0
    changes: int = 0
    lost: list[str] = field(default_factory=list)
    """Objects whose copy is another one, or missing without a word."""
    unseen: list[str] = field(default_factory=list)
    """Changes by hand that no plan or no drift names."""
    offences: list[str] = field(default_factory=list)
    """What `validate` or `review` refuse of an exported file, though it is live and unchanged."""
    unkept: list[str] = field(default_factory=list)
    """What is adrift after it was accepted into the file."""
    unsayable: Counter[str] = field(default_factory=Counter)
    """What could not be accepted, by the reason given."""
    left: int = 0
    """Changed fields that the export itself says are left as found: an object has no value where servers give one now."""
    refused: Counter[str] = field(default_factory=Counter)
    """Objects that a rule would not let us make, by its code: the plan says so."""

    @property
    def is_faithful(self) -> bool:
        """What no rule lets us make anew is not copied, and what no file can say is not kept: with many of those little would
        be proven."""
        few = sum(self.refused.values()) < self.objects * 0.05 and self.left < self.changes * 0.01
        few = few and self.unsayable.total() < self.changes * 0.1
        return (
            bool(self.objects and self.changes)
            and few
            and not (self.lost or self.unseen or self.unkept or self.offences)
        )

    def __iadd__(self, other: Tally) -> Tally:
        self.objects += other.objects
        self.changes += other.changes
        self.lost += other.lost
        self.unseen += other.unseen
        self.offences += other.offences
        self.unkept += other.unkept
        self.unsayable += other.unsayable
        self.left += other.left
        self.refused += other.refused
        return self

    def __str__(self) -> str:
        refused = ", ".join(f"{code} {number}" for code, number in self.refused.most_common())
        return (
            f"{self.objects:_} objects copied, {len(self.lost)} lost; {self.changes:_} changes by hand, "
            f"{len(self.unseen)} unseen, {self.left} left as found, {len(self.unkept)} not kept by accepting, {self.unsayable.total()} "
            f"not to be accepted; exported files refused: {len(self.offences)}; "
            f"not to be made anew: {sum(self.refused.values())} ({refused})"
        )


def exported(live: Live, folder: Path) -> Topology:
    """What `reconciler export` writes, as `reconciler plan` reads it."""
    text = live.run(export(live.js, topology="copied"))
    file = folder / EXPORTED
    file.write_text(text)
    loaded = load([file])
    assert loaded.topology, "\n".join(str(one) for one in loaded.diagnostics[:5])
    return loaded.topology


def offences(wanted: Topology, version: Version) -> list[str]:
    """What is refused offline of an exported file, for the newest server and for the one it comes from: by `validate`, and
    by `review` of a change that leaves it alone and of the one that brings it."""
    found = []
    for judged in sorted({version, SUPPORTED[-1]}):
        said = offline(wanted, judged, REGISTRY)
        found += [f"validate {judged}: {one.address} {one.code} {one.message}" for one in said if one.is_error]
        for base in (wanted, None):
            changes = review(Pair(base=base, head=wanted), TODAY, judged).plan.changes
            refused = (one for change in changes for one in change.verdicts if one.blocks)
            found += [f"review {judged}: {one.address} {one.code} {one.message}" for one in refused]
            found += [
                f"review {judged}: {one.address} is {one.action}" for one in changes if base and one.action.writes
            ]
    return found


def applied(live: Live, wanted: Topology) -> tuple[Plan, Finished]:
    async def work() -> tuple[Plan, Finished]:
        made = await plan_from_snapshot(wanted, await observe(live.js), live.js, OPTIONS)
        finished = [event async for event in apply(made, live.js) if isinstance(event, Finished)]
        return made.plan, finished[0]

    done: tuple[Plan, Finished] = live.run(work())
    return done


def plan_of(live: Live, wanted: Topology) -> Plan:
    """Without any consent."""

    async def work() -> Plan:
        return (await plan_from_snapshot(wanted, await observe(live.js), live.js, RunOptions(today=TODAY))).plan

    found: Plan = live.run(work())
    return found


def copy(original: Live, duplicate: Live, objects: Sequence[Drawn], folder: Path) -> Tally:
    """Makes these objects in one account, and copies that account to another one."""
    tally = Tally()
    original.make(objects)
    wanted = exported(original, folder)
    tally.offences += offences(wanted, original.version)
    plan, finished = applied(duplicate, wanted)
    refused = {one.address: one.verdicts for one in plan.changes if one.is_blocked}
    for verdicts in refused.values():
        tally.refused.update({next((one.code for one in verdicts if one.blocks), "follows from another"): 1})
    failed = [f"{one.step.address}: {one.reason.message}" for one in finished.went_wrong]
    tally.lost += [one for one in failed if one.split(": ")[0] not in refused]
    there, copied = configurations(original.snapshot()), configurations(duplicate.snapshot())
    excused = {raw for address in refused for raw in _raws(address)}
    for on, config in there.items():
        if on in excused or (len(on) == 2 and (on[0],) in excused) or (len(on) == 1 and on[0] in NEIGHBOURS):
            continue
        tally.objects += 1
        if config != (other := copied.get(on)):
            tally.lost.append(f"{'/'.join(on)}: {_difference(config, other)}")
    return tally


def _raws(address: str) -> list[On]:
    kind, *names = address.split("/")
    if kind == "static_group":
        return [("static-consumer-groups", ".".join(names))]
    if kind == "elastic_group":
        return [("elastic-consumer-groups", ".".join(names)), ("-".join(names),)]
    return [({"kv_bucket": "KV_", "object_store": "OBJ_"}.get(kind, "") + names[0], *names[1:])]


def _difference(one: dict[str, object] | None, other: dict[str, object] | None) -> str:
    if one is None or other is None:
        return "it is not there"
    keys = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
    return "; ".join(f"{key} {one.get(key)} became {other.get(key)}" for key in keys)
