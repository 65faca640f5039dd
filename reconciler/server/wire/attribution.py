"""Who changed a live value: the API audit event whose request made the change names them; without one, nobody is
named."""

from __future__ import annotations

from reconciler.model.dataclass import dataclass
from reconciler.model.shape import As


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who sent a request, as the server saw it. Never a secret: of the client only what people need."""

    at: str
    """When the server answered it, by its own clock."""
    request: str
    """The API subject of the request."""
    client: str = ""
    """The name that the client gave itself, otherwise its language and version."""
    user: str = ""
    """Name of the user."""
    account: str = ""
    """The account of the user."""
    host: str = ""
    """The address that it came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownActor:
    """Nobody can be named."""

    unknown: str
    """Why the author is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """An actor, or why nobody can be named."""

    actor: Actor | None = None
    unknown: str = ""

    @property
    def author(self) -> Actor | UnknownActor:
        """The actor, or why there is none."""
        return self.actor or UnknownActor(unknown=self.unknown)


Author = As(Actor | UnknownActor, lambda by: by.author)
"""How reports show an attribution."""
