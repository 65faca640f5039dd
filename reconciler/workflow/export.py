"""Account → YAML whose plan is empty at once: only what differs from the server's defaults, in units people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from reconciler.core.diagnostic import Diagnostic, Severity
from reconciler.core.kind import Context, Kind, Registry
from reconciler.core.reconcile import recognised
from reconciler.core.records import BUCKET
from reconciler.core.resource import Address, Declared, Json, Resource
from reconciler.core.wire import Scope, Snapshot
from reconciler.documents.write import dump
from reconciler.kinds import REGISTRY
from reconciler.kinds.primitives.values import show_bytes, show_duration
from reconciler.server import ledger
from reconciler.server.api import JetStream
from reconciler.server.observe import observe

SHOWN = {"duration": show_duration, "bytes": show_bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A file, and what is live but could not be written into it."""

    text: str
    left_out: tuple[Diagnostic, ...] = ()


async def export(
    js: JetStream, *, topology: str | None = None, only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> str:
    """The whole account, or what the patterns select, as one deterministic file."""
    return (await exported(js, topology=topology, only=only, exclude=exclude)).text


async def exported(
    js: JetStream, *, topology: str | None = None, only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Exported:
    """The same with what had to be left out, so that nobody takes a part for the whole."""
    snapshot = await observe(js)
    return Exported(
        text=dump(topology or _owner(snapshot), sections(snapshot, REGISTRY, only, exclude)),
        left_out=(*_unread(snapshot), *_broken(recognised(snapshot, REGISTRY, {}), only, exclude)),
    )


def _unread(snapshot: Snapshot) -> Iterator[Diagnostic]:
    """What could not be read; our own records are no part of an export."""
    for scope, why in sorted(snapshot.unknown.items()):
        if scope != Scope.bucket(BUCKET):
            yield Diagnostic(
                severity=Severity.ERROR, code="XX904", name="export-incomplete",
                message=f"{scope} could not be read, so the file lacks what is there: {why}",
                fix="export again when that can be read, as a user who may read it",
            )  # fmt: skip


def _broken(live: Mapping[Address, Resource], only: Sequence[str], exclude: Sequence[str]) -> Iterator[Diagnostic]:
    for address in sorted(live):
        if (why := live[address].state.get("broken")) and _selected(str(address), only, exclude):
            yield Diagnostic(
                severity=Severity.WARNING, code="XX905", name="not-exported", address=str(address),
                message=f"left out of the file: {why}", fix="repair or delete its record, with all members stopped",
            )  # fmt: skip


def _owner(snapshot: Snapshot) -> str:
    """Whose the account is: a file in another name would be refused what it says."""
    owners = {record.topology for record in ledger.read(snapshot).records.values()}
    return owners.pop() if len(owners) == 1 else "exported"


def sections(
    snapshot: Snapshot, registry: Registry, only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> dict[str, Json]:
    """Top-level sections of a file; what hangs on a stream stands inside it."""
    live = recognised(snapshot, registry, {})
    chosen = sorted(a for a in live if _selected(str(a), only, exclude) and not live[a].state.get("broken"))
    found: dict[str, Json] = {}
    for kind in registry.within(None):
        own = {a.name: _entry(live[a], kind, snapshot, live) for a in chosen if a.kind == kind.name}
        for address in chosen:
            if registry.of(address).place.within == kind.name:
                _nest(own, address, live, snapshot, registry)
        if own:
            found[kind.place.section] = own
    return found


def _selected(address: str, only: Sequence[str], exclude: Sequence[str]) -> bool:
    wanted = not only or any(fnmatchcase(address, pattern) for pattern in only)
    return wanted and not any(fnmatchcase(address, pattern) for pattern in exclude)


def _nest(
    parents: dict[str, Json], address: Address, live: Mapping[Address, Resource], snapshot: Snapshot, registry: Registry
) -> None:
    """A child of a stream that is not part of the export stands under that stream as someone else's."""
    kind = registry.of(address)
    if kind.place.within is None or Address(kind.place.within, address.names[:-1]) not in live:
        return  # a record left behind by a stream that is gone: nothing a file could declare
    parent = parents.setdefault(address.names[0], {"external": True})
    entry = _entry(live[address], kind, snapshot, live)
    parent.setdefault(kind.place.section, {})[address.name] = entry


def _entry(resource: Resource, kind: Kind, snapshot: Snapshot, live: Mapping[Address, Resource]) -> dict[str, Json]:
    known, rendered = kind.spec.model_fields, kind.render(resource)
    said = {name: value for name, value in rendered.items() if name in known}
    parent = live.get(Address(kind.place.within, resource.address.names[:-1])) if kind.place.within else None
    context = Context(target=snapshot.target, parent=parent, snapshot=snapshot)
    said = _without_filled(said, resource, kind, context)
    if left := _beyond_words(rendered, said, resource, kind, context):
        said["unmanaged"] = left
    shown = {
        name: in_units(value, kind.fields[name].unit) if name in kind.fields else value for name, value in said.items()
    }
    return (dict([kind.place.tag]) if kind.place.tag else {}) | {name: shown[name] for name in known if name in shown}


def _beyond_words(
    rendered: Mapping[str, Json], said: Mapping[str, Json], resource: Resource, kind: Kind, context: Context
) -> list[str]:
    """Live fields that no file of this kind can say: they stay as found, or the plan of the export would change them."""
    fills = _settled(said, resource, kind, context).open
    strange = sorted(rendered.keys() - kind.spec.model_fields.keys())
    return [name for name in strange if not (name in fills and fills[name](rendered[name]))]


def _without_filled(said: dict[str, Json], resource: Resource, kind: Kind, context: Context) -> dict[str, Json]:
    """Leave out what the server fills in by itself: a left-out field equals it."""
    bare = {name: value for name, value in said.items() if name not in _openable(kind, said, resource, context)}
    settled = _settled(bare, resource, kind, context)
    filled = {name for name in said.keys() - bare.keys() if name in settled.open and settled.open[name](said[name])}
    return {name: value for name, value in said.items() if name not in filled}


def _openable(kind: Kind, said: Mapping[str, Json], resource: Resource, context: Context) -> frozenset[str]:
    required = {
        name: said[name] for name, field in kind.spec.model_fields.items() if field.is_required() and name in said
    }
    return frozenset(_settled(required, resource, kind, context).open)


def _settled(said: Mapping[str, Json], resource: Resource, kind: Kind, context: Context) -> Resource:
    return kind.settle(Declared(address=resource.address, spec=kind.spec.model_validate(said)), context)


def in_units(value: Json, unit: str) -> Json:
    if unit == "durations":
        return [show_duration(item) for item in value]
    show = SHOWN.get(unit)
    return show(value) if show and isinstance(value, int) else value
