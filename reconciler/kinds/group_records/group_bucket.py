"""The buckets of group records: why a record cannot be written to a bucket that somebody made or edited by hand."""

from __future__ import annotations

from typing import NamedTuple

from reconciler.kinds.subjects.subjects import is_subset
from reconciler.model.resource import Config


class Hindrance(NamedTuple):
    why: str
    fix: str


def hindrance(config: Config, bucket: str, key: str = ">") -> Hindrance | None:
    """What prevents a record (or any record) from being written to this bucket's stream."""
    stream, subjects = f"KV_{bucket}", [str(one) for one in config.get("subjects") or ()]
    if config.get("sealed"):
        fix = f"with all members stopped, recreate stream {stream} and put its records back"
        return Hindrance(f"bucket {bucket} is sealed, so no group record can be written there", fix)
    if any(is_subset(f"$KV.{bucket}.{key}", one) for one in subjects):
        return None
    heard = ", ".join(subjects[:3]) or "nothing"
    fix = f"give stream {stream} the subjects of its bucket again: $KV.{bucket}.>"
    return Hindrance(f"stream {stream} captures {heard}, so group records cannot be written there", fix)
