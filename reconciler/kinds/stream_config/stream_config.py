"""Stream configurations: what people write, what is known about each field, and both sides of a comparison.

>>> config = declared_config(spec)                       # what the file says
>>> settled = settle(config, target, name="ORDERS")      # what the server would echo for it
>>> live = canonical(info["config"])                     # what the server echoes
"""

from __future__ import annotations

from reconciler.kinds.fields import known as _known
from reconciler.kinds.fields.canonical_form import Settled, update_body
from reconciler.kinds.stream_config.stream_fields import StreamConfig
from reconciler.kinds.stream_config.stream_parts import (
    ConsumerLimits,
    External,
    Placement,
    Republish,
    SourceConsumer,
    StreamSource,
    SubjectTransform,
)
from reconciler.kinds.stream_config.stream_settle import STOCK, canonical, lasting_config, settle
from reconciler.model.resource import Config

__all__ = [
    "FIELDS",
    "FIELD_INFOS",
    "STOCK",
    "ConsumerLimits",
    "External",
    "Placement",
    "Republish",
    "Settled",
    "SourceConsumer",
    "StreamConfig",
    "StreamSource",
    "SubjectTransform",
    "canonical",
    "lasting_config",
    "required_level",
    "settle",
    "update_body",
]

FIELDS = _known.known_fields(StreamConfig)
FIELD_INFOS = _known.field_infos(StreamConfig)


def required_level(config: Config) -> int:
    """`Nats-Required-Api-Level` for this configuration."""
    return _known.required_level(StreamConfig, config)
