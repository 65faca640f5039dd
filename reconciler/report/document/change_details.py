"""A change in pieces: its fields, what rules say of it, what it does to messages and clients, and what else there is to know.

Equal changes share one entry: in the words of the first where they have the same, otherwise with the sum and each by
name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.changes.change import Action, Consequence, FieldChange, FieldClass
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.model.diagnostic import SourceSpan
from reconciler.report.document.entries import ChangeEntry, Section
from reconciler.report.document.judgements import (
    consent_to_copy,
    entry_name,
    is_worth_knowing,
    judgement,
    shows_quantities,
    total_sentence,
    verdicts_to_show,
)
from reconciler.report.document.pieces import (
    DifferenceRow,
    Differences,
    Fold,
    Judgement,
    ListChange,
    Names,
    PartitionMap,
    Piece,
    Statement,
)
from reconciler.report.words.values import children_by_kind, name_without_kind, show_live, show_value, show_wanted
from reconciler.report.words.visible import visible
from reconciler.report.words.ways_out import sentence

_SINCE = {
    FieldClass.DRIFTED: "changed outside since the last apply",
    FieldClass.BOTH: "changed here and outside since the last apply",
    FieldClass.UNFINISHED: "left unfinished by an apply",
}
MARKS: Mapping[Section, str] = {
    Section.REFUSED: "!", Section.CONSENT: "!", Section.UNKNOWN: "?", Section.REPLACE: "±", Section.UPDATE: "~",
    Section.CREATE: "+", Section.DELETE: "-", Section.ADOPT: "=", Section.RECORD: "=", Section.ORPHAN: "*", Section.FORGET: "<",
}  # fmt: skip
WORDS: Mapping[Section, str] = {
    Section.REFUSED: "refused", Section.CONSENT: "needs consent", Section.UNKNOWN: "unknown",
    Section.WAITS: "waiting", Section.REPLACE: "replaced", Section.UPDATE: "changed", Section.CREATE: "created",
    Section.DELETE: "deleted", Section.KEEP: "noted", Section.ADOPT: "adopted", Section.RECORD: "recorded", Section.ORPHAN: "orphaned",
    Section.FORGET: "forgotten", Section.ABSENT: "already gone",
}  # fmt: skip
_AT_REST = {
    Section.ADOPT: "live as declared; an apply records that this topology owns it, and leaves it untouched",
    Section.RECORD: "live as declared; an apply updates its record, and leaves the object untouched",
    Section.ORPHAN: "owned but no longer declared, so it is kept{until}; `removed` deletes it, `forget` gives it up",
    Section.ABSENT: "already gone; you can delete its entry in the file",
}
_AS_IT_IS = "adopted as it is live and left untouched; its differences from the file wait for an apply"
STOPPED = (Section.REFUSED, Section.CONSENT)
_EACH = "each of them"


def entry_fold(entry: ChangeEntry, *, is_told: bool = False) -> Fold:
    """Return an entry as one line with its details below it."""
    first = entry.first
    return Fold(
        mark=mark(entry), word=WORDS[entry.section], style=entry.section.name.lower(), name=entry_name(entry),
        addresses=tuple(change.address for change in (*entry.changes, *entry.children)),
        about=first_paths_text(first.fields) or removal_reason(first), place=place_of(first) or "",
        codes=tuple(dict.fromkeys(verdict.code for verdict in verdicts_to_show(first.verdicts))),
        pieces=(*entry_pieces(entry, is_told=is_told), *children_names(entry)), is_open=entry.section in STOPPED,
    )  # fmt: skip


def entry_pieces(entry: ChangeEntry, *, is_told: bool = False) -> Iterator[Piece]:
    """Yield the details of an entry. With `is_told`, effects and warnings stand elsewhere in the report."""
    first = entry.first
    if note := _untouched_note(entry):
        yield Statement(text=sentence(note), tone="quiet")
    if first.fields:
        yield field_differences(first.fields)
    yield from _judgements(entry.changes, is_told=is_told)
    yield from _consequences(entry.changes, is_told=is_told)
    yield from (Statement(text=sentence(visible(note))) for note in _notes(first))
    if len(entry.changes) > 1:
        names = tuple(map(name_without_kind, entry.changes))
        yield Names(word="namely", names=names, is_whole=entry.section is Section.DELETE)


def children_names(entry: ChangeEntry) -> tuple[Names, ...]:
    """Return what is created or deleted along with an entry, by kind."""
    return tuple(
        Names(word=word, names=tuple(names), is_whole=entry.section is Section.DELETE)
        for word, names in children_by_kind(entry.children, len(entry.changes))
    )


def field_differences(fields: Sequence[FieldChange]) -> Differences:
    """Return the fields of a change with their values as a file writes them."""
    return Differences(rows=tuple(map(_difference_row, fields)), sides=("live", "wanted"))


def _difference_row(field: FieldChange) -> DifferenceRow:
    return DifferenceRow(
        path=field.path, before=show_live(field), after=show_wanted(field), items=_list_change(field),
        words=_SINCE.get(field.field_class, ""), tone="warn",
    )  # fmt: skip


def _list_change(field: FieldChange) -> ListChange | None:
    live, desired = field.live, field.desired
    if not (isinstance(live, list) and isinstance(desired, list)):
        return None
    gone = [item for item in live if item not in desired]
    new = [item for item in desired if item not in live]
    gone_text, new_text = (show_value(items, field.info) if items else "" for items in (gone, new))
    return ListChange(gone=gone_text, new=new_text, kept=len(desired) - len(new))


def _judgements(changes: Sequence[PlannedChange], *, is_told: bool) -> Iterator[Judgement]:
    first, where = changes[0], _EACH if len(changes) > 1 else ""
    for number, verdict in enumerate(verdicts_to_show(first.verdicts)):
        same = [verdicts_to_show(change.verdicts)[number] for change in changes]
        likewise = " (likewise for the others)" if len({other.fix for other in same}) > 1 else ""
        is_elsewhere = is_told and (shows_quantities(verdict) or is_worth_knowing(verdict))
        yield judgement(
            verdict,
            None if is_elsewhere else _statement_of_verdicts(same),
            f"{verdict.fix}{likewise}" if verdict.fix else "",
            consent_to_copy(verdict, first, where or verdict.address),
        )


def _statement_of_verdicts(same: Sequence[Verdict]) -> Statement:
    if len({verdict.message for verdict in same}) == 1:
        return Statement(text=sentence(same[0].message, same[0].path))
    return _statement_of_each(same, [(verdict.address, verdict.message) for verdict in same])


def _consequences(changes: Sequence[PlannedChange], *, is_told: bool) -> Iterator[Piece]:
    for number, consequence in enumerate(changes[0].consequences):
        if drawn := consequence.detail.get("partition_map"):
            yield PartitionMap(drawn=drawn)
        if is_told:
            continue
        same = [change.consequences[number] for change in changes]
        if len({other.message for other in same}) == 1:
            yield Statement(text=sentence(consequence.message))
        else:
            addressed = zip(changes, same, strict=True)
            yield _statement_of_each(same, [(change.address, other.message) for change, other in addressed])


def _statement_of_each(same: Sequence[Verdict | Consequence], each: Sequence[tuple[str, str]]) -> Statement:
    return Statement(text=total_sentence(same), each=tuple(each))


def _untouched_note(entry: ChangeEntry) -> str:
    """Say what happens to an object that is not touched; an orphaned consumer or group stays as long as its stream."""
    if entry.section is Section.ADOPT and entry.first.fields:
        return _AS_IT_IS
    if entry.section is Section.FORGET:
        return visible(entry.first.reason)
    until = " as long as its stream" if entry.first.address.count("/") > 1 else ""
    return _AT_REST.get(entry.section, "").format(until=until)


_WITH_REASON = (Action.ORPHAN, Action.UPDATE, Action.REPLACE, Action.ADOPT)


def _notes(change: PlannedChange) -> Iterator[str]:
    """Yield what is neither field, verdict nor consequence."""
    if change.action is Action.UNKNOWN and change.reason:
        yield f"Unknown, so nothing is done here: {change.reason}"
    if change.action in _WITH_REASON and change.reason:
        yield change.reason
    if change.blocked_by is not None:
        yield f"waits for {change.blocked_by}"
    if change.adopts and change.action.writes:
        yield "live but not owned yet; an apply adopts it"


def first_paths_text(fields: Sequence[FieldChange], most: int = 5) -> str:
    """Return `max_age, max_bytes and 3 more`."""
    names = ", ".join(field.path for field in fields[:most])
    return f"{names} and {len(fields) - most} more" if len(fields) > most else names


def mark(entry: ChangeEntry) -> str:
    """Return the first character of an entry: `~` for a change, `+` for a new object."""
    section = Section[entry.first.action.name] if entry.section is Section.WAITS else entry.section
    return MARKS.get(section, " ")


def removal_reason(change: PlannedChange) -> str:
    """Return the reason that the file gives for a removal, in quotes."""
    return f'"{visible(change.reason)}"' if change.action is Action.DELETE and change.reason else ""


def place_of(change: PlannedChange) -> SourceSpan | None:
    """Return the place of the worst verdict, otherwise that of the resource."""
    return next((verdict.span for verdict in verdicts_to_show(change.verdicts) if verdict.span), change.span)
