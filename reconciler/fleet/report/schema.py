"""The published schemas of what `fleet COMMAND --format json` prints, strict: one for each command, of the same
parts."""

from __future__ import annotations

import json
from collections.abc import Iterable

from reconciler.changes.diff import FieldClass
from reconciler.fleet.report.json import FORMAT
from reconciler.fleet.report.seen import UNREACHABLE, UNREMEMBERED
from reconciler.journeys.drift.drift import Standing
from reconciler.report.codec.plan_schema import plan_schema
from reconciler.report.codec.schema_parts import (
    CODE,
    COUNT,
    DRAFT,
    FLAG,
    RAW,
    TEXT,
    TEXTS,
    UNIT,
    UNITS,
    VALUE,
    Schema,
    fixed,
    format_of,
    list_of,
    one_of,
    one_of_texts,
    says,
    schema_text,
)

NUMBER: Schema = {"type": "number"}
NATURAL: Schema = {"type": "number", "minimum": 0}
TIME: Schema = {"type": "string", "format": "date-time"}
DAY: Schema = {"type": "string", "format": "date"}
LABELS: Schema = {"type": "object", "additionalProperties": TEXT}
LIMIT: Schema = {"type": "integer", "minimum": -1}
"""-1: none."""

_EARLIER = fixed(
    {
        "what": one_of_texts("read", "compared") | says("What that run did with them."),
        "targets": TEXTS | says("The targets."),
    },
    run=TEXT | says("That run. A missing key: never."),
    at=TIME | says("When it was."),
)
TARGET, STREAM = TEXT | says("Name of the target."), TEXT | says("Name of the stream.")
OF_ITS_LABELS = LABELS | says("Labels of the target.")
RUN_OF = {"run": TEXT | says("The run."), "day": DAY | says("Its day.")}
TABLES: dict[str, str] = {
    "targets": "What each target holds.",
    "drift": "What differs from the last apply, on every target.",
    "trend": "Drift from run to run.",
    "history": "Every stretch of time over which one thing had drifted.",
    "repairs": "How often things drift, and how long until they are repaired.",
    "outliers": "What differs from most of a target's peers.",
    "capacity": "How full streams are, and when they will be.",
    "skew": "How evenly each candidate spreads keys over partitions and members.",
    "falls": "How much falls on each partition.",
    "moves": "What changes its owner from one membership to the next.",
    "pins": "Pins of consumers' clients that change hands.",
    "acks": "How long consumers take to acknowledge, by day.",
    "actors": "Who did what, according to audit events.",
}
"""What each table holds."""

COMMANDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "snapshot": (TABLES["targets"], ("targets",), ()),
    "drift": (TABLES["drift"], ("targets", "drift"), ()),
    "history": ("How drift and streams developed over the runs.", ("trend", "history", "repairs", "capacity"), ()),
    "outliers": (TABLES["outliers"], ("outliers",), ()),
    "skew": ("How drift and streams developed over the runs.", ("skew", "falls", "moves"), ()),
    "events": ("What servers reported about themselves.", ("pins", "acks", "actors"), ("targets",)),
    "report": (
        "Everything that is known about a fleet.",
        ("targets", "trend", "history", "repairs", "outliers", "capacity"),
        ("drift", "skew", "falls", "moves", "pins", "acks", "actors"),
    ),
}
"""The subject of each, the tables it always has, and those it has where they were made."""


def fleet_schema(command: str) -> str:
    """Return the schema of `fleet COMMAND --format json`. Raises KeyError for a command that is not in COMMANDS."""
    about, always, sometimes = COMMANDS[command]
    used = {_ITEMS[name]: _parts()[_ITEMS[name]] for name in (*always, *sometimes)}
    if "drift" in (*always, *sometimes):
        used |= {name: _parts()[name] for name in ("field", "verdict")}
    peers = {"with_peers": COUNT | says("How many targets have peers at all.")} if "outliers" in always else {}
    others = {"type": "array", "items": _EARLIER} | says("Targets that this run was not about.")
    return schema_text(
        {
            "$schema": DRAFT,
            "title": f"reconciler fleet {command}",
            "description": about,
            **fixed(
                {**_head(command), **_tables(always)},
                **_around_tables(),
                **peers,
                **({"earlier": others} if command == "report" else {}),
                **_tables(sometimes),
            ),
            "$defs": used,
        }
    )


def _head(command: str) -> dict[str, Schema]:
    return {
        "format": format_of(FORMAT),
        "command": {"const": command} | says("The command that made this document."),
        "fleet": TEXT | says("Name of the fleet."),
        "unread": TEXTS | says("Targets that could not be read, or not completely."),
    }


def _around_tables() -> dict[str, Schema]:
    left_out = {"type": "object", "additionalProperties": COUNT}
    return {
        "run": TEXT | says("Name of the run."),
        "left_out": left_out | says("How many rows of a table are not in this document, by table."),
        "silent": LABELS | says("Why a target reported nothing new, by target."),
    }


def _tables(names: Iterable[str]) -> dict[str, Schema]:
    return {name: list_of(_ITEMS[name]) | says(TABLES[name]) for name in names}


def fleet_plan_schema() -> str:
    """Return the schema of `fleet plan`; a plan in it is what `plan --format json` prints."""
    plan = {**json.loads(plan_schema()), "$id": "plan.schema.json"}
    problems = {"type": "array", "items": {"$ref": "plan.schema.json#/$defs/diagnostic"}}
    target = fixed(
        {"target": TARGET, "labels": OF_ITS_LABELS},
        plan=plan | says("Its plan, as `plan --format json` prints it."),
        problems=problems | says("Why there is no plan, or what else is wrong."),
    )
    head = {name: key for name, key in _head("plan").items() if name != "unread"}
    targets = {"type": "array", "items": target} | says("Every target that was planned.")
    return schema_text(
        {
            "$schema": DRAFT,
            "$id": "fleet-plan.schema.json",
            "title": "reconciler fleet plan",
            "description": "What would be done to each target, or why that is unknown.",
            **fixed({**head, "targets": targets}),
        }
    )


_ITEMS = {
    "targets": "target", "drift": "strayed", "trend": "run", "history": "episode", "repairs": "repairs",
    "outliers": "outlier", "capacity": "stream", "skew": "candidate", "falls": "fall", "moves": "move",
    "pins": "pin", "acks": "acks", "actors": "deed",
}  # fmt: skip


def _parts() -> dict[str, Schema]:
    return {**_looked(), **_past(), **_around(), **_skew(), **_told()}


def _looked() -> dict[str, Schema]:
    standings = (*(one.value for one in Standing), UNREACHABLE, UNREMEMBERED)
    return {
        "target": fixed(
            {"target": TARGET, "labels": OF_ITS_LABELS},
            version=TEXT | says("The lowest version of nats-server among those that answered."),
            error=TEXT | says("Why it could not be read."),
            streams=COUNT | says("Its streams."),
            consumers=COUNT | says("Its consumers."),
            messages=COUNT | says("Messages in its streams."),
            bytes=COUNT | says("Bytes in its streams."),
            unknown=COUNT | says("How much of it could not be read, although it answered."),
        ),
        "strayed": fixed(
            {
                "target": TARGET,
                "standing": one_of_texts(*standings) | says("The state of the object, or of the target."),
                "drift": FLAG | says("True: it counts as drift."),
                "fields": list_of("field") | says("Fields that differ."),
                "verdicts": list_of("verdict") | says("How the rules judge setting it to the file's values."),
            },
            topology=TEXT | says("Name of the topology."),
            address=TEXT | says("The object. A missing key: it is about the target."),
            team=TEXT | says("Label `team` of the resource, otherwise of the target."),
            reason=TEXT | says("Why, where the standing alone does not say it."),
            ignored=TEXT | says("The reason of the `ignore_drift` entry that covers it."),
            place=TEXT | says("Where the file declares it: `streams/orders.yaml:12`."),
            error=TEXT | says("Why nothing could be compared."),
        ),
        "field": fixed(
            {
                "path": TEXT | says("The field, with dots and indexes."),
                "class": one_of(FieldClass)
                | says("Who changed it: the file (`config`), somebody outside (`drifted`), or `both`."),
                "drift": FLAG | says("True: it counts as drift."),
                "unit": UNIT | says(UNITS),
            },
            applied=VALUE | says(f"The value that was last applied. {RAW}"),
            live=VALUE | says(f"The value that is live. {RAW}"),
            desired=VALUE | says(f"The value that the file says. {RAW}"),
            ignored=TEXT | says("The reason of the `ignore_drift` entry that covers it."),
        ),
        "verdict": fixed({"code": CODE | says("The rule."), "message": TEXT | says("What it says.")}),
    }


def _past() -> dict[str, Schema]:
    return {"run": _run(), "episode": _episode(), "repairs": _repairs()}


def _run() -> Schema:
    return fixed(
        {
            "run": TEXT | says("The run."),
            "compared": COUNT | says("Topologies that were compared, each on its target."),
            "unreachable": COUNT | says("Those whose target did not answer."),
            "opened": COUNT | says("Things that had drifted since the run before."),
            "closed": COUNT | says("Things that no longer drift."),
            "open": COUNT | says("Things that drift after this run."),
            "unseen": COUNT | says("Of these, what this run could not look at."),
            "objects": COUNT | says("Objects in which something drifted."),
        },
        day=DAY | says("Its day."),
        at=TIME | says("When it began."),
    )


def _episode() -> Schema:
    ended = one_of_texts("repaired", "ignored", "undeclared")
    return fixed(
        {
            "target": TARGET,
            "topology": TEXT | says("Name of the topology."),
            "state": one_of_texts("open", "unseen", "closed", "watched")
            | says("`unseen`: the newest run could not read it; `watched`: how long this topology has been looked at."),
        },
        address=TEXT | says("The object."),
        kind=TEXT | says("Its kind."),
        team=TEXT | says("Label `team` of the resource, otherwise of the target."),
        path=TEXT | says("The field. A missing key: the object as a whole."),
        field=TEXT | says("The field without indexes."),
        **{"class": TEXT | says("Who changed it.")},
        standing=TEXT | says("The state of the object when it was last seen."),
        clean=TIME | says("The look before, which did not find it."),
        opened=TIME | says("The first look that found it."),
        last_seen=TIME | says("The last look that found it."),
        closed=TIME | says("The first look that no longer found it."),
        opened_run=TEXT | says("The run that found it first."),
        last_seen_run=TEXT | says("The run that found it last."),
        closed_run=TEXT | says("The run that no longer found it."),
        labels=OF_ITS_LABELS,
        occurrence=COUNT | says("1: never before; 2: it came back."),
        looks=COUNT | says("How many looks found it."),
        seconds=NATURAL | says("How long it lasted, once it was repaired."),
        ended=ended | says("How it ended."),
        live=VALUE | says(f"The value that is live. {RAW}"),
        desired=VALUE | says(f"The value that the file says. {RAW}"),
        applied=VALUE | says(f"The value that was last applied. {RAW}"),
        codes=TEXTS | says("Rules that object to setting it to the file's value."),
        digest={"type": "integer"} | says("A digest of all looks that went into this."),
    )


def _repairs() -> Schema:
    return fixed(
        {
            "dimension": one_of_texts("all", "target", "kind", "field", "team")
            | says("The side from which this counts."),
            "episodes": COUNT | says("How often something drifted."),
            "open": COUNT | says("How much still drifts."),
            "unseen": COUNT | says("How much the newest run could not read."),
            "repaired": COUNT | says("How much was repaired."),
            "came_back": COUNT | says("How much came back after a repair."),
        },
        value=TEXT | says("Which target, kind, field or team."),
        mean_seconds=NATURAL | says("How long it took on average."),
        median_seconds=NATURAL | says("How long half of it took at most."),
        p95_seconds=NATURAL | says("How long 95 of 100 took at most."),
        longest_seconds=NATURAL | says("How long the longest took."),
    )


def _around() -> dict[str, Schema]:
    return {"outlier": _outlier(), "stream": _capacity()}


def _outlier() -> Schema:
    return fixed(
        {
            "peers": TEXT | says("Labels that its peers share: `env=prod, role=orders`."),
            "target": TARGET,
            "address": TEXT | says("The object."),
            "what": one_of_texts("differs", "missing", "extra") | says("How it differs."),
            "holders": COUNT | says("How many peers have the usual value."),
            "among": COUNT | says("How many peers could be looked at."),
        },
        labels=OF_ITS_LABELS,
        kind=TEXT | says("The object's kind."),
        path=TEXT | says("The field. A missing key: the object as a whole."),
        value=VALUE | says(f"The value here. {RAW}"),
        usual=VALUE | says(f"The usual value. {RAW}"),
        **RUN_OF,
    )


def _capacity() -> Schema:
    return fixed(
        {
            "target": TARGET,
            "stream": STREAM,
            "messages": COUNT | says("Messages in it."),
            "bytes": COUNT | says("Bytes in it."),
        },
        labels=OF_ITS_LABELS,
        storage=TEXT | says("Where they are stored."),
        replicas=COUNT | says("How many copies there are."),
        when_full=one_of_texts("old", "new") | says("`old`: the oldest go; `new`: publishes are refused."),
        records=COUNT | says("Bytes besides the payload, at least."),
        record_cost=NATURAL | says("Of these, per message."),
        looks=COUNT | says("How many looks show the growth."),
        since=TIME | says("The first of them."),
        messages_per_day=NUMBER | says("How many messages it grows by."),
        bytes_per_day=NUMBER | says("How many bytes it grows by."),
        max_messages=LIMIT | says("Its limit of messages; -1: none."),
        max_bytes=LIMIT | says("Its limit of bytes; -1: none."),
        account_limit=LIMIT | says("The account's limit of bytes in this storage; -1: none."),
        days_to_max_messages=NATURAL | says("Days until that many messages; 0: there is no room for another one."),
        days_to_max_bytes=NATURAL | says("Days until that many bytes."),
        days_to_account_limit=NATURAL | says("Days until the account's limit."),
        days=NATURAL | says("The least of these."),
        account_bytes=COUNT | says("Bytes that the account uses in this storage."),
        **RUN_OF,
    )


CANDIDATE: dict[str, Schema] = {"target": TARGET, "stream": STREAM}
SHAPE: dict[str, Schema] = {
    "choice": TEXT | says("Which wildcards decide: `orders.*.* by 1,2`."),
    "since": TEXT | says("The first nats-server that can do it. A missing key: all can."),
    "partitions": COUNT | says("How many partitions."),
}
UNREAD = TEXT | says("Why subjects could not be read.")


def _skew() -> dict[str, Schema]:
    return {"candidate": _candidate(), "fall": _fall(), "move": _move()}


def _candidate() -> Schema:
    return fixed(
        CANDIDATE,
        **SHAPE,
        membership=TEXT | says("Among which members. A missing key: among the partitions themselves."),
        members=COUNT | says("How many members."),
        of=one_of_texts("subjects", "messages") | says("What is counted."),
        total=COUNT | says("All of it."),
        missed=COUNT | says("What no filter matches."),
        unowned=COUNT | says("What falls on partitions without an owner."),
        mean=NATURAL | says("The mean of partitions or members."),
        largest=COUNT | says("The most that one of them gets."),
        where=TEXT | says("The partition or member that gets most."),
        ratio=NATURAL | says("The largest by the mean: 1 is even."),
        p99=COUNT | says("What 99 of 100 get at most."),
        empty=COUNT | says("How many get nothing."),
        error=UNREAD,
    )


def _fall() -> Schema:
    return fixed(
        CANDIDATE,
        **SHAPE,
        partition=COUNT | says("The partition. A missing key: what no filter matches."),
        subjects=COUNT | says("Subjects that fall there."),
        messages=COUNT | says("Their messages."),
        error=UNREAD,
    )


def _move() -> Schema:
    return fixed(
        CANDIDATE,
        before=TEXT | says("The membership before."),
        after=TEXT | says("The membership after."),
        manner=one_of_texts("declared", "fewest") | says("`fewest`: with mappings that move the least."),
        partitions_moved=COUNT | says("Partitions that change their owner."),
        subjects_moved=COUNT | says("Their subjects."),
        messages_moved=COUNT | says("Their messages."),
        **SHAPE,
        share=NATURAL | says("The share of subjects that moves."),
        error=UNREAD,
    )


def _told() -> dict[str, Schema]:
    return {"pin": _pin(), "acks": _acks(), "deed": _deed()}


CONSUMER: dict[str, Schema] = {"target": TARGET, "stream": STREAM, "consumer": TEXT | says("Name of the consumer.")}


def _pin() -> Schema:
    return fixed(
        {**CONSUMER, "flapping": FLAG | says("True: its pin changed hands too often in too short a time.")},
        group=TEXT | says("The priority group."),
        since=TIME | says("The first event."),
        until=TIME | says("The last event."),
        pinned_id=TEXT | says("Id of the client that is pinned now."),
        switches=COUNT | says("How often another client was pinned."),
        unpinned=COUNT | says("How often no client was pinned."),
        by_admin=COUNT | says("How often somebody ended the pin."),
        by_timeout=COUNT | says("How often the client fell silent."),
        most_switches=COUNT | says("The most switches in a short time."),
        unpinned_seconds=NATURAL | says("How long no client was pinned."),
        longest_unpinned_seconds=NATURAL | says("The longest of these times."),
    )


def _acks() -> Schema:
    return fixed(
        {**CONSUMER, "day": DAY | says("The day.")},
        median_seconds=NATURAL | says("How long half of them took at most."),
        p90_seconds=NATURAL | says("How long 90 of 100 took at most."),
        p99_seconds=NATURAL | says("How long 99 of 100 took at most."),
        longest_seconds=NATURAL | says("How long the longest took."),
        samples=COUNT | says("Acknowledgements that were sampled."),
        redelivered=COUNT | says("Those that came after a redelivery."),
        most_deliveries=COUNT | says("The most deliveries of one message."),
        naks=COUNT | says("Messages that clients refused for now."),
        terminated=COUNT | says("Messages that clients terminated."),
        given_up=COUNT | says("Messages that reached `max_deliver`."),
    )


def _deed() -> Schema:
    return fixed(
        {"target": TARGET, "deed": TEXT | says("What was done.")},
        at=TIME | says("When."),
        day=DAY | says("On which day."),
        client=TEXT | says("The name that the client gave itself, otherwise its language and version."),
        user=TEXT | says("Name of the user."),
        account=TEXT | says("The account of the user."),
        host=TEXT | says("The address that it came from."),
        request=TEXT | says("The API subject of the request."),
        address=TEXT | says("The object."),
        kind=TEXT | says("The object's kind."),
        id=TEXT | says("Id of the event."),
        changed=TEXTS | says("Fields that changed."),
    )
