"""Pulls of a consumer that apply deletes: those that wait end, and later ones find it gone or another one."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.kinds.fields.words import some
from reconciler.model.resource import Json


def ended_pulls_clause(info: Mapping[str, Json], later: str) -> str:
    """A clause about the pulls that wait on the live consumer, and then about later ones."""
    waiting = info.get("num_waiting", 0)
    pulls = "the waiting pull ends" if waiting == 1 else f"{some(waiting, 'waiting pull')} end"
    ends = pulls if waiting else "no pull is waiting now; a pull that waits when the old consumer is deleted ends"
    return f"{ends} with 409 Consumer Deleted, and {later}"


def missing_consumer_clause(name: str) -> str:
    """A clause about later pulls on a consumer that exists no more."""
    return f"later pulls on {name} get 503"
