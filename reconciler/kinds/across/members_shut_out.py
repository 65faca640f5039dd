"""Members of static groups on a work queue, where each message has one consumer: who else takes what they ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import static_groups
from reconciler.kinds.afterwards.streams import afterwards
from reconciler.kinds.consumer_checks.neighbours import consumers_of
from reconciler.kinds.fields.actions import is_new
from reconciler.kinds.fields.words import few
from reconciler.kinds.group_records.group_record import durable_names
from reconciler.kinds.group_records.member_subjects import durable_subjects, group_subjects, idle_filters
from reconciler.kinds.losses.dependants import consumers
from reconciler.kinds.subjects.filters import FILTERS, filters_of
from reconciler.kinds.subjects.subject_lists import colliding
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address, Config

APART = "let no two of them take the same subjects; or start the members once the other one is removed"


@rule(
    "XX558", "members-shut-out", on=(Action.CREATE, Action.UPDATE, Action.REPLACE), of=("static_group", "consumer"),
    needs=("neighbours",), reaction=Reaction.HARMS,
)  # fmt: skip
def members_shut_out(change: Change, view: View) -> Iterator[Finding]:
    """Members of a static group want messages of a work queue that a consumer or another static group takes.

    Each message of a work queue has one consumer, so the server refuses the consumer of such a member when it starts (10099,
    10100). The record is written all the same. With mappings, members of the reference want all subjects of their partitions,
    whatever the filters say.

    Instead: let no two of them take the same subjects; or start the members once the other one is removed.
    """
    if afterwards(view).streams.get(change.address.stream, {}).get("retention") != "workqueue" or not change.desired:
        return
    if change.address.kind == "consumer":
        yield from _consumer_findings(change, view) if is_new(change, *FILTERS) else ()
    elif change.action is Action.CREATE:
        yield from _group_findings(change, view)


def _group_findings(change: Change, view: View) -> Iterator[Finding]:
    """One for each other that takes what the members want."""
    stream, name = change.address.names
    wanted, others = durable_subjects(name, change.wanted), consumers_of(change, view)
    known = {*wanted, *_live_durables(stream, view)}
    for subjects in wanted.values():
        while collision := others.colliding_consumer(known, subjects):
            other, theirs = collision
            known.add(other)
            yield _shut_out_finding(
                change, f"consumer {other} takes {_as_code(theirs)}", consumers(stream, [other], view), wanted, theirs
            )
    for address, config in _earlier_groups(change, view):
        if theirs := _first_colliding_filter(group_subjects(change.wanted), group_subjects(config)):
            yield _shut_out_finding(
                change, f"static group {address.name} takes {_as_code(theirs)}", [address], wanted, theirs
            )


def _shut_out_finding(
    change: Change, who: str, affects: Sequence[Address], wanted: Mapping[str, Sequence[str]], theirs: str | None
) -> Finding:
    asked = [subject for subjects in wanted.values() for subject in subjects if collide(subject, theirs or ">")]
    ignored = idle_filters(change.wanted)
    why = ", for those of the reference ignore filters beside member_mappings" if ignored else ""
    return Finding(
        outcome=Outcome.WARNS,
        path="filters" if change.becomes("filters") else "",
        message=f"stream {change.address.stream} is a work queue, and {who} of it: the server refuses the consumers of members, which ask "
        f"for {few(asked, 3)}{why}",
        fix=f"use plain members, which apply the filters; or {APART}" if ignored else APART,
        affects=affects,
    )


def _consumer_findings(change: Change, view: View) -> Iterator[Finding]:
    """Members whose consumers exist are consumers like others."""
    stream, filters = change.address.stream, filters_of(change.wanted)
    live = view.snapshot.consumers.get(stream, {})
    for address, config in static_groups(stream, view):
        own = durable_subjects(address.name, config)
        asked = [subject for name, subjects in own.items() if name not in live for subject in subjects]
        taken = colliding(asked, filters)
        if taken and address in view.live:
            yield Finding(
                outcome=Outcome.WARNS,
                path=next((path for path in FILTERS if change.becomes(path)), ""),
                message=f"stream {stream} is a work queue, and members of static group {address.name} ask for {few(taken, 3)} of it: the "
                "server refuses the consumers of those that start later",
                fix=APART,
                affects=[address],
            )


def _live_durables(stream: str, view: View) -> Iterator[str]:
    """Consumers of members: groups are compared as a whole, and one that goes takes its consumers along."""
    for address, resource in view.live.items():
        if address.kind == "static_group" and address.stream == stream:
            yield from durable_names(address.name, resource.config)


def _earlier_groups(change: Change, view: View) -> Iterator[tuple[Address, Config]]:
    """Other groups of the stream; of those that the plan creates, the ones before this, so that one of two says it."""
    for address, config in static_groups(change.address.stream, view):
        if address in view.live or address < change.address:
            yield address, config


def _first_colliding_filter(mine: Sequence[str], others: Sequence[str]) -> str | None:
    """The first of the others that matches what mine match."""
    return next(iter(colliding(others, mine)), None)


def _as_code(subject: str | None) -> str:
    return f"`{subject}`" if subject else "every message"


RULES = (members_shut_out,)
