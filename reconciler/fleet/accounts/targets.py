"""The targets of a fleet: which accounts, how to get there, what each is to hold, and what people call them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from reconciler.model.resource import Where, nowhere
from reconciler.server.connect.options import ConnectOptions, resolve
from reconciler.server.connect.settings import Settings

DEADLINE = 60.0
HEAVY = 20_000
"""Objects of one account that are worth a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTarget:
    """One account. Holds no secret: only where to find what proves who we are, on the machine that connects."""

    name: str
    settings: Settings
    topology: tuple[Path, ...] = ()
    """Files and folders of what it is to hold; none: it is only looked at."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What `${name}` stands for in them."""
    own: tuple[str, ...] = ()
    """Which of the values it says itself, beyond the defaults of all targets."""
    labels: Mapping[str, str] = field(default_factory=dict)
    deadline: float = DEADLINE
    """Seconds after which reading it is given up."""
    parts: int = 1
    """How many tasks share the reading of it."""
    where: Where = nowhere

    def options(self, environ: Mapping[str, str] = os.environ) -> ConnectOptions:
        """For the machine this runs on: contexts and files are looked up there. A variable such as NATS_CREDS, meant for
        one account, is none of all the others'."""
        return resolve(self.settings, {name: value for name, value in environ.items() if not name.startswith("NATS_")})

    def to_go(self) -> Self:
        """The same for another machine, which needs no places in files."""
        return replace(self, where=nowhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What one fleet.yaml says."""

    name: str
    file: Path
    targets: tuple[FleetTarget, ...]
    others: tuple[FleetTarget, ...] = ()
    """Those nobody asked for, where somebody asked for some."""
