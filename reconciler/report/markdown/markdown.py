"""A plan as one comment on a pull request: what stops it, what it costs, then every change, folded.

The first line is a hidden marker, the same for every plan of a topology and for every review, so that the next one can
take this comment's place. GitHub says that a comment may have 65,536 characters, and in places it counts bytes; this
counts bytes, which is right either way. What does not fit is counted as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote

from reconciler.changes.plan import PlannedChange
from reconciler.report.document.blocks import first_paths_text, mark, removal_reason, untouched_note
from reconciler.report.document.document import Document, ReportedFinding, findings_apart
from reconciler.report.document.entries import ChangeEntry, Section, entries
from reconciler.report.document.headline import heading, moment_note, split_command, totals_line, what_next
from reconciler.report.document.judgements import entry_name, sentence, verdicts_to_show
from reconciler.report.markdown.gfm import code, escaped_html, fenced, folded, page_link, prose
from reconciler.report.markdown.parts import (
    children_text,
    client_pieces,
    detail_lines,
    effect_items,
    entry_names,
    verdict_paragraphs,
    warning_items,
    way_out_blocks,
)
from reconciler.report.markdown.pieces import part_blocks
from reconciler.report.words.values import counted
from reconciler.report.words.visible import inert, visible

LIMIT = 65_536
_RESERVE = 1_024
"""Bytes left for text that others put above or below, and for the note about the cut."""
_OUTCOME = 12_000
"""Bytes of the report of what was done, from the end."""
_LEAST = 4_096
"""With fewer bytes than this, a report among several is left out."""
_OF_ANY_NUMBER = frozenset({"review"})
"""Commands that keep one comment, for any number of topologies."""
_STOPPED = (Section.REFUSED, Section.CONSENT, Section.UNKNOWN)


class WholeBlock(NamedTuple):
    """A block that is shown whole or not at all."""

    text: str
    about: int = 1
    """How many changes the block is about."""


Section_ = tuple[str, Sequence[WholeBlock]]


def render(document: Document) -> str:
    """Render one comment of at most LIMIT bytes, which begins with its marker."""
    head = marker(document)
    return f"{head}\n{_report_text(document, LIMIT - _bytes_of(head))}"


def render_all(documents: Sequence[Document]) -> str:
    """Join several reports in one comment under its own marker; each report gets an equal share of the room."""
    head = f"<!-- reconciler:{documents[0].command} -->"
    share = max(_LEAST, (LIMIT - _bytes_of(head)) // len(documents))
    texts, room = [head], LIMIT - _bytes_of(head) - _RESERVE
    for number, document in enumerate(documents):
        texts.append(_report_text(document, share))
        room -= _bytes_of(texts[-1])
        if room < 0:
            texts[-1] = f"**{len(documents) - number:_} more reports did not fit into one comment.**\n"
            break
    return "\n".join(texts)


def _report_text(document: Document, limit: int) -> str:
    head = "\n".join(_head(document))
    return _comment_that_fits(head, [*_sections(document)], _foot(document), limit)


def marker(document: Document) -> str:
    """Return a hidden marker that tells this comment from everybody else's."""
    topology = "" if document.command in _OF_ANY_NUMBER else f":{quote(visible(document.name), safe='')}"
    return f"<!-- reconciler:{document.command.replace(' ', '-')}{topology} -->"


def _head(document: Document) -> list[str]:
    return [
        f"### {document.command.capitalize()}: {prose(heading(document))}",
        "",
        f"**{prose(totals_line(document))}**",
        *(["", prose(document.about)] if document.about else []),
    ]


def _foot(document: Document) -> str:
    done = fenced(_last_outcome_lines(document.outcome)) if document.outcome else []
    commands = [*moment_note(document.plan), *(_command_as_code(line) for line in what_next(document).splitlines())]
    return "\n".join([*folded("What was done", done, is_open=True), "", "\\\n".join(commands)]).strip()


def _last_outcome_lines(outcome: str) -> list[str]:
    lines = [visible(line) for line in outcome.strip().splitlines()]
    sizes = list(accumulate(_bytes_of(line) for line in reversed(lines)))
    return lines[len(lines) - sum(size < _OUTCOME for size in sizes) :]


def _command_as_code(line: str) -> str:
    """Turn a command to type into code: `Next: reconciler apply …`."""
    words, command = split_command(line)
    return prose(words) + (code(command) if command else "")


def _comment_that_fits(head: str, sections: Sequence[Section_], foot: str, limit: int) -> str:
    """Take pieces in the order that a reviewer needs, as many as fit, and count the rest."""
    room = limit - _RESERVE - _bytes_of(head) - _bytes_of(foot)
    shown, left, cut = [head], 0, list[str]()
    for title, pieces in sections:
        for number, piece in enumerate(pieces):
            size = _bytes_of(piece.text) + (_bytes_of(title) if number == 0 else 0)
            if size > room:
                left += sum(block.about for block in pieces[number:])
                cut.append(title.removeprefix("#### "))
                break
            room -= size
            shown += [title, piece.text] if number == 0 else [piece.text]
    if left:
        under = f" under {', '.join(filter(None, cut))}" if any(cut) else ""
        shown.append(f"**{left:_} more did not fit into one comment**{under}. The command itself prints them all.")
    return _joined_pieces([*shown, foot])


def _joined_pieces(pieces: Sequence[str]) -> str:
    """Keep the items of a list together, and everything else apart."""
    text, before = "", ""
    for piece in filter(None, pieces):
        gap = "" if not text else "\n" if before.startswith("- ") and piece.startswith("- ") else "\n\n"
        text, before = text + gap + piece, piece
    return inert(text) + "\n"


def _bytes_of(text: str) -> int:
    """Measure the size in bytes, with line ends that are stored as two."""
    return len(text.encode()) + text.count("\n") + 4


def _sections(document: Document) -> Iterator[Section_]:
    for part in document.parts_from_root:
        yield f"#### {prose(part.title)}" if part.title else "", [WholeBlock(*block) for block in part_blocks(part)]
    changes = entries(document.changes)
    apart_findings = findings_apart(document)
    wrong = [finding for finding in apart_findings if finding.status == "error"]
    stopped = [entry for entry in changes if entry.section in _STOPPED]
    yield (
        "#### What stops the plan" if document.plan else "#### What was found",
        [*map(_finding_block, wrong), *(_stopped_block(entry, document) for entry in stopped)],
    )
    rest = [entry for entry in changes if entry.section not in _STOPPED]
    yield "#### Effects on messages and clients", [WholeBlock(line) for entry in rest for line in effect_items(entry)]
    if document.probe:
        yield (
            "#### What clients feel, before and after",
            [WholeBlock(*piece) for piece in client_pieces(document.probe)],
        )
    warnings_known = [WholeBlock(line) for entry in rest for line in warning_items(entry)]
    yield (
        "#### Worth knowing",
        [*(_finding_block(finding) for finding in apart_findings if finding.status != "error"), *warnings_known],
    )
    yield "#### Changes", [piece for section in Section for piece in _change_blocks(section, rest, document)]


def _finding_block(finding: ReportedFinding) -> WholeBlock:
    """Render a finding as an item of a list: where, what, and what to do."""
    place = f"{code(str(finding.place))} " if finding.place else ""
    address = f" {code(finding.address)}" if finding.address else ""
    item = f"- {place}**{finding.status} {page_link(finding.code)}**{address}: {prose(sentence(finding.message))}"
    if "\n" in finding.fix:
        return WholeBlock("\n".join([item, *(f"  {line}".rstrip() for line in way_out_blocks(finding.fix))]))
    stop = "" if finding.fix[-1:] in (".", "!", "?", "…") else "."
    return WholeBlock(f"{item} Instead: {prose(finding.fix)}{stop}" if finding.fix else item)


def _stopped_block(entry: ChangeEntry, document: Document) -> WholeBlock:
    count = len(entry.changes)
    if entry.section is Section.UNKNOWN:
        return WholeBlock(
            f"- **unknown**: {_name_and_place(entry, document)}: {prose(sentence(entry.first.reason))}", count
        )
    lines = [f"**{mark(entry)}** {_name_and_place(entry, document)}", *detail_lines(entry)]
    effects = ["", *effect_items(entry)]
    return WholeBlock("\n".join([*lines, *verdict_paragraphs(entry), *(effects if effects[1:] else [])]), count)


def _change_blocks(section: Section, changes: Sequence[ChangeEntry], document: Document) -> Iterator[WholeBlock]:
    """Fold each change that has details; the others of a section become entry list."""
    of_section = [entry for entry in changes if entry.section is section]
    yield from (
        WholeBlock(_folded_change(entry, document), len(entry.changes))
        for entry in of_section
        if not _has_no_details(entry)
    )
    lines = [_change_line(entry, document) for entry in of_section if _has_no_details(entry)]
    if len(lines) <= 5:
        yield from map(WholeBlock, lines)
        return
    for start in range(0, len(lines), 50):
        part = lines[start : start + 50]
        title = f"{section.name.lower()}: {counted(len(part), 'resource')}"
        yield WholeBlock("\n".join(folded(title, part)), len(part))


def _has_no_details(entry: ChangeEntry) -> bool:
    """Is there nothing to unfold? Its effects are listed above."""
    drawn = any(consequence.detail for consequence in entry.first.consequences)
    return not (drawn or verdicts_to_show(entry.first.verdicts) or entry.first.fields) and len(entry.changes) == 1


def _change_line(entry: ChangeEntry, document: Document) -> str:
    waits = f" waits for {code(entry.first.blocked_by)}" if entry.first.blocked_by else ""
    untouched = f" {prose(sentence(untouched_note(entry)))}" if entry.section is Section.ORPHAN else ""
    return f"- {code(mark(entry))} {_name_and_place(entry, document)}{children_text(entry)}{waits}{untouched}{_reason_text(entry.first)}"


def _folded_change(entry: ChangeEntry, document: Document) -> str:
    field_names = escaped_html(first_paths_text(entry.first.fields))
    title = f"{escaped_html(mark(entry))} <code>{escaped_html(entry_name(entry))}</code> {field_names}".rstrip()
    lines = [*detail_lines(entry), *verdict_paragraphs(entry, is_told=True), *_aside_lines(entry.first)]
    place = document.place(entry.first.span)
    lines += ["", f"namely {entry_names(entry)}"] if len(entry.changes) > 1 else ["", code(str(place))] if place else []
    return "\n".join(
        folded(title, [*lines, *([children_text(entry).strip()] if entry.children else [])], is_markup=True)
    )


def _aside_lines(change: PlannedChange) -> Iterator[str]:
    if change.blocked_by:
        yield from ("", f"Waits for {code(change.blocked_by)}.")
    if change.reason:
        yield from ("", _reason_text(change).strip())
    if change.adopts and change.action.writes:
        yield from ("", "Live but not owned yet; an apply adopts it.")


def _reason_text(change: PlannedChange) -> str:
    reason = removal_reason(change).strip() or change.reason
    return f" {prose(sentence(reason))}" if reason else ""


def _name_and_place(entry: ChangeEntry, document: Document) -> str:
    """Return the name with its place, or with the names of many."""
    if len(entry.changes) > 1:
        return f"{prose(entry_name(entry))}: {entry_names(entry)}"
    place = document.place(
        next((verdict.span for verdict in entry.first.verdicts if verdict.blocks and verdict.span), entry.first.span)
    )
    return code(entry.first.address) + (f" · {code(str(place))}" if place else "")
