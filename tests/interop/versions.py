"""How much is run: a quick sample on one server each, or everything on every supported one."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

from tests.support.binaries import MINORS

FULL = bool(os.environ.get("RECONCILER_INTEROP"))


def sampled_on(minor: str, *, since: str = MINORS[0]) -> pytest.MarkDecorator:
    """`minor` in `make test`; in `make interop` every version from `since` on."""
    return pytest.mark.parametrize("account", MINORS[MINORS.index(since) :] if FULL else [minor], indirect=True)


def some_of(cases: Iterable[str], *sample: str) -> list[str]:
    """Names of cases: all of them in `make interop`, these in `make test`."""
    return [name for name in cases if FULL or name in sample]
