"""`fleet snapshot` and `fleet drift`: one look at all targets."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from reconciler.fleet import summary
from reconciler.fleet.desired import desired, wanted
from reconciler.fleet.drift import drift, parts_for
from reconciler.fleet.runs import told
from reconciler.fleet.runs.look import MOST, Look, collected
from reconciler.fleet.snapshots import heavy, snapshots
from reconciler.fleet.tables import WANTED, made
from reconciler.report.fleet.found import Found
from reconciler.report.values import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reconciler.report.fleet.seen import Target


def snapshot(look: Look) -> Found:
    """What each target holds, kept as this run's."""
    return look.found("snapshot", targets=targets(_seen(look)))


def compare(look: Look) -> Found:
    """What strayed on each target since it was applied; what is live, what is wanted and what differs is kept."""
    seen = _seen(look)
    look.say("Comparing with what was applied …")
    rows, texts = wanted(look.fleet.targets)
    named = made(look.spark, rows, WANTED)
    meant = look.seen("desired", desired(named, texts, run=look.run, day=look.day))
    strayed = look.seen("drift", drift(seen, meant, parts=parts_for(len(rows))))
    return look.found("drift", targets=targets(seen), **strayed_of(strayed))


def _seen(look: Look) -> DataFrame:
    look.say(f"Reading {counted(len(look.fleet.targets), 'target')} …")
    return look.seen("snapshots", snapshots(look.live(sizes=_sizes(look)), run=look.run, day=look.day))


def _sizes(look: Look) -> str:
    """Of what was large at the last look: several tasks share the reading of it."""
    runs = look.store.runs("snapshots")
    found = heavy(look.store.read("snapshots"), runs[-1]).collect() if runs else []
    return json.dumps({row["target"]: row["objects"] for row in found})


def targets(seen: DataFrame) -> tuple[Target, ...]:
    """Of SNAPSHOTS of one run."""
    rows = sorted(summary.targets(seen).collect(), key=itemgetter("target"))
    return tuple(told.target(row.asDict()) for row in rows)


def strayed_of(rows: DataFrame, most: int = MOST) -> dict[str, Any]:
    """Of DRIFT, one look at each target: so many rows are listed, and all that they are about is counted."""
    worst = told.strayed(collected(summary.worst(rows, most)))
    looked = [row.asDict() for row in summary.looked_at(rows).collect()]
    counts = tuple(told.count(row) for row in looked if row["standing"] != "compared")
    about = sum(one.objects for one in counts)
    return {
        "strayed": worst,
        "counts": counts,
        "left_out": {"drift": about - len(worst)} if about > len(worst) else {},
        "compared": frozenset(row["target"] for row in looked if row["standing"] == "compared"),
    }
