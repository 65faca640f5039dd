"""Groups in a historic spelling are exported and adopted as they are: their records stay byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.server.read.observe import observe
from tests.cli.running import Shell
from tests.groups.test_migrate import LEGACY, stopped
from tests.support.accounts import Account
from tests.support.jetstream import talk

SAID = ("the first versions", "the design document")
"""The others cannot be said in a file, or not as they are."""


@pytest.mark.parametrize("spelling", SAID)
def test_a_record_keeps_its_spelling(account: Account, tmp_path: Path, spelling: str) -> None:
    talk(account, lambda js: stopped(js, LEGACY[spelling]))
    shell = Shell(tmp_path)
    login = ["--server", account.url, "--user", account.user, "--password", account.password]
    before = talk(account, observe).entries["elastic-consumer-groups"]
    for layout in ("owner", "stream"):
        assert shell("export", "--into", layout, "--layout", layout, *login).code == 0
    assert shell("plan", "stream/exported", "--exit-code", *login).code == 0
    assert shell("adopt", "owner/exported.yaml", "--yes", *login).code == 0
    assert talk(account, observe).entries["elastic-consumer-groups"] == before
    assert shell("plan", "stream/exported", "--exit-code", *login).code == 0
