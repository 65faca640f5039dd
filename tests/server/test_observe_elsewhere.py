"""Reading where less is allowed, where the API is in another place, and where a part of the cluster does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reconciler.model.diagnostic import CannotContinue
from reconciler.model.wire.snapshot import Entry, Snapshot
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import AGAIN, observe
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.support.accounts import User
from tests.support.binaries import MINORS, VERSIONS
from tests.support.clusters import Cluster
from tests.support.jetstream import make_bucket, make_consumer, make_stream, make_streams, talk
from tests.support.servers import NatsServer
from tests.support.suspending import suspended

READ = '"$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.LIST.>"'
PLACES = f"""
accounts {{
  A: {{
    jetstream: enabled
    users: [
      {{user: admin, password: admin}}
      {{user: reader, password: reader, permissions: {{
        publish: {{allow: [{READ}, "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.MSG.GET.>"]}}
        subscribe: {{allow: "_INBOX.>"}}
      }}}}
      {{user: undirect, password: undirect, permissions: {{
        publish: {{allow: [{READ}, "$JS.API.STREAM.MSG.GET.>"]}}
        subscribe: {{allow: "_INBOX.>"}}
      }}}}
      {{user: keyless, password: keyless, permissions: {{publish: {{allow: [{READ}]}}}}}}
      {{user: listless, password: listless, permissions: {{publish: {{deny: "$JS.API.CONSUMER.LIST.>"}}}}}}
      {{user: blind, password: blind, permissions: {{publish: {{deny: "$JS.API.STREAM.LIST"}}}}}}
      {{user: nobody, password: nobody, permissions: {{publish: {{deny: "$JS.>"}}}}}}
    ]
    exports: [{{service: "$JS.API.>"}}, {{service: "$KV.>"}}]
  }}
  B: {{
    users: [{{user: imports, password: imports}}]
    imports: [
      {{service: {{account: A, subject: "$JS.API.>"}}, to: "acme.API.>"}}
      {{service: {{account: A, subject: "$KV.>"}}, to: "acme.API.$KV.>"}}
    ]
  }}
  C: {{users: [{{user: bare, password: bare}}]}}
}}
"""


@pytest.fixture(scope="module", params=MINORS)
def server(request: pytest.FixtureRequest) -> Iterator[NatsServer]:
    """With a stream, a consumer and an entry in account A."""
    with NatsServer(request.param, PLACES) as started:
        talk(User(started, "admin"), _fill)
        yield started


async def _fill(js: JetStream) -> None:
    await make_stream(js, "S")
    await make_consumer(js, "S", "c")
    await make_bucket(js, "reconciler")
    await js.put_entry("reconciler", "id", b"42", expected_revision=0)


@pytest.mark.parametrize("user", ["reader", "undirect"])
def test_a_user_who_may_only_read_sees_everything(server: NatsServer, user: str) -> None:
    snapshot = talk(User(server, user), observe)
    assert snapshot.unknown == {}
    assert set(snapshot.streams) == {"S", "KV_reconciler"}
    assert set(snapshot.consumers["S"]) == {"c"}
    assert snapshot.entries == {"reconciler": {"id": Entry(b"42", 1)}}


def test_denied_consumers_are_unknown_with_the_reason(server: NatsServer) -> None:
    snapshot = talk(User(server, "listless"), observe)
    reason = "CONSUMER.LIST: permission denied: may not publish to $JS.API.CONSUMER.LIST.S"
    assert snapshot.unknown == {"consumers/S": reason}
    assert snapshot.why_consumer_unknown("S", "c") == reason


def test_denied_streams_make_every_stream_unknown(server: NatsServer) -> None:
    snapshot = talk(User(server, "blind"), observe)
    assert snapshot.why_stream_unknown("S") == "STREAM.LIST: permission denied: may not publish to $JS.API.STREAM.LIST"


def test_denied_entries_make_only_their_bucket_unknown(server: NatsServer) -> None:
    snapshot = talk(User(server, "keyless"), observe)
    assert list(snapshot.unknown) == ["bucket/reconciler"]


def test_who_may_read_nothing_is_told_so(server: NatsServer) -> None:
    with pytest.raises(CannotContinue, match=r"Nothing could be read at \$JS.API: permission denied") as caught:
        talk(User(server, "nobody"), observe)
    assert caught.value.diagnostics[0].fix == "Allow publishing to $JS.API.> and subscribing to _INBOX.>."


def test_no_permission_is_advised_where_a_server_only_does_not_answer(server: NatsServer) -> None:
    async def work(js: JetStream) -> Snapshot:
        with suspended(server.pid):
            return await observe(js)

    with pytest.raises(CannotContinue, match=r"Nothing could be read at \$JS.API: no answer in time") as caught:
        talk(User(server, "reader"), work, within=1)
    assert caught.value.diagnostics[0].fix == AGAIN


def test_an_account_without_jetstream_is_said_to_have_none(server: NatsServer) -> None:
    with pytest.raises(CannotContinue, match="JetStream is not enabled for this account") as caught:
        talk(User(server, "bare"), observe)
    assert caught.value.diagnostics[0].code == "NA104"


def test_a_server_without_jetstream_is_said_to_have_none() -> None:
    config = "accounts {A: {users: [{user: u, password: u}]}}"
    with NatsServer(config=config, jetstream=False) as bare, pytest.raises(CannotContinue) as caught:
        talk(User(bare, "u"), observe)
    assert caught.value.diagnostics[0].code == "NA104"


def test_an_imported_api_is_read_and_written_through_its_prefix(server: NatsServer) -> None:
    async def work(js: JetStream) -> Snapshot:
        assert isinstance(await js.put_entry("reconciler", "owned.imported", b"1", expected_revision=None), Stored)
        return await observe(js)

    snapshot = talk(User(server, "imports"), work, prefix="acme.API")
    assert snapshot.unknown == {}
    assert set(snapshot.consumers["S"]) == {"c"}
    assert snapshot.entries["reconciler"]["owned.imported"].value == b"1"
    assert snapshot.target.version == Version.parse(server.version)


@contextmanager
def leaf_and_hub(leaf_minor: str, hub_minor: str, users: str = "") -> Iterator[tuple[NatsServer, NatsServer]]:
    """A leaf node with JetStream of its own, and the hub it hangs on. `users`: who may log in at the leaf beside `u`."""
    known = "accounts {{A: {{jetstream: enabled, users: [{{user: u, password: u}}\n{}]}}}}\n"
    hub = NatsServer(hub_minor, jetstream={"domain": "hub"})
    port = hub.reserve("leafnodes")
    hub._config = known.format("") + f'leafnodes {{listen: "127.0.0.1:{port}"}}'
    remote = f'leafnodes {{remotes: [{{url: "nats://u:u@127.0.0.1:{port}", account: A}}]}}'
    leaf = NatsServer(leaf_minor, known.format(users) + remote, jetstream={"domain": "leaf"})
    with hub, leaf:
        asyncio.run(_linked(leaf))
        yield leaf, hub


async def _linked(leaf: NatsServer) -> None:
    """Until the hub answers through the leaf."""
    nc = await User(leaf, "u").connect()
    js = await JetStream.open(nc, domain="hub")
    async with asyncio.timeout(60):
        while True:
            if isinstance(await js.request("INFO"), dict):
                break
            await asyncio.sleep(0.05)  # a leaf link announces nothing to clients
    await nc.close()


@pytest.mark.parametrize(("leaf", "hub"), [("2.15", "2.11"), ("2.11", "2.15")])
def test_through_a_leaf_node_version_and_level_are_the_hubs(leaf: str, hub: str) -> None:
    async def work(js: JetStream) -> tuple[Snapshot, Snapshot]:
        empty = await observe(js)
        await make_bucket(js, "reconciler")
        await js.put_entry("reconciler", "id", b"1", expected_revision=0)
        return empty, await observe(js)

    with leaf_and_hub(leaf, hub) as (near, _):
        empty, filled = talk(User(near, "u"), work, domain="hub")
    levels = {"2.11": 1, "2.15": 5}
    assert (empty.target.version[:2], empty.target.level) == (Version.parse(hub)[:2], levels[hub])
    assert (filled.target.version, filled.target.domain) == (Version.parse(VERSIONS[hub]), "hub")
    assert filled.entries["reconciler"]["id"].value == b"1"


@pytest.mark.parametrize(("leaf", "hub"), [("2.15", "2.15"), ("2.11", "2.15"), ("2.15", "2.11")])
def test_what_the_link_between_leaf_and_hub_may_is_not_taken_for_what_the_user_may(leaf: str, hub: str) -> None:
    """Both servers answer who we are; asked often, since any of them may be the first."""

    async def told(js: JetStream) -> set[str]:
        answers = [await js.user_info() or {} for _ in range(30)]
        return {
            f"{said['server']['id'] == js.pipeline.server_id} {said['data'].get('permissions')}" for said in answers
        }

    with leaf_and_hub(leaf, hub) as both:
        assert {one for server in both for one in talk(User(server, "u"), told)} == {"True None"}


def test_an_entry_for_the_hub_does_not_land_in_the_leafs_bucket() -> None:
    async def twins(near: NatsServer) -> tuple[Snapshot, Snapshot]:
        nc = await User(near, "u").connect()
        leaf, hub = await JetStream.open(nc), await JetStream.open(nc, domain="hub")
        await make_bucket(leaf, "reconciler")
        await make_bucket(hub, "reconciler")
        assert await hub.put_entry("reconciler", "id", b"hub", expected_revision=0) == Stored(1)
        seen = await observe(leaf), await observe(hub)
        await nc.close()
        return seen

    with leaf_and_hub("2.15", "2.14") as (near, _):
        on_leaf, on_hub = asyncio.run(twins(near))
    assert on_leaf.entries["reconciler"] == {}
    assert on_hub.entries["reconciler"]["id"].value == b"hub"


def test_of_the_versions_that_lead_streams_the_lowest_counts() -> None:
    async def work(js: JetStream) -> Snapshot:
        await asyncio.gather(*(make_stream(js, f"S{n}", placement={"tags": [f"node:{n}"]}) for n in range(3)))
        return await observe(js)

    users = "A: {jetstream: enabled, users: [{user: u, password: u}]}, SYS: {users: [{user: s, password: s}]}"
    cluster = Cluster("2.15", f"accounts {{{users}}}\nsystem_account: SYS", system=("s", "s"))
    cluster.nodes[1].minor, cluster.nodes[2].minor = "2.14", "2.12"
    with cluster:
        target = talk(User(cluster.nodes[0], "u"), work).target
    assert target.version == Version.parse(VERSIONS["2.12"])
    assert target.level == 3


@pytest.mark.parametrize("minor", ["2.11", "2.15"])
def test_what_a_suspended_node_holds_is_unknown_not_absent(minor: str) -> None:
    names = {f"S{n}" for n in range(9)}

    async def prepare(js: JetStream) -> Snapshot:
        for node in range(3):  # each holds some
            mine = sorted(names)[node::3]
            await make_streams(js, *mine, num_replicas=1, placement={"tags": [f"node:{node}"]})
        await asyncio.gather(*(make_consumer(js, name, "c") for name in names))
        return await observe(js)

    users = "A: {jetstream: enabled, users: [{user: u, password: u}]}, SYS: {users: [{user: s, password: s}]}"
    with Cluster(minor, f"accounts {{{users}}}\nsystem_account: SYS", system=("s", "s")) as cluster:
        near = User(cluster.nodes[0], "u")
        before = talk(near, prepare)
        away = next(node for node in cluster.nodes[1:] if node.name != cluster.meta_leader())
        held = {name for name, item in before.streams.items() if item["cluster"]["leader"] == away.name}
        with suspended(away.pid):
            snapshot = talk(near, observe)
    assert held
    assert set(snapshot.streams) == names - held
    assert all(snapshot.why_stream_unknown(name) for name in held)
    assert all(snapshot.why_consumer_unknown(name, "c") for name in held)
