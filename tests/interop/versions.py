"""Which servers a test runs on: the one named in a quick run, every supported one in a full run."""

from __future__ import annotations

import os

import pytest

from tests.support.binaries import MINORS

FULL = bool(os.environ.get("RECONCILER_INTEROP"))


def sampled_on(minor: str, *, since: str = MINORS[0]) -> pytest.MarkDecorator:
    """`minor` in `make test`; in `make interop` every version from `since` on."""
    return pytest.mark.parametrize("account", MINORS[MINORS.index(since) :] if FULL else [minor], indirect=True)
