"""What apply waits for before the filters of a work queue's consumer move: the messages that it has in flight."""

from __future__ import annotations

from reconciler.changes.change import Change
from reconciler.kinds.fields.sparse import SECOND
from reconciler.kinds.fields.words import in_words, some

ACK_WAIT = 30 * SECOND


def longest(change: Change) -> int:
    """Return how long a message can be in flight before it is redelivered."""
    return int(max(change.was("backoff") or [change.was("ack_wait") or ACK_WAIT]))


def waiting(change: Change) -> str:
    """Return what comes after "apply" while messages are in flight."""
    flying = in_flight(change)
    return (
        f"waits until clients have acknowledged the {some(flying, 'message')} that {'is' if flying == 1 else 'are'} "
        f"in flight, {_at_most(change)}"
    )


def waiting_for_part(change: Change) -> str:
    """Return the same where only some of them matter."""
    return (
        f"waits until clients have acknowledged what is in flight of that (up to {some(in_flight(change), 'message')}), "
        f"{_at_most(change)}"
    )


def _at_most(change: Change) -> str:
    return f"at most its ack_wait of {in_words(longest(change), 'duration')}"


def finishing(change: Change) -> str:
    """Return what apply does with a consumer that delivers nothing meanwhile, as the end of a sentence."""
    if not in_flight(change):
        return "apply gives it what is still stored, from the first message on"
    return f"apply {waiting(change)}; then it starts over with what is still stored"


def in_flight(change: Change) -> int:
    """Return how many messages its clients have yet to acknowledge."""
    return int(change.live.state.get("num_ack_pending", 0)) if change.live else 0
