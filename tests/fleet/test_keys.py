"""Keys that no stream holds yet, out of a file: `fleet skew --keys`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reconciler.cli.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = {"server": "nats://127.0.0.1:1"}
"""Files are read, not targets."""


@pytest.mark.usefixtures("spark")
def test_keys_of_a_file_fall_as_subjects_do(
    fleet: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"subject": ["o.a", "o.b", "o.2", "audit"], "messages": [10, 20, 30, 40]}), keys)
    asked = ("--filter", "o.* by 1", "--partitions", "4", "--members", "ann,bob", "--format", "json")
    assert run(("fleet", "skew", str(fleet(down=NOBODY)), "--stream", "ORDERS", "--keys", str(keys), *asked)) == 0
    said = json.loads(capsys.readouterr().out)
    (partitions,) = [one for one in said["skew"] if one["of"] == "messages" and "membership" not in one]
    (members,) = [one for one in said["skew"] if one["of"] == "messages" and "membership" in one]
    assert (partitions["target"], partitions["missed"], partitions["largest"], partitions["where"]) == (
        "keys.parquet", 40, 50, "1",
    )  # fmt: skip
    assert (members["membership"], members["where"], members["ratio"]) == ("2", "ann", 2.0)


@pytest.mark.parametrize(("text", "why"), [("key\na\n", "its columns are key"), (None, "there is no such file")])
def test_a_file_without_keys_is_told_from_one_that_is_not_there(
    text: str | None, why: str, spark: SparkSession, fleet: Callable[..., Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    keys = tmp_path / "keys.csv"
    if text is not None:
        keys.write_text(text)
    assert run(("fleet", "skew", str(fleet(down=NOBODY)), "--stream", "ORDERS", "--keys", str(keys))) == 1
    said = capsys.readouterr().err
    assert f"Keys cannot be read from {keys}: {why}" in said.replace("\n", " ")
