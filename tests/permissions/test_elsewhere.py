"""Where the API is in another place, users with exactly the printed permissions plan and apply all the same."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

from reconciler.journeys.permissions.text import config_block
from reconciler.journeys.plan.plan import plan
from reconciler.model.topology import Topology
from reconciler.model.wire.permissions import Needs
from reconciler.server.read.permission_subjects import Api
from reconciler.server.read.snapshot import take_backup
from tests.permissions.scenes import denied, needs, topologies
from tests.permissions.test_printed_permissions import OPTIONS, applied, some_messages
from tests.server.test_observe_elsewhere import leaf_and_hub
from tests.support.accounts import User
from tests.support.jetstream import talk
from tests.support.servers import NatsServer

IMPORTED = """
accounts {{
  A: {{
    jetstream: enabled
    users: [{{user: admin, password: admin}}]
    exports: [{{service: "$JS.API.>"}}, {{service: "$KV.>"}}]
  }}
  B: {{
    users: [{users}]
    imports: [
      {{service: {{account: A, subject: "$JS.API.>"}}, to: "acme.API.>"}}
      {{service: {{account: A, subject: "$KV.>"}}, to: "acme.API.$KV.>"}}
    ]
  }}
}}
"""


def entries(**bounded: Needs) -> str:
    return "\n".join(f"{{user: {name}, password: {name}\n{config_block(own, name)}}}" for name, own in bounded.items())


def both(tmp_path: Path, api: Api) -> tuple[dict[str, Topology], str]:
    """Topologies by the user who may apply each, and these users."""
    first, then = topologies(tmp_path)
    wanted = {"first": first, "then": then}
    return wanted, entries(**{name: needs(one, api=api) for name, one in wanted.items()})


def each_is_applied(wanted: dict[str, Topology], near: NatsServer, owner: User, **place: str) -> None:
    """By its own user, and then its plan is empty; `owner` publishes in between, where the streams are."""
    for name, one in wanted.items():
        finished = talk(User(near, name), partial(applied, wanted=one), **place)
        assert (finished.is_success, finished.warnings) == (True, ()), finished
        again = talk(User(near, name), partial(plan, one, options=OPTIONS), **place)
        assert again.plan.is_empty, again.plan.steps
        talk(owner, some_messages)


def test_through_a_leaf_node_into_the_domain_of_its_hub(tmp_path: Path) -> None:
    wanted, who = both(tmp_path, Api.of("hub", None, "_INBOX"))
    with leaf_and_hub("2.15", "2.15", users=who) as (leaf, hub):
        each_is_applied(wanted, leaf, User(hub, "u"), domain="hub")
        assert denied(leaf) == denied(hub) == set()


def test_through_an_import_under_another_prefix(tmp_path: Path) -> None:
    wanted, who = both(tmp_path, Api.of(None, "acme.API", "_INBOX"))
    with NatsServer(config=IMPORTED.format(users=who)) as server:
        each_is_applied(wanted, server, User(server, "admin"), prefix="acme.API")
        assert denied(server) == set()


def test_no_backup_comes_through_an_import_and_that_is_said_at_once() -> None:
    with NatsServer(config=IMPORTED.format(users="{user: ci, password: ci}")) as server:
        said = talk(User(server, "ci"), lambda js: take_backup(js, "S", io.BytesIO()), prefix="acme.API")
    assert "as a user of that account" in str(said)
