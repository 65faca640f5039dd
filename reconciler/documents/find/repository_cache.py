"""Fetches a repository at one commit into a cache, once: a commit never says anything else afterwards."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from reconciler.documents.find.git_tree import GitTree
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.waits import waiting

OF_A_HOOK = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE",
})  # fmt: skip
"""With these, git answers for the repository whose hook this runs in; the rest may say how to log in."""
PATIENCE = 120.0
"""Seconds for a repository to be fetched."""


def tree_at_commit(repository: str, revision: str) -> GitTree:
    """Return the tree of this commit. Raises CannotContinue where it cannot be fetched."""
    cache = _cache_folder() / hashlib.sha256(repository.encode()).hexdigest()[:24]
    if not _has_commit(cache, revision):
        _fetch(repository, revision, cache)
    return GitTree.at(revision, cache)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "reconciler" / "policies"


def _has_commit(cache: Path, revision: str) -> bool:
    return (cache / ".git").is_dir() and _run_git(cache, "cat-file", "-e", f"{revision}^{{tree}}").returncode == 0


def _fetch(repository: str, revision: str, cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the cache {cache} cannot be written: {(error.strerror or '').lower()}"
        raise _cannot_fetch(message, "let XDG_CACHE_HOME name a folder that can be written") from None
    result = _run_git(cache, "init", "--quiet")
    # The commit itself, without history; a server that gives no single commits gives everything.
    for source in (("--depth=1", "--", repository, revision), ("--", repository, "+refs/heads/*:refs/policies/*")):
        result = _run_git(cache, "-c", "protocol.ext.allow=never", "fetch", "--quiet", "--no-tags", *source)
        if result.returncode == 0 and _has_commit(cache, revision):
            return
    complaint = result.stderr.decode(errors="replace").strip().removeprefix("fatal: ").splitlines()[:1]
    why = "".join(complaint) if result.returncode else f"it has no commit {revision}"
    raise _cannot_fetch(f"policies of {repository} cannot be fetched: {why}")


def _run_git(folder: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key not in OF_A_HOOK}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        with waiting(f"for git {command[0]}", PATIENCE):
            return subprocess.run(
                ["git", "-C", str(folder), *command], capture_output=True, check=False, env=environment,
                timeout=PATIENCE, stdin=subprocess.DEVNULL,
            )  # fmt: skip
    except FileNotFoundError:
        raise _cannot_fetch("`git` fetches policies, but is not installed") from None
    except subprocess.TimeoutExpired:
        raise _cannot_fetch(f"git did not answer within {PATIENCE:g} s") from None


def _cannot_fetch(
    message: str, fix: str = "check the address and the commit, and that git may read it here"
) -> CannotContinue:
    return CannotContinue.because("XX528", "policy", message, fix=fix)
