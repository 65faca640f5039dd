"""Rows of one target → rows of drift: the same look as `reconciler drift`, with rows on both sides.

A target that could not be read, or whose topology could not be rendered, becomes one row that says so; so does one that
should hold nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from pydantic_core import to_json

from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Verdict
from reconciler.fleet.accounts.rows import snapshot_of
from reconciler.fleet.drift.rendering import TEAM, topology_in
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing
from reconciler.journeys.drift.look import look
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.records import BUCKET
from reconciler.model.resource import Json
from reconciler.model.run_options import Origin, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot

Row = Mapping[str, Any]
Drifted = dict[str, Any]
"""Columns of DRIFT by name; a missing value is null."""
COMPARED, UNREACHABLE, UNDECLARED, UNREMEMBERED = "compared", "unreachable", "undeclared", "unremembered"
ALL_UNREMEMBERED = f"bucket {BUCKET} could not be read, so everything was compared with the files alone"


def compared(live: Sequence[Row], wanted: Sequence[Row], registry: Registry = REGISTRY) -> Iterator[Drifted]:
    """Compare one target. `live` are rows of SNAPSHOTS, `wanted` rows of DESIRED, all of one target in one run, in any
    order."""
    if not wanted:
        return
    snapshot = _snapshot(live)
    at = next((row["at"] for row in live if row["at"] is not None), None)
    for rows in _by_topology(wanted):
        header = next((row for row in rows if row["address"] is None), rows[0])
        around = {name: header[name] for name in ("run", "day", "target", "labels", "topology")} | {"at": at}
        is_nothing = header["topology"] is None and header["error"] is None
        told = [{"standing": UNDECLARED}] if is_nothing else _look(header, rows, snapshot, registry)
        yield from ({**around, **found} for found in told)


def _snapshot(live: Sequence[Row]) -> Snapshot | str:
    if not live:
        return "this run took no snapshot of it"
    try:
        return snapshot_of(live)
    except (ValueError, TypeError, KeyError) as error:
        return f"its snapshot cannot be read: {error}"


def _by_topology(rows: Iterable[Row]) -> Iterable[list[Row]]:
    found: dict[str | None, list[Row]] = {}
    for row in rows:
        found.setdefault(row["topology"], []).append(row)
    return found.values()


def _look(header: Row, rows: Sequence[Row], snapshot: Snapshot | str, registry: Registry) -> Iterable[Drifted]:
    if isinstance(snapshot, str):
        return [_unreachable(snapshot)]
    if header["error"] is not None:
        return [_unreachable(header["error"])]
    if header["address"] is not None:
        return [_unreachable("its declarations are incomplete: the row of the topology itself is missing")]
    try:
        topology = topology_in(rows, registry)
        options = RunOptions(today=snapshot.target.day or header["day"], origin=Origin(repository=header["repository"]))
        drift = look(topology, snapshot, options, registry).drift
    except CannotContinue as problem:
        return [_unreachable("; ".join(f"{one.code} {one.message}" for one in problem.diagnostics))]
    except Exception as error:  # noqa: BLE001 - what one account holds must not end the look at a thousand others
        return [_unreachable(f"it could not be compared: {type(error).__name__}: {error}")]
    return _found(drift, _teams(header, topology))


def _unreachable(why: str) -> Drifted:
    return {"standing": UNREACHABLE, "error": why}


def _teams(header: Row, topology: Topology) -> Callable[[str], str | None]:
    """The team of each object; an object without one belongs to the target's team."""
    otherwise = dict(header["labels"] or {}).get(TEAM)

    @cache
    def own() -> dict[str, str | None]:
        return {str(one.address): one.spec.labels.get(TEAM, otherwise) for one in topology.resources}

    return lambda address: own().get(address, otherwise)


def _found(drift: Drift, team: Callable[[str], str | None]) -> Iterator[Drifted]:
    yield {"standing": COMPARED, "quantities": drift.counts}
    yield from _unsure(drift, team)
    for item in drift.items:
        around = {**_about(item.address, team), "standing": item.standing.value, "reason": item.reason or None}
        yield from ({**around, **row} for row in _rows(item))


def _unsure(drift: Drift, team: Callable[[str], str | None]) -> Iterator[Drifted]:
    """Where the applied values are unknown, show differences from the file, without a history. An unusable record
    leaves nothing unread: its object may be another topology's, or as the file says."""
    if not drift.ledger_known:
        yield {"standing": Standing.UNKNOWN.value, "reason": ALL_UNREMEMBERED}
    for one in drift.diagnostics:
        if one.address:
            lost = {"standing": UNREMEMBERED, "reason": one.message, "codes": [one.code]}
            yield _about(one.address, team) | lost


def _about(address: str, team: Callable[[str], str | None]) -> Drifted:
    return {"address": address, "kind": address.partition("/")[0], "team": team(address)}


def _rows(item: Item) -> Iterator[Drifted]:
    """Yield a row for the object where it drifted as a whole or is unknown, and one for each of its fields."""
    if item.standing.is_whole or not item.fields:
        yield {
            "drifted": item.standing.is_whole, "ignored": item.ignored or None, **_judged(item.verdicts), **_place(item),
        }  # fmt: skip
    for at, one in enumerate(item.fields):
        # findings about no field go to the first, unless there is a row for the whole
        more = item.verdicts if at == 0 and not item.standing.is_whole else ()
        yield {
            "path": one.path, "class": one.change.field_class.value, "drifted": one.drifted,
            "live": _text(one.change.live), "desired": _text(one.change.desired), "applied": _text(one.applied),
            "ignored": one.ignored or None, **_judged((*one.verdicts, *more)), **_place(one),
        }  # fmt: skip


def _judged(verdicts: Sequence[Verdict]) -> Drifted:
    quantities = dict(chain.from_iterable(one.quantities.items() for one in verdicts))
    return {
        "codes": list(dict.fromkeys(one.code for one in verdicts)),
        "verdicts": [
            {"code": one.code, "name": one.name, "outcome": one.outcome.value, "message": one.message}
            for one in verdicts
        ],
        "quantities": quantities or None,
    }


def _place(one: Item | FieldDrift) -> Drifted:
    return {"file": one.span.file, "line": one.span.line} if one.span else {}


def _text(value: Json) -> str | None:
    return None if value is None else to_json(value).decode()
