"""Groups as text: the groups, their clients, what is queued, and what another membership or a migration would change.

It is made from the same data that `--format json` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reconciler.changes.plan import PlannedChange
from reconciler.journeys.groups.json import RecordMigration
from reconciler.model.resource import Json
from reconciler.model.units import show_duration
from reconciler.report.document.entries import ChangeEntry, section_of
from reconciler.report.document.entry_lines import entry_lines
from reconciler.report.document.partitions import ranges_text
from reconciler.report.words.paper import Paper, table
from reconciler.report.words.values import counted, noun
from reconciler.report.words.visible import columns, visible

OFFLINE = "From the files alone, as if the group were live as declared: queued and in-flight messages are unknown."


def members_preview_text(
    change: PlannedChange | None,
    paper: Paper,
    *,
    address: str,
    membership: Mapping[str, Json],
    moved: int,
    least: int | None,
    offline: bool = False,
) -> str:
    """Return the change as a plan shows it, then every member's partitions before and after."""
    if change is None:
        return f"{visible(address)}: nothing would change\n"
    lines = entry_lines(ChangeEntry(section=section_of(change), changes=(change,)), paper)
    lines += paper.wrapped(OFFLINE, 4) if offline else []
    lines += _partition_table_lines(change)
    if least is not None and least < moved and "members" in membership and not change.is_blocked:
        sentence = (
            f"With member_mappings only {counted(least, 'partition')} instead of {moved:_} would move: add --mappings."
        )
        lines += ["", *paper.wrapped(sentence)]
    return "\n".join(lines) + "\n"


def _partition_table_lines(change: PlannedChange) -> list[str]:
    """A table of each member's partitions."""
    sides: Mapping[str, Mapping[str, list[int]]] = next(
        (consequence.detail["members"] for consequence in change.consequences if "members" in consequence.detail), {}
    )
    rows = [
        [member, ranges_text(own["now"]) or "none", ranges_text(own["then"]) or "none"] for member, own in sides.items()
    ]
    return ["", *table([["member", "now", "then"], *rows], indent=4)] if rows else []


def migrations_text(records: Sequence[RecordMigration], paper: Paper) -> str:
    """Return every record that has an earlier form."""
    if not records:
        return "no record to migrate\n"
    lines = [line for record in records for line in (*_record_lines(record, paper), "")]
    blocked = sum(bool(record.obstacles) for record in records)
    refused = f", {blocked} refused" if blocked else ""
    return "\n".join([*lines, f"{counted(len(records), 'record')} to migrate{refused}"]) + "\n"


def _record_lines(record: RecordMigration, paper: Paper) -> Iterable[str]:
    mark = "!" if record.obstacles else "~"
    yield paper.paint(f"{mark} {visible(str(record.address))}", "refused" if mark == "!" else "update")
    yield f"    before  {visible(record.before)}"  # never wrapped: a record is copied whole
    yield f"    after   {visible(record.after)}"
    for note in record.notes:
        yield from paper.wrapped(f"{note[0].upper()}{note[1:]}.", 4)
    for obstacle in record.obstacles:
        yield from paper.wrapped(f"GR195 not-migrated, refused. {obstacle.why[0].upper()}{obstacle.why[1:]}.", 4)
        yield from paper.wrapped(f"Instead: {obstacle.fix}.", 4)


Data = Mapping[str, Any]

NOBODY = "-"


def groups_text(groups: Sequence[Data], paper: Paper) -> str:
    """Return the text of `groups list`: a line for each group."""
    if not groups:
        return "no groups\n"
    lines = table([_group_row(group) for group in groups])
    ailing = sum("broken" in group or "legacy" in group for group in groups)
    sums = f"{counted(len(groups), 'group')}" + (f", {ailing} with a record that is not current" if ailing else "")
    return "\n".join([*lines, paper.paint(sums, "quiet")]) + "\n"


def _group_row(group: Data) -> list[str]:
    partitions = counted(group["partitions"], "partition") if "partitions" in group else ""
    members = (
        counted(len(group["members"]), "member") if group.get("members") else "" if "broken" in group else "no members"
    )
    return [group["type"], group_name(group), partitions, members, _state_text(group)]


def group_name(group: Data) -> str:
    """`ORDERS/billing`"""
    return str(group["address"]).partition("/")[2]


def _state_text(group: Data) -> str:
    queue = group.get("queue") or {}
    facts = [f"record broken: {group['broken']}"] if "broken" in group else []
    facts += [f"legacy record: {', '.join(group['legacy'])}"] if "legacy" in group else []
    facts += [f"unknown: {group['unread']}"] if "unread" in group else []
    facts += ["queue stream missing"] if queue.get("missing") else []
    facts += ["resuming"] if "resuming" in queue else []
    if "messages" in queue:
        facts.append(f"{counted(queue['consumers'], 'consumer')}, {queue['messages']:_} queued")
    return "; ".join(facts)


def group_text(group: Data, paper: Paper) -> str:
    """Return the text of `groups show`: all about one group."""
    title = paper.with_right(visible(group["address"]), f"record at revision {group['revision']}")
    lines = [paper.paint(title, "head"), *(line for text in _fact_lines(group) for line in paper.wrapped(text, 2))]
    if group.get("members"):
        lines += ["", *_member_table_lines(group["members"])]
    if group.get("owners"):
        lines += ["", *partition_map_lines(group, paper)]
    return "\n".join(lines) + "\n"


def _fact_lines(group: Data) -> list[str]:
    facts = []
    if "broken" in group:
        facts += [f"The record cannot be read: {group['broken']}.", f"It holds: {group['text']}",
                 "Every running instance stops when it reads it. What to do: reconciler groups doctor " + group_name(group)]  # fmt: skip
    if "unread" in group:
        facts.append(f"Its live state is unknown: {group['unread']}")
    facts += [
        f"{counted(filter_of_group['partitions'], 'partition')} by {_pattern_text(filter_of_group)}"
        for filter_of_group in group["pattern"]
        if "partitions" in group
    ]
    if "legacy" in group:
        facts.append(f"legacy record, with {', '.join(group['legacy'])}; an ordinary apply leaves it alone")
    if writer := group["written_by"].get("record"):
        facts.append(f"record in the form that {writer} writes")
    return [*facts, *_queue_fact_texts(group)]


def _pattern_text(pattern: Data) -> str:
    numbers = pattern.get("wildcards", ())
    by = f"{noun(len(numbers), 'wildcard')} {' '.join(map(str, numbers))}" if numbers else "the whole subject"
    return f"{by} of {pattern['filter']}"


def _queue_fact_texts(group: Data) -> list[str]:
    queue, writer = group.get("queue"), group["written_by"].get("queue")
    if queue is None:
        return []
    if "messages" not in queue:
        return [f"queue {queue['stream']} " + ("does not exist" if queue.get("missing") else "is unknown")]
    behind = f", at least {queue['lag']:_} not copied yet" if queue.get("lag") else ""
    form = f"; in the form that {writer} creates" if writer else ""
    facts = [
        f"queue {queue['stream']}: {counted(queue['messages'], 'message')} ({size_text(queue['bytes'])}){behind}{form}"
    ]
    if "resuming" in queue:
        next_form = "once it has stored a message, the next apply gives it the form that the reference creates"
        facts.append(
            f"resuming: the queue was recreated to start at message {queue['resuming']:_} of its stream; {next_form}"
        )
    return facts


def _member_table_lines(members: Sequence[Data]) -> list[str]:
    head = ["member", "partitions", "queued", "in flight", "pulls", "client"]
    rows = [
        [
            member["member"], ranges_text(member["partitions"]) or "none", _number_text(_unacknowledged_count(member)),
            _number_text(member.get("in_flight")), _number_text(member.get("waiting")), client_text(member),
        ]
        for member in members
    ]  # fmt: skip
    return table([head, *rows], right=frozenset({2, 3, 4}), indent=2)


def _unacknowledged_count(member: Data) -> int | None:
    """Count what is not acknowledged yet. A static group has no queue of its own: its consumer tells what is pending."""
    if "queued" in member or "pending" not in member:
        return member.get("queued")
    return int(member["pending"]) + int(member["in_flight"])


def _number_text(number: int | None) -> str:
    return NOBODY if number is None else f"{number:_}"


def client_text(member: Data) -> str:
    """Say which client is served, since when."""
    if member["state"] == "absent":
        return "no consumer"
    if member["state"] == "unpinned":
        return "no client pinned yet" if member["waiting"] else "consumer without a client"
    return f"{member['client']} pinned for {age_text(member['pinned_for'])}, since {member['since'][:19]}Z"


def size_text(count: int) -> str:
    """Return `900 bytes`, `1.5 KiB`, `40 GiB`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return counted(count, "byte")


def age_text(nanoseconds: int) -> str:
    """Return `3d4h`, `2h5m`, `12s`: two units are precise enough."""
    units = (86_400, 3_600, 60)
    seconds = nanoseconds // 1_000_000_000
    finer = next((finer for unit, finer in zip(units, (3_600, 60, 1), strict=True) if seconds >= unit), 1)
    return show_duration((seconds - seconds % finer) * 1_000_000_000)


def partition_map_lines(group: Data, paper: Paper) -> list[str]:
    """Show a column per partition with its owner and what is queued in it."""
    owners = [owner or NOBODY for owner in group["owners"]]
    rows = [["partition", *map(str, range(len(owners)))], ["owner", *owners]]
    if "queued" in group:
        rows.append(["queued", *(f"{number:_}" for number in group["queued"])])
    lines = block_lines(rows, paper)
    if "unassigned" in group:
        lines += paper.wrapped(f"unassigned: {ranges_text(group['unassigned'])}", 2)
    if "stalled" in group:
        lines += paper.wrapped(f"stalled, with messages but without a client: {ranges_text(group['stalled'])}", 2)
    return [*lines, *_outside_lines(group, paper)]


def _outside_lines(group: Data, paper: Paper) -> list[str]:
    """Name the messages that are queued in no partition of the group."""
    outside = ", ".join(f"{token} ({number:_})" for token, number in group.get("outside", {}).items())
    return paper.wrapped(f"beyond its partitions: {outside}", 2) if outside else []


MOST_COLUMNS = 128
"""Above this number of partitions the columns are left out; JSON has them all."""


def block_lines(rows: Sequence[Sequence[str]], paper: Paper) -> list[str]:
    """Cut wide rows into pieces that fit, each with its labels."""
    labels, cells = [row[0] for row in rows], [row[1 : MOST_COLUMNS + 1] for row in rows]
    width = max(columns(visible(cell)) for row in cells for cell in row) + 2
    fitting = max((paper.width - 2 - max(map(len, labels))) // width, 1)
    lines: list[str] = []
    for start in range(0, len(cells[0]), fitting):
        pieces = [[label, *row[start : start + fitting]] for label, row in zip(labels, cells, strict=True)]
        lines += table(pieces, right=frozenset(range(1, fitting + 1)), indent=2)
    left = len(rows[0]) - 1 - len(cells[0])
    return [*lines, *([f"  and {left} more"] if left else [])]


def active_text(groups: Sequence[Data], _paper: Paper) -> str:
    """Return the text of `groups active`: members with and without a client."""
    rows = [
        [group_name(group), member["member"], client_text(member), *_work_cells(member)]
        for group in groups
        for member in group["members"]
    ]  # fmt: skip
    working = sum(member["state"] == "pinned" for group in groups for member in group["members"])
    total = f"{working} of {counted(len(rows), 'member')} with a client" if rows else "no members"
    return "\n".join([*(table(rows) if rows else ()), total]) + "\n"


def _work_cells(member: Data) -> list[str]:
    if member["state"] == "absent":
        return ["", ""]
    return [f"{counted(member['waiting'], 'pull')} waiting", f"{member['in_flight']:_} in flight"]


def place_text(places: Sequence[Data], _paper: Paper) -> str:
    """Return the text of `groups where`: the partition of a key, and its member."""
    return "".join(f"{_key_place_text(place_data)}\n" for place_data in places)


def _key_place_text(place_data: Data) -> str:
    by = f"by `{visible(place_data['hashed'])}`" if place_data["hashed"] != place_data["key"] else "by the whole key"
    where = f"{visible(place_data['key'])} → partition {place_data['partition']} of {place_data['partitions']}, {by}"
    if "address" not in place_data:
        return where
    member = place_data.get("member")
    owner = f"{member['member']}, {client_text(member)}" if member else "no member owns it"
    queued = f"; {place_data['queued']:_} queued there" if "queued" in place_data else ""
    return visible(f"{group_name(place_data)}: {where}: {owner}{queued}")


def spread_text(groups: Sequence[Data], paper: Paper) -> str:
    """Return the text of `groups skew`: how unevenly partitions are filled."""
    return "\n".join("\n".join(_spread_lines(group, paper)) for group in groups) + "\n" if groups else "no groups\n"


_MEASURED = {
    "queued": "queued",
    "queued_subjects": "subjects",
    "stored": "in the stream",
    "stored_subjects": "subjects",
}


def _spread_lines(group: Data, paper: Paper) -> list[str]:
    owners = [owner or NOBODY for owner in group["owners"]]
    rows = [["partition", *map(str, range(len(owners)))], ["owner", *owners]]
    rows += [[label, *(f"{number:_}" for number in group[key])] for key, label in _MEASURED.items() if key in group]
    return [
        paper.paint(visible(group_name(group)), "head"),
        *block_lines(rows, paper),
        *_outside_lines(group, paper),
        *_sentences(group, paper),
    ]


def _sentences(group: Data, paper: Paper) -> list[str]:
    pairs = (("queued", "queued messages"), ("stored", "messages in the stream"))
    sentences = (
        _unevenness_text(what, group[key], group["owners"]) for key, what in pairs if sum(group.get(key) or ())
    )
    return [line for sentence in sentences for line in paper.wrapped(sentence, 2)]


def _unevenness_text(what: str, numbers: Sequence[int], owners: Sequence[str | None]) -> str:
    total, fullest = sum(numbers), max(range(len(numbers)), key=numbers.__getitem__)
    ratio = numbers[fullest] * len(numbers) / total
    whose = f" ({visible(owner)})" if (owner := owners[fullest]) else ""
    return f"{what}: {total:_}; partition {fullest}{whose} holds {numbers[fullest] / total:.0%}, {ratio:.3g} times its share"
