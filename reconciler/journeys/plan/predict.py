"""Predicts configurations for the executor: how to patch an object, and what the server should answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.stream_config import stream_config
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Config, Json, ServerDefault
from reconciler.model.wire.snapshot import Entry, Snapshot
from reconciler.model.wire.steps import Step
from reconciler.server.run.handling import Forms


def forms(snapshot: Snapshot) -> Forms:
    """Build the predictions for one run. A consumer inherits from its stream as that is at the time, so this remembers
    what the server answered for each stream."""
    streams: dict[str, Config] = {name: info["config"] for name, info in snapshot.streams.items()}

    def wrong(step: Step, sent: Config, before: Config | None, echo: Config) -> Sequence[str]:
        if len(step.on) == 1:
            streams[step.on[0]] = echo
            settled = stream_config.settle(sent, snapshot.target, name=step.on[0], origin=_origin_of(sent, streams))
            return surprise_texts(settled.config, settled.filled, stream_config.canonical(echo))
        parent = stream_config.canonical(streams.get(step.on[0], {}))
        written = sent if before is None else _without_pause(sent, echo)
        predicted = consumer_config.settle(written, snapshot.target, parent=parent)
        return surprise_texts(predicted.config, predicted.filled, consumer_config.canonical(echo))

    def stored_entry(on: tuple[str, ...]) -> Entry | None:
        bucket, key = on
        return snapshot.entries.get(bucket, {}).get(key)

    return Forms(patch=stream_config.update_body, wrong=wrong, fields=fields_of, stored=stored_entry)


def fields_of(step: Step) -> Mapping[str, FieldInfo]:
    """Return what is known of the fields of its stream or consumer."""
    return stream_config.FIELD_INFOS if len(step.on) == 1 else consumer_config.FIELD_INFOS


def _without_pause(sent: Config, echo: Config) -> Config:
    """Keep `pause_until` as the server answered it: no update pauses or resumes a consumer, and the value read before
    may be older than the pause."""
    paused = {"pause_until": echo["pause_until"]} if "pause_until" in echo else {}
    return {**{name: value for name, value in sent.items() if name != "pause_until"}, **paused}


def _origin_of(sent: Config, streams: Mapping[str, Config]) -> Config | None:
    mirror = sent.get("mirror") or {}
    origin = streams.get(mirror.get("name", ""))
    return stream_config.canonical(origin) if origin is not None else None


def surprise_texts(predicted: Config, filled: Mapping[str, ServerDefault], echoed: Config) -> list[str]:
    """Describe each field whose answer differs from the prediction, except where a limit of the server explains the
    difference."""
    surprises = []
    for name in sorted(predicted.keys() | echoed.keys()):
        wanted, stored = predicted.get(name), echoed.get(name)
        if wanted != stored and not (name in filled and filled[name].could_be(stored)):
            surprises.append(f"{name} is {_show_value(stored)}, expected {_show_value(wanted)}")
    return surprises


def _show_value(value: Json) -> str:
    return "absent" if value is None else str(value)
