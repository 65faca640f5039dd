"""Who changed a live value: the API audit event whose request made the change names them; without one, nobody is
named."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who sent a request, as the server saw it. Never a secret: of the client only what people need."""

    at: str
    """When the server answered it, by its own clock."""
    request: str
    """The API subject."""
    client: str = ""
    """The name that the client gave itself, otherwise its language and version."""
    user: str = ""
    account: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """An actor, or why nobody can be named."""

    actor: Actor | None = None
    unknown: str = ""
