"""Streams: configurations the server fixes in part at creation, holding messages that every careless edit can lose."""

from reconciler.kinds.stream.kind import STREAM

__all__ = ["STREAM"]
