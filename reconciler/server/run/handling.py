"""Shared by the handlers of steps: the run, what only kinds know, and how a step can end.

Answers of a cluster may lag behind earlier ones. Up to 2.12 its leader may not know, for a moment, a stream that another
server has just created, and after an election not how many servers there are. What a run has seen itself shows that such
a refusal will pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from reconciler.changes.events import ChangedSince
from reconciler.changes.plan import removes
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Config, Json, users_metadata
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.steps import Call, Step
from reconciler.server.run.problems import Doubtful, Unsuccessful, changed_since
from reconciler.server.wire.answers import NO_CONSUMER, NO_PEERS, NO_STREAM, Answer, Refusal
from reconciler.server.wire.api import JetStream

LASTING = ("tags not matched", "insufficient storage", "exclude tag", "unique tag")
"""Reasons for a lack of servers that time does not change."""


@dataclass(slots=True)
class Acknowledged:
    """What servers have acknowledged or shown."""

    made: set[tuple[str, ...]] = field(default_factory=set)
    """Streams, and consumers under their streams, that this run created and has not deleted."""
    servers: int = 1
    """The least number of servers: so many hold one stream together."""

    def learn_servers(self, infos: Iterable[Mapping[str, Json]]) -> None:
        """Learn from INFO replies how many servers the cluster has at least."""
        for info in infos:
            self.servers = max(self.servers, 1 + len((info.get("cluster") or {}).get("replicas") or ()))

    def contradicts(self, endpoint: str, body: Mapping[str, Json], refusal: Refusal) -> bool:
        """Does this run know better than the refusal?"""
        on = tuple(endpoint.split(".")[2:])
        if refusal.err_code in (NO_STREAM, NO_CONSUMER):
            return on[: 1 if refusal.err_code == NO_STREAM else 2] in self.made
        is_placed = bool(body.get("placement")) or any(reason in refusal.description for reason in LASTING)
        return refusal.err_code == NO_PEERS and not is_placed and 1 <= (body.get("num_replicas") or 1) <= self.servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """What only kinds know about configurations, and the plan's snapshot of entries; the journey passes it in."""

    patch: Callable[[Config, Config, Iterable[str]], Config]
    """(raw live configuration, set, unset) → the whole body to send."""
    wrong: Callable[[Step, Config, Config | None, Config], Sequence[str]] = lambda _step, _sent, _before, _echo: ()
    """(step, configuration sent, raw one before or None, raw answer) → what differs from the prediction, in words."""
    fields: Callable[[Step], Mapping[str, FieldInfo]] = lambda _step: {}
    """Information about the fields that a step changes, by the server's names."""
    stored: Callable[[tuple[str, ...]], Entry | None] = lambda _on: None
    """(bucket, key) → the entry that the plan was made from."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    echo: Mapping[str, Json] = field(default_factory=dict)
    revision: int | None = None


Result = Succeeded | Unsuccessful | Doubtful
NOT_FOUND = frozenset({NO_STREAM, NO_CONSUMER})
POLL = 0.25
"""Seconds between two looks at a state that is to come."""


def info_endpoint(step: Step) -> str:
    """Return where the object of a step is read."""
    return f"{'STREAM' if len(step.on) == 1 else 'CONSUMER'}.INFO.{'.'.join(step.on)}"


def is_missing(answer: Answer) -> bool:
    """Did the server say that the stream or consumer does not exist?"""
    return isinstance(answer, Refusal) and answer.err_code in NOT_FOUND


LastLook = Callable[[Step, Mapping[str, Json], str | None], Diagnostic | None]
"""(step, INFO reply, id of the server) → why the object must be left alone after all."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What handlers share in one run."""

    js: JetStream
    forms: Forms
    tell: Callable[[Step, str], None]
    last_look: LastLook = lambda _step, _info, _server: None
    written: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Revisions this run wrote, by (bucket, key): a later step on the same key expects those."""
    seen: Acknowledged = field(default_factory=Acknowledged)
    """What servers have said in this run; later answers may lag behind it."""
    bound: dict[str, Json] = field(default_factory=dict)
    """Values that steps of this run bound, by step id."""


WHOLE = frozenset({Call.STREAM_DELETE, Call.CONSUMER_DELETE, Call.CONSUMER_READ, Call.QUEUE_READ})
"""These remove or read the whole object, including what is new on it since the plan."""
OUR_OWN = frozenset({"pause_until"})
"""What a replacement changes itself before it deletes."""


def value_changed_since(
    step: Step, name: str, planned: Json, now: Json, infos: Mapping[str, FieldInfo]
) -> ChangedSince:
    """Return what somebody else changed of a field, beside what the step wants of it."""
    info, wanted = infos.get(name, FieldInfo()), step.set.get(name)
    return ChangedSince(path=name, planned=planned, now=now, wanted=wanted, info=info, goes=removes(step))


def changed_fields_since_plan(run: RunContext, step: Step, live: Config) -> tuple[ChangedSince, ...]:
    """Return fields whose live value differs from the one the plan was made from. The server's own metadata does not
    count."""
    before = step.before or {}
    new = live.keys() - OUR_OWN if step.call in WHOLE and before else ()
    infos = run.forms.fields(step)
    return tuple(
        value_changed_since(step, name, planned, now, infos)
        for name in (*before, *sorted(set(new) - before.keys()))
        if (now := _live_value(live, name))
        != (planned := _users_metadata(before.get(name)) if name == "metadata" else before.get(name))
    )


def unlike_planned(run: RunContext, step: Step, info: Mapping[str, Json]) -> Unsuccessful | None:
    """Return why the live object must be left alone. `info` is what the server says of it just before. What this run has
    created itself is not what was judged."""
    if step.on not in run.seen.made and (why := run.last_look(step, info, run.js.pipeline.server_id)):
        return Unsuccessful(why, nothing_done=True)
    changed = changed_fields_since_plan(run, step, info["config"])
    return changed_since(step, changed) if changed else None


def _live_value(config: Config, name: str) -> Json:
    if name == "metadata":
        return _users_metadata(config.get(name))
    head, _, key = name.partition("metadata.")
    return (config.get("metadata") or {}).get(key) if key and not head else config.get(name)


def _users_metadata(metadata: Json) -> Json:
    return users_metadata(metadata or {}) or None
