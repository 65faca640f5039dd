"""Scenes and changes of them drawn at random: few fields each, with values on both sides of what the battery tries."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from reconciler.model.resource import Address
from reconciler.model.wire.version import Version
from reconciler.testbed.probes.scene import Change, Scene, consumer_request
from tests.convergence.legal import legal_consumer, legal_stream
from tests.probes.members import Group
from tests.probes.scenes import HOUR, MESSAGES, SUBJECTS, bucket, store
from tests.support.binaries import VERSIONS

Body = dict[str, Any]
Fields = Mapping[str, Sequence[Any]]
MS = 1_000_000
SHORT = 300 * MS
"""Runs out while the battery waits."""
MINUTES = 120_000 * MS
SOON, SHORTLY = "2098-01-01T00:00:00Z", 0.8
"""Stands for a pause that ends so many seconds after it was asked for, while the battery runs."""
METADATA: tuple[dict[str, str], ...] = ({}, {"team": "a"}, {"team": "b"})
LOTS = 1 << 20

STREAM: Fields = {
    "description": ("", "a", "b"),
    "subjects": (["s.>"], ["s.*"], ["s.a", "s.b"], ["s.a", "s.spare"], ["s.>", "s"]),
    "retention": ("limits", "interest", "workqueue"),
    "max_consumers": (-1, 1, 2, 50),
    "max_msgs": (-1, 10, 31, 1000),
    "max_bytes": (-1, 6000, 16_000, LOTS),
    "max_age": (0, SHORT, HOUR),
    "max_msgs_per_subject": (-1, 1, 10, 20, 1000),
    "max_msg_size": (-1, 1024, LOTS),
    "discard": ("old", "new"),
    "discard_new_per_subject": (False, True),
    "no_ack": (False, True),
    "duplicate_window": (0, SHORT, MINUTES),
    "subject_transform": (None, {"src": "s.*", "dest": "t.{{wildcard(1)}}"}, {"src": "s.a", "dest": "u"}),
    "republish": (
        None, {"src": ">", "dest": "republished.>"}, {"src": "s.a", "dest": "republished.a"},
        {"src": ">", "dest": "republished.>", "headers_only": True},
    ),
    "compression": ("none", "s2"),
    "num_replicas": (0, 1),
    "allow_direct": (False, True),
    "sealed": (False, False, False, True),
    "deny_delete": (False, True),
    "deny_purge": (False, True),
    "allow_rollup_hdrs": (False, True),
    "consumer_limits": ({}, {"inactive_threshold": SHORT}, {"inactive_threshold": HOUR}, {"max_ack_pending": 100},
                        {"max_ack_pending": 2}),
    "allow_msg_ttl": (False, True),
    "subject_delete_marker_ttl": (0, HOUR),
    "metadata": METADATA,
    "allow_msg_counter": (False, True),
    "allow_atomic": (False, True),
    "allow_msg_schedules": (False, True),
    "allow_batched": (False, True),
}  # fmt: skip
CONSUMER: Fields = {
    "description": ("", "a", "b"),
    "deliver_policy": ("all", "last", "new", "last_per_subject"),
    "ack_policy": ("explicit", "explicit", "explicit", "all", "none"),
    "ack_wait": (HOUR, 2 * HOUR, SHORT),
    "max_deliver": (-1, 1, 2, 4, 100),
    "backoff": ([], [SHORT], [SHORT, HOUR], [HOUR]),
    "filter_subject": ("", "s.a", "s.b", "s.>"),
    "filter_subjects": ([], ["s.a"], ["s.a", "s.b"], ["s.spare", "s.b"]),
    "sample_freq": ("", "30"),
    "max_ack_pending": (1000, 4, 12, 5000),
    "headers_only": (False, True),
    "max_batch": (0, 1, 10, 200, 5000),
    "max_expires": (0, 50 * MS, 60_000 * MS, 2 * HOUR),
    "max_bytes": (0, 1024, 4 * LOTS),
    "inactive_threshold": (0, 700 * MS, HOUR),
    "num_replicas": (0, 1),
    "mem_storage": (False, True),
    "metadata": METADATA,
    "pause_until": (None, "2099-01-01T00:00:00Z", SOON),
    "priority": ({}, {"priority_policy": "pinned_client", "priority_timeout": 0}, {"priority_policy": "overflow"},
                 {"priority_policy": "prioritized"}, {"priority_policy": "pinned_client", "priority_timeout": SHORT},
                 {"priority_policy": "pinned_client", "priority_timeout": HOUR},
                 {"priority_policy": "pinned_client", "priority_groups": ["b"]}),
}  # fmt: skip
PRIORITY: Fields = {
    **{name: CONSUMER[name] for name in ("description", "filter_subject", "max_ack_pending", "max_batch")},
    "ack_wait": (HOUR, 2 * HOUR),
    "priority": (*CONSUMER["priority"], {"priority_policy": "overflow", "priority_groups": ["b"]},
                 {"priority_policy": "prioritized", "priority_groups": ["a", "b"]},
                 {"priority_policy": "pinned_client", "priority_groups": ["b"], "priority_timeout": SHORT}),
}  # fmt: skip
"""Without short waits: whether a message comes again just before a pin ends or after it, haste decides."""
AGAIN = ("ack_wait", "backoff", "max_deliver")
"""What changes where messages come again soon: whether anything else shows, haste decides."""
PUSHED: Fields = {
    **{name: values for name, values in CONSUMER.items()
       if name not in ("max_batch", "max_expires", "max_bytes", "priority")},
    "deliver_subject": ("delivered", "delivered.elsewhere"),
    "deliver_group": ("", "queue", "another"),
}  # fmt: skip
COPY: Fields = {
    "sources": (
        [{"name": "O"}], [{"name": "O", "filter_subject": "s.a"}], [{"name": "O", "filter_subject": "s.b"}], [],
        [{"name": "O", "subject_transforms": [{"src": "s.*", "dest": "v.{{wildcard(1)}}"}]}],
    ),
    "max_msgs": (-1, 10, 1000),
    "discard": ("old", "new"),
    "description": ("", "a"),
}  # fmt: skip
MIRROR: Fields = {
    "mirror": ({"name": "O"}, {"name": "O", "filter_subject": "s.a"}, None),
    "max_msgs": (-1, 10),
    "description": ("", "a"),
    "allow_direct": (False, True),
    "mirror_direct": (False, True),
}
ORIGIN: Fields = {
    **{name: STREAM[name] for name in ("description", "max_msgs", "discard", "max_msgs_per_subject", "deny_purge", "subjects")},
    "allow_direct": (False, True, True),
}  # fmt: skip
BUCKET: Fields = {
    "description": ("", "a"),
    "history": (1, 2, 5, 64),
    "ttl": (0, SHORT, HOUR),
    "max_value_size": (-1, 1024, LOTS),
    "max_bytes": (-1, 600, LOTS),
    "republish": (None, {"src": ">", "dest": "republished.>"}),
    "limit_marker_ttl": (0, 1000 * MS),
    "allow_msg_ttl": (False, True),
    "allow_direct": (True, False),
    "deny_delete": (True, False),
    "metadata": METADATA,
}
STORE: Fields = {
    "description": ("", "a"),
    "ttl": (0, SHORT, HOUR),
    "max_bytes": (-1, 600, LOTS),
    "sealed": (False, False, True),
    "allow_direct": (True, False),
    "metadata": METADATA,
}
DEFAULTS: Mapping[str, Any] = {
    "kv_bucket history": 1, "kv_bucket allow_direct": True, "kv_bucket deny_delete": True, "object_store allow_direct": True,
    "consumer max_ack_pending": 1000, "stream duplicate_window": MINUTES, "stream retention": "limits", "stream discard": "old",
    "consumer deliver_policy": "all", "consumer priority_policy": "none", "stream compression": "none",
}  # fmt: skip
"""What stands for a field that is left out, where that is not nothing at all."""
NAMES = {
    "history": "max_msgs_per_subject", "ttl": "max_age", "max_value_size": "max_msg_size",
    "limit_marker_ttl": "subject_delete_marker_ttl",
}  # fmt: skip
"""What the server calls a field of a bucket."""
RARELY_IN_A_BASE = ("sealed", "deliver_policy", "pause_until", "max_consumers", "no_ack", "retention", "ack_policy")
HARDLY_CHANGED = ("deliver_policy", "ack_policy", "allow_msg_counter", "retention")
"""Most changes of these are refused, and all that was drawn beside them with them."""
LATER = {
    "allow_msg_counter": (2, 12),
    "allow_atomic": (2, 12),
    "allow_msg_schedules": (2, 12),
    "allow_batched": (2, 14),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    scene: Scene
    address: Address
    """Of what changes."""
    before: Body
    after: Body
    """As a file says it."""
    request: Callable[[Body], Change] | None = None
    """That makes it like this; None: an apply does, since it takes several objects."""
    wishes: Mapping[Address, Body] = field(default_factory=dict)
    """All that the file declares, with the change."""
    made: tuple[Mapping[Address, Body], ...] = ()
    """What applies make before clients come."""
    groups: tuple[Group, ...] = ()
    """Whose members are at work all the time."""
    restarts: bool = False
    """The server, after the change."""

    @property
    def change(self) -> Sequence[Change]:
        return self._requests(self.after, self.changed)

    def partly(self, names: Collection[str]) -> Case:
        """With these fields alone as they will be."""
        kept = {name: value for name, value in self.before.items() if name not in names}
        body = kept | {name: value for name, value in self.after.items() if name in names}
        return replace(self, after=body, wishes={**self.wishes, self.address: body})

    def _requests(self, body: Body, changed: frozenset[str]) -> list[Change]:
        """As an apply sends them: an update leaves a pause as it is, and an old pin in force."""
        if self.request is None:
            return []
        if self.address.kind != "consumer":
            return [self.request(body)]
        before, after = ((_unpin(one) if changed & PINS else []) for one in (self.before, body))
        return [*before, self.request(body), *after, *(_pause(body) if "pause_until" in changed else [])]

    def was(self, name: str) -> Any:
        return self._value(self.before, name)

    def becomes(self, name: str) -> Any:
        return self._value(self.after, name)

    def _value(self, body: Body, name: str) -> Any:
        """With what stands for a field that is left out."""
        value, default = body.get(name), DEFAULTS.get(f"{self.address.kind} {name}")
        if value is None or (value in ("", [], {}, 0, -1) and not isinstance(value, bool)):
            return default
        return None if value is False and not default else value

    @property
    def changed(self) -> frozenset[str]:
        names = self.before.keys() | self.after.keys()
        return frozenset(name for name in names if self.was(name) != self.becomes(name))

    @property
    def ages(self) -> bool:
        """Whether what is stored has to be older than a short age or window before anything changes."""
        around = (one.get("max_age") for one in self.scene.streams.values())
        return SHORT in (self.becomes("max_age"), self.becomes("ttl"), self.was("duplicate_window"), *around)

    @property
    def hurries(self) -> bool:
        """Whether what is in flight comes again while the battery reads, and haste decides between which reads."""
        return first_wait(self.before) == SHORT

    @property
    def replaces(self) -> bool:
        """Whether each message takes the place of the last one, and haste decides how many of them a client gets."""
        return any(one.get("max_msgs_per_subject") == 1 for one in (*self.scene.streams.values(), self.after))

    def __str__(self) -> str:
        changed = ", ".join(f"{name} {self.was(name)} → {self.becomes(name)}" for name in sorted(self.changed))
        others = " and ".join(f"{name} {dict(body)}" for name, body in self.scene.streams.items())
        since = "".join(f", since then {endpoint} {dict(body)}" for endpoint, body in self.scene.since)
        waits = ", clients wait" if self.scene.waits else ""
        restarts = ", the server restarts" if self.restarts else ""
        return f"{self.address}: {changed}; of {self.before}, with {others}{since}{waits}{restarts}"


def first_wait(reader: Body) -> int:
    """After which a message that was not acknowledged comes again; 0 where none ever does."""
    waits = reader.get("backoff") or (reader.get("ack_wait"),)
    return int(waits[0] or 0)


PINS = frozenset({"priority_policy", "priority_groups"})


def _unpin(body: Body) -> list[Change]:
    return [("CONSUMER.UNPIN.S.c", {"group": group}) for group in (body.get("priority_groups") or ())[:1]]


def _pause(body: Body) -> list[Change]:
    until = body.get("pause_until")
    if until == SOON:
        until = (datetime.now(UTC) + timedelta(seconds=SHORTLY)).isoformat()
    return [("CONSUMER.PAUSE.S.c", {"pause_until": until} if until else {})]


OF_ONE_SCENE = 4
"""Changes, each by itself: what a scene shows without one is played once for all of them."""


def cases(minor: str, seed: int = 1, kinds: Sequence[str] = (), of_one_scene: int = OF_ONE_SCENE) -> Iterator[Case]:
    """Always the same ones for a version, a seed and these kinds: all of them, if none is named."""
    dice, version = random.Random(f"{minor} {seed}"), Version.parse(VERSIONS[minor])
    chosen = [kind for kind, (_, often) in KINDS.items() if not kinds or kind in kinds for _ in range(often)]
    while True:
        for case in islice(KINDS[dice.choice(chosen)][0](dice, version), of_one_scene):
            if not case.changed:
                continue
            yield _restarted(case) if dice.random() < (0.4 if "deliver_group" in case.changed else 0.04) else case


def _restarted(case: Case) -> Case:
    """What is in memory alone is gone afterwards, with or without a change: these lie in files."""
    if case.before.get("mem_storage") or case.after.get("mem_storage"):
        return case
    if case.address.kind != "consumer" and any(one.get("storage") == "memory" for one in case.scene.streams.values()):
        return case
    streams = {name: {**body, "storage": "file"} for name, body in case.scene.streams.items()}
    wishes = {one: {**body, "storage": "file"} if one.kind == "stream" else body for one, body in case.wishes.items()}
    return replace(case, scene=replace(case.scene, streams=streams, waits=()), wishes=wishes, restarts=True)


def _base(dice: random.Random, fields: Fields, version: Version) -> Body:
    names = dice.sample(sorted(fields), min(len(fields), dice.randint(0, 4)))
    often = [name for name in names if name not in RARELY_IN_A_BASE or dice.random() < 0.2]
    return {name: dice.choice(fields[name]) for name in often if version >= LATER.get(name, (2, 11))}


def _changed(dice: random.Random, body: Body, fields: Fields, version: Version) -> Body:
    """One to three fields otherwise; a value that was drawn for the base is changed more often than another."""
    names = [name for name in fields if version >= LATER.get(name, (2, 11))]
    chosen = set(dice.sample(names, min(len(names), dice.choice((1, 1, 1, 2, 3)))))
    chosen |= {name for name in body if name in fields and dice.random() < 0.3}
    kept = {name for name in chosen if name in HARDLY_CHANGED and dice.random() < 0.8}
    return {**body, **{name: dice.choice(fields[name]) for name in sorted(chosen - kept)}}


def _stream_body(dice: random.Random, version: Version) -> Body:
    return {"subjects": ["s.>"], "storage": dice.choice(("memory", "memory", "file")), **_base(dice, STREAM, version)}


def _reader(said: Body, stream: Body, version: Version, *, is_pushed: bool) -> Body:
    body = {"ack_policy": "explicit", "ack_wait": HOUR, **said}
    body |= {"priority_groups": ["a"], **priority} if (priority := body.pop("priority", {})) else {}
    if is_pushed:
        body.setdefault("deliver_subject", "delivered")
    body = legal_consumer(body, stream, version, 0)
    return _tidy({**body, **({"filter_subject": "s.>"} if stream.get("retention") == "workqueue" else {})})


def _tidy(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None and value not in ("", [], {})}


def _legal(body: Body, version: Version) -> Body:
    return legal_stream(_tidy(body), version)


def _new(body: Body, version: Version) -> Body:
    """Nothing that is new can be sealed."""
    return {**_legal(body, version), "sealed": False}


def _stream(dice: random.Random, version: Version) -> Iterator[Case]:
    drawn = _stream_body(dice, version)
    before = _new(drawn, version)
    consumers = {}
    if dice.random() < 0.8:
        is_pushed = dice.random() < 0.2
        consumers = {("S", "c"): _reader({}, before, version, is_pushed=is_pushed)}
    scene = _scene(before, consumers, dice)
    while True:
        after = _legal(_changed(dice, drawn, STREAM, version), version)
        wishes = {Address.of("stream", "S"): after, **_readers(consumers)}
        yield Case(
            scene=scene, address=Address.of("stream", "S"), before=before, after=after, request=_update, wishes=wishes
        )


def _reader_case(
    dice: random.Random, version: Version, fields: Fields, *, kept: Body | None = None, is_pushed: bool = False
) -> Iterator[Case]:
    stream = {"subjects": ["s.>"], "storage": "memory"}
    if dice.random() < 0.4:
        stream = _new(_stream_body(dice, version), version)
    address = Address.of("consumer", "S", "c")
    drawn = {**_base(dice, fields, version), **(kept or {})}
    before = _reader(drawn, stream, version, is_pushed=is_pushed)
    scene = _scene(stream, {("S", "c"): before}, dice)
    if SHORT in (first_wait(before), before.get("priority_timeout")):
        scene = replace(scene, waits=())  # which of those that wait gets a message or a pin, haste decides
    if first_wait(before) == SHORT:
        fields = {name: fields[name] for name in AGAIN}
    while True:
        after = _reader(_changed(dice, drawn, fields, version), stream, version, is_pushed=is_pushed)
        wishes = {Address.of("stream", "S"): stream, address: after}
        yield Case(
            scene=scene, address=address, before=before, after=after, wishes=wishes,
            request=lambda body: consumer_request("S", "c", body, "update"),
        )  # fmt: skip


def _consumer(dice: random.Random, version: Version) -> Iterator[Case]:
    return _reader_case(dice, version, CONSUMER)


def _pushed(dice: random.Random, version: Version) -> Iterator[Case]:
    return _reader_case(dice, version, PUSHED, is_pushed=True)


def _priority(dice: random.Random, version: Version) -> Iterator[Case]:
    """A consumer with two clients in one priority group."""
    return _reader_case(dice, version, PRIORITY, kept={"priority": dice.choice(PRIORITY["priority"][1:])})


def _bucket(dice: random.Random, version: Version) -> Iterator[Case]:
    return _bucket_case(dice, version, "kv_bucket", BUCKET, bucket(max_msgs_per_subject=1))


def _store(dice: random.Random, version: Version) -> Iterator[Case]:
    return _bucket_case(dice, version, "object_store", STORE, store())


def _bucket_case(dice: random.Random, version: Version, kind: str, fields: Fields, plain: Scene) -> Iterator[Case]:
    before = {**_base(dice, fields, version), "sealed": False, "storage": "memory"}
    if "sealed" not in fields:
        del before["sealed"]
    name, usual = next(iter(plain.streams.items()))
    address = Address.of(kind, name.partition("_")[2])
    scene = Scene(
        streams={name: {**usual, **_served(before)}}, messages=plain.messages, subjects=plain.subjects,
        listen=("republished.>",),
    )  # fmt: skip
    while True:
        after = _tidy(_changed(dice, before, fields, version))
        yield Case(
            scene=scene, address=address, before=_tidy(before), after=after, wishes={address: after},
            request=lambda body: (f"STREAM.UPDATE.{name}", {"name": name, **usual, **_served(body)}),
        )  # fmt: skip


def _update(body: Body) -> Change:
    return _update_of("S", body)


def _update_of(name: str, body: Body) -> Change:
    return f"STREAM.UPDATE.{name}", {"name": name, **body}


def _served(body: Body) -> Body:
    served = {NAMES.get(name, name): value for name, value in _tidy(body).items()}
    return {**served, "allow_msg_ttl": True} if served.get("subject_delete_marker_ttl") else served


LIMITS = ("max_msgs", "max_bytes", "max_msgs_per_subject", "max_age")


def _scene(stream: Body, consumers: Mapping[tuple[str, str], Body], dice: random.Random) -> Scene:
    """Now and then with a mirror of the stream, where it is fed and nothing is removed before it has it."""
    copies = {"M": {"mirror": {"name": "S"}, "storage": "memory"}} if dice.random() < 0.2 else {}
    if (
        stream.get("retention") == "workqueue"
        or stream.get("consumer_limits")
        or any(stream.get(limit, 0) > 0 for limit in LIMITS)
    ):
        copies = {}
    pulled = tuple(names for names, body in consumers.items() if "deliver_subject" not in body)
    return Scene(
        streams={"S": stream, **copies}, consumers=consumers, messages=MESSAGES, subjects={"S": SUBJECTS},
        waits=pulled if dice.random() < 0.25 else (), listen=("republished.>",),
    )  # fmt: skip


def _copy(dice: random.Random, version: Version) -> Iterator[Case]:
    """A stream that takes from another, to which publishers publish."""
    fields, kept = dice.choice(((COPY, {"sources": [{"name": "O"}]}), (MIRROR, {"mirror": {"name": "O"}})))
    before = _tidy({**kept, "storage": "memory", **_base(dice, fields, version), **kept})
    origin = {"subjects": ["s.>"], "storage": "memory"}
    consumers = {("S", "c"): {"ack_policy": "explicit", "ack_wait": HOUR}}
    scene = Scene(streams={"O": origin, "S": before}, consumers=consumers, messages=MESSAGES, subjects={"O": SUBJECTS})
    while True:
        after = _tidy(_changed(dice, before, fields, version))
        wishes = {Address.of("stream", "O"): origin, Address.of("stream", "S"): after, **_readers(consumers)}
        yield Case(
            scene=scene, address=Address.of("stream", "S"), before=before, after=after, request=_update, wishes=wishes
        )


def _mirror(dice: random.Random, version: Version) -> Iterator[Case]:
    """A mirror that answers direct gets, its own and those of its origin, which may have changed since it was made."""
    kept: Body = {"mirror": dice.choice(({"name": "O"}, {"name": "O"}, {"name": "O", "filter_subject": "s.a"}))}
    storage = dice.choice(("memory", "file"))
    mirror = _tidy({"storage": storage, **_base(dice, MIRROR, version), "allow_direct": True, **kept})
    mirror.pop("mirror_direct", None)  # until its origin says otherwise, it is what a server makes of it
    unlimited = {name: values for name, values in ORIGIN.items() if name not in LIMITS}
    made = {"subjects": ["s.>"], "storage": storage, **_base(dice, unlimited, version)}
    origin = {**made, "allow_direct": dice.random() < 0.5} if dice.random() < 0.5 else made
    made, origin = _legal(made, version), _legal(origin, version)
    is_of_mirror = dice.random() < 0.6
    before, fields, name = (mirror, MIRROR, "S") if is_of_mirror else (origin, ORIGIN, "O")
    since = () if made == origin else (_update_of("O", origin),)
    scene = Scene(streams={"O": made, "S": mirror}, messages=MESSAGES, subjects={"O": SUBJECTS}, since=since)
    live, changing = {Address.of("stream", "O"): origin, Address.of("stream", "S"): mirror}, Address.of("stream", name)
    while True:
        after = _tidy(_changed(dice, before, fields, version))
        after = after if is_of_mirror else _legal(after, version)
        yield Case(scene=scene, address=changing, before=before, after=after, wishes={**live, changing: after})


FEW, KEYS = 4, "abcdefgh"
MEMBERSHIPS = (("a", "b"), ("a", "b"), ("a",), ("b", "c"), ("a", "b", "c"), ("a", "b", "c", "d"), ())
GROUP: Fields = {
    "membership": tuple((names, is_mapped) for names in MEMBERSHIPS for is_mapped in (False, False, True)),
    "max_members": (FEW, FEW, FEW, FEW + 2),
    "partitioning_filters": (
        [{"filter": "s.*", "partitioning_wildcards": [1]}], [{"filter": "s.*", "partitioning_wildcards": [1]}],
        [{"filter": "s.*", "partitioning_wildcards": []}], [{"filter": "s.*.*", "partitioning_wildcards": [2, 1]}],
        [{"filter": "s.*", "partitioning_wildcards": [1]}, {"filter": "s.*.*", "partitioning_wildcards": [1]}],
    ),
    "max_buffered_msg": (-1, 1000, 5000),
    "max_buffered_bytes": (-1, LOTS),
}  # fmt: skip
"""Buffers hold all that is published: where one is full, a queue takes in a few messages every two seconds."""


SOURCE: Fields = {
    name: STREAM[name] for name in ("description", "subjects", "max_msg_size", "allow_direct", "metadata")
}
"""Of a group's stream; where it drops messages, haste decides which of them a queue has taken in."""


def _group(dice: random.Random, version: Version) -> Iterator[Case]:
    """An elastic group with members at work."""
    drawn = {name: dice.choice(GROUP[name]) for name in ("membership", "max_members", "partitioning_filters")}
    drawn |= _base(dice, GROUP, version)
    before = _membership(drawn)
    stream, group = {"subjects": ["s.>"], "storage": "memory"}, Address.of("elastic_group", "S", "g")
    scene = Scene(
        streams={"S": stream}, messages=tuple((f"s.{KEYS[number % len(KEYS)]}", 20) for number in range(30)),
        subjects={"S": SUBJECTS},
    )  # fmt: skip
    source = Address.of("stream", "S")
    made: Mapping[Address, Body] = {source: stream, group: before}
    crew = (Group(address=group, members=tuple("abcd"), partitions=FEW + 2),)
    while True:
        changing: tuple[Address, Body, Body] = source, stream, _tidy(_changed(dice, stream, SOURCE, version))
        if dice.random() < 0.8:
            fields = {"membership": GROUP["membership"]} if dice.random() < 0.5 else GROUP
            changing = group, before, _membership(_changed(dice, drawn, fields, version))
        address, was, after = changing
        wishes = {**made, address: after}
        yield Case(scene=scene, address=address, before=was, after=after, wishes=wishes, made=(made,), groups=crew)


def _membership(drawn: Body) -> Body:
    """Members of a list share alike; mapped ones have a partition each in turn."""
    (names, is_mapped), partitions = drawn["membership"], drawn["max_members"]
    said = {name: value for name, value in drawn.items() if name != "membership"}
    if not is_mapped or not names:
        return {**said, "members": [*names]}
    mappings = [{"member": one, "partitions": [*range(partitions)][at :: len(names)]} for at, one in enumerate(names)]
    return {**said, "member_mappings": mappings}


def _readers(consumers: Mapping[tuple[str, str], Body]) -> dict[Address, Body]:
    return {Address.of("consumer", *names): body for names, body in consumers.items()}


KINDS: Mapping[str, tuple[Callable[[random.Random, Version], Iterator[Case]], int]] = {
    "stream": (_stream, 3), "consumer": (_consumer, 3), "pushed": (_pushed, 1), "bucket": (_bucket, 1), "store": (_store, 1),
    "copy": (_copy, 1), "priority": (_priority, 1), "mirror": (_mirror, 1), "group": (_group, 1),
}  # fmt: skip
"""By name, and how often each is drawn."""
