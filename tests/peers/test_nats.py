"""What somebody made with the `nats` CLI is exported, and what that CLI says of it imported, to empty plans; and what its copies of
objects lack, as a rename says."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.peers.programs import NATS, program
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
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


CONTENT = b"0123456789"
OBJECT = {
    "name": "file", "bucket": "FILES", "nuid": "n", "size": len(CONTENT), "chunks": 2, "description": "what it is",
    "digest": f"SHA-256={base64.urlsafe_b64encode(hashlib.sha256(CONTENT).digest()).decode()}",
    "headers": {"Type": ["text"]}, "metadata": {"team": "billing"}, "options": {"max_chunk_size": 5},
}  # fmt: skip
LINK = {"name": "link", "bucket": "FILES", "nuid": "l", "options": {"link": {"bucket": "FILES", "name": "file"}}}


def subject_of(store: str, name: str) -> str:
    return f"$O.{store}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"


async def put_both(js: JetStream) -> None:
    """An object with all that clients can give it, in two chunks, and a link to it."""
    for chunk in (CONTENT[:5], CONTENT[5:]):
        await js.pipeline.nc.request("$O.FILES.C.n", chunk, timeout=20)
    for entry in (OBJECT, LINK):
        await js.pipeline.nc.request(subject_of("FILES", str(entry["name"])), json.dumps(entry).encode(), timeout=20)


def stored(account: Account, name: str) -> Mapping[str, Any]:
    """What its store says of a copied object."""

    async def read(js: JetStream) -> Mapping[str, Any]:
        answer = done(await js.request("STREAM.MSG.GET.OBJ_COPY", {"last_by_subj": subject_of("COPY", name)}))
        return dict(json.loads(base64.b64decode(answer["message"]["data"])))

    return talk(account, read)


def test_a_copied_object_lacks_what_the_steps_of_a_rename_name(nats: Nats, account: Account, shell: Shell) -> None:
    nats("object", "add", "COPY")
    talk(account, put_both)
    for name in ("file", "link"):
        nats("object", "get", "FILES", name, "--output", f"got-{name}", "--no-progress")
        nats("object", "put", "COPY", f"got-{name}", "--name", name, "--no-progress")
    assert (
        shell("export", "-o", "live.yaml", "--topology", "t", "--only", "object_store/FILES", *login(account)).code == 0
    )
    assert shell("apply", "live.yaml", "--yes", *login(account)).code == 0
    renamed = "moved: [{from: object_store/FILES, to: object_store/NEW, reason: a better name}]\n"
    shell.write((shell.folder / "live.yaml").read_text().replace("FILES:", "NEW:") + renamed, "renamed.yaml")
    said = " ".join(shell("plan", "renamed.yaml", *login(account)).out.split())
    assert (
        "Its description, headers, metadata and chunk size are not copied, and a link becomes an object of its own."
        in said
    ), said
    for name in ("file", "link"):
        copied = stored(account, name)
        assert copied["size"] == len(CONTENT) and not copied.keys() & {"description", "headers", "metadata"}
        assert "link" not in copied["options"] and copied["options"] != OBJECT["options"]
