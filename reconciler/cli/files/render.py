"""`reconciler render`: prints the files of an environment with all values in place, or what differs between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.screen import doing, emit, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.documents.read.load import Loaded
from reconciler.documents.write.render import rendered_file
from reconciler.journeys.plan.files import load, topology_of
from reconciler.report.words.diagnostics import report as problems

app = common.new_app()


@app.command()
@takes(values)
def render(
    paths: common.AnyPaths,
    values: Values,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="ONE OTHER", help="Show what differs between two environments."),
    ] = None,
) -> int:
    """Print what the files say for an environment: one file, with a comment where each value is from."""
    if diff is None:
        loaded = _load_files(paths, values)
        emit(rendered_file(loaded.tops, loaded.origins))
        return exits.FINE
    if values.environment is not None:
        raise common.Misused("--diff names the environments itself; leave out --environment.")
    texts = [rendered_file(_load_files(paths, replace(values, environment=left)).tops, None) for left in diff]
    left, right = (text.splitlines(keepends=True) for text in texts)
    lines = unified_diff(left, right, *diff)
    emit("".join(lines) or f"{diff[0]} and {diff[1]} say the same.\n")
    return exits.FINE


def _load_files(paths: Sequence[Path], values: Values) -> Loaded:
    with doing("reading files …"):
        loaded = load(paths, values.tree())
        topology_of(loaded)
    tell(problems(loaded.diagnostics))
    return loaded
