"""Counts the servers of a cluster, which answer every user of an account: no JetStream request returns their number."""

from __future__ import annotations

import json

from reconciler.model.resource import Json
from reconciler.model.wire.questions import Peers
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Reply, Silence

ALL = "$SYS.REQ.ACCOUNT.PING.STATZ"
_EACH = b'{"include_unused":true}'
"""Asks all servers, including those that nobody of the account is connected to."""
AFTER_THE_LAST = 1.0
"""Seconds without a further answer, after which every server that answers has done so."""


async def peers(js: JetStream, question: Peers) -> dict[str, Json] | NoAnswer:
    """Return the servers that take part in JetStream; wait for no more than the wanted number."""
    if js.is_elsewhere:
        return NoAnswer(Silence.UNSENT, "only servers on this side of a leaf node answer")
    seen: dict[str, dict[str, Json]] = {}

    def enough(reply: Reply) -> bool:
        told = _told(reply)
        if told.get("jetstream"):
            seen[str(told.get("id"))] = {"cluster": told.get("cluster") or "", "tags": told.get("tags") or []}
        return question.placement == ("", ()) and _in_one(seen) >= question.least

    said = await js.pipeline.stream(ALL, _EACH, within=min(js.timeout, AFTER_THE_LAST), ends=enough)
    if not seen:
        return said if isinstance(said, NoAnswer) else NoAnswer(Silence.TIMEOUT, f"{ALL}: no server answered")
    return {"servers": [*seen.values()]}


def _in_one(seen: dict[str, dict[str, Json]]) -> int:
    clusters = [one["cluster"] for one in seen.values()]
    return max((clusters.count(name) for name in clusters), default=0)


def _told(reply: Reply) -> dict[str, Json]:
    try:
        found = json.loads(reply.data)["server"]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}
