"""How keys would spread over partitions and members: which candidate is even, which is not, and what moves between
memberships."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.fleet.report.findings import Row
from reconciler.report.document.pieces import BarChart, Cell, Grid, Piece, Prose, ReportPart, Tone, cells
from reconciler.report.words.values import counted

_PLACES, _CANDIDATES, _PICTURES, _MEMBERS, _MOVES = 8, 40, 4, 40, 30
_EVEN, _UNEVEN = 1.25, 2.0
"""The fullest by the mean: up to the first nobody complains; from the second on one partition does the work of two."""


def skew_parts(skew: Sequence[Row], falls: Sequence[Row], moves: Sequence[Row]) -> Iterator[ReportPart]:
    """Return a part for each stream on each target."""
    pairs = {(row["target"], row["stream"]) for row in skew}
    streams = sorted(pairs, key=lambda pair: (pair[0], pair[1] or ""))  # no stream: the target could not be read
    for target, stream in streams[:_PLACES]:
        own = [
            [row for row in rows if (row["target"], row["stream"]) == (target, stream)] for rows in (skew, falls, moves)
        ]
        yield _stream_part(target, stream, *own)
    if len(streams) > _PLACES:
        failed = {(row["target"], row["stream"]) for row in skew if row.get("error")} & {*streams[_PLACES:]}
        unread = f", {len(failed):_} of them not read completely" if failed else ""
        more = f"{counted(len(streams) - _PLACES, 'more stream')}{unread}; the table `skew` has them all."
        yield ReportPart(title="More streams", pieces=(Prose(lines=(more,)),))


def _stream_part(
    target: str, stream: str | None, skew: Sequence[Row], falls: Sequence[Row], moves: Sequence[Row]
) -> ReportPart:
    title = f"How keys spread: {stream or 'subjects'} on {target}"
    errors = tuple(dict.fromkeys(str(row["error"]) for row in skew if row.get("error")))
    skew = [row for row in skew if row.get("choice")]
    partitions = sorted((row for row in skew if row.get("membership") is None), key=_evenness_key)
    by_subject = [row for row in partitions if row["of"] == "subjects"]
    if not by_subject:
        reason = Prose(lines=errors, tone="bad") if errors else Prose(lines=("It has no subjects.",))
        return ReportPart(title=title, pieces=(reason,))
    messages = {_candidate_key(row): row for row in partitions if row["of"] == "messages"}
    among = sorted(
        (row for row in skew if row.get("membership") is not None and row["of"] == "subjects"), key=_evenness_key
    )
    pieces = (
        _caveat(errors),
        _ranking_grid(by_subject, messages),
        *_charts(by_subject, falls),
        _members_grid(among),
        _moves_grid([row for row in moves if row.get("choice")]),
    )
    return ReportPart(title=title, lead=_lead_text(by_subject), pieces=tuple(row for row in pieces if row))


def _caveat(errors: tuple[str, ...]) -> Prose | None:
    sentence = "This counts only the subjects that were read before the others could not be:"
    return Prose(lines=(sentence, *errors), tone="bad") if errors else None


def _candidate_key(row: Row) -> tuple[object, ...]:
    return (row["choice"], row["partitions"])


def _evenness_key(candidate: Row) -> tuple[object, ...]:
    """A candidate that leaves subjects out comes last, however even the rest is."""
    return (
        bool(candidate.get("missed")),
        candidate.get("ratio") is None,
        candidate.get("ratio") or 0.0,
        candidate["choice"],
        candidate["partitions"],
    )


def _lead_text(order: Sequence[Row]) -> str:
    best, worst = order[0], ([row for row in order if not row.get("missed")] or order)[-1]
    sentence = f"{counted(best['total'], 'subject')}; {counted(len(order), 'candidate')}, the most even first."
    on_partitions = f"`{best['choice']}` on {counted(best['partitions'], 'partition')}"
    return f"{sentence} {on_partitions}: {_ratio_text(best)}; the least even: {_ratio_text(worst)}."


def _ratio_text(row: Row) -> str:
    return f"the fullest has {row['ratio']:.2f} times the mean" if row.get("ratio") else "no partition has anything"


def _ranking_grid(order: Sequence[Row], messages: dict[tuple[object, ...], Row]) -> Grid:
    rows = tuple(
        _candidate_row(candidate, messages.get(_candidate_key(candidate))) for candidate in order[:_CANDIDATES]
    )
    head = (
        "deciding wildcards",
        "partitions",
        "fullest / mean",
        "p99 / mean",
        "by messages",
        "empty",
        "not matched",
        "needs",
    )
    return Grid(head=head, rows=rows, right=frozenset(range(1, 7)), left_out=max(0, len(order) - _CANDIDATES))


def _candidate_row(candidate: Row, messages: Row | None) -> tuple[Cell, ...]:
    empty, missed = candidate.get("empty") or 0, candidate.get("missed") or 0
    return cells(
        Cell(text=candidate["choice"], is_code=True), f"{candidate['partitions']:_}",
        _ratio_cell(candidate, "largest"), _ratio_cell(candidate, "p99", plain=True),
        _ratio_cell(messages, "largest", plain=True), Cell(text=f"{empty:_}" if empty else "·", tone="warn" if empty else "quiet"),
        Cell(text=f"{missed:_}" if missed else "·", tone="bad" if missed else "quiet"),
        Cell(text=f"nats-server {candidate['since']}" if candidate.get("since") else "", tone="quiet"),
    )  # fmt: skip


def _ratio_cell(candidate: Row | None, column: str, *, plain: bool = False) -> Cell:
    """`1.08`, with a bar that is full where one does the work of three."""
    if candidate is None or not candidate.get("mean") or candidate.get(column) is None:
        return Cell(text="–", tone="quiet")
    ratio = candidate[column] / candidate["mean"]
    tone: Tone = "good" if ratio <= _EVEN else "warn" if ratio < _UNEVEN else "bad"
    return Cell(text=f"{ratio:.2f}") if plain else Cell(text=f"{ratio:.2f}", tone=tone, share=min(1.0, (ratio - 1) / 2))


def _charts(order: Sequence[Row], falls: Sequence[Row]) -> Iterator[Piece]:
    """The best of each choice of wildcards, and last the worst of all."""
    chosen: dict[object, Row] = {}
    for candidate in order:
        chosen.setdefault(candidate["choice"], candidate)
    shown = [*chosen.values()][:_PICTURES]
    if order[-1] not in shown:
        shown = [*shown[: _PICTURES - 1], order[-1]]
    most = max((int(candidate["largest"] or 0) for candidate in shown), default=0)
    for candidate in shown:
        mine = sorted(
            (
                row
                for row in falls
                if _candidate_key(row) == _candidate_key(candidate) and row.get("partition") is not None
            ),
            key=lambda row: int(row["partition"]),
        )
        if mine:
            yield BarChart(
                title=f"`{candidate['choice']}` on {counted(candidate['partitions'], 'partition')}", what="subjects", most=most,
                labels=tuple(str(row["partition"]) for row in mine), values=tuple(int(row["subjects"]) for row in mine),
            )  # fmt: skip


def _members_grid(among: Sequence[Row]) -> Grid | None:
    if not among:
        return None
    rows = tuple(
        cells(
            Cell(text=row["choice"], is_code=True), f"{row['partitions']:_}", row["membership"], _ratio_cell(row, "largest"),
            row.get("where") or "–", f"{row.get('unowned') or 0:_}",
        )
        for row in among[:_MEMBERS]
    )  # fmt: skip
    head = ("deciding wildcards", "partitions", "members", "busiest / mean", "busiest member", "unowned")
    return Grid(head=head, rows=rows, right=frozenset({1, 2, 3, 5}), left_out=max(0, len(among) - _MEMBERS))


def _moves_grid(moves: Sequence[Row]) -> Grid | None:
    if not moves:
        return None
    order = sorted(
        moves,
        key=lambda move: (move["before"], move["after"], move["share"] or 0.0, move["choice"], move["partitions"]),
    )
    rows = tuple(
        cells(
            f"{move['before']} → {move['after']}", Cell(text=move["choice"], is_code=True), f"{move['partitions']:_}",
            "with mappings" if move["manner"] == "fewest" else "as a list", f"{move['partitions_moved']:_}",
            Cell(text=f"{move['share'] or 0.0:.0%}", share=move["share"] or 0.0), f"{move['subjects_moved']:_}",
        )
        for move in order[:_MOVES]
    )  # fmt: skip
    head = (
        "members",
        "deciding wildcards",
        "partitions",
        "members are given",
        "partitions that move",
        "of all subjects",
        "subjects",
    )
    return Grid(head=head, rows=rows, right=frozenset({2, 4, 5, 6}), left_out=max(0, len(order) - _MOVES))
