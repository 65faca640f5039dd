"""examples/fleet/nightly.py as a cluster runs it: by spark-submit, which has started the JVM."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark
import pytest

import reconciler
from reconciler.cli.fleet.running import findings_exit_code
from reconciler.cli.shared import exits
from reconciler.fleet import session
from reconciler.fleet.accounts.fleet_file import load_fleet
from reconciler.fleet.report.run_rows import Count, SeenTarget
from tests.fleet.conftest import SMALL
from tests.report import fleets
from tests.support.accounts import Account
from tests.support.jetstream import done, talk

NIGHTLY = Path(__file__).parents[2] / "examples" / "fleet" / "nightly.py"
SHOP = 'reconciler: 1\ntopology: shop\nstreams: {ORDERS: {subjects: ["orders.*"], max_age: 7d}}\n'
ALONE = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
OTHERWISE = ("spark.sql.codegen.factoryMode", "spark.sql.adaptive.enabled")
USUAL = {name: value for name, value in SMALL.items() if name not in OTHERWISE}
"""With compiled expressions and plans that adapt, which the other tests do without."""


def submitted(folder: Path, fleet: Path) -> subprocess.CompletedProcess[str]:
    """A night of this fleet, tables and page in the folder."""
    settings = [f"--conf={name}={value}" for name, value in (ALONE | USUAL).items()]
    launcher = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    home = {"JAVA_HOME": session.make_java_home(session.find_java()), "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [launcher, "--master=local[2]", *settings, NIGHTLY, folder / "lake", fleet],
        cwd=folder, env=os.environ | home, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def strayed(new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path) -> Path:
    """A fleet of one shop, whose limit somebody changed by hand."""
    (tmp_path / "shop.yaml").write_text(SHOP, encoding="utf-8")
    account = new_account()
    file = fleet(defaults={"topology": "shop.yaml"}, eu=account)
    (target,) = load_fleet(file).targets
    topology = reconciler.load([tmp_path / "shop.yaml"]).topology
    assert topology is not None
    reconciler.apply(reconciler.plan(topology, target.options()), target.options())
    config = done(talk(account, lambda js: js.request("STREAM.INFO.ORDERS")))["config"]
    done(talk(account, lambda js: js.request("STREAM.UPDATE.ORDERS", config | {"max_age": 10**12})))
    return file


def test_a_night_by_spark_submit_finds_what_strayed_and_leaves_tables_and_a_page(strayed: Path, tmp_path: Path) -> None:
    """Drift is its answer and no failure."""
    ended = submitted(tmp_path, strayed)
    assert ended.returncode == 0, ended.stderr[-2000:]
    said: dict[str, Any]
    said, _ = json.JSONDecoder().raw_decode(ended.stdout[ended.stdout.index("{") :])
    assert [(one["target"], one["address"], one["standing"]) for one in said["drift"]] == [
        ("eu", "stream/ORDERS", "changed")
    ]
    assert "ORDERS" in (tmp_path / "fleet.html").read_text(encoding="utf-8")
    assert {"snapshots", "drift", "drift_history"} <= {table.name for table in (tmp_path / "lake").iterdir()}


WELL = fleets.well().targets or ()


@pytest.mark.parametrize(
    ("targets", "unknown", "ends"),
    [(WELL, (), exits.DRIFT), ((replace(WELL[0], error="it did not answer"), *WELL[1:]), (), exits.FAILED),
     (WELL, (Count(target=WELL[-1].name, standing="unknown", objects=1),), exits.FAILED)],
    ids=["all read", "one unread", "one read in part"],
)  # fmt: skip
def test_who_could_not_be_read_fails_the_job_whatever_strayed(
    targets: tuple[SeenTarget, ...], unknown: tuple[Count, ...], ends: int
) -> None:
    strayed = tuple(one for one in fleets.drift_entries() if one.standing == "changed")
    found = replace(fleets.well(), targets=targets, drift=strayed, counts=(*fleets.counts(strayed), *unknown))
    assert findings_exit_code(found) == ends
    night = runpy.run_path(str(NIGHTLY))["main"]
    night.__globals__["run"] = lambda words: ends if "drift" in words else exits.DRIFT
    assert night("lake", "fleet.yaml") == (0 if ends == exits.DRIFT else ends)
