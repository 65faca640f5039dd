"""Answers questions about groups over a connection: it reads lists, and never sends a request per group where a list
will do."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from reconciler.kinds.group_records.group_record import PRIORITY_GROUP
from reconciler.kinds.groups import data, doctor
from reconciler.kinds.groups.finding import Evidence
from reconciler.kinds.groups.live_group import BUCKETS, Group, Member, groups, refreshed_group
from reconciler.kinds.groups.places import Depths, Located, Pattern, depths, locate, patterns, source_depths
from reconciler.model.code_pages import PAGES
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, SourceSpan
from reconciler.model.resource import Address
from reconciler.model.wire.questions import SubjectCounts, Unanswered
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.observe import ask, observe, with_consumers
from reconciler.server.wire.api import JetStream

_SOURCED = re.compile(rb"^Nats-Stream-Source: *\S+ (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsRead:
    """The selected groups, and the account they were read from."""

    groups: Sequence[Group]
    snapshot: Snapshot

    @property
    def unread_buckets(self) -> list[Diagnostic]:
        """Buckets whose records are unknown: with these, no list is complete."""
        return [diagnostic for diagnostic in doctor.account_findings(self.snapshot, ()) if diagnostic.code == "GR190"]


async def look(js: JetStream, wanted: Sequence[str] = (), *, consumers: bool = True) -> GroupsRead:
    """Read the groups that match one of the patterns (none: all groups), with the consumers of their members."""
    snapshot = await observe(js, buckets=BUCKETS.values(), consumers_of=())
    chosen = _chosen_groups(groups(snapshot), wanted, snapshot)
    if consumers:
        snapshot = await with_consumers(js, snapshot, {group.queue_name for group in chosen})
        chosen = [refreshed_group(group, snapshot) for group in chosen]
    return GroupsRead(groups=chosen, snapshot=snapshot)


def _chosen_groups(all_groups: Sequence[Group], wanted: Sequence[str], snapshot: Snapshot) -> list[Group]:
    """Select by `ORDERS/billing`, `elastic_group/ORDERS/billing`, or a pattern of either."""
    for pattern in wanted:
        if not any(_is_meant(group, pattern) for group in all_groups):
            raise _nothing_matches(pattern, all_groups, snapshot)
    return [group for group in all_groups if not wanted or any(_is_meant(group, pattern) for pattern in wanted)]


def _is_meant(group: Group, pattern: str) -> bool:
    names = (str(group.address), f"{group.stream}/{group.name}")
    return any(pattern == name or fnmatchcase(name, pattern) for name in names)


def _nothing_matches(pattern: str, known_groups: Sequence[Group], snapshot: Snapshot) -> CannotContinue:
    unread = [diagnostic for diagnostic in doctor.account_findings(snapshot, ()) if diagnostic.code == "GR190"]
    names = [f"{group.stream}/{group.name}" for group in known_groups]
    close = get_close_matches(pattern, names, n=3)
    fix = f"Did you mean {' or '.join(close)}?" if close else "`reconciler groups list` names the existing groups."
    why = f" {unread[0].message[:1].upper()}{unread[0].message[1:]}." if unread else ""
    return group_error("GR191", f"There is no group {pattern}.{why}", fix)


def group_error(code: str, message: str, fix: str, span: SourceSpan | None = None) -> CannotContinue:
    """Return the error of a group with this code, under the name that the code's page has; the caller raises it."""
    return CannotContinue.because(code, PAGES[code].name, message, fix=fix, span=span)


async def queued_depths(js: JetStream, among: Iterable[Group]) -> dict[Address, Depths]:
    """Count the messages queued in each partition. Only elastic groups are counted: a static group's stream keeps
    messages that are already processed. Groups that could not be counted are left out."""
    counted = [group for group in among if group.is_elastic and group.queue is not None and not group.record.broken]
    answers = await ask(js, [_in_queue(group) for group in counted])
    counts = {group.address: answers[_in_queue(group)] for group in counted}
    sizes = {group.address: group.partitions for group in counted}
    return {a: depths(answer, sizes[a]) for a, answer in counts.items() if not isinstance(answer, Unanswered)}


def _in_queue(group: Group) -> SubjectCounts:
    return SubjectCounts(stream=group.queue_name, filter=">")


async def group_details(js: JetStream, wanted: Sequence[str]) -> list[data.GroupDetail]:
    """Return everything about these groups."""
    seen = await look(js, wanted)
    depths_by_group = await queued_depths(js, seen.groups)
    return [data.detail(group, depths_by_group.get(group.address)) for group in seen.groups]


async def group_spreads(js: JetStream, wanted: Sequence[str]) -> list[data.GroupSpread]:
    """Measure how evenly keys and messages spread, in the queue and over what the source retains."""
    seen = await look(js, wanted, consumers=False)
    usable = [group for group in seen.groups if group.partitions and not group.record.broken]
    in_queue, stored = await asyncio.gather(queued_depths(js, usable), _stored_depths(js, usable))
    return [data.spread(g, in_queue.get(g.address), stored.get(g.address)) for g in usable]


async def _stored_depths(js: JetStream, among: Iterable[Group]) -> dict[Address, Depths]:
    sources = [group for group in among if group.source is not None]
    answers = await ask(js, {SubjectCounts(stream=group.stream, filter=">") for group in sources})
    depths_by_group = {}
    for group in sources:
        counts = answers[SubjectCounts(stream=group.stream, filter=">")]
        if not isinstance(counts, Unanswered):
            depths_by_group[group.address] = source_depths(counts, group)
    return depths_by_group


async def examine_groups(js: JetStream, wanted: Sequence[str] = ()) -> tuple[GroupsRead, list[Diagnostic]]:
    """Find what is wrong with these groups; with all groups, also find what belongs to none of them."""
    seen = await look(js, wanted)
    depths_found, sourced = await asyncio.gather(
        queued_depths(js, doctor.groups_with_queue(seen.groups)),
        _source_sequences(js, doctor.groups_in_doubt(seen.groups, seen.snapshot.target.version)),
    )
    evidence = Evidence(depths=depths_found, sourced=sourced, version=seen.snapshot.target.version)
    findings = list(doctor.examine(seen.groups, evidence))
    return seen, [*findings, *(() if wanted else doctor.account_findings(seen.snapshot, seen.groups))]


async def _source_sequences(js: JetStream, doubtful: Sequence[Group]) -> dict[Address, int]:
    """The sequence in its source of the newest message of each queue, from the message's own header."""
    body = {"last_by_subj": ">"}
    answers = await asyncio.gather(*(js.read(f"STREAM.MSG.GET.{group.queue_name}", body) for group in doubtful))
    sequences = {}
    for group, answer in zip(doubtful, answers, strict=True):
        headers = answer.get("message", {}).get("hdrs", "") if isinstance(answer, Mapping) else ""
        if match := _SOURCED.search(base64.b64decode(headers)):
            sequences[group.address] = int(match[1])
    return sequences


async def places(js: JetStream, key: str, wanted: Sequence[str]) -> list[data.KeyPlace]:
    """Find where a key goes in each of these groups, which member works there, and how much is queued in that
    partition."""
    seen = await look(js, wanted)
    usable = (group for group in seen.groups if group.partitions and not group.record.broken)
    pairs = [(group, located) for group in usable for located in _located_keys(key, group, anything=bool(wanted))]
    counts = await ask(js, {_in_partition(*pair) for pair in pairs if pair[0].is_elastic and pair[0].queue is not None})
    return [
        data.partition_and_member_of_key(located, group, _sum(counts.get(_in_partition(group, located))))
        for group, located in pairs
    ]


def _located_keys(key: str, group: Group, *, anything: bool) -> list[Located]:
    """Without a named group, only a key that is a whole subject has an answer."""
    candidates = (locate(key, pattern) for pattern in patterns(group))
    return [
        place_found for place_found in candidates if place_found is not None and (anything or place_found.is_subject)
    ][:1]


def _in_partition(group: Group, located: Located) -> SubjectCounts:
    return SubjectCounts(stream=group.queue_name, filter=f"{located.partition}.>")


def _sum(counts: Mapping[str, int] | Unanswered | None) -> int | None:
    return sum(counts.values()) if isinstance(counts, Mapping) else None


def offline(key: str, pattern: Pattern) -> data.KeyPlace | None:
    """Locate a key without a server."""
    located = locate(key, pattern)
    return data.partition_and_member_of_key(located) if located else None


async def step_down(js: JetStream, wanted: str, member: str) -> dict[str, Any]:
    """End the pin of a member's client, so that another instance may take over, and report who was pinned."""
    group, member_found = _only_member(wanted, member, (await look(js, [wanted])).groups)
    answer = await js.write(f"CONSUMER.UNPIN.{group.queue_name}.{member_found.consumer}", {"group": PRIORITY_GROUP})
    if not isinstance(answer, Mapping):
        message = f"{group.address}: the server did not end the pin of {member}: {answer}."
        raise group_error("GR192", message, "See who is pinned: reconciler groups active.")
    return {
        "address": str(group.address),
        "member": member,
        **({"was": member_found.pin.client} if member_found.pin else {}),
    }


def _only_member(wanted: str, member: str, matching: Sequence[Group]) -> tuple[Group, Member]:
    if len(matching) > 1:
        named = ", ".join(str(group.address) for group in matching[:5])
        raise group_error("GR191", f"{wanted} matches several groups: {named}.", "Name one of them.")
    names = {candidate.name: candidate for candidate in matching[0].members}
    if member not in names:
        fix = f"Its members are {', '.join(names)}." if names else "It has no members."
        raise group_error("GR191", f"{wanted} has no member {member}.", fix)
    if names[member].info is None:
        message = f"Member {member} of {wanted} has no consumer, so no client is pinned."
        raise group_error("GR191", message, "Start an instance of this member.")
    return matching[0], names[member]
