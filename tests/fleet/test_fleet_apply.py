"""`fleet apply`: every target as its plan was shown, several at a time, and stage by stage."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.run import run
from reconciler.cli.shared import exits
from tests.fleet.test_plan import SHOP
from tests.support.accounts import Account
from tests.support.doors import meeting

Fleet = Callable[..., Path]


class Shops(dict[str, Account]):
    """An account for each target of a fleet, whose file they are."""

    def __init__(self, folder: Path, fleet: Fleet, new_account: Callable[..., Account]) -> None:
        super().__init__({name: new_account() for name in ("eu", "us", "ap")})
        (folder / "shop.yaml").write_text(SHOP, encoding="utf-8")
        self.folder, self.fleet = folder, fleet
        self.file = self.written()

    def written(self, **more: dict[str, Any]) -> Path:
        targets: dict[str, dict[str, Any]] = {
            name: {**self._login(account, keep=f"{number + 1}d"), "labels": {"tier": "gold"}}
            for number, (name, account) in enumerate(self.items())
        }
        targets["us"]["labels"] = {"tier": "canary"}
        for name, said in more.items():
            targets[name] = {**targets.get(name, {}), **said}
        return self.fleet(defaults={"topology": "shop.yaml", "values": {"of_others": "x"}}, **targets)

    def _login(self, account: Account, **values: str) -> dict[str, Any]:
        secret = self.folder / f"{account.user}.password"
        secret.write_text(account.password, encoding="utf-8")
        return {"server": account.url, "user": account.user, "password": f"file://{secret}", "values": values}

    @property
    def days(self) -> dict[str, int]:
        """How many days each target keeps its orders, where it has any."""
        found = {name: self[name].ask("STREAM.INFO.ORDERS").get("config") for name in self}
        return {name: config["max_age"] // 86_400_000_000_000 for name, config in found.items() if config}


@pytest.fixture
def shops(tmp_path: Path, fleet: Fleet, new_account: Callable[..., Account]) -> Shops:
    return Shops(tmp_path, fleet, new_account)


Said = pytest.CaptureFixture[str]


def apply(shops: Shops, said: Said, *arguments: str, file: Path | None = None) -> tuple[int, str, str]:
    code = run(("fleet", "apply", str(file or shops.file), "--yes", *arguments))
    captured = said.readouterr()
    return code, captured.out, captured.err


def test_every_target_is_applied_with_its_own_values(shops: Shops, capsys: Said) -> None:
    code, out, err = apply(shops, capsys)
    assert (code, err) == (0, ""), out
    assert out.count("+ stream/ORDERS  created  differently on eu, us, ap") == 1, "equal changes are shown once"
    assert [f"{name}: Applied 1 step (1 create)" in out for name in shops] == [True] * 3
    assert out.endswith("\n3 targets: 3 applied\n")
    assert shops.days == {"eu": 1, "us": 2, "ap": 3}
    assert apply(shops, capsys)[1].endswith("\n3 targets: 3 unchanged\n")


def test_stages_are_named_by_target_label_or_share(shops: Shops, capsys: Said) -> None:
    code, out, _ = apply(shops, capsys, "--stages", "tier=canary,50%,rest")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("Stage")] == [
        "Stage 1 of 3, tier=canary: us", "Stage 1 passed: 1 target plans empty, without drift.",
        "Stage 2 of 3, 50%: eu", "Stage 2 passed: 1 target plans empty, without drift.",
        "Stage 3 of 3, rest: ap", "Stage 3 passed: 1 target plans empty, without drift.",
    ]  # fmt: skip
    code, _, err = apply(shops, capsys, "--stages", "tier=canaries,rest")
    assert (code, "no target is meant by stage `tier=canaries`" in " ".join(err.split())) == (1, True)


def test_one_refusal_anywhere_keeps_the_first_stage_from_being_begun(shops: Shops, capsys: Said) -> None:
    shops["ap"].ask("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"], "storage": "memory"})
    code, out, _ = apply(shops, capsys, "--stages", "us,rest")
    assert (code, out.splitlines()[-1]) == (4, "3 targets: 2 not begun, 1 refused")
    assert [*shops.days] == ["ap"]


def test_targets_that_want_different_things_of_one_account_are_left_alone(shops: Shops, capsys: Said) -> None:
    assert apply(shops, capsys)[0] == 0
    targets = json.loads(shops.file.read_text(encoding="utf-8"))["targets"]
    file = shops.written(
        eu2={**targets["eu"], "timeout": "9s", "values": {"keep": "9d"}}, us={"values": {"keep": "8d"}}
    )
    code, out, _ = apply(shops, capsys, "--stages", "us,rest", file=file)
    assert (code, out.splitlines()[-1]) == (1, "4 targets: 2 failed, 1 not begun, 1 unchanged")
    assert "targets eu and eu2 lead to one account" in " ".join(out.split())
    code, out, _ = apply(shops, capsys, file=file)
    assert (code, out.splitlines()[-1]) == (1, "4 targets: 2 failed, 1 applied, 1 unchanged")
    assert shops.days == {"eu": 1, "us": 8, "ap": 3}


def test_a_pattern_has_to_match_at_one_target_before_any_is_applied(shops: Shops, capsys: Said) -> None:
    code, out, err = apply(shops, capsys, "--exclude", "stream/ORDRES")
    assert (code, out, shops.days) == (1, "", {})
    assert "--exclude stream/ORDRES matches nothing that any target declares or owns" in err
    assert run(("fleet", "plan", str(shops.file), "--exclude", "stream/ORDRES")) == 1
    capsys.readouterr()
    other = (shops.folder / "shop.yaml").read_text(encoding="utf-8").replace("ORDERS:", "BILLS:")
    (shops.folder / "bills.yaml").write_text(other, encoding="utf-8")
    code, out, _ = apply(shops, capsys, "--exclude", "stream/BILLS", file=shops.written(us={"topology": "bills.yaml"}))
    assert (code, shops.days) == (0, {"eu": 1, "ap": 3}), out


def test_without_stages_what_one_target_lacks_keeps_no_other_from_being_applied(shops: Shops, capsys: Said) -> None:
    file = shops.written(gone={"server": "nats://127.0.0.1:1", "values": {"keep": "7d"}})
    shops["ap"].ask("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"], "storage": "memory"})
    code, out, _ = apply(shops, capsys, file=file)
    assert (code, out.splitlines()[-1]) == (1, "4 targets: 2 applied, 1 refused, 1 failed")
    assert {name: days for name, days in shops.days.items() if name != "ap"} == {"eu": 1, "us": 2}
    row, reason = [line for line in out.splitlines() if line.startswith("gone")]
    assert row.split()[:3] == ["gone", "no", "plan"]
    assert reason.startswith("gone has no plan: Cannot reach nats://127.0.0.1:1:")


def test_a_target_of_two_topologies_is_planned_and_applied_by_no_command_of_the_fleet(
    shops: Shops, capsys: Said
) -> None:
    """Nothing could ever tell its drift."""
    two = shops.folder / "two"
    two.mkdir()
    for name in ("ta", "tb"):
        said = f"reconciler: 1\ntopology: {name}\nstreams: {{{name.upper()}: {{subjects: [{name}]}}}}\n"
        (two / f"{name}.yaml").write_text(said, encoding="utf-8")
    file = shops.fleet(**{name: {**shops._login(shops[name]), "topology": "two"} for name in ("eu", "us")})
    assert run(("fleet", "plan", str(file))) == exits.FAILED
    planned = capsys.readouterr().out
    why = "eu, us have no plan: these files hold 2 topologies, but this works on one: ta ("
    assert why in " ".join(planned.split())
    code, out, _ = apply(shops, capsys, file=file)
    assert (code, out.splitlines()[-1]) == (exits.FAILED, "2 targets: 2 failed")
    assert why in " ".join(out.split()), "the same words"
    assert shops["eu"].ask("STREAM.NAMES")["total"] == 0


def test_targets_are_worked_on_at_the_same_time(shops: Shops, capsys: Said) -> None:
    """No door opens before somebody waits at each of the three."""
    with meeting(shops["eu"].server.port, 3) as urls:
        file = shops.written(**{name: {"server": url} for name, url in zip(shops, urls, strict=True)})
        code, out, _ = apply(shops, capsys, "--parallel", "3", file=file)
    assert (code, out.splitlines()[-1]) == (0, "3 targets: 3 applied")


def test_a_target_that_hangs_is_given_up_at_its_deadline_and_nothing_is_begun(shops: Shops, capsys: Said) -> None:
    with meeting(shops["eu"].server.port, 2) as (never, _):
        file = shops.written(eu={"server": never, "deadline": "300ms"})
        code, out, _ = apply(shops, capsys, "--stages", "us,rest", file=file)
    assert (code, "eu was not read within 0.3 s" in " ".join(out.split())) == (1, True), out
    assert shops.days == {}


def test_tools_get_one_document_that_names_the_targets(shops: Shops, capsys: Said) -> None:
    told = json.loads(apply(shops, capsys, "--format", "json", "--stages", "us,rest")[1])["reports"]
    assert [(one["target"], one["exit_code"], len(one["done"])) for one in told] == [
        ("eu", 0, 1),
        ("us", 0, 1),
        ("ap", 0, 1),
    ]


def test_part_of_a_fleet_is_applied_and_never_without_being_asked(shops: Shops, capsys: Said) -> None:
    assert run(("fleet", "apply", str(shops.file))) == 64
    assert "There is no terminal to ask on" in " ".join(capsys.readouterr().err.split())
    assert apply(shops, capsys, "--target", "tier=gold", "--only", "stream/*")[1].endswith("\n2 targets: 2 applied\n")
    assert [*shops.days] == ["eu", "ap"]
    seen = shops.fleet(seen={"server": shops["eu"].url})
    assert apply(shops, capsys, file=seen)[0] == 64


def test_a_report_tells_of_every_target(shops: Shops, capsys: Said) -> None:
    report = shops.folder / "r.json"
    assert apply(shops, capsys, "--stages", "us,rest", "--report", f"json={report}")[0] == 0
    told = json.loads(report.read_text(encoding="utf-8"))["reports"]
    assert [one["target"] for one in told] == ["eu", "us", "ap"]
    assert all(one["done"] for one in told), told


def test_what_a_plan_of_the_fleet_says_to_do_next_applies_all_of_it(shops: Shops, capsys: Said) -> None:
    assert run(("fleet", "plan", str(shops.file), "--target", "tier=gold", "--only", "stream/*")) == 0
    said = capsys.readouterr().out.partition("Next: reconciler ")[2].splitlines()[0]
    assert run((*shlex.split(said), "--yes")) == 0
    assert [*shops.days] == ["eu", "ap"]


def test_partial_stages_leave_out_what_is_refused_and_go_no_further(shops: Shops, capsys: Said) -> None:
    refused = SHOP + "  BAD: {subjects: [bad], num_replicas: 3}\n"
    (shops.folder / "shop.yaml").write_text(refused, encoding="utf-8")
    assert apply(shops, capsys, "--stages", "us,rest")[0] == exits.REFUSED
    assert shops.days == {}
    code, out, _ = apply(shops, capsys, "--stages", "us,rest", "--partial")
    assert (code, [*shops.days]) == (exits.REFUSED, ["us"]), out
    assert out.endswith("3 targets: 2 not begun, 1 partly applied\n"), out
