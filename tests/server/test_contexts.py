"""Flags, environment and contexts: who wins, what is read from where, and what a person is told when it is wrong."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.server.connect.options import DEFAULT_URL, ConnectOptions, Server, resolve
from reconciler.server.connect.settings import Settings


def write(home: Path, name: str, **content: Any) -> Path:
    folder = home / "nats" / "context"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(content))
    return file


def select(home: Path, name: str) -> None:
    (home / "nats").mkdir(exist_ok=True)
    (home / "nats" / "context.txt").write_text(f"{name}\n")


def urls(options: ConnectOptions) -> list[str]:
    return [server.url for server in options.servers]


def refusal(flags: Settings, home: Path, **environ: str) -> Diagnostic:
    with pytest.raises(CannotContinue) as refused:
        resolve(flags, environ, home)
    (diagnostic,) = refused.value.diagnostics
    return diagnostic


def test_nothing_said_means_the_local_server_in_five_seconds(tmp_path: Path) -> None:
    options = resolve(Settings(), {}, tmp_path)
    assert (urls(options), options.timeout, options.context) == ([DEFAULT_URL], 5.0, None)


@pytest.mark.parametrize(
    "text", ['{"url": "x", "token": "canary"}', '{\n  "token": "canary"\n}', "eyJ0eXAiOiJKV1QifQ.canary"]
)
def test_a_context_in_place_of_its_name_is_not_repeated(tmp_path: Path, text: str) -> None:
    said = refusal(Settings(), tmp_path, NATS_CONTEXT=text)
    assert said.message == (
        "The context cannot be used: its name or the path of its file belongs there, not its contents. Nothing was changed."
    )
    assert "canary" not in (said.fix or "")


def test_a_flag_beats_a_variable(tmp_path: Path) -> None:
    assert urls(resolve(Settings(url="flag"), {"NATS_URL": "variable"}, tmp_path)) == ["nats://flag:4222"]


def test_a_variable_beats_the_context(tmp_path: Path) -> None:
    write(tmp_path, "prod", url="context")
    assert urls(resolve(Settings(context="prod"), {"NATS_URL": "variable"}, tmp_path)) == ["nats://variable:4222"]


def test_the_selected_context_is_used_and_named(tmp_path: Path) -> None:
    write(tmp_path, "prod", url="nats://nats.example.org:4222")
    select(tmp_path, "prod")
    assert resolve(Settings(), {}, tmp_path).where_text() == "nats://nats.example.org:4222 (context prod)"


def test_a_named_context_beats_the_selected_one(tmp_path: Path) -> None:
    write(tmp_path, "prod", url="prod")
    write(tmp_path, "dev", url="dev")
    select(tmp_path, "prod")
    assert urls(resolve(Settings(), {"NATS_CONTEXT": "dev"}, tmp_path)) == ["nats://dev:4222"]


def test_the_selection_can_be_left_out(tmp_path: Path) -> None:
    write(tmp_path, "prod", url="prod")
    select(tmp_path, "prod")
    assert urls(resolve(Settings(no_context=True), {}, tmp_path)) == [DEFAULT_URL]


def test_contexts_are_found_where_xdg_says(tmp_path: Path) -> None:
    write(tmp_path / "xdg", "prod", url="prod")
    assert urls(resolve(Settings(context="prod"), {"XDG_CONFIG_HOME": str(tmp_path / "xdg")})) == ["nats://prod:4222"]


def test_contexts_are_found_in_the_home_folder(tmp_path: Path) -> None:
    write(tmp_path / ".config", "prod", url="prod")
    assert urls(resolve(Settings(context="prod"), {"HOME": str(tmp_path)})) == ["nats://prod:4222"]


def test_a_user_without_a_home_has_no_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as a number: neither `$HOME` nor the system knows a folder."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 65532)
    assert urls(resolve(Settings(), {})) == [DEFAULT_URL]


def test_a_context_may_be_a_file(tmp_path: Path) -> None:
    file = write(tmp_path, "prod", url="prod")
    assert urls(resolve(Settings(context=str(file)), {}, tmp_path / "elsewhere")) == ["nats://prod:4222"]


def test_every_setting_of_a_context_is_read(tmp_path: Path) -> None:
    tls = {"cert": "c.pem", "key": "k.pem", "ca": "ca.pem", "tls_first": True}
    write(tmp_path, "prod", url="a,b", creds="x.creds", inbox_prefix="_I", jetstream_domain="hub", **tls)
    options = resolve(Settings(context="prod"), {}, tmp_path)
    assert options == ConnectOptions(
        servers=(Server(url="nats://a:4222"), Server(url="nats://b:4222")),
        context="prod",
        creds="x.creds",
        cert="c.pem",
        key="k.pem",
        ca="ca.pem",
        tls_first=True,
        js_domain="hub",
        inbox_prefix="_I",
    )


def test_a_context_as_the_cli_writes_it_is_read(tmp_path: Path) -> None:
    empty = dict.fromkeys(("socks_proxy", "token", "user", "password", "nkey", "cert", "key", "ca", "nsc"), "")
    others = {"jetstream_event_prefix": "", "color_scheme": "", "windows_ca_certs_match": None, "tls_first": False}
    write(tmp_path, "prod", description="Production", url="prod", **empty, **others)
    assert resolve(Settings(context="prod"), {}, tmp_path) == ConnectOptions(
        servers=(Server(url="nats://prod:4222"),), context="prod"
    )


def test_home_and_variables_are_expanded_in_paths(tmp_path: Path) -> None:
    write(tmp_path, "prod", creds="~/keys/$TEAM/${TEAM}.creds", ca="file://~/ca.pem")
    options = resolve(Settings(context="prod"), {"HOME": "/home/ann", "TEAM": "billing"}, tmp_path)
    assert (options.creds, options.ca) == ("/home/ann/keys/billing/billing.creds", "/home/ann/ca.pem")


def test_named_credentials_replace_the_contexts_user(tmp_path: Path) -> None:
    write(tmp_path, "prod", user="app", password="p")
    options = resolve(Settings(context="prod", creds="my.creds"), {}, tmp_path)
    assert (options.creds, options.user, options.password) == ("my.creds", None, None)


def test_named_credentials_replace_a_login_in_the_contexts_url(tmp_path: Path) -> None:
    write(tmp_path, "prod", url="nats://app:p@prod,nats://app:p@other:4333")
    options = resolve(Settings(context="prod", creds="my.creds"), {}, tmp_path)
    assert options.servers == (Server(url="nats://prod:4222"), Server(url="nats://other:4333"))


def test_a_flags_way_to_log_in_replaces_the_variables(tmp_path: Path) -> None:
    options = resolve(Settings(nkey="me.nk"), {"NATS_USER": "app", "NATS_PASSWORD": "p"}, tmp_path)
    assert (options.nkey, options.user) == ("me.nk", None)


def test_a_user_flag_takes_the_password_of_the_environment(tmp_path: Path) -> None:
    options = resolve(Settings(user="app"), {"NATS_PASSWORD": "p"}, tmp_path)
    assert (options.user, options.password, options.token) == ("app", "p", None)


def test_a_password_alone_goes_with_the_contexts_user(tmp_path: Path) -> None:
    write(tmp_path, "prod", user="app", password="old")
    options = resolve(Settings(context="prod"), {"NATS_PASSWORD": "new"}, tmp_path)
    assert (options.user, options.password) == ("app", "new")


def test_a_user_without_password_in_a_context_is_a_user(tmp_path: Path) -> None:
    write(tmp_path, "prod", user="app")
    options = resolve(Settings(context="prod"), {}, tmp_path)
    assert (options.user, options.password, options.token) == ("app", "", None)


def test_a_flags_api_prefix_replaces_the_contexts_domain(tmp_path: Path) -> None:
    write(tmp_path, "prod", jetstream_domain="hub")
    options = resolve(Settings(context="prod", js_api_prefix="JS.hub.API"), {}, tmp_path)
    assert (options.js_domain, options.js_api_prefix) == (None, "JS.hub.API")


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("a", "nats://a:4222"),
        ("a:1", "nats://a:1"),
        ("TLS://a", "tls://a:4222"),
        ("nats://[::1]:4333/", "nats://[::1]:4333"),
        ("[::1]", "nats://[::1]:4222"),
        (" nats://u:p://@a ", "nats://a:4222"),
        ("u:p@a", "nats://a:4222"),
    ],
)
def test_a_server_is_completed_and_shown_without_its_login(written: str, url: str, tmp_path: Path) -> None:
    assert resolve(Settings(url=written), {}, tmp_path).where_text() == url


def test_a_login_in_a_url_is_decoded(tmp_path: Path) -> None:
    (server,) = resolve(Settings(url="nats://us%40er:p%2Cw@a"), {}, tmp_path).servers
    assert (server.user, server.password) == ("us@er", "p,w")


def test_a_context_nested_deeper_than_any_is_said_to_be(tmp_path: Path) -> None:
    write(tmp_path, "deep").write_text("[" * 100_000)
    with pytest.raises(CannotContinue, match="nested too deep"):
        resolve(Settings(context="deep"), {}, tmp_path)


@pytest.mark.parametrize(
    "written", ["http://u:canary@a", "nats://u:can,ary@a", "nats://", "a:99999", "ws://a", ",", f"SUACAN{'A' * 52}"]
)
def test_what_is_no_server_url_is_refused_without_repeating_it(written: str, tmp_path: Path) -> None:
    said = refusal(Settings(url=written), tmp_path)
    assert said.code == "NA107"
    assert "can" not in said.message.removeprefix("Cannot").lower()


@pytest.mark.parametrize(("written", "seconds"), [("5s", 5), ("500ms", 0.5), ("1m30s", 90), ("2", 2), ("1.5", 1.5)])
def test_timeouts_are_read_as_go_writes_them(written: str, seconds: float, tmp_path: Path) -> None:
    assert resolve(Settings(), {"NATS_TIMEOUT": written}, tmp_path).timeout == seconds


@pytest.mark.parametrize("written", ["soon", "5 parsecs", "0s", "-1s", "s", "5s!"])
def test_a_timeout_that_is_none_is_refused(written: str, tmp_path: Path) -> None:
    assert f"timeout `{written}` is not a duration" in refusal(Settings(timeout=written), tmp_path).message


def test_an_unknown_context_names_the_near_and_the_known(tmp_path: Path) -> None:
    write(tmp_path, "prod-eu")
    write(tmp_path, "dev")
    said = refusal(Settings(context="prod-ue"), tmp_path)
    assert said.message == (
        "Context `prod-ue` does not exist. Did you mean `prod-eu`? Known: dev, prod-eu. Nothing was changed."
    )


def test_a_selected_context_without_a_file_is_not_ignored(tmp_path: Path) -> None:
    select(tmp_path, "gone")
    assert refusal(Settings(url="localhost"), tmp_path).message.startswith("The selected context `gone` does not exist")


def test_a_context_name_cannot_leave_its_folder(tmp_path: Path) -> None:
    assert refusal(Settings(context="../../secrets"), tmp_path).code == "NA106"


def test_a_broken_context_file_says_where(tmp_path: Path) -> None:
    write(tmp_path, "prod").write_text('{"user": "app",\n "password": canary}')
    said = refusal(Settings(context="prod"), tmp_path)
    assert "prod.json:2:14" in said.message
    assert "canary" not in said.message


def test_a_context_value_of_another_type_is_named(tmp_path: Path) -> None:
    write(tmp_path, "prod", url=["a", "b"])
    assert "`url` must be text" in refusal(Settings(context="prod"), tmp_path).message


@pytest.mark.parametrize("key", ["nsc", "socks_proxy", "windows_cert_store"])
def test_what_is_not_supported_is_said(key: str, tmp_path: Path) -> None:
    write(tmp_path, "prod", **{key: "something"})
    assert f"`{key}` is set in context prod" in refusal(Settings(context="prod"), tmp_path).message


def test_inline_credentials_stay_out_of_sight(tmp_path: Path) -> None:
    inline = "data:;base64," + base64.b64encode(b"canary").decode()
    assert "base64" not in repr(resolve(Settings(creds=inline), {}, tmp_path))
