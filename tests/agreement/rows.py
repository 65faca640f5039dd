"""Every row a single server answers; `rows_cluster` holds what needs several."""

from __future__ import annotations

from tests.agreement import (
    rows_buckets,
    rows_capacity,
    rows_consumer,
    rows_consumer_update,
    rows_copies,
    rows_doomed,
    rows_hidden,
    rows_limits,
    rows_priority,
    rows_pull_push,
    rows_stream,
    rows_subjects,
    rows_update,
)
from tests.agreement.row import Row

ROWS: tuple[Row, ...] = (
    *rows_stream.ROWS,
    *rows_copies.ROWS,
    *rows_subjects.ROWS,
    *rows_capacity.ROWS,
    *rows_update.ROWS,
    *rows_doomed.ROWS,
    *rows_consumer.ROWS,
    *rows_pull_push.ROWS,
    *rows_limits.ROWS,
    *rows_priority.ROWS,
    *rows_consumer_update.ROWS,
    *rows_buckets.ROWS,
    *rows_hidden.ROWS,
)
