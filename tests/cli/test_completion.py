"""What a shell completes: commands, options, codes and the names that files declare, at once and without a word of complaint."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.completing import named, shells
from reconciler.cli.completing.shells import SCRIPTS, completion_lines
from reconciler.cli.completing.table import completion_table, table_text
from reconciler.documents.write.dump import dump
from tests.cli.running import PATIENCE, ROOT, Shell, environment
from tests.support.terminal import Terminal

FILES = """
reconciler: 1
topology: shop
streams:
  ORDERS:
    subjects: [orders.>]
    labels: {team: orders}
    consumers: {dispatch: {}, west: {labels: {team: west}}}
    groups:
      billing: {type: elastic, max_members: 3, partitioning_filters: [{filter: orders.>, partitioning_wildcards: [1]}]}
      audit: {type: static, max_members: 3}
  PARTNER: {external: true, consumers: {ours: {}}}
  KNOWN: {external: {from: topology/partner}}
kv_buckets: {CONFIG: {}}
environments:
  dev: {context: dev}
  prod-eu: {context: prod-eu}
  prod-us: {context: prod-us}
"""
EVIL = ["a;touch PWNED", "$(touch PWNED)", "`touch PWNED`", "a b", "it's", "\x1b[31m", "*", "~x", "a\nb"]


@pytest.fixture
def folder(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a topology, and current."""
    shell.write(FILES, "shop.yaml")
    monkeypatch.chdir(shell.folder)
    return shell.folder


def completed(line: str, shell: str = "bash", **env: str) -> list[str]:
    """What is offered for the last word of a line, whose words stand between single spaces."""
    return offered(line.split(" "), shell, **env)


def offered(line: list[str], shell: str = "bash", **env: str) -> list[str]:
    said = {"_RECONCILER_COMPLETE": shell, "COMP_WORDS": "\n".join(line), "COMP_CWORD": str(len(line) - 1)}
    return completion_lines({"HOME": ".", **env, **said}).splitlines()


# -- words of the program


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("reconciler pl", ["plan"]),
        ("reconciler groups sh", ["show"]),
        ("reconciler drift ac", ["accept"]),
        ("reconciler drift ", ["accept", "restore", "watch"]),
        ("reconciler drift sho", []),
        ("reconciler drift shop.yaml re", []),
        ("reconciler drift restore --par", ["--partial"]),
        ("reconciler drift --par", ["--parallel"]),
        ("reconciler history ", ["diff"]),
        ("reconciler dev st", ["start", "status", "stop"]),
        ("reconciler plan --on", ["--only"]),
        ("reconciler fleet plan --at", ["--at-once"]),
        ("reconciler groups plan-members --m", ["--mappings", "--members"]),
        ("reconciler plan shop.yaml --server x --format j", ["json", "junit"]),
        ("reconciler plan -s x --format=j", ["--format=json", "--format=junit"]),
        ("reconciler apply --format j", ["json"]),
        ("reconciler plan --report m", ["markdown="]),
        ("reconciler export --layout ", ["owner", "stream"]),
        ("reconciler permissions ", ["plan", "apply", "drift"]),
        ("reconciler completion z", ["zsh"]),
        ("reconciler schema fleet-d", ["fleet-drift"]),
        ("reconciler schema up", ["upgrade-check"]),
        ("reconciler rehearse x --server-version 2.1", ["2.11", "2.12", "2.14", "2.15"]),
        ("reconciler explain CO121", ["CO121"]),
        ("reconciler explain priority-policy-s", ["priority-policy-switch"]),
        ("reconciler explain XX902", ["XX902"]),
        ("reconciler plan --allow CO121", ["CO121="]),
        ("reconciler plan --allow NA10", []),
        ("reconciler nonsense ", []),
        ("reconciler plan --nonsense ", []),
        ("reconciler plan sho", []),
        ("reconciler plan --out pl", []),
    ],
)
def test_words_of_the_program_are_completed(folder: Path, line: str, found: list[str]) -> None:
    assert completed(line) == found


def test_every_command_and_option_is_known() -> None:
    """`make schemas` writes them anew."""
    written = Path(shells.__file__).with_name("words.json").read_text(encoding="utf-8")
    assert written == table_text(completion_table()) + "\n"


@pytest.mark.parametrize(
    "line", ["reconciler ", "reconciler plan --", "reconciler plan shop.yaml --only ", "reconciler unpin "]
)
def test_nothing_is_imported_that_takes_time(folder: Path, line: str) -> None:
    script = (
        "import sys; sys.argv = ['reconciler']; from reconciler.__main__ import main; main();"
        "sys.stderr.write(repr([m for m in ('typer', 'pydantic', 'nats', 'rich', 'asyncio') if m in sys.modules]))"
    )
    words = line.split(" ")
    env = environment(folder, _RECONCILER_COMPLETE="bash", COMP_WORDS="\n".join(words), COMP_CWORD=str(len(words) - 1))
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=folder, capture_output=True, text=True, check=True
    )
    assert (done.stderr, bool(done.stdout)) == ("[]", True)


# -- names


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("reconciler plan shop.yaml --only stream/", ["stream/ORDERS"]),
        ("reconciler drift --exclude consumer/", ["consumer/ORDERS/dispatch", "consumer/ORDERS/west", "consumer/PARTNER/ours"]),
        ("reconciler plan --only=kv", ["--only=kv_bucket/CONFIG"]),
        ("reconciler adopt . --only team", ["team=orders", "team=west"]),
        ("reconciler plan --allow CO121=", ["CO121=consumer/ORDERS/dispatch", "CO121=consumer/ORDERS/west",
                                            "CO121=consumer/PARTNER/ours"]),
        ("reconciler plan --allow XX108=kv", ["XX108=kv_bucket/CONFIG"]),
        ("reconciler unpin ORDERS/", ["ORDERS/dispatch", "ORDERS/west"]),
        ("reconciler groups show ", ["ORDERS/audit", "ORDERS/billing"]),
        ("reconciler groups skew ORDERS/audit ", ["ORDERS/billing"]),
        ("reconciler export --topology ", ["shop"]),
        ("reconciler plan --take-over s", ["shop"]),
        ("reconciler plan shop.yaml --environment ", ["dev", "prod-eu", "prod-us"]),
        ("reconciler apply --environment=prod", ["--environment=prod-eu", "--environment=prod-us"]),
        ("reconciler render --diff d", ["dev"]),
        ("reconciler render shop.yaml --diff dev p", ["prod-eu", "prod-us"]),
        ("reconciler render --diff dev prod-eu --environment d", ["dev"]),
    ],
)  # fmt: skip
def test_what_the_files_declare_is_completed(folder: Path, line: str, found: list[str]) -> None:
    assert completed(line, "fish") == found


def test_the_files_named_on_the_line_are_read_and_no_others(folder: Path, shell: Shell) -> None:
    (folder / "other").mkdir()
    shell.write("reconciler: 1\ntopology: other\nstreams: {S: {}}\n", "other/s.yaml")
    assert completed("reconciler plan other --only stream/") == ["stream/S"]
    assert completed("reconciler plan --only stream/") == ["stream/ORDERS", "stream/S"]
    assert completed("reconciler plan nowhere --only stream/") == ["stream/ORDERS", "stream/S"]


def test_contexts_of_the_nats_cli_are_completed(folder: Path) -> None:
    (folder / "nats" / "context").mkdir(parents=True)
    for name in ("prod-eu", "prod-us", "dev"):
        (folder / "nats" / "context" / f"{name}.json").write_text("not read")
    assert completed("reconciler plan --context p", XDG_CONFIG_HOME=str(folder)) == ["prod-eu", "prod-us"]


def test_a_file_that_cannot_be_read_has_no_names_and_the_others_have_theirs(folder: Path, shell: Shell) -> None:
    shell.write("reconciler: 1\ntopology: broken\nstreams: {S: [\n", "broken.yaml")
    shell.write("streams: 7\nkv_buckets: {K: [1, {a: 2}], L: }\n", "odd.yaml")
    (folder / "binary.yaml").write_bytes(b"streams:\xff\xfe")
    assert completed("reconciler plan broken.yaml --only ") == []
    assert completed("reconciler plan --only stream/") == ["stream/ORDERS"]
    ran = shell(_RECONCILER_COMPLETE="bash", COMP_WORDS="reconciler\nplan\nbroken.yaml\n--only\n", COMP_CWORD="4")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_a_shell_that_asks_in_another_way_gets_nothing_rather_than_an_error(shell: Shell) -> None:
    for said in ({"COMP_CWORD": "x", "COMP_WORDS": ""}, {}, {"COMP_CWORD": "99", "COMP_WORDS": "reconciler"}):
        ran = shell(_RECONCILER_COMPLETE="bash", **said)
        assert (ran.code, ran.err) == (0, "")


def test_a_name_that_a_shell_would_not_take_for_itself_is_not_offered(folder: Path, shell: Shell) -> None:

    streams = {name: {"labels": {"k": "; x"}} for name in ("GOOD", "émigré", *EVIL)}
    shell.write(dump("evil", {"streams": streams}), "shop.yaml")
    assert completed("reconciler plan --only ") == ["stream/GOOD", "stream/émigré"]


def test_of_very_many_names_the_way_to_them_is_offered(folder: Path, shell: Shell) -> None:
    streams = "".join(f"  S{n:03}: {{consumers: {{a: {{}}, b: {{}}}}}}\n" for n in range(200))
    shell.write(f"reconciler: 1\ntopology: shop\nstreams:\n{streams}", "shop.yaml")
    assert completed("reconciler plan --only ") == ["stream/", "consumer/"]
    assert completed("reconciler plan --only consumer/S1") == [f"consumer/S1{n:02}/" for n in range(100)]
    assert completed("reconciler plan --only consumer/S100/") == ["consumer/S100/a", "consumer/S100/b"]


def test_what_takes_long_to_read_is_left_out(folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("reconciler: 1\ntopology: big\nstreams: {BIG: {}}\n" + "# much\n" * (named.ROOM // 7), "big.yaml")
    assert completed("reconciler plan --only stream/") == ["stream/ORDERS"]
    (folder / "below").mkdir()
    shell.write("reconciler: 1\ntopology: below\nstreams: {LOW: {}}\n", "below/low.yaml")
    assert completed("reconciler plan --only stream/L") == ["stream/LOW"]
    monkeypatch.setattr(named, "PATIENCE", 0)
    assert completed("reconciler plan --only stream/") == ["stream/ORDERS"]


# -- how shells ask


def test_bash_takes_words_apart_and_is_given_what_is_left_of_them(folder: Path) -> None:
    assert offered(["reconciler", "plan", "--only", "=", "kv"]) == ["kv_bucket/CONFIG"]
    assert offered(["reconciler", "plan", "--only", "="]) == completed("reconciler plan --only ")
    assert offered(["reconciler", "plan", "--allow", "KV301", "=", "kv"]) == ["kv_bucket/CONFIG"]
    assert offered(["reconciler", "plan", "-s", "nats", ":", "//a", ":", "1", "--only", "kv"]) == ["kv_bucket/CONFIG"]
    assert offered(["reconciler", "plan", "--only", "'kv_buc"]) == ["kv_bucket/CONFIG"]


@pytest.fixture
def program(folder: Path) -> Iterator[dict[str, str]]:
    """An environment in which `reconciler` is found, and a file of its own to look for."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "reconciler"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m reconciler "$@"\n')
    script.chmod(0o755)
    (folder / "notes.txt").write_text("")
    for name in SCRIPTS:
        (folder / f"completion.{name}").write_text(SCRIPTS[name])
    env = environment(folder, PYTHONPATH=str(ROOT))
    yield {**env, "PATH": f"{folder / 'bin'}:{env['PATH']}"}


TYPED = [
    ("reconciler pla", "reconciler plan"),
    ("reconciler plan shop.yaml --only kv", "reconciler plan shop.yaml --only kv_bucket/CONFIG"),
    ("reconciler plan --only=obj -s nats://x:1 --exclude stream/O", "--exclude stream/ORDERS"),
    ("reconciler plan --allow CO121=consumer/ORDERS/d", "--allow CO121=consumer/ORDERS/dispatch"),
    ("reconciler plan --only=kv", "reconciler plan --only=kv_bucket/CONFIG"),
    ("reconciler plan --report mark", "reconciler plan --report markdown="),
    ("reconciler plan not", "reconciler plan notes.txt"),
    ("reconciler explain CO121", "reconciler explain CO121"),
]
"""What somebody types before the key, and how the line goes on."""
STARTED = {
    "bash": (["bash", "--norc", "-i"], "source completion.bash"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; bindkey -e; source completion.zsh"),
}


@pytest.mark.parametrize("name", [name for name in STARTED if shutil.which(name)])
def test_a_real_shell_completes_as_somebody_types(folder: Path, program: dict[str, str], name: str) -> None:
    command, setup = STARTED[name]
    with Terminal(command, folder=folder, environ={**program, "PS1": "READY> "}, columns=300) as shown:
        shown.type(f"{setup}; echo IS''THERE\n")
        shown.until("ISTHERE")
        for typed, wanted in TYPED:
            # Once it is completed, `echo` goes before it, and the whole line is printed.
            shown.type(f"{typed}\t\x05 END''ED\x01echo \n")
            printed = shown.until("ENDED").splitlines()[-1]
            assert f"{wanted} " in re.sub(r" +", " ", printed)


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish here")
def test_fish_completes_as_somebody_types(folder: Path, program: dict[str, str]) -> None:
    for typed, wanted in TYPED:
        done = subprocess.run(
            ["fish", "-N", "-c", f"source completion.fish; complete -C {typed!r}"],
            cwd=folder, env=program, capture_output=True, text=True, timeout=PATIENCE, check=True,
        )  # fmt: skip
        assert wanted.split(" ")[-1] in [line.split("\t")[0] for line in done.stdout.splitlines()], done


@pytest.mark.parametrize("name", SCRIPTS)
def test_completion_prints_the_script_of_a_shell(shell: Shell, name: str) -> None:
    ran = shell.cold("completion", name)
    assert (ran.code, ran.out, ran.err) == (0, SCRIPTS[name], "")
