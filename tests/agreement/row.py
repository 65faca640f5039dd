"""A row of server-rules as data: what it refuses, what beside it is allowed, and on which versions either can be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reconciler.model.resource import Address
from reconciler.model.wire.version import Version
from tests.agreement.case import SHARED, Body, Case, Live

MS, S, M, H = 1_000_000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000
ALWAYS = (Version(0, 0), Version(999, 0))
STREAM, CONSUMER = ("@S",), ("@S", "c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table or list there."""

    id: str
    codes: frozenset[int]
    """What the server answers to the refused ones."""
    refused: tuple[Case, ...] = ()
    allowed: tuple[Case, ...] = ()
    refuses: tuple[Version, Version] = ALWAYS
    """Versions (since, before) on which it refuses; on others the same cases are run without expecting it."""
    allows: tuple[Version, Version] = ALWAYS

    def cases(self, meant: str) -> tuple[Case, ...]:
        found = self.refused if meant == "refused" else self.allowed
        return tuple(replace(case, row=self.id, meant=meant) for case in found)

    def expects(self, meant: str, version: Version) -> bool:
        since, before = self.refuses if meant == "refused" else self.allows
        return bool(self.cases(meant)) and since <= version < before


def row(
    id_: str,
    codes: int | Sequence[int] = (),
    refused: Sequence[Case] = (),
    allowed: Sequence[Case] = (),
    *,
    since: tuple[int, ...] = (),
    until: tuple[int, ...] = (),
    allowed_since: tuple[int, ...] = (),
    allowed_until: tuple[int, ...] = (),
) -> Row:
    """`since`, `until`: where the refusal can be seen."""
    return Row(
        id=id_,
        codes=frozenset([codes] if isinstance(codes, int) else codes),
        refused=tuple(refused),
        allowed=tuple(allowed),
        refuses=_span(since, until),
        allows=_span(allowed_since, allowed_until),
    )


def _span(since: tuple[int, ...], until: tuple[int, ...]) -> tuple[Version, Version]:
    return (Version(*since) if since else ALWAYS[0], Version(*until) if until else ALWAYS[1])


def origin(name: str, messages: tuple[str, ...] = (), **body: Any) -> Live:
    """A stream that is there before."""
    return Live(on=(name,), body={"storage": "memory", **body}, messages=messages)


def neighbour(name: str, **body: Any) -> Live:
    """Another consumer of `@S`."""
    return Live(on=("@S", name), body={"ack_policy": "explicit", **body})


def created(*, live: Sequence[Live] = (), room: str = SHARED, name: str = "@S", **body: Any) -> Case:
    """A new stream."""
    return Case(at=Address.of("stream", name), body={"storage": "memory", **body}, live=tuple(live), room=room)


def updated(
    base: Body, *, live: Sequence[Live] = (), then: Sequence[Live] = (), messages: tuple[str, ...] = (),
    room: str = SHARED, **edit: Any,
) -> Case:  # fmt: skip
    """A live stream edited; `live` is made before it, `then` after it."""
    own = Live(on=STREAM, body={"storage": "memory", **base}, messages=messages)
    return Case(at=Address.of("stream", "@S"), body=edit, live=(*live, own, *then), edits=True, room=room)


def either(*bodies: Body, live: Sequence[Live] = (), base: Body | None = None) -> tuple[Case, ...]:
    """Each as a new stream, and as an edit of a plain one; validity is checked alike."""
    cases = []
    for body in bodies:
        said = {name: value for name, value in {**(base or {}), **body}.items() if value is not None}
        cases += [created(live=live, **said), updated(base or {}, live=live, **body)]
    return tuple(cases)


def consumed(
    *, on: Body | None = None, others: Sequence[Live] = (), room: str = SHARED, name: str = "c", **body: Any
) -> Case:
    """A new consumer on a stream like `on`."""
    stream = origin("@S", **{"subjects": ["@.>"], **(on or {})})
    return Case(at=Address.of("consumer", "@S", name), body=body, live=(stream, *others), room=room)


def reconsumed(
    base: Body, *, on: Body | None = None, others: Sequence[Live] = (), room: str = SHARED, **edit: Any
) -> Case:
    """A live consumer edited."""
    stream = origin("@S", **{"subjects": ["@.>"], **(on or {})})
    own = Live(on=CONSUMER, body={"ack_policy": "explicit", **base})
    return Case(at=Address.of("consumer", "@S", "c"), body=edit, live=(stream, *others, own), edits=True, room=room)


def both(
    *bodies: Body, on: Body | None = None, others: Sequence[Live] = (), base: Body | None = None
) -> tuple[Case, ...]:
    """Each as a new consumer, and as an edit of a plain explicit-ack pull consumer."""
    cases = []
    for body in bodies:
        said = {
            name: value
            for name, value in {"ack_policy": "explicit", **(base or {}), **body}.items()
            if value is not None
        }
        cases += [consumed(on=on, others=others, **said), reconsumed(base or {}, on=on, others=others, **body)]
    return tuple(cases)


def without(body: Body, *names: str) -> Mapping[str, Any]:
    return {name: value for name, value in body.items() if name not in names}
