"""What a report makes of the runs that are kept: the newest that is known of each target, and only of those asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.fleet.accounts.targets import Fleet, FleetTarget
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.json import findings_document
from reconciler.fleet.report.report import report_of
from reconciler.fleet.runs.fleet_run import FleetRun
from reconciler.fleet.runs.looks import compile_report
from reconciler.fleet.tables.store import Store, store
from reconciler.report.codec.shape import data_of
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from reconciler.server.connect.settings import Settings
from tests.fleet import drift_rows, snapshot_rows
from tests.fleet.conftest import Silent
from tests.fleet.drift_rows import Row, field, look, night
from tests.fleet.snapshot_rows import account, at, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A, B, C = (f"{night(number):%Y-%m-%d}" for number in range(3))


@dataclass(frozen=True, slots=True)
class Shops:
    """Tables of three nights. A looked at eu, us and gone, where everything strayed; B took snapshots of eu and us; C was
    a look at eu alone, where all is well again. A also looked at bare, which by now is to hold nothing."""

    spark: SparkSession
    kept: Store

    def keep(self) -> None:
        for number, names in enumerate((("eu", "us", "gone"), ("eu", "us"), ("eu",))):
            rows = [row for name in names for row in at(night(number), name, *_holds(name, 1_000 + 100 * number))]
            self.kept.write("snapshots", snapshot_rows.frame(self.spark, rows), (A, B, C)[number])
        strayed = [row for name in ("eu", "us", "gone", "bare") for row in look(A, night(0), AGE, target=name)]
        self.kept.write("drift", drift_rows.frame(self.spark, strayed), A)
        self.kept.write("drift", drift_rows.frame(self.spark, look(C, night(2), target="eu")), C)

    def report(self, *names: str, run: str | None = None) -> FleetFindings:
        """About these targets, or all, of the fleet there is by now."""
        others = tuple(target(name) for name in FLEET if names and name not in names)
        chosen = tuple(target(name) for name in names or FLEET)
        fleet = Fleet(name="shops", file=Path("fleet.yaml"), targets=chosen, others=others)
        today = date(2026, 11, 21)
        return compile_report(
            FleetRun(
                spark=self.spark, fleet=fleet, store=self.kept, run=run or today.isoformat(), is_named=run is not None,
                day=today, say=Silent(),
            )
        )  # fmt: skip


AGE, FLEET = field("stream/S", "max_age"), ("eu", "us", "new", "bare")


def target(name: str) -> FleetTarget:
    files = () if name == "bare" else (Path("shop.yaml"),)
    return FleetTarget(name=name, settings=Settings(url="nats://127.0.0.1:1"), topology=files)


def _holds(name: str, size: int) -> list[Row]:
    return [account(0, 0), stream(f"S_{name}", 10, size, max_bytes=2_000)]


@pytest.fixture(scope="module")
def shops(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shops:
    made = Shops(spark, store(spark, str(tmp_path_factory.mktemp("past"))))
    made.keep()
    return made


@pytest.fixture(scope="module")
def whole(shops: Shops) -> FleetFindings:
    return shops.report()


def test_of_each_target_the_run_that_compared_it_last_counts(whole: FleetFindings) -> None:
    """The newest run may have looked at some, taken a snapshot only, or have been killed in the middle; and what is to hold
    nothing any more strays from nothing."""
    assert whole.run == C
    assert {(one.target, one.address) for one in whole.drifted_objects} == {("us", "stream/S")}
    assert {one.name for one in whole.targets or ()} == {"eu", "us"}


def test_what_the_newest_run_was_not_about_is_told_with_the_run_that_was(whole: FleetFindings) -> None:
    assert [*whole.earlier] == [
        {"what": "read", "targets": ["bare", "new"]},
        {"what": "read", "run": B, "at": night(1), "targets": ["us"]},
        {"what": "compared", "targets": ["new"]},
        {"what": "compared", "run": A, "at": night(0), "targets": ["us"]},
    ]
    assert f"us was last compared in run {A} ({A} 00:00 UTC)." in said(whole)


def test_what_is_no_longer_in_the_fleet_is_about_to_be_full_no_more(shops: Shops, whole: FleetFindings) -> None:
    assert {(one["target"], one["bytes"]) for one in whole.capacity or ()} == {("eu", 1_200), ("us", 1_100)}
    assert {(row.target, row.run) for row in shops.kept.read("capacity").collect()} == {("eu", C), ("us", C)}


def test_what_is_shown_is_of_the_targets_asked_for_and_what_is_kept_of_all(shops: Shops) -> None:
    found = shops.report("eu")
    shown = [one.name for one in found.targets or ()] + [one.target for one in found.drift or ()]
    shown += [one["target"] for rows in (found.history, found.outliers, found.capacity) for one in rows or ()]
    assert {*shown} == {"eu"}
    assert (found.drifted_objects, found.earlier) == ((), ())
    assert [one["objects"] for one in found.trend or ()] == [1, 0]
    assert found.by_target == {A: {"eu": 1}, C: {"eu": 0}}
    assert [one["episodes"] for one in found.repairs or () if one["dimension"] == "all"] == [1]
    for table in ("drift_history", "capacity"):
        assert {row.target for row in shops.kept.read(table).collect()} >= {"eu", "us"}


def test_of_a_run_that_compared_nothing_nobody_knows_what_strayed(shops: Shops) -> None:
    """Named, it is told as it was."""
    found = shops.report(run=B)
    assert (found.run, found.drift) == (B, None)
    assert "drift" not in data_of(findings_document(found))
    assert "nothing was compared" in said(found)
    assert "as it was applied" not in said(found)
    assert {(one["target"], one["bytes"]) for one in found.capacity or ()} == {("eu", 1_100), ("us", 1_100)}


def said(found: FleetFindings) -> str:
    return " ".join(FORMATS["text"](replace(report_of(found), paper=Paper(width=120))).split())
