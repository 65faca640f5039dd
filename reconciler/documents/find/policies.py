"""Reads the policies that a topology's files name: files and folders beside it, and repositories at a fixed commit.

Fetches a repository at one commit into a cache, once: a commit never says anything else afterwards.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.fill.values import Filled
from reconciler.documents.find.git_tree import GitTree
from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.parse.nodes import Mapping, Node, error_at
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.read.header import Header, top_level_keys
from reconciler.documents.read.load import Loaded
from reconciler.model.diagnostic import CannotContinue, Diagnostic, SourceSpan, ordered
from reconciler.model.policy import PlacedPolicy, PlacedSource
from reconciler.model.waits import waiting
from reconciler.policies.policies import problems

POLICIES = "policies"


def with_policies(loaded: Loaded, registry: Registry, tree: Tree) -> Loaded:
    """Add the policies that the files name, and what is wrong with any of them."""
    topology = loaded.topology
    if topology is None or not (topology.policies or loaded.policies_from):
        return loaded
    results: list[PlacedPolicy | Diagnostic] = [*topology.policies]
    for result in loaded.policies_from:
        results += _policies_from(result, registry, tree)
    policies, errors = _policies_and_errors(results, registry)
    judged = replace(topology, policies=() if errors else tuple(policies))
    if errors:
        diagnostics = tuple(ordered([*loaded.diagnostics, *errors]))
        return replace(loaded, topology=None, readable=judged, diagnostics=diagnostics)
    return replace(loaded, topology=judged, policies_from=())


def read_policies(paths: Sequence[Path], registry: Registry) -> tuple[list[PlacedPolicy], list[Diagnostic]]:
    """Read the policies in these files, whatever else stands there, and those that they name. A folder may hold files of
    topologies that name none."""
    files, unreadable = DISK.find(paths)
    results: list[PlacedPolicy | Diagnostic] = [*unreadable]
    for path in files:
        for result in _policies_in_file(path, registry, DISK, may_lack=path not in paths):
            results += _policies_from(result, registry, DISK) if isinstance(result, PlacedSource) else [result]
    if files and not results:
        results = [_lacking_diagnostic(path) for path in paths]
    return _policies_and_errors(results, registry)


def _policies_and_errors(
    results: Iterable[PlacedPolicy | Diagnostic], registry: Registry
) -> tuple[list[PlacedPolicy], list[Diagnostic]]:
    """Return the policies, and what is wrong with them. Several ways may lead to a file, which then counts once."""
    errors = dict[Diagnostic, None]()
    policies = dict[tuple[str, SourceSpan | None, str], PlacedPolicy]()
    for result in results:
        if isinstance(result, Diagnostic):
            errors.setdefault(result)
        else:
            span = result.where("code")
            place = replace(span, file=os.path.realpath(span.file)) if span else None
            policies.setdefault((result.policy.code, place, result.policy.model_dump_json()), result)
    read = [*policies.values()]
    return read, ordered([*errors] or list(_problems_of_policies(read, registry)))


def _problems_of_policies(policies: Sequence[PlacedPolicy], registry: Registry) -> Iterator[Diagnostic]:
    try:
        yield from problems(policies, registry)
    except CannotContinue as error:
        yield from (replace(diagnostic, span=policies[0].where("code")) for diagnostic in error.diagnostics)


def _policies_from(placed: PlacedSource, registry: Registry, tree: Tree) -> Iterator[PlacedPolicy | Diagnostic]:
    """The policies at the place that an entry names."""
    span = placed.where("from")
    try:
        path, within = _file_and_tree(placed, span, tree)
        files, unreadable = within.find([path])
    except CannotContinue as error:
        yield from (replace(item, code="XX528", name="policy", span=span) for item in error.diagnostics)
        return
    yield from (replace(item, code="XX528", name="policy", span=span) for item in unreadable)
    for file in files:
        for item in _policies_in_file(file, registry, within):
            if isinstance(item, PlacedSource):
                message = "policies that are named elsewhere name no others; name them in the topology"
                yield error_at("XX528", "policy", message, item.where("from"))
            else:
                yield item


def _file_and_tree(placed: PlacedSource, span: SourceSpan | None, tree: Tree) -> tuple[Path, Tree]:
    source, folder = placed.source, Path(span.file).parent if span else Path()
    if source.revision is None:
        path = Path(os.path.normpath(folder / source.from_))
        return path, _tree_of(path, tree)
    path_from_file = folder / source.from_
    repository = tree_at_commit(
        str(path_from_file.resolve()) if path_from_file.is_dir() else source.from_, source.revision
    )
    return repository.root / os.path.normpath(source.path), repository


def _tree_of(path: Path, tree: Tree) -> Tree:
    """Return the tree of a path: of a revision, its own policies; those outside the repository are as they are on
    disk."""
    inner = tree.tree if isinstance(tree, Filled) else tree
    if isinstance(inner, GitTree):
        inside = Path(os.path.realpath(inner.root)) in Path(os.path.realpath(path)).parents
        return inner if inside else DISK
    return inner


def _policies_in_file(
    path: Path, registry: Registry, tree: Tree, *, may_lack: bool = False
) -> Iterator[PlacedPolicy | PlacedSource | Diagnostic]:
    text, unreadable = tree.read(path)
    root, misread = (None, []) if unreadable else read_tree(str(path), text)
    yield from (*unreadable, *misread)
    if isinstance(root, Mapping) and POLICIES in root.entries:
        header = Header(registry)
        header.read_key(*root.entries[POLICIES])
        yield from (*header.policies, *header.problems)
    elif not (unreadable or misread) and not (may_lack and _is_topology_file(root, registry)):
        yield _lacking_diagnostic(path)


def _is_topology_file(root: Node | None, registry: Registry) -> bool:
    return isinstance(root, Mapping) and not root.entries.keys().isdisjoint(top_level_keys(registry))


def _lacking_diagnostic(path: Path) -> Diagnostic:
    message = (
        f"this {'folder' if path.is_dir() else 'file'} has no `{POLICIES}`; leave it out of what is named for policies"
    )
    return error_at("XX528", "policy", message, SourceSpan(str(path), 1, 1, 1, 1))


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
        raise _fetch_error(message, "let XDG_CACHE_HOME name a folder that can be written") from None
    result = _run_git(cache, "init", "--quiet")
    # The commit itself, without history; a server that gives no single commits gives everything.
    for source in (("--depth=1", "--", repository, revision), ("--", repository, "+refs/heads/*:refs/policies/*")):
        result = _run_git(cache, "-c", "protocol.ext.allow=never", "fetch", "--quiet", "--no-tags", *source)
        if result.returncode == 0 and _has_commit(cache, revision):
            return
    wrong = result.stderr.decode(errors="replace").strip().removeprefix("fatal: ").splitlines()[:1]
    why = "".join(wrong) if result.returncode else f"it has no commit {revision}"
    raise _fetch_error(f"policies of {repository} cannot be fetched: {why}")


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
        raise _fetch_error("`git` fetches policies, but is not installed") from None
    except subprocess.TimeoutExpired:
        raise _fetch_error(f"git did not answer within {PATIENCE:g} s") from None


def _fetch_error(
    message: str, fix: str = "check the address and the commit, and that git may read it here"
) -> CannotContinue:
    return CannotContinue.because("XX528", "policy", message, fix=fix)
