"""DataFrames with the columns of a table: made of given rows, or brought into its shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def frame_of(spark: SparkSession, rows: Iterable[Mapping[str, Any]], schema: StructType) -> DataFrame:
    """Make a DataFrame of given rows, null where they have no value. By way of Arrow, Spark has them in its plan: it
    starts nothing to read them, and nothing at all for a question about no rows."""
    return spark.createDataFrame(pa.Table.from_pylist([*rows], schema=to_arrow_schema(schema, timezone="UTC")), schema)


def with_columns_of(rows: DataFrame, schema: StructType) -> DataFrame:
    """Return the columns of this table in their order; null where the rows have none. Types are cast as for storing: to
    wider ones, and to narrower ones where each value fits."""
    return rows.to(schema)
