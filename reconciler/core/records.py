"""What we remember in the account itself, as plain shapes. Losing it costs three-way drift, never data."""

from __future__ import annotations

from dataclasses import dataclass, field

from reconciler.core.resource import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The record of one resource a topology manages: who, from where, and its managed fields as last applied."""

    topology: str
    source: str | None = None
    """Repository it came from; two repositories claiming one topology are told apart by this."""
    git_revision: str | None = None
    fields: Config = field(default_factory=dict)
    """Canonical configuration as last applied; a field missing here had its default."""
    left: tuple[str, ...] = ()
    """Top-level fields the file had no opinion on then (open or unmanaged): never drift."""
    protected: bool = False
    """It was applied with `protect: true`."""
    knows: str = ""
    """Newest server minor the writing tool knew; a field of a later one is not in this record."""
    revision: int = 0
    """Revision of the KV entry this was read from, for compare-and-set; not part of the record itself."""

    def remembers(self, name: str) -> bool:
        """Was this field managed when the record was written?"""
        return name not in self.left
