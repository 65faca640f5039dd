"""Tests of a peer are collected where it is; a line at the end of the run says so where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Shell
from tests.peers.programs import NATS, PROVIDER, found

collect_ignore = [peer.tests for peer in (NATS, PROVIDER) if isinstance(found(peer), str)]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)
