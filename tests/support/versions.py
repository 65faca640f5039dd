"""Marks for tests that hold on every supported server version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.binaries import MINORS

EVERY = 1 if os.environ.get("RECONCILER_CONVERGENCE") else len(MINORS)
"""`make test` takes one of so many cases, on each version others; `make convergence` takes them all."""

on_every_version = pytest.mark.parametrize("account", MINORS, indirect=True)
"""Runs a test that takes `account` once on each supported minor."""


def in_turn(names: str, cases: Mapping[str, tuple[Any, ...]], *, account: str = "account") -> pytest.MarkDecorator:
    """Runs a test that takes `account` and these arguments with each case on every version, or with as many as `make test`
    takes: the first case on the first version, the second on the second, …"""
    taken = [
        pytest.param(minor, *case, id=f"{name}-{minor}")
        for number, (name, case) in enumerate(cases.items())
        for turn, minor in enumerate(MINORS)
        if (number - turn) % EVERY == 0
    ]
    return pytest.mark.parametrize(f"{account}, {names}", taken, indirect=[account])
