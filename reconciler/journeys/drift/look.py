"""One look at an account: the state of everything declared or owned there, and how the rules judge what drifted.

Pure. This reads the comparison behind a plan in the other direction: not what a file wants to change, but what somebody
changed outside the files. A change that is merged and not applied yet is pending, never drift. `ignore_drift:` of a file
names what not to report, why, and until when.

The command looks at one account with this, and the fleet at a thousand. Quantities that need more reads, such as
the messages behind a change, stay open; the rules see that nobody asked for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from reconciler.changes.change import Action, Change, FieldChange, FieldClass
from reconciler.changes.diff import value_in
from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Verdict
from reconciler.changes.view import View
from reconciler.engine.compare import compare, count_objects, refuse_wrong_target
from reconciler.engine.decide import unanswered_questions
from reconciler.engine.idle_patterns import idle_patterns, refuse_idle_patterns
from reconciler.engine.ignoring import IgnoredDrift
from reconciler.engine.judging import verdicts_of_all
from reconciler.journeys.drift.drift import AT_REST, Coverage, Drift, FieldDrift, Item, Standing
from reconciler.journeys.drift.silent_origins import silent_origins
from reconciler.journeys.drift.way_back import missing_streams
from reconciler.journeys.plan.plan import complete_options
from reconciler.kinds import REGISTRY
from reconciler.kinds.losses.made_again import is_lost_at_restart
from reconciler.memory import remembered
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address
from reconciler.model.run_options import NO_OPTIONS, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.questions import Unanswered
from reconciler.model.wire.snapshot import Snapshot

NOBODY_ASKED = "only configurations were read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The drift, and the view it was found in."""

    drift: Drift
    view: View
    topology: Topology
    options: RunOptions
    verdicts: Mapping[Address, Sequence[Verdict]] = field(default_factory=dict)
    """For what drifted or waits: how the rules judge setting it to the file's value."""


def look(
    topology: Topology, snapshot: Snapshot, options: RunOptions = NO_OPTIONS, registry: Registry = REGISTRY
) -> Looked:
    """Compare everything declared or owned here with a snapshot that was already taken. Raises CannotContinue where
    this is not the account that the files expect."""
    refuse_wrong_target(topology, snapshot.target)
    options = complete_options(options, topology, snapshot)
    view = compare(topology, snapshot, remembered.read_memory(snapshot, registry), registry, options)
    refuse_idle_patterns(view, options)
    drifted = find_drift(topology, view, options)
    verdicts = _verdicts_on(drifted, view, registry)
    shown = replace(
        drifted,
        items=tuple(_with_verdicts(item, verdicts) for item in drifted.items) if verdicts else drifted.items,
        diagnostics=(*drifted.diagnostics, *silent_origins(view, options), *idle_patterns(view, options)),
        read=count_objects(view),
    )
    return Looked(drift=shown, view=view, topology=topology, options=options, verdicts=verdicts)


def _verdicts_on(drifted: Drift, view: View, registry: Registry) -> dict[Address, list[Verdict]]:
    """Judge only what differs from its declaration: there is nothing to judge about the rest."""
    addresses = [Address.parse(item.address) for item in drifted.items]
    open_ = dict.fromkeys(unanswered_questions(view, registry, addresses), Unanswered(NOBODY_ASKED))
    judged = verdicts_of_all(replace(view, facts=open_), registry, about=addresses)
    below = {address: above for address in addresses if (above := missing_streams(address, view, registry))}
    refusals = {address: _refusals_of(above, judged) for address, above in below.items()}
    return {**judged, **{address: [*judged.get(address, ()), *more] for address, more in refusals.items()}}


def _refusals_of(streams: Sequence[Address], judged: Mapping[Address, Sequence[Verdict]]) -> list[Verdict]:
    """What refuses the streams refuses what stands on them."""
    return [verdict for stream in streams for verdict in judged.get(stream, ()) if verdict.is_final]


def _with_verdicts(item: Item, verdicts: Mapping[Address, Sequence[Verdict]]) -> Item:
    """Attach each verdict to the field it is about, or to the object if it is about none of them."""
    judged = verdicts.get(Address.parse(item.address), ())
    fields = tuple(
        replace(drifting, verdicts=tuple(v for v in judged if _is_about(v, drifting))) for drifting in item.fields
    )
    rest = tuple(verdict for verdict in judged if not any(_is_about(verdict, drifting) for drifting in item.fields))
    return replace(item, fields=fields, verdicts=rest)


def _is_about(verdict: Verdict, drifting: FieldDrift) -> bool:
    """Is the verdict about the field itself, something in it, or something around it?"""
    return _is_at_or_below(drifting.path, verdict.path) or _is_at_or_below(verdict.path, drifting.path)


def _is_at_or_below(path: str, other: str) -> bool:
    return path == other or (other != "" and path.startswith((f"{other}.", f"{other}[")))


def find_drift(topology: Topology, view: View, options: RunOptions) -> Drift:
    """Compare everything declared or owned here, as far as the run's selection reaches."""
    look = _Look(view)
    chosen = {a: c for a, c in view.changes.items() if options.selects(a, c.labels)}
    items = [item for address in sorted(chosen) if (item := look.item(chosen[address]))]
    ignored = IgnoredDrift(topology.ignore_drift, options.day)
    judged = [_with_ignored(item, ignored) for item in items]
    differing = {item.address for item in items}
    extras = tuple(str(a) for a in view.unmanaged if a not in view.ledger and not ignored.why_ignored(str(a)))
    elsewhere = sum(a in view.ledger for a in view.unmanaged)
    return Drift(
        topology=view.topology,
        environment=view.environment,
        target=view.target,
        items=tuple(sorted(judged, key=lambda item: (not item.is_drift, [*Standing].index(item.standing)))),
        in_sync=sum(change.action in AT_REST and str(a) not in differing for a, change in chosen.items()),
        unrecorded=sum(map(_has_no_record, chosen.values())) if view.ledger_known else 0,
        coverage=Coverage(here=len(view.live) - len(view.unmanaged), elsewhere=elsewhere, extras=extras),
        diagnostics=(*view.diagnostics, *ignored.unused_entry_warnings(complete=options.is_about_all)),
        ledger_known=view.ledger_known,
    )


def _has_no_record(change: Change) -> bool:
    return change.action is Action.ADOPT and change.owned is None


@dataclass(frozen=True, slots=True)
class _Look:
    view: View

    def item(self, change: Change) -> Item | None:
        if change.action is Action.UNKNOWN:
            return _item_of(change, Standing.UNKNOWN, reason=change.reason)
        if change.action is Action.ORPHAN:
            return _item_of(change, Standing.ORPHANED, reason=change.reason)
        if change.desired is None:
            pending = change.action is Action.DELETE or (change.action is Action.FORGET and change.live is not None)
            return _item_of(change, Standing.PENDING, reason=_waiting_reason(change)) if pending else None
        if whose := self._why_foreign(change):
            return _item_of(change, Standing.FOREIGN, reason=whose)
        if change.intent:
            left = [differing for differing in change.fields if differing.field_class is FieldClass.UNFINISHED]
            return _item_of(
                change,
                Standing.PENDING,
                [_field_drift_of(differing, change.owned) for differing in left],
                change.reason,
            )
        return self._absent_item(change) if change.live is None else self._compared_item(change)

    def _why_foreign(self, change: Change) -> str:
        owned = change.owned
        if owned is None:
            return ""
        if owned.topology != self.view.topology:
            return f"topology {owned.topology} applied it last and owns it now"
        if owned.source and self.view.source and owned.source != self.view.source:
            return f"it was applied last from {owned.source}, but this is {self.view.source}"
        return ""

    def _absent_item(self, change: Change) -> Item | None:
        """An object that was never applied is pending. Where the account has no record at all, that cannot be known,
        and the file counts. Of a bucket of the same files and its stream, the bucket tells it."""
        if change.desired and change.desired.external and self._is_of_a_declared_bucket(change.address.name):
            return None
        if change.record is None and self.view.ledger and not (change.desired and change.desired.external):
            return _item_of(change, Standing.PENDING, reason="declared and not applied yet")
        gone = (
            "someone else manages it, and it does not exist" if _is_managed_elsewhere(change) else "it does not exist"
        )
        if change.record:
            gone = f"it was applied{'' if change.owned else ' under its old name'}, but no longer exists"
            if is_lost_at_restart(change, self.view):
                gone = "it was applied in memory, which a single server forgets at each restart, and no longer exists"
        return _item_of(change, Standing.MISSING, reason=gone)

    def _is_of_a_declared_bucket(self, stream: str) -> bool:
        desired = (self.view.desired.get(address) for address in self.view.backed_by(stream))
        return any(address is not None and not address.external for address in desired)

    def _compared_item(self, change: Change) -> Item | None:
        fields = tuple(_field_drift_of(differing, change.owned) for differing in change.known_fields)
        staying = tuple(
            FieldDrift(change=differing, stays=True)
            for differing in self.view.kinds[change.address.kind].adrift(change, self.view)
        )
        if change.made_anew:
            return _item_of(change, Standing.RECREATED, fields, change.made_anew)
        if any(f.drifted for f in fields):
            theirs = (
                "someone else manages it, and it differs from what the file expects"
                if _is_managed_elsewhere(change)
                else ""
            )
            return _item_of(change, Standing.CHANGED, (*fields, *staying), theirs)
        if staying:
            return _item_of(change, Standing.CHANGED, (*fields, *staying))
        waits = f"{change.reason}; not applied yet" if change.origin else ""
        return _item_of(change, Standing.PENDING, fields, waits) if fields or waits else None


def _waiting_reason(change: Change) -> str:
    deed = "to be deleted" if change.action is Action.DELETE else "to be forgotten"
    return f"{deed}, and not applied yet"


def _item_of(change: Change, standing: Standing, fields: Sequence[FieldDrift] = (), reason: str = "") -> Item:
    first = next((drifting.path for drifting in fields if drifting.drifted), fields[0].path if fields else "")
    sayable = type(change.terms).model_fields
    placed = tuple(
        replace(drifting, span=change.where(drifting.path), is_sayable=drifting.change.top in sayable)
        for drifting in fields
    )
    return Item(
        address=str(change.address), standing=standing, fields=placed, reason=reason,
        is_ours=standing is not Standing.FOREIGN and not _is_managed_elsewhere(change),
        span=change.where(first), owned=change.owned,
    )  # fmt: skip


def _is_managed_elsewhere(change: Change) -> bool:
    return change.desired is not None and change.desired.external


def _field_drift_of(change: FieldChange, owned: Owned | None) -> FieldDrift:
    """Compare with the applied value; without a record, and only then, with the file's value."""
    if owned is None:
        return FieldDrift(change=change, applied=change.desired)
    moved = change.field_class in (FieldClass.DRIFTED, FieldClass.BOTH)
    return FieldDrift(change=change, applied=value_in(owned.applied, change.path), drifted=moved)


def _with_ignored(item: Item, entries: IgnoredDrift) -> Item:
    """Add the reasons of the `ignore_drift` entries that cover it; an entry without a path covers the whole object."""
    if not item.standing.is_drift:
        return item
    fields = tuple(
        replace(drifting, ignored=entries.why_ignored(item.address, drifting.path)) if drifting.drifted else drifting
        for drifting in item.fields
    )
    return replace(item, fields=fields, ignored=entries.why_ignored(item.address))
