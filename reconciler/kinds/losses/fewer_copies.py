"""Lowered replicas of a stream: the server that leads it keeps it, and consumers that have no copy there lose their
state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.field_effects import value_after
from reconciler.kinds.fields.words import amount, consent_to, few, listed
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.over_limit import OwnName, as_named, state_of, stream_of
from reconciler.kinds.losses.unprocessed import (
    SOME,
    ConsumerTest,
    Info,
    any_consumer,
    is_durable,
    staying_consumer_test,
    unread_consumers,
)
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version

FIELD = "num_replicas"
HANDS_OVER = Version(2, 15)
"""From this version on, the server first copies the state of such consumers to the server that stays."""


def replicas_lowered_rule(family: str, own: OwnName = as_named, counts: ConsumerTest = any_consumer) -> Rule:
    """The 306 of a family. `own` gives the kind's name for a stream's field, and `counts` says for which consumers it
    is a loss."""

    def judge(change: Change, view: View) -> Found:
        """A stream gets fewer replicas, and the server that leads it has no current copy of a consumer.

        The leader keeps the stream. Servers before 2.15 move such a consumer there without most of its state. Measured on
        2.11, 2.12 and 2.14: every durable consumer with one copy, on another server, lost the messages that it had in flight
        and kept its position. Nobody gets these messages again, acknowledged or not. Every ephemeral consumer and every
        durable one with two copies, none of them on the leader, lost its position. It starts over at its `deliver_policy`:
        with `all` the server redelivers everything that is stored, with `new` it skips pending messages.

        From 2.15 on the server hands the state over. Of 256 consumers with one or two copies none lost anything, of 46 in
        another run one did, so there the rule warns and needs no consent.

        Durable consumers without `num_replicas` have a copy on every server of the stream. The rule is silent if the leader
        has a current one: 350 such consumers lost nothing. On a busy cluster of 2.11 up to two of 8 lost their position, and
        how current their copies were is unknown. Another server may become leader before apply, so the numbers are bounds.

        Instead: leave out `num_replicas` of the consumer in an apply before this one, and wait until the leader has a current
        copy. Or let clients acknowledge what is in flight, and stop them. Or keep the replicas.
        """
        before, after = int(change.was(own(FIELD)) or 1), int(value_after(change, own(FIELD)) or 1)
        if after >= before or not view.target.is_clustered:
            return None
        return _finding_of_losses(change, view, family, own(FIELD), counts)

    harms = rule(
        f"{family}306", "replicas-lowered", on=(Action.UPDATE,), needs=("live", "neighbours"), reaction=Reaction.HARMS
    )
    return harms(judge)


class _Losing(NamedTuple):
    """Consumers that have no copy on the server that stays, and what they may lose at most."""

    names: list[str]
    fewer: list[str]
    """Those of them that are durable, and have fewer copies than the stream."""
    fleeting: list[str]
    """Those of them that are ephemeral."""
    in_flight: int
    skipped: int
    again: int


def _finding_of_losses(change: Change, view: View, family: str, path: str, counts: ConsumerTest) -> Found:
    stream, after = stream_of(change), value_after(change, path)
    lost, unread = _losing_consumers(change, view, counts), unread_consumers(stream, view)
    costs = {"messages": lost.in_flight, "skipped": lost.skipped, "redelivered": lost.again}
    if not (unread or any(costs.values())):
        return None
    is_warning = not (unread or lost.in_flight or lost.skipped) or view.target.version >= HANDS_OVER
    consent = [] if is_warning else [f"consent here: {consent_to(f'{family}306', after)}"]
    return Finding(
        outcome=Outcome.WARNS if is_warning else Outcome.NEEDS_CONSENT,
        path=path,
        to=None if is_warning else after,
        message=". ".join(filter(None, (_lost_state_text(lost, change, view), _unread_text(unread)))),
        quantities={name: Amount(0, most) for name, most in costs.items() if most}
        | ({"unread": len(unread)} if unread else {}),
        affects=dependants.consumers(stream, lost.names, view),
        fix=", or ".join([*_ways_out_texts(lost), *consent]),
    )


def _ways_out_texts(lost: _Losing) -> list[str]:
    late = [name for name in lost.names if name not in (*lost.fewer, *lost.fleeting)]
    first = [
        f"leave out num_replicas of {few(lost.fewer)} in an apply before this one" if lost.fewer else "",
        f"stop the clients of {few(lost.fleeting)} first" if lost.fleeting else "",
        f"plan again when the copies of {few(late)} are current" if late else "",
    ]
    done = (
        "let clients acknowledge what is in flight first, and stop them" if lost.in_flight and not lost.skipped else ""
    )
    ways = [way for way in (listed([way for way in first if way]), done) if way]
    return ways or ["plan again when its consumers can be read"]


def _losing_consumers(change: Change, view: View, counts: ConsumerTest) -> _Losing:
    stream = stream_of(change)
    stays = staying_consumer_test(stream, view, counts)
    losing = {
        name: info
        for name, info in view.snapshot.consumers.get(stream, {}).items()
        if stays(info) and _has_no_current_copy(info, change)
    }
    costs = {name: _possible_costs(info, change) for name, info in losing.items()}
    names = sorted(name for name, many in costs.items() if any(many))
    fleeting = [name for name in names if not is_durable(losing[name])]
    fewer = [name for name in names if name not in fleeting and _has_fewer_copies(losing[name], change)]
    return _Losing(names, fewer, fleeting, *(sum(costs[name][part] for name in names) for part in range(3)))


def consumers_with_unanswered_pulls(change: Change, view: View) -> dict[str, Info]:
    """Consumers whose clients are not told that the one server that keeps the stream leads them from now on: a pull that
    waits where they were gets no answer. From 2.15 on it ends with 409 if that server has a copy of the consumer."""
    stream, leader = stream_of(change), _leader_name(change)
    stays = staying_consumer_test(stream, view)
    return {
        name: info
        for name, info in sorted(view.snapshot.consumers.get(stream, {}).items())
        if stays(info)
        and not info["config"].get("deliver_subject")
        and not (leader and leader == (info.get("cluster") or {}).get("leader"))
        and (view.target.version < HANDS_OVER or _has_no_current_copy(info, change))
    }


def _has_no_current_copy(info: Info, change: Change) -> bool:
    """Has the server that leads the stream no current copy of it? If no server says so, its number of copies tells."""
    cluster, leader = info.get("cluster") or {}, _leader_name(change)
    if not leader or not cluster.get("leader"):
        return _has_fewer_copies(info, change)
    current = [replica["name"] for replica in cluster.get("replicas") or () if replica.get("current", True)]
    return leader not in (cluster["leader"], *current)


def _has_fewer_copies(info: Info, change: Change) -> bool:
    """Does it have fewer copies than the stream, as the server counts them? One that follows has as many."""
    live, own = _live_info(change)["config"], int(info["config"].get(FIELD) or 0)
    is_fleeting = not is_durable(info) and live.get("retention", "limits") == "limits"
    return 0 < own < int(live.get(FIELD) or 1) or (is_fleeting and own == 0)


def _leader_name(change: Change) -> str:
    return (_live_info(change).get("cluster") or {}).get("leader") or ""


def _live_info(change: Change) -> Mapping[str, Json]:
    return change.live.state if change.live else {"config": {}}


def _possible_costs(info: Info, change: Change) -> tuple[int, int, int]:
    """Messages in flight, those that it may skip if it starts over, and acknowledged ones that it may get again."""
    state, delivered = state_of(change), info.get("delivered") or {}
    position, in_flight = int(delivered.get("stream_seq") or 0), int(info.get("num_ack_pending") or 0)
    starts_late = info["config"].get("deliver_policy") in ("new", "last", "last_per_subject")
    passed = max(0, position + 1 - int(state.get("first_seq") or 1))
    done = max(0, int(delivered.get("consumer_seq") or 0) - in_flight)
    again = 0 if info["config"].get("deliver_policy") == "new" else min(passed, done, int(state.get("messages") or 0))
    return in_flight, int(info.get("num_pending") or 0) if starts_late and position else 0, again


def _lost_state_text(lost: _Losing, change: Change, view: View) -> str:
    if not lost.names:
        return ""
    leader, is_one = _leader_name(change), len(lost.names) == 1
    has, its = ("has", "its") if is_one else ("have", "their")
    server_text = (
        f"on {leader}, which leads the stream and keeps it"
        if leader
        else "that is known to be on the server that keeps it"
    )
    loses = "in rare cases loses" if view.target.version >= HANDS_OVER else "may lose"
    return (
        f"consumer{'' if is_one else 's'} {few(lost.names)} {has} no current copy {server_text}. The server {loses} {its} state, and then "
        f"{listed(_costs_in_words(lost))}"
    )


def _costs_in_words(lost: _Losing) -> list[str]:
    texts = [f"never redelivers {amount(Amount(0, lost.in_flight), 'message')} in flight"] if lost.in_flight else []
    texts += [f"skips {amount(Amount(0, lost.skipped), 'pending message')}"] if lost.skipped else []
    return texts + ([f"redelivers {amount(Amount(0, lost.again), 'acknowledged message')}"] if lost.again else [])


def _unread_text(unread: Mapping[str, str]) -> str:
    """Nobody knows where the copies of these consumers are, nor what is in flight."""
    if not unread:
        return ""
    who, why = min(unread.items())
    called = "its consumers" if who == SOME else f"its consumer {who}"
    return f"{called} could not be read ({why}): a consumer without a copy on the server that keeps the stream may lose its state"
