"""Consumers of an interest stream that a single server from 2.14 on reads, when it starts, after the consumer that feeds a
copy: it has deleted by then what they have not processed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subjects import meets
from reconciler.model.resource import Config

FEEDS_MIRROR, FEEDS_SOURCE = "JS_MIRROR_", "JS_SRC_"
"""How the names of such consumers begin."""
CODE = "XX212"
"""The rule that asks for consent to it."""


def deletes_at_restart(origin: Config) -> bool:
    """Does a stream delete at a restart what its copies have? One in memory is empty then."""
    return origin.get("retention") == "interest" and origin.get("storage") != "memory"


def read_after(feed: str, subjects: Sequence[str], consumers: Mapping[str, Sequence[str]]) -> list[str]:
    """Of consumers with these filters, those that a server reads after this one."""
    return [name for name, filters in consumers.items() if name > feed and meets(filters, subjects)]


def consents_of_group(stream: str, group: Config, view: View) -> tuple[str, ...]:
    """The codes to which an elastic group of this stream takes consent when it begins to copy it."""
    if (
        view.target.version < V2_14
        or view.target.is_clustered
        or not deletes_at_restart(view.snapshot.config_of(stream))
    ):
        return ()
    subjects = [filter_["filter"] for filter_ in group.get("partitioning_filters") or ()] or [">"]
    filters = {name: filters_of(info["config"]) for name, info in view.snapshot.consumers.get(stream, {}).items()}
    return (CODE,) if read_after(FEEDS_SOURCE, subjects, filters) else ()
