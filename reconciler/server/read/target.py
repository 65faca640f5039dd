"""The target: version, API level, account and cluster, as whoever answers the API says, and how many servers it has.

Through a leaf node, the connection shows the leaf's version and cluster while the hub answers. A field that is sent
because the connection's version has it would be silently dropped by an older hub. No JetStream request returns the
number of servers; every user of an account may ask a cluster's servers one by one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress

from reconciler.model.resource import Json
from reconciler.model.wire.questions import ALL_SERVERS, Peers
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from reconciler.server.wire.answers import Answer
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Reply, Silence

_EACH = b'{"include_unused":true}'
"""Asks all servers, including those that nobody of the account is connected to."""
LEVELS = {
    1: Version(2, 11, 0), 2: Version(2, 12, 0), 3: Version(2, 12, 5), 4: Version(2, 14, 0), 5: Version(2, 15, 0),
}  # fmt: skip
"""The first version of each API level."""
_STRICTEST = min(LEVELS.values())
"""The version under which fewest servers fit a tag."""
AFTER_THE_LAST = 1.0
"""Seconds without a further answer, after which every server that answers has done so."""


async def peers(js: JetStream, question: Peers) -> dict[str, Json] | NoAnswer:
    """Return the servers that take part in JetStream; wait for no more than the wanted number of fitting ones."""
    if js.is_elsewhere:
        return NoAnswer(Silence.UNSENT, "only servers on this side of a leaf node answer")
    servers: dict[str, dict[str, Json]] = {}

    def enough(reply: Reply) -> bool:
        server = _server_info(reply)
        if server.get("jetstream"):
            servers[str(server.get("id"))] = {"cluster": server.get("cluster") or "", "tags": server.get("tags") or []}
        return question.fitting_servers(servers.values(), _STRICTEST) >= question.least

    replies = await js.pipeline.stream(ALL_SERVERS, _EACH, within=min(js.timeout, AFTER_THE_LAST), ends=enough)
    if not servers:
        return (
            replies
            if isinstance(replies, NoAnswer)
            else NoAnswer(Silence.TIMEOUT, f"{ALL_SERVERS}: no server answered")
        )
    return {"servers": [*servers.values()]}


def _server_info(reply: Reply) -> dict[str, Json]:
    try:
        server = json.loads(reply.data)["server"]
    except (ValueError, KeyError, TypeError):
        return {}
    return server if isinstance(server, dict) else {}


LEADERS_ASKED = 16
_HIDDEN = "[REDACTED]"


async def leader_versions(js: JetStream, streams: Mapping[str, Mapping[str, Json]]) -> list[Version]:
    """Return versions of the servers that lead streams: STREAM.INFO has them (`_nats.ver`), STREAM.LIST does not."""
    one_each = {str((item.get("cluster") or {}).get("leader")): name for name, item in streams.items()}
    names = list(one_each.values())[:LEADERS_ASKED]
    answers = await asyncio.gather(*(js.read(f"STREAM.INFO.{name}") for name in names))
    versions = []
    for answer in answers:
        with suppress(KeyError, ValueError):  # silent or refused; an INFO without the key
            if isinstance(answer, Mapping):
                versions.append(Version.parse(answer["config"]["metadata"]["_nats.ver"]))
    return versions


def target(
    js: JetStream,
    info: Answer,
    who: Mapping[str, Json] | None,
    streams: Mapping[str, Mapping[str, Json]],
    versions: Iterable[Version],
) -> Target:
    """Return the target as its answers describe it. The version is the lowest of all servers seen: a meta leader that is
    older drops fields that it does not know, and one that is newer may place a stream on an older server, which then
    does not answer. Anything unsaid is None."""
    usage = dict(info) if isinstance(info, Mapping) else {}
    limits = usage.pop("limits", None) or {}
    connected = None if js.is_elsewhere else _connected_version(js)
    api_level = int((usage.get("api") or {}).get("level", 0)) or None
    leading = list(versions)
    version = _lowest_version(leading, api_level, connected)
    newest = max([*leading, LEVELS.get(api_level or 0, version)])
    data, server = ((who or {}).get(part) or {} for part in ("data", "server"))
    cluster = _cluster_name(streams.values()) or (None if js.is_elsewhere or streams else server.get("cluster"))
    return Target(
        version=version,
        newest=newest if newest[:2] != version[:2] else None,
        level=_api_level(api_level, version),
        account=data.get("account"),
        account_name=data.get("account_name") if data.get("account_name") != data.get("account") else None,
        user=user_of(data, js.pipeline.nc.options.get("token")),
        domain=usage.get("domain") or js.domain,
        cluster=cluster,
        peers=None if cluster or (js.is_elsewhere and not streams) else 1,
        server=js.pipeline.server_id,
        is_all=not cluster and not js.is_elsewhere and js.pipeline.has_jetstream,
        at=server.get("time"),
        limits=limits,
        usage=usage,
    )


def user_of(info: Mapping[str, Json], token: str | None) -> str | None:
    """Return the user's name. A login by token has none: servers report the token itself until 2.11.1, and hide it
    later."""
    user = info.get("user")
    return None if not user or user in (token, _HIDDEN) else str(user)


def level_of(version: Version) -> int:
    """Return the API level of servers of this version; 0 for those before 2.11."""
    return max((level for level, first in LEVELS.items() if first <= version), default=0)


def _api_level(level: int | None, version: Version) -> int:
    """Use the meta leader's own level; where an older server leads something, that server's counts. A server newer than
    this table knows its level best."""
    if level is None:
        return level_of(version)
    return level if version >= LEVELS[max(LEVELS)] else min(level, level_of(version))


def _lowest_version(leaders: list[Version], level: int | None, connected: Version | None) -> Version:
    """Mixed versions count as the lowest; a connection whose version cannot have this API level is not what answers."""
    fits = connected is not None and (level is None or level_of(connected) == level or level not in LEVELS)
    versions = leaders or ([connected] if connected is not None and fits else [])
    if level in LEVELS and all(level_of(version) > level for version in versions):
        versions.append(LEVELS[level])
    return min(versions, default=LEVELS[max(LEVELS)])


def _connected_version(js: JetStream) -> Version:
    server = js.pipeline.nc.connected_server_version
    return Version(server.major, server.minor, server.patch)


def _cluster_name(streams: Iterable[Mapping[str, Json]]) -> str | None:
    return next((name for item in streams if (name := (item.get("cluster") or {}).get("name"))), None)
