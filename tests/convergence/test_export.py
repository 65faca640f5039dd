"""What is exported describes what is there: read back by another owner, it only adopts."""

from __future__ import annotations

from pathlib import Path

from reconciler.changes.change import Action
from reconciler.documents.write.formatter import in_form
from reconciler.documents.write.order import document_order
from reconciler.journeys.plan.files import load
from reconciler.kinds import REGISTRY
from tests.convergence.drawing import Case, drawn, merged, topology
from tests.convergence.running import Real
from tests.support.accounts import Account
from tests.support.drawing import batches
from tests.support.versions import on_every_version

CASES, TOGETHER = 300, 60


@on_every_version
def test_an_export_read_back_changes_nothing_and_adopts_all(account: Account, tmp_path: Path) -> None:
    order = document_order(REGISTRY)
    with Real(account) as real:
        for batch in batches(drawn(CASES, real.version), TOGETHER):
            make(real, batch)
            text = real.export("again")
            assert in_form("exported.yaml", text, order) == (text, [])
            file = tmp_path / "exported.yaml"
            file.write_text(text)
            loaded = load([file])
            assert loaded.topology, [str(problem) for problem in loaded.diagnostics]
            plan = real.plan(loaded.topology).plan
            odd = [c for c in plan.changes if c.action is not Action.ADOPT or c.is_blocked]
            assert not odd, f"{text}\n{odd[:3]}"
            assert not plan.unmanaged
            assert len(plan.changes) > len(batch) / 2, text
            real.clean()


def make(real: Real, cases: list[Case]) -> None:
    """Objects that nobody owns, some of them as an update left them."""
    for half in ([case.first for case in cases], [case.then for case in cases]):
        real.apply(real.plan(topology("drawn", merged(half))))
    real.write("STREAM.DELETE.KV_reconciler")
