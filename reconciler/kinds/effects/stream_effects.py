"""What clients experience when a stream changes, as one list: the same for streams, KV buckets and object stores."""

from __future__ import annotations

from reconciler.kinds.effects.direct_gets import direct_gets_refused, kept_by_mirrors
from reconciler.kinds.effects.listeners import (
    consumers_refused,
    copied_at_once,
    copies_stop,
    copies_to_come,
    headers_in_copies,
    leader_changes,
    listeners_fall_silent,
    markers_read,
    stored_elsewhere,
    taken_in_besides,
)
from reconciler.kinds.effects.publishers import (
    deduplication_shortened,
    kinds_of_publish_refused,
    limits_to_come,
    publishers_unanswered,
    publishes_refused,
    queue_drops,
)

FAMILIES = (
    publishes_refused,
    publishers_unanswered,
    queue_drops,
    deduplication_shortened,
    direct_gets_refused,
    kinds_of_publish_refused,
    listeners_fall_silent,
    stored_elsewhere,
    markers_read,
    consumers_refused,
    copies_stop,
    limits_to_come,
    headers_in_copies,
    kept_by_mirrors,
    copied_at_once,
    copies_to_come,
    taken_in_besides,
    leader_changes,
)
