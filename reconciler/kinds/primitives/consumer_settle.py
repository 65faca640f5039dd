"""Consumers in canonical form: from what a server echoes, and from what a file says by predicting that echo."""

from __future__ import annotations

from reconciler.core.resource import Config, Json, ServerDefault
from reconciler.core.wire import Target, Version
from reconciler.kinds.primitives.consumer_fields import ConsumerConfig
from reconciler.kinds.primitives.known import V2_12, V2_14, known
from reconciler.kinds.primitives.sparse import MINUTE, SECOND, Canon, Settled, limit, listed, metadata, positive, time

ACK_WAIT = 30 * SECOND
PINNED_TIMEOUT = 2 * MINUTE
MAX_WAITING = 512
MAX_ACK_PENDING = 1000

NAMES = ("name", "durable_name", "stream_name")

_canon = Canon(
    defaults={name: about.default for name, about in known(ConsumerConfig).items() if about.default is not None},
    clean={
        **dict.fromkeys(("max_deliver", "max_batch", "max_expires", "max_bytes", "max_waiting"), positive),
        **dict.fromkeys(("idle_heartbeat", "inactive_threshold", "priority_timeout"), positive),
        "max_ack_pending": limit,  # -1 is "no limit", while a left-out one is filled in
        "opt_start_time": time,
        "pause_until": time,
        "metadata": metadata,
        **dict.fromkeys(("backoff", "filter_subjects", "priority_groups"), listed),
    },
)


def canonical(config: Config) -> dict[str, Json]:
    """From a server's echo, or any configuration in the server's names; the consumer's names are not part of it."""
    sparse = _canon(config)
    for name in NAMES:
        sparse.pop(name, None)
    # 30s is filled in for these policies only, and the policy is fixed for the consumer's whole life.
    if sparse.get("ack_wait") == ACK_WAIT and sparse.get("ack_policy") in ("explicit", "all"):
        del sparse["ack_wait"]
    return sparse


def settle(body: Config, target: Target, *, parent: Config | None = None) -> Settled:
    """What this server would echo for `body`. `parent` is the stream's canonical configuration. Fields and values this
    version lacks stay as written: a rule refuses them."""
    config = canonical(body)
    _flow_controlled(config, target.version)
    _first_backoff(config)
    _pinned_timeout(config, body, target.version)
    filled = _filled(config, target, parent or {})
    config |= {field: one.value for field, one in filled.items() if one.value is not None}
    return Settled(config=config, filled=filled)


def _flow_controlled(config: dict[str, Json], version: Version) -> None:
    if config.get("ack_policy") == "flow_control" and version >= V2_14:
        config.update(flow_control=True, idle_heartbeat=SECOND)


def _first_backoff(config: dict[str, Json]) -> None:
    """The first backoff replaces the time to acknowledge; canonical form drops it where it is the default anyway."""
    if "backoff" in config:
        config["ack_wait"] = config["backoff"][0]
        config.update(canonical({key: config.pop(key) for key in ("ack_wait", "ack_policy") if key in config}))


def _pinned_timeout(config: dict[str, Json], body: Config, version: Version) -> None:
    keeps_negative = version < V2_12 and (body.get("priority_timeout") or 0) < 0
    if config.get("priority_policy") == "pinned_client" and not keeps_negative:
        config.setdefault("priority_timeout", PINNED_TIMEOUT)


def _filled(config: Config, target: Target, parent: Config) -> dict[str, ServerDefault]:
    """What the server fills in where the file says nothing."""
    limits = parent.get("consumer_limits") or {}
    is_pull = "deliver_subject" not in config
    filled = {
        "max_waiting": ServerDefault(MAX_WAITING if is_pull else None),
        "max_ack_pending": _max_ack_pending(config, target, limits),
        "max_batch": ServerDefault(None, most=ANY),  # a limit of the server that no request shows
        "inactive_threshold": _inherited(limits, "inactive_threshold") or ServerDefault(None),
    }
    return {name: one for name, one in filled.items() if name not in config}


ANY = 1 << 62
"""More than any limit that somebody configures."""


def _inherited(limits: Config, name: str) -> ServerDefault | None:
    return ServerDefault(limits[name], source="from consumer_limits") if limits.get(name) else None


def _max_ack_pending(config: Config, target: Target, limits: Config) -> ServerDefault:
    """What the stream hands down; else 1000, or less where the account or the server (which no request shows) allows less."""
    if inherited := _inherited(limits, "max_ack_pending"):
        return inherited
    if "ack_policy" not in config:
        return ServerDefault(None)
    allowed = target.limits.get("max_ack_pending") or 0
    if 0 < allowed < MAX_ACK_PENDING:
        return ServerDefault(allowed, most=allowed, source="from the limits of the account")
    return ServerDefault(MAX_ACK_PENDING, most=MAX_ACK_PENDING)
