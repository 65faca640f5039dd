"""Consumers in canonical form: from what a server echoes, and from what a file says, by predicting that echo."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from reconciler.kinds.consumer_config.consumer_fields import ConsumerConfig
from reconciler.kinds.fields.canonical_form import (
    MINUTE,
    SECOND,
    Canon,
    Settled,
    as_list,
    canonical_time,
    limit,
    metadata,
    positive,
    sources_followed,
)
from reconciler.kinds.fields.known import V2_12, V2_14, known_fields
from reconciler.kinds.subjects.filters import FILTERS
from reconciler.model.resource import Config, Json, ServerDefault
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

ACK_WAIT = 30 * SECOND
PINNED_TIMEOUT = 2 * MINUTE
MAX_WAITING = 512
MAX_ACK_PENDING = 1000

NAMES = ("name", "durable_name", "stream_name")
EVERYTHING: tuple[Json, ...] = (">", [">"])
"""Filters that say what none says. An update that takes a filter away writes one."""

_canon = Canon(
    defaults={name: about.default for name, about in known_fields(ConsumerConfig).items() if about.default is not None},
    clean={
        **dict.fromkeys(("max_deliver", "max_batch", "max_expires", "max_bytes", "max_waiting"), positive),
        **dict.fromkeys(("idle_heartbeat", "inactive_threshold", "priority_timeout"), positive),
        "max_ack_pending": limit,  # -1 is "no limit", while a left-out one is filled in
        "opt_start_time": canonical_time,
        "pause_until": canonical_time,
        "metadata": metadata,
        **dict.fromkeys(("backoff", "filter_subjects", "priority_groups"), as_list),
    },
)


def canonical(config: Config) -> dict[str, Json]:
    """The canonical form of a server's echo, or of any configuration with the server's names; the consumer's own names
    are not part of it."""
    sparse = _canon(config)
    for name in NAMES:
        sparse.pop(name, None)
    if sparse.get("deliver_policy") != "last_per_subject":  # servers take that with a filter only
        for name in FILTERS:
            if sparse.get(name) in EVERYTHING:
                del sparse[name]
    # The server fills in 30s only for these policies, and a consumer's policy never changes.
    if sparse.get("ack_wait") == ACK_WAIT and sparse.get("ack_policy") in ("explicit", "all"):
        del sparse["ack_wait"]
    return sparse


def settle(body: Config, target: Target, *, parent: Config | None = None) -> Settled:
    """What this server would echo for `body`. `parent` is the stream's canonical configuration. Fields and values that
    this version lacks stay as written: a rule refuses them."""
    written = canonical(body)
    config = dict(written)
    _settle_flow_control(config, target.version)
    _settle_backoff(config)
    _settle_pinned_timeout(config, body, target.version)
    filled = _filled_fields(config, target, parent or {})
    config |= {field: default.value for field, default in filled.items() if default.value is not None}
    return Settled(config=config, filled=filled, follows=sources_followed(written, config, FOLLOWS))


FOLLOWS = {
    "flow_control": "from ack_policy", "idle_heartbeat": "from ack_policy", "ack_wait": "from backoff",
    "priority_timeout": "default",
}  # fmt: skip


def stock_values(config: Config) -> Config:
    """The value that a left-out `ack_wait` stands for: 30s if there is something to acknowledge."""
    return _WAITS if config.get("ack_policy") in ("explicit", "all") else _NEVER_WAITS


_WAITS: Config = {"ack_wait": ACK_WAIT}
_NEVER_WAITS: Config = {"ack_wait": None}


def _settle_flow_control(config: dict[str, Json], version: Version) -> None:
    if config.get("ack_policy") == "flow_control" and version >= V2_14:
        config.update(flow_control=True, idle_heartbeat=SECOND)


def _settle_backoff(config: dict[str, Json]) -> None:
    """The first backoff replaces the time to acknowledge; the canonical form drops it if it is the default anyway."""
    if "backoff" in config:
        config["ack_wait"] = config["backoff"][0]
        config.update(canonical({key: config.pop(key) for key in ("ack_wait", "ack_policy") if key in config}))


def _settle_pinned_timeout(config: dict[str, Json], body: Config, version: Version) -> None:
    keeps_negative = version < V2_12 and (body.get("priority_timeout") or 0) < 0
    if config.get("priority_policy") == "pinned_client" and not keeps_negative:
        config.setdefault("priority_timeout", PINNED_TIMEOUT)


def _filled_fields(config: Config, target: Target, parent: Config) -> dict[str, ServerDefault]:
    """What the server fills in for fields that the file leaves out."""
    limits = parent.get("consumer_limits") or {}
    fills = _server_defaults(
        "deliver_subject" not in config, "ack_policy" in config, target.limits.get("max_ack_pending") or 0,
        limits.get("max_ack_pending") or 0, limits.get("inactive_threshold") or 0,
    )  # fmt: skip
    return {name: default for name, default in fills.items() if name not in config}


ANY = 1 << 62
"""More than any limit that somebody configures."""
_NOTHING = ServerDefault(None)
_WAITING = ServerDefault(MAX_WAITING)
_BATCH = ServerDefault(None, most=ANY)
"""A limit of the server that no request shows."""
_IN_FLIGHT = ServerDefault(MAX_ACK_PENDING, most=MAX_ACK_PENDING)


@lru_cache(maxsize=64)
def _server_defaults(
    is_pull: bool, is_acknowledged: bool, allowed: int, most_in_flight: int, threshold: int
) -> Mapping[str, ServerDefault]:
    """By field. The last two numbers are inherited from the stream; thousands of consumers are filled in alike."""
    return {
        "max_waiting": _WAITING if is_pull else _NOTHING,
        "max_ack_pending": _inherited_limit(most_in_flight) or _default_max_ack_pending(allowed, is_acknowledged),
        "max_batch": _BATCH,
        "inactive_threshold": _inherited_limit(threshold) or _NOTHING,
    }


def _inherited_limit(limit: int) -> ServerDefault | None:
    return ServerDefault(limit, source="from consumer_limits") if limit else None


def _default_max_ack_pending(allowed: int, is_acknowledged: bool) -> ServerDefault:
    """1000, or less if the account or the server (which no request shows) allows less."""
    if not is_acknowledged:
        return _NOTHING
    if 0 < allowed < MAX_ACK_PENDING:
        return ServerDefault(allowed, most=allowed, source="from the limits of the account")
    return _IN_FLIGHT
