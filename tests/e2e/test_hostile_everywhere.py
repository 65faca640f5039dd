"""An account and files full of tricks, looked at by every command in every format it knows: nothing gets through."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from reconciler.cli.app import COMMANDS, app
from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran
from tests.e2e.here import somebody
from tests.e2e.someone import HEADER, Someone
from tests.support.accounts import Account
from tests.support.jetstream import make_consumer, make_stream
from tests.support.repository import Repository

TRICKS = {
    "clear": "\x1b[2J\x1b]0;owned\x07",
    "eight-bit": "\x9b2J",
    "right-to-left": "a\u202eb",
    "markup": "<img-src=x-onerror=alert(1)",
    "markdown": "|`__x__`|@everyone",
    "workflow": "::error::owned",
    "half": "\u2028\ufeff",
}
TEXT = "<script>alert(1)</script> **x** ![x](http://evil.example/p.png)\n::error::owned\n# x\n"
"""Where a text may hold anything."""
HUGE = 100_000
"""Characters that a server takes as metadata, and not as a description."""
NAMES = {**TRICKS, "quote": "\"'`$(id)"}
OFFLINE = frozenset(
    {
        "validate",
        "fmt",
        "render",
        "explain",
        "schema",
        "completion",
        "permissions",
        "review",
        "import",
        "fleet",
        "policy",
    }
)
"""Take no login."""
NOT_HERE = frozenset({"dev", "demo", "schema", "completion", "explain", "rehearse", "drift watch"})
"""Show nothing that others write, start servers of their own, or stay."""

LOOKING: dict[str, tuple[str, ...]] = {
    "init": ("first", "--topology", "first"),
    "validate": ("t.yaml",), "render": ("t.yaml",), "fmt": ("t.yaml", "--check"), "plan": ("t.yaml", "--verbose"), "drift": ("t.yaml",),
    "drift accept": ("t.yaml",), "drift restore": ("t.yaml", "--yes"), "history": (), "history diff": (), "unlock": (),
    "export": (), "upgrade-check": ("--server-version", "2.14"), "groups": ("list",), "apply": ("t.yaml", "--yes"),
    "permissions": ("apply", "t.yaml"), "review": ("t.yaml", "--base", "HEAD"), "adopt": ("t.yaml", "--yes"),
    "policy": ("test", "rules.yaml"), "import": ("t.json",), "fleet": ("plan", "fleet.yaml"), "unpin": (f"{TRICKS['clear']}/x",),
}  # fmt: skip
LAST = ("adopt", "apply", "drift restore", "drift accept")
"""After these there is less to look at."""
SHOW_NOTHING = frozenset({"init", "history", "history diff", "unlock", "upgrade-check", "groups", "drift restore"})
"""After an apply there is nothing to restore. Runs and leases full of tricks come below; `init` writes what there is, and
says how much; groups and their members can have no such name."""


GROUP = """  JOBS:
    subjects: [jobs.*]
    groups:
      g: {type: elastic, max_members: 4, partitioning_filters: [{filter: jobs.*, partitioning_wildcards: [1]}], members: [a, b]}
"""


def quoted(value: object) -> str:
    return json.dumps(value)


def topology(first: str, more: str = "") -> str:
    """Every field of ours and of the server's that takes free text, in the words of each trick."""
    streams = [
        f"  {quoted(name)}:\n"
        f"    subjects: [s{n}, {quoted(f's{n}.' + name)}]\n"
        f"    description: {quoted(first + name + TEXT + 'x' * (3900 if n == 0 else 0))}\n"
        f"    metadata: {{{quoted(name)}: {quoted(first + name + TEXT + name * (HUGE // 4 if n == 1 else 0))}}}\n"
        f"    labels: {{{quoted(name)}: {quoted(name)}}}\n"
        f"    consumers: {{{quoted(name)}: {{ack_policy: explicit, description: {quoted(name)}}}}}\n"
        for n, name in enumerate(NAMES.values())
    ]
    return HEADER + "streams:\n" + "".join(streams) + GROUP + more


def policies() -> Iterator[dict[str, Any]]:
    """Each answers otherwise than its case says, in the words of a trick."""
    for number, trick in enumerate(TRICKS.values()):
        case = {"name": trick, "resource": {"labels": {trick: trick}}, "forbidden": False}
        yield {
            "code": f"ACME{number:03}", "name": "one", "on": "stream", "forbid": "resource.description == ''",
            "message": trick + TEXT, "help": trick, "cases": [case],
        }  # fmt: skip


def theirs(number: int, trick: str) -> dict[str, Any]:
    """What a stranger made."""
    return {"subjects": [f"x{number}.{trick}"], "description": trick, "metadata": {trick: trick}}


@pytest.fixture
def hostile(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Someone:
    """Applied once; then changed behind our back, and next to strangers' things of the same sort."""
    repository = Repository.at(tmp_path / "here")
    someone = somebody(repository.folder, account, monkeypatch)
    repository.commit({"t.yaml": topology("")})
    made = someone("apply", "t.yaml", "--yes")
    assert made.code == 0, made

    async def strangers(js: JetStream) -> None:
        for n, trick in enumerate(TRICKS.values()):
            await make_stream(js, f"X{trick}", **theirs(n, trick))
            await make_consumer(js, f"X{trick}", trick, description=trick)
        for n, name in enumerate(NAMES.values()):
            said = await js.request(f"STREAM.INFO.{name}")
            config = {**said["config"], "description": f"drifted {n} {name}"}  # type: ignore[index]
            await js.request(f"STREAM.UPDATE.{name}", config)

    someone.ask(strangers)
    first = f"X{next(iter(TRICKS.values()))}"
    someone.shell.write(json.dumps(someone.ask(lambda js: js.request(f"STREAM.INFO.{first}"))), "t.json")
    adopted = (f"  {quoted(f'X{trick}')}: {quoted(theirs(n, trick))}\n" for n, trick in enumerate(TRICKS.values()))
    someone.write(topology("new ", "".join(adopted)), "t.yaml")
    monkeypatch.setenv("SECRET", account.password)
    target = {"server": account.url, "user": account.user, "password": "env://SECRET", "topology": "t.yaml",
              "labels": dict.fromkeys(NAMES.values(), TEXT)}  # fmt: skip
    whole = {"reconciler": 1, "fleet": "f", "targets": {"t": target}}
    someone.shell.write(json.dumps(whole), "fleet.yaml")
    someone.shell.write(json.dumps({"policies": list(policies())}), "rules.yaml")
    return someone


def formats(command: str) -> list[str | None]:
    """Those its own `--format` offers, so that new ones are looked at as soon as they are there."""
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    within = getattr(commands[command], "commands", {})  # `groups list`: the format is that of `list`
    asked = within.get(next(iter(LOOKING[command]), ""), commands[command])
    found = [type(option.default) for option in asked.params if "--format" in option.opts]
    return [str(one.value) for one in found[0]] if found else [None]


def everything(someone: Someone) -> Iterator[tuple[str, Ran]]:
    for command in sorted(COMMANDS, key=lambda one: LAST.index(one) if one in LAST else -1):
        if command in NOT_HERE or command not in LOOKING:
            continue
        for chosen in formats(command):
            arguments = (*LOOKING[command], *(("--format", chosen) if chosen else ()))
            run = someone.shell if command in OFFLINE else someone
            yield f"{command} {chosen}", run(*command.split(), *arguments)


COMMAND = re.compile(r"::(error|warning|notice) ((file|line|col|endLine|endColumn)=[^:,]*,)*title=[^:,]*::(?!error::)")
"""Of ours, to GitHub: no trick ends its title, to be obeyed or taken for the message."""


def is_harmless(what: str, ran: Ran) -> None:
    said = ran.out + ran.err
    assert "internal error" not in said, (what, said)
    hidden = {c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert not hidden, (what, hidden)
    commands = [line for line in said.splitlines() if line.lstrip().startswith("::")]
    assert not commands or what.endswith("github"), (what, commands)
    assert all(COMMAND.match(line) for line in commands), (what, commands)


def test_nothing_that_a_terminal_obeys_or_hides_comes_out_of_any_command(hostile: Someone) -> None:
    shown: dict[str, bool] = {}
    for what, ran in everything(hostile):
        is_harmless(what, ran)
        command = what.rpartition(" ")[0]
        shown[command] = shown.get(command, False) or "owned" in ran.out + ran.err
    assert {command for command, is_shown in shown.items() if not is_shown} == SHOW_NOTHING, (
        "looked at, and nothing there"
    )


async def changed_again(js: JetStream) -> None:
    for name in NAMES.values():
        said = await js.request(f"STREAM.INFO.{name}")
        config = {**said["config"], "description": f"again {name}{TEXT}"}  # type: ignore[index]
        await js.request(f"STREAM.UPDATE.{name}", config)


async def held(js: JetStream) -> None:
    """A lease whose holder is nothing but tricks."""
    said = "".join(TRICKS.values()) + TEXT
    holder = dict.fromkeys(("run", "user", "account_user", "host", "since", "git_revision", "source"), said)
    await js.put_entry("reconciler", "lease.t", json.dumps({"format": 1, **holder}).encode(), expected_revision=None)


def test_nor_out_of_what_was_kept_for_later(hostile: Someone) -> None:
    """A saved plan, one that fails, the runs in full and beside one another, and a lease."""
    is_harmless("plan", hostile("plan", "t.yaml", "--out", "plan.json"))
    hostile.ask(changed_again)
    for chosen in formats("apply"):
        ran = hostile("apply", "plan.json", "--yes", *(("--format", chosen) if chosen else ()))
        is_harmless(f"apply plan.json {chosen}", ran)
        assert ran.code == 1, ran
    is_harmless("apply", hostile("apply", "t.yaml", "--yes"))
    runs = [str(run["run"]) for run in json.loads(hostile("history", "--format", "json").out)["runs"]]
    for arguments in (*(("history", run) for run in runs), ("history", "diff"), ("history", "diff", runs[-1], runs[0])):
        for chosen in formats("history"):
            is_harmless(f"{arguments} {chosen}", hostile(*arguments, "--format", str(chosen)))
    hostile.ask(held)
    is_harmless("unlock", hostile("unlock", "--yes"))


def test_nor_out_of_a_description_that_no_server_takes(hostile: Someone) -> None:
    """Of a hundred thousand characters: refused before anything is sent, and shown as what it is."""
    trick = "".join(TRICKS.values())
    text = quoted(trick + TEXT + trick * (HUGE // len(trick)))
    hostile.write(f"{HEADER}streams:\n  A: {{subjects: [s0], description: {text}}}\n", "t.yaml")
    for command in ("validate", "plan", "drift", "apply", "review"):
        for chosen in formats(command):
            run = hostile.shell if command in OFFLINE else hostile
            ran = run(command, *LOOKING[command], *(("--format", chosen) if chosen else ()))
            is_harmless(f"{command} {chosen}", ran)
            assert ran.code == {"validate": 1, "drift": 0}.get(command, 4), ran


def test_every_command_is_looked_at_or_shows_nothing_of_others() -> None:
    assert COMMANDS.keys() - LOOKING.keys() - NOT_HERE == set()
