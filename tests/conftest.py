"""Fixtures every folder of tests may use: fresh accounts on shared, real servers.

def test_on_the_newest_server(account): …

@on_every_version                       # from tests.support.versions
def test_on_each_server(account): …
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.interop import reference
from tests.peers import programs
from tests.support import browser
from tests.support.accounts import Account, Pool
from tests.support.binaries import BETWEEN, NEWEST

settings.load_profile("ci")  # Hypothesis draws the same each time, and a busy machine may take as long as it does
POOL = pytest.StashKey[Pool]()

# Spark's Java ends before compiling well has paid: a command that starts its own takes 15 s of processor time, not 25.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=160m")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--versions",
        choices=("all", "ends", "between"),
        default="all",
        help="ends: without tests on one of the versions between the oldest and the newest; between: these alone",
    )
    parser.addoption("--update-golden", action="store_true", help="rewrite the files that tests compare plans with")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in (
        reference.not_run(config.args),
        browser.not_run(config.args, Path(__file__).parent / "browser"),
        *programs.not_run(config.args),
    ):
        if line:
            terminalreporter.write_line(line, yellow=True)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expectations are rewritten rather than compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.hookimpl(tryfirst=True)  # those with Spark are put before them then
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those in a cluster come first, version by version: three servers that only wait take a twentieth of a core."""
    chosen = config.getoption("--versions")
    taken = [item for item in items if chosen in ("all", "between" if _is_between(item) else "ends")]
    config.hook.pytest_deselected(items=[*{*items} - {*taken}])
    items[:] = sorted(taken, key=lambda item: _cluster_of(item) or "none")


def pytest_collection_finish() -> None:
    """What was collected stays until the end: to look through it for garbage again and again takes a sixteenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def _is_between(item: pytest.Item) -> bool:
    """On a version that is neither the oldest nor the newest. A test of two versions at once is for what lies between them."""
    return hasattr(item, "callspec") and any(
        value in BETWEEN for value in item.callspec.params.values() if isinstance(value, str)
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """A cluster ends with the last test that comes for it."""
    yield
    if POOL in item.config.stash:
        item.config.stash[POOL].close_clusters(but=_cluster_of(nextitem) if nextitem else None)


def _cluster_of(item: pytest.Item) -> str | None:
    """The minor version of the cluster this test wants an account in."""
    assert isinstance(item, pytest.Function)
    if "clustered_account" not in item.fixturenames:
        return None
    return str(item.callspec.params.get("clustered_account", NEWEST)) if hasattr(item, "callspec") else NEWEST


@pytest.fixture(scope="session")
def pool(pytestconfig: pytest.Config) -> Iterator[Pool]:
    """The shared servers of this test process, started when first wanted."""
    shared = pytestconfig.stash[POOL] = Pool()
    yield shared
    shared.close()


@pytest.fixture
def account(pool: Pool, request: pytest.FixtureRequest) -> Account:
    """A fresh account on a single server: the newest, or the minor given as an indirect parameter."""
    return pool.account(getattr(request, "param", NEWEST))


@pytest.fixture
def new_account(pool: Pool) -> Callable[..., Account]:
    """Makes as many fresh accounts as a test wants: `new_account()`, `new_account("2.11")`."""
    return pool.account


@pytest.fixture
def clustered_account(pool: Pool, request: pytest.FixtureRequest) -> Account:
    """A fresh account in a three-node cluster: the newest, or the minor given as an indirect parameter."""
    return pool.clustered(getattr(request, "param", NEWEST))
