"""What a newer or older server does with what it finds in its store, apart from refusing it: rewrites, caps, and what
is new in it.

Measured by starting each version on stores that another version left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.kinds.fields.known import V2_12, V2_14
from reconciler.kinds.fields.words import some
from reconciler.kinds.stream_config.stream_settle import DUPLICATE_WINDOW, LIMITS
from reconciler.model.resource import Config, Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import Version, unsupported_version_sentence

OF_ROOM = frozenset({10005, 10026, 10027, 10028, 10047, 10113, 10120, 10122})
"""err_codes about room, not about a configuration: a server opens an existing store all the same."""

CAP, CAPPED_SINCE = 1000, Version(2, 15)
"""Consumers of a stream that sets no limit, unless the server's `default_max_consumers` says otherwise; no answer of the
API shows it."""


class Rewrite(NamedTuple):
    path: str
    before: Json
    after: Json


def rewrites(kind: str, raw: Config, version: Version) -> Iterator[Rewrite]:
    """Fields whose stored value such a server replaces when it starts; `raw` as 2.11 kept it."""
    if version >= V2_12:
        yield from _rewrites_of_negatives(_STREAM if kind == "stream" else _CONSUMER, raw)
    if (
        version < V2_14
        and kind == "stream"
        and raw.get("sources")
        and not (raw.get("duplicate_window") or raw.get("mirror"))
    ):
        yield Rewrite("duplicate_window", None, min(raw.get("max_age") or DUPLICATE_WINDOW, DUPLICATE_WINDOW))
    if kind == "stream" and raw.get("sealed") and any(raw.get(name) for name in FORCING):
        yield from (
            Rewrite(path, raw[path], after) for path, after in _UNSEALED.items() if raw.get(path, after) != after
        )


def _rewrites_of_negatives(becomes: Mapping[str, Json], raw: Config) -> Iterator[Rewrite]:
    for path, after in becomes.items():
        value = raw.get(path)
        if isinstance(value, int) and value < (-1 if after == -1 else 0):
            yield Rewrite(path, value, after)


FORCING = ("subject_delete_marker_ttl", "allow_msg_schedules")
"""These turn roll-ups on and `deny_purge` off whenever the server reads the configuration, even that of a sealed
stream. Sealing does the opposite, so such a stream contradicts itself until a restart reverses both."""
_UNSEALED = {"deny_purge": False, "allow_rollup_hdrs": True}
_STREAM = dict.fromkeys(LIMITS, -1)
_CONSUMER = {
    "max_deliver": -1, "max_ack_pending": -1, "idle_heartbeat": None, "inactive_threshold": None, "max_bytes": None,
    "max_batch": None, "priority_timeout": 120_000_000_000,
}  # fmt: skip


def why_capped(raw: Config, consumers: int, target: Target) -> str | None:
    """The reason why no further consumer can be created on a stream that has this many; existing ones stay."""
    named = max(raw.get("max_consumers", -1), target.limits.get("max_consumers", -1))
    if target.version < CAPPED_SINCE or named > 0 or consumers < CAP:
        return None
    return (
        f"it has {some(consumers, 'consumer')}, and from {CAPPED_SINCE.short} on a stream without max_consumers accepts no more than "
        f"{CAP:_}"
    )


SHOWN = 5


class News(NamedTuple):
    """What applications will notice."""

    since: Version
    words: str


NEWS = (
    News(V2_12, "The server refuses requests with a field that it does not know (10025); 2.11 answered ok and dropped the field."),
    News(V2_12, "Removing `mirror` promotes a mirror, which cannot be undone."),
    News(Version(2, 12, 5), "max_consumers of a stream may change."),
    News(Version(2, 14), "A single server refuses num_replicas above 1; before, it accepted an update and lost the stream at its "
         "next start."),
    News(Version(2, 14), "A first max_msgs_per_subject trims at once; before, it trimmed each subject with its next message."),
    News(Version(2, 14, 4), "mem_storage of an existing consumer cannot change: the server refuses such updates (10012)."),
    News(Version(2, 15), "A change of retention to interest while nobody consumes deletes every stored message."),
    News(Version(2, 15), "A stream without max_consumers accepts no more than 1_000 consumers, and no answer of the API shows it."),
)  # fmt: skip


def in_memory_sentences(snapshot: Snapshot) -> Iterator[str]:
    """A sentence about what no single server keeps through a restart, in any version."""
    if snapshot.target.is_clustered:
        return
    streams = [name for name, info in snapshot.streams.items() if info["config"].get("storage") == "memory"]
    consumers = [
        f"{stream}/{name}"
        for stream, infos in snapshot.consumers.items()
        for name, info in infos.items()
        if info["config"].get("mem_storage") and info["config"].get("durable_name") and stream not in streams
    ]
    if streams or consumers:
        addresses = [*(f"stream/{name}" for name in streams), *(f"consumer/{name}" for name in consumers)]
        rest = f" and {len(addresses) - SHOWN:_} more" if len(addresses) > SHOWN else ""
        yield f"A single server keeps these in memory and loses them at every restart: {', '.join(addresses[:SHOWN])}{rest}."


def news_sentences(before: Version, after: Version) -> list[str]:
    """Sentences about what changes on the way from one version to a newer one."""
    beyond = [text for version in dict.fromkeys((before, after)) if (text := unsupported_version_sentence(version))]
    return [*beyond, *(news.words for news in NEWS if before < news.since <= after)]
