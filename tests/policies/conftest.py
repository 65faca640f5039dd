"""A folder to run commands in, with an account of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.running import Shell
from tests.support.accounts import Account


class Said(NamedTuple):
    """How a command ended, and everything that it said."""

    code: int
    text: str


Run = Callable[..., Said]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def run(shell: Shell, account: Account) -> Run:
    """Runs a command against the account."""

    def run(*arguments: str) -> Said:
        ran = shell(*arguments, NATS_URL=account.url, NATS_USER=account.user, NATS_PASSWORD=account.password)
        return Said(ran.code, ran.out + ran.err)

    return run
