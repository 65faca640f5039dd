"""Which repository and revision a folder comes from, as `git` tells; without git, or outside one, nobody knows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from reconciler.model.run_options import Origin

PATIENCE = 5.0
"""Seconds for one question; a stuck file system must not hold up a plan."""

_HOST = r"(?P<host>\[[^\]@]*\]|[^\[\]/:@]+)"
_PATH = r"(?P<path>[^?#]*)(?:[?#].*)?"
_URL = re.compile(rf"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?{_HOST}(?::\d*)?/+{_PATH}", re.IGNORECASE | re.DOTALL)
_SCP = re.compile(rf"(?!file:|[a-z]:[\\/])(?:.*[^/]@)?{_HOST}:(?!//){_PATH}", re.IGNORECASE | re.DOTALL)
_FILE = re.compile(r"file://[^/]*(?P<path>/.*)", re.DOTALL)
_HELPER = re.compile(r"^([a-z0-9][a-z0-9+.-]*::)+", re.IGNORECASE)
"""`codecommit::`: which program fetches it."""
_SECOND_LOGIN = re.compile(r"/*[^/]+@")
"""What begins a path like this may be the rest of a password with a slash in it."""


def origin(path: Path) -> Origin:
    """Never fails and never waits long: what cannot be told is None."""
    folder = path if path.is_dir() else path.parent
    if not _may_be_in_a_repository(folder):
        return Origin()
    revision = _git(folder, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    remote = _remote(folder)
    return Origin(repository=identity(remote) if remote else _root(folder), revision=revision)


def _may_be_in_a_repository(folder: Path) -> bool:
    """Git looks for `.git` here and above; asking where there is none would cost three processes a plan."""
    try:
        here = folder.resolve()
        return any((above / ".git").exists() for above in (here, *here.parents))
    except (OSError, RuntimeError):
        return True


def identity(url: str) -> str:
    """One spelling for `https://token@host/org/repo.git` and `git@host:org/repo`; a local path stays a path. Of what is
    neither, nothing is told that stands before an `@`: it may be a password."""
    url = _HELPER.sub("", url) if "://" in url else url
    if found := _FILE.fullmatch(url):
        return found["path"]
    if _is_local(url):
        return url
    match = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if match and not _SECOND_LOGIN.match(match["path"]):
        return f"{match['host'].lower()}/{match['path'].strip('/').removesuffix('.git')}"
    return re.split("[?#]", url.rpartition("@")[2])[0]


def _is_local(url: str) -> bool:
    """As git tells it: a slash before any colon, or no colon at all."""
    return ":" not in url.partition("/")[0]


def _remote(folder: Path) -> str | None:
    """The URL of `origin`, else of the first remote there is."""
    names = (_git(folder, "remote") or "").split()
    first = ["origin"] if "origin" in names else names[:1]
    return _git(folder, "config", "--get", f"remote.{first[0]}.url") if first else None


def _root(folder: Path) -> str | None:
    """The first commit; a shallow clone does not have it."""
    if _git(folder, "rev-parse", "--is-shallow-repository") != "false":
        return None
    roots = (_git(folder, "rev-list", "--max-parents=0", "HEAD") or "").split()
    return f"root:{roots[-1]}" if roots else None


def _git(folder: Path, *question: str) -> str | None:
    """The answer, or None: no git, no repository, no such thing, or no answer in time."""
    # A hook sets GIT_DIR and friends, which would answer for another folder than the one asked about.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *question], capture_output=True, check=True, env=environment,
            stdin=subprocess.DEVNULL, timeout=PATIENCE,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.decode(errors="replace").strip() or None
