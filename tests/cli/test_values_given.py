"""`--value`: one file for many accounts, filled on the command line where there is no fleet.yaml."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell
from tests.support.accounts import Account

TEXT = "reconciler: 1\ntopology: t\nparameters: {region: {}}\nstreams:\n  ORDERS_${region}:\n    subjects: [${region}.orders.>]\n"


def test_without_a_value_the_file_is_wrong_at_its_place(shell: Shell) -> None:
    ran = shell("validate", shell.write(TEXT))
    assert ran.code == 1
    assert "topology.yaml:5:3 error XX515" in ran.out
    assert "--value region=…" in ran.out


def test_with_its_value_it_can_be_planned(shell: Shell) -> None:
    assert shell("validate", shell.write(TEXT), "--value", "region=eu").code == 0


@pytest.mark.parametrize("said", ["region", "=eu", "re gion=eu"])
def test_a_value_without_a_name_is_wrong_usage(shell: Shell, said: str) -> None:
    ran = shell("validate", shell.write(TEXT), "--value", said)
    assert (ran.code, f"--value {said}: write a name and its value" in ran.err) == (64, True)


def test_a_filled_file_is_planned_applied_and_compared(shell: Shell, account: Account) -> None:
    file = shell.write(TEXT)
    login = ("--server", account.url, "--user", account.user, "--password", account.password)
    planned = shell("plan", file, "--value", "region=eu", *login)
    assert "stream/ORDERS_eu" in planned.out
    assert f"Next: reconciler apply --value region=eu topology.yaml --server {account.url}" in planned.out
    assert shell("apply", file, "--value", "region=eu", "--yes", *login).code == 0
    assert [shell("drift", file, "--value", f"region={region}", *login).code for region in ("eu", "us")] == [0, 0]
    live = shell("export", *login).out
    assert ("eu.orders" in live, "us.orders" in live) == (True, False)


def test_accepting_would_write_one_accounts_values_for_all_of_them(shell: Shell) -> None:
    ran = shell("drift", "accept", shell.write(TEXT), "--value", "region=eu", "--server", "nats://127.0.0.1:1")
    assert (ran.code, "edit them by hand" in ran.err) == (64, True)


def test_a_value_that_no_file_mentions_is_an_error(shell: Shell) -> None:
    ran = shell("validate", shell.write(TEXT), "--value", "region=eu", "--value", "regoin=us")
    assert (
        ran.code,
        "value `regoin` is given, but there is no parameter `regoin`; did you mean `region`?" in ran.out,
    ) == (1, True)


def test_of_several_topologies_one_that_mentions_a_value_is_enough(shell: Shell, account: Account) -> None:
    (shell.folder / "tree").mkdir()
    shell.write(TEXT, "tree/a.yaml")
    shell.write("reconciler: 1\ntopology: other\nstreams: {OTHER: {subjects: [other]}}\n", "tree/b.yaml")
    login = ("--server", account.url, "--user", account.user, "--password", account.password)
    ran = shell("plan", "tree", "--value", "region=eu", *login)
    assert ("XX516" in ran.out + ran.err, "stream/ORDERS_eu" in ran.out, "stream/OTHER" in ran.out) == (
        False,
        True,
        True,
    )
    assert shell("validate", "tree", "--value", "region=eu").code == 0
    assert shell("validate", "tree", "--value", "region=eu", "--value", "regoin=eu").code == 1


def test_what_only_a_comment_mentions_is_unused(shell: Shell) -> None:
    ran = shell("validate", shell.write(TEXT + "# ${zone}\n"), "--value", "region=eu", "--value", "zone=a")
    assert (ran.code, "value `zone` is given" in ran.out) == (1, True)


def test_beside_another_mistake_in_the_text_nobody_knows_what_is_unused(shell: Shell) -> None:
    ran = shell("validate", shell.write("a: [" + TEXT), "--value", "regoin=us")
    assert ran.code == 1
    assert "XX516" not in ran.out
