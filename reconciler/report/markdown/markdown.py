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
from reconciler.report.document.blocks import at_rest, mark, paths, removal
from reconciler.report.document.document import Document, ReportedFinding, apart
from reconciler.report.document.entries import ChangeEntry, Section, entries
from reconciler.report.document.headline import as_read, heading, to_be_typed, totals, what_next
from reconciler.report.document.judgements import many, sentence, worst_first
from reconciler.report.markdown.gfm import code, fenced, folded, markup, page_link, prose
from reconciler.report.markdown.parts import along, details, happening, names_of, verdicts, warnings
from reconciler.report.markdown.probe import clients
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
    return f"{head}\n{_one(document, LIMIT - _size(head))}"


def joined(documents: Sequence[Document]) -> str:
    """Join several reports in one comment under its own marker; each report gets an equal share of the room."""
    head = f"<!-- reconciler:{documents[0].command} -->"
    share = max(_LEAST, (LIMIT - _size(head)) // len(documents))
    shown, room = [head], LIMIT - _size(head) - _RESERVE
    for number, document in enumerate(documents):
        shown.append(_one(document, share))
        room -= _size(shown[-1])
        if room < 0:
            shown[-1] = f"**{len(documents) - number:_} more reports did not fit into one comment.**\n"
            break
    return "\n".join(shown)


def _one(document: Document, limit: int) -> str:
    head = "\n".join(_head(document))
    return _fitting(head, [*_sections(document)], _foot(document), limit)


def marker(document: Document) -> str:
    """Return a hidden marker that tells this comment from everybody else's."""
    about = "" if document.command in _OF_ANY_NUMBER else f":{quote(visible(document.name), safe='')}"
    return f"<!-- reconciler:{document.command}{about} -->"


def _head(document: Document) -> list[str]:
    return [f"### {document.command.capitalize()}: {prose(heading(document))}", "", f"**{prose(totals(document))}**"]


def _foot(document: Document) -> str:
    done = fenced(_last_lines(document.outcome)) if document.outcome else []
    commands = [*as_read(document.plan), *(_command(line) for line in what_next(document).splitlines())]
    return "\n".join([*folded("What was done", done, is_open=True), "", "\\\n".join(commands)]).strip()


def _last_lines(outcome: str) -> list[str]:
    lines = [visible(line) for line in outcome.strip().splitlines()]
    sizes = list(accumulate(_size(line) for line in reversed(lines)))
    return lines[len(lines) - sum(size < _OUTCOME for size in sizes) :]


def _command(line: str) -> str:
    """Turn a command to type into code: `Next: reconciler apply …`."""
    words, command = to_be_typed(line)
    return prose(words) + (code(command) if command else "")


def _fitting(head: str, sections: Sequence[Section_], foot: str, limit: int) -> str:
    """Take pieces in the order that a reviewer needs, as many as fit, and count the rest."""
    room = limit - _RESERVE - _size(head) - _size(foot)
    shown, left = [head], 0
    for title, pieces in sections:
        room -= _size(title)
        for number, piece in enumerate(pieces):
            room -= _size(piece.text)
            if room < 0:
                left += sum(one.about for one in pieces[number:])
                break
            shown += [title, piece.text] if number == 0 else [piece.text]
    if left:
        shown.append(f"**{left:_} more did not fit into one comment.** The command itself prints them all.")
    return _joined([*shown, foot])


def _joined(pieces: Sequence[str]) -> str:
    """Keep the items of a list together, and everything else apart."""
    text, before = "", ""
    for piece in filter(None, pieces):
        gap = "" if not text else "\n" if before.startswith("- ") and piece.startswith("- ") else "\n\n"
        text, before = text + gap + piece, piece
    return inert(text) + "\n"


def _size(text: str) -> int:
    """Measure the size in bytes, with line ends that are stored as two."""
    return len(text.encode()) + text.count("\n") + 4


def _sections(document: Document) -> Iterator[Section_]:
    changes = entries(document.changes)
    found = apart(document)
    wrong = [one for one in found if one.standing == "error"]
    stopped = [entry for entry in changes if entry.section in _STOPPED]
    yield (
        "#### What stops the plan" if document.plan else "#### What was found",
        [*map(_finding, wrong), *(_stopped(entry, document) for entry in stopped)],
    )
    rest = [entry for entry in changes if entry.section not in _STOPPED]
    yield "#### Effects on messages and clients", [WholeBlock(line) for entry in rest for line in happening(entry)]
    if document.probe:
        yield "#### What clients feel, before and after", [WholeBlock(*one) for one in clients(document.probe)]
    known = [WholeBlock(line) for entry in rest for line in warnings(entry)]
    yield "#### Worth knowing", [*(_finding(one) for one in found if one.standing != "error"), *known]
    yield "#### Changes", [piece for section in Section for piece in _changes(section, rest, document)]


def _finding(one: ReportedFinding) -> WholeBlock:
    """Render a finding as an item of a list: where, what, and what to do."""
    place = f"{code(str(one.place))} " if one.place else ""
    about = f" {code(one.address)}" if one.address else ""
    stop = "" if one.fix[-1:] in (".", "!", "?", "…") else "."
    fix = f" Instead: {prose(one.fix)}{stop}" if one.fix else ""
    return WholeBlock(f"- {place}**{one.standing} {page_link(one.code)}**{about}: {prose(sentence(one.message))}{fix}")


def _stopped(entry: ChangeEntry, document: Document) -> WholeBlock:
    about = len(entry.changes)
    if entry.section is Section.UNKNOWN:
        return WholeBlock(f"- **unknown**: {_named(entry, document)}: {prose(sentence(entry.first.reason))}", about)
    lines = [f"**{mark(entry)}** {_named(entry, document)}", *details(entry)]
    effects = ["", *happening(entry)]
    return WholeBlock("\n".join([*lines, *verdicts(entry), *(effects if effects[1:] else [])]), about)


def _changes(section: Section, changes: Sequence[ChangeEntry], document: Document) -> Iterator[WholeBlock]:
    """Fold each change that has details; the others of a section become one list."""
    here = [entry for entry in changes if entry.section is section]
    yield from (WholeBlock(_entry(one, document), len(one.changes)) for one in here if not _is_plain(one))
    lines = [_line(entry, document) for entry in here if _is_plain(entry)]
    if len(lines) <= 5:
        yield from map(WholeBlock, lines)
        return
    for start in range(0, len(lines), 50):
        part = lines[start : start + 50]
        title = f"{section.name.lower()}: {counted(len(part), 'resource')}"
        yield WholeBlock("\n".join(folded(title, part)), len(part))


def _is_plain(entry: ChangeEntry) -> bool:
    """Is there nothing to unfold? Its effects are listed above."""
    drawn = any(consequence.detail for consequence in entry.first.consequences)
    return not (drawn or worst_first(entry.first.verdicts) or entry.first.fields) and len(entry.changes) == 1


def _line(entry: ChangeEntry, document: Document) -> str:
    waits = f" waits for {code(entry.first.blocked_by)}" if entry.first.blocked_by else ""
    kept = f" {prose(sentence(at_rest(entry)))}" if entry.section is Section.ORPHAN else ""
    return f"- {code(mark(entry))} {_named(entry, document)}{along(entry)}{waits}{kept}{_reason(entry.first)}"


def _entry(entry: ChangeEntry, document: Document) -> str:
    about = markup(paths(entry.first.fields))
    title = f"{markup(mark(entry))} <code>{markup(_name(entry))}</code> {about}".rstrip()
    lines = [*details(entry), *verdicts(entry), *_asides(entry.first)]
    place = document.place(entry.first.span)
    lines += ["", f"namely {names_of(entry)}"] if len(entry.changes) > 1 else ["", code(str(place))] if place else []
    return "\n".join(folded(title, [*lines, *([along(entry).strip()] if entry.children else [])], is_markup=True))


def _asides(change: PlannedChange) -> Iterator[str]:
    if change.blocked_by:
        yield from ("", f"Waits for {code(change.blocked_by)}.")
    if change.reason:
        yield from ("", _reason(change).strip())
    if change.adopts and change.action.writes:
        yield from ("", "Live but not owned yet; an apply adopts it.")


def _reason(change: PlannedChange) -> str:
    said = removal(change).strip() or change.reason
    return f" {prose(sentence(said))}" if said else ""


def _name(entry: ChangeEntry) -> str:
    return many(entry) if len(entry.changes) > 1 else entry.first.address


def _named(entry: ChangeEntry, document: Document) -> str:
    """Return the name with its place, or with the names of many."""
    if len(entry.changes) > 1:
        return f"{prose(_name(entry))}: {names_of(entry)}"
    place = document.place(next((v.span for v in entry.first.verdicts if v.blocks and v.span), entry.first.span))
    return code(entry.first.address) + (f" · {code(str(place))}" if place else "")
