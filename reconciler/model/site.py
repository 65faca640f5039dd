"""Where the documentation stands on the web, and the page of a code there."""

from __future__ import annotations

SITE = "https://example-org.github.io/reconciler"


def rule_page(code: str) -> str:
    """Return the address of the page that says what a code means."""
    return f"{SITE}/reference/rules/{code}/"
