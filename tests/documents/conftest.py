"""A folder to write a topology's files into."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.reading import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
