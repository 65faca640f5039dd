"""What a server says of its objects is imported, and a plan of that against the same account is empty."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from reconciler.changes.change import Action
from reconciler.journeys.export.importing import import_files
from reconciler.journeys.plan.files import load
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.convergence.drawing import Case, drawn
from tests.convergence.running import Real
from tests.convergence.test_export import make
from tests.support.accounts import Account
from tests.support.versions import on_every_version

CASES = 40


@on_every_version
def test_infos_of_any_object_import_to_an_empty_plan(account: Account, tmp_path: Path) -> None:
    with Real(account) as real:
        make(real, [case for case in drawn(CASES, real.version, every=1) if not _has_groups(case)])
        infos = tmp_path / "infos"
        infos.mkdir()
        asyncio.run(_write(account, infos))
        found = import_files([infos], "again")
        assert [str(one) for one in found.problems if one.is_error] == []
        file = tmp_path / "again.yaml"
        file.write_text(found.text, encoding="utf-8")
        loaded = load([file])
        assert loaded.topology, [str(problem) for problem in loaded.diagnostics]
        plan = real.plan(loaded.topology).plan
        odd = [c for c in plan.changes if c.action is not Action.ADOPT or c.is_blocked]
        assert not odd, f"{found.text}\n{odd[:3]}"
        assert len(plan.changes) == found.count > CASES // 2


def _has_groups(case: Case) -> bool:
    """Their records are entries, which no info holds."""
    return any(address.kind.endswith("_group") for address in (*case.first, *case.then))


async def _write(account: Account, infos: Path) -> None:
    """As `nats stream info --json` and `nats consumer info --json` print them."""

    nc = await account.connect()
    js = await JetStream.open(nc)
    snapshot = await observe(js)
    consumers = [info for own in snapshot.consumers.values() for info in own.values()]
    for number, info in enumerate([*snapshot.streams.values(), *consumers]):
        (infos / f"{number}.json").write_text(json.dumps(info), encoding="utf-8")
    await js.close()
    await nc.close()
