"""`fleet plan`: every target has its plan or the reason why it has none, and none waits for another."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.changes.change import Action, Consequence
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.cli.run import run
from reconciler.fleet import plan as fleet_plan
from reconciler.fleet.accounts.fleet_file import load_fleet
from reconciler.fleet.plan import plans
from reconciler.fleet.report.json import fleet_plan_document, fleet_plan_schema
from reconciler.fleet.report.plans import TargetPlan, plans_report
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from reconciler.report.codec.json import json_of
from reconciler.report.document.document import Document
from reconciler.report.document.pieces import Grid, Prose
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from tests.e2e.here import Here
from tests.fleet.told import Odd
from tests.support.accounts import Account
from tests.support.servers import NatsServer

SHOP = """\
reconciler: 1
topology: shop
parameters: {keep: {type: duration}}
streams:
  ORDERS: {subjects: [orders.>], max_age: "${keep}"}
"""


def render(report: Document) -> str:
    return FORMATS["text"](replace(report, paper=Paper(width=140)))


def planned(file: Path, **how: Any) -> dict[str, TargetPlan]:
    made = asyncio.run(plans(load_fleet(file).targets, RunOptions(), **how))
    return {one.target: one for one in made}


def shop(folder: Path) -> str:
    (folder / "shop.yaml").write_text(SHOP, encoding="utf-8")
    return "shop.yaml"


def test_each_target_is_planned_with_its_own_values(
    account: Account, new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path
) -> None:
    file = fleet(
        defaults={"topology": shop(tmp_path)},
        **{"eu": _said(account, tmp_path, keep="7d"), "us": _said(new_account(), tmp_path, keep="30d")},
    )
    made = planned(file)
    ages = {name: one.plan.steps[0].body["max_age"] for name, one in made.items() if one.plan}
    assert ages == {"eu": 7 * 86_400 * 10**9, "us": 30 * 86_400 * 10**9}


@pytest.mark.parametrize("is_new", [True, False])
def test_two_targets_that_are_one_account_are_planned_only_if_they_want_the_same(
    is_new: bool, account: Account, new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path
) -> None:
    """A context that was copied, or another user of the account."""
    if not is_new:
        account.ask("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"]})
    other, slow = new_account(), {"timeout": "9s"}
    again = {**_said(account, tmp_path, keep="7d"), **({} if is_new else slow)}

    def outcomes(keep: str) -> dict[str, bool]:
        said = {"eu": _said(account, tmp_path, keep="7d"), "us": _said(other, tmp_path, keep="3d"), "eu2": again}
        made = planned(
            fleet(defaults={"topology": shop(tmp_path)}, **said | {"eu2": {**again, "values": {"keep": keep}}})
        )
        wrong = {one.error for one in made.values() if one.error}
        assert wrong <= {
            "targets eu and eu2 lead to one account, and want different things of it as topology shop, for example of "
            "stream/ORDERS. An apply of one would take back what the other did. Nothing was changed."
        }
        return {name: one.plan is not None for name, one in made.items()}

    assert outcomes("7d") == {"eu": True, "us": True, "eu2": True}
    assert outcomes("30d") == {"eu": False, "us": True, "eu2": False}


def test_a_target_is_an_environment_of_its_topology_with_its_values_overlay_and_server(
    account: Account, new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path
) -> None:
    other = new_account()
    topology = json.loads(json.dumps({
        "reconciler": 1, "topology": "shop", "parameters": {"keep": {"type": "duration"}},
        "environments": {
            "dev": {"server": account.url, "values": {"keep": "1d"}},
            "prod": {"server": other.url, "values": {"keep": "30d"}, "overlay": {"streams": {"ORDERS": {"max_msgs": 5}}}},
        },
        "streams": {"ORDERS": {"subjects": ["orders.>"], "max_age": "${keep}"}},
    }))  # fmt: skip
    (tmp_path / "shop.yaml").write_text(json.dumps(topology), encoding="utf-8")
    login = {name: said for name, said in _said(account, tmp_path).items() if name not in ("server", "values")}
    of_other = {name: said for name, said in _said(other, tmp_path).items() if name not in ("server", "values")}
    file = fleet(
        defaults={"topology": "shop.yaml"},
        dev={"environment": "dev", **login},
        prod={"environment": "prod", **of_other},
    )
    bodies = {name: one.plan.steps[0].body for name, one in planned(file).items() if one.plan}
    assert {name: (body["max_age"] // (86_400 * 10**9), body.get("max_msgs")) for name, body in bodies.items()} == {
        "dev": (1, None), "prod": (30, 5),
    }  # fmt: skip


def test_what_one_target_lacks_keeps_no_other_from_its_plan(
    account: Account, fleet: Callable[..., Path], tmp_path: Path
) -> None:
    gone = {"server": "nats://127.0.0.1:1", "values": {"keep": "7d"}}
    valueless, looked_at = _said(account, tmp_path), {"server": account.url}
    defaults = {"topology": shop(tmp_path)}
    file = fleet(defaults=defaults, eu=_said(account, tmp_path, keep="7d"), gone=gone, valueless=valueless)
    made = planned(file)
    assert made["eu"].plan is not None
    assert made["gone"].error.startswith("Cannot reach nats://127.0.0.1:1")
    assert "`${keep}`" in made["valueless"].error
    assert planned(fleet(seen=looked_at)) == {}


def test_an_error_that_nobody_foresaw_is_a_problem_of_its_target_alone(
    account: Account, fleet: Callable[..., Path], tmp_path: Path
) -> None:
    (eu,) = load_fleet(fleet(defaults={"topology": shop(tmp_path)}, eu=_said(account, tmp_path, keep="7d"))).targets
    odd = Odd(name="odd", settings=eu.settings, topology=eu.topology, values=eu.values)
    strange, well = asyncio.run(plans([odd, eu], RunOptions()))
    assert well.plan is not None
    assert strange.error.startswith("odd could not be planned (KeyError: 'odd')")


def test_a_target_that_hangs_is_given_up_at_its_deadline(fleet: Callable[..., Path], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hangs = {"server": f"nats://127.0.0.1:{silent.getsockname()[1]}", "values": {"keep": "1d"}, "deadline": "300ms"}
        made = planned(fleet(defaults={"topology": shop(tmp_path)}, hangs=hangs))
    assert made["hangs"].error.startswith("hangs was not read within 0.3 s")


def test_no_more_than_asked_for_are_under_way_at_once(fleet: Callable[..., Path], tmp_path: Path) -> None:
    """Targets that nobody answers for are given up after 0.2 s each: six of them, two by two."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hangs = {"server": f"nats://127.0.0.1:{silent.getsockname()[1]}", "values": {"keep": "1d"}, "deadline": "200ms"}
        file = fleet(defaults={"topology": shop(tmp_path)}, **{f"t{number}": hangs for number in range(6)})
        began = asyncio.run(_timed(file, 2))
    assert began >= 0.6


def test_requests_of_all_of_them_together_are_bounded(
    account: Account, fleet: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_plan, "REQUESTS", 0)
    eu = {**_said(account, tmp_path, keep="7d"), "deadline": "300ms"}
    made = planned(fleet(defaults={"topology": shop(tmp_path)}, eu=eu))
    assert made["eu"].error.startswith("eu was not read within 0.3 s")


def test_equal_changes_are_told_once_and_the_json_is_as_published(
    account: Account, new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path
) -> None:
    both = {"eu": _said(account, tmp_path, keep="7d"), "us": _said(new_account(), tmp_path, keep="7d")}
    gone = {"server": "nats://127.0.0.1:1", "values": {"keep": "7d"}}
    made = [*planned(fleet(defaults={"topology": shop(tmp_path)}, **both, gone=gone)).values()]
    text = render(plans_report("test", made, 1.0))
    assert text.count("stream/ORDERS") == 1
    assert "+ stream/ORDERS  created  on eu, us" in text
    assert "2 create · 1 target without a plan\n" in text
    problems = Draft202012Validator(json.loads(fleet_plan_schema())).iter_errors(
        json.loads(json_of(fleet_plan_document("test", made)))
    )
    assert [one.message for one in problems] == []


async def _timed(file: Path, at_once: int) -> float:
    clock = asyncio.get_running_loop().time
    began = clock()
    await plans(load_fleet(file).targets, RunOptions(), at_once)
    return clock() - began


def _said(account: Account, folder: Path, **values: str) -> dict[str, Any]:
    secret = folder / f"{account.user}.password"
    secret.write_text(account.password, encoding="utf-8")
    return {"server": account.url, "user": account.user, "password": f"file://{secret}", "values": values}


def test_the_next_command_line_applies_one_target_and_holds_no_secret(
    account: Account, fleet: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = fleet(defaults={"topology": shop(tmp_path)}, eu=_said(account, tmp_path, keep="7d"))
    assert run(("fleet", "plan", str(file))) == 0
    *_, last = capsys.readouterr().out.replace("\n", " ").split("reconciler apply ")
    assert f"{tmp_path / 'shop.yaml'} --value keep=7d --server {account.url} --user {account.user}" in last
    assert "password" not in last


def test_the_next_command_line_is_about_the_same_part_in_the_same_place(
    account: Account, fleet: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever runs it may have a context selected, which this target is not in."""
    file = fleet(defaults={"topology": shop(tmp_path)}, eu=_said(account, tmp_path, keep="7d"))
    with (tmp_path / "shop.yaml").open("a", encoding="utf-8") as written:
        written.write("  BILLS: {subjects: [bills], labels: {team: billing}}\n")
    selected = ("--only", "stream/ORD*", "--exclude", "team=billing", "--allow", "ST301=stream/ORDERS")
    assert run(("fleet", "plan", str(file), *selected)) == 0
    *_, last = capsys.readouterr().out.replace("\n", " ").split("reconciler apply ")
    said = shlex.split(last.partition(" (with ")[0])
    assert said[3:9] == [*selected]
    assert said[-1] == "--no-context"


def test_the_next_command_line_leaves_out_what_matches_only_at_other_targets(
    account: Account, new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    shop(tmp_path)
    (tmp_path / "bills.yaml").write_text(SHOP.replace("ORDERS", "BILLS"), encoding="utf-8")
    targets = {"eu": _said(account, tmp_path, keep="7d"), "us": _said(new_account(), tmp_path, keep="7d")}
    file = fleet(eu={**targets["eu"], "topology": "shop.yaml"}, us={**targets["us"], "topology": "bills.yaml"})
    selected = ("--only", "stream/ORDERS", "--only", "stream/BILLS", "--exclude", "stream/BILL*")
    assert run(("fleet", "plan", str(file), *selected)) == 0
    *_, last = capsys.readouterr().out.replace("\n", " ").split("reconciler apply ")
    assert shlex.split(last)[3:5] == ["--only", "stream/ORDERS"]
    assert "BILL" not in last


def test_a_value_of_a_target_that_its_files_do_not_mention_is_an_error_and_one_of_the_defaults_is_not(
    account: Account, fleet: Callable[..., Path], tmp_path: Path
) -> None:
    defaults = {"topology": shop(tmp_path), "values": {"of_others": "x"}}
    slipped = _said(account, tmp_path, keep="7d", kepe="8d")
    made = planned(fleet(defaults=defaults, eu=_said(account, tmp_path, keep="7d"), slipped=slipped))
    assert made["eu"].plan is not None
    assert "value `kepe` is given, but there is no parameter `kepe`; did you mean `keep`?" in made["slipped"].error


def test_a_wrong_value_of_a_target_is_told_at_its_place_in_the_fleet_file(account: Account, tmp_path: Path) -> None:
    shop(tmp_path)
    head = f"reconciler: 1\nfleet: test\ndefaults: {{topology: shop.yaml, server: '{account.url}'}}\ntargets:\n"
    targets = "  eu: {values: {keep: 30 d}}\n  us:\n    values:\n      keep: 7d\n      kepe: 7d\n"
    (tmp_path / "fleet.yaml").write_text(head + targets, encoding="utf-8")
    errors = {name: one.error.removeprefix(f"{tmp_path}/") for name, one in planned(tmp_path / "fleet.yaml").items()}
    assert errors["eu"].startswith("fleet.yaml:5:23 keep: `30 d` is not a duration")
    assert errors["us"].startswith("fleet.yaml:9:13 value `kepe` is given, but there is no parameter `kepe`")


def test_a_target_without_a_plan_keeps_the_table_narrow() -> None:
    """The reason stands below the table, whole."""
    message = "Cannot reach nats://" + ",nats://".join(f"far-away-{number}.example.com:4222" for number in range(4))
    gone = Diagnostic(severity=Severity.ERROR, code="NA101", name="unreachable", message=message)
    (part,) = plans_report("f", [TargetPlan(target="gone", problems=(gone,))], 1.0).parts
    grid, below = part.pieces
    assert isinstance(grid, Grid) and isinstance(below, Prose)
    assert max(len(cell.text) for row in grid.rows for cell in row) < 20
    assert below.lines == (f"`gone` has no plan: {message}",)


def test_what_a_plan_says_besides_its_changes_is_told_in_every_format(
    tmp_path: Path, fleet: Callable[..., Path]
) -> None:
    """Who may not read the bucket `reconciler` sees no owner: the streams of another team look like nobody's."""
    may_not = '"$JS.API.STREAM.MSG.GET.KV_reconciler", "$JS.API.DIRECT.GET.KV_reconciler", "$JS.API.DIRECT.GET.KV_reconciler.>"'
    blind = f'{{user: blind, password: blind, permissions: {{publish: {{allow: [">"], deny: [{may_not}]}}}}}}'
    config = f"accounts {{ A: {{jetstream: enabled, users: [{{user: admin, password: admin}}, {blind}]}} }}"
    with NatsServer(config=config) as server:
        apply_shop(server, tmp_path)
        (tmp_path / "other.yaml").write_text(SHOP.replace("topology: shop", "topology: other"), encoding="utf-8")
        (tmp_path / "blind.password").write_text("blind", encoding="utf-8")
        login = {
            "server": server.url,
            "user": "blind",
            "password": f"file://{tmp_path}/blind.password",
            "values": {"keep": "3d"},
        }
        file = fleet(defaults={"topology": "other.yaml"}, **{f"t{number}": login for number in range(5)})
        report = plans_report("test", [*planned(file).values()], 1.0)
    for text in (render(report), FORMATS["markdown"](report), FORMATS["html"](report)):
        assert "LE105" in text
        assert " ".join(text.split()).count("so owners and interrupted runs are unknown") == 1
    assert render(report).count("! warning LE105 on t0, t1, t2 and 2 more: planned without bucket") == 1


def apply_shop(server: NatsServer, folder: Path) -> None:
    shell = Here(folder)
    login = ("--server", server.url, "--user", "admin", "--password", "admin")
    assert shell("apply", shop(folder), "--value", "keep=7d", "--yes", *login).code == 0


def test_what_waits_is_not_called_unknown_and_a_target_that_is_stopped_not_without_changes(
    account: Account, new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path
) -> None:
    text = (
        "reconciler: 1\ntopology: reads\nstreams: {ORDERS: {external: true, consumers: {c: {ack_policy: explicit}}}}\n"
    )
    (tmp_path / "reads.yaml").write_text(text, encoding="utf-8")
    account.ask("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"]})
    account.ask(
        "CONSUMER.CREATE.ORDERS.c", {"stream_name": "ORDERS", "config": {"durable_name": "c", "ack_policy": "explicit"}}
    )
    targets = {"eu": _said(account, tmp_path), "us": _said(new_account(), tmp_path)}
    made = planned(fleet(defaults={"topology": "reads.yaml"}, **targets))
    report = plans_report("test", [*made.values()], 1.0)
    assert report.summary == "1 refused, 1 waiting · 1 target without changes"
    (tmp_path / "reads.yaml").write_text(text.replace(", consumers: {c: {ack_policy: explicit}}", ""), encoding="utf-8")
    nothing_written = planned(fleet(defaults={"topology": "reads.yaml"}, us=targets["us"]))
    assert plans_report("test", [*nothing_written.values()], 1.0).summary == "1 refused"
    grid = report.parts[0].pieces[0]
    assert isinstance(grid, Grid)
    assert [cell.text for cell in grid.rows[0]][2:6] == ["1", "·", "·", "1"]
    assert grid.head[2:6] == ("refused", "needs consent", "unknown", "waiting")
    alone = plans_report("test", [made["eu"]], 1.0).parts[0].pieces[0]
    assert isinstance(alone, Grid)
    assert "waiting" not in alone.head


def test_what_is_created_differently_says_how_and_for_whom(
    new_account: Callable[[], Account], fleet: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "far.yaml").write_text(f"# elsewhere\n{SHOP}", encoding="utf-8")
    near = {
        name: _said(new_account(), tmp_path, keep=keep) for name, keep in (("eu", "7d"), ("us", "30d"), ("ap", "7d"))
    }
    far = {**_said(new_account(), tmp_path, keep="7d"), "topology": "far.yaml"}
    made = [*planned(fleet(defaults={"topology": shop(tmp_path)}, **near, far=far)).values()]
    text = render(plans_report("test", made, 1.0))
    near_entry, far_entry = text.split("+ stream/ORDERS")[1:]
    assert near_entry.startswith("  created  differently on eu, us, ap ")
    assert "shop.yaml:5:3" in near_entry
    assert re.findall(r"max_age +(\S+) +(.*?) *\n", near_entry) == [("7d", "eu, ap"), ("30d", "us")]
    assert far_entry.startswith("  created  on far ")
    assert "far.yaml:6:3" in far_entry
    assert "max_age" not in far_entry


def test_equal_changes_with_other_consequences_are_two_entries() -> None:
    """What an entry says holds for each of its targets."""

    def plan_of(target: str, messages: int) -> TargetPlan:
        lost = Consequence(message=f"deletes {messages} messages", quantities={"messages": messages})
        change = PlannedChange(address="stream/ORDERS", action=Action.UPDATE, consequences=(lost,))
        account = Target(version=Version.parse("2.12.0"))
        return TargetPlan(target=target, plan=Plan(topology="shop", target=account, changes=(change,)))

    text = render(plans_report("test", [plan_of("eu", 5), plan_of("us", 900), plan_of("ap", 5)], 1.0))
    assert "changed  on eu, ap" in text
    assert "changed  on us" in text


def test_targets_without_a_plan_for_the_same_reason_are_one_sentence() -> None:
    dead = Diagnostic(severity=Severity.ERROR, code="NA101", name="unreachable", message="Cannot reach nats://x")
    plans = [TargetPlan(target=f"t{number}", problems=(dead,)) for number in range(5)]
    _, below = plans_report("f", plans, 1.0).parts[0].pieces
    assert isinstance(below, Prose)
    assert below.lines == ("`t0`, `t1`, `t2` and 2 more have no plan: Cannot reach nats://x",)


def test_a_context_that_does_not_exist_is_told_at_its_place(tmp_path: Path) -> None:
    head = "reconciler: 1\nfleet: test\ndefaults: {topology: shop.yaml, values: {keep: 7d}}\ntargets:\n"
    shop(tmp_path)
    (tmp_path / "fleet.yaml").write_text(f"{head}  eu: {{context: nowhere}}\n", encoding="utf-8")
    (problem,) = planned(tmp_path / "fleet.yaml")["eu"].problems
    assert (problem.code, str(problem.span)) == ("NA106", f"{tmp_path / 'fleet.yaml'}:5:17")
