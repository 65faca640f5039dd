"""Every table of the fleet, column by column: what one run reads, and what is made of it.

A column means the same wherever it stands: `target` is a name in fleet.yaml, `run` one look at all of them, `day` the
date of that look, and what only some rows have is null in the others.
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
    row=TEXT,  # target | stream | consumer | entry | unknown | error
    address=TEXT,  # of the resource that this is, where it is one by itself
    scope=TEXT,  # stream | stream/consumer | bucket/key, or the scope that is unknown
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
"""What the data source reads: a row per live object, one for the account itself, one for whatever is unknown."""

RUN = (StructField("run", TEXT), StructField("day", DateType()))
SNAPSHOTS = StructType([*CONFIGS.fields, *RUN])

SUBJECTS = _table(target=TEXT, stream=TEXT, subject=TEXT, messages=COUNT, error=TEXT, at=TimestampType())

MESSAGES = _table(
    target=TEXT, stream=TEXT, sequence=COUNT, time=TimestampType(), subject=TEXT, headers=LABELS, data=BinaryType()
)

DESIRED = StructType(
    [
        *_table(
            target=TEXT,
            labels=LABELS,
            topology=TEXT,
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
            address=TEXT,  # null where the whole target could not be read
            kind=TEXT,
            team=TEXT,
            standing=TEXT,  # unknown | foreign | missing | recreated | changed | pending | orphaned | unreachable
            path=TEXT,  # null where it is the whole object
            **{"class": TEXT},
            live=TEXT,  # as JSON; null: absent
            desired=TEXT,
            applied=TEXT,
            drifted=YES,  # somebody moved it outside; else it waits to be applied
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
"""A row per differing field, or per object that strayed as a whole, or per target that could not be read."""
