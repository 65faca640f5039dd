"""The data source reads many accounts side by side; what cannot be read is a row that says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.fleet.accounts.rows import snapshot_of
from reconciler.fleet.accounts.source import read_live
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.slow import slowly
from tests.support.suspending import suspended

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

FleetFile = Callable[..., Path]
NOBODY = {"server": "nats://127.0.0.1:1"}


async def filled(js: JetStream) -> None:
    await make_stream(js, "ORDERS", subjects=["orders.>"])
    for subject in ("orders.a", "orders.a", "orders.b"):
        await js.pipeline.request(subject, b"x", within=30)
    await make_consumer(js, "ORDERS", "billing")  # what comes after it, it counts a moment later


def read(spark: SparkSession, file: Path, table: str = "configs", **options: str) -> list[Row]:
    return read_live(spark, file, table, **options).collect()


def of(rows: list[Row], target: str) -> list[Row]:
    return [row for row in rows if row["target"] == target]


def error_of(rows: list[Row], target: str) -> str:
    (row,) = of(rows, target)
    assert row["row"] == "error"
    return str(row["error"])


@pytest.fixture
def orders(new_account: Callable[..., Account]) -> Account:
    account = new_account()
    talk(account, filled)
    return account


def test_rows_hold_what_one_look_by_itself_sees(spark: SparkSession, fleet: FleetFile, orders: Account) -> None:
    rows = read(spark, fleet(eu=orders))
    seen, alone = snapshot_of(row.asDict() for row in rows), talk(orders, observe)
    assert not isinstance(seen, str)
    assert (seen.streams["ORDERS"]["config"], seen.consumers["ORDERS"].keys(), seen.may, seen.target.account) == (
        alone.streams["ORDERS"]["config"], alone.consumers["ORDERS"].keys(), alone.may, alone.target.account,
    )  # fmt: skip


def test_figures_are_columns(spark: SparkSession, fleet: FleetFile, orders: Account) -> None:
    rows = {row["address"]: row for row in read(spark, fleet(eu=orders))}
    assert rows["stream/ORDERS"]["messages"] == 3
    assert rows["consumer/ORDERS/billing"]["pending"] == 3


def test_targets_are_read_by_several_tasks(
    spark: SparkSession, fleet: FleetFile, new_account: Callable[..., Account]
) -> None:
    rows = read(spark, fleet(**{f"t{number}": new_account() for number in range(4)}))
    assert len({row["task"] for row in rows}) == 2


def test_a_large_account_is_read_by_several_tasks(
    spark: SparkSession, fleet: FleetFile, new_account: Callable[..., Account]
) -> None:
    async def many(js: JetStream) -> None:
        for number in range(12):
            await make_stream(js, f"S{number}")
            await make_consumer(js, f"S{number}", "c")

    account = new_account()
    talk(account, many)
    rows = read(spark, fleet(big=account), sizes=json.dumps({"big": 50_000}))
    seen = snapshot_of(row.asDict() for row in rows)
    assert not isinstance(seen, str)
    assert len({row["task"] for row in rows}) == 2
    assert (len([row for row in rows if row["row"] != "target"]), len(seen.streams), len(seen.consumers)) == (
        24,
        12,
        12,
    )


def test_whoever_cannot_be_read_does_not_keep_the_others_from_it(
    spark: SparkSession, fleet: FleetFile, orders: Account, tmp_path: Path
) -> None:
    (tmp_path / "wrong").write_text("wrong", encoding="utf-8")
    wrong = {"server": orders.url, "user": orders.user, "password": f"file://{tmp_path / 'wrong'}"}
    rows = read(spark, fleet(eu=orders, down=NOBODY, wrong=wrong, lost={"context": "nowhere"}))
    assert "stream/ORDERS" in {row["address"] for row in of(rows, "eu")}
    assert error_of(rows, "down").startswith("Cannot reach nats://127.0.0.1:1: connection refused after ")
    assert error_of(rows, "wrong").startswith(f"Cannot log in to {orders.url}: the server refused user `{orders.user}`")
    assert error_of(rows, "lost").startswith("Context `nowhere` does not exist.")


def test_a_target_that_takes_too_long_is_given_up(
    spark: SparkSession, fleet: FleetFile, orders: Account, tmp_path: Path
) -> None:
    (tmp_path / "far").write_text(orders.password, encoding="utf-8")
    with slowly(0.4, orders.server.port) as port:
        login = {"user": orders.user, "password": f"file://{tmp_path / 'far'}"}
        far = {"server": f"nats://127.0.0.1:{port}", **login, "deadline": "1s"}
        rows = read(spark, fleet(far=far, eu=orders))
    assert error_of(rows, "far") == "It could not be read within 1 s."
    assert len(of(rows, "eu")) == 3


def test_a_server_that_stands_still_is_not_waited_for(spark: SparkSession, fleet: FleetFile) -> None:
    with running() as server, suspended(server.pid):
        rows = read(spark, fleet(stuck={"server": server.url, "timeout": "500ms"}))
    assert "no greeting came within 0.5 s" in error_of(rows, "stuck")


def test_subjects_are_counted(spark: SparkSession, fleet: FleetFile, orders: Account) -> None:
    rows = read(spark, fleet(eu=orders, down=NOBODY), "subjects", stream="ORDERS")
    assert {(row["subject"], row["messages"]) for row in of(rows, "eu")} == {("orders.a", 2), ("orders.b", 1)}
    (down,) = of(rows, "down")
    assert (down["stream"], down["subject"]) == ("ORDERS", None) and down["error"].startswith("Cannot reach")


def test_only_the_targets_that_are_wanted(spark: SparkSession, fleet: FleetFile, orders: Account) -> None:
    rows = read(spark, fleet(eu=orders, down=NOBODY), targets='["down"]')
    assert {row["target"] for row in rows} == {"down"}
