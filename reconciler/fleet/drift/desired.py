"""What every target should hold: its topology, rendered with its own values.

The files are read once, where they are; their text travels to the executors with the values of each target.

A topology as rows of the table `desired`, and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pydantic_core import from_json
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.changes.kind import Registry
from reconciler.documents.fill.values import Filled
from reconciler.documents.find.discover import load_each
from reconciler.documents.find.git import origin
from reconciler.documents.parse.files import DISK
from reconciler.documents.read.load import load
from reconciler.fleet.tables.tables import DESIRED, WANTED
from reconciler.journeys.saved.saved_plan import ResourceSpec, TopologyHeader
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan, ordered
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import Topology
from reconciler.report.codec.json import compact_json
from reconciler.report.codec.reading import read_as
from reconciler.report.codec.shape import data_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reconciler.fleet.accounts.targets import FleetTarget

ROWS = 10_000
"""Rows of DESIRED in one batch."""
TOLD = 3
"""How many problems of a topology its row names; the others are counted."""
ARROW = to_arrow_schema(DESIRED, timezone="UTC")
Row = Mapping[str, Any]
Pairs = tuple[tuple[str, str], ...]
Kept: TypeAlias = tuple[tuple[Path, ...], tuple[Diagnostic, ...]]
"""Files that were found, and problems."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Files as they were when they were read, or why they could not be read: a tree for another machine."""

    paths: tuple[Path, ...]
    """The files and folders that a target names."""
    answers: Mapping[tuple[Path, ...], Kept]
    """The files and problems below these paths, and below those that these files include."""
    texts: Mapping[Path, tuple[str, list[Diagnostic]]]
    repository: str | None = None

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Texts:
        """Read the files as they are on disk now, and those that they include; a file that cannot be found or read leaves a
        problem and raises nothing."""
        keeping = _KeepingTree()
        load(paths, REGISTRY, keeping)
        found_files = keeping.answers[tuple(paths)][0]
        return cls(
            tuple(paths), keeping.answers, keeping.texts, origin(found_files[0]).repository if found_files else None
        )

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        """Return the files and the problems as they were; of paths that nobody asked for then, the files that are at
        or below them."""
        below = [file for path in paths for file in self.texts if path in (file, *file.parents)]
        files, problems = self.answers.get(tuple(paths), (tuple(dict.fromkeys(below)), ()))
        return [*files], [*problems]

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        """Return the text that this file had, and its problems. Raises KeyError for a file that was not found then."""
        return self.texts[path]


@dataclass(slots=True)
class _KeepingTree:
    """The disk, of which it keeps all that anybody asked for."""

    answers: dict[tuple[Path, ...], Kept] = field(default_factory=dict)
    texts: dict[Path, tuple[str, list[Diagnostic]]] = field(default_factory=dict)

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        files, problems = DISK.find(paths)
        self.answers[tuple(paths)] = (tuple(files), tuple(problems))
        self.texts |= {path: DISK.read(path) for path in files if path not in self.texts}
        return files, problems

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        return self.texts[path]


def wanted_rows(targets: Iterable[FleetTarget]) -> tuple[list[Row], dict[str, Texts]]:
    """Return rows of WANTED, and the texts they refer to. A target without a topology has no files."""
    rows: list[Row] = []
    texts: dict[str, Texts] = {}
    for target in targets:
        key = "\n".join(map(str, target.topology))
        if key and key not in texts:
            texts[key] = Texts.of(target.topology)
        rows.append({
            "target": target.name, "labels": dict(target.labels), "files": key, "values": dict(target.values),
            "environment": target.environment,
        })  # fmt: skip
    return rows, texts


def desired_rows(wanted: DataFrame, texts: Mapping[str, Texts], *, run: str, day: date) -> DataFrame:
    """WANTED → DESIRED: a row per resource of every target, or one that says why there is none; for a target that
    should hold nothing, a row without a topology."""
    return wanted.select(*WANTED.names).mapInArrow(renderer(texts, run=run, day=day), DESIRED)


def renderer(
    texts: Mapping[str, Texts], *, run: str, day: date
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow`, from batches of WANTED to batches of DESIRED; it takes `texts` along to the
    executors."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rendered_rows: list[Row] = []
        loaded = lru_cache(maxsize=16)(
            partial(_rows_for_target, texts)
        )  # neighbouring targets often have exactly the same topology
        for row in (row for columns in batches for row in columns.to_pylist()):
            labels = tuple(row["labels"] or ())
            around = {"target": row["target"], "labels": labels, "run": run, "day": day}
            rendered_rows += (
                {**around, **columns}
                for columns in loaded(row["files"], tuple(row["values"] or ()), row["environment"], labels)
            )
            if len(rendered_rows) >= ROWS:
                yield pa.RecordBatch.from_pylist(rendered_rows, schema=ARROW)
                rendered_rows = []
        if rendered_rows:
            yield pa.RecordBatch.from_pylist(rendered_rows, schema=ARROW)

    return work


def _rows_for_target(
    texts: Mapping[str, Texts], files: str, values: Pairs, environment: str | None, labels: Pairs
) -> Sequence[Row]:
    if not files:
        return [{}]
    own = texts[files]
    loaded = load_each(own.paths, REGISTRY, Filled(own, dict(values), origin="the fleet file", environment=environment))
    if loaded.topology is None:
        return [{"topology": loaded.name or None, "error": _why_not_rendered(loaded.diagnostics)}]
    rows = rows_of_topology(loaded.topology, dict(labels), loaded.diagnostics)
    return [{**row, "repository": own.repository} for row in rows]


def _why_not_rendered(problems: Sequence[Diagnostic]) -> str:
    errors = [problem for problem in ordered(problems) if problem.is_error]
    texts = [f"{problem.span or ''} {problem.code} {problem.message}".strip() for problem in errors[:TOLD]]
    more = [f"and {len(errors) - TOLD} more"] if len(errors) > TOLD else []
    return "; ".join((*texts, *more))


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


def finding_columns(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return the columns of FINDING."""
    span = diagnostic.span
    return {
        "severity": diagnostic.severity.value, "code": diagnostic.code, "name": diagnostic.name, "message": diagnostic.message,
        "address": diagnostic.address, "fix": diagnostic.fix, "file": span.file if span else None,
        "line": span.line if span else None,
    }  # fmt: skip


def rows_of_topology(
    topology: Topology, labels: Mapping[str, str], diagnostics: Sequence[Diagnostic] = ()
) -> Iterator[dict[str, Any]]:
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
