"""The buckets of groups' records: what is wrong with one that somebody made or edited by hand, so that it takes none."""

from __future__ import annotations

from typing import NamedTuple

from reconciler.kinds.subjects.subjects import is_subset
from reconciler.model.resource import Config


class Hindrance(NamedTuple):
    why: str
    fix: str


def hindrance(config: Config, bucket: str, key: str = ">") -> Hindrance | None:
    """What keeps a record (or any) from being written to this stream of a bucket."""
    stream, subjects = f"KV_{bucket}", [str(one) for one in config.get("subjects") or ()]
    if config.get("sealed"):
        fix = f"with all members stopped, make stream {stream} anew and put its records back"
        return Hindrance(f"bucket {bucket} is sealed: no record of a group can be written", fix)
    if any(is_subset(f"$KV.{bucket}.{key}", one) for one in subjects):
        return None
    heard = ", ".join(subjects[:3]) or "nothing"
    fix = f"give stream {stream} the subjects of its bucket again: $KV.{bucket}.>"
    return Hindrance(f"stream {stream} listens to {heard}: records of groups cannot be written there", fix)
