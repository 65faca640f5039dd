"""Secrets from every source, planted and looked for in everything that is printed, saved or written down."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys import files_and_account as both
from reconciler.server.connect.connection import connection
from reconciler.server.connect.options import ConnectOptions, resolve
from reconciler.server.connect.settings import Settings
from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran
from tests.e2e.here import Here, somebody
from tests.support.accounts import Account
from tests.support.certificates import Authority
from tests.support.jwt import Key, Operator
from tests.support.repository import Repository
from tests.support.servers import NatsServer

CANARY = "canary-in-a-coal-mine"
TOPOLOGY = "reconciler: 1\ntopology: t\nstreams: {A: {subjects: [a], consumers: {c: {ack_policy: explicit}}}}\n"
CHANGED = TOPOLOGY.replace("[a]", "[a, b]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """One way to log in: what the server asks for, how it is said, and what nobody may read anywhere."""

    config: str
    flags: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    address: str = "nats://127.0.0.1:PORT"
    secrets: tuple[str, ...] = (CANARY,)


PASSWORD = f"authorization {{ user: app, password: {CANARY} }}"
TOKEN = f"authorization {{ token: {CANARY} }}"


def flags(_folder: Path) -> Login:
    return Login(config=PASSWORD, flags=("--user", "app", "--password", CANARY))


def url(_folder: Path) -> Login:
    return Login(config=PASSWORD, address=f"nats://app:{CANARY}@127.0.0.1:PORT")


def token_in_url(_folder: Path) -> Login:
    return Login(config=TOKEN, address=f"nats://{CANARY}@127.0.0.1:PORT")


def token(_folder: Path) -> Login:
    return Login(config=TOKEN, flags=("--token", CANARY))


def token_as_user(_folder: Path) -> Login:
    return Login(config=TOKEN, flags=("--user", CANARY))


def variables(_folder: Path) -> Login:
    return Login(config=PASSWORD, environment={"NATS_USER": "app", "NATS_PASSWORD": CANARY})


def context(_folder: Path) -> Login:
    return Login(config=PASSWORD, context={"user": "app", "password": CANARY})


def nkey(folder: Path) -> Login:
    key = Key.user()
    (folder / "us.nk").write_text(key.seed)
    config = f"authorization {{ users: [{{nkey: {key.public}}}] }}"
    return Login(config=config, flags=("--nkey", str(folder / "us.nk")), secrets=(key.seed,))


def creds(folder: Path) -> Login:
    trusted = Operator()
    (folder / "us.creds").write_text(trusted.creds())
    lines = (folder / "us.creds").read_text().splitlines()
    secrets = tuple(line for line in lines if line.startswith(("SU", "ey")))
    return Login(config=trusted.config, flags=("--creds", str(folder / "us.creds")), secrets=secrets)


def tls(folder: Path) -> Login:
    trusted = Authority(folder / "trusted")
    server, us = trusted.issue("server", ["127.0.0.1"]), trusted.issue("us")
    files = f'cert_file: "{server.cert}", key_file: "{server.key}", ca_file: "{trusted.ca}"'
    said = ("--tlsca", str(trusted.ca), "--tlscert", str(us.cert), "--tlskey", str(us.key))
    return Login(
        config=f"tls {{ {files}, verify: true }}", flags=said, secrets=tuple(us.key.read_text().splitlines()[1:-1])
    )


WAYS: tuple[Callable[[Path], Login], ...] = (
    flags, url, token_in_url, token, token_as_user, variables, context, nkey, creds, tls,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Session:
    """A shell that is told one way to log in, and everything that came of its commands."""

    shell: Here
    login: Login
    server: NatsServer
    arguments: tuple[str, ...]
    said: list[str] = field(default_factory=list)

    def __call__(self, *arguments: str) -> Ran:
        ran = self.shell(*arguments, *self.arguments)
        self.said.append(f"{arguments}\n{ran.out}\n{ran.err}")
        return ran

    def leaks(self, *more: str) -> list[str]:
        """Texts in which a secret stands."""
        assert self.login.secrets and all(self.login.secrets)
        return [text for text in (*self.said, *more) if any(secret in text for secret in self.login.secrets)]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def session(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    login: Login = request.param(tmp_path)
    for name in [name for name in os.environ if name.startswith(("NATS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name, value in login.environment.items():
        monkeypatch.setenv(name, value)
    with NatsServer(config=login.config) as server:
        address = login.address.replace("PORT", str(server.port))
        arguments = ("--server", address, *login.flags)
        if login.context:
            folder = tmp_path / "config" / "nats" / "context"
            folder.mkdir(parents=True)
            (folder / "prod.json").write_text(json.dumps({"url": address, **login.context}))
            arguments = ("--context", "prod")
        yield Session(Here(tmp_path), login, server, arguments)


async def written_down(options: ConnectOptions) -> list[str]:
    """Every message of every stream, as the server has them."""
    async with connection(options) as nc:
        js = await JetStream.open(nc)
        found = []
        listed = await js.request("STREAM.LIST")
        for item in listed.get("streams") or () if isinstance(listed, dict) else ():
            name, state = item["config"]["name"], item["state"]
            for seq in range(state["first_seq"], state["last_seq"] + 1):
                said = await js.request(f"STREAM.MSG.GET.{name}", {"seq": seq})
                if isinstance(said, dict):
                    found.append(_decoded(said["message"]))
        await js.close()
        return found


def _decoded(message: dict[str, str]) -> str:
    return "".join(base64.b64decode(message.get(part) or "").decode() for part in ("hdrs", "data"))


def test_nothing_that_is_printed_saved_or_written_down_holds_a_secret(session: Session) -> None:
    """A whole life: planned, saved, applied, changed, drifted, looked back at; then without any server to reach."""
    folder = session.shell.folder
    session.shell.write(TOPOLOGY)
    session("plan", "topology.yaml", "--verbose", "--out", "plan.json")
    session("apply", "plan.json", "--yes", "--verbose")
    session.shell.write(CHANGED)
    for arguments in (
        ("apply", "topology.yaml", "--yes", "--format", "json"), ("plan", "topology.yaml", "--format", "json"),
        ("drift", "topology.yaml"), ("history",), ("history", "--format", "json"), ("groups", "doctor"), ("unlock",),
        ("export",), ("permissions", "apply", "topology.yaml"), ("apply", "topology.yaml"), ("apply", "a", "--no-such"),
    ):  # fmt: skip
        session(*arguments)
    kept = asyncio.run(written_down(_options(session)))
    session.server.stop()
    session("plan", "topology.yaml", "--timeout", "1s", "--verbose")
    session("apply", "topology.yaml", "--yes", "--timeout", "1s", "--format", "json")
    saved = (folder / "plan.json").read_text()
    assert session.leaks(saved, *kept) == []
    assert any('"run":' in text for text in kept), "the journal is among what was looked through"


@pytest.mark.parametrize("remote", [f"https://ci:{CANARY}@[2001:db8::1]/o/r.git", f"u:p@{CANARY}@host:o/r"])
def test_a_password_in_the_git_remote_is_told_nowhere(
    remote: str, account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    repository = Repository.at(tmp_path / "files")
    repository.git("remote", "add", "origin", remote)
    repository.commit({"topology.yaml": TOPOLOGY})
    ways = (("plan", "--out", "plan.json"), ("plan", "--format", "json"), ("apply", "--yes", "--verbose"))
    ran = [someone(command, "files/topology.yaml", *more) for command, *more in ways]
    repository.git("remote", "set-url", "origin", "https://example.org/another")
    ran += [someone("plan", "files/topology.yaml"), someone("history", "--format", "json")]
    said = [part for one in ran for part in (one.out, one.err)]
    kept = asyncio.run(written_down(_as(account)))
    texts = [*said, *kept, (tmp_path / "plan.json").read_text()]
    assert any("o/r" in text for text in kept), "where it came from is remembered"
    assert [text for text in texts if CANARY in text] == []


def _as(account: Account) -> ConnectOptions:
    return resolve(Settings(url=account.url, user=account.user, password=account.password), {})


def _options(session: Session) -> ConnectOptions:
    said = dict(zip(session.arguments[::2], session.arguments[1::2], strict=True))
    names = {"--server": "url", "--tlsca": "ca", "--tlscert": "cert", "--tlskey": "key"}
    values: dict[str, Any] = {names.get(flag, flag.removeprefix("--")): value for flag, value in said.items()}
    return resolve(Settings(**values), os.environ)


def test_an_internal_error_shows_no_secret_even_with_its_traceback(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(js: JetStream) -> None:
        raise RuntimeError(repr((js, vars(js), vars(js.pipeline), _options(session))))

    monkeypatch.setattr(both, "observe", broken)
    session.shell.write(TOPOLOGY)
    for debug in ("", "1"):
        monkeypatch.setenv("RECONCILER_DEBUG", debug)
        ran = session("plan", "topology.yaml", "--verbose")
        assert (ran.code, "internal error: RuntimeError" in ran.err, "Traceback" in ran.err) == (1, True, bool(debug))
    assert session.leaks() == []


def test_a_refused_login_shows_no_secret(session: Session) -> None:
    """The server asks for another one by now."""
    session.server.stop()
    with NatsServer(config="authorization { user: other, password: another }") as other:
        there = tuple(part.replace(str(session.server.port), str(other.port)) for part in session.arguments)
        moved = Session(session.shell, session.login, other, there, session.said)
        session.shell.write(TOPOLOGY)
        context = session.shell.folder / "config" / "nats" / "context" / "prod.json"
        if context.exists():
            context.write_text(context.read_text().replace(str(session.server.port), str(other.port)))
        ran = moved("plan", "topology.yaml", "--verbose")
    assert ran.code == 1, ran
    assert session.leaks() == []
