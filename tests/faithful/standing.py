"""What stands live though no server would make it anew, or though we would refuse to: each brought about by raw requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.model.wire.version import Version
from reconciler.server.wire.answers import Answer, Put
from tests.faithful.accounts import Live
from tests.faithful.drawing import GROUP_BUCKET, as_stored
from tests.primitives.bodies import MS, Body

Request = tuple[str, Body]
"""What is asked (`STREAM.CREATE.S`, `CONSUMER.UPDATE.S.c`, `PUT.bucket.key`), and with which configuration or record."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One way into a state that a plan would not bring about."""

    requests: Sequence[Request]
    only: tuple[Version, Version] = (Version(0, 0), Version(999, 0))
    """Versions that take the last request: from the first on, up to the second."""

    def is_taken_by(self, version: Version) -> bool:
        return self.only[0] <= version < self.only[1]


def _stream(name: str, **body: object) -> Request:
    return f"STREAM.CREATE.{name}", {"subjects": [f"{name.lower()}.>"], "storage": "memory", **body}


def _update(name: str, **body: object) -> Request:
    asked, config = _stream(name, **body)
    return asked.replace("CREATE", "UPDATE"), config


def _consumer(stream: str, name: str, *, action: str = "CREATE", **body: object) -> Request:
    return f"CONSUMER.{action}.{stream}.{name}", {"ack_policy": "explicit", **body}


PUSH = {"deliver_subject": "deliver.here", "ack_policy": "none"}
QUEUE = {"retention": "workqueue"}
PINS: Body = {"priority_policy": "pinned_client", "priority_groups": ["a", "b"]}
MARKERS = {"allow_msg_ttl": True, "subject_delete_marker_ttl": 1000 * MS, "allow_rollup_hdrs": True}
OLD = (Version(0, 0), Version(2, 12))
SINCE_2_12 = (Version(2, 12), Version(999, 0))
SINCE_2_15 = (Version(2, 15), Version(999, 0))

STANDING: Mapping[str, Standing] = {
    "sealed": Standing([_stream("S"), _update("S", sealed=True)]),
    "a sealed counter": Standing([_stream("S", allow_msg_counter=True), _update("S", allow_msg_counter=True, sealed=True)], SINCE_2_12),
    "sealed with markers": Standing([_stream("S", **MARKERS), _update("S", **MARKERS, sealed=True)]),
    "mirror_direct of no mirror": Standing([_stream("S"), _update("S", mirror_direct=True)]),
    "a filter that is no subject": Standing(
        [_stream("O"), _stream("S", sources=[{"name": "O"}]), _update("S", sources=[{"name": "O", "filter_subject": "a..b"}])]
    ),
    "republished to nowhere": Standing([_stream("S", republish={"src": "s.a", "dest": ""})]),
    "a republish loop": Standing([
        _stream("S", republish={"src": "s.>", "dest": "o.>"}), _stream("O", republish={"src": "o.>", "dest": "s.>"}),
    ]),
    "a partition of none": Standing([_stream("S", subject_transform={"src": "s.*", "dest": "x.{{partition(4,0)}}"})]),
    "a mirror too small": Standing([
        _stream("O", max_msg_size=100), ("STREAM.CREATE.S", {"storage": "memory", "mirror": {"name": "O"}, "max_msg_size": 200}),
        _update("O", max_msg_size=500),
    ]),
    "a cycle that a filter kept apart": Standing([
        _stream("O"), _stream("S", sources=[{"name": "O", "filter_subject": "z.a"}]),
        _update("O", sources=[{"name": "S", "filter_subject": "z.b"}]),
        _update("O", subjects=["o.>", "z.b"], sources=[{"name": "S", "filter_subject": "z.b"}]),
    ]),
    "a delivery prefix covered later": Standing([
        _stream("O", subjects=["o.a"]),
        _stream("S", subjects=[], sources=[{"name": "O"}, {"name": "FAR", "external": {"api": "$JS.far.API", "deliver": "d"}}]),
        _update("O", subjects=["*.>"], no_ack=True),
    ]),
    "a duplicate window of a mirror": Standing(
        [("STREAM.CREATE.S", {"storage": "memory", "mirror": {"name": "O"}, "duplicate_window": 1000 * MS})], OLD
    ),
    "two groups with one pin": Standing([_stream("S"), _consumer("S", "c", **PINS)]),
    "groups without a policy": Standing([_stream("S"), _consumer("S", "c", priority_groups=["a"])], OLD),
    "a negative wait": Standing([_stream("S"), _consumer("S", "c", ack_wait=-5)], OLD),
    "pending without acks": Standing(
        [_stream("S"), _consumer("S", "c", **PUSH), _update("S", consumer_limits={"max_ack_pending": 100})]
    ),
    "delivered into its own stream": Standing(
        [_stream("S"), _consumer("S", "c", **PUSH), _update("S", subjects=["s.>", "deliver.>"])]
    ),
    "two takers of a work queue": Standing([
        _stream("S", **QUEUE), _consumer("S", "c", filter_subject="s.a"), _consumer("S", "d", filter_subject="s.b"),
        _consumer("S", "d", action="UPDATE"),
    ]),
    "more consumers than it may have": Standing([
        _stream("S"), _consumer("S", "c"), _consumer("S", "d"), _update("S", max_consumers=1),
    ], SINCE_2_12),
    "a static group of another number of partitions": Standing([
        _stream("S", subject_transform={"src": "s.*", "dest": "{{partition(3,1)}}.s.{{wildcard(1)}}"}),
        ("PUT.static-consumer-groups.S.g", {"max_members": 4, "filters": ["s.*"], "members": ["m"]}),
    ]),
    "a member whose durable is a consumer": Standing([
        _stream("S"), _consumer("S", "g-m"),
        ("PUT.static-consumer-groups.S.g", {"max_members": 4, "members": ["m"]}),
    ]),
    "a bucket of too much history": Standing([_stream("KV_B", subjects=["$KV.B.>"], **{**GROUP_BUCKET, "max_msgs_per_subject": 100})]),
}  # fmt: skip


def brought_about(live: Live, one: Standing) -> list[str]:
    """The answers of the server that are no success."""
    said: list[str] = live.run(_brought_about(live, one))
    return said


async def _brought_about(live: Live, one: Standing) -> list[str]:
    refused = []
    for bucket in {asked.split(".")[1] for asked, _ in one.requests if asked.startswith("PUT.")}:
        body = {"name": f"KV_{bucket}", "storage": "memory", "subjects": [f"$KV.{bucket}.>"], **GROUP_BUCKET}
        await live.js.write(f"STREAM.CREATE.KV_{bucket}", body)
    for asked, config in one.requests:
        said: Answer | Put
        if asked.startswith("PUT."):
            _, bucket, key = asked.split(".", 2)
            said = await live.js.put_entry(bucket, key, as_stored(config).encode(), expected_revision=None)
            is_taken = hasattr(said, "revision")
        else:
            said = await live.js.write(*_body(asked, config))
            is_taken = isinstance(said, Mapping)
        if not is_taken:
            refused.append(f"{asked}: {said}")
    return refused


def _body(asked: str, config: Body) -> Request:
    kind, action, *names = asked.split(".")
    if kind == "STREAM":
        return asked, {"name": names[0], **config}
    stream, name = names
    body = {"stream_name": stream, "action": action.lower(), "config": {"durable_name": name, "name": name, **config}}
    return f"CONSUMER.CREATE.{stream}.{name}", body
