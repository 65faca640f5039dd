"""How much is run: a quick sample on one server each, or everything on every supported one."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

from tests.support.binaries import MINORS, NEWEST

CLUSTER = "cluster"
FULL = bool(os.environ.get("RECONCILER_INTEROP"))


def sampled_on(minor: str, *, since: str = MINORS[0]) -> pytest.MarkDecorator:
    """`minor` in `make test`; in `make interop` every version from `since` on."""
    return pytest.mark.parametrize("account", _all(since) if FULL else [minor], indirect=True)


def sampled_on_and_clustered(minor: str) -> pytest.MarkDecorator:
    """In `make interop` in a cluster of three too, where every stream has three replicas."""
    return pytest.mark.parametrize("account", [*_all(), f"{NEWEST} {CLUSTER}"] if FULL else [minor], indirect=True)


def _all(since: str = MINORS[0]) -> tuple[str, ...]:
    return MINORS[MINORS.index(since) :]


def some_of(cases: Iterable[str], *sample: str) -> list[str]:
    """Names of cases: all of them in `make interop`, these in `make test`."""
    return [name for name in cases if FULL or name in sample]
