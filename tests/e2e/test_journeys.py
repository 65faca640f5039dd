"""The whole way on every version: validate, plan, apply, an empty plan, export, and the export made anew elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.running import EXAMPLES, TOPOLOGIES, Shell
from tests.e2e.someone import Someone, readable
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.versions import on_every_version

NAMES = TOPOLOGIES


def example(name: str) -> str:
    return str(EXAMPLES / name)


def suits(name: str, minor: str) -> bool:
    """`orders` says itself that it wants 2.12."""
    return not (name == "orders" and minor == "2.11")


@pytest.mark.parametrize("name", NAMES)
def test_every_example_validates(shell: Shell, name: str) -> None:
    ran = readable(shell("validate", example(name)))
    assert (ran.code, ran.err) == (0, "")


@on_every_version
def test_every_example_goes_the_whole_way(
    someone: Someone, account: Account, elsewhere: Callable[[str], Someone]
) -> None:
    for name in (name for name in NAMES if suits(name, account.minor)):
        asked = someone("plan", example(name), "--exit-code")
        applied = someone("apply", example(name), "--yes")
        assert (asked.code, applied.code, applied.err) == (2, 0, ""), (name, applied)
        assert someone.has_nothing_to_do(example(name)), name
    exported = someone("export")
    assert (exported.code, exported.err.count("warning XX910")) == (0, 1), exported.err  # several topologies own this
    file = someone.write(exported.out, "live.yaml")
    summary = json.loads(someone("plan", file, "--format", "json").out)["summary"]
    assert summary["create"] == summary["update"] == summary["replace"] == summary["delete"] == 0
    again = elsewhere(account.minor)
    made = again("apply", file, "--yes")
    assert made.code == 0, made
    assert again.has_nothing_to_do(file)
    assert again("export").out == exported.out


def test_no_command_needs_what_another_has_imported(someone: Someone) -> None:
    """Everywhere else commands are forked off a process that has imported all of them."""
    file = example("groups.yaml")
    commands = (
        ("apply", file, "--yes"),
        ("plan", file),
        ("drift", file),
        ("export",),
        ("history",),
        ("groups", "list"),
    )
    for line in commands:
        ran = readable(someone.shell.cold(*line, *someone.login))
        assert (line[0], ran.code, ran.err) == (line[0], 0, "")


def test_an_example_for_newer_servers_says_so_on_an_old_one(elsewhere: Callable[[str], Someone]) -> None:
    ran = elsewhere(MINORS[0])("apply", example("orders"), "--yes")
    assert (ran.code, ran.out) == (1, "")
    assert "2.12" in ran.err
    assert "Nothing was changed." in ran.err
