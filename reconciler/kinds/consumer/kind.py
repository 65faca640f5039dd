"""What a consumer is: how it is recognised, settled, changed and written down. Reconciler never manages ephemeral
ones."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.changes.kind import Bound, Context, FilePlace, Kind, Raw, declared_config
from reconciler.changes.view import SubjectsRead
from reconciler.kinds.consumer import deletion, filter_changes, replacement
from reconciler.kinds.consumer.effects import EFFECTS
from reconciler.kinds.consumer.renaming import recipe
from reconciler.kinds.consumer.rules import RULES
from reconciler.kinds.consumer.spelling import spelling_consequences
from reconciler.kinds.consumer.steps import filter_consequences, steps, wait_consequences
from reconciler.kinds.consumer_config.consumer_config import (
    FIELD_INFOS,
    ConsumerConfig,
    canonical,
    settle,
    stock_values,
)
from reconciler.kinds.consumer_position import (
    lost_position,
    position,
    recreation_offer,
    removed_consumer,
    start_position,
)
from reconciler.kinds.fields.texts import NAME
from reconciler.kinds.stream_config import advisories
from reconciler.kinds.subjects.filters import filters_of
from reconciler.model.resource import Address, Declared, Resource
from reconciler.model.wire.snapshot import Snapshot


class ConsumerSpec(ConsumerConfig):
    """A durable consumer delivers a stream's messages to clients, and remembers how far they have come."""


def _recognise(snapshot: Snapshot) -> Iterable[Resource]:
    placeholders = replacement.placeholders(snapshot)
    for stream, consumers in snapshot.consumers.items():
        for name, info in consumers.items():
            if info["config"].get("durable_name") and (stream, name) not in placeholders:
                config = canonical(info["config"])
                yield Resource(
                    address=Address("consumer", (stream, name)), config=config, stock=stock_values(config), state=info
                )


def _settle(declared: Declared, context: Context) -> Resource:
    parent = context.parent.config if context.parent else None
    settled = settle(declared_config(declared.spec), context.target, parent=parent)
    return settled.resource(declared, stock_values(settled.config))


CONSUMER = Kind(
    name="consumer",
    family="CO",
    title="Consumers",
    recipe=recipe,
    bound=Bound(floor=20, percent=25),
    place=FilePlace("consumers", within="stream", names=NAME),
    spec=ConsumerSpec,
    fields=FIELD_INFOS,
    recognise=_recognise,
    claims=lambda _snapshot: (),
    settle=_settle,
    steps=steps,
    primary=lambda address: Raw("consumer", address.names),
    reads=lambda address, config: (SubjectsRead(address.stream, filters_of(config)),),
    inherits=("consumer_limits", "retention"),
    questions=lambda change, view: (
        *filter_changes.questions(change, view),
        *deletion.questions(change, view),
        *start_position.questions(change, view),
        *removed_consumer.questions(change, view),
        *position.questions(change, view),
    ),
    unknown=lambda address, snapshot: snapshot.why_consumer_unknown(*address.names),
    rules=RULES,
    consequences=lambda change, view: (
        *recreation_offer.consequences(change, view),
        *lost_position.consequences(change, view),
        *wait_consequences(change, view),
        *filter_consequences(change, view),
        *spelling_consequences(change),
        *advisories.consequences(change, view),
        *EFFECTS.consequences(change, view),
    ),
    replace=replacement.planned_replacement,
    renames=True,
    starts=start_position.BEGINS,
    begins=start_position.obsolete_start_fields,
    resume=position.resumed_start,
    tidy=replacement.tidy,
)
