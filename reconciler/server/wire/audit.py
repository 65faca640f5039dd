"""The server's account of who asked it for what: API audit events, read as what each did to which object.

Every request of the JetStream API leaves one on `$JS.EVENT.ADVISORY.API`, including reads and refusals. In a cluster it
often lacks the request; the answer always says what the object is from then on, and that is what counts here. Writes to
KV buckets are no API requests, so their author is never known. A live value is attributed to the request that made the
change; without one, nobody is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic_core import from_json

from reconciler.changes.kind import Raw
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config, Json
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


SUBJECT = "$JS.EVENT.ADVISORY.API"
_ENDPOINT = re.compile(
    r"\$JS\.(?:[^.]+\.)?API\."
    r"(?P<deed>STREAM\.(?:CREATE|UPDATE|DELETE|RESTORE)|CONSUMER\.(?:DURABLE\.)?(?:CREATE|DELETE|PAUSE))\."
    r"(?P<stream>[^.]+)(?:\.(?P<consumer>[^.]+))?.*"
)


class AuditedClient(NamedTuple):
    """A connection; the number is unique on one server only."""

    server: str
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One request that changed something, and the state of the object from then on."""

    on: Raw
    actor: Actor
    client: AuditedClient
    config: Config | None = None
    """The configuration as the server answered it; None: the object is gone, or only `paused` is known."""
    created: str = ""
    gone: bool = False
    paused: str | None = None
    """A pause reveals nothing else: the time it ends, empty for no pause."""


def event_of(data: bytes) -> Event | None:
    """Return what an audit event says was changed; None for reads, refusals, and anything that is no audit event."""
    record = _parsed_content(data)
    endpoint = _ENDPOINT.fullmatch(str(record.get("subject", "")))
    answer = _parsed_content(str(record.get("response", "")).encode())
    client = record.get("client")
    if endpoint is None or not isinstance(client, Mapping) or not answer or "error" in answer:
        return None
    consumer = answer.get("name") or endpoint["consumer"]
    is_stream = endpoint["deed"].startswith("STREAM.")
    if not is_stream and not consumer:
        return None
    on = Raw("stream", (endpoint["stream"],)) if is_stream else Raw("consumer", (endpoint["stream"], str(consumer)))
    pause = answer.get("pause_until") or "" if endpoint["deed"].endswith("PAUSE") else None
    config = answer.get("config")
    return Event(
        on=on, actor=_actor(record, client), client=AuditedClient(str(client.get("server", "")), _integer(client.get("id"))),
        config=config if isinstance(config, Mapping) else None, created=str(answer.get("created") or ""),
        gone=endpoint["deed"].endswith("DELETE"), paused=None if pause is None else str(pause),
    )  # fmt: skip


def client_of(data: bytes) -> AuditedClient | None:
    """Return whose request an audit event is about; None: it is no audit event."""
    client = _parsed_content(data).get("client")
    if not isinstance(client, Mapping):
        return None
    return AuditedClient(str(client.get("server", "")), _integer(client.get("id")))


def _actor(record: Mapping[str, Json], client: Mapping[str, Json]) -> Actor:
    language = " ".join(str(client[key]) for key in ("lang", "ver") if client.get(key))
    text = {key: str(client.get(key) or "") for key in ("name", "user", "acc", "host")}
    if client.get("kind") == "Leafnode":  # the server knows the leaf node, and not who sent it
        text["name"] = f"somebody behind leaf node {text['name']}"
    return Actor(
        at=str(record.get("timestamp", "")), request=str(record.get("subject", "")), client=text["name"] or language,
        user=text["user"], account=text["acc"], host=text["host"],
    )  # fmt: skip


def _parsed_content(data: bytes) -> Mapping[str, Json]:
    try:
        content = from_json(data)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _integer(value: Json) -> int:
    return value if isinstance(value, int) else -1


class _Unknown:
    """A state that nobody saw; it equals nothing that can be live."""


UNKNOWN = _Unknown()
Value = Callable[[Config], Json]
"""Takes the value in question from a raw configuration."""


def who_changed(events: Iterable[Event], raw: Raw, value: Value, now: Json, before: Json | _Unknown) -> Attribution:
    """Find who gave it the value it has `now`: the last event after which it had this value and before which it
    certainly had another. `before` is its value when the events begin."""
    held: Json | _Unknown = before
    config: Config | None = None
    attribution: Attribution | None = None
    for event in _events_concerning(events, raw):
        after, config = _value_after(event, config, held, value)
        if after != now:
            attribution = None
        elif held is UNKNOWN:
            attribution = Attribution(unknown="its earlier value is unknown")
        elif held != now:
            attribution = Attribution(actor=event.actor)
        held = after
    if held is UNKNOWN or held != now or attribution is None:
        return Attribution(unknown="no request in the audit trail made this change")
    return attribution


def _value_after(
    event: Event, config: Config | None, held: Json | _Unknown, value: Value
) -> tuple[Json | _Unknown, Config | None]:
    """Its value after this event, and the whole configuration as far as it was seen."""
    if event.gone:
        return None, None
    if event.paused is None:
        return (UNKNOWN if event.config is None else value(event.config)), event.config
    if config is not None:
        config = {**config, "pause_until": event.paused}
        return value(config), config
    is_asked = value({"pause_until": SOME_DAY}) != value({})
    return (value({"pause_until": event.paused}) if is_asked else held), None


SOME_DAY = "2099-01-01T00:00:00Z"
"""Whoever asks about pauses gets another answer for it than for none."""


def who_deleted(events: Sequence[Event], raw: Raw) -> Attribution:
    """Find the last request about it, if that is its deletion, or that of the stream it was on."""
    last = next(reversed([*_events_concerning(events, raw)]), None)
    if last is not None and last.gone:
        return Attribution(actor=last.actor)
    return Attribution(unknown="no request in the audit trail made this deletion")


def who_deleted_before(events: Iterable[Event], raw: Raw, created: str) -> Attribution | None:
    """Find the deletion that came before the request that was answered with this creation time; None: nobody saw it."""
    deletion: Event | None = None
    for event in _events_concerning(events, raw):
        if event.gone:
            deletion = event
        elif event.created == created and created:
            return Attribution(actor=deletion.actor) if deletion else None
    return None


def who_made(events: Iterable[Event], raw: Raw, created: str) -> Attribution:
    """Find the first request that was answered with this very creation time, if another object was seen before."""
    other_before = False
    for event in _events_concerning(events, raw):
        if event.created == created and created:
            why = "nobody saw its creation"
            return Attribution(actor=event.actor) if other_before else Attribution(unknown=why)
        other_before = True
    return Attribution(unknown="no request in the audit trail created it")


def _events_concerning(events: Iterable[Event], raw: Raw) -> Iterable[Event]:
    """Requests about the object itself, and the deletion of its stream, which deletes it too."""
    stream = Raw("stream", raw.on[:1])
    return (event for event in events if event.on == raw or (event.on == stream and event.gone))
