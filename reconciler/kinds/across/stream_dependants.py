"""What depends on a stream that is deleted: mirrors, sources, groups and consumers, of any topology."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import (
    Reader,
    consumer_readers,
    copying_readers,
    group_readers,
    recorded_readers,
)
from reconciler.kinds.afterwards.streams import afterwards
from reconciler.kinds.fields.words import few, some, verb
from reconciler.kinds.group_records.group_record import STATIC_BUCKET
from reconciler.kinds.losses.dependants import streams
from reconciler.kinds.losses.ordered_readers import ordered_readers_text
from reconciler.kinds.losses.over_limit import state_of
from reconciler.kinds.losses.unprocessed import unread_consumers_refusal
from reconciler.model.resource import Address

NAMED = 5


def reader_labels(readers: Sequence[Reader]) -> str:
    """The first readers by name, and which of them are protected."""
    return few(
        [f"{reader.label}{' (protected)' if reader.change and reader.is_protected else ''}" for reader in readers],
        NAMED,
    )


@rule("XX231", "dependants-left-behind", on=(Action.DELETE,), needs=("live", "neighbours"), reaction=Reaction.HARMS)
def dependants_left_behind(change: Change, view: View) -> Iterator[Finding]:
    """A stream, a bucket or a group's queue is deleted although others still read or copy it, or although groups divide
    it among members.

    The server does not object. Mirrors and sources keep what they have and stop. If a stream of that name comes back,
    most servers continue after the old sequence and skip its first messages. Group records stay, and their members
    fail. ST310 says what happens to plain consumers of a stream. This rule counts those of a bucket, watchers included,
    and those of a queue that are not its members' own.

    Watchers see no error, and wait. If a bucket of that name comes back, it begins at revision 1, and their client
    libraries continue after the last revision that they got. They silently skip as many revisions of the new bucket,
    until they restart.

    Copies in other accounts and domains, such as a mirror on a leaf node, are in no plan unless the server lists what
    feeds them. It does so for work queues and interest streams if both servers are 2.14 or newer. Run `nats stream
    report` there to see what else is copied. Such a mirror continues like any other, and answers direct gets with what
    it has.

    No consent covers a dependant that belongs to another topology, that was applied with `protect: true`, or that could
    not be read. If the group records could not be read, you must know yourself whether there are any.

    Instead: remove or redirect them first, in this plan or through their owners; or allow XX231 for this run.
    """
    if (name := view.stream_of(change.address)) is None:
        return
    if change.address.kind == "stream" and (why := view.snapshot.why_bucket_unknown(STATIC_BUCKET)):
        yield _unread_groups_finding(why, change)
    staying, deleted = [*copying_readers(name, view), *group_readers(name, view)], list[Reader]()
    if change.address.kind == "elastic_group":
        deleted += [reader for reader in consumer_readers(name, view) if reader.address]
    elif change.address.kind != "stream":
        deleted += consumer_readers(name, view)
        if unread := unread_consumers_refusal(name, state_of(change), view):
            yield unread
    if left := [*staying, *deleted]:
        yield _left_behind_finding(left, f"{_fates_text(staying, deleted)}{ordered_readers_text(name, view)}", change)
    if missing := list(recorded_readers(name, view)):
        yield (_unread_dependants_finding if view.target.is_imagined else _gone_dependants_finding)(missing, change)


def _unread_groups_finding(why: str, change: Change) -> Finding:
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        message=f"bucket {STATIC_BUCKET} could not be read ({why}), so the plan cannot tell whether groups divide its messages",
        fix=f"plan again as a user who may read that bucket, or allow it for this run: --allow XX231={change.address}",
    )


def _left_behind_finding(left: Sequence[Reader], fates: str, change: Change) -> Finding:
    outcome, fix = Outcome.REFUSED, "let their topologies remove or redirect them first"
    if not any(reader.owner for reader in left):
        fix = "apply the protected ones once with protect: false, in a change of its own; then remove or redirect them"
    if not any(reader.owner or reader.is_protected for reader in left):
        outcome = Outcome.NEEDS_CONSENT
        fix = f"stop, remove or redirect them first, or allow it for this run: --allow XX231={change.address}"
    return Finding(
        outcome=outcome,
        quantities={"dependants": len(left)},
        affects=addresses_of(left),
        message=fates,
        fix=fix,
    )


def _gone_dependants_finding(missing: Sequence[Reader], change: Change) -> Finding:
    """Its owner's files still declare it, as far as the ledger tells."""
    return _recorded_readers_finding(
        missing, Outcome.NEEDS_CONSENT,
        f"{verb(len(missing), 'are')} not live: the next apply there fails without this {_kind_noun(change)}",
        f", or allow it for this run: --allow XX231={change.address}",
    )  # fmt: skip


def _unread_dependants_finding(recorded: Sequence[Reader], change: Change) -> Finding:
    """No server was asked whether they are live, which decides whether consent is enough."""
    reads, they_are = ("reads", "it is") if len(recorded) == 1 else ("read", "they are")
    return _recorded_readers_finding(
        recorded, Outcome.REFUSED, f"{reads} this {_kind_noun(change)}",
        f"; where {they_are} not live any more, a plan asks for consent instead",
    )  # fmt: skip


def _recorded_readers_finding(readers: Sequence[Reader], outcome: Outcome, text: str, otherwise: str) -> Finding:
    owners = few([f"`{name}`" for name in dict.fromkeys(reader.owner or "" for reader in readers)], NAMED)
    return Finding(
        outcome=outcome,
        quantities={"dependants": len(readers)},
        affects=addresses_of(readers),
        message=f"{some(len(readers), 'reader')} that the ledger knows of {owners} {text}",
        fix=f"let {owners} remove {'it' if len(readers) == 1 else 'them'} first{otherwise}",
    )


def _kind_noun(change: Change) -> str:
    return change.address.kind.replace("_", " ")


def _fates_text(staying: Sequence[Reader], deleted: Sequence[Reader]) -> str:
    """Copies and records of groups stay; a consumer is deleted with its stream."""
    get = f"{some(len(staying), 'reader')} {verb(len(staying), 'get')} nothing more from it: {reader_labels(staying)}"
    are = f"{reader_labels(deleted)} {verb(len(deleted), 'are')} deleted with it"
    return "; ".join([*([get] if staying else []), *([are] if deleted else [])])


def addresses_of(readers: Sequence[Reader]) -> list[Address]:
    """The addresses of those readers that have one."""
    return [reader.address for reader in readers if reader.address]


@rule("XX232", "copying-consumer-removed", on=(Action.DELETE,), needs=("live", "neighbours"), reaction=Reaction.HARMS)
def copying_consumer_removed(change: Change, view: View) -> Found:
    """A mirror or source copies through this very consumer (`consumer: {name: …}`), which is to be deleted.

    The copying stream then stops, and a new consumer of that name would start from its own beginning.

    Instead: let the copying stream use another consumer first; or allow XX232 for this run.
    """
    if change.address.kind != "consumer":
        return None
    copiers = afterwards(view).copiers.get(change.address.stream, ())
    using = [copy.stream for copy in copiers if (copy.entry.get("consumer") or {}).get("name") == change.address.name]
    if not using:
        return None
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        quantities={"dependants": len(using)},
        affects=streams(using, view),
        message=f"stream {', '.join(using[:NAMED])} would stop copying: {'it copies' if len(using) == 1 else 'they copy'} through "
        "this consumer",
        fix=f"let it use another consumer first, or allow it for this run: --allow XX232={change.address}",
    )


RULES = (dependants_left_behind, copying_consumer_removed)
