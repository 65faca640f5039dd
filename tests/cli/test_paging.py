"""A plan that is longer than the screen: read in a pager, with what stops it once more at its end; pipes get it as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.cli.shared.reporting import LESS, pager_command
from reconciler.report.document.document import Document
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from tests.cli.running import Shell, command, environment
from tests.golden.test_golden import planned
from tests.support.accounts import Account
from tests.support.reports import plan_text
from tests.support.terminal import Terminal

MANY = 60
STREAMS = "".join(f"  S{n:03}: {{subjects: [s{n}.>]}}\n" for n in range(MANY))
TOPOLOGY = f"reconciler: 1\ntopology: shop\nstreams:\n  KEPT: {{subjects: [kept], storage: file}}\n{STREAMS}"
KEPT_ALONE = TOPOLOGY.removesuffix(STREAMS)


def target(account: Account) -> list[str]:
    return ["--server", account.url, "--user", account.user, "--password", account.password]


@pytest.fixture
def long(shell: Shell, account: Account) -> Shell:
    """A plan of sixty new streams, and of one change that is refused."""
    assert shell("apply", shell.write(KEPT_ALONE), "--yes", *target(account)).code == 0
    shell.write(TOPOLOGY.replace("storage: file", "storage: memory"))
    return shell


def screen(
    shell: Shell, account: Account, *arguments: str, rows: int = 24, env: Mapping[str, str] | None = None
) -> Terminal:
    words = command(*arguments, "topology.yaml", *target(account))
    return Terminal(words, folder=shell.folder, environ=environment(shell.folder, **(env or {})), rows=rows)


# -- which pager


@pytest.mark.parametrize(
    ("environ", "chosen"),
    [
        ({}, LESS),
        ({"PAGER": "more"}, "more"),
        ({"PAGER": "more", "RECONCILER_PAGER": "less -S"}, "less -S"),
        ({"PAGER": "more", "RECONCILER_PAGER": ""}, None),
        ({"RECONCILER_PAGER": "cat"}, None),
        ({"PAGER": " "}, None),
        ({"CI": "true"}, None),
        ({"TERM": "dumb"}, None),
        ({"TERM": ""}, None),
    ],
)
def test_the_pager_is_what_somebody_chose_else_less(environ: dict[str, str], chosen: str | None) -> None:
    assert pager_command({"TERM": "xterm", **environ}, has_less=True) == chosen


def test_without_less_there_is_no_pager_unless_somebody_chose_one() -> None:
    assert pager_command({"TERM": "xterm"}, has_less=False) is None
    assert pager_command({"TERM": "xterm", "PAGER": "more"}, has_less=False) == "more"


# -- in front of a terminal


def test_a_plan_longer_than_the_screen_is_read_in_less_from_its_beginning(long: Shell, account: Account) -> None:
    with screen(long, account, "plan", "--no-color") as shown:
        first = shown.until(r"\n:")  # less waits
        assert "! stream/KEPT" in first
        assert "1 refused" not in first
        shown.type("G")
        last = shown.until(r"\(END\)")
        assert "stream/KEPT  ST101 storage-change, refused" in " ".join(last.split("\n")[-8:])
        shown.type("q")
        assert shown.rest()[0] == 4


def test_ctrl_c_in_the_pager_ends_nothing(long: Shell, account: Account) -> None:
    with screen(long, account, "plan") as shown:
        shown.until(r"\n:")
        shown.type("\x03")
        shown.type_until("G", r"\(END\)")
        shown.type("q")
        assert shown.rest()[0] == 4


@pytest.mark.parametrize(
    ("said", "env"),
    [(["--no-pager"], {}), ([], {"RECONCILER_PAGER": ""}), ([], {"CI": "1"}), ([], {"PAGER": "no-such-program"})],
)
def test_without_a_pager_all_of_it_is_printed_and_its_last_screen_says_what_stops(
    long: Shell, account: Account, said: list[str], env: dict[str, str]
) -> None:
    with screen(long, account, "plan", *said, env=env) as shown:
        code, text = shown.rest()
    assert (code, text.count("+ stream/S")) == (4, MANY)
    end = text.splitlines()[-24:]
    assert end[end.index("What stops this, once more:") + 1].startswith("! stream/KEPT  ST101 storage-change, refused")
    assert "topology.yaml:4" in end[end.index("What stops this, once more:") + 1]
    assert end[-2].startswith("Nothing can be applied while something is refused")


def test_a_plan_that_fits_on_the_screen_is_printed_as_ever(long: Shell, account: Account) -> None:
    with screen(long, account, "plan", "--no-color", rows=500) as shown:
        code, text = shown.rest()
    assert code == 4
    assert without_seconds(text) == without_seconds(long("plan", "topology.yaml", *target(account)).out)


def without_seconds(text: str) -> str:
    return text[text.index("\n! ") :]


def test_a_pipe_gets_the_plan_as_it_is(long: Shell, account: Account) -> None:
    ran = long("plan", "topology.yaml", *target(account), TERM="xterm", LINES="24", PAGER="false")
    assert (ran.code, ran.out.count("+ stream/S"), "once more" in ran.out) == (4, MANY, False)


# -- before a question


def test_before_a_question_what_matters_stays_on_the_screen(long: Shell, account: Account) -> None:
    with screen(long, account, "apply", "--partial", "--no-color") as shown:
        text = shown.until(r"\[y/N\]: ")
        rows = text[text.index("shop → ") :].splitlines()
        assert (len(rows) <= 24, "! stream/KEPT" in text, "once more" in text) == (True, True, False)
        (rest,) = [row for row in rows if row.startswith("… ")]
        hidden = MANY - text.count("+ stream/S")
        assert rest == f"… {hidden} more without consequences: {hidden} creates; -v shows them"
        shown.type("n\n")
        assert shown.rest()[0] == 1


def test_before_a_question_everything_is_shown_to_who_asks_for_it(long: Shell, account: Account) -> None:
    with screen(long, account, "apply", "--partial", "--verbose", "--no-color") as shown:
        assert shown.until(r"\[y/N\]: ").count("+ stream/S") == MANY
        shown.type("n\n")


def test_where_nobody_is_asked_everything_is_shown(long: Shell, account: Account) -> None:
    with screen(long, account, "apply", "--partial", "--yes", "--no-color") as shown:
        code, text = shown.rest()
    assert (code, text.count("+ stream/S")) == (4, MANY)


def test_what_an_apply_deletes_is_on_the_screen_below_which_it_asks(shell: Shell, account: Account) -> None:
    assert shell("apply", shell.write(TOPOLOGY), "--yes", *target(account)).code == 0
    gone = 'removed: [{address: stream/KEPT, reason: "no more"}]\n'
    changed = "".join(f"  S{n:03}: {{subjects: [s{n}.>], description: n{n}, max_msgs: 1}}\n" for n in range(MANY))
    shell.write(f"reconciler: 1\ntopology: shop\nstreams:\n{changed}{gone}")
    with screen(shell, account, "apply", "--no-color") as shown:
        text = shown.until(r"\[y/N\]: ")
        shown.type("n\n")
    assert (len(text[text.index("shop → ") :].splitlines()) <= 24, "- stream/KEPT" in text) == (True, True)
    assert re.search(r"… 5\d more without consequences: 5\d changes; -v shows them", text)


# -- what is decided


@pytest.fixture
def refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Document:
    monkeypatch.chdir(tmp_path)
    plan = planned("refusals", tmp_path)
    return Document(plan=plan, topology=plan.topology)


def test_every_refusal_has_a_line_on_the_last_screen_as_far_as_it_has_room(refusals: Document) -> None:
    assert refusals.plan
    (one,) = [change for change in refusals.plan.changes if change.address == "consumer/WORK/jobs"]
    different = [
        replace(verdict, name=f"name-{n}", code=f"CO7{n:02}") for n in range(12) for verdict in one.verdicts[:1]
    ]
    stops = tuple(replace(one, address=f"consumer/WORK/{v.code}", verdicts=(v,)) for v in different)
    for height, said in ((50, 12), (20, 8), (5, 3)):
        text = plan_text(replace(refusals.plan, changes=stops), Paper(height=height))
        again = text.partition("once more:\n")[2].partition("\n\n")[0].splitlines()
        lines = [f"! consumer/WORK/{v.code}  {v.code} {v.name}, refused" for v in different[:said]]
        assert [line[: len(wanted)] for line, wanted in zip(again, lines, strict=False)] == lines
        assert again[said:] == ([f"  and {12 - said} more, above"] if said < 12 else [])


def test_what_goes_is_said_once_more_before_a_question_where_it_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = planned("removal-orphan-adoption", tmp_path)
    (one,) = [change for change in plan.changes if change.address == "stream/OLD"]
    gone = tuple(replace(one, address=f"stream/OLD{n}", reason=f"since {n}") for n in range(12))
    text = plan_text(replace(plan, changes=gone), Paper(height=20), goes_on=True, is_asked_about=True)
    again = text.partition("has consent to, once more:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split("  ")[0] for line in again] == [*(f"- stream/OLD{n}" for n in range(8)), ""]
    assert again[-1] == "  and 4 more, above"
    assert "once more" not in plan_text(replace(plan, changes=gone), Paper(height=20))


def test_of_several_plans_the_last_screen_says_what_stops_any_of_them(refusals: Document) -> None:
    assert refusals.plan
    harmless = replace(refusals.plan, topology="other", changes=(), diagnostics=())
    last = Document(plan=harmless, topology="other")
    on_screen = [replace(one, paper=Paper(height=20)) for one in (refusals, last)]
    (said,) = FORMATS["text"].render_several(on_screen).rpartition("nothing to do")[2:]
    assert said.count("\n! ") > 2
    assert refusals.topology in said
    assert "once more" not in FORMATS["text"].render_several([refusals, last])
