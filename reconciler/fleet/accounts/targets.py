"""The targets of a fleet: which accounts, how to reach them, what each should hold, and what people call them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Self

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan, located_at
from reconciler.model.resource import Where, nowhere
from reconciler.server.connect.options import ConnectOptions, resolve
from reconciler.server.connect.settings import Settings

DEADLINE = 60.0
HEAVY = 20_000
"""Objects of one account that are worth a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTarget:
    """One account. It holds no secret, only references to credentials on the machine that connects."""

    name: str
    settings: Settings
    topology: tuple[Path, ...] = ()
    """Files and folders with what it should hold; none: it is only read."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Values of `${name}` in them."""
    environment: str | None = None
    """The environment for which they are read."""
    own: tuple[str, ...] = ()
    """Which of the values are its own, beyond the defaults of all targets."""
    labels: Mapping[str, str] = field(default_factory=dict)
    deadline: float = DEADLINE
    """Seconds after which reading it is given up."""
    parts: int = 1
    """How many tasks share the reading of it."""
    where: Where = nowhere

    @property
    def value_places(self) -> dict[str, SourceSpan]:
        """Where its own values stand in fleet.yaml, as far as that is known."""
        places = {name: self.where(f"values.{name}") for name in self.own}
        return {name: place for name, place in places.items() if place}

    def options(self, environ: Mapping[str, str] = os.environ) -> ConnectOptions:
        """Return connection options for this machine: contexts and files are looked up here. A variable such as
        NATS_CREDS, which is meant for one account, is ignored."""
        with located_at(self.where("context" if self.settings.context else "server")):
            return resolve(
                self.settings, {name: value for name, value in environ.items() if not name.startswith("NATS_")}
            )

    def portable_copy(self) -> Self:
        """Return the same for another machine, without places in files."""
        return replace(self, where=nowhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The contents of one fleet.yaml."""

    name: str
    file: Path
    targets: tuple[FleetTarget, ...]
    others: tuple[FleetTarget, ...] = ()
    """The other targets, where only some were selected."""
