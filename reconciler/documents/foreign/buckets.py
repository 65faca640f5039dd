"""Buckets as clients create them: the streams behind a name and a few limits in other tools' files."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.documents.foreign.found import ForeignObject
from reconciler.model.resource import Json, Where


def kv_bucket(
    name: str, config: Mapping[str, Json], where: Where, beside: Mapping[str, Json] | None = None
) -> ForeignObject:
    """Return the stream that KV clients create (ADR-8)."""
    stream = f"KV_{name}"
    usual: dict[str, Json] = {
        "subjects": [f"$KV.{name}.>"], "max_msgs_per_subject": 1, "discard": "new", "allow_rollup_hdrs": True,
        "deny_delete": True, "allow_direct": True,
    }  # fmt: skip
    if config.get("mirror"):
        del usual["subjects"]
        usual["mirror_direct"] = True
    if config.get("subject_delete_marker_ttl"):
        usual["allow_msg_ttl"] = True
    return ForeignObject(on=(stream,), config={**usual, **config, "name": stream}, where=where, beside=beside or {})


def object_store(
    name: str, config: Mapping[str, Json], where: Where, beside: Mapping[str, Json] | None = None
) -> ForeignObject:  # fmt: skip
    """Return the stream that clients of object stores create (ADR-20)."""
    stream = f"OBJ_{name}"
    usual = {
        "subjects": [f"$O.{name}.C.>", f"$O.{name}.M.>"], "discard": "new", "allow_rollup_hdrs": True,
        "allow_direct": True,
    }  # fmt: skip
    return ForeignObject(on=(stream,), config={**usual, **config, "name": stream}, where=where, beside=beside or {})
