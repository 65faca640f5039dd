"""One Spark session for all tests of this folder: starting its JVM costs more than most of them; and fleets to read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.accounts import Account

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.driver.memory": "768m",
    # Half the processor time; without a second compiler Java keeps room for less than half of what Spark compiles, and
    # compiles the rest again and again.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",  # plans of a few rows only get slower by it
    "spark.sql.codegen.wholeStage": "false",  # as by code compiled for each of them, or for each of its expressions
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class Silent:
    """Tells nobody what takes its time."""

    def __call__(self, text: str, /) -> None: ...

    def clear(self) -> None: ...


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First of all: a worker's first tests are never given to another one, which would start a JVM of its own."""
    items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def event_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session writes down all that it does."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="session")
def spark(event_log: Path) -> Iterator[SparkSession]:
    """Two cores, two partitions, nothing but what a test puts there."""
    from reconciler.fleet.session import session

    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": event_log.as_uri()}
    started = session("local[2]", settings={**SMALL, **logged, "spark.eventLog.compress": "false"})
    yield started
    started.stop()


@pytest.fixture
def fleet(tmp_path: Path) -> Callable[..., Path]:
    """Writes a fleet.yaml: `fleet(eu=account, us={"server": "nats://127.0.0.1:1"})`, and what holds for all of them as
    `defaults`. Passwords lie beside it."""

    def said(name: str, target: Account | dict[str, Any]) -> dict[str, Any]:
        if not isinstance(target, Account):
            return target
        secret = tmp_path / f"{name}.password"
        secret.write_text(target.password, encoding="utf-8")
        return {"server": target.url, "user": target.user, "password": f"file://{secret}"}

    def write(*, defaults: dict[str, Any] | None = None, **targets: Account | dict[str, Any]) -> Path:
        file = tmp_path / "fleet.yaml"
        whole = {"reconciler": 1, "fleet": "test", "targets": {name: said(name, one) for name, one in targets.items()}}
        file.write_text(json.dumps(whole | ({"defaults": defaults} if defaults else {})), encoding="utf-8")
        return file

    return write
