"""Where the documentation lies."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/example-org/reconciler/blob/main/"
"""Where a page of the site finds what is not on the site."""
