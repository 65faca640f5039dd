"""Everything that reads a stream, whoever made it: consumers, mirrors and sources, and partitioned groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.afterwards.stored import StoredSubjects
from reconciler.kinds.afterwards.streams import GONE, Copy, afterwards, live_streams
from reconciler.kinds.fields.words import few
from reconciler.kinds.group_records.member_subjects import group_subjects
from reconciler.kinds.losses.dependants import consumers, streams
from reconciler.kinds.stream_config.origins import feeds_in_other_accounts
from reconciler.kinds.subjects.filters import EVERYTHING, named_filters
from reconciler.kinds.subjects.subject_part import PartList, SubjectPart
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Something that reads a stream, with the subjects it wants; none: all."""

    label: str
    address: Address | None = None
    """None: it is no resource, as an ephemeral consumer."""
    filters: tuple[str, ...] = ()
    change: Change | None = None
    """What this plan does to it; None: it does not belong to this topology."""
    owner: str | None = None
    """The other topology that owns it."""
    is_protected: bool = False
    """It depends on the stream itself, and was applied with `protect: true`."""
    is_ephemeral: bool = False
    is_only_recorded: bool = False
    """It is not live, as far as was looked, and its owner's next apply brings it back."""

    @property
    def is_new(self) -> bool:
        """This plan creates the reader: it had nothing before that it could lose."""
        return self.change is not None and self.change.action is Action.CREATE

    def wants_any(self, stored: PartList) -> bool:
        """Does it want messages on any of these subjects? A reader without filters always does."""
        return not self.filters or any(map(stored.of, self.filters))

    def share(self, stored: PartList) -> list[SubjectPart]:
        """Those of these subjects that it wants."""
        return [part for mine in self.filters or EVERYTHING for part in stored.of(mine)]


def copying_readers(stream: str, view: View) -> Iterator[Reader]:
    """Mirrors, sourcing streams and the queues of elastic groups. A stream that has several sources here is one. Of other
    accounts and domains those that the server lists."""
    after = afterwards(view)
    by_stream: dict[str, list[Copy]] = {}
    for copy in after.copiers.get(stream, ()):
        by_stream.setdefault(copy.stream, []).append(copy)
    for name, copies in by_stream.items():
        group = elastic_groups(view).get(name)
        wanted = [copier.filters for copier in copies]
        yield Reader(
            label=_copy_label(copies[0], view), address=next(iter(streams([name], view)), None),
            filters=tuple(subject for some in wanted for subject in some) if all(wanted) else (),
            change=after.made_by.get(name), owner=owner_of_stream(name, view),
            is_protected=group is not None and view.protects(group.kind, *group.names),
        )  # fmt: skip
    for feed in feeds_in_other_accounts(stream, view.snapshot):
        filters = () if feed.subjects == EVERYTHING else tuple(feed.subjects)
        yield Reader(label=f"stream {feed.copy}", filters=filters)


def all_copying_streams(stream: str, view: View) -> Iterator[str]:
    """Streams that copy this one, directly or through others."""
    copiers, seen, todo = afterwards(view).copiers, {stream}, [stream]
    while todo:
        for copy in copiers.get(todo.pop(), ()):
            if copy.stream not in seen:
                seen.add(copy.stream)
                todo.append(copy.stream)
                yield copy.stream


def owner_of_stream(stream: str, view: View) -> str | None:
    """The other topology that owns a stream, under any kind's name."""
    if group := elastic_groups(view).get(stream):
        return view.owner_of(group.kind, *group.names)
    return next(filter(None, (view.owner_of(address.kind, *address.names) for address in view.backed_by(stream))), None)


def _copy_label(copy: Copy, view: View) -> str:
    if group := elastic_groups(view).get(copy.stream):
        return f"elastic group {group.name}"
    return f"{'mirror' if copy.is_mirror else 'stream'} {copy.stream}"


@lru_cache(maxsize=4)
def elastic_groups(view: View) -> dict[str, Address]:
    """Groups by the names of their own streams."""
    return {"-".join(a.names): a for a in (*view.live, *view.desired) if a.kind == "elastic_group"}


def static_groups(stream: str, view: View) -> Iterator[tuple[Address, Config]]:
    """Static groups that stay or are created, with their configuration."""
    return iter(_static_groups_by_stream(view).get(stream, ()))


@lru_cache(maxsize=4)
def _static_groups_by_stream(view: View) -> dict[str, list[tuple[Address, Config]]]:
    by_stream: dict[str, list[tuple[Address, Config]]] = {}
    for address in dict.fromkeys((*view.live, *view.desired)):
        change = view.changes.get(address)
        if address.kind != "static_group" or (change and change.action in GONE):
            continue
        resource = (change.desired if change else None) or view.live.get(address) or view.desired[address]
        by_stream.setdefault(address.stream, []).append((address, resource.config))
    return by_stream


def group_readers(stream: str, view: View) -> Iterator[Reader]:
    """Static groups: their members read subjects after the partition number."""
    for address, config in static_groups(stream, view):
        yield Reader(
            label=f"static group {address.name}", address=address, filters=group_subjects(config),
            change=view.changes.get(address), owner=view.owner_of(address.kind, *address.names),
            is_protected=view.protects(address.kind, *address.names),
        )  # fmt: skip


def consumer_readers(stream: str, view: View) -> Iterator[Reader]:
    """Consumers as they will be."""
    live = view.snapshot.consumers.get(stream, {})
    changes = {change.address.name: change for change in view.children(stream, "consumer")}
    for name, info in live.items():
        if name not in changes:
            fleeting = not info["config"].get("durable_name")
            label = f"{'ephemeral ' if fleeting else ''}consumer {name}"
            owner = view.owner_of("consumer", stream, name)
            address = next(iter(consumers(stream, [name], view)), None)
            yield Reader(
                label=label, address=address, filters=named_filters(info["config"]), is_ephemeral=fleeting, owner=owner
            )
    for name, change in changes.items():
        resource = change.desired or change.live
        if change.action not in GONE and resource:
            yield Reader(
                label=f"consumer {name}", address=change.address, filters=named_filters(resource.config), change=change,
                is_protected=view.protects("consumer", stream, name),
            )  # fmt: skip


def recorded_readers(stream: str, view: View) -> Iterator[Reader]:
    """Readers that the ledger knows of another topology, and that are not live: deleted by hand, or not looked at."""
    return iter(_recorded_by_stream(view).get(stream, ()))


def readers_as_applied(stream: str, view: View) -> Iterator[Reader]:
    """Consumers of another topology as it applied them, if somebody has changed their filters since: its next apply puts
    those back."""
    for name, info in view.snapshot.consumers.get(stream, {}).items():
        address = Address.of("consumer", stream, name)
        owned = view.ledger.get(address)
        if owned and owned.topology != view.topology and named_filters(owned.applied) != named_filters(info["config"]):
            for _, reader in _readers_on_record(address, owned, view):
                wants = few(reader.filters) or "everything"
                yield replace(reader, label=f"{reader.label} as {owned.topology} applied it ({wants})")


@lru_cache(maxsize=4)
def _recorded_by_stream(view: View) -> dict[str, list[Reader]]:
    by_stream: dict[str, list[Reader]] = {}
    for address, owned in view.ledger.items():
        if owned.topology != view.topology and not _is_live(address, view):
            for stream, reader in _readers_on_record(address, owned, view):
                by_stream.setdefault(stream, []).append(reader)
    return by_stream


def _readers_on_record(address: Address, owned: Owned, view: View) -> Iterator[tuple[str, Reader]]:
    """What it reads by its record, by stream."""
    kind = view.kinds.get(address.kind)
    for reads in kind.reads(address, owned.applied) if kind else ():
        filters = () if reads.subjects == EVERYTHING else reads.subjects
        label = f"{address.kind.replace('_', ' ')} {address.name}"
        yield (
            reads.stream,
            Reader(label=label, address=address, filters=filters, owner=owned.topology, is_only_recorded=True),
        )


def _is_live(address: Address, view: View) -> bool:
    """Is it there, under whatever kind's name? A consumer of a bucket, or of a group's queue, is no resource."""
    if address in view.live or view.stream_of(address) in view.snapshot.streams:
        return True
    return address.kind == "consumer" and address.name in view.snapshot.consumers.get(address.stream, {})


@lru_cache(maxsize=4)
def stored_subjects_afterwards(view: View) -> StoredSubjects:
    """The subjects under which streams will store messages once this plan is applied; computed once per view."""
    return StoredSubjects(afterwards(view).streams)


@lru_cache(maxsize=4)
def stored_subjects_now(view: View) -> StoredSubjects:
    """The subjects under which live streams store messages; computed once per view."""
    return StoredSubjects(live_streams(view))
