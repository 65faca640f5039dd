"""Streams that one topology owns and others use: whether the owner is the one that the user names, and what the users of a
stream have to know of its changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, refusal
from reconciler.changes.view import View
from reconciler.engine.guards import READ_FIRST, UNREADABLE
from reconciler.kinds.afterwards.readers import (
    consumer_readers,
    copying_readers,
    elastic_groups,
    group_readers,
    recorded_readers,
    stored_subjects_now,
)
from reconciler.kinds.fields.words import few, in_words, some
from reconciler.kinds.losses.over_limit import LOSSES as LIMITS
from reconciler.kinds.losses.over_limit import REFUSING, is_lowered, keeps_old_messages
from reconciler.kinds.losses.over_limit import becomes as limit_afterwards
from reconciler.kinds.subjects.subject_part import PartList
from reconciler.model.ledger.records import BUCKET, Owned, encode_key
from reconciler.model.resource import OWNER, Address, owner_in
from reconciler.model.spelling import meant_choice

NAMED = 5
ANY_OWNER = "write `external: true`, which asks for no owner"


@rule(
    "XX113", "used-from-another",
    on=(Action.CREATE, Action.UPDATE, Action.KEEP, Action.FORGET, Action.ABSENT), of=("stream",), needs=("live",),
)  # fmt: skip
def used_from_another(change: Change, view: View) -> Found:
    """The file says from which topology it uses a stream (`external: {from: topology/orders}`), and the ledger does not
    say that this topology owns it.

    What a topology uses, its owner looks after: the owner's plans name the users of a stream before it changes. That
    promise is worth nothing if somebody else owns the stream, or nobody. If bucket `reconciler` cannot be read, nobody
    can tell who owns what.

    Instead: name the owner, let the owner apply first, or write `external: true`, which asks for no owner.
    """
    used = view.desired.get(change.address)
    owner = owner_in(used.terms) if used and used.external else None
    if owner is None:
        return None
    if owner == view.topology:
        return _owner_refusal(
            f"`{owner}` is this topology itself", "name the topology that owns the stream, or remove `external`"
        )
    if not view.ledger_known:
        return _owner_refusal(
            f"nobody can tell whether topology `{owner}` owns this: {UNREADABLE}", f"{READ_FIRST}, or {ANY_OWNER}"
        )
    record = _owner_record(change.address.name, view)
    if record is None:
        return _no_owner_finding(change, owner, view)
    return None if record[1].topology == owner else _other_owner_finding(change, owner, *record, view)


def _owner_refusal(message: str, fix: str) -> Finding:
    return refusal("external.from", message, fix)


def _pending_owner_finding(owner: str, why: str) -> Finding:
    message, fix = (
        f"topology `{owner}` does not own this yet: {why}",
        f"apply `{owner}` next, with this stream declared",
    )
    return Finding(outcome=Outcome.WARNS, path="external.from", message=message, fix=fix)


def _other_owner_finding(change: Change, owner: str, address: Address, owned: Owned, view: View) -> Finding:
    called = f", as {address}" if address != change.address else ""
    if owned.topology == view.topology and change.action is Action.FORGET:
        return _pending_owner_finding(owner, "this apply gives it up")
    if owned.topology == view.topology:
        return _owner_refusal(
            f"this topology itself owns this{called}, and not `{owner}`", "remove `from`, or the stream's other entry"
        )
    gone = "" if change.live else ", which does not exist now"
    since = f" (recorded on {owned.written[:10]})" if owned.written else ""
    message = f"topology `{owned.topology}` owns this{called}{gone}{since}, and not `{owner}`"
    return _owner_refusal(message, f"write `from: {OWNER}{owned.topology}`, or {ANY_OWNER}")


def _no_owner_finding(change: Change, owner: str, view: View) -> Finding | None:
    """ST109 says if the stream is missing as well."""
    topologies, entries = _topologies(view), view.snapshot.entries.get(BUCKET, {})
    if change.live is None:
        return None
    names = list(view.backed_by(change.address.name))
    keys = map(encode_key, names)
    if unusable := next((key for key in keys if key in entries and not entries[key].deleted), None):
        message = f"nobody can tell whether topology `{owner}` owns this: its record {unusable} cannot be used"
        return _owner_refusal(message, f"see why (LE101), or {ANY_OWNER}")
    if owner in topologies:
        message = "no topology owns this: it is live, and bucket reconciler has no record of it"
        return _owner_refusal(message, f"let `{owner}` declare it and apply, or {ANY_OWNER}")
    near = meant_choice(owner, topologies - {view.topology})
    guess = f"; did you mean `{near}`?" if near else ""
    message = f"no topology `{owner}` is known to own anything in this account{guess}"
    return _owner_refusal(message, f"correct the name, let `{owner}` declare the stream and apply, or {ANY_OWNER}")


def _owner_record(stream: str, view: View) -> tuple[Address, Owned] | None:
    """Who owns a stream, under any kind's name."""
    group = elastic_groups(view).get(stream)
    names = (*view.backed_by(stream), *([group] if group else ()))
    return next(((name, view.ledger[name]) for name in names if name in view.ledger), None)


@lru_cache(maxsize=4)
def _topologies(view: View) -> frozenset[str]:
    """Every topology that owns something in this account."""
    return frozenset(owned.topology for owned in view.ledger.values())


@rule("XX235", "limits-of-others-lowered", on=(Action.UPDATE,), needs=("live", "neighbours"))
def limits_of_others_lowered(change: Change, view: View) -> Iterator[Finding]:
    """A limit of a stream is lowered, and consumers, mirrors, sources or groups of other topologies read it.

    From then on, such a reader loses messages when it is behind by less than before. What the server deletes at once, and
    who has not processed it, another rule says (ST301, KV301, OB301). Only readers with a filter that matches what the
    stream stores are named.

    Instead: ask the owners of these readers, or keep the limit.
    """
    if (stream := view.stream_of(change.address)) is None or not view.is_stream(change.address):
        return
    own = view.kinds[change.address.kind].own_name
    lowered = [own(limit) for limit in LIMITS if is_lowered(change, own(limit)) and not _refuses_instead(change, limit)]
    readers = _foreign_readers(stream, view) if lowered else []
    for path in lowered if readers else ():
        field_change = change.field(path)
        unit = field_change.info.unit if field_change else "text"
        was, becomes = (change.was(path) or None), limit_afterwards(change, path)
        before = in_words(was, unit) if was and was > 0 else "no limit"
        yield Finding(
            outcome=Outcome.WARNS,
            path=path,
            to=becomes,
            tells=readers,
            message=f"others that fall behind lose messages sooner: {path} was {before} and becomes {in_words(becomes, unit)}",
            fix=f"ask {_owner_names(readers, view)} before you apply, or keep the limit",
        )


def _refuses_instead(change: Change, limit: str) -> bool:
    """At this limit the server refuses new messages, and nobody loses one."""
    is_full = limit in REFUSING and keeps_old_messages(change)
    return is_full or bool(limit == "max_msgs_per_subject" and change.becomes("discard_new_per_subject"))


def _foreign_readers(stream: str, view: View) -> list[Address]:
    """What other topologies read of a stream, as far as it stores that."""
    known = stored_subjects_now(view).parts(stream)
    stored = None if known is None else PartList(known)
    every = (
        *consumer_readers(stream, view),
        *copying_readers(stream, view),
        *group_readers(stream, view),
        *recorded_readers(stream, view),
    )
    return [
        reader.address
        for reader in every
        if reader.address and reader.owner and (stored is None or reader.wants_any(stored))
    ]


def _owner_names(addresses: Iterable[Address], view: View) -> str:
    owners = dict.fromkeys(view.ledger[address].topology for address in addresses if address in view.ledger)
    return few([f"`{owner}`" for owner in owners], NAMED)


@rule("XX236", "readers-gone-with-it", on=(Action.CREATE,), needs=("live", "neighbours"))
def readers_gone_with_it(change: Change, view: View) -> Found:
    """A stream that this topology applied was deleted by hand and is created again. Readers that other topologies had of
    it were deleted with it, and are still in the ledger.

    The new stream is empty, and nobody reads it until the owners of these readers apply again. On interest streams, what
    is published until then is lost.

    Instead: let the owners of these readers apply next.
    """
    stream = view.stream_of(change.address)
    if (
        not stream
        or change.owned is None
        or change.owned.topology != view.topology
        or not view.is_stream(change.address)
    ):
        return None
    gone = [reader.address for reader in recorded_readers(stream, view) if reader.address]
    if not gone:
        return None
    return Finding(
        outcome=Outcome.WARNS,
        tells=gone,
        message=f"it was deleted, and {some(len(gone), 'reader')} of others with it",
        fix=f"let {_owner_names(gone, view)} apply next, which recreates {'it' if len(gone) == 1 else 'them'}",
    )


@rule(
    "XX237", "owner-changes",
    on=(Action.ADOPT, Action.UPDATE, Action.KEEP, Action.FORGET), needs=("live", "neighbours"),
)  # fmt: skip
def owner_changes(change: Change, view: View) -> Found:
    """A stream gets another owner, or none, and other topologies name the old one (`external: {from: topology/orders}`).

    It is taken over, its topology is renamed, or its topology gives it up. Nothing happens to the stream and to whoever
    reads it. But the next plan of these topologies is refused until they name the new owner. Those of the same run whose
    files name it already, or declare the stream themselves, are left out.

    Instead: tell them the new owner, so that they write it into their files.
    """
    if change.owned is None or not view.is_stream(change.address):
        return None
    owner = change.owned.taken_from or (change.owned.topology if change.action is Action.FORGET else "")
    naming = _readers_naming_owner(view).get((view.stream_of(change.address) or "", owner), []) if owner else []
    if not naming:
        return None
    now = f"write `from: {OWNER}{view.topology}`" if change.owned.taken_from else "name the next owner"
    return Finding(
        outcome=Outcome.WARNS,
        tells=naming,
        message=f"others use it from topology `{owner}`, and their next plan is refused",
        fix=f"let {_owner_names(naming, view)} {now}",
    )


@lru_cache(maxsize=4)
def _readers_naming_owner(view: View) -> dict[tuple[str, str], list[Address]]:
    """Readers of other topologies, by the stream and the owner that their files name. The files of the same run say it
    themselves; the ledger has what others were last applied with."""
    by_use: dict[tuple[str, str], list[Address]] = {}
    for address, owned in view.ledger.items():
        names = view.owners_named.get(owned.topology, owned.uses)
        for stream, owner in owned.uses.items() if owned.topology != view.topology else ():
            if names.get(stream) == owner:
                by_use.setdefault((stream, owner), []).append(address)
    return by_use


RULES = (used_from_another, limits_of_others_lowered, readers_gone_with_it, owner_changes)
