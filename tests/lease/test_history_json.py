"""What `history --format json` prints of every sort of run is as its published schema says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.memory.journal import begun_key
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.contracts import followed
from tests.support.jetstream import done, make_stream

HOUR = 3_600_000_000_000


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def runs(someone: Someone) -> list[dict[str, Any]]:
    """Newest first."""
    found: list[dict[str, Any]] = followed("history", someone("history", "--format", "json").out, "runs")["runs"]
    return found


def in_full(someone: Someone, number: int) -> dict[str, Any]:
    found: dict[str, Any] = followed("history", someone("history", str(number), "--format", "json").out, "run")
    return found


def newest(someone: Someone) -> dict[str, Any]:
    return in_full(someone, runs(someone)[0]["run"])


def difference(someone: Someone) -> dict[str, Any]:
    found: dict[str, Any] = followed("history", someone("history", "diff", "--format", "json").out, "diff")
    return found


def test_before_the_first_apply_the_list_is_empty(someone: Someone) -> None:
    assert runs(someone) == []


def test_of_an_applied_run(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a], max_age: 1h}}\n")
    someone.applied("streams: {A: {subjects: [a], max_age: 2h}, B: {subjects: [b]}}\n")
    run = newest(someone)
    assert (run["outcome"], run["counts"]) == ("applied", {"update": 1, "create": 1})
    assert run["became"] == {"done": {"stream.update": ["A"], "stream.create": ["B"]}}
    (listed, _) = runs(someone)
    assert listed == {name: value for name, value in run.items() if name not in ("format", "became", "changed")}
    changed, created = difference(someone)["resources"]
    assert changed["fields"] == [{"path": "max_age", "from": HOUR, "to": 2 * HOUR, "unit": "duration"}]
    assert created == {"address": "stream/B", "became": "created", "fields": []}


def test_of_a_failed_run(someone: Someone) -> None:
    assert someone.plan("streams: {B: {subjects: [b]}, C: {subjects: [c]}}\n", "--out", "plan.json").code == 0
    someone.ask(lambda js: make_stream(js, "B", subjects=["elsewhere"]))
    assert someone("apply", "plan.json", "--yes").code == 1
    run = newest(someone)
    assert (run["outcome"], run["outcomes"]) == ("incomplete", {"done": 1, "failed": 1})
    (failed,) = run["became"]["failed"]
    assert (failed["call"], failed["on"], failed["address"]) == ("stream.create", "B", "stream/B")
    assert failed["code"].startswith("AP")
    assert run["became"]["unfinished"] == ["stream/B"]


def test_of_a_run_that_left_changes_out(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    refused = "streams: {A: {subjects: [a], storage: memory}, B: {subjects: [b]}}\n"
    assert someone.apply(refused, "--partial").code == 4
    run = newest(someone)
    assert (run["outcome"], run["left_out"]) == ("applied", 1)


def test_of_an_interrupted_run(someone: Someone) -> None:
    file = someone.write(
        "streams:\n" + "".join(f"  S{number:03}: {{subjects: [s.{number}]}}\n" for number in range(300))
    )
    assert someone.interrupted("$JS.API.STREAM.CREATE.S000", "apply", file, "--yes").code == 130
    run = newest(someone)
    assert (run["outcome"], bool(run["stopped"])) == ("stopped", True)
    assert "not_started" in run["became"]


def test_of_a_run_that_was_cut_off_and_of_one_whose_end_was_deleted(someone: Someone) -> None:
    for age in ("1h", "2h", "3h"):
        someone.applied(f"streams: {{A: {{subjects: [a], max_age: {age}}}}}\n")
    third, second, _ = (run["run"] for run in runs(someone))

    async def ends_lost(js: JetStream) -> None:
        for number in (second, third):
            key = f"$KV.reconciler.journal.{number}.ended"
            done(await js.request("STREAM.PURGE.KV_reconciler", {"filter": key}))
        await js.pipeline.nc.publish(f"$KV.reconciler.journal.{third}.ended", b"", headers={"KV-Operation": "DEL"})
        await js.pipeline.nc.flush()

    someone.ask(ends_lost)
    assert [run["outcome"] for run in runs(someone)] == ["unknown", "cut off", "applied"]
    assert "ended" not in in_full(someone, second)
    assert difference(someone)["unsure"] == [third]


def test_of_an_entry_of_a_later_format(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    entry = b'{"format": 9, "topology": "t", "user": "ann", "pid": "many", "steps": -1, "mood": {"is": "fine"}}'
    someone.ask(lambda js: js.put_entry("reconciler", begun_key(9_000_000), entry, expected_revision=0))
    run = in_full(someone, 9_000_000)
    assert (run.pop("began") > "2", run) == (
        True,
        {"format": 1, "run": 9_000_000, "outcome": "cut off", "topology": "t", "user": "ann", "later_format": 9},
    )
    assert runs(someone)[0]["later_format"] == 9
