"""What a restart of a server does to copies: which it refuses, and what copied interest streams lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View, once_per_view
from reconciler.kinds.afterwards.readers import all_copying_streams, static_groups
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
from reconciler.kinds.fields.known import V2_12
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
    feeds_in_other_accounts,
    losing_consumers,
)
from reconciler.kinds.stream_config.stream_settle import canonical
from reconciler.kinds.subjects.filters import filters_of
from reconciler.model.resource import Address, Config
from reconciler.model.wire.snapshot import Snapshot, Target

MAKES = (Action.CREATE, Action.UPDATE, Action.REPLACE)
STANDS = (Action.KEEP, Action.ADOPT)
READ_ELSEWHERE = "let these consumers read a stream with limits retention, such as a copy; or "
FIX = (
    f"{READ_ELSEWHERE}rename them (`moved:`, and in their clients) to names that begin with 0 to 9 or A to I, which a server reads "
    "before `JS_`"
)
FIX_IN_CLUSTER = f"{READ_ELSEWHERE}let them process everything before you apply, move or restart what feeds the copy"


class AtRisk(NamedTuple):
    """A consumer that loses what it has not processed of a stream that is copied: a single server deletes it at a restart,
    a cluster when it stops feeding the copy."""

    origin: str
    copy: str
    consumer: str


# Measured on 2.14 and 2.15: of 100 messages that a mirror or a source had copied and a consumer `mail` had not been given, 0
# were left after a restart or a kill; 100 with `Amail`, and on 2.11 and 2.12. In clusters of three, 2.11, 2.14 and 2.15 kept all;
# 2.12 deleted all on the leader of the stream, whatever the names, filters and storage, and none of a stream of one replica.
@rule(
    UNREAD_AT_RESTART,
    "unread-gone-at-restart",
    on=(*MAKES, *STANDS, Action.DELETE),
    needs=("live", "neighbours"),
    since=V2_12,
    reaction=Reaction.HARMS,
)
def unread_gone_at_restart(change: Change, view: View) -> Iterator[Finding]:
    """A single server of 2.14 or later, or a cluster of 2.12, keeps an interest stream that has a consumer, and a mirror, a
    source or an elastic group that copies it.

    The server feeds the copy by a consumer of its own. From 2.14 on its name begins with `JS_`. When a single server starts,
    it reads the consumers in the order of their names, and deletes what `JS_…` has acknowledged and none of those that it has
    read still wants. So consumers whose names sort after `JS_` lose what is copied and not yet processed. All names with a
    small first letter do. The first restart after the stream became an interest stream may lose nothing.

    A cluster of 2.12 forgets what consumers want when such a consumer ends: when somebody changes, moves or deletes the copy,
    when the copy or the stream gets another leader, and when a server restarts, also for an upgrade. Then the server that
    leads the stream deletes all that is not processed, whatever the names and the filters of the consumers, and the other
    servers keep it. A stream with one replica loses nothing in a cluster, and neither does any cluster of 2.11, 2.14 or 2.15.

    A plan asks for consent if it makes this so, or if it ends such a consumer in a cluster of 2.12. Every later plan warns,
    also after an upgrade, until the file consents; then it says that somebody has.

    Instead: let the consumers read a stream with limits retention, such as the copy. On a single server, rename them to names
    that sort before `JS_`. In a cluster, let them process everything before you apply, move or restart.
    """
    for origin, losses in _losses_by_change(view).get(change.address, {}).items():
        is_new = change.action not in STANDS and any(_is_caused_by_plan(risk, view) for risk in losses)
        consumers = dependants.consumers(origin, sorted({risk.consumer for risk in losses}), view)
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT if is_new else Outcome.WARNS,
            consentable=True,
            path=_copy_path(change, origin, view),
            affects=consumers if is_new else (),
            tells=consumers,
            message=loss_text(origin, losses, view.target),
            fix=fix_of_loss(view.target),
        )


def loss_text(origin: str, losses: Sequence[AtRisk], target: Target) -> str:
    """What goes, and when, as a message says it."""
    copying, readers = (
        sorted(set(names)) for names in zip(*((risk.copy, risk.consumer) for risk in losses), strict=True)
    )
    unprocessed = f"{few(readers, 3)} {verb(len(readers), 'have')} not processed yet"
    if target.is_clustered:
        return (
            f"when a cluster of nats-server {V2_12.short} stops feeding {few(copying, 3)}, at a change, a new leader or a restart, the "
            f"server that leads interest stream {origin} deletes what {unprocessed}"
        )
    return (
        f"when it restarts, the server deletes from interest stream {origin} what {few(copying, 3)} {verb(len(copying), 'have')} copied "
        f"and {unprocessed}"
    )


def fix_of_loss(target: Target) -> str:
    """Return the way out on such a server, or in such a cluster."""
    return FIX_IN_CLUSTER if target.is_clustered else FIX


def at_restart(snapshot: Snapshot) -> Iterator[AtRisk]:
    """What consumers of an account lose as it is: on such a single server at each restart, in such a cluster whenever it
    stops feeding a copy."""
    copying: dict[str, list[Copy]] = {}
    for name, info in snapshot.streams.items():
        for copier in copies(name, info["config"]):
            copying.setdefault(copier.origin, []).append(copier)
    for origin in dict.fromkeys((*copying, *snapshot.copiers)):
        feeds = [*_feeds(copying.get(origin, ())), *feeds_in_other_accounts(origin, snapshot)]
        consumers = {name: filters_of(info["config"]) for name, info in snapshot.consumers.get(origin, {}).items()}
        yield from _losses_in(origin, snapshot.config_of(origin), feeds, consumers, snapshot.target)


def _feeds(copying: Iterable[Copy]) -> Iterator[Feed]:
    for copier in copying:
        own = (copier.entry.get("consumer") or {}).get("name")
        yield Feed(copier.stream, own or (FEEDS_MIRROR if copier.is_mirror else FEEDS_SOURCE), copier.filters or (">",))


def _losses_in(
    origin: str, config: Config, feeds: Sequence[Feed], consumers: Mapping[str, Sequence[str]], target: Target
) -> Iterator[AtRisk]:
    for feed in feeds:
        for name in losing_consumers(feed, config, consumers, target):
            yield AtRisk(origin, feed.copy, name)


@lru_cache(maxsize=4)
def _losses_now(view: View) -> frozenset[AtRisk]:
    """What is lost as it is now."""
    return frozenset(at_restart(view.snapshot))


@lru_cache(maxsize=4)
def _losses_during_apply(view: View) -> frozenset[AtRisk]:
    """Of these, what a cluster deletes while it applies this plan, which ends what feeds the copy and keeps the consumer."""
    return frozenset(
        risk
        for risk in _losses_now(view)
        if view.target.is_clustered
        and _ends_feeding(risk, view)
        and risk.consumer in _filters_afterwards(risk.origin, view)
    )


def _ends_feeding(risk: AtRisk, view: View) -> bool:
    """Does this plan delete the copy or let it copy otherwise, or move the one or the other?"""
    made_by, names = afterwards(view).made_by, (risk.copy, risk.origin)
    if any(name in made_by and made_by[name].action is Action.REPLACE for name in names):
        return True
    before, after = (
        [_place_and_copied_entries(name, risk.origin, streams) for name in names]
        for streams in (live_streams(view), afterwards(view).streams)
    )
    return before != after


def _place_and_copied_entries(name: str, origin: str, streams: Mapping[str, Config]) -> object:
    """Where a stream stands, and what it copies of its origin; None: it is gone."""
    if name not in streams:
        return None
    config = canonical(streams[name])
    copied = [copier.entry for copier in copies(name, config) if copier.origin == origin]
    return config.get("num_replicas"), config.get("placement"), copied


def _is_caused_by_plan(risk: AtRisk, view: View) -> bool:
    """Does this plan make it so, or let the cluster delete it now?"""
    return risk not in _losses_now(view) or risk in _losses_during_apply(view)


def _filters_afterwards(stream: str, view: View) -> dict[str, Sequence[str]]:
    """The subjects of each consumer once this plan is applied, with those that the members of static groups create."""
    consumers: dict[str, Sequence[str]] = {
        name: filters_of(config) for name, config in consumers_afterwards(stream, view).items()
    }
    for address, config in static_groups(stream, view):
        consumers |= durable_subjects(address.name, config)
    return consumers


@lru_cache(maxsize=4)
def _losses_by_change(view: View) -> Mapping[Address, Mapping[str, Sequence[AtRisk]]]:
    """What is lost once or while this plan is applied, by the change that says so and by stream."""
    by_address = dict[Address, dict[str, list[AtRisk]]]()
    for risk in dict.fromkeys((*_losses_afterwards(view), *sorted(_losses_during_apply(view)))):
        if address := _change_to_blame(risk, view):
            by_address.setdefault(address, {}).setdefault(risk.origin, []).append(risk)
    return by_address


def _losses_afterwards(view: View) -> Iterator[AtRisk]:
    after = afterwards(view)
    for origin in dict.fromkeys((*after.copiers, *view.snapshot.copiers)):
        feeds = [*_feeds(after.copiers.get(origin, ())), *feeds_in_other_accounts(origin, view.snapshot)]
        config = after.streams.get(origin, {})
        yield from _losses_in(origin, config, feeds, _filters_afterwards(origin, view), view.target)


def _change_to_blame(risk: AtRisk, view: View) -> Address | None:
    """Whose change says it: what makes it so; or, if it is so already, whoever consents to it, or else the stream."""
    made_by = afterwards(view).made_by
    stream, copy = made_by.get(risk.origin), made_by.get(risk.copy)
    consumer = view.changes.get(Address.of("consumer", risk.origin, risk.consumer))
    own = [change for change in (stream, copy, consumer) if change and not (change.desired and change.desired.external)]
    if _is_caused_by_plan(risk, view):
        making = [
            change for change in (copy, consumer, stream) if change in own and change and change.action not in STANDS
        ]
        tellers = [*making, *own]
    else:
        tellers = sorted(
            own, key=lambda change: all(consent.code != UNREAD_AT_RESTART for consent in change.terms.allow)
        )
    judged = (*MAKES, *STANDS, Action.DELETE)
    return next((change.address for change in tellers if change.action in judged), None)


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
    for other in all_copying_streams(name, view):
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


@once_per_view
def _error_after(name: str, view: View) -> str | None:
    """Why the server would refuse this stream after the change."""
    return _error_in(name, afterwards(view).streams)


def _error_in(name: str, streams: Mapping[str, Config]) -> str | None:
    if ring := first_cycle(name, streams):
        return f"{cycle_text(name, ring)}: the server takes that for a cycle"
    if small := next(copies_of_larger(name, streams), None):
        own, wanted = (written_size(largest_message_of(streams[stream])) for stream in (name, small.origin))
        return f"its max_msg_size {own} is below {wanted} of {small.origin}"
    return None


RULES = (unread_gone_at_restart, doomed_copy)
