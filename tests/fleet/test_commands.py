"""The fleet commands from end to end: real accounts, drift made by hand, targets that cannot be read, runs repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import reconciler
from reconciler.cli.run import run
from reconciler.fleet.accounts.fleet_file import load_fleet
from reconciler.fleet.report.json import fleet_schema
from tests.support.accounts import Account
from tests.support.jetstream import done, talk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOP = """reconciler: 1
topology: shop
streams:
  ORDERS: {subjects: ["orders.*.*"], max_age: 7d, consumers: {dispatch: {}, audit: {}}}
  TOLD: {subjects: ["$JS.EVENT.ADVISORY.>"]}
"""
DOWN = {"server": "nats://127.0.0.1:1", "timeout": "1s"}


@dataclass(frozen=True, slots=True)
class Shops:
    """A fleet of fresh accounts with the shop applied, and how commands are run on it."""

    file: Path
    accounts: dict[str, Account]
    capsys: pytest.CaptureFixture[str]

    def __call__(self, command: str, *options: str, exit_: int = 0) -> dict[str, Any]:
        """What `--format json` says, which is as published."""
        ended = run(("fleet", command, str(self.file), *options, "--format", "json"))
        said, errors = self.capsys.readouterr()
        assert ended == exit_, errors
        data: dict[str, Any] = json.loads(said)
        problems = Draft202012Validator(json.loads(fleet_schema(command))).iter_errors(data)
        assert [one.message for one in problems] == []
        return data

    def ask(self, name: str, endpoint: str, body: dict[str, Any] | None = None) -> Any:
        return done(talk(self.accounts[name], lambda js: js.request(endpoint, body)))


@pytest.fixture
def shops(
    spark: SparkSession, new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Shops:  # fmt: skip
    (tmp_path / "shop.yaml").write_text(SHOP, encoding="utf-8")
    accounts = {name: new_account() for name in ("eu", "us")}
    wrong = {"server": accounts["eu"].url, "user": "nobody", "password": "env://HOME"}
    file = fleet(defaults={"topology": "shop.yaml", "labels": {"env": "prod"}}, **accounts, down=DOWN, stranger=wrong)
    loaded = reconciler.load([tmp_path / "shop.yaml"]).topology
    assert loaded is not None
    for target in load_fleet(file).targets:
        if target.name in accounts:
            reconciler.apply(reconciler.plan(loaded, target.options()), target.options())
    return Shops(file, accounts, capsys)


def test_a_snapshot_says_what_each_target_holds_and_which_could_not_be_read(shops: Shops) -> None:
    said = shops("snapshot", "--run", "one")
    held = {one["target"]: one for one in said["targets"]}
    assert (held["eu"]["streams"], held["eu"]["consumers"]) == (3, 2)
    assert held["eu"]["labels"] == {"env": "prod"}
    assert said["unread"] == ["down", "stranger"]
    assert "127.0.0.1:1" in held["down"]["error"]
    assert "authorization" in held["stranger"]["error"].lower()


def test_drift_is_found_where_it_was_made_and_the_same_run_again_takes_the_place_of_what_it_looks_at(
    shops: Shops,
) -> None:
    """What could not be read is no drift, and not nothing either."""
    clean = shops("drift", "--run", "one", exit_=1)
    assert {(one["target"], one["standing"]) for one in clean["drift"]} == {
        ("down", "unreachable"),
        ("stranger", "unreachable"),
    }
    config = shops.ask("eu", "STREAM.INFO.ORDERS")["config"]
    shops.ask("eu", "STREAM.UPDATE.ORDERS", {**config, "max_age": 3 * 86_400 * 10**9})
    shops.ask("us", "CONSUMER.DELETE.ORDERS.audit")
    found = {("eu", "stream/ORDERS", "changed"), ("us", "consumer/ORDERS/audit", "missing")}
    for again in ((), ("--target", "u*")):
        said = shops("drift", "--run", "two", *again, exit_=3 if again else 1)
        strayed = {(one["target"], one["address"], one["standing"]) for one in said["drift"] if one["drift"]}
        assert strayed == {one for one in found if not again or one[0] == "us"}

    past = shops("history")
    assert [(one["run"], one["opened"], one["open"]) for one in past["trend"]] == [("one", 0, 0), ("two", 2, 2)]
    assert {one["target"] for one in past["history"] if one["state"] == "open"} == {"eu", "us"}
    whole = shops("report", exit_=3)
    assert {one["address"] for one in whole["drift"] if one["drift"]} == {"stream/ORDERS", "consumer/ORDERS/audit"}
    assert len(whole["capacity"]) == 6


def test_a_report_stands_in_every_format_and_no_password_in_any(
    shops: Shops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("html", "markdown", "json", "text")}
    wanted = [part for name, file in files.items() for part in ("--report", f"{name}={file}")]
    assert run(("fleet", "snapshot", str(shops.file), *wanted)) == 0
    texts = [file.read_text(encoding="utf-8") for file in files.values()]
    assert all("ORDERS" not in text and "stranger" in text for text in texts)
    assert not any(str(Path.home()) in text for text in texts)  # the stranger's password
    assert "Starting Spark" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("snapshot", "FILE", "--target", "nobody"), "no target of"),
        (("snapshot", "FILE", "--report", "sarif=FILE.sarif"), "can be text, json, markdown, html"),
        (("skew", "FILE", "--stream", "S", "--partitions", "0"), "write numbers from 1 on"),
        (("skew", "FILE", "--stream", "S", "--filter", "a.* by 2"), "`a.*` has no wildcard 2"),
    ],
)
def test_wrong_usage_is_said_before_spark_starts(
    arguments: tuple[str, ...], said: str, fleet: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = fleet(down=DOWN)
    assert run(("fleet", *(one.replace("FILE", str(file)) for one in arguments))) == 64
    errors = capsys.readouterr().err
    assert said in errors
    assert "Spark" not in errors
