"""Drift as text: what drifted and how, what waits to be applied, what is not declared, and what to do now.

After `drift accept`, what was written into the files stands before the drift that is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.plan import Plan
from reconciler.journeys.drift.codec import drift_json
from reconciler.journeys.drift.drift import UNREMEMBERED, Drift, FieldDrift, Item, Standing, Written
from reconciler.journeys.drift.way_back import restorable
from reconciler.kinds.fields.words import listed
from reconciler.report.document.document import name_in_environment
from reconciler.report.document.headline import topology_and_account, what_was_read_text
from reconciler.report.words import diagnostics
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.values import counted, kind_noun, name_lines, noun, show_live, show_side, show_wanted
from reconciler.report.words.visible import columns, inert, padded, visible
from reconciler.server.wire.audit import Attribution


def accepted_text(written: Sequence[Written], left: Drift, paper: Paper, *, arguments: str) -> str:
    """Return a line for each field that was written, then the report of the drift that is left."""
    lines = [_accepted_line(value) for value in written]
    if written:
        files = {value.span.file for value in written if value.span}
        lines += ["", f"{counted(len(written), 'field')} written into {counted(len(files), 'file')}. Left now:", ""]
    return "\n".join([*lines, drift_text(left, paper, arguments=arguments)])


def _accepted_line(value: Written) -> str:
    """As the file had it → as it is now."""
    location, change = f"{visible(str(value.span))}  " if value.span else "", value.field.change
    return (
        f"{location}{visible(value.address)}  {visible(value.field.path)}  {show_wanted(change)} → {show_live(change)}"
    )


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
    if not (shown or drift.diagnostics or paper.verbose) and drift.ledger_known:
        return f"{place_text(drift)}: no drift, {in_sync_sentence(drift)}{_coverage_sentence(drift)}\n"
    lines = [*_head_lines(drift, paper, seconds), ""]
    if drift.diagnostics:
        lines += [*diagnostics.lines(drift.diagnostics, paper), ""]
    for alike in _equal_items(shown):
        lines += [*_entry_lines(alike, paper), ""]
    if paper.verbose and drift.coverage.extras:
        lines += [*name_lines("live, but not declared anywhere:", drift.coverage.extras, paper, 0), ""]
    then = [] if goes_on else _advice_lines(drift, arguments, paper)
    return inert(
        "\n".join([*lines, *_unknown_author_lines(drift, paper), *paper.wrapped(drift_sums_line(drift)), *then]) + "\n"
    )


def place_text(drift: Drift) -> str:
    """`orders → account ORDERS at prod-eu (nats-server 2.12.8, 3 nodes)`"""
    return topology_and_account(name_in_environment(drift.topology, drift.environment), drift.target)


def _head_lines(drift: Drift, paper: Paper, seconds: float | None) -> list[str]:
    return paper.heading_lines(place_text(drift), what_was_read_text(drift.read, seconds) if drift.read else "")


def _equal_items(items: Sequence[Item]) -> list[list[Item]]:
    """Show equal drift of many objects once."""
    groups: dict[object, list[Item]] = {}
    for item in items:
        groups.setdefault(_sameness(item), []).append(item)
    return [
        part for same in groups.values() for part in ([same] if len(same) >= ALIKE else [[alone] for alone in same])
    ]


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


def _entry_lines(items: Sequence[Item], paper: Paper) -> list[str]:
    first = items[0]
    location = visible(str(first.span)) if first.span else ""
    if len(items) > 1:
        kind = first.address.split("/")[0]
        name = f"{len(items):_} {kind_noun(kind, len(items))}"
        location = f"{location} and {len(items) - 1:_} more" if location else ""
    else:
        name = visible(first.address)
    lines = [
        _title_line(first, name, location, paper),
        *_object_lines(first, paper),
        *_field_lines(first.fields, paper),
    ]
    names = [item.address.split("/", 1)[1] for item in items] if len(items) > 1 else []
    return [*lines, *(name_lines("namely", names, paper, 4) if names else [])]


def _title_line(item: Item, name: str, location: str, paper: Paper) -> str:
    word = _WORDS.get(item.standing, "") if not item.fields or item.standing is not Standing.PENDING else ""
    left = f"{_MARKS[item.standing]} {name}{f'  {word}' if word else ''}"
    line = paper.with_right(left, location)
    painted = paper.paint(left, _ROLES[item.standing])
    return painted + paper.paint(line[len(left) :], "quiet")


def _object_lines(item: Item, paper: Paper) -> list[str]:
    sentences = "; ".join(filter(None, (item_sentence(item), f"ignored: {item.ignored}" if item.ignored else "")))
    return paper.wrapped(sentences, 4) if sentences else []


def item_sentence(item: Item) -> str:
    """Return what happened to the whole object, who did it, and what was lost with it."""
    sentence = item.reason or _SAYS.get(item.standing, "")
    by = _author(item)
    happened = f"{sentence}, by {_author_text(by)}" if sentence and by else sentence
    deleted = f"the old one was deleted by {_author_text(item.deleted_by)}" if item.deleted_by else ""
    return "; ".join(filter(None, (happened, deleted, *item.lost)))


def _author(item: Item) -> Attribution | None:
    """Who did it; nobody is unknown where nothing tells that anybody did."""
    return item.by if item.by and (item.by.actor or item.owned) else None


_SAYS = {
    Standing.UNKNOWN: "its live state is unknown",
    Standing.ORPHANED: "owned and live, but no longer declared; `removed` deletes it, `forget` gives up ownership",
}


def _field_lines(fields: Sequence[FieldDrift], paper: Paper) -> list[str]:
    names = [visible(field.path) for field in fields]
    width = min(max(map(columns, names), default=0), 40)
    values = [arrow_text(field) for field in fields]
    wide = min(max(map(columns, values), default=0), 40)
    lines: list[str] = []
    for name, value, field in zip(names, values, fields, strict=True):
        head = f"    {padded(name, width)}  "
        lines += _two_column_lines(head + padded(value, wide), _field_words(field), columns(head), paper)
    return lines


def field_sentence(field: FieldDrift) -> str:
    """Describe one field: `max_age 7d → 3d, changed outside`."""
    return f"{field.path} {arrow_text(field)}, {_field_words(field)}"


def _two_column_lines(left: str, words: str, margin: int, paper: Paper) -> list[str]:
    """On one line where there is room, otherwise below the value."""
    if columns(left) + columns(words) + 2 <= paper.width:
        return [f"{left}  {words}".rstrip()]
    return [left.rstrip(), *paper.wrapped(words, margin)]


def arrow_text(field: FieldDrift) -> str:
    """Return `applied → found`; for a change that waits to be applied, `live → file`."""
    info = field.change.info
    if not field.drifted:
        return f"{show_live(field.change)} → {show_wanted(field.change)}"
    applied = show_wanted(field.change) if field.applied == field.change.desired else show_side(field.applied, info)
    return f"{applied} → {show_live(field.change)}"


def _field_words(field: FieldDrift) -> str:
    sentence = field.cause
    if not field.is_drift:
        return sentence
    if field.by and (field.by.actor or sentence != UNREMEMBERED):
        sentence += f" by {_author_text(field.by)}"
    if field.applied != field.change.desired:
        sentence += f"; the file now says {show_wanted(field.change)}"
    return f"{sentence}; no apply puts it back" if field.stays else sentence


def _author_text(by: Attribution) -> str:
    if by.actor is None:
        return "unknown"
    actor = by.actor
    inside = ", ".join(part for part in (f"user {actor.user}" if actor.user else "", actor.host) if part)
    client = actor.client or "a client without a name"
    return visible(f"{client}{f' ({inside})' if inside else ''}, {_time_to_the_second(actor.at)}")


def _time_to_the_second(moment: str) -> str:
    """`2026-11-21T03:43:22.899155069Z` → `2026-11-21 03:43:22Z`"""
    seconds, dot, _ = moment.partition(".")
    return f"{seconds.replace('T', ' ')}Z" if dot else moment.replace("T", " ")


def _unknown_author_lines(drift: Drift, paper: Paper) -> list[str]:
    """Say why nobody is named, each reason once."""
    attributions = [
        by for item in drift.drifted for by in (_author(item), *(f.by for f in item.fields if f.is_drift)) if by
    ]
    reasons = dict.fromkeys(by.unknown for by in attributions if by.actor is None and by.unknown)
    return [line for why in reasons for line in paper.wrapped(f"By unknown: {why}.")]


def drift_sums_line(drift: Drift) -> str:
    """Return the sums, such as `2 changed · 1 pending · 40 resources as declared`, and how much of the account is
    declared."""
    counts = drift.counts
    strayed = [
        f"{counts[standing.value]:_} {standing.value}"
        for standing in Standing
        if standing.is_drift and counts[standing.value]
    ]
    rest = [f"{counts[name]:_} {name}" for name in ("unknown", "pending", "orphaned", "ignored") if counts[name]]
    parts = [", ".join(strayed) or "no drift", ", ".join(rest), in_sync_sentence(drift) + _coverage_sentence(drift)]
    return " · ".join(filter(None, parts))


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
    left = listed([_name_with_staying_fields(item) for item in drift.drifted if item.is_left])
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


def _advice_lines(drift: Drift, arguments: str, paper: Paper) -> list[str]:
    return [line for advice in _advice(drift, arguments) for line in paper.wrapped(advice)]


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
    if stay := [_name_with_staying_fields(item) for item in drift.drifted if item.is_ours and item.is_left]:
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
