"""Fleets that reports are about: one with everything in it, one that is well, and one with hostile names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from reconciler.fleet.report.findings import FleetFindings, Rows
from reconciler.fleet.report.run_rows import Count, DriftEntry, Field, SeenTarget, TargetFinding
from reconciler.model.diagnostic import Severity
from reconciler.model.fields import FieldInfo

DAY = 86_400.0
RUNS = ("2026-11-17", "2026-11-18", "2026-11-19", "2026-11-20", "2026-11-21")
INFOS = {("stream", "num_replicas"): FieldInfo(unit="count")}
AGE, MEMBERS = FieldInfo(unit="duration"), FieldInfo(unit="list")


def target(name: str, **said: object) -> SeenTarget:
    labels = {"env": "prod" if name[-1] != "3" else "stage", "region": name.partition("-")[0]}
    held = {
        "version": "2.12.8",
        "streams": 42,
        "consumers": 118,
        "messages": 3_400_000,
        "bytes": 40 << 30,
        "unknown": 0,
        "seconds": 0.42,
    }
    return SeenTarget(**{"name": name, "labels": labels, **held, **said})  # type: ignore[arg-type]


def everything() -> FleetFindings:
    targets = (
        target("eu-1"), target("eu-2", bytes=12 << 30), target("eu-3", bytes=3 << 30), target("us-1", version="2.11.11"),
        target("us-2", unknown=1), SeenTarget(name="ap-1", labels={"env": "prod", "region": "ap"}, seconds=5.0,
                                          error="nats://ap.example.org:4222 did not answer within 5 s"),
        target("us-3", labels={"env": "prod", "region": "us"}),
    )  # fmt: skip
    return FleetFindings(
        command="report", fleet="fleet.yaml", run=RUNS[-1], seconds=3.2, targets=targets, drift=drift_entries(),
        counts=counts(drift_entries()), compared=frozenset(one.name for one in targets if not one.error) - {"us-3"}, diagnostics=findings(),
        unrecorded={"eu-1": 2}, trend=trend(), by_target=by_target(),
        history=history(), repairs=repairs(), outliers=outliers(), with_peers=5, infos=INFOS, capacity=capacity(),
        following=("To put one target back: reconciler drift restore orders --context eu-1",),
    )  # fmt: skip


def well() -> FleetFindings:
    """Read, compared, and nothing to say."""
    found = everything()
    empty = {"streams": 0, "consumers": 0, "messages": 0, "bytes": 0}
    targets = tuple(
        replace(one, error="", unknown=0, **(empty if one.error else {}))  # type: ignore[arg-type]
        for one in found.targets or ()
    )
    return replace(
        found, command="drift", targets=targets, drift=(), counts=(), compared=frozenset(one.name for one in targets),
        diagnostics=(), unrecorded={},
        trend=None, by_target={}, history=None, repairs=None, outliers=None, capacity=None, following=(),
    )  # fmt: skip


def drift_only() -> FleetFindings:
    return replace(everything(), command="drift", trend=None, by_target={}, history=None, repairs=None, outliers=None,
                   capacity=None)  # fmt: skip


def past_only() -> FleetFindings:
    return replace(everything(), command="history", targets=None, drift=None, counts=(), compared=frozenset(),
                   outliers=None, diagnostics=(), unrecorded={})  # fmt: skip


def partly_old() -> FleetFindings:
    """The newest run was about some targets, and there was more than one report takes up."""
    then = datetime(2026, 11, 19, 21, 5, tzinfo=timezone(timedelta(hours=-5)))
    return replace(
        everything(), history=(), repairs=(), outliers=(), capacity=(), left_out={"drift": 3, "actors": 1_200},
        by_target={run: {"eu-1": 0, "eu-2": 1} for run in RUNS[:2]},
        earlier=(
            {"what": "read", "targets": ["new-1"]},
            {"what": "compared", "run": RUNS[3], "at": then, "targets": ["eu-1", "eu-2", "eu-3", "us-1", "us-2"]},
        ),
    )  # fmt: skip


def uncompared() -> FleetFindings:
    return replace(
        well(), command="report", drift=None, compared=frozenset(), trend=(), history=(), repairs=(), outliers=(),
        with_peers=0, capacity=(),
    )  # fmt: skip


def drift_entries() -> tuple[DriftEntry, ...]:
    age = Field(path="max_age", field_class="drifted", live=259_200 * 10**9, desired=604_800 * 10**9,
                applied=604_800 * 10**9, info=AGE)  # fmt: skip
    members = Field(path="members", field_class="both", live=["b1", "b2"], desired=["b1", "b2", "b3", "b4"],
                    applied=["b1", "b2", "b3"], info=MEMBERS)  # fmt: skip
    raw = Field(path="max_msgs", field_class="plain", live=50, info=FieldInfo(left_out="no limit"))
    at = "orders/orders.yaml:12"
    shorter = [
        DriftEntry(target=name, standing="changed", address="stream/ORDERS", topology="orders", team="orders", fields=(age,),
                verdicts=(("ST301", "apply deletes 1.2 M of 3.4 M messages"),), place=at)
        for name in ("eu-1", "eu-2", "us-1", "us-2")
    ]  # fmt: skip
    return (
        *shorter,
        DriftEntry(target="eu-2", standing="missing", address="consumer/ORDERS/audit", topology="orders", team="audit",
                reason="applied at revision 7, and no longer there", place="orders/orders.yaml:31"),
        DriftEntry(target="eu-3", standing="changed", address="elastic_group/ORDERS/billing", topology="orders",
                team="billing", fields=(members,), place="orders/groups.yaml:4"),
        DriftEntry(target="eu-3", standing="pending", address="stream/NEW", topology="orders"),
        DriftEntry(target="us-2", standing="unknown", address="stream/PAYMENTS", reason="its leader did not answer"),
        DriftEntry(target="ap-1", standing="unreachable", topology="orders",
                error="nats://ap.example.org:4222 did not answer within 5 s"),
        DriftEntry(target="eu-1", standing="changed", address="stream/LEGACY", topology="orders", fields=(raw,)),
        DriftEntry(target="us-3", standing="uncompared", topology="orders", error="orders.yaml does not exist"),
    )  # fmt: skip


def findings() -> tuple[TargetFinding, ...]:
    """One that four targets have, and one about an object."""
    ended = "the entry that ignores drift of stream/ORDERS max_age ended on 2026-11-01"
    expired = TargetFinding(target="", severity=Severity.WARNING, code="DR102", name="ignore-expired", message=ended,
                            place="orders/orders.yaml:40", fix="remove it")  # fmt: skip
    lost = "the record owned.stream.AUDIT in bucket reconciler cannot be used: it is no JSON"
    return (
        *(replace(expired, target=name) for name in ("eu-1", "eu-2", "eu-3", "us-1")),
        TargetFinding(target="us-2", severity=Severity.WARNING, code="LE101", name="record-unreadable", message=lost,
                      address="stream/AUDIT"),
    )  # fmt: skip


def counts(all_of_them: Iterable[DriftEntry]) -> tuple[Count, ...]:
    return tuple(
        Count(
            target=one.target,
            standing=one.standing,
            objects=1,
            drifted=int(one.is_drift),
            unrecorded=int(one.is_drift and not one.is_recorded),
        )
        for one in all_of_them
    )


def trend() -> tuple[dict[str, object], ...]:
    rows = ((0, 0, 0, 0), (3, 0, 3, 0), (5, 1, 7, 0), (1, 4, 4, 0), (4, 1, 7, 1))
    return tuple(
        {"run": run, "compared": 5, "unreachable": int(bool(unseen)), "uncompared": 1, "opened": opened, "closed": closed, "open": left,
         "unseen": unseen, "objects": left}
        for run, (opened, closed, left, unseen) in zip(RUNS, rows, strict=True)
    )  # fmt: skip


def by_target() -> dict[str, dict[str, int | None]]:
    counts = {
        "eu-1": (0, 1, 1, 1, 1), "eu-2": (0, 2, 4, 2, 2), "eu-3": (0, 0, 1, 0, 1), "us-1": (0, 0, 0, 0, 1),
        "us-2": (0, 0, 0, 0, 1), "ap-1": (0, 0, 1, 1, None),
    }  # fmt: skip
    return {run: {name: values[at] for name, values in counts.items()} for at, run in enumerate(RUNS)}


def history() -> tuple[dict[str, object], ...]:
    stays = {
        "topology": "orders",
        "kind": "stream",
        "team": "orders",
        "standing": "changed",
        "occurrence": 1,
        "looks": 4,
    }
    age = {"address": "stream/ORDERS", "path": "max_age", "field": "max_age", "live": "259200000000000",
           "desired": "604800000000000", "applied": "604800000000000", "codes": ["ST301"]}  # fmt: skip
    opened = {"opened": datetime(2026, 11, 18, 2, tzinfo=UTC), "opened_run": RUNS[1], "clean": datetime(2026, 11, 17, 2, tzinfo=UTC),
              "last_seen": datetime(2026, 11, 21, 2, tzinfo=UTC), "last_seen_run": RUNS[-1]}  # fmt: skip
    members = {"address": "elastic_group/ORDERS/billing", "path": "members", "kind": "elastic_group", "field": "members",
               "team": "billing", "occurrence": 2, "looks": 1,
               "opened": datetime(2026, 11, 21, 2, tzinfo=UTC), "opened_run": RUNS[-1]}  # fmt: skip
    gone = {"address": "stream/AUDIT", "path": None, "standing": "missing", "closed": datetime(2026, 11, 20, 2, tzinfo=UTC),
            "closed_run": RUNS[3], "ended": "repaired", "seconds": 1.2 * DAY, "looks": 1}  # fmt: skip
    return (
        {"target": "eu-1", **stays, **age, **opened, "state": "open"},
        {"target": "eu-2", **stays, **age, **opened, "state": "open", "clean": None, "opened_run": RUNS[0]},
        {"target": "eu-3", **stays, **opened, **members, "state": "open"},
        {"target": "ap-1", **stays, **age, **opened, "state": "unseen"},
        {"target": "us-1", **stays, **opened, **gone, "state": "closed"},
        {
            "target": "us-2",
            "topology": "orders",
            "state": "watched",
            "opened": opened["clean"],
            "opened_run": RUNS[0],
            "last_seen": opened["last_seen"],
            "last_seen_run": RUNS[-1],
            "looks": 5,
            "digest": -7,
        },
    )


def repairs() -> tuple[dict[str, object], ...]:
    def row(dimension: str, value: str | None, *counts: float | None) -> dict[str, object]:
        names = ("episodes", "open", "unseen", "repaired", "came_back", "mean_seconds", "median_seconds", "p95_seconds",
                 "longest_seconds")  # fmt: skip
        return {"dimension": dimension, "value": value, **dict(zip(names, counts, strict=True))}

    return (
        row("all", None, 13, 7, 1, 6, 1, 1.1 * DAY, 0.9 * DAY, 2.5 * DAY, 3 * DAY),
        row("target", "eu-2", 6, 2, 0, 4, 1, 1.1 * DAY, DAY, 2 * DAY, 3 * DAY),
        row("target", "eu-1", 3, 1, 0, 2, 0, 4 * 3600.0, 4 * 3600.0, 5 * 3600.0, 5 * 3600.0),
        row("field", "max_age", 8, 5, 1, 3, 1, DAY, DAY, DAY, 1.5 * DAY),
        row("field", "members", 2, 1, 0, 1, 1, None, None, None, None),
        row("team", "orders", 10, 6, 1, 4, 0, DAY, DAY, DAY, 2 * DAY),
    )


def outliers() -> tuple[dict[str, object], ...]:
    peers = {"peers": "env=prod, region=eu", "labels": {"env": "prod"}, "kind": "stream", "run": RUNS[-1]}
    return (
        {**peers, "target": "eu-2", "address": "stream/ORDERS", "what": "differs", "path": "num_replicas", "value": "1",
         "usual": "3", "holders": 11, "among": 12},
        {**peers, "target": "eu-1", "address": "consumer/ORDERS/debug", "what": "extra", "path": None, "value": None,
         "usual": None, "holders": 11, "among": 12},
        {**peers, "target": "eu-3", "address": "stream/AUDIT", "what": "missing", "path": None, "value": None,
         "usual": None, "holders": 9, "among": 12},
    )  # fmt: skip


def capacity() -> tuple[dict[str, object], ...]:
    def row(target: str, stream: str, **said: object) -> dict[str, object]:
        return {"target": target, "stream": stream, "storage": "file", "replicas": 3, "looks": 5,
                "run": RUNS[-1], **said}  # fmt: skip

    return (
        row("eu-1", "ORDERS", when_full="old", messages=3_400_000, bytes=38 << 30, records=2 << 30, record_cost=62.0,
            messages_per_day=210_000.0, bytes_per_day=2.4 * (1 << 30), max_bytes=40 << 30, days_to_max_bytes=0.9, days=0.9),
        row("eu-2", "PAYMENTS", when_full="new", messages=880_000, bytes=9 << 30, records=1 << 30, record_cost=71.0,
            messages_per_day=32_000.0, bytes_per_day=0.3 * (1 << 30), max_messages=1_000_000, days_to_max_messages=3.75,
            days=3.75, max_bytes=-1),
        row("us-1", "EVENTS", when_full="new", messages=120_000, bytes=2 << 30, records=90 << 20,
            messages_per_day=900.0, bytes_per_day=40.0 * (1 << 20), account_bytes=8 << 30, account_limit=16 << 30,
            days_to_account_limit=58.0, days=58.0),
        row("us-2", "IDLE", when_full="old", messages=10, bytes=9_000, messages_per_day=0.0, bytes_per_day=0.0),
    )  # fmt: skip


def spread() -> FleetFindings:
    """Three candidates for one stream, two memberships."""
    loads = {
        "orders.*.* by 2": (104, 98, 101, 97, 100, 103, 99, 98), "orders.*.* by 1,2": (100,) * 8,
        "orders.*.* by 1": (400, 0, 0, 200, 0, 0, 200, 0),
    }  # fmt: skip
    place = {"target": "eu-1", "stream": "ORDERS"}
    falls = [
        {
            **place,
            "choice": choice,
            "since": None,
            "partitions": 8,
            "partition": at,
            "subjects": count,
            "messages": 12 * count,
        }
        for choice, counts in loads.items()
        for at, count in enumerate(counts)
    ]
    skew = []
    for choice, counts in loads.items():
        for of, weight in (("subjects", 1), ("messages", 12)):
            most = max(counts) * weight
            skew.append({**place, "choice": choice, "since": None, "partitions": 8, "membership": None, "members": None,
                         "of": of, "total": 800 * weight, "missed": 0, "unowned": None, "mean": 100.0 * weight,
                         "largest": most, "where": "0", "ratio": most / 100 / weight, "p99": most,
                         "empty": counts.count(0), "error": None})  # fmt: skip
        skew.append({**place, "choice": choice, "since": None, "partitions": 8, "membership": "3", "members": 3,
                     "of": "subjects", "total": 800, "missed": None, "unowned": 0, "mean": 800 / 3, "largest": 400,
                     "where": "m1", "ratio": 1.5, "p99": 400, "empty": 0, "error": None})  # fmt: skip
    moves = [
        {**place, "choice": "orders.*.* by 2", "since": None, "partitions": 8, "before": "3", "after": "4",
         "manner": manner, "partitions_moved": moved, "subjects_moved": moved * 100, "messages_moved": moved * 1200,
         "share": moved / 8}
        for manner, moved in (("declared", 5), ("fewest", 2))
    ]  # fmt: skip
    return FleetFindings(
        command="skew", fleet="fleet.yaml", seconds=4.1, skew=tuple(skew), falls=tuple(falls), moves=tuple(moves)
    )


def told() -> FleetFindings:
    """What servers told about themselves."""
    group = {"target": "eu-1", "stream": "ORDERS", "consumer": "dispatch", "group": "jobs", "since": at(17, 2),
             "until": None, "pinned_id": "kR4", "unpinned": 9, "unpinned_seconds": 410.0, "longest_unpinned_seconds": 62.0,
             "most_switches": 5}  # fmt: skip
    pins = (
        {**group, "switches": 1, "by_admin": 1, "by_timeout": 0, "flapping": False},
        {**group, "consumer": "billing", "switches": 41, "by_admin": 0, "by_timeout": 40, "flapping": True},
    )
    late = ((19, 0.31), (20, 0.42), (21, 2.6))
    acks = tuple(
        {"target": "eu-1", "stream": "ORDERS", "consumer": "dispatch", "day": at(day, 0).date(), "samples": 1_200,
         "median_seconds": 0.012, "p90_seconds": 0.1, "p99_seconds": p99, "longest_seconds": 9.0, "redelivered": 80,
         "most_deliveries": 4, "naks": 3, "terminated": 0, "given_up": 2}
        for day, p99 in late
    )  # fmt: skip
    who = {"target": "eu-1", "day": at(20, 0).date(), "account": "ORDERS", "host": "10.0.0.7", "kind": "stream", "id": "x",
           "request": "$JS.API.STREAM.UPDATE.ORDERS", "address": "stream/ORDERS"}  # fmt: skip
    actors = (
        {
            **who,
            "at": at(20, 15),
            "client": "NATS CLI Version 0.3.0",
            "user": "anna",
            "deed": "update",
            "changed": ["max_age"],
        },
        {
            **who,
            "at": at(20, 16),
            "client": "NATS CLI Version 0.3.0",
            "user": "anna",
            "deed": "update",
            "changed": None,
        },
        {
            **who,
            "at": at(20, 9),
            "client": "reconciler",
            "user": "ci",
            "deed": "create",
            "changed": ["name", "subjects"],
        },
    )
    return FleetFindings(command="events", fleet="fleet.yaml", seconds=2.0, pins=pins, acks=acks, actors=actors)


def at(day: int, hour: int) -> datetime:
    return datetime(2026, 11, day, hour)


def hostile(trick: str) -> FleetFindings:
    """Everything that somebody else names, named by somebody who means harm."""
    bad = DriftEntry(target=trick, standing="changed", address=f"stream/{trick}", reason=trick, place=trick, team=trick,
                  fields=(Field(path=trick, field_class="both", live=trick, applied=[trick], desired={trick: trick}),),
                  verdicts=(("ST301", trick),), ignored="")  # fmt: skip
    finding = TargetFinding(target=trick, severity=Severity.WARNING, code="LE105", name=trick, message=trick, address=trick,
                                place=trick, fix=trick)  # fmt: skip
    found = everything()
    named = {"address", "path", "target", "stream", "peers"}

    def rows(table: Rows | None) -> Rows:
        return tuple({name: trick if name in named else value for name, value in one.items()} for one in table or ())

    return replace(
        found, fleet=trick, run=trick, targets=(SeenTarget(name=trick, labels={trick: trick, "env": trick}, error=trick),),
        drift=(bad,), diagnostics=(finding,), counts=counts([bad]), compared=frozenset({trick}), by_target={RUNS[0]: {trick: 2}},
        history=tuple({**one, "standing": trick} for one in rows(found.history)),
        outliers=tuple({**one, "value": json.dumps(trick)} for one in rows(found.outliers)),
        capacity=rows(found.capacity),
        skew=tuple({**one, "choice": trick, "target": trick} for one in spread().skew or ()),
        actors=tuple({**one, "client": trick, "user": trick, "address": trick} for one in told().actors or ()),
    )  # fmt: skip
