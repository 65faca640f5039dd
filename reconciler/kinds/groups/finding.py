"""What the doctor says: a code with a page, where, what, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from reconciler.kinds.groups.places import Depths
from reconciler.model.code_pages import GROUPS
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Address
from reconciler.model.wire.version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the server was asked beyond the lists."""

    depths: Mapping[Address, Depths] = field(default_factory=dict)
    """Of groups with messages in their queue."""
    sourced: Mapping[Address, int] = field(default_factory=dict)
    """The source's sequence in the newest message of a queue, if that was in doubt."""
    version: Version | None = None
    """Of the server, if it was asked."""


def error(code: str, address: Address | str, message: str, fix: str) -> Diagnostic:
    """Nothing is consumed, or messages are lost or out of order."""
    return _finding(Severity.ERROR, code, address, message, fix)


def warning(code: str, address: Address | str, message: str, fix: str) -> Diagnostic:
    """Nothing is lost yet, but the group does not work as it should, or will not for long."""
    return _finding(Severity.WARNING, code, address, message, fix)


def note(code: str, address: Address | str, message: str, fix: str) -> Diagnostic:
    """Healthy, but good to know before another tool touches it."""
    return _finding(Severity.NOTE, code, address, message, fix)


def _finding(severity: Severity, code: str, address: Address | str, message: str, fix: str) -> Diagnostic:
    return Diagnostic(
        severity=severity, code=code, name=GROUPS[code].name, address=str(address), message=message, fix=fix
    )
