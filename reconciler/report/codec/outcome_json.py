"""The outcome of an apply as JSON for tools: every step under one heading, and each deviation from the plan with its
three values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.changes.events import Failed, Finished, InDoubt, Skipped, Strayed
from reconciler.model.wire.steps import Step
from reconciler.report.codec.json import diagnostic_data, json_text

FORMAT = 1


def outcome_json(finished: Finished, **said: Any) -> str:
    """Return the outcome by `apply.schema.json`; `said` is what `outcome_data` takes."""
    return json_text(outcome_data(finished, **said))


def outcome_data(
    finished: Finished,
    *,
    topology: str,
    exit_code: int,
    as_wanted: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the outcome as data. `as_wanted` are addresses for which a saved plan had nothing left to do."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "topology": topology,
        "exit_code": exit_code,
        "as_wanted": list(as_wanted),
        "done": [_step(one.step) for one in finished.done],
        "failed": [_failed(one) for one in finished.failed],
        "in_doubt": [_doubt(one) for one in finished.in_doubt],
        "skipped": [_skipped(one) for one in finished.skipped],
        "not_started": [_step(one.step) for one in finished.not_started],
        "warnings": [diagnostic_data(one) for one in (*finished.left_alone, *finished.warnings)],
    }
    return data if finished.stopped is None else {**data, "stopped": finished.stopped}


def _step(step: Step) -> dict[str, Any]:
    return {"id": step.id, "address": step.address, "call": step.call.value, "on": list(step.on)}


def _failed(failed: Failed) -> dict[str, Any]:
    strayed = [_strayed(one) for one in failed.strayed]
    said = {**_step(failed.step), "reason": diagnostic_data(failed.reason), "nothing_done": failed.nothing_done}
    return {**said, "strayed": strayed} if strayed else said


def _doubt(doubt: InDoubt) -> dict[str, Any]:
    return {**_step(doubt.step), "reason": diagnostic_data(doubt.reason)}


def _skipped(skipped: Skipped) -> dict[str, Any]:
    return {**_step(skipped.step), "because": skipped.because}


def _strayed(one: Strayed) -> Mapping[str, Any]:
    """An absent value is a missing key, as in plans."""
    values = {"planned": one.planned, "now": one.now, "wanted": one.wanted}
    return {"path": one.path, **{name: value for name, value in values.items() if value is not None}}
