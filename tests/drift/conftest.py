"""Somebody at a shell, beside the account that others meddle with."""

from tests.e2e.conftest import shell, someone

__all__ = ["shell", "someone"]
