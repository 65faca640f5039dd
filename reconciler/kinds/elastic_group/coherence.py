"""Whether the pieces of an elastic group still belong together: its own stream beside the stream it divides."""

from __future__ import annotations

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address
from reconciler.core.rule import Finding, Found, Outcome, View, rule
from reconciler.kinds.elastic_group import derived
from reconciler.kinds.primitives.words import some


@rule("EG322", "queue-replicas-behind", on=(Action.KEEP, Action.ADOPT, Action.UPDATE), needs=("live", "neighbours"))
def replicas_behind(change: Change, view: View) -> Found:
    """The group's own stream has fewer replicas than the stream it divides, as that is or will be.

    They are copied when the group is created, and followed by nobody: with the last of its few servers goes the queue, while
    the source lives on.

    Instead: raise its replicas in place; that harms nothing, and the reference's own create expects it.
    """
    name, source = derived.stream_name(*change.address.names), Address.of("stream", change.address.stream)
    info = view.snapshot.streams.get(name) if view.snapshot else None
    declared = view.desired.get(source)
    above = declared if declared and not declared.external else view.live.get(source)
    if info is None or above is None:
        return None
    if (behind := derived.replicas_behind(info["config"], above.config)) is None:
        return None
    own, wanted = behind
    return Finding(
        outcome=Outcome.WARNS,
        message=f"its stream {name} has {some(own, 'replica')}, {change.address.stream} {wanted}: nobody raises them with the source",
        fix=f"raise them in place: nats stream edit {name} --replicas {wanted}",
    )
