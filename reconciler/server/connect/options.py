"""Where to connect and as whom, settled from flags, environment and context before anything is dialled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from urllib.parse import unquote

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.units import go_duration
from reconciler.server.connect.settings import (
    Settings,
    expanded_path,
    flags_over_environment,
    is_literal_secret,
    load_context,
    selected_context,
)
from reconciler.server.connect.settings import config_home as context_folder

DEFAULT_URL = "nats://127.0.0.1:4222"
DEFAULT_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server to try. The login of its URL is kept apart from the URL, which is shown to people."""

    url: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def wants_tls(self) -> bool:
        """Does the URL itself ask for TLS, whatever the other options say?"""
        return self.url.startswith("tls://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectOptions:
    """Everything that a connection needs. Credentials are references, read where and when the connection is made."""

    servers: tuple[Server, ...] = (Server(url=DEFAULT_URL),)
    """Tried in this order."""
    context: str | None = None
    """The context of these options, for messages."""
    creds: str | None = field(default=None, repr=False)
    nkey: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    seed: str | None = field(default=None, repr=False)
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    cert: str | None = None
    key: str | None = None
    ca: str | None = None
    tls_first: bool = False
    js_domain: str | None = None
    js_api_prefix: str | None = None
    """Never set beside a domain."""
    inbox_prefix: str = "_INBOX"
    timeout: float = DEFAULT_TIMEOUT
    """Seconds for connecting, and for each answer after that."""
    repeated: str | None = field(default=None, compare=False)
    """What a command line repeats to connect like this, without secrets."""

    @property
    def wants_tls(self) -> bool:
        """Must the connection use TLS, whatever the server offers? It must if an authority or a certificate was
        named."""
        return bool(self.ca or self.cert or self.tls_first)

    def where_text(self, server: Server | None = None) -> str:
        """Return a description for messages: `nats://nats.example.org:4222 (context prod-eu)`, without any login."""
        urls = ", ".join(s.url for s in ([server] if server else self.servers))
        return f"{urls} (context {self.context})" if self.context else urls

    @classmethod
    def to(
        cls, url: str, *, user: str | None = None, password: str | None = None, timeout: float = 5.0
    ) -> ConnectOptions:
        """Return options for a server that is already known, such as the embedded one."""
        return cls(servers=parse_servers(url), user=user, password=password, timeout=timeout)


def resolve(flags: Settings, environ: Mapping[str, str], config_home: Path | None = None) -> ConnectOptions:
    """Settle the options by the `nats` CLI's rules: flags over environment over the named or selected context over
    defaults."""
    settings = flags_over_environment(flags, environ)
    folder = config_home or context_folder(environ)
    selected = None if settings.context or settings.no_context else selected_context(folder)
    name = None if settings.no_context else settings.context or selected
    if name:
        settings = settings.over(load_context(name, folder, was_selected=name == selected))
    _refuse_unsupported(settings, name)
    return _options_from(settings, name, environ)


def is_chosen(flags: Settings, environ: Mapping[str, str], config_home: Path | None = None) -> bool:
    """A server is named or selected, so that where to work does not rest on the default."""
    settings = flags_over_environment(flags, environ)
    if replace(settings, no_context=None, timeout=None) != Settings():
        return True
    return not settings.no_context and selected_context(config_home or context_folder(environ)) is not None


def _options_from(settings: Settings, context: str | None, environ: Mapping[str, str]) -> ConnectOptions:
    def path(value: str | None) -> str | None:
        return expanded_path(re.sub(r"(?i)^file://", "", value), environ) if value else None

    return ConnectOptions(
        servers=parse_servers(settings.url or DEFAULT_URL),
        context=context,
        **_login_settings(settings, path),
        cert=path(settings.cert),
        key=path(settings.key),
        ca=path(settings.ca),
        tls_first=bool(settings.tls_first),
        js_domain=settings.js_domain,
        js_api_prefix=None if settings.js_domain else settings.js_api_prefix,  # the CLI's choice when both are named
        inbox_prefix=_checked_inbox(settings.inbox_prefix or "_INBOX"),
        timeout=seconds(settings.timeout) if settings.timeout else DEFAULT_TIMEOUT,
    )


def _login_settings(settings: Settings, path: Callable[[str | None], str | None]) -> dict[str, str | None]:
    """Choose one way to log in, in the CLI's order; a token may be added to it, for auth callouts."""
    chosen: dict[str, str | None]
    if settings.user:
        chosen = {"user": settings.user, "password": settings.password or ""}
    elif settings.creds:
        chosen = {"creds": path(settings.creds)}
    elif settings.nkey:
        chosen = {"nkey": path(settings.nkey)}
    else:
        chosen = {"jwt": settings.jwt, "seed": settings.seed} if settings.jwt else {}
    return {**chosen, "token": settings.token}


def parse_servers(urls: str) -> tuple[Server, ...]:
    """Parse `a`, `a:4222`, `nats://user:password@a:4222,tls://b`: fill in scheme and port, and take out logins."""
    parts = [part.strip() for part in urls.split(",") if part.strip()]
    if not parts:
        raise _wrong_setting("No server is named", "Write for example --server nats://nats.example.org:4222.")
    return tuple(_parse_server(part, number, len(parts)) for number, part in enumerate(parts, 1))


def _parse_server(text: str, number: int, total: int) -> Server:
    scheme, separator, rest = text.partition("://")
    scheme, rest = (scheme.lower(), rest) if separator else ("nats", text)
    login, at_sign, address = rest.rpartition("@")
    if scheme in ("ws", "wss"):
        raise _wrong_setting("WebSocket servers are not supported", "Use the server's nats:// or tls:// address.")
    match = _ADDRESS.fullmatch(address)
    is_address = match is not None and int(match["port"] or 4222) <= 65535 and not is_literal_secret(match["host"])
    if scheme not in ("nats", "tls") or match is None or not is_address:
        # The message does not repeat it: it may be a secret, or a part of one behind a stray character of a password.
        fix = "Write nats://host:port or tls://host:port; special characters in a password as %40 (@) or %2C (comma)."
        raise _wrong_setting(f"Server {number} of {total} is not a server URL", fix)
    user, colon, password = login.partition(":")
    return Server(
        url=f"{scheme}://{match['host']}:{match['port'] or 4222}",
        user=unquote(user) if at_sign else None,
        password=unquote(password) if colon else None,
    )


_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^\s:/?#@\[\]]+)(?::(?P<port>\d{1,5}))?/?")


def _checked_inbox(prefix: str) -> str:
    """Check the prefix of reply subjects, which must be a subject itself."""
    if re.search(r"[\s*>]|^\.|\.\.|\.$", prefix):
        fix = "Write names joined by dots, without wildcards and blanks, for example _INBOX.deploy."
        raise _wrong_setting(f"inbox prefix `{prefix}` is not a subject", fix)
    return prefix


def seconds(text: str) -> float:
    """Parse a duration as Go writes it; a bare number counts as seconds."""
    is_bare = re.fullmatch(r"\d+(\.\d+)?", text)
    try:
        nanoseconds = go_duration(f"{text}s" if is_bare else text)
    except ValueError:
        nanoseconds = 0
    if nanoseconds <= 0:
        raise _wrong_setting(f"timeout `{text}` is not a duration", "Write for example 5s, 500ms or 1m30s.")
    return nanoseconds / 1e9


def _refuse_unsupported(settings: Settings, context: str | None) -> None:
    unsupported = {
        "nsc": settings.nsc,
        "socks_proxy": settings.socks_proxy,
        "windows_cert_store": settings.windows_cert_store,
    }
    for name, value in unsupported.items():
        if value:
            origin = f"context {context}" if context else "the environment or the flags"
            fix = _INSTEAD[name]
            raise _wrong_setting(f"`{name}` is set in {origin}, and reconciler does not support it", fix)


_INSTEAD = {
    "nsc": "Write the credentials to a file with `nsc generate creds` and name it with --creds.",
    "socks_proxy": "Connect without a proxy, for example through a forwarded port.",
    "windows_cert_store": "Name the certificate's files with --tlscert and --tlskey.",
}


def _wrong_setting(problem: str, fix: str) -> CannotContinue:
    message = f"{problem}. Nothing was changed."
    return CannotContinue.because("NA107", "connection-setting", message, fix=fix)
