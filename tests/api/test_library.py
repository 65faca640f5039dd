"""The Python API speaks the words of the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import reconciler
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.options import ConnectOptions
from tests.support.accounts import Account
from tests.support.servers import NatsServer

ORDERS = """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    consumers:
      dispatch: {ack_policy: explicit}
"""

NOT_TOLD = 'authorization {users: [{user: u, password: u, permissions: {publish: {deny: ["$SYS.>"]}}}]}'


def where(account: Account) -> ConnectOptions:
    return ConnectOptions.to(account.url, user=account.user, password=account.password)


def written(folder: Path, text: str) -> list[Path]:
    file = folder / "orders.yaml"
    file.write_text(text)
    return [file]


def test_a_topology_is_loaded_planned_applied_and_then_nothing_is_left_to_do(account: Account, tmp_path: Path) -> None:
    topology = reconciler.load(written(tmp_path, ORDERS)).topology
    assert topology is not None
    first = reconciler.plan(topology, where(account))
    assert first.plan.summary["create"] == 2
    assert reconciler.apply(first, where(account)).is_success
    assert reconciler.plan(topology, where(account)).plan.is_empty


def test_a_plan_with_a_refusal_applies_nothing_unless_partial(account: Account, tmp_path: Path) -> None:
    topology = reconciler.load(written(tmp_path, ORDERS)).topology
    assert topology is not None
    reconciler.apply(reconciler.plan(topology, where(account)), where(account))
    changed = ORDERS.replace("orders.>]", "orders.>]\n    storage: memory\n    description: new").replace(
        "explicit}", "explicit, max_deliver: 3}"
    )
    topology = reconciler.load(written(tmp_path, changed)).topology
    assert topology is not None
    planned = reconciler.plan(topology, where(account))
    with pytest.raises(CannotContinue, match="storage cannot change"):
        reconciler.apply(planned, where(account))
    before = reconciler.export(where(account), "orders")
    assert ("description" in before, "max_deliver" in before) == (False, False)
    reconciler.apply(planned, where(account), partial=True)
    after = reconciler.export(where(account), "orders")
    assert ("description" in after, "max_deliver: 3" in after) == (False, True)


def test_a_plan_for_one_account_is_not_carried_out_in_another(
    new_account: Callable[..., Account], tmp_path: Path
) -> None:
    topology = reconciler.load(written(tmp_path, ORDERS)).topology
    assert topology is not None
    staging, production = where(new_account()), where(new_account())
    planned = reconciler.plan(topology, staging)
    with pytest.raises(CannotContinue, match="it was made for account") as refusal:
        reconciler.apply(planned, production)
    assert [one.code for one in refusal.value.diagnostics] == ["XX912"]
    assert reconciler.plan(topology, production).snapshot.streams == {}
    assert reconciler.apply(planned, staging).is_success


def test_who_may_not_ask_for_his_account_is_told_by_what_is_there(tmp_path: Path) -> None:
    topology = reconciler.load(written(tmp_path, ORDERS)).topology
    assert topology is not None
    with NatsServer(config=NOT_TOLD) as staging, NatsServer(config=NOT_TOLD) as production:
        planned = reconciler.plan(topology, ConnectOptions.to(staging.url, user="u", password="u"))
        with pytest.raises(CannotContinue, match="on another server"):
            reconciler.apply(planned, ConnectOptions.to(production.url, user="u", password="u"))
        assert reconciler.apply(planned, ConnectOptions.to(staging.url, user="u", password="u")).is_success


def test_files_are_validated_without_a_server(tmp_path: Path) -> None:
    found = reconciler.validate(written(tmp_path, ORDERS.replace("subjects", "subjectz")))
    assert [(d.code, d.span.line if d.span else None) for d in found] == [("ST501", 6)]


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import sys, reconciler; print(sorted({'nats', 'pydantic', 'pyspark', 'ruamel'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_kinds_load_neither_nats_nor_spark_nor_yaml() -> None:
    code = "import sys, reconciler.kinds; print(sorted({'nats', 'pyspark', 'ruamel', 'deepdiff'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_plan_is_saved_loaded_and_applied_as_it_was_reviewed(account: Account, tmp_path: Path) -> None:
    topology = reconciler.load(written(tmp_path, ORDERS)).topology
    assert topology is not None
    reconciler.save_plan(reconciler.plan(topology, where(account)), tmp_path / "plan.json")
    saved = reconciler.load_plan(tmp_path / "plan.json")
    assert saved.plan.summary["create"] == 2
    assert len(reconciler.apply(saved, where(account)).done) == 2
    assert reconciler.apply(saved, where(account)).done == ()


def test_an_altered_plan_is_not_loaded(account: Account, tmp_path: Path) -> None:
    topology = reconciler.load(written(tmp_path, ORDERS)).topology
    assert topology is not None
    file = tmp_path / "plan.json"
    reconciler.save_plan(reconciler.plan(topology, where(account)), file)
    file.write_text(file.read_text().replace("dispatch", "despatch"))
    with pytest.raises(CannotContinue, match="changed this plan after it was saved"):
        reconciler.load_plan(file)
