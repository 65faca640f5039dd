"""Consumers: durable positions in a stream. Clients depend on their policies, and lose their place when one is
recreated."""

from reconciler.kinds.consumer.kind import CONSUMER

__all__ = ["CONSUMER"]
