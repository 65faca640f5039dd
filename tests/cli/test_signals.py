"""Ctrl-C and other signals while a command asks a question, and those that `nohup` has it ignore."""

from __future__ import annotations

import signal

import pytest

from reconciler.cli.shared.exits import ending_signals, interrupted_by_signals
from tests.cli.running import Shell, command, environment
from tests.cli.test_status_line import target
from tests.support.accounts import Account
from tests.support.terminal import Terminal, hanging_up

TEXT = "reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s]}}\n"
CTRL_C = "\x03"


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGHUP], ids=["Ctrl-C", "SIGTERM", "SIGHUP"])
def test_a_signal_at_a_question_ends_the_command_at_once_and_nothing_is_changed(
    shell: Shell, account: Account, number: signal.Signals | None
) -> None:
    file = shell.write(TEXT)
    asking = command("apply", file, "--no-color", *target(account))
    with Terminal(asking, folder=shell.folder, environ=environment(shell.folder)) as shown:
        shown.until(r"\[y/N\]: ")
        shown.until_it_sleeps()  # the question is shown a moment before keys are waited for
        if number is None:
            shown.type(CTRL_C)
        else:
            shown.send(number)
        code, text = shown.rest(within=30)
    assert (code, text.endswith("\nInterrupted. Nothing was changed.\n")) == (130, True), text
    assert "1 create" in shell("plan", file, *target(account)).out


def test_a_closing_terminal_is_ignored_where_the_command_was_started_so() -> None:
    with hanging_up(signal.SIG_IGN), interrupted_by_signals():
        assert ending_signals() == [signal.SIGINT, signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
