"""Names that no server changes: what to do instead, step by step."""

from __future__ import annotations

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Finding, Found, Outcome, View, rule
from reconciler.model.resource import Address


@rule("XX110", "name-is-fixed", on=(Action.CREATE,), needs=("live",))
def name_is_fixed(change: Change, view: View) -> Found:
    """`moved:` gives another name to what no server renames: a stream, a bucket, a store, a group, or a consumer on another
    stream. The name is in its subjects, its files and its clients.

    Only a copy can have another name, and clients must be moved to it. Each kind has steps that lose nothing on the way; the
    refusal prints them with the names filled in.

    Instead: follow those steps, without the entry in `moved`; or keep the name.
    """
    if change.origin is None:
        return None
    old, new = change.origin, change.address
    there = view.live.get(old)
    recipe = view.kinds[new.kind].recipe(old, new, there.config if there else {})
    steps = ["Take the entry out of `moved` and keep both declared until the end.", *recipe]
    steps.append(
        f"Write removed: [{{address: {old}, reason: …}}{_beside(old, view)}] instead of its declaration, and apply."
    )
    numbered = "\n".join(f"  {number}. {text}" for number, text in enumerate(steps, 1))
    noun = new.kind.replace("_", " ")
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"no server renames {'an' if noun[0] in 'eo' else 'a'} {noun}, so {old} cannot become {new}",
        fix=f"copy it, and let its clients move:\n{numbered}",
    )


def _beside(old: Address, view: View) -> str:
    """Consumers of a stream are resources of their own."""
    theirs = (one for one in view.live if old.kind == "stream" and one.kind == "consumer" and one.stream == old.name)
    return ", the same of its consumers" if any(theirs) else ""


RULES = (name_is_fixed,)
