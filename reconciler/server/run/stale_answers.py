"""Answers of a cluster that are behind what it said before: the server that gives them has not followed yet.

Up to 2.12 the leader of a cluster may not know a stream for a moment that another server has just made, and after an
election not how many servers there are. What a run has seen itself tells that such a refusal will pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.model.resource import Json
from reconciler.server.wire.api import NO_CONSUMER, NO_PEERS, NO_STREAM, Refusal

LASTING = ("tags not matched", "insufficient storage", "exclude tag", "unique tag")
"""Reasons for want of a server that are no matter of time."""


@dataclass(slots=True)
class Acknowledged:
    """What servers have acknowledged, or shown."""

    made: set[tuple[str, ...]] = field(default_factory=set)
    """Streams, and consumers under their streams, that this run made and has not deleted."""
    servers: int = 1
    """At least so many hold one stream together."""

    def show(self, infos: Iterable[Mapping[str, Json]]) -> None:
        """Learns from INFO replies how many servers the cluster has at least."""
        for info in infos:
            self.servers = max(self.servers, 1 + len((info.get("cluster") or {}).get("replicas") or ()))

    def contradicts(self, endpoint: str, body: Mapping[str, Json], said: Refusal) -> bool:
        """Do we know better than this refusal?"""
        on = tuple(endpoint.split(".")[2:])
        if said.err_code in (NO_STREAM, NO_CONSUMER):
            return on[: 1 if said.err_code == NO_STREAM else 2] in self.made
        is_placed = bool(body.get("placement")) or any(reason in said.description for reason in LASTING)
        return said.err_code == NO_PEERS and not is_placed and 1 <= (body.get("num_replicas") or 1) <= self.servers
