"""Every table of the fleet, column by column: what one run reads, and what is computed from it.

A column has the same meaning in every table: `target` is a name in fleet.yaml, `run` one look at all of them, `day` the
date of that look. A value that only some rows have is null in the others.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

TEXT, COUNT, NUMBER, YES = StringType(), LongType(), DoubleType(), BooleanType()
WORDS, LABELS = ArrayType(TEXT), MapType(TEXT, TEXT)


def _table(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


CONFIGS = _table(
    target=TEXT,
    labels=LABELS,
    row=TEXT,  # target | stream | consumer | entries | entry | unknown | error
    address=TEXT,  # of the resource that this is, where it is one by itself
    scope=TEXT,  # stream | stream/consumer | bucket | bucket/key, or the scope that is unknown
    json=TEXT,  # the server's own answer
    value=BinaryType(),  # of an entry
    revision=COUNT,
    deleted=YES,
    messages=COUNT,
    bytes=COUNT,
    consumers=COUNT,
    pending=COUNT,
    ack_pending=COUNT,
    error=TEXT,  # why it could not be read
    at=TimestampType(),
    seconds=NUMBER,  # how long the target took
    task=COUNT,  # which task of Spark read it
)
"""What the data source reads: a row per live object, one for the account itself, one for each unknown scope."""

RUN = (StructField("run", TEXT), StructField("day", DateType()))
SNAPSHOTS = StructType([*CONFIGS.fields, *RUN])

SUBJECTS = _table(target=TEXT, stream=TEXT, subject=TEXT, messages=COUNT, error=TEXT, at=TimestampType())

MESSAGES = _table(
    target=TEXT,
    stream=TEXT,
    sequence=COUNT,  # in a row about a problem, the last that could be read before; null: unknown
    time=TimestampType(),  # when it was stored; for a problem, when it was noticed
    subject=TEXT,
    headers=LABELS,
    data=BinaryType(),
    error=TEXT,  # why there is no more of this stream, or that it begins anew
)

WANTED = _table(target=TEXT, labels=LABELS, files=TEXT, values=LABELS)
"""The files of each target (none: an empty text), and its values."""

DESIRED = StructType(
    [
        *_table(
            target=TEXT,
            labels=LABELS,
            topology=TEXT,  # null without an error: nothing is declared for this target
            repository=TEXT,
            address=TEXT,  # null in the row of the topology itself
            kind=TEXT,
            team=TEXT,  # label `team` of the resource, else of the target
            json=TEXT,  # the resource, or the topology around all of them
            file=TEXT,
            line=IntegerType(),
            error=TEXT,  # why the topology could not be rendered
        ).fields,
        *RUN,
    ]
)

VERDICT = _table(code=TEXT, name=TEXT, outcome=TEXT, message=TEXT)

DRIFT = StructType(
    [
        *_table(
            target=TEXT,
            labels=LABELS,
            topology=TEXT,
            address=TEXT,  # null in the row of the look itself (compared, unreachable, undeclared)
            kind=TEXT,
            team=TEXT,
            # unknown | foreign | missing | recreated | changed | pending | orphaned, or one of those below
            standing=TEXT,
            path=TEXT,  # null where it is the whole object
            **{"class": TEXT},
            live=TEXT,  # as JSON; null: absent
            desired=TEXT,
            applied=TEXT,
            drifted=YES,  # somebody changed it outside; otherwise it waits to be applied
            ignored=TEXT,
            codes=WORDS,
            verdicts=ArrayType(VERDICT),
            quantities=MapType(TEXT, COUNT),  # null where more would have to be read
            reason=TEXT,
            file=TEXT,
            line=IntegerType(),
            error=TEXT,
            at=TimestampType(),
        ).fields,
        *RUN,
    ]
)
"""A row per differing field, or per object that drifted as a whole, and one per look at a topology on its target. The
row of a look is `unreachable` with its error where nothing could be compared, and `undeclared` where the target should
hold nothing. Otherwise it is `compared`, with the number of objects by standing in its quantities. So what was looked
at and has no drift differs from what nobody looked at. `unremembered` marks an object whose record cannot be used, in
addition to its other rows."""

DRIFT_HISTORY = _table(
    target=TEXT,
    labels=LABELS,
    topology=TEXT,
    address=TEXT,  # null in the row that says how long this topology has been looked at here
    kind=TEXT,
    team=TEXT,
    path=TEXT,  # null: the object as a whole
    field=TEXT,  # the path without its indexes
    **{"class": TEXT},
    standing=TEXT,  # when last seen
    state=TEXT,  # open | unseen: its target's newest run could not read it | closed | watched: the row without an address
    occurrence=IntegerType(),  # 1: never before; 2: it came back
    clean=TimestampType(),  # the look before, which did not find it; null: it existed from the first look on
    opened=TimestampType(),  # the first look that found it
    opened_run=TEXT,
    last_seen=TimestampType(),
    last_seen_run=TEXT,
    looks=COUNT,  # how many found it
    closed=TimestampType(),  # the first look that no longer found it
    closed_run=TEXT,
    ended=TEXT,  # repaired | ignored | undeclared
    seconds=NUMBER,  # from opened to closed, of what was repaired
    live=TEXT,
    desired=TEXT,
    applied=TEXT,
    codes=WORDS,
    digest=COUNT,  # of all looks that went into this, in the row without an address
)
"""A row per stretch of time over which one thing had drifted."""

REPAIRS = _table(
    dimension=TEXT,  # all | target | kind | field | team
    value=TEXT,
    episodes=COUNT,
    open=COUNT,
    unseen=COUNT,
    repaired=COUNT,
    came_back=COUNT,
    mean_seconds=NUMBER,
    median_seconds=NUMBER,
    p95_seconds=NUMBER,
    longest_seconds=NUMBER,
)
"""How often, and how long until it was repaired, from every side."""

TREND = StructType(
    [
        *RUN,
        *_table(
            at=TimestampType(),
            compared=COUNT,  # topologies on targets
            unreachable=COUNT,
            opened=COUNT,
            closed=COUNT,
            open=COUNT,  # after this run, including those that were not looked at
            unseen=COUNT,
            objects=COUNT,  # on which this run saw drift
        ).fields,
    ]
)
"""A row per run: drift over time."""

OBJECTS = _table(
    run=TEXT,
    day=DateType(),
    target=TEXT,
    labels=LABELS,
    sure=YES,  # nothing of this target is unknown
    address=TEXT,  # null in the row of the target itself
    kind=TEXT,
    config=LABELS,  # canonical: JSON by path, without defaults
)
"""What a target holds, as kinds of resources and not as the server's answers."""

OUTLIERS = StructType(
    [
        *_table(
            peers=TEXT,  # `env=prod, role=orders`
            target=TEXT,
            labels=LABELS,
            address=TEXT,
            kind=TEXT,
            what=TEXT,  # differs | missing | extra
            path=TEXT,  # null: the object as a whole
            value=TEXT,  # as JSON; null: the default
            usual=TEXT,
            holders=COUNT,  # of the usual value
            among=COUNT,  # peers that were looked at and are known
        ).fields,
        *RUN,
    ]
)
"""What differs from most of a target's peers."""

CAPACITY = StructType(
    [
        *_table(
            target=TEXT,
            labels=LABELS,
            stream=TEXT,
            storage=TEXT,
            replicas=IntegerType(),
            when_full=TEXT,  # old: the oldest go | new: publishing is refused
            messages=COUNT,
            bytes=COUNT,
            records=COUNT,  # bytes besides the payload, at least: what the server adds, and subjects as short as can be
            record_cost=NUMBER,  # of that, per message
            looks=COUNT,  # in which growth was seen
            since=TimestampType(),
            messages_per_day=NUMBER,
            bytes_per_day=NUMBER,
            max_messages=COUNT,
            max_bytes=COUNT,
            account_bytes=COUNT,  # used in the account, of the same storage, by all replicas
            account_limit=COUNT,  # for as many replicas, where it is that of a tier
            days_to_max_messages=NUMBER,  # 0: no room for another one; null: no limit, or no growth
            days_to_max_bytes=NUMBER,
            days_to_account_limit=NUMBER,
            days=NUMBER,  # the first of them
        ).fields,
        *RUN,
    ]
)

FALLS = _table(
    target=TEXT,
    stream=TEXT,
    choice=TEXT,  # which wildcards decide: `orders.*.* by 1,2`
    since=TEXT,  # the first nats-server that can do it; null: every one
    partitions=IntegerType(),
    partition=IntegerType(),  # null: matched by no filter, so no member of the group ever sees it
    subjects=COUNT,
    messages=COUNT,
    error=TEXT,  # why subjects could not be read
)
"""Where subjects fall: a row per candidate and partition."""

OWNERSHIP = _table(
    partitions=IntegerType(),
    membership=TEXT,  # how many members, or their names where that does not tell memberships apart
    members=IntegerType(),
    partition=IntegerType(),
    member=TEXT,  # null: no owner
    owns=YES,  # false: this member owns nothing
)

HANDOVERS = _table(
    partitions=IntegerType(),
    before=TEXT,
    after=TEXT,
    manner=TEXT,  # declared | fewest: with mappings that move no more than an even share needs
    partition=IntegerType(),
    moves=YES,
)

LOADS = _table(
    target=TEXT,
    stream=TEXT,
    choice=TEXT,
    since=TEXT,
    partitions=IntegerType(),
    membership=TEXT,
    members=IntegerType(),
    member=TEXT,  # null: partitions without an owner
    owned=COUNT,
    subjects=COUNT,
    messages=COUNT,
)
"""The load of each member."""

SKEW = _table(
    target=TEXT,
    stream=TEXT,
    choice=TEXT,
    since=TEXT,
    partitions=IntegerType(),
    membership=TEXT,  # null: among the partitions themselves
    members=IntegerType(),
    of=TEXT,  # subjects | messages
    total=COUNT,
    missed=COUNT,  # matched by no filter; null in the rows of memberships
    unowned=COUNT,  # in partitions without an owner
    mean=NUMBER,
    largest=COUNT,
    where=TEXT,  # the partition or member that has most
    ratio=NUMBER,  # the largest by the mean: 1 is even
    p99=COUNT,
    empty=COUNT,  # partitions or members without any
    error=TEXT,  # why subjects could not be read; beside figures: these are of the others only
)
"""How unevenly a candidate spreads: a row for its partitions, and one for the members of each membership."""

MOVES = _table(
    target=TEXT,
    stream=TEXT,
    choice=TEXT,
    since=TEXT,
    partitions=IntegerType(),
    before=TEXT,
    after=TEXT,
    manner=TEXT,
    partitions_moved=COUNT,
    subjects_moved=COUNT,
    messages_moved=COUNT,
    share=NUMBER,  # of all subjects
    error=TEXT,  # as in SKEW
)
"""What changes its owner from one membership to the next."""

EVENTS = _table(
    target=TEXT,
    capture=TEXT,  # the stream that kept it
    sequence=COUNT,
    id=TEXT,
    type=TEXT,  # last word of the server's type: consumer_group_pinned, consumer_ack, api_audit, …
    at=TimestampType(),
    day=DateType(),
    stream=TEXT,
    consumer=TEXT,
    group=TEXT,
    pinned_id=TEXT,
    action=TEXT,
    reason=TEXT,
    deliveries=COUNT,
    ack_seconds=NUMBER,  # from delivery to acknowledgement
    request=TEXT,  # the endpoint that was asked, as all below only in audit events
    client=TEXT,  # its name, otherwise its language and version
    user=TEXT,
    account=TEXT,
    host=TEXT,
    deed=TEXT,  # create | update | delete | purge | pause | …; null: only a look
    refused=TEXT,  # what the server answered instead
    made=YES,  # by this request; it did not exist before
    config=TEXT,  # as JSON: what the object is from then on
)
"""What servers reported about themselves: advisories, metrics and API audit events, a row each."""

PINNINGS = _table(
    target=TEXT,
    stream=TEXT,
    consumer=TEXT,
    group=TEXT,
    pinned_id=TEXT,  # null: no client was pinned
    since=TimestampType(),
    until=TimestampType(),  # null: it goes on
    seconds=NUMBER,  # up to now, where it goes on
    began=TEXT,  # pinned | admin | timeout
    ended=TEXT,  # pinned | admin | timeout | deleted
)
"""A row per stretch of time in which one client was pinned, or none."""

PINS = _table(
    target=TEXT,
    stream=TEXT,
    consumer=TEXT,
    group=TEXT,
    since=TimestampType(),
    until=TimestampType(),
    pinned_id=TEXT,  # in the end; null: none, or the consumer is gone
    switches=COUNT,  # pins after the first one
    unpinned=COUNT,  # times that no client was pinned
    by_admin=COUNT,
    by_timeout=COUNT,
    unpinned_seconds=NUMBER,
    longest_unpinned_seconds=NUMBER,
    most_switches=COUNT,  # within any one window
    flapping=YES,
)
"""A row per priority group: how often its pinned client changed, and how long none was pinned."""

ACKS = _table(
    target=TEXT,
    stream=TEXT,
    consumer=TEXT,
    day=DateType(),
    samples=COUNT,
    median_seconds=NUMBER,
    p90_seconds=NUMBER,
    p99_seconds=NUMBER,
    longest_seconds=NUMBER,
    redelivered=COUNT,  # of the samples
    most_deliveries=COUNT,
    naks=COUNT,
    terminated=COUNT,
    given_up=COUNT,  # messages that reached max_deliver
)
"""A row per consumer and day. Samples are as many as sample_freq says; the last three are counted in full."""

ACTORS = _table(
    target=TEXT,
    at=TimestampType(),
    day=DateType(),
    client=TEXT,
    user=TEXT,
    account=TEXT,
    host=TEXT,
    request=TEXT,
    deed=TEXT,
    address=TEXT,
    kind=TEXT,
    changed=WORDS,  # paths; empty: it was so before; null: the state before is unknown
    id=TEXT,
)
"""Who did what: a row per request that a server carried out and that was more than a look."""
