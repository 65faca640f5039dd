"""What only a cluster answers: three nodes with the tags `node:0` to `node:2` and `all`, named C1."""

from __future__ import annotations

from tests.agreement.row import M, consumed, created, neighbour, reconsumed, row, updated

THREE = {"num_replicas": 3}
QUEUE = {"retention": "workqueue", "num_replicas": 3}

ROWS = (
    row(
        "1.2/2 peers and placement",
        10005,
        [
            created(num_replicas=4),
            created(placement={"cluster": "C2"}),
            created(placement={"tags": ["nowhere"]}),
            updated({}, num_replicas=4),
        ],
        [
            created(num_replicas=3),
            created(num_replicas=2),
            created(placement={"cluster": "C1"}),
            created(placement={"tags": ["all"]}, num_replicas=3),
            updated({}, num_replicas=3),
            updated(THREE, num_replicas=1),
        ],
    ),
    row("1.2/2 replicas out of range", (10052, 10133), [created(num_replicas=6), created(num_replicas=-1)]),
    row(
        "1.3 consumer_limits below a consumer's",
        (10069, 10051),
        [updated({}, then=[neighbour("c", max_ack_pending=100)], consumer_limits={"max_ack_pending": 50})],
        [updated({}, then=[neighbour("c", max_ack_pending=100)], consumer_limits={"max_ack_pending": 100})],
    ),
    row(
        "2.2 more replicas than the stream",
        10126,
        [consumed(ack_policy="explicit", num_replicas=3), reconsumed({}, num_replicas=3)],
        [
            consumed(on=THREE, ack_policy="explicit", num_replicas=1),
            reconsumed({"num_replicas": 3}, on=THREE, num_replicas=1),
        ],
    ),
    row(
        "2.2 other replicas than the work queue",
        10134,
        [consumed(on=QUEUE, ack_policy="explicit", num_replicas=1), reconsumed({}, on=QUEUE, num_replicas=1)],
        [consumed(on=QUEUE, ack_policy="explicit"), consumed(on=QUEUE, ack_policy="explicit", num_replicas=3)],
    ),
    row(
        "2.4 work queue, filter changed to collide",
        10100,
        [
            consumed(
                on=QUEUE, others=[neighbour("d", filter_subject="@.a")], ack_policy="explicit", filter_subject="@.*"
            )
        ],
        [
            reconsumed(
                {"filter_subject": "@.b"}, on=QUEUE, others=[neighbour("d", filter_subject="@.a")], filter_subject="@.*"
            ),
            reconsumed({"filter_subject": "@.b"}, on=QUEUE, others=[neighbour("d", filter_subject="@.a")], ack_wait=M),
        ],
    ),
    row("1.3 replicas and placement at once", (), (), [updated({}, num_replicas=3, placement={"tags": ["all"]})]),
)
