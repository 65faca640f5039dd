"""Rules that static and elastic groups share: records that cannot be changed or written, the cost of a deletion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reconciler.changes.amount import Amount, exactly, total
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import amount, few, some
from reconciler.kinds.group_records.group_record import durable_names, key, members
from reconciler.kinds.group_records.group_steps import hindrance
from reconciler.kinds.group_records.membership_rules import refusal
from reconciler.kinds.losses.unprocessed import undelivered_messages
from reconciler.model.resource import Json


def is_current(change: Change) -> bool:
    """The live record can be understood, so its differences mean something."""
    state = change.info
    return not (state.get("broken") or state.get("legacy"))


def migrate_command(stream: str, group: str) -> str:
    """The command that rewrites a group's record in today's form."""
    return f"reconciler groups migrate {stream}/{group}"


def unreadable(family: str, queue: str = "") -> Rule:
    """Rule 509 of a family: apply leaves a record in a historic form, or a broken one, alone. `queue` is the field that
    is `missing` if the group's own queue is."""

    def judge(change: Change, _view: View) -> Found:
        """The stored record is in a historic form, or somebody broke it by hand.

        Rewriting a legacy record ends every running instance that still uses it, and drops keys permanently. Nothing in a broken
        record can be trusted. If somebody deleted the queue of an elastic group with a legacy record, apply does not create it
        either: instances that ignore the old keys would read it in another way.

        Instead: migrate it in a planned stop of its members; until then leave the group as it is.
        """
        state = change.info
        if state.get("broken"):
            return refusal(
                "",
                f"the record of this group cannot be understood: {state['broken']}",
                "repair or delete the record, with all members stopped",
            )
        if state.get("legacy"):
            form = f"the record of this group is in a historic form ({', '.join(state['legacy'])})"
            way_out = f"stop its members, then: {migrate_command(*change.address.names)}"
            if change.action is Action.UPDATE and queue and change.was(queue) == "missing":
                name = "-".join(change.address.names)
                said = f"its queue {name} is gone, and apply does not create it: {form}"
                return refusal("", said, f"{way_out}; then apply creates {name}")
            return refusal("", f"{form}; running instances would end if it were rewritten", way_out)
        return None

    return rule(f"{family}509", "record-not-current", on=(Action.UPDATE, Action.DELETE), needs=("live",))(judge)


def unwritable(family: str, bucket: str) -> Rule:
    """Rule 546 of a family: nothing can be written to the bucket of the records, because somebody edited or sealed
    it."""

    def judge(change: Change, view: View) -> Found:
        """The record of this group cannot be written to the bucket of the records: the bucket's stream captures other subjects,
        or is sealed.

        Somebody made or edited the stream by hand. Nobody answers when the record is written, or the server refuses it (10109).
        Members would not see it either.

        Instead: give the stream the subjects of its bucket again; recreate a sealed one, and put its records back.
        """
        info = view.snapshot.streams.get(f"KV_{bucket}")
        found = hindrance(info["config"], bucket, key(*change.address.names)) if info else None
        return refusal("", *found) if found else None

    on = (Action.CREATE, Action.UPDATE, Action.REPLACE, Action.DELETE)
    return rule(f"{family}546", "bucket-takes-no-record", on=on, needs=("live",), reaction=Reaction.REFUSES)(judge)


def _queue_loss(change: Change, view: View) -> tuple[str, dict[str, int | Amount]] | None:
    queue = "-".join(change.address.names)
    info = view.snapshot.streams.get(queue, {})
    queued = info.get("state", {}).get("messages", 0)
    if not queued:
        return None
    message, quantities = f"this deletes its stream {queue} with {some(queued, 'queued message')}", {"queued": queued}
    if unfinished := _in_flight(view.snapshot.consumers.get(queue, {}).values()):
        message += f", {some(unfinished)} of them delivered and not acknowledged"
        quantities["unacknowledged"] = unfinished
    if retention := _deleting_retention(change.address.stream, view):
        unless = " and nobody else wants" if retention == "interest" else ""
        is_late = view.target.version >= V2_14
        message += (
            f": no member of it processes them any more, and {change.address.stream} deletes what is copied from it{unless}"
            f"{', at the latest when publishers pause' if is_late else ''} ({retention} retention)"
        )
        quantities["messages"] = Amount(0, queued) if is_late else queued
    return message, quantities


def _deleting_retention(stream: str, view: View) -> str:
    """The retention of a stream that deletes what a group has copied; empty where it keeps that."""
    retention = str(view.snapshot.streams.get(stream, {}).get("config", {}).get("retention", "limits"))
    return "" if retention == "limits" else retention


def _position_loss(change: Change, view: View) -> tuple[str, dict[str, int | Amount]] | None:
    """The stream keeps the messages that a static group divides; only the members' durables know how far the members
    have come."""
    infos = view.snapshot.consumers.get(change.address.stream, {})
    names = {
        name for name in durable_names(change.address.name, change.live.config if change.live else {}) if name in infos
    }
    own_infos = [infos[name] for name in names]
    undelivered = total(undelivered_messages(change.address.stream, info, view) for info in own_infos)
    unfinished = _in_flight(own_infos)
    if not (undelivered.most or unfinished):
        return None
    counts = f"{amount(undelivered, 'message')} not delivered yet, {some(unfinished)} not acknowledged"
    message = f"this deletes its members' consumers with their positions: {counts}"
    quantities: dict[str, int | Amount] = {"undelivered": undelivered, "unacknowledged": unfinished}
    if _deleting_retention(change.address.stream, view) == "interest":
        is_shared = infos.keys() > names or view.snapshot.copiers.get(change.address.stream)
        unprocessed = total((undelivered, exactly(unfinished)))
        dropped = Amount(0, unprocessed.most) if is_shared else unprocessed
        unless = ", those that no other consumer wants" if is_shared else ""
        message += f"; {change.address.stream} deletes {amount(dropped)} of them (interest retention){unless}"
        quantities["dropped"] = dropped
    return message, quantities


def _in_flight(consumers: Iterable[Mapping[str, Json]]) -> int:
    return sum(int(consumer.get("num_ack_pending", 0)) for consumer in consumers)


def deletion(family: str) -> Rule:
    """Rule 310 of a family: what is deleted with a group, which is its queue (EG) or its members' positions (SG)."""

    def judge(change: Change, view: View) -> Iterator[Finding]:
        """A group is deleted with what is queued for its members, and its members end.

        `removed:` is the consent to the deletion; this verdict says what it costs. If its stream is a work queue or an interest
        stream, what is queued exists nowhere else, and counts as messages lost: an apply stops if there are more than twice as
        many as the plan said (AP202).

        Instead: let the members process the queue first, or `forget:` the group, which leaves it as it is.
        """
        names = members(change.live.config if change.live else {})
        lost = (_queue_loss if family == "EG" else _position_loss)(change, view)
        said, quantities = lost or ("", {})
        ends = f"its members stop consuming: {few(names)}" if names else ""
        if said or ends:
            message = "; ".join(filter(None, (said, ends)))
            yield Finding(outcome=Outcome.WARNS, quantities=quantities, message=message)

    return rule(f"{family}310", "group-deletion", on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)(judge)
