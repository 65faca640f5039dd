"""Stores the fleet's tables between runs: Parquet in a folder, or the tables of any Spark catalog.

A run is one partition of each table and is replaced as a whole: written twice, empty the second time, or finished after
midnight, it never leaves a row of its former self. A look at some targets replaces the run's rows of those, and keeps
the rest. Rows of an older release have null in the columns it did not know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import functions as F

from reconciler.fleet.tables import tables
from reconciler.fleet.tables.frames import frame_of, with_columns_of
from reconciler.fleet.tables.lock import NAME, Lock
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""A name that is valid as a folder on every file system, and needs no quoting in SQL."""
CATALOG = "table:"
"""`table:lake.fleet` are tables of that schema; everything else is a folder."""


ATOMIC = frozenset({"file", "hdfs", "abfs", "abfss"})
"""File systems that move a folder in one step; Azure's do where the account has a hierarchical namespace."""


AT_ONCE = frozenset({"delta", "iceberg", "hudi", "paimon"})
"""Formats of tables that are rewritten in one step, or not at all."""
NEW, WAS = "__new", "__was"
"""Suffixes of the other tables while a table is rewritten."""


class Store(Protocol):
    """A table has its name from tables.py, in lower case. A DataFrame read before a write is not valid after it."""

    def write(self, name: str, rows: DataFrame, run: str | None = None, targets: Sequence[str] | None = None) -> None:
        """Replace the rows of this run, or its rows of these targets; without a run, the whole table."""
        ...

    def read(self, name: str) -> DataFrame:
        """Read with the columns of today, whoever wrote them; empty where nothing was written yet."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other commands from writing meanwhile. In a catalog, that is up to its owner."""
        ...


def store(spark: SparkSession, where: str) -> Store:
    """Open a folder (`fleet-data`, `hdfs:///fleet`) or a catalog's schema (`table:lake.fleet`)."""
    if where.startswith(CATALOG):
        return Tables(spark=spark, schema=where.removeprefix(CATALOG))
    folder = FolderStore(spark=spark, path=where.rstrip("/") or "/")
    if why := why_unfit(folder.scheme(), str(spark.sparkContext.master)):
        fix = "Name with --store a folder that all of them share (hdfs://…), or Delta or Iceberg tables: table:CATALOG.SCHEMA."
        message = f"Tables cannot be stored in {where}: {why}."
        raise CannotContinue.because("FL115", "store-unfit", message, fix=fix)
    return folder


def why_unfit(scheme: str, master: str) -> str | None:
    """Return why a folder there would lose rows without notice."""
    if scheme not in ATOMIC:
        return f"{scheme}:// moves a folder file by file, and an interrupted move leaves half a table"
    if scheme == "file" and not master.startswith("local"):
        return f"each executor of {master} would write to a disk of its own"
    return None


def columns(name: str) -> StructType:
    """Return the columns of the table that has this name in tables.py."""
    schema: StructType = getattr(tables, name.upper())
    return schema


def _rows_of_run(rows: DataFrame, name: str, run: str | None) -> DataFrame:
    schema = columns(name)
    if run is None:
        return with_columns_of(rows, schema)
    if not RUN_NAME.fullmatch(run):
        message = f"`{run}` cannot be the name of a run: it becomes the name of a folder."
        fix = "Use letters, digits, `.`, `_` and `-`, at most 100, a letter or digit first; for example 2026-11-21."
        raise CannotContinue.because("FL104", "run-name", message, fix=fix)
    return with_columns_of(rows, schema).where(F.col("run") == run)


def _with_others(rows: DataFrame, before: DataFrame, run: str | None, targets: Sequence[str]) -> DataFrame:
    """Add to the rows of these targets the run's rows of all others."""
    is_one = F.col("target").isin([*targets])
    return rows.where(is_one).unionByName(before.where((F.col("run") == F.lit(run)) & ~is_one))


_ASIDE = ".was="
"""Spark does not read what begins with a dot, and no run has a name with `=`."""


def _path_beside(folder: str, leaf: str) -> str:
    return f"{folder}/.{leaf}"


def _path_aside(folder: str, leaf: str) -> str:
    return f"{folder}/{_ASIDE}{leaf}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderStore:
    """Parquet: `<path>/<table>/run=<run>/`. Rows are written beside their place and then moved there, so that nobody
    reads a half; the old ones are moved aside first. After an interruption, the next command finishes the move."""

    spark: SparkSession
    path: str

    def write(self, name: str, rows: DataFrame, run: str | None = None, targets: Sequence[str] | None = None) -> None:
        """Write the rows beside their place and move them there when whole. Raises CannotContinue for a bad `run`."""
        folder, leaf = (self.path, name) if run is None else (self._table_path(name), f"run={run}")
        self._finish_moves(name)
        kept = _rows_of_run(rows, name, run)
        if targets is not None:
            kept = _with_others(kept, self.read(name), run, targets)
        (kept if run is None else kept.drop("run")).write.mode("overwrite").parquet(_path_beside(folder, leaf))
        self._move_in(folder, leaf)

    def read(self, name: str) -> DataFrame:
        """Finish what an interrupted writer began, so that the rows are those from before its write or from after it;
        read them."""
        schema = columns(name)
        self._finish_moves(name)
        if not self._visible_names_in(self._table_path(name)):
            return frame_of(self.spark, (), schema)
        return with_columns_of(self.spark.read.schema(schema).parquet(self._table_path(name)), schema)

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the folder's lock during the `with`. Raises CannotContinue where another command holds it."""
        return self._lock().held()

    def _lock(self) -> Lock:
        return Lock(
            jvm=self.spark.sparkContext._jvm, system=self._file_system(), place=self._hadoop_path(f"{self.path}/{NAME}")
        )

    def scheme(self) -> str:
        """Return the scheme of its file system, which may not even be installed."""
        jvm: Any = self.spark.sparkContext._jvm
        configuration = self.spark.sparkContext._jsc.hadoopConfiguration()
        uri = self._hadoop_path(self.path).toUri()
        usual = jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(configuration)
        return str(uri.getScheme() or usual.getScheme() or "file").lower()

    def _table_path(self, name: str) -> str:
        return f"{self.path}/{name}"

    def _move_in(self, folder: str, leaf: str) -> None:
        """Move new rows into place: they are whole, and count as soon as the old ones lie aside."""
        system, target = self._file_system(), self._hadoop_path(f"{folder}/{leaf}")
        system.mkdirs(target.getParent())
        if system.exists(target):
            self._rename(target, self._hadoop_path(_path_aside(folder, leaf)))
        self._rename(self._hadoop_path(_path_beside(folder, leaf)), target)
        system.delete(self._hadoop_path(_path_aside(folder, leaf)), True)

    def _finish_moves(self, name: str) -> None:
        """Finish interrupted moves: new rows take the place they were made for, and old ones go. A command that is
        writing does this itself."""
        aside = [
            (folder, child.removeprefix(_ASIDE))
            for folder in (self.path, self._table_path(name))
            for child in self._names_in(folder)
            if child.startswith(_ASIDE) and (folder != self.path or child == f"{_ASIDE}{name}")
        ]
        if aside and (not (lock := self._lock()).is_held_by_another() or lock.is_ours()):
            for folder, leaf in aside:
                self._finish_move(folder, leaf)

    def _finish_move(self, folder: str, leaf: str) -> None:
        system, target = self._file_system(), self._hadoop_path(f"{folder}/{leaf}")
        path_beside, path_aside = (
            self._hadoop_path(_path_beside(folder, leaf)),
            self._hadoop_path(_path_aside(folder, leaf)),
        )
        if not system.exists(target):
            self._rename(path_beside if system.exists(path_beside) else path_aside, target)
        system.delete(path_aside, True)

    def _rename(self, old: Any, new: Any) -> None:
        if not self._file_system().rename(old, new):
            raise OSError(f"{old} could not be moved to {new}")

    def _visible_names_in(self, folder: str) -> list[str]:
        """The readable children: neither what is being written nor Spark's own marks."""
        return [name for name in self._names_in(folder) if not name.startswith((".", "_"))]

    def _names_in(self, folder: str) -> list[str]:
        system, path = self._file_system(), self._hadoop_path(folder)
        return [child.getPath().getName() for child in system.listStatus(path)] if system.exists(path) else []

    def _file_system(self) -> Any:
        """The file system of the path, whichever it is: local, HDFS, Azure's."""
        configuration = self.spark.sparkContext._jsc.hadoopConfiguration()
        return self._hadoop_path(self.path).getFileSystem(configuration)

    def _hadoop_path(self, path: str) -> Any:
        jvm: Any = self.spark.sparkContext._jvm
        return jvm.org.apache.hadoop.fs.Path(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Tables of a catalog that is set up in Spark, in its default format; new columns are added."""

    spark: SparkSession
    schema: str

    def write(self, name: str, rows: DataFrame, run: str | None = None, targets: Sequence[str] | None = None) -> None:
        """Make the table with its first rows, and add the columns that it lacks."""
        wanted = _rows_of_run(rows, name, run)
        self._finish_moves(name)
        if not self._exists(name):
            writer = wanted.limit(0).writeTo(self._table_name(name))
            (writer if run is None else writer.partitionedBy(F.col("run"))).create()
        self._add_missing_columns(name)
        partition = "" if run is None else f"PARTITION (run = '{run}')"
        # cut off from their origin: a table cannot be read while it is rewritten
        if targets is not None:
            wanted = _with_others(wanted, self.read(name), run, targets)
        settled = wanted if run is not None and targets is None else wanted.localCheckpoint()
        settled = settled if run is None else settled.drop("run")
        if run is None and self._table_format(name) not in AT_ONCE:
            self._replace_by_renaming(name, settled)
        else:
            self._insert("OVERWRITE TABLE", f"{self._table_name(name)} {partition}", settled)

    def read(self, name: str) -> DataFrame:
        """Finish what an interrupted writer began; a column that the table lacks is null."""
        schema = columns(name)
        self._finish_moves(name)
        if not self._exists(name):
            return frame_of(self.spark, (), schema)
        return with_columns_of(self.spark.table(self._table_name(name)), schema)

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold nothing: the catalog's owner sees to concurrent writers."""
        return nullcontext()

    def _replace_by_renaming(self, name: str, rows: DataFrame) -> None:
        """Rewrite and rename: formats that are only files delete a table before they rewrite it. So the rows are
        written to another table, completely, which then takes the name."""
        table, new, was = map(self._table_name, (name, name + NEW, name + WAS))
        self.spark.sql(f"DROP TABLE IF EXISTS {new}")
        self.spark.sql(f"CREATE TABLE {new} LIKE {table}")
        self._insert("INTO", new, rows)
        self._rename_table(name, name + WAS)
        self._rename_table(name + NEW, name)
        self.spark.sql(f"DROP TABLE {was}")

    def _finish_moves(self, name: str) -> None:
        """Finish an interrupted rewrite: where the old table was put away, the new one is whole."""
        if not self._exists(name + WAS):
            return
        if not self._exists(name):
            self._rename_table(name + NEW if self._exists(name + NEW) else name + WAS, name)
        self.spark.sql(f"DROP TABLE IF EXISTS {self._table_name(name + WAS)}")

    def _rename_table(self, old: str, new: str) -> None:
        self.spark.sql(f"ALTER TABLE {self._table_name(old)} RENAME TO {self._table_name(new)}")

    def _insert(self, how: str, where: str, rows: DataFrame) -> None:
        self.spark.sql(f"INSERT {how} {where} BY NAME SELECT * FROM {{rows}}", rows=rows)

    def _table_format(self, name: str) -> str:
        provider = (
            self.spark.sql(f"DESCRIBE TABLE EXTENDED {self._table_name(name)}").where("col_name = 'Provider'").first()
        )
        return str(provider["data_type"]).lower() if provider else ""

    def _table_name(self, name: str) -> str:
        return ".".join(f"`{part}`" for part in (*self.schema.split("."), name))

    def _exists(self, name: str) -> bool:
        return bool(self.spark.catalog.tableExists(self._table_name(name)))

    def _add_missing_columns(self, name: str) -> None:
        existing = set(self.spark.table(self._table_name(name)).columns)
        added = [column for column in columns(name) if column.name not in existing]
        if added:
            new = ", ".join(f"`{column.name}` {column.dataType.simpleString()}" for column in added)
            self.spark.sql(f"ALTER TABLE {self._table_name(name)} ADD COLUMNS ({new})")
