"""Rows of the tables that reports publish, column by column: Spark's types and the published schemas are made of these.

A value that only some rows have is null in the others, and a missing key in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Literal

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.shape import As, Count, Like

UNREACHABLE = "unreachable"
"""The standing of a target that could not be read."""
UNCOMPARED = "uncompared"
"""The standing of a target that could be read, but not compared with anything."""
UNREMEMBERED = "unremembered"
"""The standing of an object of which only one thing is known: its record cannot be used."""

JsonText = Annotated[str, As(Json, json.loads)]
"""Stands in tables as text, and in reports as the value."""
Small = Annotated[int, Like(minimum=0, format="int32")]
Limit = Annotated[int, Like(minimum=-1)]
"""-1: none."""
Natural = Annotated[float, Like(minimum=0)]

TargetName = Annotated[str, Like(description="Name of the target.")]
TargetLabels = Annotated[Mapping[str, str], Like(description="Labels of the target.")]
StreamName = Annotated[str, Like(description="Name of the stream.")]
ConsumerName = Annotated[str, Like(description="Name of the consumer.")]
RunName = Annotated[str, Like(description="The run.")]
RunDay = Annotated[date, Like(description="The day of the run.")]
Choice = Annotated[str, Like(description="Which wildcards decide: `orders.*.* by 1,2`.")]
SinceServer = Annotated[str, Like(description="The first nats-server that can do it. A missing key: all can.")]
HowManyPartitions = Annotated[Small, Like(description="How many partitions.")]
WhyUnread = Annotated[str, Like(description="Why subjects could not be read.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendRow:
    """A row per run: drift over time."""

    run: RunName
    day: RunDay | None = None
    at: datetime | None = None
    """When it began."""
    compared: Count
    """Topologies that were compared, each on its target."""
    unreachable: Count
    """Those whose target did not answer."""
    uncompared: Count
    """Those whose target answered, and which could not be compared all the same."""
    opened: Count
    """Things that had drifted since the run before."""
    closed: Count
    """Things that no longer drift."""
    open: Count
    """Things that drift after this run."""
    unseen: Count
    """Of these, what this run could not look at."""
    objects: Count
    """Objects in which something drifted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A row per stretch of time over which one thing had drifted, and one for each topology of a target that was watched."""

    target: TargetName
    labels: TargetLabels | None = None
    topology: str
    """Name of the topology."""
    address: str | None = None
    """The object."""
    kind: str | None = None
    """Its kind."""
    team: str | None = None
    """Label `team` of the resource, otherwise of the target."""
    path: str | None = None
    """The field. A missing key: the object as a whole."""
    field: str | None = None
    """The field without indexes."""
    class_: str | None = None
    """Who changed it."""
    standing: str | None = None
    """The state of the object when it was last seen."""
    state: Literal["open", "unseen", "closed", "watched"]
    """`unseen`: the newest run could not read it; `watched`: how long this topology has been looked at."""
    occurrence: Small | None = None
    """1: never before; 2: it came back."""
    clean: datetime | None = None
    """The look before, which did not find it."""
    opened: datetime | None = None
    """The first look that found it."""
    opened_run: str | None = None
    """The run that found it first."""
    last_seen: datetime | None = None
    """The last look that found it."""
    last_seen_run: str | None = None
    """The run that found it last."""
    looks: Count | None = None
    """How many looks found it."""
    closed: datetime | None = None
    """The first look that no longer found it."""
    closed_run: str | None = None
    """The run that no longer found it."""
    ended: Literal["repaired", "ignored", "undeclared"] | None = None
    """How it ended."""
    seconds: Natural | None = None
    """How long it lasted, once it was repaired."""
    live: JsonText | None = None
    """The value that is live. Raw: durations in nanoseconds, sizes in bytes."""
    desired: JsonText | None = None
    """The value that the file says. Raw: durations in nanoseconds, sizes in bytes."""
    applied: JsonText | None = None
    """The value that was last applied. Raw: durations in nanoseconds, sizes in bytes."""
    codes: tuple[str, ...] | None = None
    """Rules that object to setting it to the file's value."""
    digest: int | None = None
    """A digest of all looks that went into this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairsRow:
    """How often things drift, and how long until they are repaired, from every side."""

    dimension: Literal["all", "target", "kind", "field", "team"]
    """The side from which this counts."""
    value: str | None = None
    """Which target, kind, field or team."""
    episodes: Count
    """How often something drifted."""
    open: Count
    """How much still drifts."""
    unseen: Count
    """How much the newest run could not read."""
    repaired: Count
    """How much was repaired."""
    came_back: Count
    """How much came back after a repair."""
    mean_seconds: Natural | None = None
    """How long it took on average."""
    median_seconds: Natural | None = None
    """How long half of it took at most."""
    p95_seconds: Natural | None = None
    """How long 95 of 100 took at most."""
    longest_seconds: Natural | None = None
    """How long the longest took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """What differs from most of a target's peers."""

    peers: str
    """Labels that its peers share: `env=prod, role=orders`."""
    target: TargetName
    labels: TargetLabels | None = None
    address: str
    """The object."""
    kind: str | None = None
    """The object's kind."""
    what: Literal["differs", "missing", "extra"]
    """How it differs."""
    path: str | None = None
    """The field. A missing key: the object as a whole."""
    value: JsonText | None = None
    """The value here. Raw: durations in nanoseconds, sizes in bytes."""
    usual: JsonText | None = None
    """The usual value. Raw: durations in nanoseconds, sizes in bytes."""
    holders: Count
    """How many peers have the usual value."""
    among: Count
    """How many peers could be looked at."""
    run: RunName | None = None
    day: RunDay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRow:
    """How full a stream is, and when it will be."""

    target: TargetName
    labels: TargetLabels | None = None
    stream: StreamName
    storage: str | None = None
    """Where they are stored."""
    replicas: Small | None = None
    """How many copies there are."""
    when_full: Literal["old", "new"] | None = None
    """`old`: the oldest go; `new`: publishes are refused."""
    messages: Count
    """Messages in it."""
    bytes: Count
    """Bytes in it."""
    records: Count | None = None
    """Bytes besides the payload, at least."""
    record_cost: Natural | None = None
    """Of these, per message."""
    looks: Count | None = None
    """How many looks show the growth."""
    since: datetime | None = None
    """The first of them."""
    messages_per_day: float | None = None
    """How many messages it grows by."""
    bytes_per_day: float | None = None
    """How many bytes it grows by."""
    max_messages: Limit | None = None
    """Its limit of messages; -1: none."""
    max_bytes: Limit | None = None
    """Its limit of bytes; -1: none."""
    account_bytes: Count | None = None
    """Bytes that the account uses in this storage."""
    account_limit: Limit | None = None
    """The account's limit of bytes in this storage; -1: none."""
    days_to_max_messages: Natural | None = None
    """Days until that many messages; 0: there is no room for another one."""
    days_to_max_bytes: Natural | None = None
    """Days until that many bytes."""
    days_to_account_limit: Natural | None = None
    """Days until the account's limit."""
    days: Natural | None = None
    """The least of these."""
    run: RunName | None = None
    day: RunDay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewRow:
    """How unevenly a candidate spreads: a row for its partitions, and one for the members of each membership."""

    target: TargetName
    stream: StreamName
    choice: Choice | None = None
    since: SinceServer | None = None
    partitions: HowManyPartitions | None = None
    membership: str | None = None
    """Among which members. A missing key: among the partitions themselves."""
    members: Small | None = None
    """How many members."""
    of: Literal["subjects", "messages"] | None = None
    """What is counted."""
    total: Count | None = None
    """All of it."""
    missed: Count | None = None
    """What no filter matches."""
    unowned: Count | None = None
    """What falls on partitions without an owner."""
    mean: Natural | None = None
    """The mean of partitions or members."""
    largest: Count | None = None
    """The most that one of them gets."""
    where: str | None = None
    """The partition or member that gets most."""
    ratio: Natural | None = None
    """The largest by the mean: 1 is even."""
    p99: Count | None = None
    """What 99 of 100 get at most."""
    empty: Count | None = None
    """How many get nothing."""
    error: WhyUnread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FallsRow:
    """Where subjects fall: a row per candidate and partition."""

    target: TargetName
    stream: StreamName
    choice: Choice | None = None
    since: SinceServer | None = None
    partitions: HowManyPartitions | None = None
    partition: Small | None = None
    """The partition. A missing key: what no filter matches."""
    subjects: Count | None = None
    """Subjects that fall there."""
    messages: Count | None = None
    """Their messages."""
    error: WhyUnread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesRow:
    """What changes its owner from one membership to the next."""

    target: TargetName
    stream: StreamName
    choice: Choice | None = None
    since: SinceServer | None = None
    partitions: HowManyPartitions | None = None
    before: str | None = None
    """The membership before."""
    after: str | None = None
    """The membership after."""
    manner: Literal["declared", "fewest"] | None = None
    """`fewest`: with mappings that move the least."""
    partitions_moved: Count | None = None
    """Partitions that change their owner."""
    subjects_moved: Count | None = None
    """Their subjects."""
    messages_moved: Count | None = None
    """Their messages."""
    share: Natural | None = None
    """The share of subjects that moves."""
    error: WhyUnread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PinsRow:
    """A row per priority group: how often its pinned client changed, and how long none was pinned."""

    target: TargetName
    stream: StreamName
    consumer: ConsumerName
    group: str | None = None
    """The priority group."""
    since: datetime | None = None
    """The first event."""
    until: datetime | None = None
    """The last event."""
    pinned_id: str | None = None
    """Id of the client that is pinned now."""
    switches: Count | None = None
    """How often another client was pinned."""
    unpinned: Count | None = None
    """How often no client was pinned."""
    by_admin: Count | None = None
    """How often somebody ended the pin."""
    by_timeout: Count | None = None
    """How often the client fell silent."""
    unpinned_seconds: Natural | None = None
    """How long no client was pinned."""
    longest_unpinned_seconds: Natural | None = None
    """The longest of these times."""
    most_switches: Count | None = None
    """The most switches in a short time."""
    flapping: bool
    """True: its pin changed hands too often in too short a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcksRow:
    """A row per consumer and day. Samples are as many as sample_freq says; the last three are counted in full."""

    target: TargetName
    stream: StreamName
    consumer: ConsumerName
    day: date
    """The day."""
    samples: Count | None = None
    """Acknowledgements that were sampled."""
    median_seconds: Natural | None = None
    """How long half of them took at most."""
    p90_seconds: Natural | None = None
    """How long 90 of 100 took at most."""
    p99_seconds: Natural | None = None
    """How long 99 of 100 took at most."""
    longest_seconds: Natural | None = None
    """How long the longest took."""
    redelivered: Count | None = None
    """Those that came after a redelivery."""
    most_deliveries: Count | None = None
    """The most deliveries of one message."""
    naks: Count | None = None
    """Messages that clients refused for now."""
    terminated: Count | None = None
    """Messages that clients terminated."""
    given_up: Count | None = None
    """Messages that reached `max_deliver`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorsRow:
    """Who did what: a row per request that a server carried out and that was more than a look."""

    target: TargetName
    at: datetime | None = None
    """When."""
    day: date | None = None
    """On which day."""
    client: str | None = None
    """The name that the client gave itself, otherwise its language and version."""
    user: str | None = None
    """Name of the user."""
    account: str | None = None
    """The account of the user."""
    host: str | None = None
    """The address that it came from."""
    request: str | None = None
    """The API subject of the request."""
    deed: str
    """What was done."""
    address: str | None = None
    """The object."""
    kind: str | None = None
    """The object's kind."""
    changed: tuple[str, ...] | None = None
    """Fields that changed."""
    id: str | None = None
    """Id of the event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRow:
    """Targets that a run was not about."""

    what: Literal["read", "compared"]
    """What that run did with them."""
    targets: tuple[str, ...]
    """The targets."""
    run: str | None = None
    """That run. A missing key: never."""
    at: datetime | None = None
    """When it was."""
