"""Reads topologies from files, with every kind that is registered.

Streams that one topology uses from another one of the same run: the owner's files must declare them, and what is read of
them should be stored there. Without a server; the ledger is asked by plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

from reconciler.documents.fill.environments import is_pattern
from reconciler.documents.fill.values import Filled
from reconciler.documents.find.discover import load_each
from reconciler.documents.find.policies import with_policies
from reconciler.documents.parse.files import DISK, Tree
from reconciler.documents.parse.nodes import error_at
from reconciler.documents.read.load import Loaded
from reconciler.kinds import REGISTRY
from reconciler.kinds.subjects.subjects import collide, is_valid
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity, ordered
from reconciler.model.resource import OWNER, Address, Config, Declared
from reconciler.model.topology import BulkEntry, Topology


class SeveralTopologies(CannotContinue):
    """The files hold several topologies, and the command works on one."""

    each: tuple[Loaded, ...] = ()

    def readable(self, environment: str | None = None) -> list[Loaded]:
        """Return all topologies of one account in the order in which to apply them; of an environment, those that declare
        it. Raises CannotContinue with every problem in any of them."""
        each = self._declaring_topologies(environment)
        wrong = dict.fromkeys(item for loaded in each if loaded.topology is None for item in loaded.diagnostics)
        if problems := [*wrong] or [*_claimed_twice(each), *_missing_declarations(each)]:
            raise CannotContinue(*problems)
        return in_order(each)

    def topologies_without(self, environment: str | None) -> list[str]:
        """Return the names of the topologies that do not declare this environment."""
        declaring = self._declaring_topologies(environment)
        return [loaded.name for loaded in self.each if loaded not in declaring]

    def _declaring_topologies(self, environment: str | None) -> list[Loaded]:
        """Return those that declare this environment. Where none does, its name is wrong, and all of them say so."""
        declaring = (loaded for loaded in self.each if not environment or environment in loaded.environments)
        return [*declaring] or [*self.each]


def load(paths: Sequence[Path], tree: Tree = DISK) -> Loaded:
    """Load one topology from files and folders, or several, each on its own, with its policies; every problem in the files
    is reported."""
    loaded = with_policies(load_each(paths, REGISTRY, tree), REGISTRY, tree)
    return replace(loaded, each=tuple(with_policies(topology, REGISTRY, tree) for topology in loaded.each))


def in_environments(
    topologies: Sequence[Loaded], tree: Filled, wanted: str | None, others: Iterable[Loaded] = ()
) -> list[list[Loaded]]:
    """Load each topology in each of its environments that the name or pattern matches; in all of them without one. A
    topology without environments is loaded as it is, unless one is asked for by its name. One that lacks what is asked for
    is not loaded at all, unless none of them and of the others declares that: then its name is wrong."""
    meant = [_environments_of(loaded, wanted) for loaded in topologies]
    if not any(meant) and not any(_environments_of(other, wanted) for other in others):
        meant = [[wanted or ""] for _ in topologies]
    return [
        [load(loaded.paths, replace(tree, environment=name)) if name else loaded for name in names]
        for loaded, names in zip(topologies, meant, strict=True)
    ]


def _environments_of(loaded: Loaded, wanted: str | None) -> list[str]:
    """Names of environments of the topology; an empty name is the topology as it is."""
    if not loaded.environments and (wanted is None or is_pattern(wanted)):
        return [""]
    return [name for name in loaded.environments if fnmatchcase(name, wanted or "*")]


def without_repeated_diagnostics(each: Sequence[Loaded]) -> Iterator[Loaded]:
    """Say what is wrong in all environments of a topology once, and of anything else, in which environment it is."""
    for loaded in each:
        same_files = [other for other in each if other.paths == loaded.paths]  # an environment may give another name
        if len(same_files) == 1:
            yield loaded
            continue
        shared = set.intersection(*(set(other.diagnostics) for other in same_files))
        where = (loaded.topology or loaded.readable or Topology(name="")).environment
        own = [replace(d, message=f"{where}: {d.message}") for d in loaded.diagnostics if d not in shared]
        first = [finding for finding in loaded.diagnostics if finding in shared] if loaded is same_files[0] else []
        if own or first or not any(finding.is_error for finding in loaded.diagnostics):
            yield replace(loaded, diagnostics=tuple(ordered([*first, *own])))


def read_topology(paths: Sequence[Path], tree: Tree = DISK) -> Topology:
    """Read one topology. Raises CannotContinue where there is none."""
    return topology_of(load(paths, tree))


def topology_of(loaded: Loaded) -> Topology:
    """Return the topology that was loaded. Raises SeveralTopologies where there are several, CannotContinue where none could be
    read."""
    if loaded.each:
        several = SeveralTopologies(*loaded.diagnostics)
        several.each = loaded.each
        raise several
    if loaded.topology is None:
        raise CannotContinue(*loaded.diagnostics, topology=loaded.name)
    return loaded.topology


def topologies_of(loaded: Loaded, environment: str | None) -> list[Topology]:
    """Return the topologies of one account that were loaded. Raises CannotContinue where one of them could not be read."""
    try:
        return [topology_of(loaded)]
    except SeveralTopologies as several:
        return [topology_of(readable) for readable in several.readable(environment)]


def in_order(each: Sequence[Loaded]) -> list[Loaded]:
    """Order topologies. One that forgets an object goes before one that declares it, and one that declares an object goes
    before one that names it as `external`. One that removes a consumer or a group goes before one that removes its stream.
    Otherwise the order of the files stays."""
    ordered, left = list[Loaded](), [_Claims.of(claims) for claims in each]
    while left:
        free = (
            claims for claims in left if not any(other.must_precede(claims) for other in left if other is not claims)
        )
        going = next(free, left[0])  # two topologies may depend on each other
        ordered.append(going.loaded)
        left.remove(going)
    return ordered


def owners_named(each: Sequence[Loaded]) -> dict[str, dict[str, str]]:
    """Return the owners of streams that the files of each topology name."""
    topologies = [loaded.topology for loaded in each if loaded.topology]
    return {
        topology.name: {resource.address.name: resource.owner for resource in topology.resources if resource.owner}
        for topology in topologies
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Claims:
    """The addresses that one topology claims or gives up."""

    loaded: Loaded
    declared: Mapping[Address, Mapping[str, str]]
    """With their labels."""
    elsewhere: frozenset[Address]
    """Declared as `external`."""
    given_up: frozenset[Address]
    removed: frozenset[Address] = frozenset()
    bulk: tuple[BulkEntry, ...] = ()
    """Entries of `forget` that are about many. Only records tell what they match, so what the other declares stands in."""

    @property
    def streams(self) -> frozenset[str]:
        """What is declared, by the streams behind it: others use a bucket as `KV_` and its name."""
        return frozenset(name for address in self.declared if (name := REGISTRY.of(address).stream(address)))

    @classmethod
    def of(cls, loaded: Loaded) -> _Claims:
        if loaded.topology is None:
            return cls(loaded, {}, frozenset(), frozenset())
        resources, given_up = loaded.topology.resources, frozenset(entry.address for entry in loaded.topology.forget)
        elsewhere = frozenset(resource.address for resource in resources if resource.external)
        declared = {resource.address: resource.spec.labels for resource in resources if not resource.external}
        bulk = tuple(entry for entry in loaded.topology.bulk if entry.key == "forget")
        removed = frozenset(entry.address for entry in loaded.topology.removed)
        return cls(loaded, declared, elsewhere - given_up, given_up, removed, bulk)

    def must_precede(self, other: _Claims) -> bool:
        """Does it give up an address that the other declares, declare one that the other names as `external`, or remove what
        hangs on a stream that the other removes?"""
        if not self.given_up.isdisjoint(other.declared):
            return True
        if not self.streams.isdisjoint(address.name for address in other.elsewhere):
            return True
        removed_streams = {REGISTRY.of(address).stream(address) for address in other.removed}
        if not removed_streams.isdisjoint(_streams_below(self.removed)):
            return True
        return any(entry.selects(address, labels) for entry in self.bulk for address, labels in other.declared.items())


def _streams_below(removed: Iterable[Address]) -> Iterator[str]:
    """The streams of consumers and groups."""
    return (address.stream for address in removed if REGISTRY.of(address).place.within)


def _missing_declarations(each: Sequence[Loaded]) -> Iterator[Diagnostic]:
    """Find streams that one topology uses from another one, whose files do not declare them."""
    topologies = [loaded.topology for loaded in each if loaded.topology]
    for topology in topologies:
        yield from (problem for problem in used_stream_problems(topology, topologies) if problem.is_error)


def _claimed_twice(each: Sequence[Loaded]) -> Iterator[Diagnostic]:
    """Find objects that two topologies of one account both declare. Topologies that `expect` different places never
    meet."""
    for topology, other in combinations([loaded.topology for loaded in each if loaded.topology], 2):
        if topology.expect != other.expect:
            continue
        theirs = {declared.address: declared for declared in other.resources}
        for ours in topology.resources:
            again = theirs.get(ours.address)
            if again and not ours.external and not again.external:
                message = (
                    f"`{ours.address}` is declared by topology {other.name} here and by {topology.name} at "
                    f"{ours.where('')}; only one of them can own it"
                )
                fix = (
                    "delete it from one topology; if the two are for different accounts, run them separately "
                    "and name each one's files"
                )
                yield error_at("XX523", "declared-twice", message, again.where(""), address=str(ours.address), fix=fix)


SHAPED = ("mirror", "sources", "subject_transform")
"""With one of these, a stream stores other subjects than it declares."""


def used_stream_problems(topology: Topology, others: Iterable[Topology]) -> Iterator[Diagnostic]:
    """Judge what a topology uses of others that are for the same account."""
    neighbours = [other for other in others if other.name != topology.name and other.expect == topology.expect]
    for resource in topology.resources:
        owners = [other for other in neighbours if other.name == resource.owner]
        if resource.owner is None or not owners:
            continue
        declarations = [
            (other, declaration)
            for other in neighbours
            if (declaration := _declaration_of_stream(resource.address.name, other))
        ]
        if owners_declaration := next(
            (declaration for other, declaration in declarations if other.name == resource.owner), None
        ):
            yield from _unmatched_filters(resource, owners_declaration, topology)
        else:
            yield _not_declared(resource, declarations)


def _declaration_of_stream(stream: str, topology: Topology) -> Declared | None:
    """What a topology declares that is this stream, under any kind's name."""
    own = (resource for resource in topology.resources if not resource.external)
    return next((mine for mine in own if REGISTRY.of(mine.address).stream(mine.address) == stream), None)


def _not_declared(resource: Declared, declarations: Sequence[tuple[Topology, Declared]]) -> Diagnostic:
    message = f"topology {resource.owner} does not declare stream {resource.address.name}, and is to own it"
    fix = f"declare it in {resource.owner}, name its owner, or write `external: true`, which asks for no owner"
    if declarations:
        owner, owners_declaration = declarations[0]
        message = f"{message}; {owner.name} declares it at {owners_declaration.where('')}"
        fix = f"write `from: {OWNER}{owner.name}`"
    return error_at(
        "XX531", "not-declared-there", message, resource.where("external.from"), address=str(resource.address), fix=fix
    )


def _unmatched_filters(declared: Declared, owners_declaration: Declared, topology: Topology) -> Iterator[Diagnostic]:
    """Filters that match nothing of what the owner's files say."""
    config = _written_config(owners_declaration)
    if owners_declaration.address.kind != "stream" or any(config.get(name) for name in SHAPED):
        return
    subjects = config.get("subjects") or [owners_declaration.address.name]
    for reader in topology.resources:
        written = _written_config(reader)
        for read in REGISTRY.of(reader.address).reads(reader.address, written) if not reader.external else ():
            filters = (subject for subject in read.subjects if is_valid(subject))
            wrong = [subject for subject in filters if not any(collide(subject, stored) for stored in subjects)]
            if read.stream == declared.address.name and wrong:
                yield Diagnostic(
                    severity=Severity.WARNING, code="XX234", name="filter-matches-nothing",
                    message=f"`{wrong[0]}` matches no subject of {read.stream} ({', '.join(subjects)}), which {declared.owner} declares at "
                    f"{owners_declaration.where('subjects')}",
                    span=reader.where(_path_of_filter(wrong[0], written)), address=str(reader.address),
                    fix="correct the filter, or let the owner add the subject",
                )  # fmt: skip


def _path_of_filter(subject: str, config: Config) -> str:
    """The field that says it."""
    filters = list(config.get("filter_subjects") or ())
    return f"filter_subjects[{filters.index(subject)}]" if subject in filters else "filter_subject"


def _written_config(resource: Declared) -> Config:
    return resource.spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
