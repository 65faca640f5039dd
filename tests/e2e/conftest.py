"""Somebody at a shell, logged in to an account of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Shell
from tests.e2e.someone import Someone, login
from tests.support.accounts import Account


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def someone(shell: Shell, account: Account) -> Someone:
    return Someone(shell, account, login(account))


@pytest.fixture
def elsewhere(shell: Shell, new_account: Callable[..., Account]) -> Callable[[str], Someone]:
    """The same folder, logged in to another fresh account on a server of the minor asked for."""

    def logged_in(minor: str) -> Someone:
        account = new_account(minor)
        return Someone(shell, account, login(account))

    return logged_in
