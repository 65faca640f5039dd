"""A user who may only read runs every command that only looks; who may do less is told what is missing."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.cli.running import EXAMPLES, Shell
from tests.e2e.someone import Someone, readable
from tests.support.accounts import User
from tests.support.binaries import MINORS
from tests.support.servers import NatsServer

READ = (
    "$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.LIST.>",
    "$JS.API.CONSUMER.NAMES.>", "$JS.API.CONSUMER.INFO.>", "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.MSG.GET.>",
    "$SYS.REQ.USER.INFO",
)  # fmt: skip
PLACES = f"""
accounts {{
  A: {{
    jetstream: enabled
    users: [
      {{user: admin, password: admin}}
      {{user: reader, password: reader, permissions: {{
        publish: {{allow: [{", ".join(f'"{subject}"' for subject in READ)}]}}
        subscribe: {{allow: "_INBOX.>"}}
      }}}}
      {{user: nobody, password: nobody, permissions: {{publish: {{deny: ">"}}}}}}
      {{user: listless, password: listless, permissions: {{publish: {{deny: "$JS.API.CONSUMER.LIST.>"}}}}}}
      {{user: deaf, password: deaf, permissions: {{subscribe: {{deny: ">"}}}}}}
      {{user: keyless, password: keyless, permissions: {{publish: {{deny: ["$KV.>", "$JS.API.STREAM.CREATE.KV_reconciler"]}}}}}}
    ]
  }}
  C: {{users: [{{user: bare, password: bare}}]}}
}}
"""
ORDERS = str(EXAMPLES / "orders")
GROUPS = str(EXAMPLES / "groups.yaml")
SMALL = "streams: {A: {subjects: [a]}}\n"


@pytest.fixture(scope="module", params=[MINORS[0], MINORS[-1]])
def server(request: pytest.FixtureRequest) -> Iterator[NatsServer]:
    with NatsServer(request.param, PLACES) as started:
        yield started


@pytest.fixture(scope="module")
def newest() -> Iterator[NatsServer]:
    with NatsServer(config=PLACES) as started:
        yield started


def as_user(name: str, server: NatsServer, shell: Shell) -> Someone:
    return Someone(shell, User(server, name), ("--server", server.url, "--user", name, "--password", name))


def test_a_read_only_user_may_run_every_command_that_only_looks(shell: Shell, server: NatsServer) -> None:
    admin, reader = as_user("admin", server, shell), as_user("reader", server, shell)
    fresh = reader("plan", GROUPS, "--exit-code")
    assert fresh.code == 2, fresh
    made = admin("apply", GROUPS, "--yes")
    assert made.code == 0, made
    assert reader.has_nothing_to_do(GROUPS)
    assert reader("drift", GROUPS).code == 0
    exported = reader("export")
    assert (exported.code, exported.err) == (0, "")
    assert exported.out == admin("export").out
    assert reader.has_nothing_to_do(reader.write(exported.out, "live.yaml"))
    assert readable(shell("validate", GROUPS)).code == 0
    assert readable(shell("explain", "ST101")).code == 0
    assert readable(shell("schema")).code == 0


def test_a_read_only_user_who_applies_is_told_what_is_forbidden(shell: Shell, newest: NatsServer) -> None:
    ran = as_user("reader", newest, shell).apply(SMALL)
    assert ran.code == 1
    assert "permission" in (ran.out + ran.err).lower()


@pytest.mark.parametrize(("user", "says"), [("nobody", "permission"), ("bare", "JetStream"), ("deaf", "permission")])
def test_who_may_not_even_look_gets_one_sentence(shell: Shell, newest: NatsServer, user: str, says: str) -> None:
    someone = as_user(user, newest, shell)
    for ran in (someone.plan(SMALL), someone.apply(SMALL), someone("export")):
        assert (ran.code, ran.out) == (1, ""), ran
        assert says.lower() in ran.err.lower()
        assert len(ran.err.splitlines()) < 6, ran.err


def test_without_a_ledger_everything_is_applied_and_the_loss_is_said(shell: Shell, newest: NatsServer) -> None:
    keyless = as_user("keyless", newest, shell)
    ran = keyless.apply("streams: {K: {subjects: [k]}}\n")
    assert ran.code == 0, ran
    assert "LE102" in ran.out + ran.err
    assert keyless("plan", "topology.yaml", "--exit-code").code == 0


def test_an_export_that_lacks_something_says_so_and_is_no_success(shell: Shell, newest: NatsServer) -> None:
    admin, listless = as_user("admin", newest, shell), as_user("listless", newest, shell)
    admin.applied("streams: {L: {subjects: [l], consumers: {c: {}}}}\n")
    ran = listless("export")
    assert (ran.code, "L:" in ran.out) == (1, True)
    assert ran.err.startswith("consumers/L could not be read, so the file lacks what it holds")


def test_a_server_without_jetstream_is_one_sentence(shell: Shell) -> None:
    with NatsServer(jetstream=False) as server:
        ran = readable(shell("plan", shell.write("reconciler: 1\ntopology: t\n" + SMALL), "--server", server.url))
    assert (ran.code, ran.out) == (1, "")
    assert "JetStream" in ran.err


def test_a_server_that_never_answers_is_given_up_within_the_timeout(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"127.0.0.1:{silent.getsockname()[1]}"
        file = shell.write("reconciler: 1\ntopology: t\n" + SMALL)
        ran = readable(shell("plan", file, "--server", url, "--timeout", "3s"))
        called = _calls(silent)
    assert (ran.code, ran.out, called) == (1, "", 1)
    assert "no greeting came within 3.0 s" in ran.err


def _calls(listener: socket.socket) -> int:
    """How many have called and were not taken."""
    listener.setblocking(False)
    number = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            number += 1
    return number
