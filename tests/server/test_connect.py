"""Why no connection came about: one sentence each, fast, and nothing left behind."""

from __future__ import annotations

import asyncio
import base64
import errno
import pickle
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.server.connect.connection import connect, connection
from reconciler.server.connect.options import ConnectOptions, resolve
from reconciler.server.connect.settings import Settings
from reconciler.server.connect.unreachable import Attempt, DialProgress, connection_error
from reconciler.testbed.node import ReservedPort
from tests.support.accounts import Account
from tests.support.certificates import Authority
from tests.support.jwt import Key, Operator, decorated
from tests.support.servers import running
from tests.support.slow import slowly
from tests.support.versions import on_every_version


def options(url: str, **said: Any) -> ConnectOptions:
    return resolve(Settings(url=url, no_context=True, **said), {})


def served(settled: ConnectOptions) -> str:
    """The URL of the server that took us."""

    async def session() -> str:
        async with connection(settled) as nc:
            assert nc.connected_url is not None
            return nc.connected_url.geturl()

    return asyncio.run(session())


def refusal(settled: ConnectOptions) -> Diagnostic:
    with pytest.raises(CannotContinue) as refused:
        asyncio.run(connect(settled))
    (diagnostic,) = refused.value.diagnostics
    return diagnostic


def untimed(message: str) -> str:
    """Without the time it took, which nobody can foretell."""
    return re.sub(r" after \d+\.\d s", " after … s", message)


@pytest.fixture
def closed_port() -> Iterator[int]:
    port = ReservedPort()
    yield port.number
    port.release()


@contextmanager
def listening(backlog: int = 5) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(backlog)
        yield listener


def address(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


@on_every_version
def test_an_account_is_reached(account: Account) -> None:
    assert served(ConnectOptions.to(account.url, user=account.user, password=account.password)) == account.url


def test_a_refused_connection_is_one_sentence(closed_port: int) -> None:
    said = refusal(options(f"nats://127.0.0.1:{closed_port}"))
    assert untimed(said.message) == (
        f"Cannot reach nats://127.0.0.1:{closed_port}: connection refused after … s. Nothing was changed."
    )


def test_the_context_is_named(closed_port: int, tmp_path: Path) -> None:
    (tmp_path / "nats" / "context").mkdir(parents=True)
    (tmp_path / "nats" / "context" / "prod-eu.json").write_text(f'{{"url": "nats://127.0.0.1:{closed_port}"}}')
    assert (
        "(context prod-eu): connection refused" in refusal(resolve(Settings(context="prod-eu"), {}, tmp_path)).message
    )


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(errno.EHOSTUNREACH, "Connect call failed ('192.0.2.1', 4222)"), "no route to host after 0.2 s"),
        (
            OSError("Multiple exceptions: [Errno 111] Connect …, [Errno 101] Connect …"),
            "connection refused after 0.2 s",
        ),
    ],
)
def test_what_the_network_says_is_passed_on(error: OSError, why: str) -> None:
    settled = options("nats.example.org")
    attempt = Attempt(server=settled.servers[0], stage=DialProgress.DIALLING, error=error, seconds=0.2)
    said = str(connection_error(settled, [attempt], None))
    assert said == f"Cannot reach nats://nats.example.org:4222: {why}. Nothing was changed."


def test_options_travel_to_other_processes() -> None:
    settled = options("nats://app:secret@nats.example.org", creds="env://THE_CREDS")
    assert pickle.loads(pickle.dumps(settled)) == settled


def test_a_name_that_does_not_resolve_is_said() -> None:
    said = refusal(options("nats.invalid"))
    assert (said.code, said.name) == ("NA101", "unreachable")
    assert "the name `nats.invalid` cannot be resolved" in said.message


def test_a_host_that_swallows_packets_is_given_up_in_time() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(listening(backlog=0))
        for _ in range(3):  # a full queue answers nobody
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        said = refusal(options(address(listener), timeout="0.5s"))
    assert "no answer after … s (--timeout is 0.5 s)" in untimed(said.message)


def test_a_port_that_says_nothing_is_given_up_in_time() -> None:
    with listening() as listener:
        said = refusal(options(address(listener), timeout="0.5s"))
    assert re.search(r"connected, but no greeting came within \d+\.\d s", said.message)


def test_a_port_that_speaks_something_else_is_not_taken_for_nats() -> None:
    async def session() -> Diagnostic:
        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as other:
            with pytest.raises(CannotContinue) as refused:
                await connect(options(address(other.sockets[0])))
        return refused.value.diagnostics[0]

    assert "does not greet like a nats-server" in asyncio.run(session()).message


def test_servers_are_tried_in_order(closed_port: int, account: Account) -> None:
    login = f"{account.user}:{account.password}@127.0.0.1:{account.server.port}"
    assert served(options(f"127.0.0.1:{closed_port},{login},nats.invalid")) == account.url


def test_a_server_that_refuses_the_login_does_not_end_the_search(account: Account) -> None:
    port = account.server.port
    settled = options(f"app:wrong@127.0.0.1:{port},{account.user}:{account.password}@127.0.0.1:{port}")
    assert served(settled) == account.url


def test_a_silent_server_leaves_time_for_the_next(account: Account) -> None:
    with listening() as silent:
        settled = options(
            f"{address(silent)},{account.user}:{account.password}@127.0.0.1:{account.server.port}", timeout="5s"
        )
        assert served(settled) == account.url


def test_all_servers_are_named_when_none_takes_us(closed_port: int, account: Account) -> None:
    said = refusal(options(f"127.0.0.1:{closed_port},127.0.0.1:{account.server.port},nats.invalid"))
    assert said.code == "NA102"
    assert untimed(said.message) == (
        "Cannot log in to any of 3 servers: "
        f"nats://127.0.0.1:{closed_port}: connection refused after … s; "
        f"nats://127.0.0.1:{account.server.port}: it asks for a login, but none was given (Authorization Violation); "
        "nats://nats.invalid:4222: the name `nats.invalid` cannot be resolved. Nothing was changed."
    )


def test_a_missing_login_says_how_to_give_one(account: Account) -> None:
    said = refusal(options(account.url))
    assert said.fix == "Give --creds, --nkey, --user and --password, or --context."


def test_a_login_that_comes_too_late_is_not_called_wrong() -> None:
    hasty = "authorization: {user: u, password: p, timeout: 0.1}"
    with running(config=hasty) as server, slowly(1, server.port) as port:
        said = refusal(options(f"nats://127.0.0.1:{port}", user="u", password="p"))
    assert said.code == "NA101"
    assert "took longer than the server allows (Authentication Timeout)" in said.message


def test_expired_credentials_say_since_when(tmp_path: Path) -> None:
    operator, creds = Operator(), tmp_path / "old.creds"
    creds.write_text(operator.creds(lasts=-3600))
    with running(config=operator.config) as server:
        said = refusal(options(server.url, creds=str(creds)))
    assert f"the server refused creds file {creds}, which expired on 20" in said.message


def test_credentials_may_come_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator()
    monkeypatch.setenv("THE_CREDS", operator.creds())
    with running(config=operator.config) as server:
        assert served(options(server.url, creds="env://THE_CREDS")) == server.url


def test_credentials_may_be_given_inline() -> None:
    operator = Operator()
    inline = "data:;base64," + base64.b64encode(operator.creds().encode()).decode()
    with running(config=operator.config) as server:
        assert served(options(server.url, creds=inline)) == server.url


def test_a_bearer_needs_no_seed() -> None:
    operator = Operator()
    with running(config=operator.config) as server:
        assert served(options(server.url, jwt=operator.user(Key.user(), bearer=True))) == server.url


def damaged(seed: str) -> str:
    return f"{seed[:20]}{'A' if seed[20] != 'A' else 'B'}{seed[21:]}"


USER = Key.user()
JWT = Operator().user(USER)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it holds no user JWT"),
        ("-----BEGIN NATS USER JWT-----\n", "it holds no user JWT"),
        (decorated(JWT, "").replace("SEED", "S"), "it holds no user nkey seed"),
        (decorated("a.b.c", USER.seed), "its user JWT is damaged"),
        (decorated(JWT, damaged(USER.seed)), "its nkey seed is damaged"),
        (decorated(JWT, Key(0).seed), "its nkey seed does not belong to a user"),
    ],
)
def test_a_creds_file_that_is_none_says_why(text: str, why: str, tmp_path: Path) -> None:
    creds = tmp_path / "x.creds"
    creds.write_text(text)
    said = refusal(options("localhost", creds=str(creds)))
    assert (said.code, said.message) == ("NA105", f"Creds file {creds} cannot be used: {why}. Nothing was changed.")


@pytest.mark.parametrize("said", [{"creds": "gone"}, {"nkey": "gone"}, {"ca": "gone"}, {"cert": "gone", "key": "gone"}])
def test_a_missing_file_is_named_before_anything_is_dialled(said: dict[str, str]) -> None:
    found = refusal(options("nats.invalid", **said))
    assert found.code == "NA105"
    assert "gone" in found.message
    assert "no such file" in found.message


@pytest.mark.parametrize("where", ["", "env://"])
@pytest.mark.parametrize(
    "secret", ["-----BEGIN X-----\ncanary\n", "# mine\ncanary\n", "eyJ0eXAiOiJKV1QifQ.canary", f"S{'A' * 50} canary"]
)
@pytest.mark.parametrize("name", ["creds", "nkey", "cert", "key", "ca"])
def test_a_secret_in_place_of_a_path_is_not_repeated(name: str, secret: str, where: str, closed_port: int) -> None:
    said = {"tls_first": True} if name == "key" else {}
    told = refusal(options(f"nats://127.0.0.1:{closed_port}", **said, **{name: where + secret}))
    assert told.code == "NA105"
    assert "it is the secret itself, where a path belongs" in told.message
    assert "canary" not in f"{told.message} {told.fix}"


@pytest.mark.parametrize("reference", ["op://vault/item", "nsc://O/A/U", "env://NOT_SET_ANYWHERE", "data:,plain"])
def test_a_reference_that_cannot_be_followed_is_said(reference: str) -> None:
    assert refusal(options("localhost", creds=reference)).code == "NA105"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def tls(authority: Authority, more: str = "", *, hosts: tuple[str, ...] = ("127.0.0.1",)) -> str:
    files = authority.issue("server", hosts)
    return f'tls {{ cert_file: "{files.cert}", key_file: "{files.key}", ca_file: "{authority.ca}", {more} }}'


def test_a_login_is_never_sent_in_clear_where_tls_is_wanted(authority: Authority) -> None:
    """Otherwise whoever answers in the server's place could have it."""

    async def heard() -> bytes:
        received = asyncio.get_running_loop().create_future()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b'INFO {"server_id":"X","version":"2.15.1","max_payload":1000,"auth_required":true}\r\n')
            received.set_result(await reader.read())
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as impostor:
            with pytest.raises(CannotContinue, match="the server offers no TLS, so nothing was sent"):
                await connect(options(f"tls://{address(impostor.sockets[0])}", user="app", password="secret"))
            return bytes(await asyncio.wait_for(received, 20))

    assert asyncio.run(heard()) == b""


def test_a_certificate_for_another_host_is_refused(authority: Authority) -> None:
    with running(config=tls(authority, hosts=("nats.example.org",))) as server:
        said = refusal(options(server.url, ca=str(authority.ca)))
    assert said.code == "NA103"
    assert "IP address mismatch" in said.message


def test_an_authority_nobody_named_is_refused(authority: Authority) -> None:
    with running(config=tls(authority)) as server:
        said = refusal(options(server.url))
    assert "its certificate is not accepted: unable to get local issuer certificate" in said.message


def test_a_missing_client_certificate_is_asked_for(authority: Authority) -> None:
    with running(config=tls(authority, "verify: true")) as server:
        said = refusal(options(server.url, ca=str(authority.ca)))
    assert (said.code, said.fix) == ("NA103", "Name one it knows: --tlscert and --tlskey.")


def test_tls_that_is_optional_is_used_when_wanted(authority: Authority) -> None:
    with running(config=tls(authority, "verify: false") + "\nallow_non_tls: true") as server:

        async def is_encrypted() -> bool:
            async with connection(options(server.url.replace("nats:", "tls:"), ca=str(authority.ca))) as nc:
                return nc._transport._io_writer.get_extra_info("cipher") is not None  # type: ignore[union-attr]

        assert asyncio.run(is_encrypted())


def test_tls_may_come_before_the_greeting(authority: Authority) -> None:
    with running(config=tls(authority, "handshake_first: true")) as server:
        assert served(options(server.url, ca=str(authority.ca), tls_first=True)) == server.url


def test_tls_first_at_a_server_that_greets_first_is_said(authority: Authority) -> None:
    with running(config=tls(authority)) as server:
        said = refusal(options(server.url, ca=str(authority.ca), tls_first=True, timeout="1s"))
    assert (said.fix or "").startswith("Leave out --tlsfirst unless the server has `handshake_first`")


def test_a_missing_tls_first_is_suggested(authority: Authority) -> None:
    with running(config=tls(authority, "handshake_first: true, timeout: 0.3")) as server:
        said = refusal(options(server.url, ca=str(authority.ca)))
    assert said.fix == "If the server expects TLS before its greeting, add --tlsfirst; otherwise check the port."


def test_an_interrupted_connection_leaves_nothing_open() -> None:
    async def session(listener: socket.socket) -> None:
        trying = asyncio.create_task(connect(options(address(listener))))
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        accepted, _ = await loop.sock_accept(listener)
        trying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trying
        accepted.setblocking(False)
        with accepted:
            assert await asyncio.wait_for(loop.sock_recv(accepted, 1), 20) == b""

    with listening() as listener:
        asyncio.run(session(listener))


def test_a_server_that_dies_does_not_hold_up_the_end() -> None:
    async def session() -> float:
        with running() as server:
            async with connection(options(server.url)):
                server.kill()
                began = time.monotonic()
            return time.monotonic() - began

    assert asyncio.run(session()) < 3
