"""What must be known of a resource to tell how it gets another name, which no server does itself."""

from __future__ import annotations

from collections.abc import Callable

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config
from reconciler.model.wire.version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """From one name to another, and what reads the old one without being a consumer."""

    old: Address
    new: Address
    live: Config
    version: Version
    """Of the server."""
    left_out: frozenset[str] = frozenset()
    """Fields that its declaration leaves to the server."""
    mirrors: tuple[str, ...] = ()
    """By their own names, with the owner if that is another topology; likewise the two others."""
    sourcing: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    has_consumers: bool = False
    pushed: tuple[str, ...] = ()
    """Push consumers of the old one: their clients subscribe to a subject, and cannot tell which stream it comes from."""
    retention: str = "limits"
    """Of the stream that it belongs to."""
    into: str = "limits"
    """The retention of the stream that it will belong to."""
    consents: tuple[str, ...] = ()
    """Codes to which an elastic group takes consent when it begins to copy its stream."""
    removal_consents: tuple[str, ...] = ()
    """Codes to which the old one takes consent when it is removed."""
    is_fed: bool = False
    """The stream of the new name copies the stream of the old one."""


Recipe = Callable[[Renaming], list[str]]


def moved_section_text(old: Address | str, new: Address | str) -> str:
    """`moved: [{from: consumer/A/old, to: consumer/A/new, reason: …}]`, ready to be pasted at the top level of a file."""
    return f"moved: [{{from: {old}, to: {new}, reason: …}}]"


def removal_text(renaming: Renaming, others: str = "") -> str:
    """The step that removes the old one, with the consents that it takes: a removed resource has no place for `allow`."""
    options = "".join(f" with --allow {code}={renaming.old}" for code in renaming.removal_consents)
    return f"Write removed: [{{address: {renaming.old}, reason: …}}{others}] instead of its declaration, and apply{options}."


def simple_recipe(renaming: Renaming) -> list[str]:
    """Steps for a kind that knows no better ones."""
    old, new = renaming.old.name, renaming.new.name
    return [f"Declare {new} like {old}, and apply.", f"Let the clients of {old} use {new}."]
