"""One look at an account: the state of everything declared or owned there, and how the rules judge what drifted.

Pure. The command looks at one account with this, and the fleet at a thousand. Quantities that need more reads, such as
the messages behind a change, stay open; the rules see that nobody asked for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Verdict
from reconciler.changes.view import View
from reconciler.engine.compare import compare, counted
from reconciler.engine.decide import idle_patterns, questions
from reconciler.engine.judging import judged_all
from reconciler.engine.target_check import check_place
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, drift
from reconciler.journeys.drift.restored import missing_streams
from reconciler.journeys.plan.plan import completed
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.dataclass import dataclass
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
    check_place(topology, snapshot.target)
    options = completed(options, topology, snapshot)
    view = compare(topology, snapshot, remembered.read(snapshot, registry), registry, options)
    found = drift(topology, view, options)
    verdicts = _judged(found, view, registry)
    shown = replace(
        found,
        items=tuple(_with(item, verdicts) for item in found.items) if verdicts else found.items,
        diagnostics=(*found.diagnostics, *idle_patterns(view, options)),
        read=counted(view),
    )
    return Looked(drift=shown, view=view, topology=topology, options=options, verdicts=verdicts)


def _judged(found: Drift, view: View, registry: Registry) -> dict[Address, list[Verdict]]:
    """Judge only what differs from its declaration: there is nothing to judge about the rest."""
    addresses = [Address.parse(item.address) for item in found.items]
    open_ = dict.fromkeys(questions(view, registry, addresses), Unanswered(NOBODY_ASKED))
    judged = judged_all(replace(view, facts=open_), registry, about=addresses)
    below = {one: above for one in addresses if (above := missing_streams(one, view, registry))}
    return {**judged, **{one: [*judged.get(one, ()), *_said_of(above, judged)] for one, above in below.items()}}


def _said_of(streams: Sequence[Address], judged: Mapping[Address, Sequence[Verdict]]) -> list[Verdict]:
    """What refuses the streams refuses what stands on them."""
    return [verdict for stream in streams for verdict in judged.get(stream, ()) if verdict.is_final]


def _with(item: Item, verdicts: Mapping[Address, Sequence[Verdict]]) -> Item:
    """Attach each verdict to the field it is about, or to the object if it is about none of them."""
    said = verdicts.get(Address.parse(item.address), ())
    fields = tuple(replace(one, verdicts=tuple(v for v in said if _is_about(v, one))) for one in item.fields)
    rest = tuple(verdict for verdict in said if not any(_is_about(verdict, one) for one in item.fields))
    return replace(item, fields=fields, verdicts=rest)


def _is_about(verdict: Verdict, one: FieldDrift) -> bool:
    """Is the verdict about the field itself, something in it, or something around it?"""
    return _is_in(one.path, verdict.path) or _is_in(verdict.path, one.path)


def _is_in(path: str, other: str) -> bool:
    return path == other or (other != "" and path.startswith((f"{other}.", f"{other}[")))
