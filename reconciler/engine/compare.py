"""Desired × live → changes: pairs declared resources with live and owned ones.

Is this the account that the files are for? If it is another one, nothing is compared at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Registry
from reconciler.changes.view import View
from reconciler.engine.pairing import identity, moves, unfinished
from reconciler.engine.pairing.canonical import recognised_resources, settle_declared
from reconciler.engine.pairing.misnamed import KnownNames, misnamed_entries
from reconciler.engine.pairing.removals import changes_of_undeclared, expand_entries, match_entries, refusals_of_entries
from reconciler.engine.pairing.take_over import names_of_topology, take_over_records, with_new_records
from reconciler.memory.remembered import Ledger, Memory
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity, SourceSpan
from reconciler.model.ledger.intents import Intent, intents
from reconciler.model.ledger.records import Owned, is_stale
from reconciler.model.resource import Address, Resource
from reconciler.model.run_options import NO_OPTIONS, RunOptions
from reconciler.model.topology import Expect, Topology
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import SUPPORTED, Version, unsupported_version_sentence
from reconciler.policies.policies import Policies


def compare(
    topology: Topology, snapshot: Snapshot, memory: Memory, registry: Registry, options: RunOptions = NO_OPTIONS
) -> View:
    """Pair desired, live and owned resources, and decide what happens to each address."""
    owners = names_of_topology(topology, options.day)
    matches = match_entries(topology, memory.records, owners, registry, options.day)
    topology = expand_entries(topology, matches, options.day)
    ledger = take_over_records(topology, memory.records, options)
    going = (*(removal.address for removal in topology.removed), *(forgotten.address for forgotten in topology.forget))
    known_as = [*ledger, *(address for address in going if registry.holds(address))]
    external = [resource.address for resource in topology.resources if resource.external]
    declared = [resource.address for resource in topology.resources if not resource.external]
    live = recognised_resources(snapshot, registry, declared, known_as, external)
    desired = settle_declared(topology, snapshot, registry, live)
    begun = {address: intent for address, intent in intents(snapshot).items() if registry.holds(address)}
    changes = {
        address: _change_of_declared(resource, live.get(address), ledger, begun.get(address), registry, snapshot)
        for address, resource in desired.items()
    }
    changes |= unfinished.changes_left_by_renames(changes, begun, registry)
    ours = {address for address, owned in ledger.items() if owned.topology == topology.name}
    elsewhere = [resource for resource in desired.values() if resource.external and resource.address in ours]
    changes |= changes_of_undeclared(topology, elsewhere, live, ledger, ours, begun, registry, snapshot, options.day)
    changes |= unfinished.undeclared_replacements(topology, begun, changes)
    changes |= moves.changes_by_moves(topology, live, ledger, changes, registry, snapshot)
    changes |= moves.orphans_with_advice(changes, registry)
    changes = {
        address: _with_identity_checked(change, registry, snapshot, ledger) for address, change in changes.items()
    }
    changes |= with_new_records(changes)
    if not memory.is_known:
        changes = {a: _keep_unrecorded(c) if c.action is Action.ADOPT else c for a, c in changes.items()}
    names = KnownNames(
        live=live.keys(), ledger=ledger, begun=begun.keys(), snapshot=snapshot, ledger_known=memory.is_known
    )
    unmatched = [match.entry for match in matches if not match.addresses]
    return View(
        topology=topology.name,
        environment=topology.environment,
        own_entries=topology.own_entries,
        source=options.came_from.repository,
        ledger_known=memory.is_known,
        snapshot=snapshot,
        desired=desired,
        live=live,
        changes=changes,
        ledger=ledger,
        unmanaged=tuple(sorted(a for a in live if a not in desired and a not in ours)),
        guards=topology.guards,
        refusals=tuple(refusal for refusal in refusals_of_entries(matches, options.day) if refusal[0] in changes),
        allow=topology.allow,
        stopped=options.stopped,
        owners_named=options.owners_named,
        diagnostics=(
            *_version_warnings(snapshot.target),
            *memory.problems,
            *misnamed_entries(topology, names, registry, options.day, unmatched),
        ),
        kinds=registry.by_name,
        policies=Policies(topology.policies, registry) if topology.policies else None,
        today=options.day,
    )


def _version_warnings(target: Target) -> Iterator[Diagnostic]:
    """Warn of servers that answered. The commands that imagine a server say it once for all topologies."""
    if not target.is_imagined:
        yield from version_warnings(target.version)
    if target.newest:
        yield Diagnostic(
            severity=Severity.WARNING, code="XX115", name="mixed-versions",
            message=f"servers of nats-server {target.version.short} and {target.newest.short} answered, and the rules for "
            f"{target.version.short} are used; if JetStream is led by a newer server, it may refuse more",
            fix="finish the upgrade, and plan again",
        )  # fmt: skip


def count_objects(view: View) -> dict[str, int]:
    """How many objects were read."""
    snapshot = view.snapshot
    return {
        "streams": len(snapshot.streams),
        "consumers": sum(len(consumers) for consumers in snapshot.consumers.values()),
        "groups": sum(address.kind.endswith("_group") for address in view.live),
    }


def _change_of_declared(
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
    if begins and ours and live and _recreation_in_words(desired.address, ours, live, registry, snapshot, ledger):
        begins = ()  # it may have begun elsewhere than the one that was applied
    return unfinished.compare_unfinished(desired, live, ours, intent, kind.fields, begins)


def _with_identity_checked(change: Change, registry: Registry, snapshot: Snapshot, ledger: Ledger) -> Change:
    """If somebody recreated or changed an object exactly as declared, recording it makes it this topology's own again.
    What changes after that is drift."""
    if not change.owned or not change.live or not change.desired or change.intent:
        return change
    at_rest = Action.ADOPT if change.action is Action.KEEP else change.action
    known_as = change.origin or change.address  # a renamed object is still known by its old name
    if recreation := _recreation_in_words(known_as, change.owned, change.live, registry, snapshot, ledger):
        return replace(change, action=at_rest, made_anew=recreation)
    if change.action is Action.KEEP and is_stale(change.owned, change.desired, registry.of(change.address).fields):
        return replace(change, action=at_rest)
    return change


def _recreation_in_words(
    known_as: Address, owned: Owned, live: Resource, registry: Registry, snapshot: Snapshot, ledger: Ledger
) -> str:
    """A sentence that somebody recreated it, or the stream that belongs to it, and when; empty if both are the recorded ones, as
    far as anybody can tell."""
    created, before = live.state.get("created"), owned.seen.get("created")
    if before and created == before:  # nearly always, and thousands of times in a plan
        return ""
    kind = registry.of(known_as)
    if identity.is_recreated(owned, known_as, kind, snapshot, ledger):
        return f"it was deleted, and recreated{f' at {created}' if created else ''}"
    if queue := identity.recreated_stream_behind(owned, known_as, kind, snapshot):
        return f"its stream {queue} was deleted, and recreated at {snapshot.streams[queue].get('created')}"
    return ""


def _keep_unrecorded(change: Change) -> Change:
    """An object that cannot be remembered is only as declared."""
    return Change(
        address=change.address, action=Action.KEEP, desired=change.desired, live=change.live, where=change.where
    )


ASK = "allow this user to publish to $SYS.REQ.USER.INFO, by which a server tells the account, or correct `expect`"


def refuse_wrong_target(topology: Topology, target: Target) -> None:
    """Refuse to work against the wrong account or cluster before anything is compared."""
    if wrong := target_mismatches(topology.expect, target):
        raise CannotContinue(
            *(
                Diagnostic(
                    severity=Severity.ERROR,
                    code="XX105",
                    name="wrong-place",
                    message=f"{mismatch}. Nothing was changed.",
                    span=topology.where(f"expect.{key}"),
                    fix=ASK
                    if key == "account" and target.account is None
                    else "check the context or URL, or correct `expect`",
                )
                for key, mismatch in wrong
            )
        )


def target_mismatches(expect: Expect, target: Target) -> list[tuple[str, str]]:
    """(key of `expect`, what is wrong) for everything about this target that is not as the files expect."""
    wrong = []
    for key, wanted, names in (
        ("cluster", expect.cluster, (target.cluster,)),
        ("domain", expect.domain, (target.domain,)),
        ("account", expect.account, (target.account_name, target.account)),
    ):
        if wanted is not None and wanted not in names:
            actual = " alias ".join(f"`{name}`" for name in names if name)
            wrong.append((key, f"expected {key} `{wanted}`, but {actual or 'none'} answered"))
    if expect.min_server is not None and target.version < Version.parse(expect.min_server):
        wrong.append(
            ("min_server", f"expected nats-server {expect.min_server} or newer, but {target.version} answered")
        )
    return wrong


def version_warnings(version: Version, span: SourceSpan | None = None) -> Iterator[Diagnostic]:
    """Warn of a version that no rule was measured on; `span` is where the files name it."""
    if message := unsupported_version_sentence(version):
        known = ", ".join(supported.short for supported in SUPPORTED)
        yield Diagnostic(
            severity=Severity.WARNING, code="XX114", name="unknown-version", message=message, span=span,
            fix=f"check on such a server what matters to you; the rules were measured on {known}",
        )  # fmt: skip
