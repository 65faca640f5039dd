"""A topology as rows of the table `desired`, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from reconciler.changes.kind import Registry
from reconciler.journeys.saved.saved_plan import ResourceSpec, TopologyHeader
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import Topology
from reconciler.report.codec.json import compact_json
from reconciler.report.codec.reading import read_as
from reconciler.report.codec.shape import data_of

Row = dict[str, Any]
"""Columns of DESIRED by name; a missing value is null."""
TEAM = "team"
"""The label that names the owning team."""


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """All that a row keeps of a place."""

    file: str
    line: int

    def __call__(self, _path: str) -> SourceSpan:
        return SourceSpan(self.file, self.line, 1, self.line, 1)


def finding_columns(diagnostic: Diagnostic) -> Row:
    """Return the columns of FINDING."""
    span = diagnostic.span
    return {
        "severity": diagnostic.severity.value, "code": diagnostic.code, "name": diagnostic.name, "message": diagnostic.message,
        "address": diagnostic.address, "fix": diagnostic.fix, "file": span.file if span else None,
        "line": span.line if span else None,
    }  # fmt: skip


def rows_of_topology(
    topology: Topology, labels: Mapping[str, str], diagnostics: Sequence[Diagnostic] = ()
) -> Iterator[Row]:
    """Yield the row of the topology first, then one for each resource. `labels` are those of the target, `diagnostics`
    those of the files."""
    findings = [*map(finding_columns, diagnostics)]
    yield {
        "topology": topology.name,
        "json": compact_json(data_of(TopologyHeader.of(topology))),
        "diagnostics": findings or None,
    }
    for resource in topology.resources:
        span = resource.where("")
        yield {
            "topology": topology.name,
            "address": str(resource.address),
            "kind": resource.address.kind,
            "team": resource.spec.labels.get(TEAM, labels.get(TEAM)),
            "json": compact_json(ResourceSpec.of(resource).spec),
            **({"file": span.file, "line": span.line} if span else {}),
        }


def topology_of_rows(rows: Iterable[Mapping[str, Any]], registry: Registry) -> Topology:
    """Rebuild the topology from its rows. Raises ValueError (pydantic's too), KeyError or TypeError for anything
    else."""
    header: Mapping[str, Any] = {}
    resources = []
    for row in rows:
        if row["address"] is None:
            header = row
        else:
            resources.append(_declared_resource(row, registry))
    # Parents first, as in a file: a shuffle keeps no order.
    resources.sort(key=lambda resource: (len(resource.address.names), resource.address))
    return read_as(TopologyHeader, from_json(header["json"])).topology(header["topology"], tuple(resources))


def _declared_resource(row: Mapping[str, Any], registry: Registry) -> Declared:
    address = Address.parse(row["address"])
    spec = registry.of(address).spec.model_validate_json(row["json"])
    where = StoredPlace(row["file"], row["line"]) if row["file"] else None
    return Declared(address=address, spec=spec, where=where) if where else Declared(address=address, spec=spec)
