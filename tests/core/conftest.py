"""Comparisons of files with an account made up from other files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.topologies import Scene, scene


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., Scene]:
    """`compare(desired, live, owner=…, raw=…)`: see tests.support.topologies.scene."""
    return lambda desired, live=None, **said: scene(tmp_path, desired, live, **said)
