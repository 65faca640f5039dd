"""What a consumer is: how it is recognised, settled, changed and written down. Ephemerals are never ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reconciler.core.diff import Action, Change
from reconciler.core.kind import Context, Kind, Place, Raw, declared_config
from reconciler.core.resource import Address, Declared, Json, Resource, Terms
from reconciler.core.rule import View
from reconciler.core.wire import Call, Snapshot, Step
from reconciler.kinds.consumer import position, replacement
from reconciler.kinds.consumer.losses import questions
from reconciler.kinds.consumer.rules import RULES
from reconciler.kinds.primitives import calls
from reconciler.kinds.primitives.consumer_config import FIELD_INFOS, ConsumerConfig, canonical, settle

OURS = frozenset(Terms.model_fields)

TOUCHES_THE_PIN = ("priority_policy", "priority_groups")


class ConsumerSpec(ConsumerConfig):
    """A durable consumer as written in a file."""


def _recognise(snapshot: Snapshot) -> Iterable[Resource]:
    placeholders = replacement.placeholders(snapshot)
    for stream, consumers in snapshot.consumers.items():
        for name, info in consumers.items():
            if info["config"].get("durable_name") and (stream, name) not in placeholders:
                yield Resource(
                    address=Address("consumer", (stream, name)), config=canonical(info["config"]), state=info
                )


def _settle(declared: Declared, context: Context) -> Resource:
    parent = context.parent.config if context.parent else None
    settled = settle(declared_config(declared.spec, OURS), context.target, parent=parent)
    return Resource(
        address=declared.address, config=settled.config, open=settled.open, terms=declared.spec, where=declared.where
    )


def _steps(change: Change, _view: View) -> Sequence[Step]:
    stream, name = change.address.names
    if change.action is Action.CREATE and change.desired:
        return (calls.create_consumer(change, stream, name, change.desired.config),)
    if change.action is Action.UPDATE:
        return tuple(_update(change, stream, name))
    return (calls.delete_consumer(change, stream, name),) if change.action is Action.DELETE else ()


def _update(change: Change, stream: str, name: str) -> Iterable[Step]:
    """UNPIN around anything that touches a pin: the old pin outlives the update and starves every other client."""
    last: tuple[str, ...] = ()
    live_group = next(iter(change.was("priority_groups") or ()), "")
    unpins = bool(live_group) and change.touches(*TOUCHES_THE_PIN)
    if unpins:
        yield (step := _unpin(change, stream, name, live_group, "before", last))
        last = (step.id,)
    if any(item.top != "pause_until" for item in change.fields):
        yield (step := calls.update_consumer(change, stream, name, after=last))
        last = (step.id,)
    new_group = next(iter(change.becomes("priority_groups") or ()), "")
    if unpins and new_group:
        yield (step := _unpin(change, stream, name, new_group, "after", last))
        last = (step.id,)
    if change.touches("pause_until"):
        yield _pause(change, stream, name, last)


def _unpin(change: Change, stream: str, name: str, group: str, when: str, after: tuple[str, ...]) -> Step:
    return Step(
        id=f"unpin consumer/{stream}/{name} {when}",
        call=Call.CONSUMER_UNPIN,
        on=(stream, name),
        address=str(change.address),
        body={"group": group},
        after=after,
        effect=f"let go of the client pinned for group {group}, so that the old pin blocks nobody",
    )


def _pause(change: Change, stream: str, name: str, after: tuple[str, ...]) -> Step:
    until = change.becomes("pause_until")
    return Step(
        id=f"pause consumer/{stream}/{name}",
        call=Call.CONSUMER_PAUSE,
        on=(stream, name),
        address=str(change.address),
        body={"pause_until": until} if until else {},
        after=after,
        effect=f"pause consumer {name} until {until}" if until else f"resume consumer {name}",
    )


def _render(resource: Resource) -> Mapping[str, Json]:
    return dict(resource.config)


CONSUMER = Kind(
    name="consumer",
    family="CO",
    place=Place("consumers", within="stream"),
    spec=ConsumerSpec,
    fields=FIELD_INFOS,
    recognise=_recognise,
    claims=lambda _snapshot, _declared: (),
    settle=_settle,
    steps=_steps,
    render=_render,
    primary=lambda address: Raw("consumer", address.names),
    inherits=("consumer_limits",),
    questions=questions,
    unknown=lambda address, snapshot: snapshot.unknown_consumer(*address.names),
    rules=RULES,
    consequences=position.consequences,
    replace=replacement.how,
    tidy=replacement.tidy,
)
