"""Comparing what was replaced: with a start of its own the file does not know of, or by a run that was cut off half-way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from reconciler.changes.diff import Action, Change, compare
from reconciler.model.fields import FieldInfo
from reconciler.model.intents import Intent
from reconciler.model.records import Owned
from reconciler.model.resource import Address, Config, Resource
from reconciler.model.topology import Topology

RESUMED = "A run that was replacing this was cut off; this goes on where it stopped."
TAKEN_BACK = "A run that was replacing this was cut off, and that is not wanted any more; this clears up after it."
UNREADABLE = "it is being replaced, but what bucket reconciler says of that cannot be used"

Begun = Mapping[Address, Intent | str]


def compared(
    desired: Resource,
    live: Resource | None,
    owned: Owned | None,
    intent: Intent | None,
    fields: Mapping[str, FieldInfo],
    begins: Collection[str] = (),
) -> Change:
    """`compare`, for objects that may have been replaced, be half-way through it, or have left where they began."""
    if intent is None:
        found = _in_the_files_words(live, desired, owned.start, owned.fields) if live and owned else live
        change = compare(desired, found, owned, fields)
        return _moved_on(change, owned, fields, begins) if live else change
    owned = owned or Owned(topology=intent.topology, source=intent.source)  # whoever began it owns it
    if live is None:
        change = compare(desired, None, owned, fields)
        return replace(change, action=Action.REPLACE, intent=intent, reason=RESUMED)
    if intent.is_made(live.config):
        change = compare(desired, _in_the_files_words(live, desired, intent.start, intent.wanted), owned, fields)
        return replace(change, action=Action.REPLACE, intent=intent, reason=RESUMED)
    start = intent.start if says(live.config, intent.start) else owned.start  # the old one, made again where it stood
    change = compare(desired, _in_the_files_words(live, desired, start, owned.fields), owned, fields)
    return replace(change, action=Action.UPDATE, intent=intent, reason=TAKEN_BACK)


MOVED_ON = "says only where a consumer begins, and this one has moved on: remembered, the server's stays"


def _moved_on(change: Change, owned: Owned | None, fields: Mapping[str, FieldInfo], begins: Collection[str]) -> Change:
    """Where it begins is said otherwise in the file alone: nothing would come of it. What was applied, and somebody else made
    begin elsewhere, has strayed."""
    if not begins or not change.touches(*begins) or change.live is None or change.desired is None:
        return change
    said, is_ = change.desired.config, change.live.config
    if owned and any(is_.get(name) != owned.applied.get(name) for name in begins):
        return change
    words = {name: said[name] for name in begins if name in said}
    config = {name: value for name, value in is_.items() if name not in begins} | words
    rest = compare(change.desired, replace(change.live, config=config), owned, fields)
    what = ", ".join(name for name in begins if is_.get(name) != said.get(name))
    return replace(
        rest,
        action=Action.ADOPT if rest.action is Action.KEEP else rest.action,
        began={name: is_.get(name) for name in begins},
        reason=f"{what} {MOVED_ON}",
    )


def _in_the_files_words(live: Resource, desired: Resource, start: Config, words: Config) -> Resource:
    """The start a replacement had to use says what the file said when it was made, unless the file now says that start."""
    if not start or not says(live.config, start) or says(desired.config, start):
        return live
    config = {name: value for name, value in live.config.items() if name not in start}
    return replace(live, config={**config, **{name: words[name] for name in start if name in words}})


def says(config: Config, start: Config) -> bool:
    """Is this how it was made to start?"""
    return all(config.get(name) == value for name, value in start.items())


def undeclared(topology: Topology, begun: Begun, changes: Mapping[Address, Change]) -> dict[Address, Change]:
    """What was being replaced and is no longer declared."""
    found: dict[Address, Change] = {}
    for address, intent in begun.items():
        change = changes.get(address)
        if change and change.desired:
            continue
        if isinstance(intent, str):
            if change:  # what is half made of it nobody knows
                found[address] = replace(change, action=Action.UNKNOWN, reason=f"{UNREADABLE}: {intent}")
        elif change is None and intent.topology == topology.name:
            reason = "it was being replaced when a run was cut off: declare it to finish that, or remove it"
            found[address] = Change(address=address, action=Action.ORPHAN, intent=intent, reason=reason)
        elif (
            change
            and change.action in (Action.FORGET, Action.ABSENT)
            and address in {r.address for r in topology.removed}
        ):
            found[address] = replace(change, action=Action.DELETE, intent=intent)
        elif change:
            found[address] = replace(change, intent=intent)
    return found
