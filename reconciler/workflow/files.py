"""Files → topology, with the kinds we have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reconciler.documents.load import Loaded
from reconciler.documents.load import load as load_documents
from reconciler.kinds import REGISTRY


def load(paths: Sequence[Path]) -> Loaded:
    """One topology from files and folders, or every problem in them."""
    return load_documents(paths, REGISTRY)
