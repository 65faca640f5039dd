"""The partitions of a group on a page: the owner of each before and after a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.model.resource import Json
from reconciler.report.document.partitions import SAME, columns_of, partition_lines
from reconciler.report.html.markup import Markup, element, escaped
from reconciler.report.words.paper import Paper

_WIDE = 160
"""More partitions than this are not drawn as columns."""
_PER_ROW = 16


def partition_tables(drawn: Mapping[str, Json]) -> Markup:
    """Show the owner of each partition before and after, with a colour and a name for each member."""
    columns = columns_of(drawn)
    if len(columns) > _WIDE:
        lines = partition_lines(drawn, Paper(width=100), 0)
        return element("pre", Markup("\n".join(map(escaped, lines))))
    members = list(dict.fromkeys(name for column in columns for name in (column.now, column.then)))
    tables = [_partition_rows(columns[start : start + _PER_ROW], members) for start in range(0, len(columns), _PER_ROW)]
    return element("div", *tables, class_="wide")


def _partition_rows(columns: Sequence[object], members: Sequence[str]) -> Markup:
    labels = ("partition", "now", "then", "queued")
    rows = []
    for label in labels:
        cells = [_cell(getattr(column, label), column, label, members) for column in columns]
        if any(cells):
            rows.append(element("tr", element("th", label, scope="row"), *cells))
    return element("table", *rows, class_="map")


def _cell(text: str, column: object, label: str, members: Sequence[str]) -> Markup:
    moved = getattr(column, "now", "") != getattr(column, "then", "")
    name = "th" if label == "partition" else "td"
    if label == "then" and not moved:
        return element(name, SAME, class_="same")
    style = f"m{members.index(text) % 8}" if label in ("now", "then") else ""
    return element(name, text, class_=" ".join(filter(None, (style, "moved" if moved else ""))) or None)
