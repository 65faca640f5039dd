"""The parts of a change in Markdown: its diff, verdicts and effects, and other objects that it concerns.

What clients feel of a change, in a comment: tables of limited size, then what was not shown and not tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.change import FieldChange
from reconciler.changes.rehearsal import Foresight, Probe
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.report.document.entries import ChangeEntry
from reconciler.report.document.judgements import (
    consent_entry,
    count_and_kind,
    effects,
    how_to_consent,
    is_declared,
    lacks_consent,
    parts_of_way_out,
    sentence,
    shows_quantities,
    total_sentence,
    verdict_head,
    verdicts_to_show,
)
from reconciler.report.document.partitions import partition_lines
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
from reconciler.report.markdown.gfm import code, fenced, folded, page_link, prose
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import children_by_kind, name_without_kind, show_live, show_wanted

_NARROW = Paper(width=110)
_NAMES = 20
"""How many names of equal changes are shown."""
_EACH = 3
"""How many messages of equal changes are shown."""


def detail_lines(entry: ChangeEntry) -> list[str]:
    """Render the diff, and the partitions that move."""
    lines = ["", *fenced(_diff_lines(entry.first.fields), "diff")] if entry.first.fields else []
    for consequence in entry.first.consequences:
        drawn = consequence.detail.get("partition_map")
        lines += ["", *fenced(partition_lines(drawn, _NARROW, 0))] if drawn else []
    return lines


def _diff_lines(fields: Sequence[FieldChange]) -> list[str]:
    width = min(max(len(field.path) for field in fields), 40)
    lines = []
    for field in fields:
        name = field.path.ljust(width)
        lines.append(f"- {name}  {show_live(field)}")
        lines.append(f"+ {name}  {show_wanted(field)}")
    return lines


def verdict_paragraphs(entry: ChangeEntry, *, is_told: bool = False) -> Iterator[str]:
    """Render each verdict once; where many changes differ in words, the first few and the sum. `is_told`: effects and warnings
    stand elsewhere in full."""
    for number, verdict in enumerate(verdicts_to_show(entry.first.verdicts)):
        same = [verdicts_to_show(change.verdicts)[number] for change in entry.changes]
        message = "" if is_told and (shows_quantities(verdict) or _is_worth_knowing(verdict)) else _messages_of(same)
        yield from ("", f"**{_verdict_heading(verdict)}** {message}".rstrip())
        yield from _way_out_lines(verdict, entry)


def _verdict_heading(verdict: Verdict) -> str:
    _, _, status = verdict_head(verdict).partition(" ")
    return f"{page_link(verdict.code)} {prose(status)}"


def _messages_of(same: Sequence[Verdict]) -> str:
    if len({verdict.message for verdict in same}) == 1:
        return prose(sentence(same[0].message, same[0].path))
    each = (f"{code(verdict.address)}: {prose(sentence(verdict.message))}" for verdict in same[:_EACH])
    return "\\\n".join([prose(total_sentence(same)), *each])


def _way_out_lines(verdict: Verdict, entry: ChangeEntry) -> Iterator[str]:
    if verdict.consented is not None:
        return
    yield from way_out_blocks(verdict.fix or "")
    if lacks_consent(verdict):
        yield from ("", f"{how_to_consent(verdict, entry.first)}:", "")
        yield from fenced([consent_entry(verdict, entry.first)], "yaml" if is_declared(entry.first) else "sh")


def way_out_blocks(fix: str) -> Iterator[str]:
    """Render words, steps and text to copy as blocks of their own."""
    instead = "Instead: "
    for part in parts_of_way_out(fix):
        yield ""
        if part.form == "copy":
            yield from fenced([*part.lines], "yaml")
        elif part.form == "steps":
            yield from (f"{number}. {prose(step)}" for number, step in enumerate(part.lines, 1))
        else:
            yield instead + prose(" ".join(part.lines))
            instead = ""


def effect_items(entry: ChangeEntry) -> Iterator[str]:
    """Render what a change does to messages and clients, an item for each."""
    for name, effect_text in effects(entry):
        yield f"- {code(name) if '/' in name else prose(name)}: {prose(effect_text)}"


def warning_items(entry: ChangeEntry) -> Iterator[str]:
    """Render verdicts that neither stop the change nor count anything, an item for each."""
    for verdict in verdicts_to_show(entry.first.verdicts):
        if _is_worth_knowing(verdict):
            name = code(entry.first.address) if len(entry.changes) == 1 else prose(count_and_kind(entry))
            message = prose(sentence(verdict.message, verdict.path))
            yield f"- **{page_link(verdict.code)} {prose(verdict.name)}** {name}: {message}"


def _is_worth_knowing(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.WARNS and not verdict.quantities


def entry_names(entry: ChangeEntry) -> str:
    """Return the names of equal changes as code, without their kind: the first ones, and how many more there are."""
    shown = " ".join(code(name_without_kind(change)) for change in entry.changes[:_NAMES])
    more = len(entry.changes) - _NAMES
    return f"{shown} and {more:_} more" if more > 0 else shown


def children_text(entry: ChangeEntry) -> str:
    """Return what is created or deleted along with it: ` with consumers a b`."""
    text = ""
    for word, names in children_by_kind(entry.children, len(entry.changes)):
        more = f" and {len(names) - _NAMES:_} more" if len(names) > _NAMES else ""
        text += f" {word} " + " ".join(map(code, names[:_NAMES])) + more
    return text


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
