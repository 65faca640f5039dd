"""What surrounds a consumer once everything is applied: its stream, and the other consumers on that stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.fields.peers import account_limits
from reconciler.kinds.losses.unprocessed import consumers_afterwards, unread_consumers
from reconciler.kinds.stream_config.stream_config import canonical
from reconciler.kinds.subjects.filters import named_filters
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config


def stream_of(change: Change, view: View) -> Config | None:
    """The stream as it will be; None if nobody can tell, as offline about a stream that is managed elsewhere."""
    address = Address.of("stream", change.address.stream)
    above = view.changes.get(address)
    if above and above.desired and not above.desired.external:
        return above.desired.config
    live = (above.live if above else None) or view.live.get(address)
    if live:
        return live.config
    raw = view.snapshot.streams.get(address.name)
    return canonical(raw["config"]) if raw else None


def account_limit(limit: str, change: Change, view: View) -> int:
    """The account's limit for consumers like this one; 0 if there is no limit."""
    stream = stream_of(change, view) or {}
    limits = account_limits(view.target, change.becomes("num_replicas") or stream.get("num_replicas") or 1) or {}
    return max(0, limits.get(limit) or 0)


def max_ack_pending(change: Change, stream: Config) -> int:
    """The value it will have: its own, or else the stream's; 0 is the server's own choice, which always fits."""
    inherited = (stream.get("consumer_limits") or {}).get("max_ack_pending") or 0
    is_left_out = change.desired is not None and change.desired.leaves_to_server("max_ack_pending")
    return int(inherited if is_left_out else change.becomes("max_ack_pending") or inherited)


def is_work_queue(stream: Config | None) -> bool:
    """The stream keeps each message until it is acknowledged, and no longer; false if nobody knows the stream."""
    return bool(stream) and (stream or {}).get("retention") == "workqueue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumers:
    """The consumers of one stream after apply, in a form in which thousands can be compared."""

    names: Sequence[str]
    """In the order in which servers restore them."""
    unfiltered: Sequence[str]
    index: SubjectIndex[str] = field(default_factory=SubjectIndex)
    new: frozenset[str] = frozenset()
    """Consumers that this plan creates."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Consumers that exist but could not be read."""

    def colliding_consumer(self, but: Collection[str], filters: Sequence[str]) -> tuple[str, str | None] | None:
        """(another consumer, its colliding filter) that wants messages this one wants; None as filter: it wants all."""
        if other := first_except(but, self.unfiltered):
            return other, None
        for mine in filters:
            for other, theirs in self.index.near(mine):
                if other not in but and collide(mine, theirs):
                    return other, theirs
        return None


def first_except(these: Collection[str], names: Sequence[str]) -> str | None:
    """The first of `names` that is not among `these`; None if all of them are."""
    return next((other for other in names if other not in these), None)


def consumers_of(change: Change, view: View) -> Consumers:
    """Declared consumers, live ones of others, and live ones as this topology changes them."""
    return _consumers(change.address.stream, view)


@once_per_view
def _consumers(stream: str, view: View) -> Consumers:
    index, unfiltered, names = SubjectIndex[str](), [], []
    for name, config in sorted(consumers_afterwards(stream, view).items(), key=lambda item: item[0].encode()):
        names.append(name)
        if not (filters := named_filters(config)):
            unfiltered.append(name)
        for subject in filters:
            index.add(name, subject)
    new = frozenset(c.address.name for c in view.children(stream, "consumer") if c.action is Action.CREATE)
    return Consumers(names=names, unfiltered=unfiltered, index=index, new=new, unknown=unread_consumers(stream, view))
