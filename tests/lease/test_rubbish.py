"""Rubbish in one entry of each sort, on a real server: every command still tells what it can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.support.accounts import Account
from tests.support.contracts import followed

FILE = "streams: {A: {subjects: [a], consumers: {c: {ack_policy: explicit}}}, B: {subjects: [b], max_age: MAX}}\n"
ODD = {"format": 1, "topology": "t"}


def said(**more: object) -> bytes:
    return json.dumps({**ODD, **more}).encode()


RUBBISH = {
    "owned.stream.A": said(fields={"metadata": 5}, knows="abc"),
    "owned.stream.FOREIGN": b'{"format": 1, "topology": ""}',
    "intent.consumer.A.c": said(fields=[{}], start={"opt_start_seq": "x"}, notes={"placeholder": 5}),
    "intent.foo.bar": said(),
    "lease.other": b"[[",
    "journal.1.begun": said(counts=[1], pid={}, changes=10**9),
    "journal.1.ended": b'{"chunks": -3, "counts": {"done": "x"}}',
    "journal.99999.begun": b"\xff",
}


def test_one_bad_entry_of_each_sort_leaves_the_rest_as_it_is(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def spoilt(js: JetStream) -> None:
        for key, value in RUBBISH.items():
            assert isinstance(await js.put_entry("reconciler", key, value, expected_revision=None), Stored)
        spoilt_run = {
            f"journal.{newest}.steps.0": b'{"unfinished": [[1]], "done": 5}',
            f"journal.{newest}.changes.0": b"NaN",
        }
        for key, value in spoilt_run.items():
            await js.put_entry("reconciler", key, value, expected_revision=None)

    def runs() -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(someone("history", "--format", "json").out)["runs"]
        return found

    someone = somebody(tmp_path, account, monkeypatch)
    for age in ("1d", "2d"):
        someone.applied(FILE.replace("MAX", age))
    newest = str(runs()[0]["run"])
    someone.ask(spoilt)
    file = someone.write(FILE.replace("MAX", "3d"))
    plan = json.loads(someone("plan", file, "--format", "json").out)
    actions = {one["address"]: one["action"] for one in plan["changes"]}
    assert actions == {"stream/A": "adopt", "stream/B": "update", "consumer/A/c": "unknown"}
    assert sorted(one["code"] for one in plan["diagnostics"]) == ["LE101", "LE101", "LE104", "LE104"]
    assert someone("drift", file).code == 1
    for arguments in (("history",), ("history", newest), ("history", "diff"), ("history", "diff", newest)):
        shown, ran = someone(*arguments), someone(*arguments, "--format", "json")
        assert (ran.code, "internal error" in shown.err + ran.err) == (shown.code, False), (shown, ran)
        if ran.code == 0:
            followed("history", ran.out)
    assert "topology other is being applied by somebody" in someone("unlock", "--yes").out
