"""What a run is given besides its files: which part of them it is about, and what it may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address
from reconciler.model.selection import Labels, selects


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a topology's files come from."""

    repository: str | None = None
    """`github.com/org/repo`: the same for every way to clone, no credentials; else `root:` and the first commit."""
    revision: str | None = None
    """The commit, with `-dirty` when tracked files differ from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run adds to the files."""

    only: tuple[str, ...] = ()
    """Address patterns or `label=value`; empty: everything."""
    exclude: tuple[str, ...] = ()
    may_match_nothing: bool = False
    """Whether a pattern may match nothing here, because another plan of the same run may know what it means."""
    allow: tuple[tuple[str, str], ...] = ()
    """(code, address pattern) pairs: `--allow ST301=stream/ORDERS`."""
    take_over: tuple[str, ...] = ()
    """Owners whose resources become this topology's."""
    stopped: tuple[str, ...] = ()
    """Topologies earlier in the same run whose plans nobody can carry out yet."""
    owners_named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The owners of streams that the files of each other topology of the same run name."""
    today: date | None = None
    """The day on which `until` ends what was agreed to. None: as the server's clock has it; ours may be wrong by years."""
    origin: Origin | None = None
    """Where the files come from. None: as git says where they are."""

    @property
    def day(self) -> date:
        """Return the day. Where none is known, nothing has ended."""
        return self.today or date.min

    @property
    def came_from(self) -> Origin:
        """Return where the files come from. Where git was not asked, nobody knows."""
        return self.origin or Origin()

    @property
    def is_about_all(self) -> bool:
        """Do neither `only` nor `exclude` leave out any resource?"""
        return not (self.only or self.exclude)

    def selects(self, address: Address, labels: Labels) -> bool:
        """Is this address part of the run?"""
        wanted = not self.only or any(selects(pattern, address, labels) for pattern in self.only)
        return wanted and not any(selects(pattern, address, labels) for pattern in self.exclude)


NO_OPTIONS = RunOptions()
