"""How keys would spread over partitions and members: which candidate is even, which is not, and what moves between
memberships."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.fleet.formats.elements import Bars, Cell, Grid, Piece, Prose, ReportPart, Tone, cells
from reconciler.fleet.report.findings import Row
from reconciler.report.words.values import counted

_PLACES, _CANDIDATES, _PICTURES, _MEMBERS, _MOVES = 8, 40, 4, 40, 30
_EVEN, _UNEVEN = 1.25, 2.0
"""The fullest by the mean: up to the first nobody complains; from the second on one partition does the work of two."""


def skew_parts(skew: Sequence[Row], falls: Sequence[Row], moves: Sequence[Row]) -> Iterator[ReportPart]:
    """Return a part for each stream on each target."""
    found = {(one["target"], one["stream"]) for one in skew}
    places = sorted(found, key=lambda place: (place[0], place[1] or ""))  # no stream: the target could not be read
    for target, stream in places[:_PLACES]:
        own = [
            [one for one in rows if (one["target"], one["stream"]) == (target, stream)] for rows in (skew, falls, moves)
        ]
        yield _place(target, stream, *own)
    if len(places) > _PLACES:
        failed = {(one["target"], one["stream"]) for one in skew if one.get("error")} & {*places[_PLACES:]}
        unread = f", {len(failed):_} of them not read completely" if failed else ""
        more = f"{counted(len(places) - _PLACES, 'more stream')}{unread}; the table `skew` has them all."
        yield ReportPart(title="More streams", pieces=(Prose(lines=(more,)),))


def _place(
    target: str, stream: str | None, skew: Sequence[Row], falls: Sequence[Row], moves: Sequence[Row]
) -> ReportPart:
    title = f"How keys spread: {stream or 'subjects'} on {target}"
    errors = tuple(dict.fromkeys(str(one["error"]) for one in skew if one.get("error")))
    skew = [one for one in skew if one.get("choice")]
    partitions = sorted((one for one in skew if one.get("membership") is None), key=_evenness)
    by_subject = [one for one in partitions if one["of"] == "subjects"]
    if not by_subject:
        said = Prose(lines=errors, tone="bad") if errors else Prose(lines=("It has no subjects.",))
        return ReportPart(title=title, pieces=(said,))
    messages = {_key(one): one for one in partitions if one["of"] == "messages"}
    among = sorted(
        (one for one in skew if one.get("membership") is not None and one["of"] == "subjects"), key=_evenness
    )
    pieces = (
        _caveat(errors),
        _ranking(by_subject, messages),
        *_pictures(by_subject, falls),
        _members(among),
        _moved([one for one in moves if one.get("choice")]),
    )
    return ReportPart(title=title, lead=_lead(by_subject), pieces=tuple(one for one in pieces if one))


def _caveat(errors: tuple[str, ...]) -> Prose | None:
    said = "This counts only the subjects that were read before the others could not be:"
    return Prose(lines=(said, *errors), tone="bad") if errors else None


def _key(one: Row) -> tuple[object, ...]:
    return (one["choice"], one["partitions"])


def _evenness(one: Row) -> tuple[object, ...]:
    """A candidate that leaves subjects out does not count, however even the rest is."""
    return (
        bool(one.get("missed")),
        one.get("ratio") is None,
        one.get("ratio") or 0.0,
        one["choice"],
        one["partitions"],
    )


def _lead(order: Sequence[Row]) -> str:
    best, worst = order[0], order[-1]
    said = f"{counted(best['total'], 'subject')}; {counted(len(order), 'candidate')}, the most even first."
    return f"{said} `{best['choice']}` on {counted(best['partitions'], 'partition')}: {_ratio(best)}; the least even: {_ratio(worst)}."


def _ratio(one: Row) -> str:
    return f"the fullest has {one['ratio']:.2f} times the mean" if one.get("ratio") else "no partition has anything"


def _ranking(order: Sequence[Row], messages: dict[tuple[object, ...], Row]) -> Grid:
    rows = tuple(_candidate(one, messages.get(_key(one))) for one in order[:_CANDIDATES])
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


def _candidate(one: Row, messages: Row | None) -> tuple[Cell, ...]:
    empty, missed = one.get("empty") or 0, one.get("missed") or 0
    return cells(
        Cell(text=one["choice"], is_code=True), f"{one['partitions']:_}", _times(one, "largest"), _times(one, "p99", plain=True),
        _times(messages, "largest", plain=True), Cell(text=f"{empty:_}" if empty else "·", tone="warn" if empty else "quiet"),
        Cell(text=f"{missed:_}" if missed else "·", tone="bad" if missed else "quiet"),
        Cell(text=f"nats-server {one['since']}" if one.get("since") else "", tone="quiet"),
    )  # fmt: skip


def _times(one: Row | None, what: str, *, plain: bool = False) -> Cell:
    """`1.08`, with a bar that is full where one does the work of three."""
    if one is None or not one.get("mean") or one.get(what) is None:
        return Cell(text="–", tone="quiet")
    ratio = one[what] / one["mean"]
    tone: Tone = "good" if ratio <= _EVEN else "warn" if ratio < _UNEVEN else "bad"
    return Cell(text=f"{ratio:.2f}") if plain else Cell(text=f"{ratio:.2f}", tone=tone, share=min(1.0, (ratio - 1) / 2))


def _pictures(order: Sequence[Row], falls: Sequence[Row]) -> Iterator[Piece]:
    """The best of each choice of wildcards, and last the worst of all."""
    chosen: dict[object, Row] = {}
    for one in order:
        chosen.setdefault(one["choice"], one)
    shown = [*chosen.values()][:_PICTURES]
    if order[-1] not in shown:
        shown = [*shown[: _PICTURES - 1], order[-1]]
    most = max((int(one["largest"] or 0) for one in shown), default=0)
    for one in shown:
        mine = sorted(
            (row for row in falls if _key(row) == _key(one) and row.get("partition") is not None),
            key=lambda row: int(row["partition"]),
        )
        if mine:
            yield Bars(
                title=f"`{one['choice']}` on {counted(one['partitions'], 'partition')}", what="subjects", most=most,
                labels=tuple(str(row["partition"]) for row in mine), values=tuple(int(row["subjects"]) for row in mine),
            )  # fmt: skip


def _members(among: Sequence[Row]) -> Grid | None:
    if not among:
        return None
    rows = tuple(
        cells(
            Cell(text=one["choice"], is_code=True), f"{one['partitions']:_}", one["membership"], _times(one, "largest"),
            one.get("where") or "–", f"{one.get('unowned') or 0:_}",
        )
        for one in among[:_MEMBERS]
    )  # fmt: skip
    head = ("deciding wildcards", "partitions", "members", "busiest / mean", "busiest member", "unowned")
    return Grid(head=head, rows=rows, right=frozenset({1, 2, 3, 5}), left_out=max(0, len(among) - _MEMBERS))


def _moved(moves: Sequence[Row]) -> Grid | None:
    if not moves:
        return None
    order = sorted(
        moves, key=lambda one: (one["before"], one["after"], one["share"] or 0.0, one["choice"], one["partitions"])
    )
    rows = tuple(
        cells(
            f"{one['before']} → {one['after']}", Cell(text=one["choice"], is_code=True), f"{one['partitions']:_}",
            "with mappings" if one["manner"] == "fewest" else "as a list", f"{one['partitions_moved']:_}",
            Cell(text=f"{one['share'] or 0.0:.0%}", share=one["share"] or 0.0), f"{one['subjects_moved']:_}",
        )
        for one in order[:_MOVES]
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
