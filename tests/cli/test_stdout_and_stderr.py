"""What is said on stdout and stderr, which a runner of CI reads line by line and may obey."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.cli.fleet.options import FleetSelection, SparkOptions
from reconciler.cli.fleet.running import next_steps
from reconciler.cli.shared.screen import emit, say, tell
from reconciler.fleet.report.report import report_of
from reconciler.journeys.upgrade.text import upgrade_text
from reconciler.model.wire.version import Version
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from tests.cli.running import Shell
from tests.report import fleets

PWNED = "::error file=a,line=1::pwned"


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line]


def test_whatever_is_said_or_told_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{PWNED}\n##[add-mask]x\n")
    tell(f"  {PWNED}\n")
    said, told = capsys.readouterr()
    assert (commands(said), said.count("pwned"), said.count("add-mask")) == ([], 1, 1)
    assert (commands(told), told.count("pwned")) == ([], 1)


def test_what_is_for_programs_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    emit(f"{PWNED}\n")
    assert capsys.readouterr().out == f"{PWNED}\n"


def test_a_topology_cannot_name_itself_a_command(shell: Shell) -> None:
    file = shell.write('reconciler: 1\ntopology: "::error title=x::pwned\\e[31mred"\nstreams: {S: {subjects: [s]}}\n')
    ran = shell("validate", file)
    assert ran.out.startswith("\\::error title=x::pwned\\x1b[31mred: 1 resource in 1 file can be planned")


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_a_client_in_an_audit_trail_cannot_name_itself_a_command(name: str) -> None:
    found = fleets.hostile(PWNED)
    told = replace(report_of(found), paper=Paper(width=200))
    assert "pwned" in FORMATS[name](told)
    assert commands(FORMATS[name](told)) == []


def test_a_server_cannot_say_a_command_in_place_of_why() -> None:
    unknown = {PWNED: "\x1b[31mred"}
    text = upgrade_text("account", (), (), Version(2, 14), Paper(), of_files=False, unknown=unknown)
    assert commands(text) == []
    assert text.endswith("\\::error file=a,line=1::pwned could not be read, so it was not judged: \\x1b[31mred\n")


def test_a_next_command_of_a_fleet_can_be_copied_as_it_is() -> None:
    selection = FleetSelection(file=Path("a;touch PWNED.yaml"), patterns=("eu-*", "env=prod"))
    assert selection.arguments() == "'a;touch PWNED.yaml' --target 'eu-*' --target env=prod"


def test_a_next_command_of_a_fleet_finds_the_same_tables_by_the_same_spark() -> None:
    options = SparkOptions(master="local[2]", store="table:lake.shops; rm x", run=None)
    _, events, page = next_steps(fleets.drift_only(), FleetSelection(file=Path("fleet.yaml")), options)
    line = "fleet.yaml --store 'table:lake.shops; rm x' --master 'local[2]' --report html=fleet.html"
    assert page == f"All stored runs on one page: reconciler fleet report {line}"
    who = "Who did it, where streams capture $JS.EVENT.ADVISORY.API: reconciler fleet events "
    assert events == who + line.removesuffix(" --report html=fleet.html")
