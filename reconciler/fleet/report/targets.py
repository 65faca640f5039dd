"""All targets in a table: what each holds, how many objects drifted there, and which could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from reconciler.fleet.report.drift import few_names
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.report.document.pieces import Cell, Grid, Prose, ReportPart
from reconciler.report.words.values import show_seconds

MOST = 1_000
_SAID = 50


def targets_part(
    targets: Sequence[SeenTarget], drifted: Mapping[str, int] | None = None, uncompared: Collection[str] = ()
) -> ReportPart:
    """Return the table. `drifted` has objects by target, where drift was looked for; `uncompared` names the targets of
    which nobody knows it. Targets in trouble are first."""
    counts: dict[str, int | None] = {**(drifted or {}), **dict.fromkeys(uncompared)}
    order = sorted(
        targets,
        key=lambda target: (not target.error, not target.unknown, -(counts.get(target.name, 0) or 0), target.name),
    )
    most = max((target.bytes or 0 for target in targets), default=0)
    labels = _common_labels(targets)
    head = ("target", *labels, "server", "streams", "consumers", "messages", "stored")
    head += (("drifted",) if drifted is not None else ()) + ("read in",)
    rows = tuple(
        _target_row(target, labels, () if drifted is None else (_drifted_cell(counts.get(target.name, 0)),), most)
        for target in order[:MOST]
    )
    right = frozenset(range(2 + len(labels), len(head)))
    grid = Grid(head=head, rows=rows, right=right, left_out=max(0, len(order) - MOST))
    errors = [(target.name, target.error) for target in order if target.error]
    silent = tuple(sentences_with_reasons(errors, ("was not read", "were not read"), _SAID))
    return ReportPart(title="Targets", pieces=(grid, Prose(lines=silent)) if silent else (grid,))


def sentences_with_reasons(reasons: Iterable[tuple[str, str]], verbs: tuple[str, str], most: int) -> Iterator[str]:
    """Yield `x1` and what happened to it with the reason, such as `x1, x2 and 3 more were not read: …`: equal reasons
    once. Of more reasons than `most`, the last sentence counts the targets. `verbs` are for one target and for several."""
    targets: dict[str, list[str]] = {}
    for target, reason in reasons:
        targets.setdefault(reason, []).append(target)
    for reason, names in [*targets.items()][:most]:
        yield f"{quoted_names_text(names)} {verbs[len(names) > 1]}: {reason}"
    if more := sum(map(len, [*targets.values()][most:])):
        yield f"{more:_} more {verbs[more > 1]}."


def quoted_names_text(names: Sequence[str]) -> str:
    """Return the first three names as code, and how many more there are."""
    return few_names([f"`{name}`" for name in names])


def _common_labels(targets: Sequence[SeenTarget]) -> tuple[str, ...]:
    """The labels that most targets have, three at most."""
    counts = Counter(name for target in targets for name in target.labels)
    common = [name for name, count in counts.most_common() if count * 2 >= len(targets)]
    return tuple(sorted(common)[:3])


def _target_row(target: SeenTarget, labels: Sequence[str], drifted: tuple[Cell, ...], most: int) -> tuple[Cell, ...]:
    named = [Cell(text=target.name), *(Cell(text=target.labels.get(name, "")) for name in labels)]
    if target.error:
        count = len(_COUNTED) + len(drifted)
        return (*named, Cell(text="not read", tone="odd"), *([Cell(text="")] * count), _time_cell(target))
    counts = [Cell(text=f"{getattr(target, name):_}") for name in _COUNTED[:-1]]
    held = target.bytes or 0
    stored = Cell(text=show_size(held), share=held / most if most else None)
    unread = f"{target.version}, {target.unknown:_} unknown" if target.unknown else target.version
    return (
        *named,
        Cell(text=unread, tone="odd" if target.unknown else ""),
        *counts,
        stored,
        *drifted,
        _time_cell(target),
    )


def _drifted_cell(number: int | None) -> Cell:
    if number is None:
        return Cell(text="?", tone="odd")
    return Cell(text=f"{number:_}" if number else "·", tone="bad" if number else "quiet")


_COUNTED = ("streams", "consumers", "messages", "bytes")


def _time_cell(target: SeenTarget) -> Cell:
    return Cell(text=show_seconds(target.seconds) if target.seconds is not None else "", tone="quiet")


def show_size(size: float) -> str:
    """Return three figures and a unit: these are sums to compare, not settings to copy."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
