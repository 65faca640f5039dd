"""A kind is one place and one line: a toy is added to a copy of the project, and every command knows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from reconciler.report.formats import FORMATS
from tests.support.accounts import Account, Pool
from tests.support.binaries import PROJECT
from tests.support.jetstream import done, talk

MODULE = '''"""Toy queues: a work queue `TOY_<name>` that takes `toy.<name>.>`."""

from __future__ import annotations

from typing import Annotated

from reconciler.changes.kind import Bound
from reconciler.kinds.buckets import bucket
from reconciler.kinds.buckets.bucket_kind import bucket_kind
from reconciler.kinds.fields.known import Known
from reconciler.model.resource import Terms
from reconciler.model.units import Duration


class ToyQueueSpec(Terms):
    """A toy queue as written in a file."""

    description: Annotated[str | None, Known()] = None
    """What it is for."""
    ttl: Annotated[Duration | None, Known(unit="duration", default=0)] = None
    """Age after which messages are removed."""


SHAPE = bucket.BucketShape(
    kind="toy_queue",
    noun="toy queue",
    prefix="TOY_",
    subjects=lambda name: [f"toy.{name}.>"],
    fixed={"retention": "workqueue"},
    keys=bucket.own_keys(ToyQueueSpec),
    names={"max_age": "ttl"},
)
TOY_QUEUE = bucket_kind(
    SHAPE, family="TQ", title="Toy queues", bound=Bound(floor=5, percent=20), section="toy_queues", spec=ToyQueueSpec
)
'''
KINDS = "    kinds=(STREAM, CONSUMER, STATIC_GROUP, ELASTIC_GROUP, KV_BUCKET, OBJECT_STORE),\n"
LINE = KINDS.replace("OBJECT_STORE", "OBJECT_STORE, TOY_QUEUE")
FILE = """reconciler: 1
topology: toys
toy_queues:
  jobs: {description: work, ttl: 1h}
streams:
  S: {subjects: [s], sources: [{name: TOY_jobs}]}
"""


class Toys:
    """Commands of a project that has one kind more, in one account."""

    def __init__(self, root: Path, account: Account) -> None:
        self._root, self._account = root, account
        self.file = root / "toys.yaml"

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def offline(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reconciler", *words]
        env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": str(self._root)}
        return subprocess.run(command, cwd=self._root, capture_output=True, text=True, env=env, check=False)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        to = self._account
        return self.offline(*words, "--server", to.server.url, "--user", to.user, "--password", to.password)


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory, pool: Pool) -> Iterator[Toys]:
    root = tmp_path_factory.mktemp("toys")
    shutil.copytree(PROJECT / "reconciler", root / "reconciler")
    (root / "reconciler/kinds/toy_queue.py").write_text(MODULE, encoding="utf-8")
    registry = root / "reconciler/kinds/__init__.py"
    text = registry.read_text(encoding="utf-8")
    assert text.count(KINDS) == 1
    more = "from reconciler.kinds.toy_queue import TOY_QUEUE\n"
    registry.write_text(text.replace(KINDS, LINE).replace("\nREGISTRY", f"{more}\nREGISTRY"), encoding="utf-8")
    toys = Toys(root, pool.account())
    toys.write(FILE)
    applied = toys.run("apply", str(toys.file), "--yes")
    assert (applied.returncode, applied.stderr) == (0, ""), applied.stdout
    yield toys


def test_what_is_applied_is_as_declared_and_known_to_what_copies_it(toys: Toys) -> None:
    checked = toys.offline("validate", str(toys.file))
    assert (checked.returncode, "TOY_jobs" in checked.stdout) == (0, False), checked.stdout
    planned = toys.run("plan", str(toys.file), "--exit-code")
    assert (planned.returncode, "2 resources as declared" in planned.stdout) == (0, True), planned.stdout


def test_it_is_exported_and_the_copy_plans_empty(toys: Toys) -> None:
    exported = toys.run("export", "--topology", "toys")
    assert "toy_queues:\n  jobs:\n    description: work\n    ttl: 1h\n" in exported.stdout
    toys.write(exported.stdout)
    assert toys.run("plan", str(toys.file), "--exit-code").returncode == 0
    toys.write(FILE)


def test_its_permissions_are_printed(toys: Toys) -> None:
    assert "$JS.API.STREAM.UPDATE.TOY_jobs" in toys.offline("permissions", "apply", str(toys.file)).stdout


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_what_is_wrong_with_it(toys: Toys, name: str) -> None:
    toys.write(FILE + "  X: {subjects: [toy.jobs.urgent]}\n")
    planned = toys.run("plan", str(toys.file), "--format", name)
    toys.write(FILE)
    assert (planned.returncode, "TOY_jobs" in planned.stdout) == (4, True), planned.stdout + planned.stderr


def test_drift_of_it_is_found_and_goes_into_the_file(toys: Toys, account: Account) -> None:
    other = Toys(toys.file.parent, account)
    assert other.run("apply", str(toys.file), "--yes").returncode == 0
    talk(account, lambda js: _older(js, "TOY_jobs"))
    drifted = other.run("drift", str(toys.file))
    assert (drifted.returncode, "toy_queue/jobs" in drifted.stdout, "1h → 3h" in drifted.stdout) == (3, True, True)
    assert other.run("drift", "accept", str(toys.file)).returncode == 0
    assert "ttl: 3h" in toys.file.read_text(encoding="utf-8")
    toys.write(FILE)


async def _older(js: object, stream: str) -> Mapping[str, object]:
    config = {**done(await js.read(f"STREAM.INFO.{stream}"))["config"], "max_age": 3 * 3_600_000_000_000}  # type: ignore[attr-defined]
    return done(await js.write(f"STREAM.UPDATE.{stream}", config))  # type: ignore[attr-defined]


def test_another_name_for_it_is_refused_with_the_steps(toys: Toys) -> None:
    moved = "moved: [{from: toy_queue/jobs, to: toy_queue/works, reason: shorter}]\n"
    toys.write(FILE.replace("  jobs:", "  works:").replace("TOY_jobs", "TOY_works") + moved)
    planned = toys.run("plan", str(toys.file))
    toys.write(FILE)
    assert (planned.returncode, "XX110" in planned.stdout, "Declare works like jobs" in planned.stdout) == (
        4,
        True,
        True,
    )


def test_it_is_imported_from_files_of_other_tools(toys: Toys, tmp_path: Path) -> None:
    config = {"name": "TOY_more", "subjects": ["toy.more.>"], "retention": "workqueue", "max_age": 60_000_000_000}
    (tmp_path / "more.json").write_text(json.dumps({**config, "storage": "file", "num_replicas": 1}), encoding="utf-8")
    imported = toys.offline("import", str(tmp_path / "more.json"))
    assert "toy_queues:\n  more:\n    ttl: 1m\n" in imported.stdout, imported.stdout + imported.stderr


def test_its_rules_have_pages(toys: Toys) -> None:
    assert "TQ301" in toys.offline("explain").stdout
    assert "\nTQ301 " in toys.offline("explain", "--all").stdout
