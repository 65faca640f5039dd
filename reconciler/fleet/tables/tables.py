"""Every table of the fleet, column by column: what one run reads, and what is computed from it.

A column has the same meaning in every table: `target` is a name in fleet.yaml, `run` one look at all of them, `day` the
date of that look. A value that only some rows have is null in the others.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

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

from reconciler.fleet.tables.rows import (
    AcksRow,
    ActorsRow,
    CapacityRow,
    Episode,
    FallsRow,
    MovesRow,
    Outlier,
    PinsRow,
    RepairsRow,
    SkewRow,
    TrendRow,
)
from reconciler.model.shape import Like
from reconciler.report.codec.shape import Sort, members, sort_of, type_and_marks

TEXT, COUNT, NUMBER, YES = StringType(), LongType(), DoubleType(), BooleanType()
WORDS, LABELS = ArrayType(TEXT), MapType(TEXT, TEXT)


SPARK: dict[Any, DataType] = {
    str: TEXT, bool: YES, int: COUNT, float: NUMBER, date: DateType(), datetime: TimestampType(),
}  # fmt: skip
"""By the type of a column."""


def _table_of(row_type: type) -> StructType:
    """Return the table whose rows these are."""
    return StructType([StructField(member.key, _spark_type(member.hint)) for member in members(row_type)])


def _spark_type(hint: Any) -> DataType:
    sort, inner = sort_of(hint)
    bare, marks = type_and_marks(hint)
    if sort is Sort.OPTIONAL:
        return _spark_type(*inner)
    if any(isinstance(mark, Like) and mark.keywords.get("format") == "int32" for mark in marks):
        return IntegerType()
    return SPARK[bare] if bare in SPARK else {Sort.ARRAY: WORDS, Sort.MAPPING: LABELS, Sort.CHOICE: TEXT}[sort]


def _table(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


CONFIGS = _table(
    target=TEXT,
    labels=LABELS,
    row=TEXT,  # target | stream | consumer | copier | entries | entry | unknown | error
    address=TEXT,  # of the resource that this is, where it is one by itself
    scope=TEXT,  # stream | stream/consumer | bucket | bucket/key, or the scope that is unknown
    json=TEXT,  # the server's own answer
    value=BinaryType(),  # of an entry
    revision=COUNT,
    deleted=YES,
    stored=TEXT,  # when the server stored an entry, by its own clock
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

WANTED = _table(target=TEXT, labels=LABELS, files=TEXT, values=LABELS, environment=TEXT)
"""The files of each target (none: an empty text), its values, and the environment for which they are read."""

FINDING = _table(
    severity=TEXT, code=TEXT, name=TEXT, message=TEXT, address=TEXT, file=TEXT, line=IntegerType(), fix=TEXT
)
"""A finding that is no verdict."""

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
            diagnostics=ArrayType(FINDING),  # what else there is to say about the files, in the row of the topology
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
            address=TEXT,  # null in the row of the look itself (compared, unreachable, uncompared, undeclared)
            kind=TEXT,
            team=TEXT,
            # unknown | foreign | missing | recreated | changed | pending | orphaned, or one of those below
            standing=TEXT,
            path=TEXT,  # null where it is the whole object
            **{"class": TEXT},
            live=TEXT,  # as JSON; null: absent
            desired=TEXT,
            applied=TEXT,  # always null where the class is `plain`: no record tells it
            drifted=YES,  # somebody changed it outside; otherwise it waits to be applied
            ignored=TEXT,
            codes=WORDS,
            verdicts=ArrayType(VERDICT),
            diagnostics=ArrayType(FINDING),  # of the look, in its row
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
row of a look is `unreachable` with its error where the target could not be read, `uncompared` with its error where it
could not be compared, and `undeclared` where it should hold nothing. Otherwise it is `compared`, with the number of
objects by standing, and of those `without_record`, in its quantities. So what was looked
at and has no drift differs from what nobody looked at. `unremembered` marks an object whose record cannot be used, in
addition to its other rows."""

DRIFT_HISTORY = _table_of(Episode)

REPAIRS = _table_of(RepairsRow)

TREND = _table_of(TrendRow)

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

OUTLIERS = _table_of(Outlier)

CAPACITY = _table_of(CapacityRow)

FALLS = _table_of(FallsRow)

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

SKEW = _table_of(SkewRow)

MOVES = _table_of(MovesRow)

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

PINS = _table_of(PinsRow)

ACKS = _table_of(AcksRow)

ACTORS = _table_of(ActorsRow)
