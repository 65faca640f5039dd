"""What a stream's change does to its consumers is what real servers do."""

from __future__ import annotations

import pytest

from reconciler.changes.verdict import Reaction
from reconciler.engine.compare import compare
from reconciler.engine.judging import verdicts_of_all
from reconciler.kinds import REGISTRY
from reconciler.memory.remembered import Memory
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot
from tests.convergence.drawing import topology
from tests.primitives.bodies import Body, S
from tests.primitives.echo import Server
from tests.support.accounts import Account, accounts_config
from tests.support.binaries import MINORS
from tests.support.servers import running
from tests.support.versions import on_every_version

EXPLICIT: Body = {"ack_policy": "explicit"}
PENDING, IDLE = {"max_ack_pending": 100}, {"inactive_threshold": 60 * S}

LIMITS: list[tuple[Body, Body, Body]] = [
    ({}, EXPLICIT, PENDING),
    ({}, {**EXPLICIT, **PENDING}, PENDING),
    ({}, {**EXPLICIT, "max_ack_pending": 101}, PENDING),
    ({}, {}, PENDING),
    ({}, IDLE, IDLE),
    ({}, {"inactive_threshold": 61 * S}, IDLE),
    ({}, {**EXPLICIT, **IDLE}, {"max_ack_pending": 5000}),
    ({}, EXPLICIT, {"max_ack_pending": -4}),
    (PENDING, EXPLICIT, {}),
    (PENDING, EXPLICIT, {"max_ack_pending": 99}),
    (PENDING, EXPLICIT, {"max_ack_pending": 500}),
    (PENDING, {"ack_policy": "none"}, {}),
    (IDLE, {}, {}),
    ({**PENDING, **IDLE}, EXPLICIT, PENDING),
    ({**PENDING, **IDLE}, EXPLICIT, IDLE),
]
"""Limits before, a consumer, and limits after."""


def snapshot_of(server: Server) -> Snapshot:
    streams = server.listed_streams()
    return Snapshot(
        target=server.target,
        streams={name: {"config": config, "state": {}} for name, config in streams.items()},
        consumers={
            name: {consumer: {"config": config} for consumer, config in server.listed_consumers(name).items()}
            for name in streams
        },
    )


def reactions(server: Server, wanted: dict[str, Body], code: str) -> dict[str, set[Reaction]]:
    """What the rule says the server does, by stream; consumers are somebody else's."""
    snapshot = snapshot_of(server)
    desired = topology("streams", {Address.of("stream", name): body for name, body in wanted.items()})
    view = compare(desired, snapshot, Memory(), REGISTRY)
    found = verdicts_of_all(view, REGISTRY)
    return {
        address.name: {verdict.reaction for verdict in found.get(address, ()) if verdict.code == code}
        for address in view.changes
    }


@on_every_version
def test_limits_that_consumers_exceed_are_refused_as_the_server_refuses_them(account: Account) -> None:
    cases = {f"N{number}": case for number, case in enumerate(LIMITS)}
    with Server(account) as server:
        server.create_streams({name: {"consumer_limits": before} for name, (before, _, _) in cases.items()})
        for name, (_, consumer, _) in cases.items():
            assert [r.words for r in server.consumers(name, {"c": consumer}) if r.config is None] == []
        wanted = {name: {"consumer_limits": after} for name, (_, _, after) in cases.items()}
        said = reactions(server, wanted, "ST554")
        replies = dict(zip(wanted, server.update_streams(wanted), strict=True))
    refused = {name: reply.err_code for name, reply in replies.items() if reply.config is None}
    assert [case for name, case in cases.items() if bool(said[name]) != (name in refused)] == []
    assert set(refused.values()) == {10069}


@pytest.mark.parametrize("minor", MINORS)
def test_a_consumer_whose_deliver_subject_is_taken_in_is_gone_after_the_next_start(minor: str) -> None:
    widened = {"TAKEN": {"subjects": ["taken.*"]}, "FREE": {"subjects": ["free.*"]}}
    with running(minor, accounts_config(1)) as process:
        account = Account(server=process, user="a0", password="a0")
        with Server(account) as server:
            server.create_streams({"TAKEN": {"subjects": ["taken.new"]}, "FREE": {"subjects": ["free.new"]}})
            for stream in widened:
                server.consumers(stream, {"push": {"deliver_subject": "taken.seen"}, "pull": {}})
            said = reactions(server, widened, "ST555")
            assert [reply.words for reply in server.update_streams(widened) if reply.config is None] == []
        process.restart()
        with Server(account) as server:
            left = {stream: set(server.listed_consumers(stream)) for stream in widened}
    assert said == {"TAKEN": {Reaction.DOOMS}, "FREE": set()}
    assert left == {"TAKEN": {"pull"}, "FREE": {"push", "pull"}}
