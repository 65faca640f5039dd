"""Consumer configurations: what people write, what is known about each field, and both sides of a comparison.

>>> config = declared_config(spec)                       # what the file says
>>> settled = settle(config, target, parent=stream)      # what the server would echo for it
>>> live = canonical(info["config"])                     # what the server echoes

What a placeholder is called: the durable that wants the messages of a consumer on an interest stream while apply replaces it.
"""

from __future__ import annotations

from hashlib import sha256

from reconciler.kinds.consumer_config.consumer_fields import ConsumerConfig
from reconciler.kinds.consumer_config.consumer_settle import canonical, settle, stock_values
from reconciler.kinds.fields import known as _known
from reconciler.kinds.fields.canonical_form import Settled, update_body
from reconciler.model.resource import Config

__all__ = [
    "FIELDS",
    "FIELD_INFOS",
    "ConsumerConfig",
    "Settled",
    "canonical",
    "required_level",
    "settle",
    "stock_values",
    "update_body",
]

FIELDS = _known.known_fields(ConsumerConfig)
FIELD_INFOS = _known.field_infos(ConsumerConfig)


def required_level(config: Config) -> int:
    """`Nats-Required-Api-Level` for this configuration."""
    return _known.required_level(ConsumerConfig, config)


def placeholder_name(name: str) -> str:
    """The durable that wants the same messages as long as an interest stream would delete them."""
    return f"{name[:50]}-{sha256(name.encode()).hexdigest()[:8]}-kept"
