"""Finds what differs on one target from most of its peers, which are the targets with the same labels.

It does not matter what is declared: this also finds a limit that somebody raised on one account of fifty where nothing
manages it. Objects are compared in canonical form, so that versions of servers make no difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.engine.pairing.canonical import recognised_resources
from reconciler.fleet.accounts.rows import snapshot_of
from reconciler.fleet.tables.frames import with_columns_of
from reconciler.fleet.tables.tables import OBJECTS, OUTLIERS
from reconciler.kinds import REGISTRY
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json

GROUP = ("run", "peers")
THING = (*GROUP, "address")
ARROW = to_arrow_schema(OBJECTS, timezone="UTC")


def objects(snapshots: DataFrame) -> DataFrame:
    """SNAPSHOTS → OBJECTS. They are used several times, so they are worth caching."""
    return snapshots.groupBy("run", "target").applyInArrow(_objects_table, OBJECTS)


def outliers(objects: DataFrame, *, by: Sequence[str] = ()) -> DataFrame:
    """OBJECTS → OUTLIERS, run by run. `by` names the labels that make peers (none: all labels); a target without one of
    them has no peers. Most means more than half; where no value has that, nobody is an outlier."""
    among = _with_peers_column(objects, by)
    targets, things = among.where("address is null"), among.where("address is not null")
    held = _holders(targets, things)
    rows = (
        _differing_fields(things)
        .unionByName(_extra_objects(things, held))
        .unionByName(_missing_objects(targets, things, held))
    )
    return with_columns_of(rows, OUTLIERS)


def with_peers(objects: DataFrame, *, by: Sequence[str] = ()) -> DataFrame:
    """OBJECTS → the rows of those targets that have a peer. No other target can be unlike its peers."""
    peers = Window.partitionBy(*GROUP)
    targets = _with_peers_column(objects, by).where("address is null")
    return targets.withColumn("number", F.count("*").over(peers)).where("number > 1").drop("number")


def _with_peers_column(objects: DataFrame, by: Sequence[str]) -> DataFrame:
    return objects.withColumn("peers", _peers_label(by)).where("peers is not null")


def _peers_label(by: Sequence[str]) -> Column:
    """`env=prod, role=orders`; null where one of them is missing."""
    if by:
        labels = [F.concat(F.lit(f"{name}="), F.try_element_at("labels", F.lit(name))) for name in by]
        return F.when(F.forall(F.array(*labels), lambda label: label.isNotNull()), F.concat_ws(", ", *labels))
    entries = F.array_sort(F.map_entries(F.coalesce("labels", F.create_map().cast("map<string,string>"))))
    return F.concat_ws(", ", F.transform(entries, lambda entry: F.concat_ws("=", entry.key, entry.value)))


def _objects_table(table: pa.Table) -> pa.Table:
    """A target with broken rows is compared with none, and the others are still compared."""
    try:
        return pa.Table.from_pylist([*objects_of(table.to_pylist())], schema=ARROW)
    except Exception:  # noqa: BLE001 - as with one that could not be read; `drift` says what is wrong with it
        return ARROW.empty_table()


def objects_of(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Turn rows of SNAPSHOTS, all of one target in one run, into its objects and a row for the target. A target that
    could not be read is compared with none; `sure` marks one without unknown parts, where a missing object does not
    exist."""
    snapshot = snapshot_of(rows)
    if isinstance(snapshot, str):
        return
    first = next(row for row in rows if row["row"] == "target")
    labels = None if first["labels"] is None else dict(first["labels"])
    around = {name: first[name] for name in ("run", "day", "target")} | {"labels": labels, "sure": not snapshot.unknown}
    yield around
    for address, resource in recognised_resources(snapshot, REGISTRY).items():
        fields = REGISTRY.of(address).fields
        config = dict(_canonical_fields(resource.config, fields))
        yield {**around, "address": str(address), "kind": address.kind, "config": config}


def _canonical_fields(config: Mapping[str, Json], fields: Mapping[str, FieldInfo]) -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        info = fields.get(name, FieldInfo())
        for path, leaf in _leaves(name, value):
            yield (
                path,
                _canonical_text(
                    leaf, ordered=info.ordered and path.removeprefix(f"{name}.") not in info.nested_unordered
                ),
            )


def _leaves(path: str, value: Json) -> Iterable[tuple[str, Json]]:
    """Leaves of mappings; lists are taken as a whole, because their items have no names to compare them by."""
    if not isinstance(value, Mapping):
        return [(path, value)]
    return (leaf for name, inner in value.items() for leaf in _leaves(f"{path}.{name}", inner))


def _canonical_text(value: Json, *, ordered: bool) -> str:
    if isinstance(value, list | tuple) and not ordered:
        value = sorted(value, key=str)
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, default=str)


def _holders(targets: DataFrame, things: DataFrame) -> DataFrame:
    """Per object: how many peers have it, of how many where that is known."""
    sure = targets.groupBy(*GROUP).agg(F.count_if("sure").alias("sure_peers"))
    has = things.groupBy(*THING, "kind").agg(F.count("*").alias("has"), F.count_if(~F.col("sure")).alias("unsure"))
    counted = has.join(sure, [*GROUP], "inner").withColumn("among", F.col("sure_peers") + F.col("unsure"))
    return counted.select(*THING, "kind", "has", "among")


def _missing_objects(targets: DataFrame, things: DataFrame, held: DataFrame) -> DataFrame:
    usual = held.where("has * 2 > among and has < among")
    wanted = targets.where("sure").drop("address", "kind", "config").join(usual, [*GROUP], "inner")
    lacking = wanted.join(things.select(*THING, "target"), [*THING, "target"], "leftanti")
    return _of_whole_objects(lacking, "missing", F.col("has"))


def _extra_objects(things: DataFrame, held: DataFrame) -> DataFrame:
    unusual = held.where("has * 2 < among").drop("kind")
    return _of_whole_objects(things.join(unusual, [*THING], "inner"), "extra", F.col("among") - F.col("has"))


def _of_whole_objects(rows: DataFrame, how: str, holders: Column) -> DataFrame:
    return _outlier_columns(rows.withColumn("holders", holders), how, path=None, value=None, usual=None)


def _differing_fields(things: DataFrame) -> DataFrame:
    """Fields whose usual value (null: none) most of the object's holders have, but not all."""
    values = things.select(*THING, F.explode("config").alias("path", "value"))
    counted = values.groupBy(*THING, "path", "value").agg(F.count("*").alias("n"))
    paths = counted.groupBy(*THING, "path").agg(
        F.max_by("value", "n").alias("value"), F.max("n").alias("most"), F.sum("n").alias("set_by")
    )
    has = things.groupBy(*THING).agg(F.count("*").alias("among"))
    split = paths.join(has, [*THING], "inner").withColumn("unset_by", F.col("among") - F.col("set_by"))
    is_set, is_unset = F.col("most") * 2 > F.col("among"), F.col("unset_by") * 2 > F.col("among")
    usual = split.where(is_set | is_unset).select(
        *THING, "path", "among",
        F.when(is_set, F.col("value")).alias("usual"),
        F.when(is_set, F.col("most")).otherwise(F.col("unset_by")).alias("holders"),
    ).where("holders < among")  # fmt: skip
    each = things.join(usual, [*THING], "inner").withColumn("value", F.try_element_at("config", F.col("path")))
    unlike = each.where(~F.col("value").eqNullSafe(F.col("usual")))
    return _outlier_columns(unlike, "differs", path=F.col("path"), value=F.col("value"), usual=F.col("usual"))


def _outlier_columns(rows: DataFrame, how: str, **columns: Column | None) -> DataFrame:
    texts = {name: F.lit(None).cast("string") if column is None else column for name, column in columns.items()}
    values = (column.alias(name) for name, column in {"what": F.lit(how), **texts}.items())
    return rows.select("run", "day", "peers", "target", "labels", "address", "kind", "holders", "among", *values)
