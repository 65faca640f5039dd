"""Pairs the topologies of two revisions: in the same place, moved, renamed, new or gone. Then it reviews each pair."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from operator import attrgetter
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from reconciler.documents.fill.values import Filled
from reconciler.documents.find.discover import Discovered, Home, discover
from reconciler.documents.find.git_tree import GitTree, head_commit
from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.parse.nodes import error_at
from reconciler.engine.compare import version_warnings
from reconciler.journeys.plan.files import in_environments, load, topology_of, without_repeated_diagnostics
from reconciler.journeys.plan.validate import versions
from reconciler.journeys.review import other_topologies
from reconciler.journeys.review.loosened_policies import policy_warnings
from reconciler.journeys.review.review import Pair, Review, as_applied, review
from reconciler.kinds import REGISTRY
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import Version
from reconciler.testbed import imagined

LedgerOf = Callable[[Topology], other_topologies.Entries]
"""Reads the ledger of the account that a topology is for."""
NO_FILES, NO_VALUE = "XX520", "XX515"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """Everything that changed below some paths."""

    reviews: tuple[Review, ...]
    unchanged: int
    base: str
    """The commit compared with."""
    submodule: str = ""
    """The submodule whose commit that is, by its path in the repository around it; empty: it is no submodule."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The warnings about the newer files."""
    left_out: tuple[str, ...] = ()
    """Topologies that changed and lack the environment that was asked for, while others have it."""


def review_files(
    paths: Sequence[Path], base: str, head: str | None, *,
    today: date, server: Version | None = None, values: Mapping[str, str] = MappingProxyType({}),
    files_of_values: Sequence[Path] = (), environment: str | None = None, ledger: LedgerOf | None = None,
) -> Reviewed:  # fmt: skip
    """Review the topologies of the working tree, or of revision `head`, against the commit from which both branched.
    Without a `ledger` to ask, only files tell who else reads a stream."""
    newer: Tree = GitTree.at(head, paths[0]) if head else DISK
    older = GitTree.at(base, paths[0]).tree_at_merge_base(head or "HEAD")
    was_there = [path for path in files_of_values if not older.find([path])[1]]
    names_given = set[str]()
    old = Filled(older, values, values, names_given, was_there, reports_unused=False)
    new = Filled(newer, values, values, names_given, files_of_values, reports_unused=False)
    then, now = (discover(paths, tree, REGISTRY) for tree in (old, new))
    committed = newer if isinstance(newer, GitTree) else GitTree.at("HEAD", older.root)
    in_submodules = [*_unread_submodules(paths, then, now, older, committed)]
    if in_submodules and not (then.files or now.files):
        raise CannotContinue(*(replace(problem, severity=Severity.ERROR) for problem in in_submodules))
    in_submodules += [] if head else _submodules_left_behind(paths, older, committed)
    _add_moved(then, now, old, new, Path(os.path.relpath(older.root)))
    same = _untouched_topologies(then, old, now, new, older)
    before, after = _read_topologies(then, old, same, environment), _read_topologies(now, new, same, environment)
    wrong = [*_reading_errors(before, after), *_unreadable_file_problems(paths, then, now)]
    if then.files or now.files:
        names_given.update(then.parameters, now.parameters)
        wrong = wrong or list(new.unused_value_problems(new.given_values()[0]))
    if wrong or not (then.files or now.files):
        raise CannotContinue(*(wrong or [_no_files_diagnostic(paths)]))
    warnings = [problem for problem in after.problems if not problem.is_error]  # the last file may be gone
    both = pairs(before.files, after.files)
    everybody = [*after.files.values(), *_perhaps_concerned(both, now, new, same, environment)] if both else []
    reviews = [review(_with_others(pair, everybody, ledger), today, server) for pair in both]
    loosened = [found for review in reviews for found in review.loosened]
    changed = [review for review in reviews if review.plan.changes or review.plan.diagnostics]
    return Reviewed(
        reviews=tuple(changed),
        unchanged=len(same) + len(reviews) - len(changed),
        base=older.commit,
        submodule=older.name_in_outer_repository(),
        diagnostics=(
            *(version_warnings(server) if server else ()),
            *in_submodules,
            *warnings,
            *policy_warnings(loosened),
        ),
        left_out=tuple(after.left_out),
    )


def _unread_submodules(
    paths: Sequence[Path], then: Discovered, now: Discovered, older: GitTree, committed: GitTree
) -> Iterator[Diagnostic]:
    """Take out the topologies of submodules that lack the commit of either state: they would all look new, or gone."""
    unread_then, unread_now = older.unread_submodules(), committed.unread_submodules()
    for module in sorted({*unread_then, *unread_now}):
        inside = {
            home
            for discovered in (then, now)
            for home, files in discovered.files.items()
            if any(older.name_of(path).is_relative_to(module) for path in files)
        }
        for home in inside:
            then.files.pop(home, None)
            now.files.pop(home, None)
        if inside or (unread_then.get(module) != unread_now.get(module) and _concerns(paths, module, older)):
            tree = older if module in unread_then else committed
            yield _submodule_warning(f"nothing is compared of {tree.lacking(module)}", tree.how_to_fetch(module))


def _submodules_left_behind(paths: Sequence[Path], older: GitTree, committed: GitTree) -> Iterator[Diagnostic]:
    """Name submodules that moved, and whose working tree did not follow: a review of the working tree misses that."""
    for module in sorted(committed.submodules.keys() - committed.files):
        named = committed.submodules[module]
        if named != older.submodules.get(module) and _concerns(paths, module, older):
            seen = head_commit(committed.root / module)
            if seen != named:
                message = (
                    f"the submodule {module} is compared at commit {seen}, which is checked out; HEAD names {named}"
                )
                yield _submodule_warning(message, committed.command_to_update(module))


def _concerns(paths: Sequence[Path], module: str, tree: GitTree) -> bool:
    """Tell whether any of these paths holds the submodule, or lies in it."""
    names = [tree.name_of(path) for path in paths]
    return any(PurePosixPath(module).is_relative_to(name) or name.is_relative_to(module) for name in names)


def _submodule_warning(message: str, fix: str) -> Diagnostic:
    return Diagnostic(severity=Severity.WARNING, code="XX540", name="git", message=message, span=None, fix=fix)


def _add_moved(then: Discovered, now: Discovered, older: Filled, newer: Filled, top: Path) -> None:
    """Add the older files of topologies that look new below these paths, and that stood elsewhere in the repository: those
    with which a review of all of it pairs them."""
    looking_new = [os.path.realpath(files[0]) for home, files in now.files.items() if home not in then.files]
    if not looking_new:
        return
    all_then, all_now = (discover([top], tree, REGISTRY) for tree in (older, newer))
    was = _matched_homes(all_then.files, all_now.files)
    home_of = {os.path.realpath(path): home for home, files in all_now.files.items() for path in files}
    read = {os.path.realpath(path) for files in then.files.values() for path in files}
    looking_new = [path for path in looking_new if home_of.get(path) in was]
    for home in {home_of[path] for path in looking_new}:
        known = {*read, *map(os.path.realpath, all_now.files[home])}
        if moved := [path for path in all_then.files[was[home]] if os.path.realpath(path) not in known]:
            then.files.setdefault(was[home], []).extend(moved)
            then.parameters |= all_then.parameters


def _untouched_topologies(
    then: Discovered, older: Filled, now: Discovered, newer: Filled, repository: GitTree
) -> set[Home]:
    """Topologies of which nothing that they read has changed: most of a big repository, and of no interest here. Another
    value may change any of them."""
    if _texts(older.files, older) != _texts(newer.files, newer):
        return set()
    return {
        home
        for home in then.files.keys() & now.files.keys()
        if _all_texts(home, then, older, repository) == _all_texts(home, now, newer, repository)
    }


def _all_texts(home: Home, discovered: Discovered, tree: Filled, repository: GitTree) -> list[tuple[Path, str]]:
    """Those of its files, and of what they include or take policies from. Only the repository has older states."""
    besides = [path for path in sorted(discovered.read_besides.get(home, ())) if repository.holds(path)]
    files = [*discovered.files[home], *(file for path in besides for file in tree.find([path])[0])]
    return _texts([*dict.fromkeys(files)], tree)


def _perhaps_concerned(
    both: Sequence[Pair], now: Discovered, tree: Filled, same: Collection[Home], environment: str | None
) -> Iterator[Topology]:
    """Topologies that have not changed, and that may read a stream of one that has, or own one that it uses."""
    used = {stream for pair in both for state in pair.states for stream in other_topologies.used_streams(state)}
    words = {*other_topologies.WORDS, *used, *(("${",) if used else ())}  # a name may be put together
    for home in sorted(same):
        files = now.files[home]
        if any(word in tree.read(path)[0] for path in files for word in words):
            (places,) = in_environments([load(files, tree)], tree, environment)
            yield from (loaded.topology for loaded in places if loaded.topology)


def _with_others(pair: Pair, others: Sequence[Topology], ledger: LedgerOf | None) -> Pair:
    """The pair, with those who read what its older state has applied, and those who own what it uses."""
    now = pair.states[-1]
    theirs = [topology for topology in others if topology.name != pair.name]
    return replace(
        pair,
        readers=tuple(other_topologies.readers_in_files(pair.base, theirs)) if pair.base else (),
        owners=tuple(other_topologies.owners_in_files(now, theirs)),
        recorded=other_topologies.records_in_ledger(ledger(now), pair.base, pair.head) if ledger else None,
    )


def _texts(files: Sequence[Path], tree: Tree) -> list[tuple[Path, str]]:
    return sorted((path, tree.read(path)[0]) for path in files)


def _reading_errors(before: _Read, after: _Read) -> list[Diagnostic]:
    """Report a missing value that only the older files need as well: without it, their declarations would look
    deleted."""
    errors = [
        diagnostic
        for diagnostic in after.problems
        if diagnostic.is_error and not (diagnostic.code == NO_FILES and before.files)
    ]
    messages = {diagnostic.message for diagnostic in errors}
    return [
        *errors,
        *(
            diagnostic
            for diagnostic in before.problems
            if diagnostic.code == NO_VALUE and diagnostic.message not in messages
        ),
    ]


def _unreadable_file_problems(paths: Sequence[Path], then: Discovered, now: Discovered) -> list[Diagnostic]:
    """Files that cannot be read, and that belonged to a topology before or were named on the command line."""
    ours = {*paths, *(path for files in then.files.values() for path in files)}
    return [problem for path, problems in now.strange.items() if path in ours for problem in problems]


def _no_files_diagnostic(paths: Sequence[Path]) -> Diagnostic:
    where = ", ".join(f"`{path}`" for path in paths)
    message = f"no file below {where} names a topology, neither now nor before"
    return error_at(
        NO_FILES, "no-files", message, None, fix="check the path; a topology has a file that says `topology: NAME`"
    )


def before(
    topology: Topology, paths: Sequence[Path], repository: GitTree, trees: Trees, server: Version | None
) -> Snapshot:
    """Return the account as these files left it when they stood in the older tree, on the newest server that they allow. The
    files do not say whether it lives in a cluster."""
    older_paths = _older_paths(paths, repository, trees)
    then = [topology_of(load(older_paths, trees[0]))] if older_paths else []
    account = as_applied(then, topology, versions(topology, server)[-1])
    account = imagined.snapshot_with_records(account, other_topologies.assumed_owners(topology, ()))
    return replace(account, target=replace(account.target, cluster=topology.expect.cluster))


Trees = tuple[Filled, Filled]
"""The older state and the newer one, with values in place."""


def _older_paths(paths: Sequence[Path], repository: GitTree, trees: Trees) -> list[Path]:
    """Where the files stood then. A topology whose files moved is found as a review finds it; a new one has none."""
    if not trees[0].find(paths)[1]:
        return [*paths]
    then, now = (discover(paths, tree, REGISTRY) for tree in trees)
    _add_moved(then, now, *trees, Path(os.path.relpath(repository.root)))
    return [path for files in then.files.values() for path in files]


@dataclass(frozen=True, slots=True)
class _Read:
    files: Mapping[Home, Topology]
    problems: list[Diagnostic]
    left_out: list[str]
    """Topologies that lack the environment that was asked for, while others have it."""


def _read_topologies(discovered: Discovered, tree: Filled, same: Collection[Home], environment: str | None) -> _Read:
    """Read the topologies, in each environment that is meant. A file of the older state that cannot be read counts as
    absent: it is being repaired now."""
    problems, files, left_out = [*discovered.problems], {}, []
    changed = {home: load(inside, tree) for home, inside in discovered.files.items() if home not in same}
    others = (load(inside, tree) for home, inside in discovered.files.items() if home in same)
    for home, places in zip(changed, in_environments([*changed.values()], tree, environment, others), strict=True):
        left_out += [] if places else [home.name]
        for loaded in without_repeated_diagnostics(places):
            problems += loaded.diagnostics
            if loaded.topology:
                files[replace(home, environment=loaded.topology.environment)] = loaded.topology
    return _Read(files, [*dict.fromkeys(problems)], left_out)


def pairs(base: Mapping[Home, Topology], head: Mapping[Home, Topology]) -> list[Pair]:
    """Pair each topology with its older state: in the same place, or moved, or renamed. A topology also gets the older
    declarations of resources that it takes over from others."""
    was = _matched_homes(base, head)
    found = [
        Pair(base=base.get(was[home]) if home in was else None, head=topology,
             others=tuple(_former_owners(was.get(home), topology, base, head, was)))
        for home, topology in head.items()
    ]  # fmt: skip
    gone = [Pair(base=topology, head=None) for home, topology in base.items() if home not in was.values()]
    return sorted((*found, *gone), key=lambda home: home.name)


def _matched_homes(base: Iterable[Home], head: Iterable[Home]) -> dict[Home, Home]:
    """Map the place of each topology now to its place then."""
    now, then = set(head), set(base)
    matched = {home: home for home in now & then}
    for home in now - then:
        if (whole := replace(home, environment="")) in then - now:  # its environments are new
            matched[home] = whole
    for same in (attrgetter("name", "environment"), attrgetter("folder", "environment")):
        left, right = now - matched.keys(), then - set(matched.values())
        for home in sorted(left):
            others = [other for other in right if same(other) == same(home)]
            rivals = [other for other in left if same(other) == same(home)]
            if len(others) == len(rivals) == 1:
                matched[home] = others[0]
    return matched


def _former_owners(
    was: Home | None, topology: Topology, base: Mapping[Home, Topology], head: Mapping[Home, Topology],
    matched: Mapping[Home, Home],
) -> Iterator[Topology]:  # fmt: skip
    """Resources that another topology no longer declares and this one declares now, in the same place."""
    became = {then: now for now, then in matched.items()}
    new = _addresses(topology) - _addresses(base.get(was) if was else None)
    for home, other in base.items():
        is_same_environment = other.environment in ("", topology.environment)
        if home == was or not is_same_environment or other.expect != topology.expect:
            continue
        gone = (_addresses(other) - _addresses(head.get(became[home]) if home in became else None)) & new
        if gone:
            yield replace(other, resources=_with_parents(other.resources, gone), removed=(), forget=(), bulk=())


def _addresses(topology: Topology | None) -> set[Address]:
    return {resource.address for resource in topology.resources} if topology else set()


def _with_parents(resources: Sequence[Declared], wanted: set[Address]) -> tuple[Declared, ...]:
    streams = {address.stream for address in wanted}
    return tuple(
        resource
        for resource in resources
        if resource.address in wanted or (resource.address.kind == "stream" and resource.address.name in streams)
    )
