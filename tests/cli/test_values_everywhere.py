"""`--value` wherever files are read: a file with `${…}` is as good as any other, and its way out is one."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell
from tests.support.accounts import Account
from tests.support.repository import Repository

TEXT = """reconciler: 1
topology: t
parameters: {region: {}}
streams:
  ORDERS_${region}:
    subjects: ["${region}.orders.*"]
    max_age: 7d
    groups:
      g: {type: elastic, max_members: 2, members: [a], partitioning_filters: [{filter: "${region}.orders.*", partitioning_wildcards: [1]}]}
"""
FLOW = TEXT.replace('["${region}.orders.*"]', "[${region}.orders.*]")
"""Its braces stand inside brackets."""
OFFLINE = (
    ("permissions", "plan", "topology.yaml"),
    ("upgrade-check", "topology.yaml", "--server-version", "2.15"),
    ("groups", "plan-members", "ORDERS_eu/g", "topology.yaml", "--add", "b", "--offline"),
)


@pytest.mark.parametrize("arguments", OFFLINE, ids=lambda arguments: arguments[0])
def test_commands_that_ask_no_server_read_the_filled_file(shell: Shell, arguments: tuple[str, ...]) -> None:
    shell.write(TEXT)
    assert [shell(*arguments, *said).code for said in ((), ("--value", "region=eu"))] == [1, 0]


def test_what_is_live_is_adopted_as_the_filled_file_has_it(shell: Shell, account: Account) -> None:
    login = ("--server", account.url, "--user", account.user, "--password", account.password)
    file, said = shell.write(TEXT), ("--value", "region=eu")
    assert shell("apply", file, *said, "--yes", *login).code == 0
    ran = shell("adopt", file, *said, "--yes", *login)
    assert (ran.code, ran.out) == (0, "Nothing to adopt: this topology owns every declared object. "
                                      f"Next: reconciler plan --value region=eu topology.yaml --server {account.url} "
                                      f"--user {account.user} --password '…'\n")  # fmt: skip
    assert shell("unlock", file, *said, *login).out == "Nobody is applying topology t: no lease of it is held.\n"
    shown = shell("groups", "plan-members", "ORDERS_eu/g", file, *said, "--add", "b", *login)
    assert "members  [a] → [a, b]" in shown.out


@pytest.mark.parametrize("arguments", [
    ("unlock",), ("upgrade-check", "--server-version", "2.15"), ("groups", "plan-members", "S/g", "--add", "b"),
])  # fmt: skip
def test_values_without_files_are_wrong_usage(shell: Shell, arguments: tuple[str, ...]) -> None:
    ran = shell(*arguments, "--value", "region=eu", "--server", "nats://127.0.0.1:1")
    assert (ran.code, "--value fills in files, but none are named" in ran.err) == (64, True)


def test_a_preview_does_not_write_one_accounts_values_into_the_file_of_all(shell: Shell) -> None:
    ran = shell(
        "groups", "plan-members", "ORDERS_eu/g", shell.write(TEXT), "--add", "b", "--offline", "--write", "--value", "region=eu"
    )  # fmt: skip
    assert (ran.code, "edit them by hand" in ran.err) == (64, True)


@pytest.fixture
def repository(shell: Shell) -> Repository:
    made = Repository.at(shell.folder / "repository")
    made.commit({"t.yaml": FLOW, "other/o.yaml": FLOW.replace("topology: t", "topology: o")})
    return made


def test_both_revisions_of_a_review_are_filled(repository: Repository) -> None:
    repository.write({"t.yaml": FLOW.replace("7d", "3d")})
    ran = Shell(repository.folder)("review", "--base", "HEAD", "--value", "region=eu")
    assert "max_age  7d → 3d" in ran.out
    assert "reconciler plan --value region=eu t.yaml" in " ".join(ran.out.split())


def test_a_review_without_values_names_their_place_and_way_out(repository: Repository) -> None:
    repository.write({"t.yaml": FLOW.replace("7d", "3d")})
    ran = Shell(repository.folder)("review", "--base", "HEAD")
    assert (ran.code, "t.yaml:5:3 error XX515" in ran.err, "--value region=…" in ran.err) == (1, True, True)


def test_what_did_not_change_is_reviewed_without_values(repository: Repository) -> None:
    ran = Shell(repository.folder)("review", "--base", "HEAD")
    assert (ran.code, "topologies there: 2" in ran.out) == (0, True)


def test_what_only_earlier_files_want_filled_does_not_pass_for_gone(repository: Repository) -> None:
    repository.write({"t.yaml": None})
    ran = Shell(repository.folder)("review", "--base", "HEAD")
    assert (ran.code, "XX515" in ran.err) == (1, True)
    ran = Shell(repository.folder)("review", "--base", "HEAD", "--value", "region=eu")
    assert "stream/ORDERS_eu" in ran.out
