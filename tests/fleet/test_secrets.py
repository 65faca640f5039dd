"""Credentials are looked up where a connection is made, and stand nowhere that Spark or a command writes."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from nats.aio.client import Client
from pyspark.sql import functions as F

from reconciler.cli.fleet.options import FleetFormat
from reconciler.cli.run import run
from reconciler.fleet.accounts.source import read_live
from reconciler.server.wire.api import JetStream
from tests.fleet.keeping import kept_up
from tests.support.accounts import User, connect
from tests.support.jetstream import make_stream, talk
from tests.support.jwt import Key, Operator
from tests.support.servers import running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET = "correct-horse-battery-staple"
VARIABLE = "PATH"
"""Its value is a password, too: workers inherit what was set when Spark started, which was before this test."""
TOPOLOGY = "reconciler: 1\ntopology: shop\nstreams: {S: {subjects: [s], max_age: 1h}}\n"
REACHED = {"password", "variable", "seed", "creds", "token", "context", "url"}


@dataclass(frozen=True, slots=True)
class Planted:
    """Every way to log in: where it leads, and what nobody may read anywhere."""

    targets: Mapping[str, Mapping[str, Any]]
    secrets: tuple[str, ...]

    def leaks(self, written: bytes) -> list[str]:
        return [secret for secret in self.secrets if secret.encode() in written]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    """Logins that let us in, those that do not, and those that are damaged, which are told in words of their own."""
    folder, key, operator = tmp_path_factory.mktemp("planted"), Key.user(), Operator()
    users = f"{{user: planted, password: {SECRET}}}, {{user: variable, password: {json.dumps(os.environ[VARIABLE])}}}"

    def file(name: str, text: str) -> str:
        (folder / name).write_text(text, encoding="utf-8")
        return str(folder / name)

    def context(name: str, **said: str) -> Mapping[str, str]:
        return {"context": file(f"{name}.json", json.dumps(said))}

    with ExitStack() as stack:
        own, token, trusting = (
            stack.enter_context(running(config=config)) for config in (
                f"authorization {{users: [{users}, {{nkey: {key.public}}}]}}",
                f"authorization {{token: {SECRET}}}",
                operator.config,
            )
        )  # fmt: skip
        talk(Planter(own, "planted"), filled)
        at, with_login = {"server": own.url}, own.url.replace("//", f"//planted:{SECRET}@")
        creds = operator.creds()
        secrets = [line for line in creds.splitlines() if line.startswith(("SU", "ey"))]
        user = {**at, "user": "planted"}
        seed, wrong = file("seed.nk", key.seed), f"file://{file('wrong', f'{SECRET}!')}"
        yield Planted({
            "password": {**user, "password": f"file://{file('right', SECRET)}"},
            "variable": {**at, "user": "variable", "password": f"env://{VARIABLE}"},
            "seed": {**at, "nkey": seed},
            "creds": {"server": trusting.url, "creds": file("us.creds", creds)},
            "token": {"server": token.url, "token": f"file://{folder / 'right'}"},
            "context": context("context", url=own.url, user="planted", password=SECRET),
            "url": context("url", url=with_login),
            "wrong password": {**user, "password": wrong},
            "wrong variable": {**user, "password": f"env://{VARIABLE}"},
            "wrong seed": {"server": token.url, "nkey": seed},
            "wrong creds": {**at, "creds": file("others.creds", creds)},
            "wrong token": {"server": token.url, "token": wrong},
            "wrong url": context("wrong-url", url=with_login.replace("@", "!@")),
            "no url": context("no-url", url=f"nats://planted:{SECRET}/@127.0.0.1:x"),
            "no context": {"context": file("no.json", f'{{"password": "{SECRET}"')},
            "no seed": {**at, "nkey": file("no.nk", SECRET)},
            "no creds": {**at, "creds": file("no.creds", creds.replace("SU", f"SU{SECRET}"))},
            "down": context("down", url=f"nats://planted:{SECRET}@127.0.0.1:1"),
        }, (SECRET, key.seed, os.environ[VARIABLE], *secrets))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planter(User):
    """Whose password is not their name."""

    async def connect(self) -> Client:
        return await connect(self.server.url, self.name, SECRET)


async def filled(js: JetStream) -> None:
    await make_stream(js, "S", subjects=["s"])
    await js.pipeline.request("s", b"", within=30)


@pytest.fixture(scope="module")
def legible(spark: SparkSession) -> Iterator[SparkSession]:
    """What it writes can be searched."""
    codec = "spark.sql.parquet.compression.codec"
    spark.conf.set(codec, "uncompressed")
    yield spark
    spark.conf.unset(codec)


@pytest.fixture(scope="module")
def written(
    legible: SparkSession, planted: Planted, event_log: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, bytes]:
    """What looks at all of them leave: plans, tables, what followed a stream, and all that a command says and keeps."""
    folder = tmp_path_factory.mktemp("written")
    fleet, said = folder / "fleet.yaml", io.TextIOWrapper(io.BytesIO())
    whole = {"reconciler": 1, "fleet": "test", "defaults": {"topology": "shop.yaml"}, "targets": planted.targets}
    fleet.write_text(json.dumps(whole), encoding="utf-8")
    (folder / "shop.yaml").write_text(TOPOLOGY, encoding="utf-8")
    looks = {table: read_live(legible, fleet, table, stream="S") for table in ("configs", "subjects", "messages")}
    plans = "".join(look._jdf.queryExecution().toString() + repr(look.schema) for look in looks.values())
    for table in ("subjects", "messages"):  # the command keeps the others
        looks[table].write.parquet(str(folder / "tables" / table))
    kept_up(legible, fleet, str(folder / "followed"), stream="S")
    reports = [part for form in FleetFormat for part in ("--report", f"{form}={folder / f'report.{form}'}")]
    with redirect_stdout(said), redirect_stderr(said):
        assert run(("fleet", "drift", str(fleet), "--store", str(folder / "store"), *reports)) == 1
    said.flush()
    told = [said.buffer.getvalue(), *(file.read_bytes() for file in folder.glob("report.*"))]
    left = {name: _all_in(folder / name) for name in ("tables", "followed", "store")}
    report = {"report": (folder / "report.json").read_bytes(), "told": b"".join(told)}
    return {**left, **report, "plans": plans.encode(), "events": _all_in(event_log)}


def _all_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("where", "proof"),
    [
        ("plans", "jetstream"),
        ("tables", "Cannot log in to"),
        ("followed", "Cannot log in to"),
        ("store", "Cannot log in to"),
        ("told", "Cannot log in to"),
        ("events", "SparkListenerJobStart"),
    ],
)
def test_no_secret_stands_in_what_was_written(
    where: str, proof: str, written: Mapping[str, bytes], planted: Planted
) -> None:
    assert proof.encode() in written[where]
    assert planted.leaks(written[where]) == []


def test_what_leaked_would_be_found(legible: SparkSession, event_log: Path, tmp_path: Path) -> None:
    leaked = Planted({}, ("wherever-it-is-written",))
    (word,) = leaked.secrets
    rows = legible.createDataFrame([("eu", f"nats://me:{word}@host")], "target string, error string")
    found = rows.where(F.col("error").contains(word))
    found.write.parquet(str(tmp_path / "table"))
    for written in (_all_in(tmp_path), _all_in(event_log), found._jdf.queryExecution().toString().encode()):
        assert leaked.leaks(written) == [word]


def test_every_way_in_was_used(written: Mapping[str, bytes]) -> None:
    """What nobody looked up could not be written anywhere."""
    said = json.loads(written["report"])
    assert {one["target"] for one in said["targets"]} - {*said["unread"]} == REACHED
