"""The parts of a page: one change with its diff, verdicts and consequences, one finding, a map of partitions.

What clients feel of a change, on a page: a table, and below it what stayed the same, was not shown, or was not
tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.changes.change import Consequence, FieldChange, FieldClass
from reconciler.changes.plan import PlannedChange
from reconciler.changes.rehearsal import Foresight, Probe
from reconciler.changes.verdict import Verdict
from reconciler.model.resource import Json
from reconciler.report.document.blocks import aside_lines, first_paths_text, mark, removal_reason, untouched_note
from reconciler.report.document.document import Document, ReportedFinding
from reconciler.report.document.entries import ChangeEntry, Section, is_bare
from reconciler.report.document.judgements import (
    consent_entry,
    entry_name,
    how_to_consent,
    lacks_consent,
    parts_of_way_out,
    sentence,
    status_word,
    total_sentence,
    verdicts_to_show,
)
from reconciler.report.document.partitions import SAME, columns_of, partition_lines
from reconciler.report.document.pieces import Names
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
from reconciler.report.html.markup import Markup, element, escaped, page_link, prose, together
from reconciler.report.html.pieces import names_paragraph
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import children_by_kind, name_without_kind, show_live, show_wanted

_SINCE = {
    FieldClass.DRIFTED: "changed outside",
    FieldClass.BOTH: "changed here and outside",
    FieldClass.UNFINISHED: "left unfinished by an apply",
}
_WIDE = 160
"""More partitions than this are not drawn as columns."""
_PER_ROW = 16
_NAMES = 500
_OPEN = (Section.REFUSED, Section.CONSENT)


def change(entry: ChangeEntry, anchor: str, word: str, document: Document) -> Markup:
    """Render a change, folded unless it stops the plan."""
    first = entry.first
    place = document.place(
        next((verdict.span for verdict in verdicts_to_show(first.verdicts) if verdict.span), first.span)
    )
    summary = element(
        "summary",
        element("span", mark(entry), class_="mark", aria_hidden="true"),
        element("span", word, class_="word"),
        element("code", entry_name(entry), class_="address"),
        element("span", first_paths_text(first.fields) or removal_reason(first).strip(), class_="about"),
        *(
            element("span", code, class_="code")
            for code in dict.fromkeys(verdict.code for verdict in verdicts_to_show(first.verdicts))
        ),
        element("span", str(place), class_="place") if place else None,
    )
    section = entry.section.name.lower()
    return element(
        "details", summary, element("div", *_details(entry), class_="body"),
        id=anchor, class_=f"change is-{section}", data_section=section, open=entry.section in _OPEN,
    )  # fmt: skip


def _details(entry: ChangeEntry) -> Iterator[Markup]:
    first = entry.first
    if first.fields:
        yield _diff_table(first.fields)
    for number, verdict in enumerate(verdicts_to_show(first.verdicts)):
        yield _verdict_block(verdict, [verdicts_to_show(equal.verdicts)[number] for equal in entry.changes], first)
    for number, consequence in enumerate(first.consequences):
        yield from _consequence_blocks(
            consequence, [(equal.address, equal.consequences[number]) for equal in entry.changes]
        )
    if note := untouched_note(entry):
        yield element("p", prose(sentence(note)), class_="quiet")
    yield from (element("p", prose(sentence(line.strip()))) for line in aside_lines(first, Paper(width=10_000)))
    if removal_reason(first):
        yield element("p", removal_reason(first).strip())
    if len(entry.changes) > 1:
        yield names_paragraph(Names(word="namely", names=tuple(map(name_without_kind, entry.changes))))
    children = children_by_kind(entry.children, len(entry.changes))
    yield from (names_paragraph(Names(word=word, names=tuple(names))) for word, names in children)
    if entry.section is Section.CREATE and is_bare(first):
        those = "this name" if len(entry.changes) == 1 else "one of these names"
        yield element("p", f"New, as the file declares it. No live object has {those}.", class_="quiet")


def _diff_table(fields: Sequence[FieldChange]) -> Markup:
    rows = [
        element(
            "tr",
            element("th", field.path, since(field), scope="row"),
            element("td", element("del", show_live(field))),
            element("td", element("ins", show_wanted(field))),
        )
        for field in fields
    ]
    head = element("tr", *(element("th", word, scope="col") for word in ("field", "live", "wanted")))
    return element(
        "div", element("table", element("thead", head), element("tbody", *rows), class_="diff"), class_="wide"
    )


def since(field: FieldChange) -> Markup | None:
    """Return a label for a field that somebody changed outside the files; None for any other."""
    word = _SINCE.get(field.field_class)
    return element("span", word, class_="since") if word else None


def _verdict_block(verdict: Verdict, same: Sequence[Verdict], change: PlannedChange) -> Markup:
    paragraphs = [element("p", prose(sentence(verdict.message, verdict.path)))]
    if len({other.message for other in same}) > 1:
        each = (
            element("li", element("code", other.address), ": ", prose(sentence(other.message)))
            for other in same[:_NAMES]
        )
        paragraphs = [element("p", total_sentence(same)), element("ul", *each)]
    word = status_word(verdict)
    title = element("b", page_link(verdict.code), f" {verdict.name}")
    head = element("p", title, " ", element("span", word, class_="word"))
    style = "blocks" if verdict.refuses else "consented" if verdict.consented is not None else "warns"
    return element("div", head, *paragraphs, *_way_out(verdict, change), class_=f"verdict {style}")


def _way_out(verdict: Verdict, change: PlannedChange) -> Iterator[Markup]:
    if verdict.consented is not None:
        yield element("p", "Consented: ", prose(verdict.consented))
        return
    yield from _way_out_blocks(verdict.fix or "")
    if lacks_consent(verdict):
        yield element("p", f"{how_to_consent(verdict, change)}:")
        yield element("pre", consent_entry(verdict, change))


def _way_out_blocks(fix: str) -> Iterator[Markup]:
    """Render words, steps and text to copy as blocks of their own."""
    instead = element("b", "Instead: ")
    for part in parts_of_way_out(fix):
        if part.form == "copy":
            yield element("pre", Markup("\n".join(map(escaped, part.lines))))
        elif part.form == "steps":
            yield element("ol", *(element("li", prose(step)) for step in part.lines))
        else:
            yield element("p", instead, prose(" ".join(part.lines)))
            instead = Markup()


def _consequence_blocks(consequence: Consequence, same: Sequence[tuple[str, Consequence]]) -> Iterator[Markup]:
    if drawn := consequence.detail.get("partition_map"):
        yield partitions(drawn)
    if len({other.message for _, other in same}) == 1:
        yield element("p", prose(sentence(consequence.message)), class_="consequence")
        return
    yield element("p", total_sentence(other for _, other in same), class_="consequence")
    yield element(
        "ul", *(element("li", element("code", name), ": ", prose(other.message)) for name, other in same[:_NAMES])
    )


def partitions(drawn: Mapping[str, Json]) -> Markup:
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


def finding_item(reported: ReportedFinding, anchor: str) -> Markup:
    """Render a finding as an item of a list, with its place and its way out; `anchor` is the id that links lead to."""
    place = element("span", str(reported.place), class_="place") if reported.place else None
    address = together(" ", element("code", reported.address)) if reported.address else None
    title = element("b", page_link(reported.code), f" {reported.name}")
    head = element("p", title, " ", element("span", reported.status, class_="word"), address, place)
    return element(
        "li",
        head,
        element("p", prose(sentence(reported.message))),
        *_way_out_blocks(reported.fix),
        class_=f"verdict {_style_of_finding(reported)}",
        id=anchor,
    )


def _style_of_finding(reported: ReportedFinding) -> str:
    return {"error": "blocks", "warning": "warns"}.get(reported.severity.value, "consented")


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
