"""What settle predicts for consumers is what real servers echo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count, cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.consumer_config.consumer_config import FIELD_INFOS, FIELDS, canonical, settle
from reconciler.kinds.fields.canonical_form import Settled
from reconciler.kinds.stream_config import stream_config
from tests.primitives.bodies import CONSUMER_GROUPS, RECIPES, Body, bodies, consumer_fields, named
from tests.primitives.compare import BATCH, PAIRS, Mismatches, as_engine, patched, relaxed
from tests.primitives.echo import Server
from tests.support.accounts import Account
from tests.support.drawing import batches, drawn
from tests.support.versions import on_every_version

STREAMS: dict[str, Body] = {
    "FREE": {"subjects": ["a.>", "b", "c.*"]},
    "BOUND": {
        "subjects": ["d.>"],
        "consumer_limits": {"max_ack_pending": 200, "inactive_threshold": 10 * 60_000_000_000},
    },
    "WORK": {"subjects": ["e.>"], "retention": "workqueue", "storage": "memory"},
}


class Consumers:
    """A server with streams that hand down nothing, limits, or a work queue's rules, and fresh names."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.names = (f"n{i}" for i in count())
        self.accepted: Counter[str] = Counter()
        self.updated: Counter[str] = Counter()
        """How many updates were sent, and taken, of each sort."""
        self.mismatches = Mismatches()
        server.create_streams(STREAMS)
        self.strategy = bodies(consumer_fields(server.version), CONSUMER_GROUPS, RECIPES["consumer"])

    def settle(self, stream: str, body: Body) -> Settled:
        parent = stream_config.settle(STREAMS[stream], self.server.target, name=stream).config
        return settle(body, self.server.target, parent=parent)

    def check(self, stream: str, body: Body, echoed: Body) -> None:
        settled, live = self.settle(stream, body), canonical(echoed)
        self.mismatches.expect(live, as_engine(settled, live, FIELD_INFOS), f"for {body} on {stream}")
        self.accepted.update(settled.config.keys())

    def create(self, stream: str, drawn: list[Body]) -> dict[str, Body]:
        wanted = {name: named(body, name) for body, name in zip(drawn, self.names, strict=False)}
        replies = self.server.consumers(stream, wanted)
        made = {name: reply.config for name, reply in zip(wanted, replies, strict=True) if reply.config}
        for name, echo in made.items():
            self.check(stream, wanted[name], echo)
        return made


@pytest.fixture
def consumers(account: Account) -> Iterator[Consumers]:
    with Server(account) as server:
        yield Consumers(server)


@on_every_version
def test_settle_predicts_the_echo_of_creates_lists_updates_and_patches(consumers: Consumers) -> None:
    """Of the same bodies, as drawing them takes longer than asking the server."""
    pairs = st.tuples(consumers.strategy, consumers.strategy)
    for batch, stream in zip(batches(drawn(lambda _: pairs, PAIRS), BATCH), cycle(sorted(STREAMS)), strict=False):
        _updated(consumers, stream, batch)
        _patched(consumers, stream, batch)
    consumers.mismatches.none()
    known = {name for name, about in FIELDS.items() if about.since <= consumers.server.version}
    assert known - consumers.accepted.keys() == set(), "every field was drawn and accepted"
    assert min(consumers.updated["whole"], consumers.updated["patches"]) > consumers.updated["of"] / 10, (
        consumers.updated
    )


def _updated(consumers: Consumers, stream: str, drawn: list[tuple[Body, Body]]) -> None:
    """Each body in whole takes the place of the one before."""
    made = consumers.create(stream, [body for body, _ in drawn])
    try:
        listed = consumers.server.listed_consumers(stream)
        for name, echo in made.items():
            consumers.mismatches.expect(canonical(listed[name]), canonical(echo), "in a list")
        updates = {name: named(body, name) for name, (_, body) in zip(made, drawn, strict=False)}
        replies = consumers.server.consumers(stream, updates, "update")
        for (name, body), reply in zip(updates.items(), replies, strict=True):
            consumers.updated.update({"whole": bool(reply.config), "of": 1})
            if reply.config:
                consumers.check(stream, _as_paused(body, made[name]), reply.config)
    finally:
        consumers.server.delete_consumers(stream, made)


def _patched(consumers: Consumers, stream: str, drawn: list[tuple[Body, Body]]) -> None:
    """What differs is sent alone: that gives what was wanted, and leaves nothing to plan."""
    made = consumers.create(stream, [body for body, _ in drawn])
    try:
        wanted = {name: _as_paused(named(body, name), made[name]) for name, (_, body) in zip(made, drawn, strict=False)}
        settled = {name: consumers.settle(stream, body) for name, body in wanted.items()}
        sent = {
            name: patched(echo, as_engine(settled[name], canonical(echo), FIELD_INFOS), canonical(echo), settled[name])
            for name, echo in made.items()
        }
        for name, reply in zip(sent, consumers.server.consumers(stream, sent, "update"), strict=True):
            consumers.updated["patches"] += bool(reply.config)
            if reply.config:
                live = canonical(reply.config)
                again = as_engine(settled[name], live, FIELD_INFOS)
                consumers.mismatches.expect(live, again, f"{made[name]} → {wanted[name]}, sent {sent[name]}")
    finally:
        consumers.server.delete_consumers(stream, made)


def _as_paused(body: Body, live: Body) -> Body:
    """Updates leave pausing alone, whatever they say."""
    kept = {"pause_until": live["pause_until"]} if "pause_until" in live else {}
    return {**{key: value for key, value in body.items() if key != "pause_until"}, **kept}


@on_every_version
def test_the_required_level_is_the_one_the_server_notes(consumers: Consumers) -> None:
    @settings(relaxed, max_examples=5)
    @given(st.lists(consumers.strategy, min_size=BATCH, max_size=BATCH))
    def check(drawn: list[Body]) -> None:
        made = consumers.create("FREE", drawn)
        consumers.server.delete_consumers("FREE", made)
        for echo in made.values():
            assert consumer_config.required_level(canonical(echo)) == int(echo["metadata"]["_nats.req.level"]), echo

    check()
