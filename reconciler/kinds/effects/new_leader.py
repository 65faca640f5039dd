"""What clients of a clustered stream notice when other servers come to lead it: after its first server gets company, and
after a move."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.changes.change import Change
from reconciler.changes.verdict import Finding
from reconciler.kinds.effects.foretold import MovedField, note, notes_of
from reconciler.kinds.effects.surplus import stream_of

# Measured on three nodes, with 50 messages a second: 2 or 3 of them got no answer in each of 4 rises from one replica and of
# 6 moves, on 2.11 and 2.15, and were not stored; none in 3 reductions. At 200 a second 236 publishes got no
# answer in 24 moves, none of them stored; on a loaded machine one of them was stored, in 2 moves of about 20 (the old leader had
# passed it on). Consumers of a moved stream were silent for up to 9 s, and two messages came again. Their positions stayed.
PUBLISHES = (
    "a publish at that moment may get no answer, stored or not, so publishers have to retry with the same Nats-Msg-Id"
)
RISES = f"its new servers elect a leader: {PUBLISHES}"
MOVES = f"if other servers have to lead it then: {PUBLISHES}"
CONSUMERS = (
    "; consumers deliver nothing for some seconds, pulls that wait get nothing until they expire, and what is in flight may be "
    "redelivered"
)


@notes_of(611)
def leader_changes(moved: MovedField) -> Iterable[Finding]:
    """Notes about publishers and consumers while the leader of a clustered stream changes."""
    if not moved.view.target.is_clustered:
        return
    if moved.field == "placement":
        has_consumers = moved.view.snapshot.consumers.get(stream_of(moved.change))
        yield note(MOVES + CONSUMERS if has_consumers else MOVES)
    elif int(moved.change.was(moved.path) or 1) == 1 and not _moves(moved.change):
        yield note(RISES)


def _moves(change: Change) -> bool:
    return change.touches("placement") and bool(change.becomes("placement"))
