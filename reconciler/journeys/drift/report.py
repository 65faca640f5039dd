"""Drift as a report: what drifted and how, what waits to be applied, what is not declared, and what to do now.

After `drift accept`, what was written into the files stands before the drift that is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from reconciler.changes.plan import Plan
from reconciler.journeys.drift.codec import DriftDocument
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing, Written
from reconciler.journeys.drift.findings import findings_of_item
from reconciler.journeys.drift.way_back import restorable
from reconciler.journeys.drift.words import author, drift_words, item_sentence, values_of
from reconciler.kinds.fields.words import listed
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.topology import Topology
from reconciler.report.document.document import Document, name_in_environment
from reconciler.report.document.headline import topology_and_account, what_was_read_text
from reconciler.report.document.pieces import (
    Cell,
    DifferenceRow,
    Differences,
    Fold,
    Folds,
    Grid,
    Names,
    Piece,
    Prose,
    ReportPart,
    WaysOut,
    cells,
)
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted, kind_noun, noun, show_live, show_wanted
from reconciler.report.words.visible import visible
from reconciler.server.wire.audit import Attribution

MARKS: Mapping[str, str] = {
    Standing.UNKNOWN: "?", Standing.FOREIGN: "!", Standing.MISSING: "-", Standing.RECREATED: "±",
    Standing.CHANGED: "~", Standing.PENDING: "·", Standing.ORPHANED: "*",
}  # fmt: skip
STYLES: Mapping[str, str] = {
    Standing.UNKNOWN: "unknown", Standing.FOREIGN: "refused", Standing.MISSING: "delete", Standing.RECREATED: "replace",
    Standing.CHANGED: "update", Standing.PENDING: "waits", Standing.ORPHANED: "orphan",
}  # fmt: skip
FindingsOfItems = Mapping[str, Sequence[Diagnostic]]
"""By the address of each object."""
ALIKE = 3
"""From this many on, objects with equal drift become one entry."""
FEW = 5
"""No more entries than these are shown open."""


def drift_document(
    drift: Drift,
    *,
    written: tuple[Written, ...] | None = None,
    declared: Topology | None = None,
    paper: Paper | None = None,
    arguments: str = "",
    seconds: float | None = None,
    goes_on: bool = False,
) -> Document:
    """Return the report. `arguments` are those of the command that made it; `written` is what `drift accept` wrote before.
    With `goes_on` the report does not say what to run next."""
    paper = paper or Paper()
    findings = {item.address: [*findings_of_item(item, is_shared=is_shared(arguments))] for item in drift.items}
    return Document(
        command="drift", topology=drift.topology, declared=declared, title=place_text(drift), paper=paper, arguments=arguments,
        about=what_was_read_text(drift.read, seconds) if drift.read else "", summary=drift_sums_line(drift),
        diagnostics=drift.diagnostics, shown_in_parts=tuple(chain.from_iterable(findings.values())),
        parts=(*_written_part(written or ()), *_drift_parts(drift, findings, is_whole=paper.verbose)),
        closing="" if goes_on else "\n".join(_advice(drift, arguments)), data=DriftDocument(drift=drift, accepted=written),
    )  # fmt: skip


def _written_part(written: Sequence[Written]) -> Iterator[ReportPart]:
    """Show a line for each field that was written: as the file had it → as it is now."""
    if not written:
        return
    files = {value.span.file for value in written if value.span}
    rows = tuple(
        cells(
            Cell(text=value.address, is_code=True), Cell(text=value.field.path, is_code=True),
            f"{show_wanted(value.field.change)} → {show_live(value.field.change)}", str(value.span or ""),
        )
        for value in written
    )  # fmt: skip
    title = f"{counted(len(written), 'field')} written into {counted(len(files), 'file')}"
    yield ReportPart(title=title, pieces=(Grid(head=("object", "field", "difference", "place"), rows=rows),))


def _drift_parts(drift: Drift, findings: FindingsOfItems, *, is_whole: bool) -> Iterator[ReportPart]:
    """Show what differs; with `is_whole` also what is ignored, and what nobody declares."""
    shown = [item for item in drift.items if is_whole or not item.is_all_ignored]
    pieces: list[Piece] = [_items_folded(shown, findings)] if shown else []
    if is_whole and drift.coverage.extras:
        pieces.append(Names(word="live, but not declared anywhere:", names=drift.coverage.extras))
    if reasons := _why_nobody_is_named(drift):
        pieces.append(Prose(lines=tuple(f"By unknown: {why}." for why in reasons)))
    if pieces:
        yield ReportPart(title="", pieces=tuple(pieces))


def place_text(drift: Drift) -> str:
    """`orders → account ORDERS at prod-eu (nats-server 2.12.8, 3 nodes)`"""
    return topology_and_account(name_in_environment(drift.topology, drift.environment), drift.target)


def _equal_items(items: Sequence[Item]) -> list[list[Item]]:
    """Show equal drift of many objects once."""
    groups: dict[object, list[Item]] = {}
    for item in items:
        groups.setdefault(_grouping_key(item), []).append(item)
    return [
        part for same in groups.values() for part in ([same] if len(same) >= ALIKE else [[alone] for alone in same])
    ]


def _grouping_key(item: Item) -> object:
    fields = tuple(
        (f.path, repr(f.change.live), repr(f.change.desired), repr(f.applied), f.drifted, f.ignored, _person(f.by))
        for f in item.fields
    )
    reason = item.reason if item.standing is not Standing.RECREATED else item.address
    return (
        item.address.split("/")[0],
        item.standing,
        reason,
        item.ignored,
        _person(item.by),
        _person(item.deleted_by),
        fields,
    )


def _person(by: Attribution | None) -> object:
    """Compare people only, not times."""
    return (by.actor.client, by.actor.user, by.actor.host) if by and by.actor else by


def _items_folded(items: Sequence[Item], findings: FindingsOfItems) -> Folds:
    groups = _equal_items(items)
    return Folds(folds=tuple(_fold(equal, findings[equal[0].address], is_open=len(groups) <= FEW) for equal in groups))


def _fold(items: Sequence[Item], findings: Sequence[Diagnostic], *, is_open: bool) -> Fold:
    first, count = items[0], len(items)
    pieces: list[Piece] = []
    if sentences := "; ".join(
        filter(None, (item_sentence(first), f"ignored: {first.ignored}" if first.ignored else ""))
    ):
        pieces.append(Prose(lines=(sentences,)))
    if first.fields:
        pieces.append(Differences(rows=tuple(map(_difference, first.fields)), sides=("expected", "live")))
    if fixes := dict.fromkeys(finding.fix for finding in findings if finding.fix):
        pieces.append(WaysOut(lines=tuple(fixes)))
    if count > 1:
        pieces.append(Names(word="namely", names=tuple(item.address.split("/", 1)[1] for item in items)))
    many = f"{count:_} {kind_noun(first.address.split('/')[0], count)}"
    return Fold(
        mark=MARKS[first.standing], word=first.standing.value, style=STYLES[first.standing],
        name=many if count > 1 else first.address, addresses=tuple(item.address for item in items),
        place=first.span or "", codes=tuple(dict.fromkeys(finding.code for finding in findings)), pieces=tuple(pieces), is_open=is_open,
    )  # fmt: skip


def _difference(field: FieldDrift) -> DifferenceRow:
    before, after = values_of(field)
    return DifferenceRow(
        path=field.path,
        before=before,
        after=after,
        words=drift_words(field),
        tone="warn" if field.is_drift else "quiet",
    )


def _why_nobody_is_named(drift: Drift) -> list[str]:
    """Return the reasons, each once."""
    attributions = [
        by for item in drift.drifted for by in (author(item), *(f.by for f in item.fields if f.is_drift)) if by
    ]
    return [*dict.fromkeys(by.unknown for by in attributions if by.actor is None and by.unknown)]


def drift_sums_line(drift: Drift) -> str:
    """Return the sums, such as `2 changed · 1 pending · 40 resources as declared`, and how much of the account is
    declared."""
    counts = drift.counts
    drifted = [
        f"{counts[standing.value]:_} {standing.value}"
        for standing in Standing
        if standing.is_drift and counts[standing.value]
    ]
    rest = [f"{counts[name]:_} {name}" for name in ("unknown", "pending", "orphaned", "ignored") if counts[name]]
    calm = in_sync_sentence(drift) + _coverage_sentence(drift)
    if not (drifted or rest):
        return f"no drift, {calm}"
    return " · ".join(filter(None, (", ".join(drifted) or "no drift", ", ".join(rest), calm)))


def in_sync_sentence(drift: Drift) -> str:
    """Return `40 resources as declared`, which leaves out what drifted or waits to be applied, and how many of them no
    apply has recorded."""
    unrecorded = f" ({drift.unrecorded:_} without a record of an apply)" if drift.unrecorded else ""
    return f"{counted(drift.in_sync, 'resource')} as declared{unrecorded}"


def _coverage_sentence(drift: Drift) -> str:
    """`, 94 % of live objects are declared (10 are not)`"""
    extras = len(drift.coverage.extras)
    if not extras:
        return ""
    return f", {drift.coverage.percent} % of what is live is declared ({extras:_} live {noun(extras, 'object')} not)"


GONE = "Nothing brings back the messages and positions of what somebody deleted."


def restored_sentence(restored: Plan, drift: Drift) -> str:
    """Return what is true once this restoration is done."""
    ours = restorable(drift)
    lost = any(item.owned and item.standing in (Standing.MISSING, Standing.RECREATED) for item in ours)
    lost |= any(verdict.is_about_the_gone for change in restored.changes for verdict in change.verdicts)
    gone = f" {GONE}" if lost else ""
    if not any(change.action.writes for change in restored.changes):
        return f"No configuration had to be put back.{gone}"
    left = listed([_name_with_staying_fields(item) for item in drift.drifted if item.has_drift_left])
    drifted = f"Everything that drifted here, but for {left}," if left else "Everything that drifted here"
    if any(item.owned is None for item in ours):
        how = AS_FAR_AS_RECORDED if any(item.owned for item in ours) else AS_DECLARED
    else:
        how = AS_APPLIED if lost else PUT_BACK
    return f"{drifted} {how}{gone}"


AS_DECLARED = "is configured as the files say: no record tells what was applied."
AS_FAR_AS_RECORDED = "is configured as it was applied, or as the files say where no record tells what was applied."
AS_APPLIED = "is configured as it was applied."
PUT_BACK = "is put back."


SHARED = {"--environment", "--value", "--values"}


def is_shared(arguments: str) -> bool:
    """Do the arguments of the command say that the files hold for other environments or values too?"""
    return not SHARED.isdisjoint(arguments.split())


BY_HAND = "To keep it, edit the files by hand: they hold for other environments or values too."


def _name_with_stuck_fields(item: Item) -> str:
    return f"{listed(item.stuck)} of {visible(item.address)}" if item.stuck else visible(item.address)


def _name_with_staying_fields(item: Item) -> str:
    """Name what a restoration leaves: fields that no apply changes, or an object that is not this topology's."""
    fields = [field.path for field in item.fields if field.is_drift and field.stays] if item.is_ours else []
    return f"{listed(fields)} of {visible(item.address)}" if fields else visible(item.address)


def _advice(drift: Drift, arguments: str) -> Iterator[str]:
    accepting, restoring = (f"reconciler drift {command} {arguments}".rstrip() for command in ("accept", "restore"))
    if not drift.ledger_known:
        yield "Bucket `reconciler` could not be read, so everything was compared with the files alone."
    ours = restorable(drift)
    if drift.ledger_known and any(item.owned is None for item in ours):
        yield f"To see what an apply would adopt and change: reconciler plan {arguments}".rstrip()
    kept = [item for item in ours if item.refusals]
    back = [item for item in ours if not item.refusals and (item.owned or not drift.ledger_known)]
    if any(item.is_only_recorded for item in back):
        yield GONE
    if any(not item.is_only_recorded for item in back):
        way = "put it back" if any(item.owned for item in back) else "make it as the files say"
        yield f"To {way}: {restoring}"
    elif back:
        yield f"To record it as it is now: {restoring}"
    if any(item.standing is Standing.MISSING and item.owned for item in ours):
        yield "If something that is missing is no longer wanted, move it in the files to `removed`."
    if stay := [_name_with_staying_fields(item) for item in drift.drifted if item.is_ours and item.has_drift_left]:
        yield f"No apply puts back {listed(stay)}; to see what to do: reconciler plan {arguments}".rstrip()
    if kept:
        codes = ", ".join(dict.fromkeys(code for item in kept for code in item.refusals))
        yield f"Nothing puts back {listed([_name_with_stuck_fields(item) for item in kept])} ({codes})."
        if any(field.is_stuck and field.is_sayable for item in kept if item.stuck for field in item.fields):
            yield "Write what is live there into the file, and `drift restore` puts back the rest."
        stuck = [field for item in kept for field in item.fields if field.is_stuck]
        if paths := [visible(field.path) for field in stuck if not field.is_sayable]:
            yield f"No file can say {listed(paths)} there; to see what to do: reconciler plan {arguments}".rstrip()
    if any(field.is_drift and field.is_sayable for item in drift.items for field in item.fields):
        yield BY_HAND if is_shared(arguments) else f"To keep it and change the files: {accepting}"
