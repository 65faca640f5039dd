"""Room: what frees some comes before what needs it.

In the account, changes that free reserved storage or a place for a stream come before changes that need it. This also holds
if no limit is visible: servers have limits of their own that no request shows (10047, 10028). Where the account has limits
for each number of replicas, a stream that gets another number frees its room and its place in the tier that it leaves.

On a stream, looser limits come before the consumers that use them, tighter ones after (10069, 10121, 10153). A consumer is
deleted before another takes its place (10026). On an interest stream a consumer that apply recreates takes a second place for
a moment: if places are rare, such consumers take turns, and new ones come last. If there is room for all, an interest stream
gets the new consumer first, since it drops what no consumer wants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.stages import BETTER, NEEDED, FirstStage, Tie, final_value_first
from reconciler.changes.view import View
from reconciler.kinds.afterwards.reservations import StreamReservation, has_tiers
from reconciler.kinds.afterwards.streams import afterwards, live_streams
from reconciler.kinds.consumer_checks.limits import max_consumers_afterwards, max_consumers_before
from reconciler.kinds.consumer_config.consumer_config import placeholder_name
from reconciler.kinds.consumer_position.retention import is_interest
from reconciler.kinds.fields.peers import account_limits
from reconciler.kinds.order import retention
from reconciler.model.resource import Address, Json

STORAGE = {"file": ("max_storage", "reserved_storage"), "memory": ("max_memory", "reserved_memory")}
FREES = ("max_bytes", "num_replicas")
"""Fields by which a stream reserves less."""
CAPS = ("max_ack_pending", "inactive_threshold")


class More(NamedTuple):
    """How much more a change takes than is taken now; negative for what it frees."""

    address: Address
    amount: int
    gives: str = ""


def ties(view: View) -> Iterator[Tie]:
    """What has to make room first, on streams and in the account."""
    yield from _ties_on_streams(view)
    yield from _ties_in_account(view)


class Write(NamedTuple):
    """A change, and the stream that it writes as it is now and as it will be."""

    change: Change
    was: StreamReservation | None
    will: StreamReservation | None


def _ties_in_account(view: View) -> Iterator[Tie]:
    """Changes that free storage or a stream's place come before changes that need some, unless there is room for all at
    once."""
    live, after = live_streams(view), afterwards(view).streams
    writes = [
        Write(change, *(StreamReservation.of(config[name]) if name in config else None for config in (live, after)))
        for name, change in afterwards(view).made_by.items()
        if change.action.writes
    ]
    if not has_tiers(view.target):
        yield from _ties_in_tier(0, writes, view)
        return
    for tier in sorted({held.replicas for write in writes for held in write[1:] if held}):
        yield from _ties_in_tier(tier, writes, view)
    for storage in STORAGE:  # the server has limits of its own, which know no tiers
        yield from _ties_freeing_first([_added_storage(write, storage) for write in writes], weak=BETTER)


def _ties_in_tier(tier: int, writes: Sequence[Write], view: View) -> Iterator[Tie]:
    """Order these changes by what they free and need in this tier; 0 is an account that has none."""
    limits = account_limits(view.target, tier) or {}
    usage = view.target.usage["tiers"].get(f"R{tier}", {}) if tier else view.target.usage
    inside = [
        Write(write.change, *(held if held and held.tier(view.target) == tier else None for held in write[1:]))
        for write in writes
    ]
    for storage, (limit, reserved) in STORAGE.items():
        needs = [_added_storage(write, storage, counts_replicas=not tier) for write in inside]
        if _is_tight(needs, limits.get(limit), usage.get(reserved)):
            yield from _ties_freeing_first(needs)
    places = [_added_place(here, everywhere) for here, everywhere in zip(inside, writes, strict=True)]
    taken = sum(StreamReservation.of(config).tier(view.target) == tier for config in live_streams(view).values())
    most = limits.get("max_streams") or -1
    if most > 0 and _is_tight(places, most, taken):
        yield from _ties_freeing_first(places)


def _added_place(inside: Write, everywhere: Write) -> More:
    """No server counts the streams of a tier when one comes from another tier, so this needs no place."""
    if inside.was is None and everywhere.was is not None:
        return More(inside.change.address, 0)
    return More(inside.change.address, (inside.will is not None) - (inside.was is not None))


def _added_storage(write: Write, storage: str, *, counts_replicas: bool = True) -> More:
    change = write.change
    gives = next((field for field in FREES if change.touches(field)), "") if change.action is Action.UPDATE else ""
    was, will = (_reserved_bytes(held, storage, counts_replicas=counts_replicas) for held in write[1:])
    return More(change.address, will - was, gives)


def _reserved_bytes(held: StreamReservation | None, storage: str, *, counts_replicas: bool) -> int:
    if held is None or held.storage != storage:
        return 0
    return held.reserves * (held.replicas if counts_replicas else 1)


def _is_tight(needs: Iterable[More], most: int | None, taken: int | None) -> bool:
    """Would everything that is needed not fit beside everything that exists? Without a visible limit, it might not."""
    if most is None or most < 0:
        return True
    return (taken or 0) + sum(need.amount for need in needs if need.amount > 0) > most


def _ties_freeing_first(needs: Sequence[More], weak: int = NEEDED) -> Iterator[Tie]:
    needing = [need.address for need in needs if need.amount > 0]
    for need in needs:
        if need.amount < 0:
            yield from (Tie(need.address, address, gives=need.gives, weak=weak) for address in needing)


def _max_bytes_first(change: Change, _view: View) -> FirstStage:
    effect = f"free reserved storage of {change.address.name}, so that another stream can reserve it"
    return final_value_first(change, "max_bytes", effect)


def _ties_on_streams(view: View) -> Iterator[Tie]:
    """The order of a stream and its consumers under its limits, and of consumers that are deleted and created."""
    for stream, changes in view.by_parent("consumer").items():
        if not (consumers := [change for change in changes if change.action.writes]):
            continue
        above = view.changes.get(Address.of("stream", stream))
        if above is not None and above.action is Action.UPDATE:
            for change in consumers:
                yield from _ties_of_consumer_limits(above, change)
                if above.touches("max_consumers"):
                    yield from _ties_of_max_consumers(above, change, view)
        yield from _ties_of_places(stream, consumers, view)


def _ties_of_consumer_limits(above: Change, change: Change) -> Iterator[Tie]:
    for field in CAPS:
        was, becomes = (
            _consumer_limit(above.was("consumer_limits"), field),
            _consumer_limit(above.becomes("consumer_limits"), field),
        )
        if was == becomes:
            continue
        wanted = change.becomes(field)
        if becomes and (change.was(field) or 0) > becomes:
            yield Tie(change.address, above.address, gives=field)
        if change.action is Action.DELETE:
            continue
        if wanted is None or (change.desired and change.desired.leaves_to_server(field)):
            # what the server fills in follows from the new limit
            yield Tie(above.address, change.address, gives=retention.GIVES if above.touches("retention") else "")
        elif was and wanted > was:
            yield Tie(above.address, change.address, gives="consumer_limits")


def _consumer_limit(limits: Json, field: str) -> int:
    return int((limits or {}).get(field) or 0)


def _ties_of_max_consumers(above: Change, change: Change, view: View) -> Iterator[Tie]:
    """A new consumer comes when its stream has all places that it will have. A consumer is recreated while it has most."""
    if change.action is Action.REPLACE and max_consumers_before(change, view) > max_consumers_afterwards(change, view):
        yield Tie(change.address, above.address)
    elif change.action in (Action.CREATE, Action.REPLACE):
        yield Tie(above.address, change.address, gives="max_consumers")


def _ties_of_places(stream: str, consumers: Sequence[Change], view: View) -> Iterator[Tie]:
    """If there is no room for all at once, consumers are deleted first, then others are recreated one after the other, and then
    new ones come."""
    going, recreated, coming = (
        [change.address for change in consumers if change.action is action]
        for action in (Action.DELETE, Action.REPLACE, Action.CREATE)
    )
    keeps_places = is_interest(consumers[0], view)
    there = view.snapshot.consumers.get(stream, {})
    placeholders = len(recreated) if keeps_places else 0
    if max_consumers_afterwards(consumers[0], view) >= len(there) + len(coming) + placeholders:
        if keeps_places:
            yield from (Tie(first, then, weak=BETTER) for first in coming for then in going)
        return
    yield from (Tie(first, then) for first in going for then in (*recreated, *coming))
    if keeps_places:
        row = sorted(recreated, key=lambda address: placeholder_name(address.name) not in there)
        yield from (Tie(first, then) for first, then in pairwise(row))
        yield from (Tie(first, then) for first in row[-1:] for then in coming)


def _loose_consumer_limits_first(change: Change, _view: View) -> FirstStage:
    """Each limit as the looser one of both; none if one of them has none."""
    was, becomes = change.was("consumer_limits"), change.becomes("consumer_limits")
    looser = {
        f: max(_consumer_limit(was, f), _consumer_limit(becomes, f))
        for f in CAPS
        if _consumer_limit(was, f) and _consumer_limit(becomes, f)
    }
    return FirstStage(
        fields={"consumer_limits": looser or None},
        cost=(0, 1),
        effect=f"raise the limits that stream {change.address.name} sets for its consumers, before others are lowered",
    )


def _low_value_first(field: str, change: Change, view: View) -> FirstStage | None:
    above = view.changes.get(Address.of("stream", change.address.stream))
    cap = _consumer_limit(above.becomes("consumer_limits"), field) if above else 0
    least = [value for value in (change.was(field), change.becomes(field), cap) if value and value > 0]
    return FirstStage(
        fields={field: min(least)},
        cost=(0, 1),
        effect=f"lower {field} of consumer {change.address.name}, before its stream allows less",
    )


def _max_consumers_first(change: Change, _view: View) -> FirstStage:
    effect = f"allow more consumers on stream {change.address.name}"
    return final_value_first(change, "max_consumers", effect)


FIRST_STAGES = {
    "max_bytes": _max_bytes_first,
    "consumer_limits": _loose_consumer_limits_first,
    "max_consumers": _max_consumers_first,
    "max_ack_pending": lambda change, view: _low_value_first("max_ack_pending", change, view),
    "inactive_threshold": lambda change, view: _low_value_first("inactive_threshold", change, view),
}
