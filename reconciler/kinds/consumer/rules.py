"""What may not be done to a consumer, or only with consent: its position and its clients depend on it."""

from __future__ import annotations

from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule, with_affected
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer.clients import (
    ACCEPTED_BY,
    failing_pulls_text,
    policy_of,
    pulls_of_removed_groups_text,
    removed_groups,
    renaming_advice,
    waiting_clients_text,
    waiting_pulls,
)
from reconciler.kinds.consumer.deletion import consumer_deletion
from reconciler.kinds.consumer.effects import EFFECTS
from reconciler.kinds.consumer.filter_changes import filter_change
from reconciler.kinds.consumer.renaming import RULES as RENAMING
from reconciler.kinds.consumer.workqueue import RULES as WORK_QUEUE
from reconciler.kinds.consumer.workqueue import queue_objections
from reconciler.kinds.consumer_checks.limits import RULES as LIMITS
from reconciler.kinds.consumer_checks.priority import RULES as PRIORITY
from reconciler.kinds.consumer_checks.pull_push import RULES as PULL_PUSH
from reconciler.kinds.consumer_checks.validity import RULES as VALIDITY
from reconciler.kinds.consumer_config.consumer_config import FIELDS, ConsumerConfig
from reconciler.kinds.consumer_position.lost_position import RULES as LOST_POSITION
from reconciler.kinds.consumer_position.position import is_recreated
from reconciler.kinds.consumer_position.recreation_offer import (
    SECOND_CONSUMER,
    is_mode_switch_field,
    offer_instead_of_refusal,
)
from reconciler.kinds.consumer_position.start_position import BEGINS, is_part_of_policy_change, start_still_matters_text
from reconciler.kinds.fields.versions import reserved_metadata_rule, too_young_rule
from reconciler.kinds.fields.words import consent_to, listed
from reconciler.kinds.losses import dependants
from reconciler.kinds.stream_config.fixed_fields import Fixed, updatability_rules

AT_CREATION = "The server fixes it at creation."
ITS_START = (
    f"{AT_CREATION} It says where a new consumer starts. One that has delivered something keeps its position, and apply only records "
    "the new value. This rule judges one that has delivered nothing yet, and one that somebody recreated since it was applied. A "
    "work queue takes no other start than the first message (CO581)."
)
REPLACED = (
    " (a work queue takes none beside it); or consent: apply then deletes the consumer and recreates it at its position, after "
    "its ack floor or on a work queue with everything that is left. Messages that were delivered above the floor are redelivered, "
    "at most as many as the plan says. The new consumer's deliver_policy is by_start_sequence, which from then on counts as the "
    "file's own"
)


def _fixed_field(code: str, name: str, why: str = AT_CREATION, also: tuple[int, ...] = ()) -> Fixed:
    return Fixed(code, name, why, SECOND_CONSUMER, with_consent=REPLACED, also=also)


FIXED = {
    "deliver_policy": _fixed_field("CO101", "deliver-policy-change", ITS_START),
    "opt_start_seq": _fixed_field("CO102", "start-sequence-change", ITS_START),
    "opt_start_time": _fixed_field("CO103", "start-time-change", ITS_START),
    "ack_policy": _fixed_field("CO104", "ack-policy-change", also=(10221,)),  # the live ack_wait, beside flow_control
    "replay_policy": _fixed_field("CO105", "replay-policy-change"),
    "max_waiting": _fixed_field("CO106", "max-waiting-change"),
    "flow_control": _fixed_field("CO107", "flow-control-change"),
    "idle_heartbeat": _fixed_field("CO108", "heartbeat-change"),
    "deliver_subject": _fixed_field("CO109", "pull-push-switch", "A consumer pulls or is pushed for its whole life."),
    "mem_storage": _fixed_field("CO110", "consumer-storage-change"),
}


def replacement_finding(change: Change, view: View, refusal: Finding) -> Finding | None:
    """The first field that takes a replacement says what the replacement costs; the others refer to it. A start that comes
    or goes with the policy is no decision of its own."""
    if is_part_of_policy_change(change, refusal.path) and _changes_fixed_field("deliver_policy", change, view):
        return None
    if any(other.path == refusal.path and other.outcome is Outcome.REFUSED for other in queue_objections(change, view)):
        return None  # no replacement helps either
    why = FIXED[refusal.path].why
    if refusal.path in BEGINS:
        why = AT_CREATION.removesuffix(".") + start_still_matters_text(change, view) + "."
        refusal = replace(refusal, message=refusal.message.removesuffix(ITS_START) + why)
    finding = offer_instead_of_refusal(change, view, refusal)
    first = next(field for field in FIXED if field == refusal.path or _changes_fixed_field(field, change, view))
    if finding is None or finding.outcome is not Outcome.REPLACES or first == refusal.path:
        return finding
    itself = refusal.message.removesuffix(why)
    return replace(finding, message=f"{itself}It changes when the consumer is recreated, as for {first}.")


def _changes_fixed_field(field: str, change: Change, view: View) -> bool:
    before, after = change.was(field), change.becomes(field)
    return (
        change.touches(field)
        and not FIELDS[field].may_become(before, after, view.target.version)
        and not is_mode_switch_field(change, field)
    )


@rule("CO111", "doomed-storage-change", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.DOOMS)
def doomed_storage_change(change: Change, view: View) -> Found:
    """`mem_storage` of an existing consumer changes on a server that accepts the change.

    2.11, 2.12 and 2.14 before 2.14.4 accept it, but do not move the storage. At their next restart they lose a consumer
    that was switched from memory to file, and the position of one that was switched from file to memory.

    Instead: declare a second consumer; or consent, and apply deletes it and recreates it at its position.
    """
    if not change.touches("mem_storage") or not FIELDS["mem_storage"].may_become(
        change.was("mem_storage"), change.becomes("mem_storage"), view.target.version
    ):
        return None
    refusal = Finding(
        outcome=Outcome.REFUSED,
        path="mem_storage",
        to=bool(change.becomes("mem_storage")),
        fix=SECOND_CONSUMER,
        message="mem_storage of an existing consumer does not really change: this server answers ok, and may lose the "
        f"{'position of the ' if change.becomes('mem_storage') else ''}consumer at its next restart.",
    )
    return offer_instead_of_refusal(change, view, refusal)


@rule("CO121", "priority-policy-switch", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)
def priority_policy_switch(change: Change, view: View) -> Found:
    """The priority policy of an existing consumer changes.

    No server refuses the update. Which pulls it refuses (400) from then on depends on the old policy. After `none` these
    are pulls that name no group of the consumer, after `overflow` pulls with `min_pending` or `min_ack_pending`, and
    after `pinned_client` pulls with the id of a pin. After `prioritized` no pull is refused. Pulls that only name a
    group of the consumer go on. A client that was pinned before blocks all others until the old timeout runs out.

    After `pinned_client`, several clients get messages at once, so messages of a key may be processed out of order. Under
    `pinned_client` one client at a time gets them, until it has sent no new pull for `priority_timeout`.

    Servers before 2.12.12 and 2.14.3 answer 400 to pulls with `min_pending`, `min_ack_pending` or the id of a pin, and
    still deliver the next message to each of them. A client that stopped at the 400 does not process it, and under
    `pinned_client` it gets the pin, too.

    Libraries can be stricter than servers. `Consume` and `Messages` of nats.go start with a group only on a consumer that
    has it, and without one only on a consumer without groups. Stop such clients before a switch from or to `none`, and
    start them with the other setting.

    No server tells which pulls its clients send, so the change needs consent in any case.

    Instead: let clients stop sending such pulls first, and then consent: apply switches the consumer in place and
    releases a pin before and after. Where keys need their order, keep `pinned_client`, or let one client run alone first.
    """
    if (policy := change.field("priority_policy")) is None:
        return None
    before, after = policy_of(policy.live), policy_of(policy.desired)
    first = f"{ACCEPTED_BY[before].instead}, and then " if before in ACCEPTED_BY else ""
    return Finding(
        outcome=Outcome.REFUSED,
        consentable=True,
        path="priority_policy",
        to=after,
        quantities=waiting_pulls(change),
        message=f"priority_policy switches from {before} to {after}: {failing_pulls_text(change, view.target.version)} "
        f"{waiting_clients_text(change, is_recreated(change, view))}",
        fix=f"{first}consent here: {consent_to('CO121', after)}",
    )


@rule("CO122", "priority-group-change", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)
def priority_group_change(change: Change, view: View) -> Found:
    """Priority groups of an existing consumer are removed or renamed.

    No server refuses it. Clients of a removed group get 400 on their next pull; a pull that waits is still served. The
    consumer's one pin stays with whoever held it, so clients of the new group get nothing until it times out. A group
    that is only added, or written in another order, harms nobody; but a consumer that pins clients has exactly one
    group (CO123). No server tells which groups its clients name, so the change needs consent in any case.

    Instead: keep the old group until its clients name another one, and then consent. Under `pinned_client` no client
    can name the new group before: let clients pull again after a 400, with the other name, and consent. Apply changes it
    in place and releases the pin. If a pull of the old group waits then, the server pins its client with the next
    message. Such a client blocks the others until it times out, or until `reconciler unpin` ends its pin.
    """
    groups = change.field("priority_groups")
    if groups is None or change.touches("priority_policy"):
        return None  # a switch of policy says it all
    before, after = groups.live or [], groups.desired or []
    if not (removed := removed_groups(change)):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        consentable=True,
        path="priority_groups",
        to=after,
        quantities=waiting_pulls(change),
        message=f"priority_groups changes from {_group_text(before)} to {_group_text(after)}: new pulls for {listed(removed)} fail (400). "
        f"{waiting_clients_text(change, is_recreated(change, view))}{pulls_of_removed_groups_text(change)}",
        fix=f"{renaming_advice(change)}, and then consent here: {consent_to('CO122', after)}",
    )


def _group_text(groups: list[str]) -> str:
    return ", ".join(groups) or "none"


@rule("CO123", "several-priority-groups", reaction=Reaction.HARMS)
def several_priority_groups(change: Change, _view: View) -> Found:
    """A consumer that pins clients has more than one priority group.

    The server accepts it, but keeps one single pin for the whole consumer: a client pinned in one group blocks the
    clients of all others, and the server only ever shows the first group. Policies without a pin serve several groups.

    Instead: one consumer per group.
    """
    groups = change.becomes("priority_groups") or []
    if len(groups) < 2 or change.becomes("priority_policy") != "pinned_client":
        return None
    if change.action is not Action.CREATE and not change.touches("priority_groups", "priority_policy"):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="priority_groups",
        fix="declare one consumer per group",
        message=f"{len(groups)} priority groups share one pin: a client pinned in one blocks the clients of the others",
    )


@rule("CO131", "live-as-ephemeral", on=(Action.CREATE,), needs=("live",), err_code=10148)
def live_as_ephemeral(change: Change, view: View) -> Found:
    """A consumer of this name is live, but as an ephemeral one that its clients made.

    The server refuses to create it a second time. If an update made it durable, it would keep its inactivity threshold
    and vanish after some seconds without clients.

    Instead: choose another name, or stop the clients that create it.
    """
    stream, name = change.address.names
    live = view.snapshot.consumers.get(stream, {}).get(name)
    if live is None or live["config"].get("durable_name"):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        fix="choose another name, or stop the clients that create the ephemeral one",
        message=f"consumer {name} exists as an ephemeral one, and would still vanish when idle if it were made durable",
    )


_OWN = (
    *updatability_rules(FIELDS, FIXED, of="consumer", manner=replacement_finding),
    doomed_storage_change,
    priority_policy_switch,
    priority_group_change,
    several_priority_groups,
    live_as_ephemeral,
    filter_change,
    consumer_deletion,
    *LOST_POSITION,
    *RENAMING,
    *VALIDITY,
    *PULL_PUSH,
    *PRIORITY,
    *WORK_QUEUE,
    *LIMITS,
    *EFFECTS.rules(),
    too_young_rule("CO", ConsumerConfig),
    reserved_metadata_rule("CO"),
)
RULES = with_affected(dependants.copying_through, _OWN)
