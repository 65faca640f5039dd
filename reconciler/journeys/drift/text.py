"""Drift as text: what drifted and how, what waits to be applied, what is not declared, and what to do now.

After `--accept`, what was written into the files stands before the drift that is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.change import FieldClass
from reconciler.changes.plan import Plan
from reconciler.journeys.drift.codec import drift_json
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing, Written
from reconciler.journeys.drift.way_back import restorable
from reconciler.kinds.fields.words import listed
from reconciler.report.document.document import in_environment
from reconciler.report.document.headline import what_was_read, where
from reconciler.report.words import diagnostics
from reconciler.report.words.names import kind_noun, name_lines
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.values import counted, noun, show_live, show_side, show_wanted
from reconciler.report.words.visible import columns, inert, padded, visible
from reconciler.server.wire.audit import Attribution


def accepted_text(written: Sequence[Written], left: Drift, paper: Paper, *, arguments: str) -> str:
    """Return a line for each field that was written, then the report of the drift that is left."""
    lines = [_line(one) for one in written]
    if written:
        files = {one.span.file for one in written if one.span}
        lines += ["", f"{counted(len(written), 'field')} written into {counted(len(files), 'file')}. Left now:", ""]
    return "\n".join([*lines, drift_text(left, paper, arguments=arguments)])


def _line(one: Written) -> str:
    """As the file had it → as it is now."""
    place, change = f"{visible(str(one.span))}  " if one.span else "", one.field.change
    return f"{place}{visible(one.address)}  {visible(one.field.path)}  {show_wanted(change)} → {show_live(change)}"


def accepted_json(written: Sequence[Written], left: Drift) -> str:
    """Return the drift that is left, and what was written, as JSON."""
    return drift_json(left, tuple(written))


_MARKS: dict[Standing, str] = {
    Standing.UNKNOWN: "?", Standing.FOREIGN: "!", Standing.MISSING: "-", Standing.RECREATED: "±",
    Standing.CHANGED: "~", Standing.PENDING: "·", Standing.ORPHANED: "*",
}  # fmt: skip
_ROLES: dict[Standing, Role] = {
    Standing.UNKNOWN: "consent", Standing.FOREIGN: "refused", Standing.MISSING: "delete", Standing.RECREATED: "delete",
    Standing.CHANGED: "update", Standing.PENDING: "quiet", Standing.ORPHANED: "quiet",
}  # fmt: skip
_WORDS = {
    Standing.UNKNOWN: "unknown", Standing.FOREIGN: "foreign", Standing.MISSING: "missing",
    Standing.RECREATED: "recreated", Standing.PENDING: "pending", Standing.ORPHANED: "orphaned",
}  # fmt: skip
ALIKE = 3
"""From this many on, objects with equal drift become one entry."""


def drift_text(
    drift: Drift,
    paper: Paper | None = None,
    *,
    arguments: str = "",
    seconds: float | None = None,
    goes_on: bool = False,
) -> str:
    """Return the whole report, ending in a newline. `arguments` are those of the command that made it. With `goes_on`
    the report does not say what to run next."""
    paper = paper or Paper()
    shown = [item for item in drift.items if paper.verbose or not item.is_quiet]
    if not shown and not drift.diagnostics and not paper.verbose:
        return f"{place(drift)}: no drift, {in_sync(drift)}{_coverage(drift)}\n"
    lines = [*_head(drift, paper, seconds), ""]
    if drift.diagnostics:
        lines += [*diagnostics.lines(drift.diagnostics, paper), ""]
    for alike in _alike(shown):
        lines += [*_entry(alike, paper), ""]
    if paper.verbose and drift.coverage.extras:
        lines += [*name_lines("live, but not declared anywhere:", drift.coverage.extras, paper, 0), ""]
    then = [] if goes_on else _next(drift, arguments, paper)
    return inert("\n".join([*lines, *_unknown(drift, paper), *paper.wrapped(sums(drift)), *then]) + "\n")


def place(drift: Drift) -> str:
    """`orders → account ORDERS at prod-eu (nats-server 2.12.8, 3 nodes)`"""
    return where(in_environment(drift.topology, drift.environment), drift.target)


def _head(drift: Drift, paper: Paper, seconds: float | None) -> list[str]:
    return paper.titled(place(drift), what_was_read(drift.read, seconds) if drift.read else "")


def _alike(items: Sequence[Item]) -> list[list[Item]]:
    """Show equal drift of many objects once."""
    groups: dict[object, list[Item]] = {}
    for item in items:
        groups.setdefault(_sameness(item), []).append(item)
    return [part for same in groups.values() for part in ([same] if len(same) >= ALIKE else [[one] for one in same])]


def _sameness(item: Item) -> object:
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


def _entry(items: Sequence[Item], paper: Paper) -> list[str]:
    first = items[0]
    place = visible(str(first.span)) if first.span else ""
    if len(items) > 1:
        kind = first.address.split("/")[0]
        name = f"{len(items):_} {kind_noun(kind, len(items))}"
        place = f"{place} and {len(items) - 1:_} more" if place else ""
    else:
        name = visible(first.address)
    lines = [_title(first, name, place, paper), *_about(first, paper), *_fields(first.fields, paper)]
    names = [one.address.split("/", 1)[1] for one in items] if len(items) > 1 else []
    return [*lines, *(name_lines("namely", names, paper, 4) if names else [])]


def _title(item: Item, name: str, place: str, paper: Paper) -> str:
    word = _WORDS.get(item.standing, "") if not item.fields or item.standing is not Standing.PENDING else ""
    left = f"{_MARKS[item.standing]} {name}{f'  {word}' if word else ''}"
    line = paper.with_right(left, place)
    painted = paper.paint(left, _ROLES[item.standing])
    return painted + paper.paint(line[len(left) :], "quiet")


def _about(item: Item, paper: Paper) -> list[str]:
    said = "; ".join(filter(None, (said_of_item(item), f"ignored: {item.ignored}" if item.ignored else "")))
    return paper.wrapped(said, 4) if said else []


def said_of_item(item: Item) -> str:
    """Return what happened to the whole object, who did it, and what was lost with it."""
    said = item.reason or _SAYS.get(item.standing, "")
    happened = f"{said}, by {_who(item.by)}" if said and item.by else said
    deleted = f"the old one was deleted by {_who(item.deleted_by)}" if item.deleted_by else ""
    return "; ".join(filter(None, (happened, deleted, *item.lost)))


_SAYS = {
    Standing.UNKNOWN: "its live state is unknown",
    Standing.ORPHANED: "owned and live, but no longer declared; `removed` deletes it, `forget` gives up ownership",
}


def _fields(fields: Sequence[FieldDrift], paper: Paper) -> list[str]:
    names = [visible(one.path) for one in fields]
    width = min(max(map(columns, names), default=0), 40)
    values = [arrow(one) for one in fields]
    wide = min(max(map(columns, values), default=0), 40)
    lines: list[str] = []
    for name, value, one in zip(names, values, fields, strict=True):
        head = f"    {padded(name, width)}  "
        lines += _beside(head + padded(value, wide), _words(one), columns(head), paper)
    return lines


def said_of_field(one: FieldDrift) -> str:
    """Describe one field: `max_age 7d → 3d, changed outside`."""
    return f"{one.path} {arrow(one)}, {_words(one)}"


def _beside(left: str, words: str, margin: int, paper: Paper) -> list[str]:
    """On one line where there is room, otherwise below the value."""
    if columns(left) + columns(words) + 2 <= paper.width:
        return [f"{left}  {words}".rstrip()]
    return [left.rstrip(), *paper.wrapped(words, margin)]


def arrow(one: FieldDrift) -> str:
    """Return `applied → found`; for a change that waits to be applied, `live → file`."""
    info = one.change.info
    if not one.drifted:
        return f"{show_live(one.change)} → {show_wanted(one.change)}"
    applied = show_wanted(one.change) if one.applied == one.change.desired else show_side(one.applied, info)
    return f"{applied} → {show_live(one.change)}"


UNREMEMBERED = "differs from the file; no record of an apply"


def _words(one: FieldDrift) -> str:
    if one.change.field_class is FieldClass.UNFINISHED:
        return "left by an interrupted apply, which the next one completes"
    if not one.drifted:
        return "pending: the file changed, and that is not applied yet"
    if one.ignored:
        return f"ignored: {one.ignored}"
    said = UNREMEMBERED if one.change.field_class is FieldClass.PLAIN else "changed outside"
    if one.by and (one.by.actor or said != UNREMEMBERED):
        said += f" by {_who(one.by)}"
    if one.applied != one.change.desired:
        said += f"; the file now says {show_wanted(one.change)}"
    return f"{said}; no apply puts it back" if one.stays else said


def _who(by: Attribution) -> str:
    if by.actor is None:
        return "unknown"
    one = by.actor
    inside = ", ".join(part for part in (f"user {one.user}" if one.user else "", one.host) if part)
    client = one.client or "a client without a name"
    return visible(f"{client}{f' ({inside})' if inside else ''}, {_to_the_second(one.at)}")


def _to_the_second(at: str) -> str:
    """`2026-11-21T03:43:22.899155069Z` → `2026-11-21 03:43:22Z`"""
    whole, dot, _ = at.partition(".")
    return f"{whole.replace('T', ' ')}Z" if dot else at.replace("T", " ")


def _unknown(drift: Drift, paper: Paper) -> list[str]:
    """Say why nobody is named, each reason once."""
    said = [one for item in drift.drifted for one in (item.by, *(f.by for f in item.fields if f.counts)) if one]
    reasons = dict.fromkeys(one.unknown for one in said if one.actor is None and one.unknown)
    return [line for why in reasons for line in paper.wrapped(f"By unknown: {why}.")]


def sums(drift: Drift) -> str:
    """Return the sums, such as `2 changed · 1 pending · 40 resources as declared`, and how much of the account is
    declared."""
    counts = drift.counts
    strayed = [f"{counts[one.value]:_} {one.value}" for one in Standing if one.is_drift and counts[one.value]]
    rest = [f"{counts[name]:_} {name}" for name in ("unknown", "pending", "orphaned", "ignored") if counts[name]]
    parts = [", ".join(strayed) or "no drift", ", ".join(rest), in_sync(drift) + _coverage(drift)]
    return " · ".join(filter(None, parts))


def in_sync(drift: Drift) -> str:
    """Return `40 resources as declared`, which leaves out what drifted or waits to be applied, and how many of them no
    apply has recorded."""
    unrecorded = f" ({drift.unrecorded:_} without a record of an apply)" if drift.unrecorded else ""
    return f"{counted(drift.in_sync, 'resource')} as declared{unrecorded}"


def _coverage(drift: Drift) -> str:
    """`, 94 % of live objects are declared (10 are not)`"""
    extras = len(drift.coverage.extras)
    if not extras:
        return ""
    return f", {drift.coverage.percent} % of what is live is declared ({extras:_} live {noun(extras, 'object')} not)"


GONE = "Nothing brings back the messages and positions of what somebody deleted."


def closing(restored: Plan, drift: Drift) -> str:
    """Return what is true once this restoration is done."""
    ours = restorable(drift)
    lost = any(item.owned and item.standing in (Standing.MISSING, Standing.RECREATED) for item in ours)
    lost |= any(verdict.is_about_the_gone for change in restored.changes for verdict in change.verdicts)
    gone = f" {GONE}" if lost else ""
    if not any(change.action.writes for change in restored.changes):
        return f"No configuration had to be put back.{gone}"
    left = listed([_staying(item) for item in drift.drifted if item.is_left])
    what = f"Everything that drifted here, but for {left}," if left else "Everything that drifted here"
    if any(item.owned is None for item in ours):
        how = AS_FAR_AS_RECORDED if any(item.owned for item in ours) else AS_DECLARED
    else:
        how = AS_APPLIED if lost else PUT_BACK
    return f"{what} {how}{gone}"


AS_DECLARED = "is configured as the files say: no record tells what was applied."
AS_FAR_AS_RECORDED = "is configured as it was applied, or as the files say where no record tells what was applied."
AS_APPLIED = "is configured as it was applied."
PUT_BACK = "is put back."


SHARED = {"--environment", "--value", "--values"}
"""Options that say that the files hold for other places too."""
BY_HAND = "To keep it, edit the files by hand: they hold for other environments or values too."


def _next(drift: Drift, arguments: str, paper: Paper) -> list[str]:
    return [line for said in _advice(drift, arguments) for line in paper.wrapped(said)]


def _of(item: Item) -> str:
    return f"{listed(item.stuck)} of {visible(item.address)}" if item.stuck else visible(item.address)


def _staying(item: Item) -> str:
    """Name what a restoration leaves: fields that no apply changes, or an object that is not this topology's."""
    fields = [one.path for one in item.fields if one.counts and one.stays] if item.is_ours else []
    return f"{listed(fields)} of {visible(item.address)}" if fields else visible(item.address)


def _advice(drift: Drift, arguments: str) -> Iterator[str]:
    command = f"reconciler drift {arguments}".rstrip()
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
        yield f"To {way}: {command} --restore"
    elif back:
        yield f"To record it as it is now: {command} --restore"
    if any(item.standing is Standing.MISSING and item.owned for item in ours):
        yield "If something that is missing is no longer wanted, move it in the files to `removed`."
    if stay := [_staying(item) for item in drift.drifted if item.is_ours and item.is_left]:
        yield f"No apply puts back {listed(stay)}; to see what to do: reconciler plan {arguments}".rstrip()
    if kept:
        codes = ", ".join(dict.fromkeys(code for item in kept for code in item.refusals))
        yield f"Nothing puts back {listed([_of(item) for item in kept])} ({codes})."
        if any(item.stuck for item in kept):
            yield "Write what is live there into the file, and --restore puts back the rest."
    if any(one.counts and one.is_sayable for item in drift.items for one in item.fields):
        shared = not SHARED.isdisjoint(arguments.split())
        yield BY_HAND if shared else f"To keep it and change the files: {command} --accept"
