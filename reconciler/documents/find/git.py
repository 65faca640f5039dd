"""Asks git to which repository and revision a folder belongs, and names files from the root of their repository.

Without git, or outside a repository, both are unknown.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from reconciler.model.run_options import Origin


def ask_git(folder: Path, *question: str, patience: float, given: bytes = b"") -> bytes:
    """Return what git answers within so many seconds. Raises what `subprocess.run` does where there is no answer."""
    # A hook sets GIT_DIR and friends, which would make git answer for another folder.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    return subprocess.run(
        ["git", "-C", str(folder), *question], capture_output=True, check=True, env=environment, input=given,
        timeout=patience,
    ).stdout  # fmt: skip


def path_from_root(file: str) -> str:
    """Return the path from the root of the file's repository, or of the one around its submodule; outside a repository,
    from here, or absolute. Symbolic links stay."""
    path = Path(os.path.abspath(file))  # noqa: PTH100 - resolving would follow links out of the repository
    for base in (_repository_of(path.parent), Path.cwd()):
        if base and path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.as_posix()


@cache
def _repository_of(folder: Path) -> Path | None:
    """Find the root of the repository, or of the outermost one around a submodule."""
    root = next((ancestor for ancestor in (folder, *folder.parents) if (ancestor / ".git").exists()), None)
    return (_repository_of(root.parent) or root) if root and _is_submodule(root) else root


def _is_submodule(root: Path) -> bool:
    """Tell by the file `.git`, which leads to the modules of the repository around it; a worktree's leads to a folder that
    names a common one."""
    try:
        folder = root / (root / ".git").read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
        return "modules" in folder.parts and not (folder / "commondir").exists()
    except OSError:
        return False


SHORT_PATIENCE = 5.0
"""Seconds for one question; a stuck file system must not delay a plan."""


_HOST = r"(?P<host>\[[^\]@]*\]|[^\[\]/:@]+)"


_PATH = r"(?P<path>[^?#]*)(?:[?#].*)?"


_URL = re.compile(rf"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?{_HOST}(?::\d*)?/+{_PATH}", re.IGNORECASE | re.DOTALL)


_SCP = re.compile(rf"(?!file:|[a-z]:[\\/])(?:.*[^/]@)?{_HOST}:(?!//){_PATH}", re.IGNORECASE | re.DOTALL)


_FILE = re.compile(r"file://[^/]*(?P<path>/.*)", re.DOTALL)


_HELPER = re.compile(r"^([a-z0-9][a-z0-9+.-]*::)+", re.IGNORECASE)
"""`codecommit::`: the program that fetches it."""


_SECOND_LOGIN = re.compile(r"/*[^/]+@")
"""The beginning of such a path may be the rest of a password with a slash in it."""


def origin(path: Path) -> Origin:
    """Return the origin of a folder. This never fails and never waits long: what cannot be found out is None."""
    folder = path if path.is_dir() else path.parent
    if not _may_be_in_a_repository(folder):
        return Origin()
    revision = _ask_git_or_none(folder, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    remote = _remote_url(folder)
    return Origin(repository=repository_identity(remote) if remote else _root_commit(folder), revision=revision)


def _may_be_in_a_repository(folder: Path) -> bool:
    """Look for `.git` here and above, as git does: asking git outside a repository would cost three processes per
    plan."""
    try:
        resolved = folder.resolve()
        return any((ancestor / ".git").exists() for ancestor in (resolved, *resolved.parents))
    except (OSError, RuntimeError):
        return True


def repository_identity(url: str) -> str:
    """Return one spelling for `https://token@host/org/repo.git` and `git@host:org/repo`; a local path stays a path. For
    anything else, leave out all that stands before an `@`, because it may be a password."""
    url = _HELPER.sub("", url) if "://" in url else url
    if file_url := _FILE.fullmatch(url):
        return file_url["path"]
    if _is_local(url):
        return url
    match = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if match and not _SECOND_LOGIN.match(match["path"]):
        return f"{match['host'].lower()}/{match['path'].strip('/').removesuffix('.git')}"
    return re.split("[?#]", url.rpartition("@")[2])[0]


def _is_local(url: str) -> bool:
    """Tell as git does: a local path has a slash before any colon, or no colon at all."""
    return ":" not in url.partition("/")[0]


def _remote_url(folder: Path) -> str | None:
    """The URL of `origin`, otherwise of the first remote."""
    names = (_ask_git_or_none(folder, "remote") or "").split()
    first = ["origin"] if "origin" in names else names[:1]
    return _ask_git_or_none(folder, "config", "--get", f"remote.{first[0]}.url") if first else None


def _root_commit(folder: Path) -> str | None:
    """The first commit; a shallow clone does not have it."""
    if _ask_git_or_none(folder, "rev-parse", "--is-shallow-repository") != "false":
        return None
    roots = (_ask_git_or_none(folder, "rev-list", "--max-parents=0", "HEAD") or "").split()
    return f"root:{roots[-1]}" if roots else None


def _ask_git_or_none(folder: Path, *question: str) -> str | None:
    """Return the answer, or None: no git, no repository, no such thing, or no answer in time."""
    try:
        answer = ask_git(folder, *question, patience=SHORT_PATIENCE)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.decode(errors="replace").strip() or None
