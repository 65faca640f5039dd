"""What clients feel of a change, in a comment: tables of limited size, then what was not shown and not tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.rehearsal import Foresight, Probe
from reconciler.report.document.probe import (
    HEAD,
    MOST,
    ProbeRow,
    caveat,
    consent_note,
    probe_rows,
    probe_sums_line,
    probe_verdict_sentence,
    unaffected_objects,
    unshown_and_unplayed,
)
from reconciler.report.markdown.gfm import code, folded, page_link, prose

ROWS = 25
"""The most rows of one piece, which is shown whole or not at all."""


def client_pieces(probe: Probe) -> Iterator[tuple[str, int]]:
    """Return the pieces, each with the number of differences in it."""
    yield f"**{prose(probe_verdict_sentence(probe))}**", 1
    differing = probe_rows(probe)
    if differing:
        yield f"{prose(probe_sums_line(probe))}.", 1
    for start in range(0, len(differing), ROWS):
        part = differing[start : start + ROWS]
        yield "\n".join(_probe_table(part)), len(part)
    if differing and (quiet := unaffected_objects(probe)):
        yield f"Nothing differs on {', '.join(map(code, quiet[:MOST]))}{_more_text(quiet)}.", 1
    if probe.consented:
        yield prose(consent_note(probe)), 1
    for title, number, pairs in unshown_and_unplayed(probe):
        yield "\n".join(folded(f"{title}: {number:_}", list(map(_pair_item, pairs)))), len(pairs)
    if probe.objects:
        yield prose(caveat(probe)), 1


def _probe_table(differing: Sequence[ProbeRow]) -> list[str]:
    return [f"| {' | '.join(HEAD)} |", "|---|---|---|---|---|", *map(_probe_row, differing)]


def _probe_row(row: ProbeRow) -> str:
    plain = " ".join(map(page_link, row.codes)) or prose(row.foretold)
    foretold = f"**{row.foretold}**" if row.foresight is Foresight.UNFORETOLD else plain
    cells = (code(row.address), code(row.operation), code(row.before), code(row.after))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} | {foretold} |"


def _pair_item(pair: tuple[str, str]) -> str:
    name, why = pair
    return f"- {code(name)}: {prose(why)}" if why else f"- {prose(name)}"


def _more_text(names: Sequence[str]) -> str:
    return f" and {len(names) - MOST:_} more" if len(names) > MOST else ""
