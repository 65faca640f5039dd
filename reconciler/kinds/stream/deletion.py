"""What is lost with a deleted stream: its messages, and its consumers, whoever made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reconciler.changes.amount import exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.words import few, size, some
from reconciler.kinds.group_records.group_record import durable_names
from reconciler.kinds.losses import dependants, over_limit
from reconciler.kinds.losses.ordered_readers import ordered_readers_text
from reconciler.kinds.losses.schedules_and_counters import deletion_text
from reconciler.kinds.losses.uncaptured import takeover_text
from reconciler.kinds.losses.unprocessed import (
    LostMessages,
    unread_by_consumers,
    unread_consumers_refusal,
)
from reconciler.model.resource import Address
from reconciler.model.written import quoted


@rule("ST310", "stream-deletion", on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)
def stream_deletion(change: Change, view: View) -> Iterator[Finding]:
    """A stream is deleted with everything in it: messages, and all its consumers, whoever made them.

    `removed:` is the consent to the deletion; this verdict says what it costs. Consumers that the files do not remove
    need a consent of their own. Consumers of another topology are refused: that topology must remove or forget them
    first. No consent covers consumers that were applied with `protect: true`, or consumers that could not be read.

    Stored message schedules are never sent, and counters start again at 0 wherever they are counted next.

    Clients that read in order keep an ephemeral consumer and see no error. If a stream of that name comes back, they
    continue after the last message that they got. They silently skip as many messages of the new stream, until they
    restart.

    Readers in other accounts and domains, such as sources over an export or mirrors on a leaf node, are in no plan: no
    server lists them, with the exception that XX231 names. Run `nats stream report` there to see what is copied.

    If another stream takes over its subjects, no stream stores them for a moment. If apply is interrupted at that
    point, no stream stores them until the next apply.

    Instead: `forget:` the stream, which leaves it as it is, or empty it first.
    """
    consumers = list(_lost_consumer_findings(change, view))
    yield from consumers[:-1]
    yield from _merge_findings(
        [*consumers[-1:], *_lost_message_findings(change, view), *_lost_subject_findings(change, view)]
    )


def _merge_findings(parts: Sequence[Finding]) -> Iterator[Finding]:
    """One finding made of all: the first one's outcome and fix, with the words and numbers of each."""
    words = "; ".join(finding.message for finding in parts)
    quantities = {name: number for finding in parts for name, number in finding.quantities.items()}
    yield from (replace(first, message=words, quantities=quantities) for first in parts[:1])


def _lost_consumer_findings(change: Change, view: View) -> Iterator[Finding]:
    name = change.address.name
    losing = list(_names_of_lost_consumers(name, view))
    foreign = [reader for reader in losing if view.owner_of("consumer", name, reader)]
    protected = [reader for reader in losing if reader not in foreign and view.protects("consumer", name, reader)]
    if unread := unread_consumers_refusal(name, over_limit.state_of(change), view):
        yield unread
    if foreign:
        yield Finding(
            outcome=Outcome.REFUSED,
            quantities={"consumers": len(foreign)},
            affects=dependants.consumers(name, foreign, view),
            message=f"{some(len(foreign), 'consumer')} of other topologies would be deleted with it",
            fix="let their topologies remove or forget them first",
        )
    if protected:
        yield Finding(
            outcome=Outcome.REFUSED,
            quantities={"consumers": len(protected)},
            message=f"{some(len(protected), 'protected consumer')} would be deleted with it, and no consent allows that: "
            f"{few(protected)}",
            fix="declare and apply them once with protect: false, in a change of its own",
        )
    if losing := [reader for reader in losing if reader not in foreign and reader not in protected]:
        yield Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path="",
            quantities={"consumers": len(losing)},
            affects=dependants.consumers(name, losing, view),
            message=f"consumers that the files do not remove are deleted with it: {few(losing)}{ordered_readers_text(name, view)}",
            fix=f"{_fix_for_lost_consumers(change, losing, view)}, or allow it for this run: --allow ST310={change.address}",
        )


def _fix_for_lost_consumers(change: Change, losing: Sequence[str], view: View) -> str:
    """A topology can remove only what it owns; the consumers of members go with their group."""
    stream, groups = change.address.name, _groups_by_consumer(change.address.name, view)
    addresses = dict.fromkeys(
        groups[reader].address if reader in groups else Address.of("consumer", stream, reader) for reader in losing
    )
    if not all(address in view.ledger for address in addresses):
        return "ask whoever made them to delete them first"
    entries = ", ".join(f"{{address: {quoted(str(address))}, reason: …}}" for address in addresses)
    return f"write removed: [{entries}] as well"


def _groups_by_consumer(stream: str, view: View) -> dict[str, Change]:
    """By the name of a consumer that a member of a static group has: what becomes of the group."""
    return {
        name: change
        for change in view.children(stream, "static_group")
        for name in durable_names(change.address.name, change.live.config if change.live else {})
    }


def _lost_message_findings(change: Change, view: View) -> Iterator[Finding]:
    state, name = over_limit.state_of(change), change.address.name
    if messages := state.get("messages", 0):
        everything = LostMessages(messages=exactly(messages), before=exactly(state.get("last_seq", messages) + 1))
        late = unread_by_consumers(name, state, everything, view)
        yield Finding(
            outcome=Outcome.WARNS,
            quantities={"messages": messages, "bytes": state.get("bytes", 0)}
            | ({"unprocessed": late.furthest} if late.furthest.most else {}),
            message=f"this deletes {some(messages, 'message')} ({size(state.get('bytes', 0))}){late.words}{deletion_text(change)}",
        )


def _lost_subject_findings(change: Change, view: View) -> Iterator[Finding]:
    if words := takeover_text(change, view):
        yield Finding(outcome=Outcome.WARNS, message=words)


def _names_of_lost_consumers(name: str, view: View) -> Iterator[str]:
    """Consumers that are there, and those of other topologies that could not be read and may be there."""
    removed = {c.address.name for c in view.children(name, "consumer") if c.action is Action.DELETE}
    removed |= {
        consumer for consumer, group in _groups_by_consumer(name, view).items() if group.action is Action.DELETE
    }
    yield from (consumer for consumer in view.snapshot.consumers.get(name, {}) if consumer not in removed)
    recorded = [a for a in view.ledger if a.kind == "consumer" and a.stream == name] if view.snapshot.unknown else ()
    for address in sorted(recorded):
        if view.snapshot.why_consumer_unknown(*address.names) and view.owner_of(address.kind, *address.names):
            yield address.name
