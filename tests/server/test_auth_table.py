"""Every way to log in, said in every place, to a server that asks for exactly that; and never a secret shown."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.connection import connection, session
from reconciler.server.connect.options import ConnectOptions, resolve
from reconciler.server.connect.settings import Settings
from reconciler.server.read.observe import observe
from reconciler.server.read.target import user_of
from tests.support.certificates import Authority
from tests.support.jwt import Key, Operator, decorated
from tests.support.servers import NatsServer

CANARY = "canary-in-a-coal-mine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A server that asks for one way to log in, what is right there and what is not."""

    config: str
    right: dict[str, str]
    wrong: dict[str, str]
    code: str = "NA102"
    secrets: tuple[str, ...] = (CANARY,)
    """What must never be shown when the wrong login fails."""


def user(folder: Path) -> Case:
    config = "authorization { user: app, password: right }"
    return Case(config=config, right={"user": "app", "password": "right"}, wrong={"user": "app", "password": CANARY})


def url(folder: Path) -> Case:
    config = 'authorization { user: app, password: "r@ght, right?" }'
    right, wrong = "nats://app:r%40ght%2C%20right%3F@127.0.0.1:PORT", f"nats://app:{CANARY}@127.0.0.1:PORT"
    return Case(config=config, right={"url": right}, wrong={"url": wrong})


def token(folder: Path) -> Case:
    return Case(config="authorization { token: right }", right={"token": "right"}, wrong={"token": CANARY})


def token_as_user(folder: Path) -> Case:
    """The `nats` CLI's habit; in a context, `user` is always a user."""
    return Case(config="authorization { token: right }", right={"user": "right"}, wrong={"user": CANARY})


def creds(folder: Path) -> Case:
    trusted, stranger = Operator(), Operator()
    key = Key.user()
    right, wrong = folder / "right.creds", folder / "wrong.creds"
    right.write_text(trusted.creds())
    wrong.write_text(decorated(stranger.user(key), key.seed))
    secrets = (key.seed, stranger.user(key))
    return Case(config=trusted.config, right={"creds": str(right)}, wrong={"creds": str(wrong)}, secrets=secrets)


def jwt(folder: Path) -> Case:
    trusted, key, other = Operator(), Key.user(), Key.user()
    right = {"jwt": trusted.user(key), "seed": key.seed}
    return Case(config=trusted.config, right=right, wrong={**right, "seed": other.seed}, secrets=(other.seed,))


def nkey(folder: Path) -> Case:
    key, other = Key.user(), Key.user()
    right, wrong = folder / "right.nk", folder / "wrong.nk"
    right.write_text(f"{key.seed}\n{key.public}\n")
    wrong.write_text(other.seed)
    config = f"authorization {{ users: [{{nkey: {key.public}}}] }}"
    return Case(config=config, right={"nkey": str(right)}, wrong={"nkey": str(wrong)}, secrets=(other.seed,))


def tls(folder: Path) -> Case:
    trusted, stranger = Authority(folder / "trusted"), Authority(folder / "stranger")
    server = trusted.issue("server", ["127.0.0.1"])
    config = f'tls {{ cert_file: "{server.cert}", key_file: "{server.key}" }}'
    return Case(config=config, right={"ca": str(trusted.ca)}, wrong={"ca": str(stranger.ca)}, code="NA103")


def mtls(folder: Path) -> Case:
    trusted, stranger = Authority(folder / "trusted"), Authority(folder / "stranger")
    server, known, unknown = trusted.issue("server", ["127.0.0.1"]), trusted.issue("us"), stranger.issue("us")
    files = f'cert_file: "{server.cert}", key_file: "{server.key}", ca_file: "{trusted.ca}"'
    right = {"ca": str(trusted.ca), "cert": str(known.cert), "key": str(known.key)}
    wrong = {"ca": str(trusted.ca), "cert": str(unknown.cert), "key": str(unknown.key)}
    secret = unknown.key.read_text().splitlines()[1]
    return Case(config=f"tls {{ {files}, verify: true }}", right=right, wrong=wrong, code="NA103", secrets=(secret,))


METHODS: tuple[Callable[[Path], Case], ...] = (user, url, token, creds, jwt, nkey, tls, mtls)
SECRETIVE = tuple(method for method in METHODS if method is not tls)
"""Whose client has a secret that could be shown."""


def as_flags(said: dict[str, str], home: Path) -> tuple[Settings, dict[str, str]]:
    values: dict[str, Any] = said
    return Settings(**values), {}


def as_variables(said: dict[str, str], home: Path) -> tuple[Settings, dict[str, str]]:
    return Settings(), {f"NATS_{name.upper()}": value for name, value in said.items()}


def as_context(said: dict[str, str], home: Path) -> tuple[Settings, dict[str, str]]:
    names = {"jwt": "user_jwt", "seed": "user_seed"}
    folder = home / "nats" / "context"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prod.json").write_text(json.dumps({names.get(name, name): value for name, value in said.items()}))
    return Settings(context="prod"), {}


PLACES = (as_flags, as_variables, as_context)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Any], tuple[NatsServer, Case]]]:
    """Servers of this module, each started when its first test wants it."""
    found: dict[Any, tuple[NatsServer, Case]] = {}
    with ExitStack() as servers:

        def start(method: Any) -> tuple[NatsServer, Case]:
            if method not in found:
                case = method(tmp_path_factory.mktemp(method.__name__))
                found[method] = (servers.enter_context(NatsServer(config=case.config)), case)
            return found[method]

        yield start


def settled(server: NatsServer, said: dict[str, str], place: Any, home: Path) -> ConnectOptions:
    """Says `said` in this place, and the server's address beside it."""
    address = said.get("url", server.url).replace("PORT", str(server.port))
    flags, environ = place({**said, "url": address}, home)
    return resolve(flags, environ, home)


def log_in(server: NatsServer, said: dict[str, str], place: Any, home: Path) -> bool:
    options = settled(server, said, place, home)

    async def session() -> bool:
        async with connection(options) as nc:
            await nc.flush()
            return nc.is_connected

    return asyncio.run(session())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", METHODS)
def test_the_right_login_connects(method: Any, place: Any, started: Any, tmp_path: Path) -> None:
    server, case = started(method)
    assert log_in(server, case.right, place, tmp_path)


@pytest.mark.parametrize("place", (as_flags, as_variables))
def test_a_user_without_a_password_is_a_token(place: Any, started: Any, tmp_path: Path) -> None:
    server, case = started(token_as_user)
    assert log_in(server, case.right, place, tmp_path)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", METHODS)
def test_the_wrong_login_is_one_clear_refusal_within_three_seconds(
    method: Any, place: Any, started: Any, tmp_path: Path
) -> None:
    server, case = started(method)
    began = time.monotonic()
    with pytest.raises(CannotContinue) as refused:
        log_in(server, case.wrong, place, tmp_path)
    assert [d.code for d in refused.value.diagnostics] == [case.code]
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", SECRETIVE)
def test_no_secret_is_shown_when_a_login_fails(
    method: Any, place: Any, started: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server, case = started(method)
    with pytest.raises(CannotContinue) as refused:
        log_in(server, case.wrong, place, tmp_path)
    shown = [repr(refused.value.diagnostics), "".join(traceback.format_exception(refused.value))]
    shown += capfd.readouterr()
    assert not [secret for secret in case.secrets for text in shown if secret in text]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", SECRETIVE)
def test_settled_options_show_no_secret(method: Any, place: Any, started: Any, tmp_path: Path) -> None:
    server, case = started(method)
    shown = repr(settled(server, case.wrong, place, tmp_path))
    assert not [secret for secret in case.secrets if secret in shown]


def test_a_server_that_asks_for_nothing_takes_us(started: Any, tmp_path: Path) -> None:
    def nothing(folder: Path) -> Case:
        return Case(config="", right={}, wrong={})

    server, case = started(nothing)
    assert log_in(server, case.right, as_flags, tmp_path)


def test_a_token_is_nobodys_name(started: Any, tmp_path: Path) -> None:
    server, case = started(token)

    async def seen() -> str | None:
        async with session(settled(server, case.right, as_flags, tmp_path)) as js:
            return (await observe(js)).target.user

    assert asyncio.run(seen()) is None


@pytest.mark.parametrize(
    ("told", "user"), [("right", None), ("[REDACTED]", None), ("", None), (None, None), ("app", "app")]
)
def test_what_a_server_tells_as_our_name_is_none_where_it_is_the_token(told: str | None, user: str | None) -> None:
    """As nats-server 2.11.1 does, which hides it nowhere yet."""
    assert user_of({"user": told}, token="right") == user
