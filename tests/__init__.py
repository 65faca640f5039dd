"""Tests against real nats-servers of every supported minor version, and of the pure engine."""
