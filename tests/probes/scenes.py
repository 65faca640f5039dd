"""Scenes that show what every field of a stream or a consumer does to its clients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reconciler.testbed.probes.scene import Change, Scene, consumer_request

HOUR = 3_600_000_000_000
MESSAGES = tuple((f"s.{'ab'[number % 2]}", 20 if number % 5 else 1500) for number in range(30))
SUBJECTS = ("s.a", "s.b", "s.c.deep", "s", "s.spare")
"""In a stream that takes all below `s`, `s` itself is not stored."""
READER = {"ack_policy": "explicit", "ack_wait": HOUR}
PUSHED = {**READER, "deliver_subject": "delivered"}


def scene(
    stream: dict[str, Any] | None = None, reader: dict[str, Any] | None = None, *, is_pushed: bool = False
) -> Scene:
    """A stream in memory with one consumer, a mirror and a stream that takes from it."""
    return Scene(
        streams={"S": {"subjects": ["s.>"], "storage": "memory", **(stream or {})}},
        consumers={("S", "c"): {**(PUSHED if is_pushed else READER), **(reader or {})}},
        messages=MESSAGES,
        subjects={"S": SUBJECTS},
        listen=("republished.>",),
    )


def copied(stream: dict[str, Any], mirror: dict[str, Any]) -> Scene:
    """A stream without readers, and a mirror of it."""
    of = scene(stream)
    return replace(
        of, streams={**of.streams, "M": {"mirror": {"name": "S"}, "storage": "memory", **mirror}}, consumers={}
    )


def mirror_changed(of: Scene, **fields: Any) -> Change:
    return "STREAM.UPDATE.M", {"name": "M", **of.streams["M"], **fields}


def bucket(**body: Any) -> Scene:
    config = {
        "subjects": ["$KV.B.>"], "max_msgs_per_subject": 5, "discard": "new", "deny_delete": True,
        "allow_rollup_hdrs": True, "allow_direct": True, "storage": "memory", **body,
    }  # fmt: skip
    keys = ("$KV.B.one", "$KV.B.two", "$KV.B.spare")
    return Scene(
        streams={"KV_B": config},
        messages=tuple((keys[number % 2], 20) for number in range(8)),
        subjects={"KV_B": keys},
    )


def store(**body: Any) -> Scene:
    config = {
        "subjects": ["$O.B.C.>", "$O.B.M.>"], "discard": "new", "allow_rollup_hdrs": True, "allow_direct": True,
        "storage": "memory", **body,
    }  # fmt: skip
    messages = (("$O.B.C.n1", 100), ("$O.B.C.n1", 100), ("$O.B.M.bmFtZQ==", 20))
    return Scene(streams={"OBJ_B": config}, messages=messages, subjects={"OBJ_B": ("$O.B.C.n1", "$O.B.M.bmFtZQ==")})


def stream_changed(of: Scene, **fields: Any) -> Change:
    name = next(iter(of.streams))
    return f"STREAM.UPDATE.{name}", {"name": name, **of.streams[name], **fields}


def consumer_changed(of: Scene, **fields: Any) -> Change:
    (stream, name), body = next(iter(of.consumers.items()))
    return consumer_request(stream, name, {**body, **fields}, "update")
