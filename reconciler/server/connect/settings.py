"""The connection settings of one place: flags, environment and context files all use these fields.

The fields and their order of precedence are the `nats` CLI's: flags, then environment, then the context. One thing is
stricter on purpose: a way to log in from a higher place replaces every way from a lower one, so that a user in a
context never silently beats `--creds`. A secret where the path of its file belongs is recognised by its look, and never
repeated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Any, Self

from reconciler.model.dataclass import dataclass

_TEXT = re.compile(
    r"""[\r\n]            # a file's text, as it is
    | -----BEGIN          # or its lines folded into one
    | ^\s*LS0tLS1CRUdJTi  # or that in base64
    | ^\s*eyJ[\w-]{10,}   # a JWT
    | ^\s*S[A-Z2-7]{40,}  # an nkey seed
    | ^\s*\{              # a context
    | ^\s*(?i:data:)""",
    re.VERBOSE,
)


def is_pasted(value: str) -> bool:
    """Does the value look like a secret, and not like a path, a name, or a reference?"""
    return _TEXT.search(re.sub(r"(?i)^(env|file)://", "", value)) is not None


_LOGIN = ("user", "password", "token", "creds", "nkey", "jwt", "seed", "nsc")
_API = ("js_domain", "js_api_prefix")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one place; None: not set there. Values that may be secret stay out of `repr`."""

    url: str | None = field(default=None, repr=False)
    """One server or several, separated by commas; may contain a login."""
    context: str | None = None
    """The name of a context, or the path of a context file ending in `.json`."""
    no_context: bool | None = None
    """Ignore the selected context."""
    user: str | None = field(default=None, repr=False)
    """A user, or a token if no password is given with it."""
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    creds: str | None = field(default=None, repr=False)
    """A path, or `file://…`, `env://NAME`, `data:;base64,…`; likewise nkey, jwt and seed."""
    nkey: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    seed: str | None = field(default=None, repr=False)
    cert: str | None = None
    key: str | None = None
    ca: str | None = None
    tls_first: bool | None = None
    """Handshake before the server's greeting."""
    js_domain: str | None = None
    js_api_prefix: str | None = None
    inbox_prefix: str | None = None
    timeout: str | None = None
    """In Go's notation (`5s`, `1m30s`, `500ms`), or in seconds."""
    nsc: str | None = None
    socks_proxy: str | None = None
    windows_cert_store: str | None = None

    @property
    def names_a_login(self) -> bool:
        """Does this place name a way to log in, so that every way from a lower place is dropped? A password alone is
        none."""
        return any(getattr(self, name) for name in _LOGIN if name != "password") or "@" in (self.url or "")

    @property
    def names_an_api(self) -> bool:
        """Does this place name a JetStream domain or an API prefix, so that both from a lower place are dropped?"""
        return any(getattr(self, name) for name in _API)

    def over(self, lower: Self) -> Self:
        """Complete these settings with those of a lower place."""
        if self.names_a_login:
            lower = lower._without_login()
        if self.names_an_api:
            lower = replace(lower, js_domain=None, js_api_prefix=None)
        own = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) not in (None, "")}
        return replace(lower, **own)

    def _without_login(self) -> Self:
        bare = ",".join(without_login(server) for server in self.url.split(",")) if self.url else None
        return replace(self, url=bare, **dict.fromkeys(_LOGIN))


def without_login(server: str, instead: str = "") -> str:
    """Return a server's URL without the login in it, or with something else in its place."""
    scheme, separator, rest = server.strip().rpartition("://")
    _, at, host = rest.rpartition("@")
    return f"{scheme}{separator}{instead if at else ''}{host}"


HIDDEN = "…"
"""What stands for a secret where people see it."""


def shown_servers(servers: str | None) -> str:
    """Return servers, separated by commas, without the logins in them."""
    return ",".join(without_login(server, f"{HIDDEN}@") for server in (servers or "").split(","))


def shown_path(value: str | None) -> str:
    """Return the path of a file with a secret; a secret that was pasted in its place is hidden."""
    return HIDDEN if value and is_pasted(value) else value or ""


_VARIABLES = {
    "NATS_URL": "url",
    "NATS_CONTEXT": "context",
    "NATS_USER": "user",
    "NATS_PASSWORD": "password",
    "NATS_TOKEN": "token",
    "NATS_CREDS": "creds",
    "NATS_NKEY": "nkey",
    "NATS_JWT": "jwt",
    "NATS_SEED": "seed",
    "NATS_CERT": "cert",
    "NATS_KEY": "key",
    "NATS_CA": "ca",
    "NATS_TIMEOUT": "timeout",
    "NATS_SOCKS_PROXY": "socks_proxy",
}
"""The variables that the `nats` CLI reads; domain, API prefix and inbox prefix exist only as flags and in contexts."""


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Read the variables of the `nats` CLI; an empty variable counts as not set."""
    values: dict[str, Any] = {name: environ[var] for var, name in _VARIABLES.items() if environ.get(var)}
    return Settings(**values)


def flags_over_environment(flags: Settings, environ: Mapping[str, str]) -> Settings:
    """Merge flags over environment. A user without a password is a token here, as in the CLI; in a context it is
    not."""
    environment = from_environment(environ)
    if flags.user and not flags.password:  # the usual split: the name on the command line, the secret in a variable
        flags = replace(flags, password=environment.password)
    merged = flags.over(environment)
    if merged.user and not merged.password:
        return replace(merged, user=None, token=merged.token or merged.user)
    return merged
