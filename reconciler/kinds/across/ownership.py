"""Whose is it? Changes of what another topology owns are refused, and nothing is destroyed that was not ours."""

from __future__ import annotations

import shlex
from functools import lru_cache

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.engine.guards import READ_FIRST, UNREADABLE
from reconciler.model.records import BUCKET, encode_key
from reconciler.model.resource import Address


@rule(
    "XX101",
    "foreign-owner",
    on=(Action.CREATE, Action.UPDATE, Action.REPLACE, Action.KEEP, Action.ADOPT, Action.DELETE, Action.FORGET),
    needs=("live",),
)
def foreign_owner(change: Change, view: View) -> Found:
    """Another topology has applied this resource and remembers it as its own.

    Two owners would undo each other's changes for ever. While it is not there it is still that one's: made or given up
    here, it would change hands without a word. It is that one's by whatever name: bucket `CONFIG` is stream `KV_CONFIG`,
    and a stream is what an elastic group reads from.

    Instead: remove it from one of the two; `forget:` in the other topology gives it up without touching it. Or take it
    over: `--take-over OWNER`, as `plan` and `apply` take it, makes it this topology's own.
    """
    renamed = view.ledger.get(change.address) if change.origin else None  # `owned` is what it was called until now
    records = [(change.address, record) for record in (change.owned, renamed) if record]
    records += [(other, view.ledger[other]) for other in _other_names(change, view)]
    found = next(((name, record.topology) for name, record in records if record.topology != view.topology), None)
    if found is None:
        return None
    name, owner = found
    called, declare = (f", as {name}", f"declare it as {name} and ") if name != change.address else ("", "")
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"topology `{owner}` owns this{called}{_gone(change)}; here is `{view.topology}`",
        fix=f"remove it here, or let `{owner}` give it up with forget: [{name}], "
        f"or {declare}take it over: --take-over {shlex.quote(owner)}",
    )


def _other_names(change: Change, view: View) -> list[Address]:
    """What other topologies remember that is the same stream. What is only looked at, or given up, may be somebody else's."""
    foreign = _foreign(view)
    if not foreign or change.action is Action.FORGET or (change.desired and change.desired.external):
        return []
    stream = view.stream_of(change.address)
    return [one for one in foreign.get(stream, ()) if one != change.address] if stream else []


@lru_cache(maxsize=4)
def _foreign(view: View) -> dict[str, list[Address]]:
    """What other topologies remember, by the stream that each of it is."""
    found: dict[str, list[Address]] = {}
    for address, owned in view.ledger.items():
        if owned.topology != view.topology and (stream := view.stream_of(address)):
            found.setdefault(stream, []).append(address)
    return found


def _gone(change: Change) -> str:
    """What is not there can still be somebody's."""
    is_there = change.live is not None and change.live.address == change.address
    return "" if is_there else ", which is not there now"


@rule(
    "XX102",
    "foreign-source",
    on=(*foreign_owner.on, Action.ORPHAN),
    needs=("live",),
)
def foreign_source(change: Change, view: View) -> Found:
    """A topology of the same name, but from another source repository, has applied this resource.

    Most often a copied repository whose `topology:` was not renamed. What this repository does not declare is left alone,
    and only said.

    Instead: rename this topology, or apply from the repository that owns it. Where the files have moved, take over:
    `--take-over REPOSITORY`, as the message names it.
    """
    owned = change.owned
    if (
        not owned
        or owned.topology != view.topology
        or not owned.source
        or not view.source
        or owned.source == view.source
    ):
        return None
    return Finding(
        outcome=Outcome.WARNS if change.action is Action.ORPHAN else Outcome.REFUSED,
        message=f"it was applied from {owned.source}{_gone(change)}; this is {view.source}",
        fix="rename this topology, or apply from the repository that owns it; where the files have moved here, take over: "
        f"--take-over {shlex.quote(owned.taken_from or owned.source)}",
    )


@rule("XX103", "protected", on=(Action.DELETE, Action.REPLACE), needs=("live",))
def protected(change: Change, _view: View) -> Found:
    """A resource that was last applied with `protect: true` is to be removed or replaced. No consent beats that.

    Instead: apply it once with `protect: false`, in a change of its own that a reviewer sees.
    """
    if not (change.owned and change.owned.protected) and not change.terms.protect:
        return None
    if change.live is None:
        return None  # nothing is there to be protected: a replacement that was cut off is finished
    return Finding(
        outcome=Outcome.REFUSED,
        message="it is protected: never deleted or replaced, whatever consent says",
        fix="apply it once with protect: false, in a change of its own",
    )


@rule("XX104", "removal-of-unowned", on=(Action.DELETE, Action.REPLACE), needs=("live",))
def removal_of_unowned(change: Change, view: View) -> Found:
    """`removed:`, or a change that replaces, is about something live that this topology never applied or adopted.

    What is not ours is never destroyed: the name may be a slip, or the account the wrong one. The same holds for a change
    with consent to take messages or a position from it (3xx). Where bucket `reconciler` cannot be read, nothing is known to be ours.

    Instead: adopt it first by declaring it as it is and applying once; then remove or change it.
    """
    if change.owned or _other_names(change, view):
        return None
    if again := _there_again(change, view):
        return again
    verb = "remove" if change.action is Action.DELETE else "change"
    as_it_is = "" if change.action is Action.DELETE else " as it is"
    why, fix = "this topology does not own it", f"declare it{as_it_is} and apply once to adopt it; then {verb} it"
    if not view.ledger_known:
        why, fix = UNREADABLE, READ_FIRST
    return Finding(outcome=Outcome.REFUSED, message=f"{why}, and what is not ours is never destroyed", fix=fix)


def _there_again(change: Change, view: View) -> Finding | None:
    """What this topology had once, and what is live is not known to be that."""
    address = change.origin or change.address
    entry = view.snapshot.entries.get(BUCKET, {}).get(encode_key(address))
    if entry is None or not view.ledger_known:
        return None
    what = "was removed, or let go, is there again" if entry.deleted else "is live is not what was applied"
    kind, names = address.kind, " ".join(address.names)
    by_hand = f"nats {kind} rm {names}" if kind in ("stream", "consumer") else "by hand"
    adopt = f"declare {address} as it is and apply once to adopt it"
    gone = f"if it is the one that was to go, delete it ({by_hand}); or {adopt}; then remove it"
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"what {what}: somebody made it anew, or its server, or that of bucket {BUCKET}, came back older than the other, as "
        "after a power cut. What is not known to be ours is never destroyed",
        fix=gone if change.action is Action.DELETE else f"{adopt}; then {'move' if change.origin else 'change'} it",
    )


@rule("XX107", "unfinished-replacement", on=(Action.FORGET,), needs=("live",))
def unfinished_replacement(change: Change, _view: View) -> Found:
    """`forget:` names something whose replacement an earlier run began and did not finish.

    Forgotten now, it would stay half replaced: gone, or beside a placeholder that keeps messages for nobody.

    Instead: declare it once more and apply, which finishes the replacement or takes it back; then forget it.
    """
    if change.intent is None:
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        message="its replacement was cut off half-way, and forgotten now it would stay like that",
        fix="declare it once more and apply; then forget it",
    )


RULES = (foreign_owner, foreign_source, protected, removal_of_unowned, unfinished_replacement)
