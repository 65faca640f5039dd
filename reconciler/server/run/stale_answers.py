"""Recognises answers of a cluster that lag behind earlier ones: the server that gives them has not followed yet.

Up to 2.12 the leader of a cluster may not know, for a moment, a stream that another server has just created, and after
an election not how many servers there are. What a run has seen itself shows that such a refusal will pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.server.wire.answers import NO_CONSUMER, NO_PEERS, NO_STREAM, Refusal

LASTING = ("tags not matched", "insufficient storage", "exclude tag", "unique tag")
"""Reasons for a lack of servers that time does not change."""


@dataclass(slots=True)
class Acknowledged:
    """What servers have acknowledged or shown."""

    made: set[tuple[str, ...]] = field(default_factory=set)
    """Streams, and consumers under their streams, that this run created and has not deleted."""
    servers: int = 1
    """The least number of servers: so many hold one stream together."""

    def show(self, infos: Iterable[Mapping[str, Json]]) -> None:
        """Learn from INFO replies how many servers the cluster has at least."""
        for info in infos:
            self.servers = max(self.servers, 1 + len((info.get("cluster") or {}).get("replicas") or ()))

    def contradicts(self, endpoint: str, body: Mapping[str, Json], said: Refusal) -> bool:
        """Does this run know better than the refusal?"""
        on = tuple(endpoint.split(".")[2:])
        if said.err_code in (NO_STREAM, NO_CONSUMER):
            return on[: 1 if said.err_code == NO_STREAM else 2] in self.made
        is_placed = bool(body.get("placement")) or any(reason in said.description for reason in LASTING)
        return said.err_code == NO_PEERS and not is_placed and 1 <= (body.get("num_replicas") or 1) <= self.servers
