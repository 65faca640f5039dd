"""*Sight*: what is changed by hand after adoption is named by `plan` and by `drift`, field by field. *Keeping*: `drift accept`
writes it into the file, and nothing is adrift then."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.journeys.drift.accept import accept
from reconciler.journeys.drift.look import Looked, look
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.model.resource import Address
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from tests.faithful.accounts import GROUPS, Live, On, configurations
from tests.faithful.copying import EXPORTED, OPTIONS, Tally, applied, exported, offences
from tests.faithful.drawing import Drawn
from tests.primitives.bodies import Body

TURNS = 3
"""As often as an object can be touched."""
OWN_NAMES = {"max_msgs_per_subject": "history", "max_age": "ttl", "max_msg_size": "max_value_size",
             "subject_delete_marker_ttl": "limit_marker_ttl"}  # fmt: skip


def sight(live: Live, objects: Sequence[Drawn], folder: Path) -> Tally:
    """The account is adopted as it is, each object changed by hand, and then looked at; as often as it has changes."""
    tally = Tally()
    made = live.make(objects)
    first = configurations(live.snapshot())
    for turn in range(TURNS):
        wanted = exported(live, folder)
        tally.offences += offences(wanted, live.version)
        plan, _ = applied(live, wanted)
        odd = [
            f"{one.address} is not adopted as it is exported: {one.action} {one.fields} {one.verdicts}"
            for one in plan.changes
            if not _at_rest(one)
        ]
        tally.unseen += odd
        before = configurations(live.snapshot())
        live.touch({one.on: one.touches[turn] for one in made})
        snapshot = live.snapshot()
        tally += _looked_at(live, wanted, before, snapshot, first)
        tally += _kept(look(wanted, snapshot, OPTIONS), folder / EXPORTED)
    return tally


def _kept(found: Looked, file: Path) -> Tally:
    tally = Tally()
    made = accept(found, [file], OPTIONS)
    unsayable = {one.address for one in made.refused}
    beyond_words = [one.message for one in made.refused if _is_unsayable(one.message)]
    of_records = "no file can express queue_stream of elastic groups"  # their record alone makes a queue
    tally.unsayable.update(said for said in beyond_words if of_records not in said)
    tally.unkept += [f"{one.address}: {one.message}" for one in made.refused if not _is_unsayable(one.message)]
    for item in made.left.drift.drifted:
        if item.address not in unsayable and (fields := [one.path for one in item.fields if one.is_drift]):
            tally.unkept.append(f"{item.address}: {fields} are adrift though they were accepted")
    return tally


def _is_unsayable(refusal: str) -> bool:
    """No file says it, or not where the object is declared: a stream that has become a bucket is declared as one."""
    return "no file can express" in refusal or "(XX541): a stream named" in refusal


def _at_rest(change: PlannedChange) -> bool:
    """What has become a bucket is forgotten as the stream that it was."""
    return change.action in (Action.ADOPT, Action.KEEP, Action.FORGET) and not change.is_blocked


def _looked_at(
    live: Live, wanted: Topology, before: Mapping[On, Body], snapshot: Snapshot, first: Mapping[On, Body]
) -> Tally:
    tally = Tally()
    after = configurations(snapshot)  # of the very look that is judged: an idle consumer may be gone in the next one
    plan: Plan = live.run(plan_from_snapshot(wanted, snapshot, live.js, OPTIONS)).plan
    drift = look(wanted, snapshot, OPTIONS).drift
    planned_fields = {one.address: {field.top for field in one.fields} for one in plan.changes}
    judged = {one.address for one in plan.changes if one.verdicts}
    drifted = {item.address: {one.change.top for one in item.fields if one.drifted} for item in drift.items}
    left_as_found = {str(one.address): set(one.spec.unmanaged) for one in wanted.resources if not one.external}
    addresses = left_as_found.keys()
    for on in before:
        changed = {*_changed(before[on], after.get(on, {}), on)}
        if not changed:
            continue
        tally.changes += 1
        address = _address(on, addresses)
        if on not in after:
            if address not in planned_fields or address not in drifted:
                tally.unseen.append(f"{'/'.join(on)} is gone, and that is not said")
        elif address is None:
            tally.unseen.append(f"{'/'.join(on)} is declared nowhere")
        elif address.startswith("elastic_group") and len(on) == 1:  # its queue is no resource of its own
            if (
                address not in judged and after.get(on) != first[on]
            ):  # as the reference makes it, there is nothing to say
                tally.unseen.append(f"{address}: nothing said of its queue's {sorted(changed)}")
        else:
            named = {OWN_NAMES.get(one, one) for one in changed} if not address.startswith("stream/") else changed
            tally.left += len(named & left_as_found[address])
            named -= left_as_found[address]
            for who, fields in (("plan", planned_fields.get(address, set())), ("drift", drifted.get(address, set()))):
                if missing := named - fields:
                    values = {key: (before[on].get(key), after[on].get(key)) for key in changed}
                    tally.unseen.append(f"{address}: {who} does not name {sorted(missing)} of {values}")
    return tally


def _changed(before: Body, after: Body, on: On) -> Iterator[str]:
    """Fields that the server shows otherwise than before; of metadata, keys that the file had."""
    for key in before.keys() | after.keys():
        was, is_ = before.get(key), after.get(key)
        if key == "placement":  # tags have no order
            was, is_ = ({**one, "tags": sorted(one.get("tags") or ())} if one else one for one in (was, is_))
        if key == "duplicate_window" and after.get("mirror"):
            continue  # servers forget it when they start
        if key == "metadata":
            was, is_ = was or {}, {name: text for name, text in (is_ or {}).items() if name in (was or {})}
        if was != is_:
            yield key


def _address(on: On, declared: Collection[str]) -> str | None:
    """Under which address the export has this object."""
    if on[0] in GROUPS:
        kind = on[0].removesuffix("-consumer-groups") + "_group"
        return str(Address.of(kind, *on[1].rsplit(".", 1)))
    if len(on) == 2:
        return str(Address.of("consumer", *on))
    candidates = [f"stream/{on[0]}", f"kv_bucket/{on[0][3:]}", f"object_store/{on[0][4:]}"]
    if on[0].endswith("-g"):
        candidates.append(f"elastic_group/{on[0].removesuffix('-g')}/g")
    return next((one for one in candidates if one in declared), None)
