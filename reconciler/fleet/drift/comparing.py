"""Rows of one target → rows of drift: the same look as `reconciler drift`, with rows on both sides.

A target that could not be read, or not compared with its topology, becomes one row that says so; so does one that should
hold nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from pydantic_core import to_json

from reconciler.changes.change import FieldClass
from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Verdict
from reconciler.fleet.accounts.rows import snapshot_of
from reconciler.fleet.drift.rendering import TEAM, finding_columns, topology_of_rows
from reconciler.fleet.tables.rows import UNCOMPARED, UNREACHABLE, UNREMEMBERED
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing
from reconciler.journeys.drift.look import look
from reconciler.kinds import REGISTRY
from reconciler.memory.remembered import UNUSABLE
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Json
from reconciler.model.run_options import Origin, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot

Row = Mapping[str, Any]
Drifted = dict[str, Any]
"""Columns of DRIFT by name; a missing value is null."""
COMPARED, UNDECLARED = "compared", "undeclared"
ALL_UNREMEMBERED = f"bucket {BUCKET} could not be read, so everything was compared with the files alone"


def drift_rows(live: Sequence[Row], wanted: Sequence[Row], registry: Registry = REGISTRY) -> Iterator[Drifted]:
    """Compare one target. `live` are rows of SNAPSHOTS, `wanted` rows of DESIRED, all of one target in one run, in any
    order."""
    if not wanted:
        return
    snapshot = _snapshot_or_reason(live)
    time = next((row["at"] for row in live if row["at"] is not None), None)
    for rows in _by_topology(wanted):
        header = next((row for row in rows if row["address"] is None), rows[0])
        around = {name: header[name] for name in ("run", "day", "target", "labels", "topology")} | {"at": time}
        is_nothing = header["topology"] is None and header["error"] is None
        drifted_rows = [{"standing": UNDECLARED}] if is_nothing else _rows_of_look(header, rows, snapshot, registry)
        yield from ({**around, **columns} for columns in drifted_rows)


def _snapshot_or_reason(live: Sequence[Row]) -> Snapshot | str:
    if not live:
        return "this run took no snapshot of it"
    try:
        return snapshot_of(live)
    except (ValueError, TypeError, KeyError) as error:
        return f"its snapshot cannot be read: {error}"


def _by_topology(rows: Iterable[Row]) -> Iterable[list[Row]]:
    by_topology: dict[str | None, list[Row]] = {}
    for row in rows:
        by_topology.setdefault(row["topology"], []).append(row)
    return by_topology.values()


def _rows_of_look(header: Row, rows: Sequence[Row], snapshot: Snapshot | str, registry: Registry) -> Iterable[Drifted]:
    if isinstance(snapshot, str):
        return [{"standing": UNREACHABLE, "error": snapshot}]
    if header["error"] is not None:
        return [_uncompared_row(header["error"])]
    if header["address"] is not None:
        return [_uncompared_row("its declarations are incomplete: the row of the topology itself is missing")]
    try:
        topology = topology_of_rows(rows, registry)
        options = RunOptions(today=snapshot.target.day or header["day"], origin=Origin(repository=header["repository"]))
        drift = look(topology, snapshot, options, registry).drift
    except CannotContinue as refusal:
        return [
            _uncompared_row("; ".join(f"{diagnostic.code} {diagnostic.message}" for diagnostic in refusal.diagnostics))
        ]
    except Exception as error:  # noqa: BLE001 - what one account holds must not end the look at a thousand others
        return [_uncompared_row(f"it could not be compared: {type(error).__name__}: {error}")]
    return _rows_of_drift(drift, _team_by_address(header, topology), header["diagnostics"] or ())


def _uncompared_row(why: str) -> Drifted:
    return {"standing": UNCOMPARED, "error": why}


def _team_by_address(header: Row, topology: Topology) -> Callable[[str], str | None]:
    """The team of each object; an object without one belongs to the target's team."""
    otherwise = dict(header["labels"] or {}).get(TEAM)

    @cache
    def own_teams() -> dict[str, str | None]:
        return {str(resource.address): resource.spec.labels.get(TEAM, otherwise) for resource in topology.resources}

    return lambda address: own_teams().get(address, otherwise)


def _rows_of_drift(drift: Drift, team: Callable[[str], str | None], of_files: Sequence[Row]) -> Iterator[Drifted]:
    findings = [*of_files, *map(finding_columns, drift.diagnostics)]
    quantities = {**drift.counts, "without_record": drift.unrecorded}
    yield {"standing": COMPARED, "quantities": quantities, "diagnostics": findings or None}
    yield from _unknown_rows(drift, team)
    for item in drift.items:
        around = {**_object_columns(item.address, team), "standing": item.standing.value, "reason": item.reason or None}
        yield from ({**around, **row} for row in _rows_of_item(item))


def _unknown_rows(drift: Drift, team: Callable[[str], str | None]) -> Iterator[Drifted]:
    """Where the applied values are unknown, show differences from the file, without a history. An unusable record
    leaves nothing unread: its object may be another topology's, or as the file says."""
    if not drift.ledger_known:
        yield {"standing": Standing.UNKNOWN.value, "reason": ALL_UNREMEMBERED}
    for finding in drift.diagnostics:
        if finding.address and finding.code in UNUSABLE:
            lost = {"standing": UNREMEMBERED, "reason": finding.message, "codes": [finding.code]}
            yield _object_columns(finding.address, team) | lost


def _object_columns(address: str, team: Callable[[str], str | None]) -> Drifted:
    return {"address": address, "kind": address.partition("/")[0], "team": team(address)}


def _rows_of_item(item: Item) -> Iterator[Drifted]:
    """Yield a row for the object where it drifted as a whole or is unknown, and one for each of its fields."""
    if item.standing.is_whole or not item.fields:
        yield {
            "drifted": item.standing.is_whole, "ignored": item.ignored or None, **_verdict_columns(item.verdicts), **_place_columns(item),
        }  # fmt: skip
    for index, field in enumerate(item.fields):
        # findings about no field go to the first, unless there is a row for the whole
        more = item.verdicts if index == 0 and not item.standing.is_whole else ()
        yield {
            "path": field.path, "class": field.change.field_class.value, "drifted": field.drifted,
            "live": _json_text(field.change.live), "desired": _json_text(field.change.desired),
            "applied": _json_text(_recorded_value(field)), "ignored": field.ignored or None,
            **_verdict_columns((*field.verdicts, *more)), **_place_columns(field),
        }  # fmt: skip


def _recorded_value(field: FieldDrift) -> Json:
    """The value that was applied, as far as a record tells."""
    return None if field.change.field_class is FieldClass.PLAIN else field.applied


def _verdict_columns(verdicts: Sequence[Verdict]) -> Drifted:
    quantities = dict(chain.from_iterable(verdict.quantities.items() for verdict in verdicts))
    return {
        "codes": list(dict.fromkeys(verdict.code for verdict in verdicts)),
        "verdicts": [
            {"code": verdict.code, "name": verdict.name, "outcome": verdict.outcome.value, "message": verdict.message}
            for verdict in verdicts
        ],
        "quantities": quantities or None,
    }


def _place_columns(item: Item | FieldDrift) -> Drifted:
    return {"file": item.span.file, "line": item.span.line} if item.span else {}


def _json_text(value: Json) -> str | None:
    return None if value is None else to_json(value).decode()
