"""`fleet history`, `fleet outliers` and `fleet report`: what earlier looks left in the tables. No target is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from reconciler.core.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.fleet import summary
from reconciler.fleet.capacity import capacity
from reconciler.fleet.history import drift_history
from reconciler.fleet.outliers import outliers
from reconciler.fleet.runs import told
from reconciler.fleet.runs.look import MOST, Look, collected
from reconciler.fleet.runs.looking import strayed_of, targets
from reconciler.fleet.trends import repairs, trend
from reconciler.report.fleet.found import Found, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ALSO = ("skew", "falls", "moves", "pins", "acks", "actors")
"""Tables that other commands left, which a report shows where there are any."""


def history(look: Look) -> Found:
    look = at_newest(look)
    return look.found("history", **_past(look), capacity=_capacity(look))


def unlike(look: Look, by: Sequence[str] = ()) -> Found:
    """`by`: the labels that make peers (none: all that a target carries)."""
    for name in by:
        _known(name, look)
    look = at_newest(look)
    return look.found("outliers", **_outliers(look, by))


def _known(label: str, look: Look) -> None:
    """Without peers nothing would be found, as if all were well."""
    labels = sorted({name for target in look.fleet.targets for name in target.labels})
    if label not in labels:
        raise CannotContinue(
            Diagnostic(
                severity=Severity.ERROR, code="FL113", name="no-label", message=f"No target has the label `{label}`.",
                fix=f"Use one of {', '.join(labels)}." if labels else "Give the targets labels in fleet.yaml.",
            )
        )  # fmt: skip


def report(look: Look) -> Found:
    """All of it. Which parts there are depends on which commands have run."""
    look = at_newest(look)
    look.say("Putting the report together …")
    drifted = look.of_run("drift")
    also = {name: rows for name in ALSO if (rows := collected(look.store.read(name)))}
    return look.found(
        "report", targets=targets(look.of_run("snapshots")), **strayed_of(drifted), **_past(look),
        **_outliers(look), capacity=_capacity(look), **also,
    )  # fmt: skip


def at_newest(look: Look) -> Look:
    """With the run that was asked for, else the newest there is."""
    seen = look.store.read("snapshots")
    if look.is_named:
        there = bool(seen.where(F.col("run") == look.run).take(1))
    else:
        newest = seen.agg(F.max_by("run", "at").alias("run")).collect()[0]["run"]
        there, look = newest is not None, replace(look, run=newest or look.run)
    if not there:
        what = f"Run {look.run} is not among what is kept" if look.is_named else "No look at these targets is kept"
        raise CannotContinue(
            Diagnostic(
                severity=Severity.ERROR, code="FL111", name="no-run", message=f"{what}.",
                fix="Take one with `reconciler fleet drift`, or name with --store where others are kept.",
            )
        )  # fmt: skip
    return look


def _past(look: Look) -> dict[str, Any]:
    drifted = look.store.read("drift")
    episodes = look.whole("drift_history", drift_history(drifted, look.store.read("drift_history")))
    return {
        "trend": collected(trend(drifted, episodes).orderBy("at", "run")),
        "by_target": _by_target(drifted),
        "history": collected(episodes.orderBy(F.col("closed").isNotNull(), "opened", "target", "address", "path")),
        "repairs": collected(look.whole("repairs", repairs(episodes))),
    }


def _by_target(drifted: DataFrame) -> dict[str, dict[str, int | None]]:
    """Drifted objects by run and target; None where it could not be read."""
    found: dict[str, dict[str, int | None]] = {}
    for row in summary.objects(drifted).limit(MOST).collect():
        run, standing = found.setdefault(row["run"], {}), row["standing"]
        if standing == "unreachable":
            run[row["target"]] = None
        else:
            known = run.setdefault(row["target"], 0)
            is_drift = standing not in ("compared", "unknown")
            run[row["target"]] = None if known is None else known + (row["objects"] if is_drift else 0)
    return found


def _outliers(look: Look, by: Sequence[str] = ()) -> dict[str, Any]:
    rows = collected(look.kept("outliers", outliers(look.of_run("snapshots"), by=by)))
    return {"outliers": rows, "infos": told.infos(rows)}


def _capacity(look: Look) -> Rows:
    seen = look.store.read("snapshots")
    rows = capacity(seen).withColumns({"run": F.lit(look.run), "day": F.lit(look.day)})
    return collected(look.kept("capacity", rows).orderBy(F.col("days").asc_nulls_last()))
