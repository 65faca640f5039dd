"""Desired × live → changes: pairs declared resources with live and owned ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date

from reconciler.changes.diff import Action, Change
from reconciler.changes.kind import Context, Kind, Raw, Registry, as_found
from reconciler.changes.rebase import rebase
from reconciler.changes.view import View
from reconciler.engine import bulk, identity, moves, unfinished
from reconciler.engine import take_over as handover
from reconciler.engine.misnamed import KnownNames, misnamed
from reconciler.memory.remembered import Memory
from reconciler.model.intents import Intent, intents
from reconciler.model.records import Owned, is_stale
from reconciler.model.resource import Address, Resource, nowhere
from reconciler.model.run_options import NO_OPTIONS, RunOptions
from reconciler.model.topology import Removed, Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.policies.policies import Policies

Ledger = Mapping[Address, Owned]


def recognised(
    snapshot: Snapshot,
    registry: Registry,
    declared: Collection[Address] = (),
    known: Collection[Address] = (),
    external: Collection[Address] = (),
) -> dict[Address, Resource]:
    """Every live resource, under the one kind that owns its raw object: the kind it is declared as, else the kind it is
    `known` as (remembered, or to be removed), else the kind that it looks like. An `external` stream also appears as
    that stream, whatever it is to its owner: the stream behind a bucket has consumers of its own."""
    claims = {raw: kind.name for kind in registry.kinds for raw in kind.claims(snapshot)}
    wanted = {*declared}
    for address in (*(one for one in known if one not in wanted), *declared):
        kind = registry.of(address)
        claims[kind.primary(address)] = kind.name
        claims.update(dict.fromkeys(kind.derived(address), kind.name))
    elsewhere = {registry.of(address).primary(address) for address in external}
    return {
        resource.address: resource
        for kind in registry.kinds
        for resource in kind.recognise(snapshot)
        if _is_its_own(kind, resource.address, claims, elsewhere, registry)
    }


def _is_its_own(
    kind: Kind, address: Address, claims: Mapping[Raw, str], elsewhere: Collection[Raw], registry: Registry
) -> bool:
    """No other kind claims the raw object itself, and the stream it belongs to is not part of something else."""
    raw = kind.primary(address)
    if kind.place.within:
        stream = Raw("stream", address.names[:1])
        holder = claims.get(stream, kind.place.within)
        if stream not in elsewhere and registry[holder].backing is None:
            return False
    return raw in elsewhere or claims.get(raw, kind.name) == kind.name


def settled(
    topology: Topology, snapshot: Snapshot, registry: Registry, live: Mapping[Address, Resource]
) -> dict[Address, Resource]:
    """Every declared resource in canonical form, parents first. A child is settled under its parent as that will be."""
    kinds = [registry.of(one.address) for one in topology.resources]
    said = [
        (as_found(one, live.get(one.address), kind), kind) for one, kind in zip(topology.resources, kinds, strict=True)
    ]
    lent = {stream: what for one, kind in said if kind.lends for stream, what in kind.lends(one).items()}
    at_the_top = Context(target=snapshot.target, snapshot=snapshot, lent=lent)
    desired = {one.address: kind.settle(one, at_the_top) for one, kind in said if not kind.place.within}
    parents = {address: _afterwards(one, live.get(address), registry.of(address)) for address, one in desired.items()}
    parents |= dict(_of_buckets(desired, parents, registry))
    below = {address: replace(at_the_top, parent=one) for address, one in parents.items()}
    for one, kind in said:
        if kind.place.within:
            context = below.get(Address(kind.place.within, one.address.names[:-1]), at_the_top)
            desired[one.address] = kind.settle(one, context)
    return {one.address: desired[one.address] for one, _ in said} | dict(_using(topology, desired, registry))


def _of_buckets(
    desired: Mapping[Address, Resource], parents: Mapping[Address, Resource], registry: Registry
) -> Iterator[tuple[Address, Resource]]:
    """Streams that buckets of the same files decide, and which stand there as `external`, for their consumers."""
    for address, resource in desired.items():
        for bucket in registry.backed_by(address.name) if resource.external else ():
            if bucket != address and bucket in parents:
                body = registry.of(bucket).as_stream(parents[bucket])
                yield address, replace(parents[address], config=body)


def _using(
    topology: Topology, desired: Mapping[Address, Resource], registry: Registry
) -> Iterator[tuple[Address, Resource]]:
    """What reads a stream of another topology, if the files name that topology."""
    owners = {one.address.name: one.owner for one in topology.resources if one.owner}
    for address, resource in desired.items() if owners else ():
        streams = {one.stream for one in registry.of(address).reads(address, resource.config)}
        if uses := {stream: owners[stream] for stream in sorted(streams & owners.keys())}:
            yield address, replace(resource, uses=uses)


def _afterwards(desired: Resource, live: Resource | None, kind: Kind) -> Resource:
    """A parent that someone else manages, and fields that are left as found, stay as they are live."""
    if live is None:
        return desired
    return live if desired.external else replace(desired, config=rebase(desired, live, None, kind.fields))


def compare(
    topology: Topology, snapshot: Snapshot, memory: Memory, registry: Registry, options: RunOptions = NO_OPTIONS
) -> View:
    """Pairs desired, live and owned resources, and decides what happens to each address."""
    owners = handover.owners(topology, options.day)
    matches = bulk.matched(topology, memory.records, owners, registry, options.day)
    topology = bulk.expanded(topology, matches, options.day)
    ledger = handover.taken_over(topology, memory.records, options)
    going = (*(one.address for one in topology.removed), *(one.address for one in topology.forget))
    known = [*ledger, *(address for address in going if registry.holds(address))]
    external = [one.address for one in topology.resources if one.external]
    declared = [one.address for one in topology.resources if not one.external]
    live = recognised(snapshot, registry, declared, known, external)
    desired = settled(topology, snapshot, registry, live)
    begun = {address: intent for address, intent in intents(snapshot).items() if registry.holds(address)}
    changes = {
        address: _wanted(resource, live.get(address), ledger, begun.get(address), registry, snapshot)
        for address, resource in desired.items()
    }
    changes |= unfinished.left_by_renames(changes, begun, registry)
    changes |= _brought_along(changes, registry)
    ours = {address for address, owned in ledger.items() if owned.topology == topology.name}
    elsewhere = [one for one in desired.values() if one.external and one.address in ours]
    changes |= _unwanted(topology, elsewhere, live, ledger, ours, begun, registry, snapshot, options.day)
    changes |= unfinished.undeclared(topology, begun, changes)
    changes |= moves.moved(topology, live, ledger, changes, registry, snapshot)
    changes |= moves.left_behind(changes, registry)
    changes = {address: _identified(change, registry, snapshot, ledger) for address, change in changes.items()}
    changes |= handover.remembered_anew(changes)
    changes |= handover.given_up(changes, options)
    if not memory.is_known:
        changes = {a: _not_adopted(c) if c.action is Action.ADOPT else c for a, c in changes.items()}
    there = KnownNames(
        live=live.keys(), ledger=ledger, begun=begun.keys(), snapshot=snapshot, ledger_known=memory.is_known
    )
    unmatched = [one.entry for one in matches if not one.addresses]
    return View(
        topology=topology.name,
        environment=topology.environment,
        source=options.came_from.repository,
        ledger_known=memory.is_known,
        snapshot=snapshot,
        desired=desired,
        live=live,
        changes=changes,
        ledger=ledger,
        unmanaged=tuple(sorted(a for a in live if a not in desired and a not in ours)),
        guards=topology.guards,
        refusals=tuple(one for one in bulk.refusals(matches, options.day) if one[0] in changes),
        allow=topology.allow,
        given_up=dict(options.given_up),
        diagnostics=(*memory.problems, *misnamed(topology, there, registry, options.day, unmatched)),
        kinds=registry.by_name,
        policies=Policies(topology.policies, registry) if topology.policies else None,
        today=options.day,
    )


def counted(view: View) -> dict[str, int]:
    """How many objects were read."""
    snapshot = view.snapshot
    return {
        "streams": len(snapshot.streams),
        "consumers": sum(len(consumers) for consumers in snapshot.consumers.values()),
        "groups": sum(address.kind.endswith("_group") for address in view.live),
    }


def _wanted(
    desired: Resource,
    live: Resource | None,
    ledger: Ledger,
    intent: Intent | str | None,
    registry: Registry,
    snapshot: Snapshot,
) -> Change:
    kind, owned = registry.of(desired.address), ledger.get(desired.address)
    why = kind.unknown(desired.address, snapshot) if live is None else None
    if why or isinstance(intent, str):
        reason = why or f"{unfinished.UNREADABLE}: {intent}"
        return Change(
            address=desired.address, action=Action.UNKNOWN, desired=desired, where=desired.where, reason=reason
        )
    ours = None if desired.external else owned  # for an external resource only live matters, whoever remembers it
    begins = tuple(kind.begins(desired, live, snapshot)) if live and intent is None else ()
    if begins and ours and live and _made_anew(desired.address, ours, live, registry, snapshot, ledger):
        begins = ()  # it may have begun elsewhere than the one that was applied
    return unfinished.compared(desired, live, ours, intent, kind.fields, begins)


def _brought_along(changes: Mapping[Address, Change], registry: Registry) -> dict[Address, Change]:
    """Missing external streams that a bucket of the same files will create."""
    coming = {address for address, change in changes.items() if change.desired and not change.desired.external}
    return {
        address: replace(change, action=Action.KEEP)
        for address, change in changes.items()
        if change.action is Action.CREATE and change.desired and change.desired.external
        if any(one in coming for one in registry.backed_by(address.name))
    }


def _identified(change: Change, registry: Registry, snapshot: Snapshot, ledger: Ledger) -> Change:
    """If somebody recreated or changed an object exactly as declared, recording it makes it this topology's own again.
    What changes after that is drift."""
    if not change.owned or not change.live or not change.desired or change.intent:
        return change
    at_rest = Action.ADOPT if change.action is Action.KEEP else change.action
    known_as = change.origin or change.address  # a renamed object is still known by its old name
    if said := _made_anew(known_as, change.owned, change.live, registry, snapshot, ledger):
        return replace(change, action=at_rest, made_anew=said)
    if change.action is Action.KEEP and is_stale(change.owned, change.desired, registry.of(change.address).fields):
        return replace(change, action=at_rest)
    return change


def _made_anew(
    known_as: Address, owned: Owned, live: Resource, registry: Registry, snapshot: Snapshot, ledger: Ledger
) -> str:
    """Says that somebody recreated it, or the stream that belongs to it, and when; empty if both are the recorded ones, as
    far as anybody can tell."""
    created, before = live.state.get("created"), owned.seen.get("created")
    if before and created == before:  # nearly always, and thousands of times in a plan
        return ""
    kind = registry.of(known_as)
    if identity.made_anew(owned, known_as, kind, snapshot, ledger):
        return f"it was deleted, and recreated{f' at {created}' if created else ''}"
    if queue := identity.made_anew_behind(owned, known_as, kind, snapshot):
        return f"its stream {queue} was deleted, and recreated at {snapshot.streams[queue].get('created')}"
    return ""


def _not_adopted(change: Change) -> Change:
    """An object that cannot be remembered is only as declared."""
    return Change(
        address=change.address, action=Action.KEEP, desired=change.desired, live=change.live, where=change.where
    )


GIVEN_UP = "no longer managed here; stays as it is"
GONE = "already gone; an apply deletes its record"


def _unwanted(
    topology: Topology,
    elsewhere: Iterable[Resource],
    live: Mapping[Address, Resource],
    ledger: Ledger,
    ours: set[Address],
    begun: Collection[Address],
    registry: Registry,
    snapshot: Snapshot,
    today: date,
) -> dict[Address, Change]:
    """Removals, forgettings and orphans: owned addresses that the files no longer declare, or declare as external."""
    changes: dict[Address, Change] = {}
    ended = {one.address: one for one in topology.removed if one.until and today > one.until}
    for removed in topology.removed:
        if removed.address not in ended:
            changes[removed.address] = _removal(
                removed,
                live.get(removed.address),
                topology,
                ledger,
                registry,
                snapshot,
                is_begun=removed.address in begun,
            )
    given_up = {one.address: one.where for one in elsewhere}
    given_up |= {one.address: one.where for one in topology.forget}
    for address, where in given_up.items():
        if address not in ours and address in live and address not in begun:
            continue  # it was given up before: it lives on, and what happens to others concerns it
        action = Action.FORGET if address in ours else Action.ABSENT
        changes[address] = Change(
            address=address,
            action=action,
            live=live.get(address),
            owned=ledger.get(address),
            where=where,
            reason=GIVEN_UP if address in live else GONE,
        )
    declared = {d.address for d in topology.resources}
    rest = sorted(ours - declared - changes.keys())
    changes |= {one: _orphan(live[one], ledger[one], ended.get(one)) for one in rest if one in live}
    gone = [one for one in rest if one not in live]
    changes |= {one: _remaining(ledger[one], one) for one in gone if registry.of(one).remains(one, snapshot)}
    changes |= _renamed([one for one in gone if one not in changes], topology, ledger, registry)
    return changes


def _renamed(
    gone: Collection[Address], topology: Topology, ledger: Ledger, registry: Registry
) -> dict[Address, Change]:
    """Owned resources that the files now declare as another kind, backed by the same stream: one object has one
    record."""
    declared = {registry.of(one.address).stream(one.address): one for one in topology.resources} if gone else {}
    now = {address: declared.get(registry.of(address).stream(address) or "") for address in gone}
    return {
        address: Change(
            address=address,
            action=Action.FORGET,
            owned=ledger[address],
            where=one.where,
            reason=f"it is now {one.address}",
        )
        for address, one in now.items()
        if one
    }


def _orphan(live: Resource, owned: Owned, ended: Removed | None) -> Change:
    return Change(
        address=live.address,
        action=Action.ORPHAN,
        live=live,
        owned=owned,
        where=ended.where if ended else nowhere,
        reason=f"its entry in `removed` ended on {ended.until}" if ended else "",
    )


def _remaining(owned: Owned, address: Address) -> Change:
    reason = "only a part is left, as of a removal that was interrupted: `removed` deletes the rest"
    return Change(address=address, action=Action.ORPHAN, owned=owned, reason=reason)


def _removal(
    removed: Removed,
    live: Resource | None,
    topology: Topology,
    ledger: Ledger,
    registry: Registry,
    snapshot: Snapshot,
    *,
    is_begun: bool,
) -> Change:
    """`is_begun`: a run that was replacing it was interrupted, so a new object may be this topology's own."""
    address, owned = removed.address, ledger.get(removed.address)
    if live and owned and owned.topology == topology.name and not is_begun:
        owned = None if identity.made_anew(owned, address, registry.of(address), snapshot, ledger) else owned
    action, reason = Action.DELETE, removed.reason
    if live is None:
        kind = registry.of(address)
        if why := kind.unknown(address, snapshot):
            action, reason = Action.UNKNOWN, why
        elif owned and owned.topology == topology.name and kind.remains(address, snapshot):
            reason = "a run that was deleting it was interrupted; this continues where it stopped"
        else:
            action, reason = (Action.FORGET, GONE) if owned else (Action.ABSENT, removed.reason)
    return Change(address=address, action=action, live=live, owned=owned, where=removed.where, reason=reason)
