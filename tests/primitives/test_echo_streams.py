"""What settle predicts for streams is what real servers echo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import strategies as st

from reconciler.kinds.fields.canonical_form import Settled
from reconciler.kinds.stream_config import stream_config
from reconciler.kinds.stream_config.stream_config import FIELD_INFOS, FIELDS, canonical, settle
from tests.primitives.bodies import RECIPES, STREAM_GROUPS, Body, bodies, named, stream_fields
from tests.primitives.compare import BATCH, PAIRS, Mismatches, as_engine, patched
from tests.primitives.echo import Server
from tests.support.accounts import Account
from tests.support.drawing import batches, drawn
from tests.support.versions import on_every_version

ORIGINS: dict[str, Body] = {"PLAIN": {}, "DIRECT": {"allow_direct": True}}


class Streams:
    """A server with origins for mirrors, fresh names, and a count of what was drawn and accepted."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.names = (f"N{i}" for i in count())
        self.accepted: Counter[str] = Counter()
        self.updated: Counter[str] = Counter()
        """How many updates were sent, and taken, of each sort."""
        self.mismatches = Mismatches()
        server.create_streams(ORIGINS)
        self.strategy = bodies(stream_fields(server.version), STREAM_GROUPS, RECIPES["stream"])

    def settle(self, name: str, body: Body) -> Settled:
        origin = ORIGINS.get((body.get("mirror") or {}).get("name", ""))
        return settle(body, self.server.target, name=name, origin=origin)

    def check(self, name: str, body: Body, echoed: Body) -> None:
        """`echoed` is what settle says for `body`."""
        settled, live = self.settle(name, body), canonical(echoed)
        self.mismatches.expect(
            live, as_engine(settled, live, FIELD_INFOS), f"for {body}, filled {list(settled.filled)}"
        )
        self.accepted.update(settled.config.keys())

    def create(self, drawn: list[Body]) -> dict[str, Body]:
        """Creates a stream for each body; those accepted, by name."""
        wanted = {name: named(body, name) for body, name in zip(drawn, self.names, strict=False)}
        replies = self.server.create_streams(wanted)
        made = {name: reply.config for name, reply in zip(wanted, replies, strict=True) if reply.config}
        for name, echo in made.items():
            self.check(name, wanted[name], echo)
            self.check_level(echo)
        return made

    def check_level(self, echoed: Body) -> None:
        """The level we require is the one the server notes."""
        if "consumer" not in str(echoed.get("mirror")) + str(echoed.get("sources")):  # the server forgets this one
            noted, required = echoed["metadata"]["_nats.req.level"], stream_config.required_level(canonical(echoed))
            self.mismatches.expect({"level": noted}, {"level": str(required)}, f"required by {echoed}")


@pytest.fixture
def streams(account: Account) -> Iterator[Streams]:
    with Server(account) as server:
        yield Streams(server)


@on_every_version
def test_settle_predicts_the_echo_of_creates_lists_updates_and_patches(streams: Streams) -> None:
    """Of the same bodies, as drawing them takes longer than asking the server."""
    pairs = st.tuples(streams.strategy, streams.strategy)
    for batch in batches(drawn(lambda _: pairs, PAIRS), BATCH):
        _updated(streams, batch)
        _patched(streams, batch)
    streams.mismatches.none()
    known = {name for name, about in FIELDS.items() if about.since <= streams.server.version}
    assert known - streams.accepted.keys() == {"num_replicas"}, "every field was accepted; replicas need a cluster"
    assert min(streams.updated["whole"], streams.updated["patches"]) > streams.updated["of"] / 2, streams.updated


def _updated(streams: Streams, drawn: list[tuple[Body, Body]]) -> None:
    """Each body in whole takes the place of the one before."""
    made = streams.create([body for body, _ in drawn])
    try:
        listed = streams.server.listed_streams()
        for name, echo in made.items():
            streams.mismatches.expect(canonical(listed[name]), canonical(echo), "in a list")
        updates = {name: _as_sent(named(body, name)) for name, (_, body) in zip(made, drawn, strict=False)}
        for (name, body), reply in zip(updates.items(), streams.server.update_streams(updates), strict=True):
            streams.updated.update({"whole": bool(reply.config), "of": 1})
            if reply.config:
                streams.check(name, body, reply.config)
    finally:
        streams.server.delete_streams(made)


def _as_sent(body: Body) -> Body:
    """Sealing lifts `max_age`, so apply never sends both; a server that gets both takes the window from `max_age` first."""
    return {key: value for key, value in body.items() if key != "max_age" or not body.get("sealed")}


def _patched(streams: Streams, drawn: list[tuple[Body, Body]]) -> None:
    """What differs is sent alone: that gives what was wanted, and leaves nothing to plan."""
    made = streams.create([body for body, _ in drawn])
    try:
        wanted = {name: named(body, name) for name, (_, body) in zip(made, drawn, strict=False)}
        settled = {name: streams.settle(name, body) for name, body in wanted.items()}
        sent = {
            name: patched(echo, as_engine(settled[name], canonical(echo), FIELD_INFOS), canonical(echo), settled[name])
            for name, echo in made.items()
        }
        for name, reply in zip(sent, streams.server.update_streams(sent), strict=True):
            streams.updated["patches"] += bool(reply.config)
            if reply.config:
                live = canonical(reply.config)
                again = as_engine(settled[name], live, FIELD_INFOS)
                streams.mismatches.expect(live, again, f"{made[name]} → {wanted[name]}, sent {sent[name]}")
    finally:
        streams.server.delete_streams(made)


def test_replicas_and_placement_are_echoed_by_a_cluster(clustered_account: Account) -> None:
    body: Body = {"num_replicas": 3, "placement": {"cluster": "C1", "tags": ["all"]}}
    with Server(clustered_account) as server:
        (reply,) = server.create_streams({"S": body})
        assert reply.config is not None, reply.words
        assert canonical(reply.config) == as_engine(
            settle(body, server.target, name="S"), canonical(reply.config), FIELD_INFOS
        )
