"""Consumer configurations: what people write, what is known about each field, and both sides of a comparison.

>>> config = declared_config(spec)                       # what the file says
>>> settled = settle(config, target, parent=stream)      # what the server would echo for it
>>> live = canonical(info["config"])                     # what the server echoes
"""

from __future__ import annotations

from reconciler.kinds.consumer_config.consumer_fields import ConsumerConfig
from reconciler.kinds.consumer_config.consumer_settle import canonical, settle, stock
from reconciler.kinds.fields import known as _known
from reconciler.kinds.fields.known import YoungValue
from reconciler.kinds.fields.patch import update_body
from reconciler.kinds.fields.sparse import Settled
from reconciler.model.resource import Config
from reconciler.model.wire.version import Version

__all__ = [
    "FIELDS",
    "FIELD_INFOS",
    "ConsumerConfig",
    "Settled",
    "canonical",
    "required_level",
    "settle",
    "stock",
    "unknown_fields",
    "unknown_values",
    "update_body",
]

FIELDS = _known.known(ConsumerConfig)
FIELD_INFOS = _known.field_infos(ConsumerConfig)


def unknown_fields(config: Config, version: Version) -> list[str]:
    """Fields this version does not know: 2.11 silently drops them, later versions refuse them with 10025."""
    return _known.unknown_fields(ConsumerConfig, config, version)


def unknown_values(config: Config, version: Version) -> list[YoungValue]:
    """Values of known fields that this version does not know; it refuses them with 10025."""
    return _known.unknown_values(ConsumerConfig, config, version)


def required_level(config: Config) -> int:
    """`Nats-Required-Api-Level` for this configuration."""
    return _known.required_level(ConsumerConfig, config)
