"""What Spark cannot do is told in a sentence, with what began it; only an error of ours is called one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PythonException

from reconciler.cli.run import run
from reconciler.fleet.session import explain_spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOWN = {"server": "nats://127.0.0.1:1"}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("snapshot", "--store", "/proc/nowhere"), "Tables cannot be stored in /proc/nowhere: No such file"),
        (("snapshot", "--store", "table:there.is.none"), "Spark could not do it: REQUIRES_SINGLE_PART_NAMESPACE"),
        (("skew", "--stream", "S", "--keys", "KEYS"), "Spark could not do it: CAST_INVALID_INPUT] The value 'many'"),
    ],
)
def test_what_spark_cannot_do_is_told_with_its_reason(
    command: tuple[str, ...], why: str, fleet: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "keys.csv"
    keys.write_text("subject,messages\na.b,many\n")
    name, *options = (word.replace("KEYS", str(keys)) for word in command)
    assert run(("fleet", name, str(fleet(down=DOWN)), *options)) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert why in said.replace("[", "")
    assert "internal error" not in said


def test_an_error_of_ours_in_a_worker_is_not_blamed_on_spark(spark: SparkSession) -> None:
    def wrong(_batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise LookupError("a mistake")

    with pytest.raises(PythonException, match="a mistake"), explain_spark_errors():
        spark.range(1).mapInArrow(wrong, "id long").collect()


WITHOUT_SPARK = """\
import sys
sys.modules.update(dict.fromkeys(("pyspark", "pyarrow", "pandas")))
from reconciler.cli.run import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "command",
    [*((name,) for name in ("snapshot", "drift", "history", "outliers", "report", "events")), ("skew", "--stream=S")],
)
def test_without_spark_every_command_that_needs_it_says_what_brings_it(
    command: tuple[str, ...], fleet: Callable[..., Path]
) -> None:
    line = [sys.executable, "-c", WITHOUT_SPARK, "fleet", command[0], str(fleet(down=DOWN)), *command[1:]]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "", "This command runs on Spark, and pyspark, pyarrow and pandas are not installed.\n"
        "Install `nats-reconciler[fleet]`.\n",
    )  # fmt: skip
