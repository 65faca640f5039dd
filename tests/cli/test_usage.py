"""Wrong usage is exit 64 with a sentence that helps; looking around costs nothing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from reconciler import __version__
from reconciler.cli.app import COMMANDS
from tests.cli.running import PATIENCE, Shell, command, environment


def test_the_version_is_one_line(shell: Shell) -> None:
    ran = shell.cold("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"reconciler {__version__}\n", "")


def test_the_version_is_found_without_importing_the_command_line(shell: Shell) -> None:
    script = "import sys; sys.argv = ['reconciler', '--version']; from reconciler.__main__ import main; main();"
    heavy = "sys.stdout.write(repr([m for m in ('typer', 'pydantic', 'nats', 'rich') if m in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{script} {heavy}"],
        env=environment(shell.folder), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.endswith("[]")


def test_help_names_every_command_and_imports_none(shell: Shell) -> None:
    ran = shell.cold("--help")
    named = re.findall(r"^  ([a-z-]+(?: [a-z]+)?) {2,}\S", ran.out, flags=re.MULTILINE)
    assert (ran.code, named) == (0, list(COMMANDS))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(shell: Shell, name: str) -> None:
    ran = shell.cold(*name.split(), "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: reconciler {name}")


def test_validating_imports_neither_nats_nor_rich(shell: Shell) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nstreams: {A: {}}\n")
    script = (
        f"import sys; from reconciler.cli.run import run; run(['validate', '{file}']);"
        "sys.stdout.write(repr([m for m in ('nats', 'rich', 'deepdiff') if m in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=shell.folder, env=environment(shell.folder),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.endswith("[]")


@pytest.mark.parametrize(
    ("arguments", "helps"),
    [
        (["plna"], "Did you mean 'plan'?"),
        (["plan", "--ony", "x", "y"], "--only"),
        (["plan"], "Missing argument 'PATHS...'"),
        (["plan", "x", "--format", "xml"], "'text', 'json'"),
        (["plan", "x", "--allow", "ST301"], "for example ST301=stream/ORDERS"),
        (["plan", "x", "--dev", "--server", "localhost"], "--dev chooses the server by itself"),
        (["plan", "x", "--no-context", "--context", "prod"], "--no-context asks for no context at all"),
        (["validate", "x", "--for-server", "new"], "`new` is not a server version"),
        (["explain", "ST10"], "Did you mean"),
        (["explain", "LE20"], "Did you mean LE20"),
        (["explain", "canot-write"], "Did you mean cannot-write"),
        (["explain", "acme101"], "acme101 is no code of reconciler's own; it may be a policy's"),
        (["drift", "restore", "x"], "Look first with `reconciler drift x`, then add --yes"),
        (["drift", "accept", "x", "--value", "a=b"], "edit them by hand"),
        (["drift", "watch", "x", "--every", "often"], "write for example 15m, 1h or 30s"),
        (["history", "newest"], "newest: write the number of a run"),
        (["history", "diff", "1", "2", "3"], "A difference is between two runs"),
        (["drift", "watch", "x", "--listen", "::1:9099"], "for example 127.0.0.1:9099 or [::1]:9099"),
        (["groups", "where", "a.b", "--filter", "a.*"], "give the number of partitions with --partitions"),
        (["groups", "where", "a.b", "--wildcard", "1"], "give the number of partitions with --partitions"),
        (["groups", "where", "a.b", "S/g", "--partitions", "3"], "leave out S/g, or --partitions"),
        (["export", "--layout", "stream"], "name one with --into"),
        (["export", "--overwrite"], "name one with --output or a folder with --into"),
        (["import", "x.json", "--overwrite"], "name it with --output"),
        (["schema", "plan", "--write", "schemas"], "--write writes all schemas; leave out plan"),
        (
            ["schema", "upgrade_chek"],
            "There is no schema upgrade_chek. Did you mean upgrade-check? Write one of topology, plan,",
        ),
        (
            ["apply", "plan.json", "--yes", "--value", "region=eu"],
            "--value, --values and --environment to the `plan` that saves it",
        ),
        (
            ["apply", "plan.json", "--yes", "--environment", "prod"],
            "--value, --values and --environment to the `plan` that saves it",
        ),
        (["completion", "tcsh"], "Invalid value for 'shell': 'tcsh' is not one of 'bash', 'zsh', 'fish'"),
        (["dev", "stpo"], "Did you mean 'stop'?"),
    ],
)
def test_wrong_usage_says_what_would_be_right(shell: Shell, arguments: list[str], helps: str) -> None:
    ran = shell(*arguments)
    assert (ran.code, ran.out) == (64, "")
    assert helps in ran.err
    assert "--help" in ran.err


def test_applying_without_a_terminal_and_without_yes_says_what_to_do(shell: Shell) -> None:
    ran = shell("apply", "x", "--context", "prod")
    assert ran.code == 64
    assert "`reconciler plan x --context prod`, then add --yes" in ran.err


def test_without_a_context_the_selected_one_says_nothing_and_the_next_command_line_says_so_too(shell: Shell) -> None:
    (shell.folder / ".config" / "nats").mkdir(parents=True)
    (shell.folder / ".config" / "nats" / "context.txt").write_text("gone")
    shell.write("reconciler: 1\ntopology: t\nstreams: {A: {}}\n")
    assert "leave the selection out with --no-context." in shell("permissions", "plan", "topology.yaml").err
    assert shell("permissions", "plan", "topology.yaml", "--no-context").code == 0
    ran = shell("apply", "topology.yaml", "--server", "localhost", "--no-context")
    assert "`reconciler plan topology.yaml --server localhost --no-context`" in ran.err


def test_no_command_at_all_shows_the_help(shell: Shell) -> None:
    ran = shell()
    assert (ran.code, ran.out) == (64, "")
    assert "Usage: reconciler" in ran.err


def test_a_reader_who_has_enough_is_no_error(shell: Shell) -> None:
    explaining = subprocess.Popen(
        command("explain"), env=environment(shell.folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert explaining.stdout
    explaining.stdout.close()
    _, said = explaining.communicate(timeout=PATIENCE)
    assert (explaining.returncode, said) == (0, b"")


def test_an_error_of_ours_is_one_line_without_a_traceback(shell: Shell) -> None:
    script = (
        "import sys; from reconciler.cli import app; app.import_module = lambda name: 1 / 0;"
        "from reconciler.cli.run import run; sys.exit(run(['plan', 'x']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(shell.folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("internal error: ZeroDivisionError in ")
    assert done.stderr.count("\n") == 1
