"""What the plan says about the work-queue stream it finds: still resuming, or not as the reference makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change, FieldChange, FieldClass
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.elastic_group import effects, queue_stream, recreation_cost, recreation_steps, refilling
from reconciler.kinds.elastic_group.immutable import AS_NEEDED, QUEUE, fixed_fields
from reconciler.kinds.fields.words import amount, consent_to, some
from reconciler.kinds.group_records.group_rules import migrate_command
from reconciler.kinds.group_records.group_start import stored_messages
from reconciler.kinds.losses.made_again import is_made_again
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Config, Json


@rule("EG321", "group-resuming", on=(Action.KEEP, Action.ADOPT, Action.UPDATE), needs=("live",))
def group_resuming(change: Change, view: View) -> Found:
    """The group was recreated, and its stream still has the start sequence it was created with.

    The first apply after the stream has stored a message removes that sequence. Removing it earlier would import
    everything from the first message on. Until then the server refuses the reference's own create (10058). If a server
    before 2.15 restarts while the queue is empty, the queue starts at that sequence once more: nothing is lost, but
    members process some messages again.

    Instead: apply once more after something was published.
    """
    info = recreation_steps.queue_info(change, view)
    live = change.live
    if info is None or live is None or live.state["broken"] or live.state["legacy"]:
        return None
    point, name = queue_stream.start_sequence(info["config"]), recreation_steps.queue_of(change)
    if not point:
        return None
    if not queue_stream.is_queue_of(info["config"], change.address.stream, live.config):
        return Finding(
            outcome=Outcome.WARNS,
            message=f"stream {name} still has the start sequence {point} of {change.address.stream}, with which it was recreated",
            fix="set right what else differs (EG320); after that, an apply removes it",
        )
    if info["state"].get("last_seq"):
        message = (
            f"stream {name} has resumed at message {point} of {change.address.stream}; this removes its start sequence"
        )
        return Finding(outcome=Outcome.WARNS, message=message)
    return Finding(
        outcome=Outcome.WARNS,
        message=f"stream {name} is resuming at message {point} of {change.address.stream}, and has stored nothing yet",
        fix="apply once more after something was published: that removes its start sequence",
    )


@rule("EG320", "queue-differs", on=(Action.KEEP, Action.ADOPT, Action.UPDATE), needs=("live",))
def queue_differs(change: Change, view: View) -> Found:
    """The live work-queue stream is not exactly as the reference would create it for this record.

    Another implementation made it, or somebody edited it. Members may work, but the reference's own create fails. An
    edit of the transforms may have imported messages twice or dropped some. Reconciler never edits the stream in place.

    Instead: leave it if another implementation made it. If it is the queue of another record, write that record, which loses
    nothing. If only limits differ, set them to the record's by hand.
    Otherwise recreate the group in a planned stop. Migrate a record of an earlier version first (EG509).
    """
    name = queue_stream.stream_name(*change.address.names)
    info = view.snapshot.streams.get(name)
    live = change.live
    if info is None or live is None or live.state["broken"]:
        return None
    queue = queue_stream.without_leftover_start(info["config"], legacy=live.state["legacy"])
    if not queue_stream.deviations(queue, change.address.stream, live.config):
        return _window_finding(name, info["config"], view)
    if is_only_record_edited(change, queue):
        return None
    message, fix = _difference_and_fix(name, {**info, "config": queue}, change, view)
    return Finding(outcome=Outcome.WARNS, message=message, fix=fix)


def is_only_record_edited(change: Change, queue: Config) -> bool:
    """Is the queue as the file wants it, and the record is not?"""
    wants_more = bool(fixed_fields(change)) and change.desired is not None
    return wants_more and queue_stream.is_queue_of(queue, change.address.stream, change.wanted)


def drifted_queue(change: Change, view: View) -> Iterator[FieldChange]:
    """A queue that somebody edited: apply changes nothing in it, although no implementation creates a queue like this."""
    info, live = recreation_steps.queue_info(change, view), change.live
    if info is None or live is None or live.state["broken"] or QUEUE in live.config:
        return
    stream, queue = (
        change.address.stream,
        queue_stream.without_leftover_start(info["config"], legacy=live.state["legacy"]),
    )
    is_in_order = queue_stream.maker(queue, stream, live.config) is not None
    if QUEUE in change.terms.unmanaged or is_in_order or is_only_record_edited(change, queue):
        return
    field_info, differing = FieldInfo(left_out="in order"), queue_stream.deviations(queue, stream, live.config)
    yield FieldChange(
        path=QUEUE, live=_differ_clause(differing), field_class=FieldClass.DRIFTED, info=field_info, filled=AS_NEEDED
    )


def _differ_clause(fields: Sequence[str]) -> str:
    return f"{', '.join(fields)} differ{'s' if len(fields) == 1 else ''}"


def _window_finding(name: str, queue: Config, view: View) -> Found:
    if not queue_stream.has_other_duplicate_window(queue, view.target.version):
        return None
    return Finding(
        outcome=Outcome.WARNS,
        message=f"its stream {name} has another duplicate_window than a server gives it: of messages with the same "
        "`Nats-Msg-Id` within it, members are given the first",
        fix="leave it if an older server, or a limit of this one, filled it in; otherwise somebody edited it",
    )


@rule(
    "EG302",
    "queue-outlives-source",
    on=(Action.UPDATE, Action.REPLACE),
    needs=("live", "facts"),
    reaction=Reaction.HARMS,
)
def queue_outlives_source(change: Change, view: View) -> Found:
    """A group is to be recreated, and its queue holds messages that its source no longer stores.

    A new queue copies again what the source holds. Messages that the source has lost meanwhile, by its limits or
    because somebody deleted them, exist only in the old queue and are deleted with it.

    Instead: let the members process what is queued first, or consent.
    """
    queue = recreation_steps.queue_info(change, view)
    queued = queue["state"].get("messages", 0) if queue else 0
    if not queued or not recreation_steps.has_old_queue(change, view) or not any(refilling.questions(change)):
        return None
    if recreation_cost.recreation_obstacle(change, view) or (lost := refilling.messages_gone(change, view)) == 0:
        return None  # EG101 refuses it, or nothing is lost
    stream = change.address.stream
    field = next(iter((*fixed_fields(change), *(change.intent.fields if change.intent else ()))), "")
    value = change.becomes(field)
    which = (
        f"and whether {stream} still stores them could not be determined ({refilling.why_unknown(change, view)})"
        if lost is None
        else f"and {stream} no longer stores {amount(Amount(0, lost))} of them"
    )
    name = recreation_steps.queue_of(change)
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=field,
        to=value,
        quantities={"messages": Amount(0, queued if lost is None else lost)},
        message=f"its queue {name} holds {some(queued, 'message')}, {which}: a new queue cannot copy those again",
        fix=f"let its members process what is queued first, or consent here: {consent_to('EG302', value)}",
    )


@rule(
    "EG312",
    "queue-made-again",
    on=(Action.CREATE, Action.UPDATE, Action.ADOPT),
    needs=("live",),
    reaction=Reaction.HARMS,
)
def queue_made_again(change: Change, view: View) -> Found:
    """The work-queue stream of a group that was applied before is gone, and apply recreates it.

    Only the old queue knew which messages members had processed. The new one starts with everything that the source
    stores, so members process those messages again. Messages that only the old queue still held are lost.

    If somebody recreated it by hand, the new one exists, and this is a warning: an apply only updates the record.

    Instead: make sure that processing a message twice does no harm, and consent.
    """
    if change.made_anew:
        return _recreated_by_hand_finding(change, view)
    stream, name = change.address.stream, recreation_steps.queue_of(change)
    is_all_lost = is_made_again(change) and name not in view.snapshot.streams
    if not (recreation_cost.is_queue_lost(change) or is_all_lost):
        return None
    gone, stored = "it is gone, and " if is_all_lost else "", stored_messages(change, view)
    config = view.snapshot.streams.get(stream, {}).get("config") or {}
    if not stored or config.get("retention") == "workqueue":
        held = "" if stored else f", and {stream} holds none of it"
        kept = f": {stream} is a work queue, and kept none of it" if config.get("retention") == "workqueue" else held
        starts = (
            f"with what its filters match of the {some(stored, 'message')} that {stream} stores" if stored else "empty"
        )
        return Finding(
            outcome=Outcome.WARNS,
            path="" if is_all_lost else QUEUE,
            message=f"{gone}its queue {name} is gone with everything that it still held{kept}; recreated, it starts {starts}",
            fix="nothing brings back what the queue held; find out who deleted it",
        )
    lost = (
        f", and with what only it held of what {stream} no longer stores"
        if recreation_cost.has_source_deleted_messages(change, view)
        else ""
    )
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path="" if is_all_lost else QUEUE,
        quantities={"redelivered": Amount(0, stored)},
        message=f"{gone}its queue {name} is gone with its position{lost}: recreated, it starts "
        f"with everything that {stream} holds: {amount(Amount(0, stored), 'message')}, including what its members have processed",
        fix=f"{'nothing brings back what only the queue held; ' if lost else ''}make sure that processing a message twice does no "
        f"harm, and consent here: {consent_to('EG312')}",
    )


def _recreated_by_hand_finding(change: Change, view: View) -> Found:
    """Somebody recreated it: apply loses nothing more, and brings nothing back."""
    queue = recreation_steps.queue_info(change, view)
    copied = int(queue["state"].get("last_seq", 0)) if queue else 0
    if queue is None:
        return None
    clause = f", so members process up to {some(copied, 'message')} that they had processed" if copied else ""
    name = recreation_steps.queue_of(change)
    return Finding(
        outcome=Outcome.WARNS,
        reaction=Reaction.DOES,
        quantities={"redelivered": Amount(0, copied)} if copied else {},
        message=f"the old queue {name} is gone with its position and with what only it still held; the new one "
        f"copied again what {change.address.stream} stores{clause}",
        fix="an apply only updates the record, and changes neither queue nor members",
    )


def _difference_and_fix(name: str, info: Mapping[str, Json], change: Change, view: View) -> tuple[str, str]:
    """Which implementation it looks like, and what to do about it."""
    queue: Config = info["config"]
    stream, group = change.address.stream, change.live.config if change.live else {}
    differing = queue_stream.deviations(queue, stream, group)
    clause = _differ_clause(differing)
    if queue_stream.maker(queue, stream, group) == queue_stream.NET:
        return (
            f"its stream {name} is as {queue_stream.NET} makes it, not as the reference makes it: {clause}",
            f"leave it, and let only {queue_stream.NET} create this group; members of both consume from it",
        )
    legacy = bool(change.live and change.live.state["legacy"])
    if other := {} if legacy else queue_stream.other_record(queue, stream, group):
        record_fields = queue_stream.record_fields_text(other)
        return (
            f"its stream {name} is not the queue of its record, but of one that says {record_fields}: somebody edited one of them",
            f"write {record_fields} into the record, with its members stopped, which loses nothing, and then the same into the file",
        )
    if set(differing) <= queue_stream.BUFFERS.keys():
        limits = " ".join(
            f"--{field.replace('_', '-')}={group.get(queue_stream.BUFFERS[field], -1)}" for field in differing
        )
        return (
            f"its stream {name} has other limits than its record: {clause}; {effects.effect_of_settings_text(info, differing)}",
            f"set them to those of the record, which loses nothing: nats stream edit {name} {limits}",
        )
    if not queue_stream.TAKING_IN & {*differing}:
        repair = "set them back by hand, which loses nothing"
    elif legacy:
        record = migrate_command(*change.address.names)
        repair = f"stop its members and migrate its record ({record}): the next plan then says more"
    else:
        obstacle = recreation_cost.recreation_obstacle(change, view)
        repair = obstacle.fix if obstacle else "recreate the group in a planned stop"
    return (
        f"no known implementation makes its stream {name} like this: {clause}. Somebody edited it, or its server restarted with an "
        "older store",
        f"leave it if an implementation unknown here made it; otherwise {repair}",
    )
