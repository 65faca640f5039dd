"""Sends what our executor would send, whatever we think of it, and compares what comes back with what was foretold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.journeys.plan.plan import predicted_forms
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.fields.canonical_form import update_body
from reconciler.kinds.stream_config import stream_config
from reconciler.model.resource import Config
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step
from reconciler.server.run.handling import RunContext, Succeeded
from reconciler.server.run.steps import carry_out
from reconciler.server.wire.answers import Answer
from reconciler.server.wire.api import JetStream
from tests.agreement.ours import Ours, Request, request_for

PLAIN = {
    Call.STREAM_DELETE: "STREAM.DELETE", Call.CONSUMER_DELETE: "CONSUMER.DELETE",
    Call.CONSUMER_PAUSE: "CONSUMER.PAUSE", Call.CONSUMER_UNPIN: "CONSUMER.UNPIN",
}  # fmt: skip
ENTRIES = (Call.ENTRY_PUT, Call.ENTRY_DELETE)
"""No requests of the JetStream API, so our own handlers carry them out."""
CREATES, UPDATES = (Call.STREAM_CREATE, Call.CONSUMER_CREATE), (Call.STREAM_UPDATE, Call.CONSUMER_UPDATE)


@dataclass(slots=True)
class Sent:
    """What the server said."""

    answer: Answer | None = None
    """The first answer that is no ok, else the last one; None: there was nothing to send."""
    surprises: list[str] = field(default_factory=list)
    """Echoes that are not as foretold."""
    echoes: dict[tuple[str, ...], Config | None] = field(default_factory=dict)
    """The last echo of each object; None: deleted."""
    dropped: list[str] = field(default_factory=list)
    """Fields that were sent, and that no echo shows."""

    def unlisted(self, after: Snapshot) -> list[str]:
        """What the LIST shows otherwise than the echoes."""
        wrong = []
        for on, echo in self.echoes.items():
            listed = held(after, on)
            canonical = stream_config.canonical if len(on) == 1 else consumer_config.canonical
            if echo is None or listed is None:
                wrong += [] if echo is listed else [f"{on} is {'not' if listed is None else 'still'} listed"]
            elif canonical(listed) != canonical(echo):
                wrong.append(f"the LIST shows otherwise: {unlike(echo, listed)}")
        return wrong


async def send(js: JetStream, ours: Ours, before: Snapshot) -> Sent:
    """Every step until one is refused."""
    found, foretold = Sent(), predicted_forms(before)
    if ours.request:
        found.answer = await js.write(ours.request.endpoint, ours.request.body)
        return found
    running = RunContext(js, foretold, lambda _step, _words: None)
    for step in ours.steps:
        live = await _live(js, step)
        config = _config(step, live)
        request = _request(step, config)
        if request is None:
            result = await carry_out(running, step)
            if not isinstance(result, Succeeded):
                break
            if step.call in ENTRIES:
                found.answer = result.echo
            continue
        found.answer = said = await js.write(request.endpoint, request.body)
        if not isinstance(said, Mapping):
            break
        if step.call in CREATES + UPDATES:
            found.surprises += [f"echo: {words}" for words in foretold.wrong(step, config, live, said["config"])]
            found.echoes[step.on] = said["config"]
            found.dropped += dropped(config, said["config"])
        elif step.call in (Call.STREAM_DELETE, Call.CONSUMER_DELETE):
            found.echoes[step.on] = None
        else:
            found.echoes.pop(step.on, None)  # a pause or an unpinning moves what was echoed
    return found


async def _live(js: JetStream, step: Step) -> Config | None:
    if step.call not in UPDATES:
        return None
    said = await js.read(f"{'STREAM' if len(step.on) == 1 else 'CONSUMER'}.INFO.{'.'.join(step.on)}")
    return said["config"] if isinstance(said, Mapping) else {}


def _config(step: Step, live: Config | None) -> Config:
    if live is not None:
        return update_body(live, step.set, step.unset)
    durable = {"durable_name": step.on[1]} if step.call is Call.CONSUMER_CREATE else {}
    return {"name": step.on[-1], **durable, **step.body}


def _request(step: Step, config: Config) -> Request | None:
    """None for what our own handlers carry out: entries of buckets, gates, what is only read."""
    if step.call in CREATES + UPDATES:
        return request_for(step.on, config, "create" if step.call in CREATES else "update")
    if step.call in PLAIN:
        return Request(endpoint=f"{PLAIN[step.call]}.{'.'.join(step.on)}", body=step.body or None)
    return None


def dropped(sent: Config, echo: Config) -> list[str]:
    """Fields that the server does not know, and left out without a word: `sources[0].consumer`."""
    found = []
    for name, value in sent.items():
        held = echo.get(name)
        if value and name not in echo:
            found.append(name)
        elif isinstance(value, Mapping) and isinstance(held, Mapping):
            found += [f"{name}.{below}" for below in dropped(value, held)]
        elif isinstance(value, list) and isinstance(held, list) and len(value) == len(held):
            pairs = enumerate(zip(value, held, strict=True))
            maps = [
                (n, one, other) for n, (one, other) in pairs if isinstance(one, Mapping) and isinstance(other, Mapping)
            ]
            found += [f"{name}[{n}].{below}" for n, one, other in maps for below in dropped(one, other)]
    return sorted(found)


def held(snapshot: Snapshot, on: tuple[str, ...]) -> Config | None:
    there = snapshot.streams if len(on) == 1 else snapshot.consumers.get(on[0], {})
    return there[on[-1]]["config"] if on[-1] in there else None


def unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    names = sorted(
        name for name in one.keys() | other.keys() if one.get(name) != other.get(name) and name != "metadata"
    )
    return ", ".join(f"{name} {one.get(name)} → {other.get(name)}" for name in names)
