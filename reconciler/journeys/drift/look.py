"""One look at an account: how everything declared or owned there stands, and what the rules say of what strayed.

Pure, and all there is to it: the command looks at one account with this, the fleet at a thousand. What only further
reads could tell (messages behind a change) stays open; the rules are told that nobody asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Verdict
from reconciler.changes.view import View
from reconciler.engine.compare import compare, counted
from reconciler.engine.decide import idle_patterns, questions
from reconciler.engine.judging import judged_all
from reconciler.engine.target_check import check_place
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, drift
from reconciler.journeys.plan.plan import completed
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.resource import Address
from reconciler.model.run_options import NO_OPTIONS, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.questions import Unanswered
from reconciler.model.wire.snapshot import Snapshot

NOBODY_ASKED = "only what is there was looked at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What strayed, and what it was found in."""

    drift: Drift
    view: View
    topology: Topology
    options: RunOptions
    verdicts: Mapping[Address, Sequence[Verdict]] = field(default_factory=dict)
    """Of what strayed or waits: what the rules say to making it as the file says."""


def look(
    topology: Topology, snapshot: Snapshot, options: RunOptions = NO_OPTIONS, registry: Registry = REGISTRY
) -> Looked:
    """How everything declared or owned here stands, from a snapshot already taken. Raises CannotContinue where this is
    another place than the files are for."""
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
    """Of what does not stand as declared, and nothing else: the rest has nothing to be judged."""
    addresses = [Address.parse(item.address) for item in found.items]
    open_ = dict.fromkeys(questions(view, registry, addresses), Unanswered(NOBODY_ASKED))
    return judged_all(replace(view, facts=open_), registry, about=addresses)


def _with(item: Item, verdicts: Mapping[Address, Sequence[Verdict]]) -> Item:
    """Each verdict at the field it is about; what is about none of them, at the object."""
    said = verdicts.get(Address.parse(item.address), ())
    fields = tuple(replace(one, verdicts=tuple(v for v in said if _is_about(v, one))) for one in item.fields)
    rest = tuple(verdict for verdict in said if not any(_is_about(verdict, one) for one in item.fields))
    return replace(item, fields=fields, verdicts=rest)


def _is_about(verdict: Verdict, one: FieldDrift) -> bool:
    """The field itself, something in it, or something around it."""
    return _is_in(one.path, verdict.path) or _is_in(verdict.path, one.path)


def _is_in(path: str, other: str) -> bool:
    return path == other or (other != "" and path.startswith((f"{other}.", f"{other}[")))
