"""`fmt` puts files into form, `--check` shows what it would change; and nothing else is ever touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLES, ROOT, Shell

UNTIDY = "topology: t\nreconciler: 1\nstreams:\n    A: {max_age: 7d, subjects: [a]}  # what for\n"
TIDY = "reconciler: 1\ntopology: t\nstreams:\n  A: {subjects: [a], max_age: 7d}  # what for\n"
COMPOSE = "services:\n    web: {image: nginx}\n"


def patched(shell: Shell, patch: str) -> None:
    subprocess.run(["git", "apply", "-p0"], cwd=shell.folder, input=patch, text=True, check=True, capture_output=True)


def test_a_file_is_put_into_form_and_that_is_told_once(shell: Shell) -> None:
    shell.write(UNTIDY, "a.yaml")
    shell.write(TIDY, "b.yaml")
    first, second = shell("fmt", "."), shell("fmt", ".")
    assert (first.code, first.out, first.err) == (0, "", "Put into form, 1 of 2 files:\n  a.yaml\n")
    assert (second.code, second.out, second.err) == (0, "2 files are in form\n", "")
    assert (shell.folder / "a.yaml").read_text() == TIDY


def test_a_check_writes_nothing_and_shows_what_would_change_as_a_patch(shell: Shell) -> None:
    shell.write(UNTIDY, "a.yaml")
    ran = shell("fmt", "--check", ".")
    assert (ran.code, ran.err) == (1, "Not in form, 1 of 1 file:\n  a.yaml\nNext: reconciler fmt .\n")
    assert ran.out.startswith("--- a.yaml\n+++ a.yaml\n@@ -1,4 +1,4 @@\n-topology: t\n reconciler: 1\n+topology: t\n")
    assert (shell.folder / "a.yaml").read_text() == UNTIDY
    patched(shell, ran.out)
    assert (shell.folder / "a.yaml").read_text() == TIDY


def test_a_check_of_what_is_in_form_is_fine_and_shows_nothing(shell: Shell) -> None:
    ran = shell("fmt", "--check", shell.write(TIDY))
    assert (ran.code, ran.out, ran.err) == (0, "1 file is in form\n", "")


@pytest.mark.parametrize("text", [UNTIDY.removesuffix("\n"), "reconciler: 1\ntopology: t"])
def test_a_last_line_without_a_break_is_part_of_the_patch(shell: Shell, text: str) -> None:
    ran = shell("fmt", "--check", shell.write(text, "a.yaml"))
    assert "\n\\ No newline at end of file\n" in ran.out
    patched(shell, ran.out)
    assert shell("fmt", "--check", "a.yaml").code == 0


def test_lines_that_end_in_another_way_and_a_mark_at_the_start_stay(shell: Shell) -> None:
    file = shell.folder / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + UNTIDY.replace("\n", "\r\n").encode())
    assert "\\r" not in shell("fmt", "--check", "a.yaml").out
    assert shell("fmt", "a.yaml").code == 0
    assert file.read_bytes() == b"\xef\xbb\xbf" + TIDY.replace("\n", "\r\n").encode()


def test_editors_give_a_text_and_get_it_in_form(shell: Shell) -> None:
    ran = shell("fmt", "-", stdin=UNTIDY.replace("what for", "wofür"), LC_ALL="C", PYTHONIOENCODING="latin-1")
    assert (ran.code, ran.out, ran.err) == (0, TIDY.replace("what for", "wofür"), "")
    checked = shell("fmt", "--check", "-", stdin=UNTIDY)
    assert (checked.code, checked.out[:12]) == (1, "--- <stdin>\n")


def test_editors_get_nothing_back_for_what_cannot_be_read(shell: Shell) -> None:
    ran = shell("fmt", "-", stdin="streams: [\n")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("<stdin>:2:1 error XX510: ")


def test_a_file_with_errors_is_told_as_validate_tells_it_and_the_others_are_written(shell: Shell) -> None:
    shell.write("topology: u\nreconciler: [\n", "broken.yaml")
    shell.write(UNTIDY, "a.yaml")
    ran, validated = shell("fmt", "."), shell("validate", "broken.yaml")
    assert (ran.code, validated.code) == (1, 1)
    assert validated.out.splitlines()[0] in ran.err
    assert (shell.folder / "broken.yaml").read_text() == "topology: u\nreconciler: [\n"
    assert (shell.folder / "a.yaml").read_text() == TIDY


def test_keys_that_nobody_knows_are_no_business_of_the_form(shell: Shell) -> None:
    ran = shell("fmt", shell.write("reconciler: 1\ntopology: t\nstreams:\n A: {subjectz: [a]}\n"))
    assert (ran.code, shell("validate", "topology.yaml").code) == (0, 1)


def test_what_is_no_topology_is_named_and_left_alone(shell: Shell) -> None:
    shell.write(TIDY, "a.yaml")
    shell.write(COMPOSE, "compose.yaml")
    ran = shell("fmt", ".")
    assert (ran.code, ran.out) == (0, "1 file is in form\n")
    assert ran.err.startswith(
        "compose.yaml:1:1 note XX524: this is a file for Docker Compose, not a topology; the file stays as it is"
    )
    assert (shell.folder / "compose.yaml").read_text() == COMPOSE


def test_what_is_no_topology_is_an_error_where_it_is_asked_for(shell: Shell) -> None:
    ran = shell("fmt", shell.write(COMPOSE, "compose.yaml"))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("compose.yaml:1:1 error XX524: ")
    assert (shell.folder / "compose.yaml").read_text() == COMPOSE


def test_text_that_is_no_yaml_is_an_error_only_where_a_topology_is(shell: Shell) -> None:
    template = "{{ if .Values.on }}\nkind: x\n{{ end }}\n"
    (shell.folder / "charts").mkdir()
    (shell.folder / "topology").mkdir()
    shell.write(template, "charts/x.yaml")
    shell.write(TIDY, "topology/a.yaml")
    beside = shell("fmt", ".")
    shell.write(template, "topology/x.yaml")
    within = shell("fmt", ".")
    assert (beside.code, "charts/x.yaml:1:2 note XX510" in beside.err) == (0, True), beside.err
    assert (within.code, "topology/x.yaml:1:2 error XX510" in within.err) == (1, True), within.err


def test_a_path_that_leads_nowhere_is_an_error(shell: Shell) -> None:
    ran = shell("fmt", "nowhere.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert "`nowhere.yaml` does not exist" in ran.err


def test_stdin_stands_alone(shell: Shell) -> None:
    ran = shell("fmt", "-", "a.yaml")
    assert (ran.code, "stands alone" in ran.err) == (64, True)


def test_a_pipe_is_no_file_to_write_back_into(shell: Shell) -> None:
    os.mkfifo(shell.folder / "pipe.yaml")
    ran = shell("fmt", "pipe.yaml")
    assert (ran.code, "pipe.yaml is no file to write back into; - puts stdin into form" in ran.err) == (64, True)


def test_a_link_goes_on_leading_to_the_file_whose_mode_stays(shell: Shell) -> None:
    file = shell.folder / "there" / "a.yaml"
    file.parent.mkdir()
    file.write_text(UNTIDY)
    file.chmod(0o640)
    (shell.folder / "link.yaml").symlink_to("there/a.yaml")
    assert shell("fmt", "link.yaml", "there").code == 0
    assert (file.read_text(), file.stat().st_mode & 0o777) == (TIDY, 0o640)
    assert (shell.folder / "link.yaml").is_symlink()
    assert sorted(path.name for path in shell.folder.rglob("*")) == ["a.yaml", "link.yaml", "there"]


def test_where_one_file_cannot_be_written_none_is(shell: Shell) -> None:
    shell.write(UNTIDY, "a.yaml")
    shell.write(f"{UNTIDY}#{'x' * 5000}\n", "b.yaml")
    program = (
        "import resource, sys; from reconciler.cli.run import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); sys.exit(run(['fmt', '.']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=shell.folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "Cannot write b.yaml" in ran.stderr and "Nothing was written." in ran.stderr
    assert (shell.folder / "a.yaml").read_text() == UNTIDY


def test_the_examples_are_in_form(shell: Shell) -> None:
    shutil.copytree(EXAMPLES, shell.folder / "examples")
    ran = shell("fmt", "--check", "examples")
    assert (ran.code, ran.out) == (0, "14 files are in form\n")
    named = {line.split(":")[0] for line in ran.err.splitlines() if " note " in line}
    assert named == {str(Path("examples", path)) for path in FOREIGN}


FOREIGN = (
    "company/tenants.yaml", "fleet/fleet.yaml", "ci/pre-commit-config.yaml",
    *(f"ci/github/{name}.yml" for name in ("apply", "comment", "drift", "plan", "review")),
)  # fmt: skip
