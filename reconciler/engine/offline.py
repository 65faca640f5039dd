"""Judging without an account: configurations are known, but messages, positions, clients, limits and answers are not.

No rule declares which of those it reads, so it is watched instead. A finding that a rule makes before it reads
something unknown appears. Rules that tried to read something unknown are named, so that nobody takes their silence for
approval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any, NoReturn

from reconciler.changes.change import Change
from reconciler.changes.rule import Rule, others_in_words, verdicts_of
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.changes.view import View
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Json, Resource
from reconciler.model.wire.snapshot import SOME_CLUSTER, Snapshot, Target

VOLATILE = frozenset({"state", "created", "ts"})


class ServerDataNeeded(Exception):
    """A rule asks for something that only a server can tell."""


class PartlyKnown(Mapping[str, Json]):
    """A server's answer of which only part is known."""

    def __init__(self, answer: Mapping[str, Json]) -> None:
        self._known = {key: value for key, value in answer.items() if key not in VOLATILE}

    def __getitem__(self, key: Any) -> Json:
        if key not in self._known:
            raise ServerDataNeeded(key)
        return self._known[key]

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        raise ServerDataNeeded

    def __len__(self) -> NoReturn:
        raise ServerDataNeeded


NOTHING: Mapping[Any, Any] = PartlyKnown({})


@dataclass(slots=True)
class OfflineJudge:
    """Judges as `verdicts_of` does, and notes which rules wanted to know more."""

    calm: View
    """The account as if next to nothing had ever happened in it. A rule that objects even there objects anywhere."""
    left: dict[str, set[Address]] = field(default_factory=dict)
    """Code → addresses that its rule could not judge."""
    uncounted: set[tuple[str, str]] = field(default_factory=set)
    """(code, address) of verdicts that hold whatever their quantities are."""

    def __call__(self, rules: Sequence[Rule], change: Change, view: View) -> list[Verdict]:
        return [verdict for rule in rules for verdict in self._verdicts_of_rule(rule, change, view)]

    def _verdicts_of_rule(self, rule: Rule, change: Change, view: View) -> list[Verdict]:
        try:
            return verdicts_of((rule,), change, view)
        except ServerDataNeeded:
            at_least = verdicts_of((rule,), replace(change, live=self.calm.live.get(change.address)), self.calm)
            if not any(verdict.outcome.rank > Outcome.WARNS.rank for verdict in at_least):
                self.left.setdefault(rule.code, set()).add(change.address)
                return []
            self.uncounted |= {(verdict.code, verdict.address) for verdict in at_least}
            return at_least

    def reworded_verdict(self, verdict: Verdict, page: str) -> Verdict:
        """The verdict. If its own words may count something nobody has read, the words of its rule's page about the
        pattern, and who else is known to be affected."""
        if (verdict.code, verdict.address) not in self.uncounted:
            return verdict
        words = f"{first_paragraph(page)} Only the account can tell what that costs here."
        known = "; ".join(others_in_words(verdict.others, self.calm))
        message = f"{words} Known of others: {known}" if known else words
        return replace(verdict, message=message, quantities={}, bounds={})


def first_paragraph(page: str) -> str:
    """The first paragraph of a rule's page: what it looks for."""
    return " ".join(page.partition("\n\n")[0].split())


def without_server_data(view: View) -> View:
    """The same view, without anything that only a server can tell."""
    changes = {
        address: replace(change, live=_without_state(change.live) if change.live else None)
        for address, change in view.changes.items()
    }
    live = {address: _without_state(resource) for address, resource in view.live.items()}
    return replace(view, facts=NOTHING, snapshot=_snapshot_without_state(view.snapshot), live=live, changes=changes)


def _without_state(resource: Resource) -> Resource:
    return replace(resource, state=PartlyKnown(resource.state))


def _snapshot_without_state(snapshot: Snapshot) -> Snapshot:
    streams = {name: PartlyKnown(info) for name, info in snapshot.streams.items()}
    consumers = {
        stream: {name: PartlyKnown(info) for name, info in own.items()} for stream, own in snapshot.consumers.items()
    }
    target = replace(snapshot.target, limits=NOTHING, usage=NOTHING)
    if target.cluster == SOME_CLUSTER and not any(map(_is_replicated, snapshot.streams.values())):
        target = _PossiblyClusteredTarget(
            **{attribute.name: getattr(target, attribute.name) for attribute in fields(target)}
        )
    return replace(snapshot, target=target, streams=streams, consumers=consumers)


def _is_replicated(info: Mapping[str, Json]) -> bool:
    return (info["config"].get("num_replicas") or 1) > 1


class _PossiblyClusteredTarget(Target):
    """Servers of which nothing tells whether they form a cluster."""

    __slots__ = ()

    @property
    def is_clustered(self) -> NoReturn:
        """Nobody asked them."""
        raise ServerDataNeeded("cluster")
