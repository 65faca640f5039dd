"""Streams that one topology uses from another one of the same run: the owner's files must declare them, and what is read of
them should be stored there. Without a server; the ledger is asked by plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reconciler.documents.parse.complain import complain
from reconciler.kinds import REGISTRY
from reconciler.kinds.subjects.subjects import collide, is_valid
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import OWNER, Config, Declared
from reconciler.model.topology import Topology

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
    return complain(
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
