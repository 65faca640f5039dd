"""Reports what `drift --accept` wrote into the files, and what is left."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.journeys.drift.codec import drift_json
from reconciler.journeys.drift.drift import Drift, Written
from reconciler.journeys.drift.text import drift_text
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted, show_live, show_wanted
from reconciler.report.words.visible import visible


def accepted_text(written: Sequence[Written], left: Drift, paper: Paper, *, arguments: str) -> str:
    """Return a line for each field that was written, then the report of the drift that is left."""
    lines = [_line(one) for one in written]
    if written:
        files = {one.span.file for one in written if one.span}
        lines += ["", f"{counted(len(written), 'field')} written into {counted(len(files), 'file')}. Left now:", ""]
    return "\n".join([*lines, drift_text(left, paper, arguments=arguments)])


def _line(one: Written) -> str:
    """As the file had it → as it is now."""
    place, change = f"{visible(str(one.span))}  " if one.span else "", one.field.change
    return f"{place}{visible(one.address)}  {visible(one.field.path)}  {show_wanted(change)} → {show_live(change)}"


def accepted_json(written: Sequence[Written], left: Drift) -> str:
    """Return the drift that is left, and what was written, as JSON."""
    return drift_json(left, tuple(written))
