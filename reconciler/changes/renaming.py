"""What must be known of a resource to tell how it gets another name, which no server gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.model.resource import Address, Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """From one name to another, and who reads under the old one without being a consumer."""

    old: Address
    new: Address
    live: Config
    mirrors: tuple[str, ...] = ()
    """By their own names, with the owner where that is another topology; so the two others."""
    sourcing: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_fed: bool = False
    """The stream of the new name copies that of the old one."""


Recipe = Callable[[Renaming], list[str]]


def copied(asked: Renaming) -> list[str]:
    """Steps for what nobody knows more of."""
    old, new = asked.old.name, asked.new.name
    return [f"Declare {new} like {old}, and apply.", f"Let the clients of {old} use {new}."]
