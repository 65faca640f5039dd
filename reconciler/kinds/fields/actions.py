"""Which actions write what the file says, and which leave a live object that may still be doomed."""

from __future__ import annotations

from reconciler.changes.change import Action, Change

WRITES = (Action.CREATE, Action.UPDATE)
STANDING = (Action.KEEP, Action.ADOPT, Action.ORPHAN)
"""Nothing is written, but the live object may still be doomed."""
ALL = (*WRITES, Action.KEEP, Action.ADOPT)
"""Includes what is left as it is: a doomed live object is worth a warning."""


def is_new(change: Change, *fields: str) -> bool:
    """Does this change bring about what these fields say?"""
    return change.action is Action.CREATE or (change.action is Action.UPDATE and change.touches(*fields))
