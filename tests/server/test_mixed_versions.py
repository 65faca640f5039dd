"""A cluster in the middle of an upgrade: plans go by its lowest version, and say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.plan.plan import Planned, plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.support.accounts import User
from tests.support.binaries import VERSIONS
from tests.support.clusters import Cluster
from tests.support.jetstream import make_stream, talk
from tests.support.topologies import read

OLD, NEW = "2.11", "2.12"
WANTED = "streams: {S: {subjects: [s], allow_atomic: true}}"
"""A field that the newer version brought. A meta leader of the older one answers ok and drops it."""


@pytest.mark.parametrize("newer", [1, 2, 3])
def test_a_plan_names_the_versions_of_a_mixed_cluster_and_goes_by_the_lowest(newer: int, tmp_path: Path) -> None:
    async def work(js: JetStream) -> Planned:
        for number in range(3):
            await make_stream(js, f"ON{number}", placement={"tags": [f"node:{number}"]})
        return await plan(read(tmp_path, WANTED), js, RunOptions())

    servers = Cluster(OLD)
    for node in servers.nodes[3 - newer :]:
        node.minor = NEW
    with servers:
        made = talk(User(servers.nodes[0], ""), work).plan
    said = [(one.code, one.message) for one in made.diagnostics]
    words = (
        f"servers of nats-server {VERSIONS[OLD]} and {VERSIONS[NEW]} answered, and the rules for {VERSIONS[OLD]} are used; if "
        "JetStream is led by a newer server, it may refuse more"
    )
    assert said == ([("XX115", words)] if newer in (1, 2) else [])
    codes = {verdict.code for change in made.changes for verdict in change.verdicts if verdict.blocks}
    assert codes == (set() if newer == 3 else {"ST401"})
