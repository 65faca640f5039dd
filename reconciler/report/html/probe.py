"""What clients feel of a change, on a page: a table, and below it what stayed the same, was not shown, or was not
tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reconciler.changes.rehearsal import Foresight, Probe
from reconciler.report.document.probe import (
    HEAD,
    TITLE,
    ProbeRow,
    caveat,
    consent_note,
    probe_rows,
    probe_sums_line,
    probe_verdict_sentence,
    unaffected_objects,
    unshown_and_unplayed,
)
from reconciler.report.html.markup import Markup, element, page_link

STYLES = {Foresight.UNFORETOLD: "blocks", Foresight.HARMLESS: "quiet"}


def clients_section(probe: Probe) -> Markup:
    """Render the section about clients: the differences and, folded away, what follows from them and what was not shown
    or tried."""
    differing, following = probe_rows(probe), probe_rows(probe, Foresight.FOLLOWS)
    quiet = unaffected_objects(probe)
    return element(
        "section",
        element("h2", TITLE),
        element("p", probe_verdict_sentence(probe), class_="verdict blocks" if probe.unforetold_differences else "totals"),
        element("p", f"{probe_sums_line(probe)}.") if differing else None,
        _probe_table(differing) if differing else None,
        _folded(f"Follows from these: {differences(following):_}", _probe_table(following)) if following else None,
        element("p", "Nothing differs on ", *_code_elements(quiet), ".", class_="names") if differing and quiet else None,
        element("p", consent_note(probe)) if probe.consented else None,
        *(_folded_list(f"{title}: {number:_}", pairs) for title, number, pairs in unshown_and_unplayed(probe)),
        element("p", caveat(probe), class_="quiet") if probe.objects else None,
        id="clients",
    )  # fmt: skip


def differences(differing: Sequence[ProbeRow]) -> int:
    """Count the operations that differ: a row may represent several."""
    return sum(len(row.operations) for row in differing)


def _probe_table(differing: Sequence[ProbeRow]) -> Markup:
    head = element("thead", element("tr", *(element("th", title, scope="col") for title in HEAD)))
    body = element("tbody", *map(_row, differing))
    scene = element("table", head, body, class_="felt")
    return element("div", scene, class_="wide", tabindex=0, role="region", aria_label="What clients feel")


def _row(row: ProbeRow) -> Markup:
    first, *more = row.operations
    rest = element("details", element("summary", f"and {len(more):_} more"), *(element("p", name) for name in more))
    return element(
        "tr",
        element("th", element("code", row.address), scope="row"),
        element("td", first, rest if more else None),
        element("td", row.before),
        element("td", row.after),
        element("td", *(_spaced_words(map(page_link, row.codes)) if row.codes else [row.foretold])),
        class_=STYLES.get(row.foresight),
    )


def _code_elements(names: Sequence[str]) -> list[str]:
    return _spaced_words(element("code", name) for name in names)


def _spaced_words(words: Iterable[str]) -> list[str]:
    return [piece for word in words for piece in (word, " ")][:-1]


def _folded_list(title: str, pairs: Sequence[tuple[str, str]]) -> Markup:
    items = [element("li", element("code", name), f": {why}" if why else "") for name, why in pairs]
    return _folded(title, element("ul", *items))


def _folded(title: str, inside: Markup) -> Markup:
    return element("details", element("summary", title), inside, class_="more")
