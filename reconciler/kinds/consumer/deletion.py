"""What is lost with a consumer that is deleted: its position, and on an interest stream what only it wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer import taking_over
from reconciler.kinds.consumer.clients import pin_clause_of
from reconciler.kinds.consumer.filter_changes import others_of
from reconciler.kinds.consumer_position.ended_pulls import ended_pulls_clause, missing_consumer_clause
from reconciler.kinds.consumer_position.retention import retention_of
from reconciler.kinds.consumer_position.unclaimed import unclaimed_messages
from reconciler.kinds.fields.words import amount, listed, some
from reconciler.kinds.group_records.group_record import STATIC_BUCKET, durable_names, key, read_record
from reconciler.kinds.losses.unprocessed import (
    claimed_messages,
    uncounted_questions_of_consumer,
    undelivered_messages,
    unprocessed_messages,
)
from reconciler.kinds.stream_config.new_copies import successors
from reconciler.kinds.subjects.filters import filters_of, subjects_kept_by
from reconciler.kinds.subjects.subject_lists import any_collide
from reconciler.kinds.subjects.subject_moves import subjects_at_consumer_deletions
from reconciler.model.resource import Address, Json
from reconciler.model.wire.questions import Question


def questions(change: Change, view: View) -> Iterator[Question]:
    """What the consumer has not delivered, and how much of it goes to others that the same plan creates."""
    if change.action is Action.DELETE and change.live:
        yield from uncounted_questions_of_consumer(change.address.stream, change.live.state)
        yield from taking_over.questions(change, filters_of(change.live.config), (), view)


@rule("CO310", "consumer-deletion", on=(Action.DELETE,), needs=("live", "facts"), reaction=Reaction.HARMS)
def consumer_deletion(change: Change, view: View) -> Found:
    """A consumer is deleted with its position. On an interest stream, the messages that only it wanted are deleted too.

    An interest stream may also store messages that no consumer wants: those that it stored as a limits stream, and those that
    a consumer no longer takes since its filter changed. The server deletes them with the next consumer that is deleted, as
    far as they come after its last acknowledged message. It also deletes what this consumer gave up at `max_deliver`.

    Pulls that wait on it end with 409, and later ones get 503, also those of a pinned client.

    A consumer of a member of a static group is the only memory of that member's progress. The member's next instance creates it
    again, and gets all that its partitions hold. So a consumer that was adopted before its group belongs under `forget`.

    `removed:` is the consent to the deletion; this verdict says what it costs.

    Instead: let it process what is pending first, or `forget:` it, which leaves it as it is.
    """
    info = change.info
    stream = change.address.stream
    unread = unprocessed_messages(stream, info, view) if info else exactly(0)
    dropped, fate = _fate_of_unread(change, info, unread, view) if unread.most else (exactly(0), "")
    unclaimed = unclaimed_messages(change, view)
    loss_clause = f"{_lost_reader_clause(undelivered_messages(stream, info, view), info)}{fate}" if unread.most else ""
    group = _group_of_member(change, view)
    clauses = [clause for clause in (loss_clause, _unclaimed_clause(unclaimed), _clients_clause(change)) if clause]
    if not (clauses or group):
        return None
    clauses += filter(None, [_position_clause(change, view) if group is None else _member_clause(group, change, view)])
    dropped = Amount(dropped.least, dropped.most + unclaimed)
    return Finding(
        outcome=Outcome.WARNS,
        quantities={
            "undelivered": undelivered_messages(stream, info, view) if info else 0,
            "unacknowledged": info.get("num_ack_pending", 0),
        }
        | ({"dropped": dropped} if dropped.most else {}),
        message="; ".join(clauses),
        fix=f"write forget: [{change.address}] instead, which leaves it to its group" if group else None,
    )


def _group_of_member(change: Change, view: View) -> Address | None:
    """The static group that stays, or is created, and has a member whose consumer this is."""
    stream, name = change.address.names
    names = [name[:end] for end, letter in enumerate(name) if letter == "-"]
    addresses = (Address.of("static_group", stream, group) for group in names)
    return next((address for address in addresses if name in _durables_afterwards(address, view)), None)


def _durables_afterwards(group: Address, view: View) -> list[str]:
    """The names of its members' consumers once this plan is applied; none if there is no such group then."""
    planned = view.changes.get(group)
    if planned and planned.action in (Action.CREATE, Action.DELETE):
        return durable_names(group.name, planned.wanted) if planned.action is Action.CREATE else []
    entry = view.snapshot.entries.get(STATIC_BUCKET, {}).get(key(*group.names))
    return [] if entry is None or entry.deleted else durable_names(group.name, read_record(entry).config)


def _member_clause(group: Address, change: Change, view: View) -> str:
    """A member creates its consumer again, and a static group has no other memory of its progress."""
    again = (
        "is left in its partitions"
        if retention_of(change.address.stream, view) == "workqueue"
        else "is stored in its partitions, processed before or not"
    )
    return f"it is the consumer of a member of {group}: the member's next instance creates it again, and gets all that {again}"


def _unclaimed_clause(unclaimed: int) -> str:
    return (
        f"with it, apply deletes up to {some(unclaimed, 'stored message')} that no consumer wants" if unclaimed else ""
    )


def _lost_reader_clause(pending: Amount, info: Mapping[str, Json]) -> str:
    """What loses its reader."""
    unacknowledged = info.get("num_ack_pending", 0)
    parts = {f"{amount(pending, 'message')} not yet delivered": pending.most,
             f"{some(unacknowledged, 'message')} not yet acknowledged": unacknowledged}  # fmt: skip
    lose = "loses its" if pending.most + unacknowledged == 1 else "lose their"
    return f"{listed([clause for clause, number in parts.items() if number])} {lose} reader"


def _fate_of_unread(change: Change, info: Mapping[str, Json], unread: Amount, view: View) -> tuple[Amount, str]:
    """The fate of the messages that it still wanted: how many are deleted, and the words for it."""
    stream_change = view.changes.get(Address.of("stream", change.address.stream))
    if stream_change and stream_change.action is Action.DELETE:
        is_one = unread.most == 1
        return exactly(0), f", and {'is' if is_one else 'are'} deleted with {'its' if is_one else 'their'} stream"
    retention = retention_of(change.address.stream, view)
    if retention == "workqueue":
        subjects = filters_of(info["config"])
        is_taken = taking_over.is_taken(change, subjects, view) or taking_over.successors_clause(
            change, subjects, (), view
        )
        at_work = ", also those that a client is still at work on" if info.get("num_ack_pending") and is_taken else ""
        return exactly(0), f": {taking_over.fate_of_left_text(change, subjects, (), view)}{at_work}"
    return _dropped_by_interest(change, info, unread, view) if retention == "interest" else (exactly(0), "")


def _dropped_by_interest(change: Change, info: Mapping[str, Json], unread: Amount, view: View) -> tuple[Amount, str]:
    subjects, taken = filters_of(info["config"]), subjects_at_consumer_deletions(change.address.stream, view)
    others = [subject for other in others_of(change, view) for subject in subjects_kept_by(filters_of(other), taken)]
    copies = successors(change.address, view)
    if complete := [successor.stream for successor in copies if successor.is_whole]:
        return exactly(
            0
        ), f"; {listed(complete)} {'copies' if len(complete) == 1 else 'copy'} what it has not processed"
    if takers := taking_over.successors_clause(change, subjects, (), view):
        return exactly(0), f"; {takers}"
    copying = [successor.stream for successor in copies]
    if not copying and not any_collide(others, subjects):
        dropped = claimed_messages(change.address.stream, info, view)
        them = "them" if dropped.is_exact else f"{amount(dropped)} of them"
        return dropped, f"; apply deletes {them}, since no other consumer wants them"
    dropped = Amount(0, unread.most)
    except_copied = f" and that {listed(copying)} {'does' if len(copying) == 1 else 'do'} not copy" if copying else ""
    return dropped, f"; apply deletes {amount(dropped)} of them: those that no other consumer wants{except_copied}"


def _clients_clause(change: Change) -> str:
    info = change.info
    if info.get("push_bound"):
        return "a client is subscribed to it now, and receives nothing more"
    pin = pin_clause_of(info)
    ends = (
        ended_pulls_clause(info, missing_consumer_clause(change.address.name)) if pin or info.get("num_waiting") else ""
    )
    return "; ".join(filter(None, (pin, ends)))


def _position_clause(change: Change, view: View) -> str:
    """A position that is lost. On a work queue, messages that are stored stand for it; with its stream, all is gone."""
    stream_change = view.changes.get(Address.of("stream", change.address.stream))
    is_deleted = stream_change is not None and stream_change.action is Action.DELETE
    sequence = (change.info.get("ack_floor") or {}).get("stream_seq")
    if not sequence or is_deleted or retention_of(change.address.stream, view) == "workqueue":
        return ""
    return (
        f"its position, sequence {sequence}, is lost: a consumer created later under this name begins as its file says"
    )
