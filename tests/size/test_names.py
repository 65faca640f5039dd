"""Names as long as servers take them: 255 bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.e2e.someone import Someone, login
from tests.support.accounts import Account

STREAM, CONSUMER = "S" * 255, "c" * 255


@pytest.fixture
def someone(tmp_path: Path, account: Account) -> Someone:
    return Someone(Shell(tmp_path), account, login(account))


def test_names_of_255_bytes_come_through_every_command(someone: Someone) -> None:
    text = f"streams:\n  {STREAM}:\n    subjects: [s]\n    consumers: {{{CONSUMER}: {{ack_wait: 30s}}}}\n"
    someone.applied(text)
    file = someone.write(text.replace("30s", "31s"))
    assert someone("plan", file, "--out", "plan.json").code == 0
    assert someone("apply", "plan.json", "--yes").code == 0
    assert someone.has_nothing_to_do(file)
    assert someone("drift", file, "--format", "json").code == 0
    assert someone("history", "--format", "json").code == 0
    assert someone("export", "--into", "live", "--layout", "stream").code == 0
    assert someone("plan", "live/t", "--exit-code").code == 0
    consent = (
        f"allow: [{{code: ST310, on: 'stream/*', reason: old}}]\nremoved: [{{address: stream/{STREAM}, reason: old}}]\n"
    )

    async def filled(js: JetStream) -> None:
        await js.pipeline.nc.request("s", os.urandom(100))

    someone.ask(filled)
    someone.applied(text + "  B: {subjects: [b]}\n")
    ran = someone.apply(f"streams: {{B: {{subjects: [b]}}}}\n{consent}", "--backup", "kept")
    assert ran.code == 0, ran
    assert (someone.shell.folder / "kept" / STREAM / "backup.json").exists()
