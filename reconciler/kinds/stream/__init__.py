"""Streams. The server fixes part of their configuration at creation, and a careless edit can lose the messages they
hold."""

from reconciler.kinds.stream.kind import STREAM

__all__ = ["STREAM"]
