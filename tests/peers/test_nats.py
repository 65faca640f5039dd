"""What somebody made with the `nats` CLI is exported, and what that CLI says of it imported, to empty plans."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.running import Shell
from tests.peers.programs import NATS, program
from tests.support.accounts import Account
from tests.support.versions import on_every_version

PINNED = "--pinned-groups jobs --pinned-ttl 90s"
"""The CLI does this from 2.12 on."""
MADE = (
    "stream add ORDERS --subjects orders.> --max-age 7d --dupe-window 1m --metadata team=billing --defaults",
    "stream add WORK --subjects work.* --retention work --discard new --storage memory --max-msgs 1000 --defaults",
    "stream add COPY --source ORDERS --defaults",
    "consumer add ORDERS pull --pull --filter orders.new --max-deliver 5 --wait 45s --sample 30 --defaults",
    f"consumer add WORK pinned --pull {PINNED} --defaults",
    "consumer add ORDERS push --target out.orders --heartbeat 5s --flow-control --deliver new --ephemeral --defaults",
    "kv add CONFIG --history 5 --ttl 1d",
    "object add FILES",
)


class Nats:
    def __init__(self, account: Account, folder: Path) -> None:
        self._login = ["-s", account.url, "--user", account.user, "--password", account.password]
        self._folder = folder

    def __call__(self, *words: str) -> str:
        command = [str(program(NATS)), *words, *self._login]
        env = {"HOME": str(self._folder), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            command, cwd=self._folder, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


def login(account: Account) -> list[str]:
    return ["--server", account.url, "--user", account.user, "--password", account.password]


@pytest.fixture
def nats(account: Account, tmp_path: Path) -> Nats:
    nats = Nats(account, tmp_path)
    for line in MADE:
        nats(*(line if account.minor != "2.11" else line.replace(PINNED, "")).split())
    return nats


@on_every_version
def test_what_the_cli_made_is_exported_and_imported_to_empty_plans(nats: Nats, account: Account, shell: Shell) -> None:
    assert shell("export", "-o", "live.yaml", *login(account)).code == 0
    infos = shell.folder / "infos"
    infos.mkdir()
    for name in ("ORDERS", "WORK", "COPY", "KV_CONFIG", "OBJ_FILES"):
        (infos / f"{name}.json").write_text(nats("stream", "info", name, "--json"))
    for stream, name in (("ORDERS", "pull"), ("WORK", "pinned")):
        (infos / f"{name}.json").write_text(nats("consumer", "info", stream, name, "--json"))
    ran = shell("import", "infos", "-o", "imported.yaml")
    assert (ran.code, "IM1" in ran.err) == (0, False), ran
    assert shell("validate", "imported.yaml").code == 0
    for file in ("live.yaml", "imported.yaml"):
        planned = shell("plan", file, "--exit-code", *login(account))
        assert (planned.code, "7 adopted" in planned.out) == (0, True), planned
    assert "Adopted 7 resources" in shell("adopt", "imported.yaml", "--yes", *login(account)).out


def test_a_backup_of_the_cli_is_imported_without_its_consumers(nats: Nats, account: Account, shell: Shell) -> None:
    nats("stream", "backup", "ORDERS", "saved/ORDERS", "--no-progress")
    ran = shell("import", "saved", "-o", "imported.yaml")
    assert (ran.code, "are in the archive" in ran.err) == (0, True), ran
    planned = shell("plan", "imported.yaml", "--exit-code", *login(account))
    assert (planned.code, "1 adopted" in planned.out) == (0, True), planned
