"""Marks for tests that hold on every supported server version."""

from __future__ import annotations

import pytest

from tests.support.binaries import MINORS

on_every_version = pytest.mark.parametrize("account", MINORS, indirect=True)
"""Runs a test that takes `account` once on each supported minor."""
