"""Who owns what: reconciler refuses changes of what another topology owns, and destroys nothing that this topology does
not own."""

from __future__ import annotations

import shlex
from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, refusal
from reconciler.changes.view import View
from reconciler.engine.guards import READ_FIRST, UNREADABLE
from reconciler.model.ledger.intents import Intent
from reconciler.model.ledger.records import BUCKET, encode_key
from reconciler.model.resource import OWNER, Address


@rule(
    "XX101",
    "foreign-owner",
    on=(Action.CREATE, Action.UPDATE, Action.REPLACE, Action.KEEP, Action.ADOPT, Action.DELETE, Action.FORGET),
    needs=("live",),
)
def foreign_owner(change: Change, view: View) -> Found:
    """Another topology has applied this resource and owns it.

    Two owners would undo each other's changes forever. The other topology still owns the resource while it does not
    exist: if this topology created it or gave it up, it would change owners without notice. Ownership holds under every
    name of the same stream: bucket `CONFIG` is stream `KV_CONFIG`, and an elastic group's queue is a stream too.

    A topology with another name than before is another topology. The plan says so if it owns nothing and declares most of
    what the owner owns.

    Instead: give the topology its old name again, or write `moved: [{from: topology/OLD, to: topology/NEW}]`. If these are
    two topologies, remove it from one of the two; `forget:` in the other topology gives it up without touching it. Or take it
    over: `plan` and `apply` with `--take-over OWNER` make it this topology's own.
    """
    renamed = view.ledger.get(change.address) if change.origin else None  # `owned` is of the object that changes
    own = _current_address(change)
    records = [(own, change.owned), (change.address, renamed)]
    records += [(other, view.ledger[other]) for other in _other_names(change, view)]
    record = next(
        ((name, owned.topology) for name, owned in records if owned and owned.topology != view.topology), None
    )
    if record is None:
        return None
    name, owner = record
    called = f", as {name}" if name != change.address else ""
    is_another = name not in (own, change.address)
    declare, gone = (f"declare it as {name} and ", "") if is_another else ("", _gone_text(change, name))
    leave = "remove it here" if change.desired else "take it out of `removed`"
    return refusal(
        "",
        f"topology `{owner}` owns this{called}{gone}; this topology is `{view.topology}`",
        (
            f"{_renaming_text(owner, view)}{leave}, or let `{owner}` give it up with forget: [{name}], "
            f"or {declare}take it over: --take-over {shlex.quote(owner)}"
        ),
    )


@lru_cache(maxsize=4)
def _renaming_text(owner: str, view: View) -> str:
    """The way out for a topology that has another name than before: it owns nothing yet, and declares most of what the
    owner owns."""
    owned = {address for address, record in view.ledger.items() if record.topology == owner}
    is_new = all(record.topology != view.topology for record in view.ledger.values())
    if not is_new or 2 * len(owned & view.desired.keys()) <= len(owned):
        return ""
    moved = f"moved: [{{from: {OWNER}{owner}, to: {OWNER}{view.topology}}}]"
    return f"write `topology: {owner}` again if `{view.topology}` is a slip, or {moved} if it is the new name; else "


def _other_names(change: Change, view: View) -> list[Address]:
    """Addresses under which other topologies own the same stream. A resource that this topology only reads, or gives
    up, may belong to others."""
    foreign = _foreign_by_stream(view)
    if not foreign or change.action is Action.FORGET or (change.desired and change.desired.external):
        return []
    stream = view.stream_of(change.address)
    return [address for address in foreign.get(stream, ()) if address != change.address] if stream else []


@lru_cache(maxsize=4)
def _foreign_by_stream(view: View) -> dict[str, list[Address]]:
    """What other topologies own, by the stream behind each."""
    by_stream: dict[str, list[Address]] = {}
    for address, owned in view.ledger.items():
        if owned.topology != view.topology and (stream := view.stream_of(address)):
            by_stream.setdefault(stream, []).append(address)
    return by_stream


def _current_address(change: Change) -> Address:
    """What the object that changes is called until then."""
    return change.live.address if change.live else change.address


def _gone_text(change: Change, name: Address) -> str:
    """A resource that does not exist can still have an owner."""
    is_there = change.live is not None and change.live.address == name
    return "" if is_there else ", which does not exist now"


@rule(
    "XX102",
    "foreign-source",
    on=(*foreign_owner.on, Action.ORPHAN),
    needs=("live",),
)
def foreign_source(change: Change, view: View) -> Found:
    """A topology of the same name, but from another source repository, has applied this resource.

    Usually somebody copied a repository and did not rename its `topology:`. Reconciler leaves alone what this
    repository does not declare, and only reports it.

    A repository is known by the URL of its remote `origin`. Without a remote it is known by its first commit, as
    `root:COMMIT`, so the same repository counts as another one after its remote was added or changed.

    Instead: rename this topology, or apply from the repository that owns it. If the files have moved, or the remote has
    changed, take over: `--take-over REPOSITORY`, as the message names it.
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
        message=f"it was applied from {owned.source}{_gone_text(change, _current_address(change))}; this repository is {view.source}",
        fix="rename this topology, or apply from the repository that owns it; if the files have moved here, or the "
        "remote of this repository was added or changed, take over: "
        f"--take-over {shlex.quote(owned.taken_from or owned.source)}",
    )


@rule("XX103", "protected", on=(Action.DELETE, Action.REPLACE), needs=("live",))
def removal_of_protected(change: Change, _view: View) -> Found:
    """A resource that was last applied with `protect: true` is to be deleted or replaced. No consent allows that.

    Instead: apply it once with `protect: false`, in a change of its own that a reviewer sees.
    """
    if not (change.owned and change.owned.protected) and not change.terms.protect:
        return None
    if change.live is None:
        return None  # nothing exists to protect: an interrupted replacement is finished
    return refusal(
        "",
        "it is protected, and no consent allows to delete or replace it",
        "apply it once with protect: false, in a change of its own",
    )


STAYS = "if it is to stay, take it out of `removed`"


@rule("XX104", "removal-of-unowned", on=(Action.DELETE, Action.REPLACE), needs=("live",))
def removal_of_unowned(change: Change, view: View) -> Found:
    """`removed:`, or a change that replaces, is about a live object that this topology never applied or adopted.

    Reconciler never destroys what this topology does not own: the name may be a mistake, or the account the wrong one.
    The same holds for a change that needs consent because it costs messages or a position (3xx). If bucket `reconciler`
    cannot be read, this topology owns nothing that is known.

    Instead: adopt it first by declaring it as it is and applying once; then remove or change it. An entry of `removed` that
    did its work is taken out once somebody uses the name again.
    """
    if change.owned or _is_begun_here(change, view) or _other_names(change, view):
        return None
    if again := _recreated_object_refusal(change, view):
        return again
    why, fix = "this topology does not own it", "declare it as it is and apply once to adopt it; then change it"
    if change.action is Action.DELETE:
        fix = f"{STAYS}; or declare it and apply once to adopt it; then remove it"
    if not view.ledger_known:
        why, fix = UNREADABLE, READ_FIRST
    return refusal("", f"{why}, and reconciler never destroys what a topology does not own", fix)


def _is_begun_here(change: Change, view: View) -> bool:
    """An interrupted apply of this topology was making it under a new name, and nobody else has made it since."""
    if not isinstance(change.intent, Intent) or change.intent.topology != view.topology:
        return False
    return change.live is None or change.intent.is_made(change.live.config)


def _recreated_object_refusal(change: Change, view: View) -> Finding | None:
    """This topology once owned an object of this name, and the live one may be another."""
    address = change.origin or change.address
    entry = view.snapshot.entries.get(BUCKET, {}).get(encode_key(address))
    if entry is None or not view.ledger_known:
        return None
    text = (
        "a topology gave it up; or it was removed and exists again, since"
        if entry.deleted
        else "the live object is not the one that was applied:"
    )
    kind, names = address.kind, " ".join(address.names)
    by_hand = f"nats {kind} rm {names}" if kind in ("stream", "consumer") else "by hand"
    adopt = f"declare {address} as it is and apply once to adopt it"
    gone = f"{STAYS}; if it is the one that was to be deleted, delete it ({by_hand}); or {adopt}; then remove it"
    return refusal(
        "",
        (
            f"{text} somebody recreated it, or its server or that of bucket {BUCKET} lost its last writes, as after a power "
            "cut. Reconciler never destroys an object that it does not know to be this topology's own"
        ),
        gone if change.action is Action.DELETE else f"{adopt}; then {'move' if change.origin else 'change'} it",
    )


@rule("XX107", "unfinished-replacement", on=(Action.FORGET,), needs=("live",))
def unfinished_replacement(change: Change, _view: View) -> Found:
    """`forget:` names a resource whose replacement an earlier run began and did not finish.

    If it were forgotten now, it would stay half replaced: deleted, or beside a placeholder that keeps messages for
    nobody.

    Instead: declare it once more and apply, which finishes or undoes the replacement; then forget it.
    """
    if change.intent is None:
        return None
    return refusal(
        "",
        "its replacement was interrupted, and if it were forgotten now, it would stay half replaced",
        "declare it once more and apply; then forget it",
    )


RULES = (foreign_owner, foreign_source, removal_of_protected, removal_of_unowned, unfinished_replacement)
