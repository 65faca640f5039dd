"""What is lost with a consumer that is deleted: its position, and on an interest stream what only it wanted."""

from __future__ import annotations

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer import taking_over
from reconciler.kinds.consumer.losses import Info, others_of, retention_of
from reconciler.kinds.effects.readers import behind, filters
from reconciler.kinds.fields.words import amount, listed, some, verb
from reconciler.kinds.subjects.passing import passed_on
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.model.resource import Address


@rule("CO310", "consumer-deletion", on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)
def consumer_deletion(change: Change, view: View) -> Found:
    """A consumer is deleted with its position. On an interest stream, the messages that only it wanted are deleted too,
    unless the same plan passes their subjects on to another stream: then they stay.

    `removed:` is the consent to the deletion; this verdict says what it costs.

    Instead: let it process what is pending first, or `forget:` it, which leaves it as it is.
    """
    info = change.live.state if change.live else {}
    pending, unacknowledged = info.get("num_pending", 0), info.get("num_ack_pending", 0)
    using = _clients(info)
    if not behind(info) and not using:
        return None
    parts = {f"{some(pending, 'message')} not yet delivered": pending,
             f"{some(unacknowledged, 'message')} not yet acknowledged": unacknowledged}  # fmt: skip
    lost = f"{listed([said for said, number in parts.items() if number])} lose their reader"
    dropped, fate = _fate(change, info, view) if behind(info) else (exactly(0), "")
    return Finding(
        outcome=Outcome.WARNS,
        quantities={"undelivered": pending, "unacknowledged": unacknowledged}
        | ({"dropped": dropped} if dropped.most else {}),
        message="; ".join(filter(None, (lost + fate if behind(info) else "", using))),
    )


def _fate(change: Change, info: Info, view: View) -> tuple[Amount, str]:
    """What happens to the messages that it still wanted: how many are deleted, and the words for it."""
    above = view.changes.get(Address.of("stream", change.address.stream))
    if above and above.action is Action.DELETE:
        return exactly(0), ", and are deleted with their stream"
    retention = retention_of(change.address.stream, view)
    if retention == "workqueue":
        return exactly(0), f": {taking_over.fate(change, filters(info['config']), view)}"
    return _dropped_by_interest(change, info, view) if retention == "interest" else (exactly(0), "")


def _dropped_by_interest(change: Change, info: Info, view: View) -> tuple[Amount, str]:
    number, mine, stream = behind(info), filters(info["config"]), change.address.stream
    passed = passed_on(stream, view)
    if all(any(is_subset(one, wider) for wider in passed) for one in mine):
        return exactly(0), f"; they stay in stream {stream}, which passes their subjects on before"
    others = [one for other in others_of(change, view) for one in filters(other)]
    if not any(collide(one, two) for one in (*others, *passed) for two in mine):
        return exactly(number), "; apply deletes them, since no other consumer wants them"
    dropped = Amount(0, number)
    return dropped, f"; apply deletes {amount(dropped)} of them: those that no other consumer wants"


def _clients(info: Info) -> str:
    waiting = info.get("num_waiting", 0)
    if waiting:
        return f"{some(waiting, 'pull request')} {verb(waiting, 'are')} waiting on it now"
    return "a client is subscribed to it now" if info.get("push_bound") else ""
