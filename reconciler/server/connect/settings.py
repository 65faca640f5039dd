"""The connection settings of one place: flags, environment and context files all use these fields.

The fields and their order of precedence are the `nats` CLI's: flags, then environment, then the context. One thing is
stricter on purpose: a way to log in from a higher place replaces every way from a lower one, so that a user in a
context never silently beats `--creds`. A secret where the path of its file belongs is recognised by its look, and never
repeated.

Reads contexts of the `nats` CLI: JSON files under `nats/context/` in the configuration folder, one of them selected.

A selected context whose file is gone is an error, not a silent fall-back to localhost, which would be another account.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, Self

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.resource import Json

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


def is_literal_secret(value: str) -> bool:
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
    return HIDDEN if value and is_literal_secret(value) else value or ""


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


_KEYS = {
    "url": "url",
    "socks_proxy": "socks_proxy",
    "token": "token",
    "user": "user",
    "password": "password",
    "creds": "creds",
    "nkey": "nkey",
    "cert": "cert",
    "key": "key",
    "ca": "ca",
    "nsc": "nsc",
    "jetstream_domain": "js_domain",
    "jetstream_api_prefix": "js_api_prefix",
    "inbox_prefix": "inbox_prefix",
    "user_jwt": "jwt",
    "user_seed": "seed",
    "windows_cert_store": "windows_cert_store",
}
"""The keys that matter here; others (description, color_scheme, jetstream_event_prefix, …) matter to the CLI alone."""


def config_home(environ: Mapping[str, str]) -> Path:
    """Return the folder that holds `nats/context/`."""
    chosen = environ.get("XDG_CONFIG_HOME")
    return Path(chosen) if chosen else home(environ) / ".config"


def home(environ: Mapping[str, str]) -> Path:
    """Return the user's home folder: `$HOME` where it is set, otherwise as the operating system knows it."""
    if folder := environ.get("HOME"):
        return Path(folder)
    try:
        return Path.home()
    except RuntimeError:  # a container's user may be unknown
        return Path("/")


def selected_context(config: Path) -> str | None:
    """Return the name of the selected context."""
    try:
        return (config / "nats" / "context.txt").read_text().strip() or None
    except OSError:
        return None


def context_names(config: Path) -> list[str]:
    """Return the names of all contexts in the configuration folder, sorted; empty where there are none."""
    return sorted(file.stem for file in (config / "nats" / "context").glob("*.json"))


def load_context(name: str, config: Path, *, was_selected: bool = False) -> Settings:
    """Load a context by its name or by the path of its file."""
    file = _context_file(name, config)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _unknown_context(name, config, was_selected) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable_context(name, f"{file}: {_reason_of(error)}") from None
    return _parse(name, file, text)


def _context_file(name: str, config: Path) -> Path:
    if is_literal_secret(name):  # messages repeat a name, but never what a context holds
        raise _unusable("The context", "its name or the path of its file belongs there, not its contents")
    if name.endswith(".json") and Path(name).exists():
        return Path(name)
    if ".." in name or "/" in name or "\\" in name:
        raise _unreadable_context(name, "a name contains neither `..` nor a slash, and a path ends in `.json`")
    return config / "nats" / "context" / f"{name}.json"


def _parse(name: str, file: Path, text: str) -> Settings:
    try:
        content: Json = json.loads(text)
    except RecursionError:
        raise _unreadable_context(name, f"{file} is nested too deep") from None
    except json.JSONDecodeError as error:
        raise _unreadable_context(name, f"{file}:{error.lineno}:{error.colno}: {error.msg}") from None
    if not isinstance(content, dict):
        raise _unreadable_context(name, f"{file} does not hold a mapping")
    settings = {ours: content[theirs] for theirs, ours in _KEYS.items() if content.get(theirs)}
    for theirs, ours in _KEYS.items():
        if not isinstance(settings.get(ours, ""), str):
            raise _unreadable_context(name, f"{file}: `{theirs}` must be text")
    return Settings(**settings, tls_first=content.get("tls_first") is True or None)


def _unknown_context(name: str, config: Path, was_selected: bool) -> CannotContinue:
    names = context_names(config)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean `{near[0]}`? " if near else ""
    known_names = f"Known: {', '.join(names)}." if names else f"There are no contexts in {config / 'nats' / 'context'}."
    subject = f"The selected context `{name}`" if was_selected else f"Context `{name}`"
    message = f"{subject} does not exist. {hint}{known_names} Nothing was changed."
    fix = (
        "Choose one with --context, or leave the selection out with --no-context."
        if was_selected
        else f"Correct the name, or add the context with `nats context add {shlex.quote(name)}`."
    )
    return CannotContinue.because("NA106", "context-unusable", message, fix=fix)


def _unreadable_context(name: str, why: str) -> CannotContinue:
    return _unusable(f"Context `{name}`", why)


def _unusable(subject: str, why: str) -> CannotContinue:
    message = f"{subject} cannot be used: {why}. Nothing was changed."
    fix = "Correct the file, or choose another context with --context."
    return CannotContinue.because("NA106", "context-unusable", message, fix=fix)


def _reason_of(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    return "it is not UTF-8 text"


def expanded_path(path: str, environ: Mapping[str, str]) -> str:
    """Expand `~` and `$NAME` or `${NAME}` in a path; a variable that is not set counts as empty, as in the CLI."""
    filled = re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: environ.get(m[1] or m[2], ""), path)
    return filled.replace("~", str(home(environ)), 1) if filled.startswith("~") else filled
