"""Streams that one topology uses from another one of the same run: the owner's files must declare them, and what is read of
them should be stored there. Without a server; the ledger is asked by plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reconciler.documents.read.complain import complain
from reconciler.kinds import REGISTRY
from reconciler.kinds.subjects.subjects import collide, is_valid
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import OWNER, Config, Declared
from reconciler.model.topology import Topology

SHAPED = ("mirror", "sources", "subject_transform")
"""With one of these, a stream stores other subjects than it declares."""


def used(topology: Topology, others: Iterable[Topology]) -> Iterator[Diagnostic]:
    """Judge what a topology uses of others that are for the same account."""
    beside = [one for one in others if one.name != topology.name and one.expect == topology.expect]
    for one in topology.resources:
        owners = [other for other in beside if other.name == one.owner]
        if one.owner is None or not owners:
            continue
        found = [(other, its) for other in beside if (its := _declaring(one.address.name, other))]
        if theirs := next((its for other, its in found if other.name == one.owner), None):
            yield from _unmatched(one, theirs, topology)
        else:
            yield _not_declared(one, found)


def _declaring(stream: str, topology: Topology) -> Declared | None:
    """What a topology declares that is this stream, under any kind's name."""
    own = (one for one in topology.resources if not one.external)
    return next((one for one in own if REGISTRY.of(one.address).stream(one.address) == stream), None)


def _not_declared(one: Declared, found: Sequence[tuple[Topology, Declared]]) -> Diagnostic:
    message = f"topology {one.owner} does not declare stream {one.address.name}, and is to own it"
    fix = f"declare it in {one.owner}, name its owner, or write `external: true`, which asks for no owner"
    if found:
        owner, theirs = found[0]
        message = f"{message}; {owner.name} declares it at {theirs.where('')}"
        fix = f"write `from: {OWNER}{owner.name}`"
    return complain(
        "XX531", "not-declared-there", message, one.where("external.from"), address=str(one.address), fix=fix
    )


def _unmatched(used: Declared, theirs: Declared, topology: Topology) -> Iterator[Diagnostic]:
    """Filters that match nothing of what the owner's files say."""
    config = _said(theirs)
    if theirs.address.kind != "stream" or any(config.get(name) for name in SHAPED):
        return
    subjects = config.get("subjects") or [theirs.address.name]
    for one in topology.resources:
        for read in REGISTRY.of(one.address).reads(one.address, _said(one)) if not one.external else ():
            wrong = [
                said for said in read.subjects if is_valid(said) and not any(collide(said, its) for its in subjects)
            ]
            if read.stream == used.address.name and wrong:
                yield Diagnostic(
                    severity=Severity.WARNING, code="XX234", name="filter-matches-nothing",
                    message=f"`{wrong[0]}` matches no subject of {read.stream} ({', '.join(subjects)}), which {used.owner} declares at "
                    f"{theirs.where('subjects')}",
                    span=one.where(_path(wrong[0], _said(one))), address=str(one.address),
                    fix="correct the filter, or let the owner add the subject",
                )  # fmt: skip


def _path(subject: str, config: Config) -> str:
    """The field that says it."""
    many = list(config.get("filter_subjects") or ())
    return f"filter_subjects[{many.index(subject)}]" if subject in many else "filter_subject"


def _said(one: Declared) -> Config:
    return one.spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
