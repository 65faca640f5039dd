"""Consumers in canonical form: from what a server echoes, and from what a file says by predicting that echo."""

from __future__ import annotations

from functools import cache

from reconciler.core.resource import Config, Fills, Json
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
        "sample_freq": lambda text: text.removesuffix("%"),
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
    return Settled(config=config, open=_open(config, target, parent or {}))


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


def _open(config: Config, target: Target, parent: Config) -> dict[str, Fills]:
    """Fields nobody can know the default of, unless the file says something."""
    limits = parent.get("consumer_limits") or {}
    fills: dict[str, Fills] = {
        "max_waiting": _max_waiting(config),
        "max_ack_pending": _max_ack_pending(config, target, limits),
        "max_batch": _max_batch(config),
        "inactive_threshold": _exactly(limits.get("inactive_threshold")),
    }
    return {name: fill for name, fill in fills.items() if name not in config}


def _is_pull(config: Config) -> bool:
    return "deliver_subject" not in config


@cache
def _exactly(filled: Json) -> Fills:
    return lambda live: live is None or live == filled


def _max_waiting(config: Config) -> Fills:
    return _exactly(MAX_WAITING if _is_pull(config) else None)


def _max_batch(config: Config) -> Fills:
    """A server-wide limit that no request shows."""
    return (lambda live: live is None or live > 0) if _is_pull(config) else _exactly(None)


def _max_ack_pending(config: Config, target: Target, limits: Config) -> Fills:
    """What the stream hands down; else 1000, or less where account or server (which no request shows) allow less."""
    if limits.get("max_ack_pending"):
        return _exactly(limits["max_ack_pending"])
    if "ack_policy" not in config:
        return _exactly(None)
    allowed = target.limits.get("max_ack_pending") or 0
    most = min(MAX_ACK_PENDING, allowed) if allowed > 0 else MAX_ACK_PENDING
    return lambda live: live is None or 0 < live <= most
