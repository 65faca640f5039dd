"""What the next restart of a server does to copies: which it refuses, and what copied interest streams lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import downstream, static_groups
from reconciler.kinds.afterwards.streams import Copy, afterwards, copies, live_streams
from reconciler.kinds.copies.copy_rules import (
    STANDING,
    WRITTEN,
    copies_of_larger,
    cycle_text,
    first_cycle,
    is_new,
    largest_message_of,
)
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import few, verb, written_size
from reconciler.kinds.group_records.member_subjects import durable_subjects
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.dependants import streams
from reconciler.kinds.losses.unprocessed import consumers_afterwards
from reconciler.kinds.stream_config.origins import (
    FEEDS_MIRROR,
    FEEDS_SOURCE,
    UNREAD_AT_RESTART,
    Feed,
    consumers_read_after,
    deletes_at_restart,
    fed_elsewhere,
)
from reconciler.kinds.subjects.filters import filters_of
from reconciler.model.resource import Address, Config
from reconciler.model.wire.snapshot import Snapshot

MAKES = (Action.CREATE, Action.UPDATE, Action.REPLACE)
STANDS = (Action.KEEP, Action.ADOPT)
FIX = (
    "let these consumers read a stream with limits retention, such as a copy; or rename them (`moved:`, and in their clients) to "
    "names that begin with 0 to 9 or A to I, which a server reads before `JS_`"
)


class AtRisk(NamedTuple):
    """A consumer that loses at a restart what a stream has copied and it has not processed."""

    origin: str
    copy: str
    consumer: str


# Measured on 2.14 and 2.15: of 100 messages that a mirror or a source had copied and a consumer `mail` had not been given, 0
# were left after a restart or a kill; 100 with `Amail`, on 2.11 and 2.12, and on three nodes.
@rule(
    UNREAD_AT_RESTART,
    "unread-gone-at-restart",
    on=(*MAKES, *STANDS),
    needs=("live", "neighbours"),
    since=V2_14,
    reaction=Reaction.HARMS,
)
def unread_gone_at_restart(change: Change, view: View) -> Iterator[Finding]:
    """A single server of 2.14 or later keeps an interest stream that has a consumer, and a mirror, a source or an elastic
    group that copies it.

    The server feeds the copy by a consumer of its own, whose name begins with `JS_`. When it starts, it reads the consumers
    in the order of their names, and deletes what `JS_…` has acknowledged and none of those that it has read still wants. So
    consumers whose names sort after `JS_` lose what is copied and not yet processed. All names with a small first letter do. The
    first restart after the stream became an interest stream may lose nothing. In a cluster nothing is lost.

    A plan asks for consent if it makes this so, and warns once, when a topology adopts a stream that is so already. Later plans
    are silent.

    Instead: let the consumers read a stream with limits retention, such as the copy; or rename them to names that sort before
    `JS_`.
    """
    by_origin = _losses_by_change(view).get(change.address, {})
    for origin, losses in () if not by_origin or view.target.is_clustered else by_origin.items():
        is_new = any(risk not in _losses_now(view) for risk in losses)
        if not is_new and change.action is not Action.ADOPT:
            continue
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT if is_new and change.action in MAKES else Outcome.WARNS,
            path=_copy_path(change, origin, view),
            affects=dependants.consumers(origin, sorted({risk.consumer for risk in losses}), view),
            message=loss_text(origin, losses),
            fix=FIX,
        )


def loss_text(origin: str, losses: Sequence[AtRisk]) -> str:
    """What goes at a restart, as a message says it."""
    copying, readers = (
        sorted(set(names)) for names in zip(*((risk.copy, risk.consumer) for risk in losses), strict=True)
    )
    return (
        f"when it restarts, the server deletes from interest stream {origin} what {few(copying, 3)} {verb(len(copying), 'have')} copied "
        f"and {few(readers, 3)} {verb(len(readers), 'have')} not processed yet"
    )


def at_restart(snapshot: Snapshot) -> Iterator[AtRisk]:
    """What consumers of an account lose at each restart of a single server from 2.14 on."""
    copying: dict[str, list[Copy]] = {}
    for name, info in snapshot.streams.items():
        for copier in copies(name, info["config"]):
            copying.setdefault(copier.origin, []).append(copier)
    for origin, theirs in copying.items():
        yield from _losses_in(origin, snapshot.config_of(origin), [*_feeds(theirs)], _live_filters(origin, snapshot))
    for origin in snapshot.copiers:
        yield from _losses_in(
            origin, snapshot.config_of(origin), [*fed_elsewhere(origin, snapshot)], _live_filters(origin, snapshot)
        )


def _live_filters(stream: str, snapshot: Snapshot) -> dict[str, Sequence[str]]:
    """The subjects of each consumer that there is."""
    return {name: filters_of(info["config"]) for name, info in snapshot.consumers.get(stream, {}).items()}


def _feeds(copying: Iterable[Copy]) -> Iterator[Feed]:
    for copier in copying:
        own = (copier.said.get("consumer") or {}).get("name")
        yield Feed(copier.stream, own or (FEEDS_MIRROR if copier.is_mirror else FEEDS_SOURCE), copier.filters or (">",))


def _losses_in(
    origin: str, config: Config, feeds: Sequence[Feed], consumers: Mapping[str, Sequence[str]]
) -> Iterator[AtRisk]:
    for feed in feeds if deletes_at_restart(config) else ():
        for name in consumers_read_after(feed.name, feed.subjects, consumers):
            yield AtRisk(origin, feed.copy, name)


@lru_cache(maxsize=4)
def _losses_now(view: View) -> frozenset[AtRisk]:
    """What is lost as it is now."""
    return frozenset(at_restart(view.snapshot))


def _filters_afterwards(stream: str, view: View) -> dict[str, Sequence[str]]:
    """The same once this plan is applied, with those that the members of static groups create."""
    consumers: dict[str, Sequence[str]] = {
        name: filters_of(config) for name, config in consumers_afterwards(stream, view).items()
    }
    for address, config in static_groups(stream, view):
        consumers |= durable_subjects(address.name, config)
    return consumers


@lru_cache(maxsize=4)
def _losses_by_change(view: View) -> Mapping[Address, Mapping[str, Sequence[AtRisk]]]:
    """What is lost once this plan is applied, by the change that says so and by stream."""
    after, by_address = afterwards(view), dict[Address, dict[str, list[AtRisk]]]()
    for origin in dict.fromkeys((*after.copiers, *view.snapshot.copiers)):
        consumers = _filters_afterwards(origin, view)
        feeds = [*_feeds(after.copiers.get(origin, ())), *fed_elsewhere(origin, view.snapshot)]
        for risk in _losses_in(origin, after.streams.get(origin, {}), feeds, consumers):
            if address := _change_to_blame(risk, view):
                by_address.setdefault(address, {}).setdefault(origin, []).append(risk)
    return by_address


def _change_to_blame(one: AtRisk, view: View) -> Address | None:
    """Whose change says it: what makes it so; or the stream, if it is so already."""
    made_by = afterwards(view).made_by
    stream, copy = made_by.get(one.origin), made_by.get(one.copy)
    consumer = view.changes.get(Address.of("consumer", one.origin, one.consumer))
    own = [change for change in (stream, copy, consumer) if change and not (change.desired and change.desired.external)]
    making = [change for change in (copy, consumer, stream) if change in own and change and change.action in MAKES]
    tellers = own if one in _losses_now(view) else [*making, *own]
    return next((change.address for change in tellers if change.action in (*MAKES, *STANDS)), None)


def _copy_path(change: Change, origin: str, view: View) -> str:
    """Of a copy: where it names the stream."""
    paths = (
        copier.path
        for copier in afterwards(view).copiers.get(origin, ())
        if copier.stream == view.stream_of(change.address)
    )
    path = next(paths, "") if view.is_stream(change.address) else ""
    return f"{path}.name" if path else ""


@rule("XX204", "doomed-copy", on=(*WRITTEN, *STANDING), needs=("neighbours",), reaction=Reaction.DOOMS)
def doomed_copy(change: Change, view: View) -> Iterator[Finding]:
    """Another stream copies this one, and the server would refuse that stream as it is: a cycle that only a filter
    prevents, or a `max_msg_size` below that of its origin.

    The server checks only the stream that is written, never its neighbours. From then on it refuses every update of
    them. At its next start it may read them after this stream, and then it loses them with their messages.

    Instead: change the copying stream first, or leave this one as it is.
    """
    name = view.stream_of(change.address) or ""
    if change.action in STANDING:
        if (wrong := _error_after(name, view)) and not _new_error(name, view):
            yield Finding(
                outcome=Outcome.WARNS,
                message=f"{wrong}; the server refuses every update of this stream and may lose it at its next restart",
                fix="correct its mirror or sources, or its max_msg_size",
            )
        return
    if not is_new(change, "mirror", "sources", "subjects", "max_msg_size", "max_value_size") or _error_after(
        name, view
    ):
        return  # what is refused harms nobody
    for other in downstream(name, view):
        if wrong := _new_error(other, view):
            yield refusal(
                _field_at_fault(change),
                f"the server would lose stream {other} at a restart: {wrong}",
                f"change {other} first, or leave this stream as it is",
                affects=streams([other], view),
            )


def _field_at_fault(change: Change) -> str:
    candidates = ("max_msg_size", "max_value_size", "sources", "mirror", "subjects")
    return next((path for path in candidates if change.touches(path)), "")


def _new_error(name: str, view: View) -> str | None:
    """Why the server would refuse this stream after the change, if it would not refuse it now."""
    wrong = _error_after(name, view)
    return wrong if wrong and wrong != _error_in(name, live_streams(view)) else None


def _error_after(name: str, view: View) -> str | None:
    """Computed once per view."""
    errors = _errors_by_stream(view)
    if name not in errors:
        errors[name] = _error_in(name, afterwards(view).streams)
    return errors[name]


@lru_cache(maxsize=4)
def _errors_by_stream(_view: View) -> dict[str, str | None]:
    return {}


def _error_in(name: str, streams: Mapping[str, Config]) -> str | None:
    if ring := first_cycle(name, streams):
        return f"{cycle_text(name, ring)}: the server takes that for a cycle"
    if small := next(copies_of_larger(name, streams), None):
        own, wanted = (written_size(largest_message_of(streams[stream])) for stream in (name, small.origin))
        return f"its max_msg_size {own} is below {wanted} of {small.origin}"
    return None


RULES = (unread_gone_at_restart, doomed_copy)
