"""Several environments at once: bounded, told in their order, summed up in one line and one exit code."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.running import Ran, Shell
from tests.support.accounts import Account
from tests.support.doors import crowd, meeting, one_after_the_other

STREAMS = "streams:\n  ORDERS: {subjects: [orders.>], max_age: 7d}\n"


def at(shell: Shell, urls: dict[str, str], streams: str = STREAMS, name: str = "topology.yaml") -> str:
    """A topology with an environment at each of these addresses."""
    environments = ", ".join(f"{name}: {{server: '{url}'}}" for name, url in urls.items())
    return shell.write(f"reconciler: 1\ntopology: orders\nenvironments: {{{environments}}}\n{streams}", name)


def login(account: Account, *more: str) -> tuple[str, ...]:
    """Environments differ by address; here, all lead to one account."""
    return ("--environment", "*", "--user", account.user, "--password", account.password, *more)


def headlines(ran: Ran) -> list[str]:
    return re.findall(r"orders in (\w+) →", ran.out)


@pytest.mark.parametrize("command", ["plan", "drift"])
def test_environments_are_read_at_the_same_time(shell: Shell, account: Account, command: str) -> None:
    """No door opens before somebody waits at each of the three."""
    with meeting(account.server.port, 3) as urls:
        file = at(shell, dict(zip(("a", "b", "c"), urls, strict=True)))
        ran = shell(command, file, *login(account))
    assert (ran.code, headlines(ran)) == ({"plan": 0, "drift": 3}[command], ["a", "b", "c"]), ran


def test_no_more_are_read_at_a_time_than_asked_for(shell: Shell, account: Account) -> None:
    """With two at a time the third comes when one of them was given up, and then the doors open."""
    with meeting(account.server.port, 3) as urls:
        file = at(shell, dict(zip(("a", "b", "c"), urls, strict=True)))
        ran = shell("plan", file, *login(account, "--parallel", "2", "--timeout", "1s"))
    assert (ran.code, "no greeting came within" in " ".join(ran.out.split())) == (1, True), ran


def test_environments_at_one_place_wait_for_one_another(shell: Shell, account: Account) -> None:
    """The second comes when the first was given up: else both would be there at once, and the door would open for them."""
    with crowd(account.server.port, 2) as url:
        file = at(shell, {"a": url, "b": url})
        ran = shell("plan", file, *login(account, "--timeout", "1s"))
    assert (ran.code, "2 environments: 1 failed, 1 with changes\n" in ran.out) == (1, True), ran


def test_what_is_done_earlier_is_told_in_the_order_of_the_environments(shell: Shell, account: Account) -> None:
    """The first environment cannot be reached before the second was applied: yet its output is the first."""
    with one_after_the_other(account.server.port) as (first, second):
        file = at(shell, {"a": first, "b": second})
        ran = shell("apply", file, *login(account, "--yes", "--timeout", "60s"))
    assert headlines(ran) == ["a", "b"], ran
    assert ran.out.index("orders in b →") < ran.out.index("Applied 1 step"), "the second one created it"
    assert ran.out.endswith("\n2 environments: 1 unchanged, 1 applied\n"), ran


def test_one_line_and_one_exit_code_sum_up_what_became_of_each(shell: Shell, account: Account) -> None:
    file = at(shell, {"a": account.url, "b": account.url, "gone": "nats://127.0.0.1:1"})
    ran = shell("plan", file, *login(account))
    summary = "3 environments: 1 with changes, 1 without changes, 1 failed"  # the first leaves the second nothing to do
    assert (ran.code, ran.out.splitlines()[-1]) == (1, summary), ran


def test_once_one_has_failed_none_is_begun_that_was_not_begun(shell: Shell, account: Account) -> None:
    file = at(shell, {"gone": "nats://127.0.0.1:1", "a": account.url})
    ran = shell("apply", file, *login(account, "--yes", "--parallel", "1"))
    assert (ran.code, "ORDERS" in ran.out) == (1, False), ran
    assert ran.out == "\n2 environments: 1 failed, 1 not begun\n"
    assert "gone: Cannot reach nats://127.0.0.1:1" in " ".join(ran.err.split())


KEEPS = "streams:\n  ORDERS: {subjects: [orders.>], max_age: '${keep}'}\n"


def keeping(shell: Shell, urls: dict[str, str]) -> str:
    """As `at`, but each environment keeps orders for another time."""
    environments = ", ".join(
        f"{name}: {{server: '{url}', values: {{keep: {len(name)}d}}}}" for name, url in urls.items()
    )
    head = "reconciler: 1\ntopology: orders\nparameters: {keep: {type: duration}}\n"
    return shell.write(f"{head}environments: {{{environments}}}\n{KEEPS}")


@pytest.mark.parametrize("arguments", [(), ("--parallel", "1")])
def test_environments_that_want_different_things_of_one_place_are_left_alone(
    shell: Shell, account: Account, arguments: tuple[str, ...]
) -> None:
    file = keeping(shell, {"a": account.url, "bb": account.url})
    for command in (("plan",), ("apply", "--yes"), ("apply", "--yes", "--stages", "a,bb")):
        ran = shell(*command, file, *login(account, *arguments))
        assert (ran.code, "environments a and bb lead to one account" in " ".join((ran.out + ran.err).split())) == (
            1,
            True,
        )
    assert account.ask("STREAM.NAMES")["total"] == 0


def test_what_one_environment_applied_is_not_taken_back_by_another_of_its_account(
    shell: Shell, account: Account
) -> None:
    file = keeping(shell, {"a": account.url, "bb": account.url.replace("127.0.0.1", "localhost")})
    ran = shell("apply", file, *login(account, "--yes", "--parallel", "1"))
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "2 environments: 1 applied, 1 failed"), ran
    assert "Nothing of environment bb was applied." in " ".join(ran.err.split())
    assert account.ask("STREAM.INFO.ORDERS")["config"]["max_age"] == 86_400_000_000_000
    ran = shell("plan", file, *login(account))
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "2 environments: 2 failed"), ran
    assert "environments a and bb lead to one account" in " ".join((ran.out + ran.err).split())


def test_the_reports_hold_every_environment_in_its_order(shell: Shell, account: Account) -> None:
    file = at(shell, {"b": account.url, "a": account.url})
    ran = shell("apply", file, *login(account, "--yes", "--format", "json", "--report", "json=r.json"))
    told = json.loads(ran.out)["reports"]
    assert [one["environment"] for one in told] == ["b", "a"], ran
    assert [one["environment"] for one in json.loads((shell.folder / "r.json").read_text())["reports"]] == ["b", "a"]
    assert "environments:" not in ran.out


def test_topologies_of_one_account_are_summed_up_too(shell: Shell, account: Account) -> None:
    for name in ("x", "z"):
        shell.write(
            f"reconciler: 1\ntopology: {name}\nstreams: {{{name.upper()}: {{subjects: [{name}]}}}}\n", f"{name}.yaml"
        )
    where = ("--server", account.url, "--user", account.user, "--password", account.password)
    assert shell("apply", ".", "--yes", *where).out.endswith("\n2 topologies: 2 applied\n")
    assert shell("plan", ".", *where).out.endswith("\n2 topologies: 2 without changes\n")
    assert shell("drift", ".", *where).out.endswith("\n2 topologies: 2 without drift\n")
    assert "topologies:" not in shell("plan", "x.yaml", *where).out
