"""A plan as one comment on a pull request: what stops it, what it costs, then every change, folded.

The first line is a hidden marker, the same for every plan of a topology and for every review, so that the next one can
take this comment's place. GitHub says that a comment may have 65,536 characters, and in places it counts bytes; this
counts bytes, which is right either way. What does not fit is counted as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote

from reconciler.report.document.change_details import entry_fold, entry_pieces, mark, place_of
from reconciler.report.document.document import Document, ReportedFinding, findings_apart
from reconciler.report.document.entries import ChangeEntry, Section, entries
from reconciler.report.document.headline import heading, moment_note, split_command, totals_line, what_next
from reconciler.report.document.judgements import (
    count_and_kind,
    effects,
    entry_name,
    is_worth_knowing,
    verdicts_to_show,
)
from reconciler.report.document.pieces import Fold
from reconciler.report.markdown.gfm import code, fenced, folded, page_link, prose
from reconciler.report.markdown.pieces import fold_lines, is_short, part_blocks, piece_blocks, way_out_blocks
from reconciler.report.words.values import counted
from reconciler.report.words.visible import inert, visible
from reconciler.report.words.ways_out import sentence

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
    changes = entries(document.changes)
    apart_findings = findings_apart(document)
    wrong = [finding for finding in apart_findings if finding.status == "error"]
    stopped = [entry for entry in changes if entry.section in _STOPPED]
    yield (
        "#### What stops the plan" if document.plan else "#### What was found",
        [*map(_finding_block, wrong), *(_stopped_block(entry, document) for entry in stopped)],
    )
    rest = [entry for entry in changes if entry.section not in _STOPPED]
    yield "#### Effects on messages and clients", [WholeBlock(line) for entry in rest for line in _effect_items(entry)]
    for part in document.placed(document.parts):
        yield f"#### {prose(part.title)}" if part.title else "", [WholeBlock(*block) for block in part_blocks(part)]
    warnings_known = [WholeBlock(line) for entry in rest for line in _warning_items(entry)]
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
    head = f"**{mark(entry)}** {_name_and_place(entry, document)}"
    return WholeBlock("\n".join([head, "", *piece_blocks([*entry_pieces(entry)])]).rstrip(), count)


def _name_and_place(entry: ChangeEntry, document: Document) -> str:
    place = document.place(place_of(entry.first)) if len(entry.changes) == 1 else None
    name = code(entry.first.address) if len(entry.changes) == 1 else prose(entry_name(entry))
    return name + (f" · {code(str(place))}" if place else "")


def _effect_items(entry: ChangeEntry) -> Iterator[str]:
    """Render what a change does to messages and clients, an item for each."""
    for name, effect_text in effects(entry):
        yield f"- {code(name) if '/' in name else prose(name)}: {prose(effect_text)}"


def _warning_items(entry: ChangeEntry) -> Iterator[str]:
    """Render verdicts that neither stop the change nor count anything, an item for each."""
    for verdict in filter(is_worth_knowing, verdicts_to_show(entry.first.verdicts)):
        name = code(entry.first.address) if len(entry.changes) == 1 else prose(count_and_kind(entry))
        message = prose(sentence(verdict.message, verdict.path))
        yield f"- **{page_link(verdict.code)} {prose(verdict.name)}** {name}: {message}"


def _change_blocks(section: Section, changes: Sequence[ChangeEntry], document: Document) -> Iterator[WholeBlock]:
    """Yield each change that has details, folded; the others of a section are a list."""
    of_section = [entry for entry in changes if entry.section is section]
    folds = [_placed_fold(entry, document) for entry in of_section]
    long = [fold for fold in folds if not is_short(fold)]
    yield from (WholeBlock("\n".join(fold_lines(fold)), len(fold.addresses)) for fold in long)
    lines = [line for fold in folds if is_short(fold) for line in fold_lines(fold)]
    if len(lines) <= 5:
        yield from map(WholeBlock, lines)
        return
    for start in range(0, len(lines), 50):
        part = lines[start : start + 50]
        title = f"{section.name.lower()}: {counted(len(part), 'resource')}"
        yield WholeBlock("\n".join(folded(title, part)), len(part))


def _placed_fold(entry: ChangeEntry, document: Document) -> Fold:
    return replace(entry_fold(entry, is_told=True), place=document.place(place_of(entry.first)) or "")
