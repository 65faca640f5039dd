"""What no update changes in an elastic group: it is recreated for that. The rest is its membership, and the upkeep of
its queue."""

from __future__ import annotations

from reconciler.changes.change import Change
from reconciler.kinds.elastic_group.replicas import REPLICAS
from reconciler.kinds.group_records.group_spec import paths_beyond_membership

QUEUE = "queue_stream"
"""Not a field of any file. Its live value is `missing` if the record exists without its work-queue stream, `resumed` if
the stream was recreated and no longer needs the start sequence it still has, or says how the stream's settings differ."""
RESUMED = "resumed"

AS_NEEDED = "as the group needs it"
"""Where the queue's form comes from."""

OF_THE_QUEUE = (QUEUE, REPLICAS)
"""What changes in place without touching the record."""


def fixed_fields(change: Change) -> list[str]:
    """The fields of this change for which the group must be recreated."""
    tops = dict.fromkeys(path.partition("[")[0].partition(".")[0] for path in paths_beyond_membership(change))
    return [field for field in tops if field not in OF_THE_QUEUE]
