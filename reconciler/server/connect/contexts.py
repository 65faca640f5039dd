"""Reads contexts of the `nats` CLI: JSON files under `nats/context/` in the configuration folder, one of them selected.

A selected context whose file is gone is an error, not a silent fall-back to localhost, which would be another account.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from reconciler.model.diagnostic import CannotContinue
from reconciler.model.resource import Json
from reconciler.server.connect.settings import Settings, is_pasted

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


def load(name: str, config: Path, *, was_selected: bool = False) -> Settings:
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
    if is_pasted(name):  # messages repeat a name, but never what a context holds
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
    fix = "Choose one with --context, or leave the selection out with --no-context."
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
