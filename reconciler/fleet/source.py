"""A PySpark data source, `jetstream`: what many accounts hold, read in parallel on the executors."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource


class JetStreamSource(DataSource):
    """`spark.read.format("jetstream")`."""

    @classmethod
    def name(cls) -> str:
        return "jetstream"
