"""One wheel for all tests, and an environment for each set of extras."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.package.building import VERSION, Built, Environment, build, copied


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """What lies in RECONCILER_DIST, where a release has built it; else a wheel of the files here, with a tag."""
    if given := os.environ.get("RECONCILER_DIST"):
        return Built.lying_in(Path(given))
    folder = tmp_path_factory.mktemp("package")
    repository = copied(folder / "project")
    repository.git("tag", f"v{VERSION}")
    return build(repository.folder, folder / "dist")


@pytest.fixture(scope="session")
def core(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Installed with no extra."""
    return Environment.of(tmp_path_factory.mktemp("core"), str(built.wheel))


@pytest.fixture(scope="session")
def dev(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Installed with the extra that brings a nats-server."""
    return Environment.of(tmp_path_factory.mktemp("dev"), f"{built.wheel}[dev]")
