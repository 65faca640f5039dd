"""Declarative config-as-code for NATS JetStream; the public API uses the words of the command line.

>>> import reconciler
>>> loaded = reconciler.load(["streams/"])
>>> planned = reconciler.plan(loaded.topology, "nats://127.0.0.1:4222")
>>> planned.plan.is_empty
>>> finished = reconciler.apply(planned, "nats://127.0.0.1:4222")

A plan can be saved, reviewed and applied later; then exactly this plan is applied, as far as it still fits:

>>> reconciler.save_plan(planned, "plan.json")
>>> saved = reconciler.load_plan("plan.json")
>>> finished = reconciler.apply(saved, "nats://127.0.0.1:4222")

Nothing is imported before it is used: `import reconciler` loads neither nats nor pydantic.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.changes.events import Finished
    from reconciler.documents.read.load import Loaded
    from reconciler.journeys.drift.drift import Drift
    from reconciler.journeys.plan.plan import Planned
    from reconciler.journeys.saved.saved_plan import Saved
    from reconciler.model.diagnostic import Diagnostic
    from reconciler.model.run_options import RunOptions
    from reconciler.model.topology import Topology
    from reconciler.server.connect.options import ConnectOptions

try:
    from reconciler._version import __version__  # is in the wheel
except ModuleNotFoundError:
    __version__ = "0.0.0+source"  # a working copy is no release

__all__ = ["__version__", "apply", "drift", "export", "load", "load_plan", "plan", "save_plan", "validate"]

Path_ = str | Path


def load(paths: Sequence[Path_]) -> Loaded:
    """Load one topology from files and folders, or every problem in them."""
    from reconciler.journeys.plan import files  # noqa: PLC0415

    return files.load([Path(path) for path in paths])


def validate(paths: Sequence[Path_]) -> list[Diagnostic]:
    """Return everything wrong with the files that can be known without a server."""
    from reconciler.journeys.plan import validate as offline  # noqa: PLC0415

    return offline.validate([Path(path) for path in paths])[1]


def plan(topology: Topology, server: str | ConnectOptions, options: RunOptions | None = None) -> Planned:
    """Return what would change to make the account at `server` as declared. Changes nothing."""
    from reconciler.journeys import library  # noqa: PLC0415
    from reconciler.model.run_options import RunOptions  # noqa: PLC0415

    return library.plan(topology, server, options or RunOptions())


def drift(topology: Topology, server: str | ConnectOptions, options: RunOptions | None = None) -> Drift:
    """Return what differs from the last apply, and who changed it. Changes nothing."""
    from reconciler.journeys import library  # noqa: PLC0415
    from reconciler.model.run_options import RunOptions  # noqa: PLC0415

    return library.drift(topology, server, options or RunOptions())


def save_plan(planned: Planned, path: Path_) -> None:
    """Save a plan, to apply exactly this plan later. Raises OSError where it cannot be written."""
    from reconciler.journeys.saved import saving  # noqa: PLC0415

    saving.save(saving.to_saved(planned), Path(path))


def load_plan(path: Path_) -> Saved:
    """Read a plan that was saved with `save_plan` or `plan --out`. Raises CannotContinue where it was altered since."""
    from reconciler.journeys.saved import saving  # noqa: PLC0415

    return saving.read_plan(Path(path))


def apply(planned: Planned | Saved, server: str | ConnectOptions, *, partial: bool = False) -> Finished:
    """Apply a plan. A plan with a refusal applies nothing, unless `partial`."""
    from reconciler.journeys import library  # noqa: PLC0415

    return library.apply(planned, server, partial=partial)


def export(server: str | ConnectOptions, topology: str) -> str:
    """Return the account as YAML whose plan is empty."""
    from reconciler.journeys import library  # noqa: PLC0415

    return library.export(server, topology)
