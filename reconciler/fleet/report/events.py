"""What servers reported about themselves: pins that change hands, slow acknowledgements, and who changed what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reconciler.fleet.report.drift import show_span, show_time
from reconciler.fleet.report.findings import Row
from reconciler.report.document.pieces import Cell, Grid, Piece, Prose, ReportPart, cells
from reconciler.report.words.values import counted

_MOST, _LATEST = 40, 25


def pins_part(pins: Sequence[Row]) -> ReportPart:
    """Return a row per group with pinned clients, the flapping ones first; a sentence where no group reported
    anything."""
    title = "Pinned clients"
    if not pins:
        return ReportPart(
            title=title, pieces=(Prose(lines=("No consumer group with pinned clients reported anything.",)),)
        )
    order = sorted(pins, key=lambda pin: (not pin["flapping"], -(pin["switches"] or 0), pin["target"], pin["stream"]))
    rows = tuple(map(_pin_row, order[:_MOST]))
    head = ("target", "consumer", "group", "switches", "by an admin", "by timeout", "no client pinned", "longest", "")
    flapping = sum(bool(pin["flapping"]) for pin in pins)
    lead = (
        f"{counted(flapping, 'group')} flapping: the pin changes hands within minutes."
        if flapping
        else "None of them flaps."
    )
    return ReportPart(title=title, lead=lead, pieces=(_table(head, rows, {3, 4, 5, 6, 7}, len(order)),))


def _pin_row(pin: Row) -> tuple[Cell, ...]:
    return cells(
        pin["target"], Cell(text=f"{pin['stream']}/{pin['consumer']}", is_code=True), pin["group"] or "",
        f"{pin['switches'] or 0:_}", f"{pin['by_admin'] or 0:_}", f"{pin['by_timeout'] or 0:_}",
        show_span(pin["unpinned_seconds"] or 0.0), show_span(pin["longest_unpinned_seconds"] or 0.0),
        Cell(text="flapping" if pin["flapping"] else "", tone="bad"),
    )  # fmt: skip


def acks_part(acks: Sequence[Row]) -> ReportPart:
    """Return one row per consumer: the last day in figures, the days as a line."""
    title = "Acknowledgements"
    if not acks:
        return ReportPart(
            title=title, pieces=(Prose(lines=("No samples: `sample_freq` of a consumer turns them on.",)),)
        )
    consumers: dict[tuple[str, ...], list[Row]] = {}
    for sample in sorted(acks, key=lambda row: str(row["day"])):
        consumers.setdefault((sample["target"], sample["stream"], sample["consumer"]), []).append(sample)
    order = sorted(consumers.values(), key=lambda days: -(days[-1]["p99_seconds"] or 0.0))
    slowest = max((days[-1]["p99_seconds"] or 0.0 for days in order), default=0.0)
    rows = tuple(_acks_row(days, slowest) for days in order[:_MOST])
    head = (
        "target",
        "consumer",
        "day",
        "samples",
        "half within",
        "99 % within",
        "days",
        "redelivered",
        "naks",
        "given up",
    )
    return ReportPart(
        title=title, lead="The slowest first.", pieces=(_table(head, rows, {3, 4, 5, 6, 7, 8, 9}, len(order)),)
    )


def _acks_row(days: Sequence[Row], slowest: float) -> tuple[Cell, ...]:
    last, late = days[-1], days[-1]["p99_seconds"] or 0.0
    samples, redelivered, given_up = last["samples"] or 0, last["redelivered"] or 0, last["given_up"] or 0
    return cells(
        last["target"], Cell(text=f"{last['stream']}/{last['consumer']}", is_code=True), str(last["day"]), f"{samples:_}",
        show_latency(last["median_seconds"]), Cell(text=show_latency(late), share=late / slowest if slowest else 0.0),
        Cell(text=f"{len(days):_}", trend=tuple(day["p99_seconds"] or 0.0 for day in days)),
        Cell(text=f"{redelivered / samples:.0%}" if samples else "–", tone="warn" if samples and redelivered * 20 > samples else ""),
        f"{last['naks'] or 0:_}", Cell(text=f"{given_up:_}", tone="bad" if given_up else ""),
    )  # fmt: skip


def show_latency(seconds: float | None) -> str:
    """Return `20 ms`, `3.5 s`, and from two minutes on as `show_span`; `–` where it is unknown."""
    if seconds is None:
        return "–"
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s" if seconds < 120 else show_span(seconds)


def actors_part(actors: Sequence[Row]) -> ReportPart:
    """Return changes by person, then the latest ones; where no change was reported, say what to capture."""
    title = "Who changed what"
    if not actors:
        lead = "No change was reported: a stream has to capture `$JS.EVENT.ADVISORY.API`, as examples/audit.yaml does."
        return ReportPart(title=title, pieces=(Prose(lines=(lead,)),))
    people: dict[str, list[Row]] = {}
    for act in actors:
        people.setdefault(_person_text(act), []).append(act)
    by_person = tuple(_person_row(name, rows) for name, rows in sorted(people.items(), key=lambda item: -len(item[1])))
    latest = sorted(actors, key=lambda act: str(act["at"]), reverse=True)
    listed = tuple(map(_act_row, latest[:_LATEST]))
    summed = _table(("who", "changes", "what", "targets", "last"), by_person[:_MOST], {1}, len(by_person))
    each = _table(("at", "target", "who", "did", "address", "fields"), listed, set(), len(latest))
    lead = f"{counted(len(actors), 'change')} by {len(people):_} of them; the latest below."
    return ReportPart(title=title, lead=lead, pieces=(summed, each))


def _person_text(act: Row) -> str:
    if not any(act.get(name) for name in ("client", "user", "host")):
        return "the server itself"
    who = act.get("client") or "a client without a name"
    inside = ", ".join(filter(None, (f"user {act['user']}" if act.get("user") else "", act.get("host") or "")))
    return f"{who} ({inside})" if inside else str(who)


def _person_row(name: str, rows: Sequence[Row]) -> tuple[Cell, ...]:
    deeds = Counter(f"{row['deed']} {row.get('kind') or ''}".strip() for row in rows)
    deeds_in_words = ", ".join(f"{count:_} × {deed}" for deed, count in deeds.most_common(4))
    targets = sorted({row["target"] for row in rows})
    where = ", ".join(targets[:3]) + (f" and {len(targets) - 3} more" if len(targets) > 3 else "")
    return cells(
        name,
        f"{len(rows):_}",
        deeds_in_words,
        where,
        show_time(max((row["at"] for row in rows if row["at"]), default=None)),
    )


def _act_row(act: Row) -> tuple[Cell, ...]:
    changed = act.get("changed")
    paths = "?" if changed is None and act["deed"] == "update" else " ".join((changed or ())[:6])
    address = Cell(text=act.get("address") or "", is_code=True)
    return cells(
        show_time(act["at"]), act["target"], _person_text(act), act["deed"], address, Cell(text=paths, is_code=True)
    )


def _table(head: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...], right: set[int], count: int) -> Piece:
    return Grid(head=head, rows=rows, right=frozenset(right), left_out=max(0, count - len(rows)))
