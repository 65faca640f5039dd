"""What is said about the work-queue stream as it is found: still resuming, or not as the reference makes it."""

from __future__ import annotations

from reconciler.changes.amount import Amount
from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.elastic_group import derived, recreate, recreation, still_stored
from reconciler.kinds.elastic_group.fixed import fixed
from reconciler.kinds.fields.words import amount, consent_to, some
from reconciler.model.resource import Config


@rule("EG321", "group-resuming", on=(Action.KEEP, Action.ADOPT, Action.UPDATE), needs=("live",))
def group_resuming(change: Change, view: View) -> Found:
    """The group was made anew, and its stream still carries the start sequence it was begun with.

    That goes with the first apply after the stream has stored a message; before, taking it off would import everything
    from the first message on. Until then the reference's own create is refused (10058). Servers before 2.15 that restart
    while the queue is empty begin at that sequence once more: nothing is lost, and what was done since comes again.

    Instead: apply once more when something was published.
    """
    info = recreate.queue(change, view)
    live = change.live
    if info is None or live is None or live.state["broken"] or live.state["legacy"]:
        return None
    point, name = derived.start(info["config"]), recreate.name(change)
    if not point or not derived.fits(info["config"], change.address.stream, live.config):
        return None
    if info["state"].get("last_seq"):
        message = f"stream {name} has resumed at message {point} of {change.address.stream}; this takes its start sequence off"
        return Finding(outcome=Outcome.WARNS, message=message)
    return Finding(
        outcome=Outcome.WARNS,
        message=f"stream {name} is resuming at message {point} of {change.address.stream}, and has stored nothing yet",
        fix="apply once more when something was published: that takes its start sequence off",
    )


@rule("EG320", "queue-differs", on=(Action.KEEP, Action.ADOPT, Action.UPDATE), needs=("live",))
def queue_differs(change: Change, view: View) -> Found:
    """The live work-queue stream is not exactly as the reference would create it for this record.

    Another implementation made it, or somebody edited it. Members may work, but the reference's own create fails, and an
    edit of the transforms may have imported messages twice or dropped some. We never edit it in place.

    Instead: leave it if another implementation made it; limits alone can be set to the record's by hand; otherwise make the
    group anew in a planned stop.
    """
    name = derived.stream_name(*change.address.names)
    info = view.snapshot.streams.get(name)
    live = change.live
    if info is None or live is None or live.state["broken"] or live.state["legacy"]:
        return None
    if derived.fits(info["config"], change.address.stream, live.config):
        return _another_window(name, info["config"], view)
    message, fix = _told(name, info["config"], change.address.stream, live.config)
    return Finding(outcome=Outcome.WARNS, message=message, fix=fix)


def _another_window(name: str, queue: Config, view: View) -> Found:
    if not derived.window_differs(queue, view.target.version):
        return None
    return Finding(
        outcome=Outcome.WARNS,
        message=f"its stream {name} has another duplicate_window than a server gives it; members do not mind",
        fix="leave it where an older server, or a limit of this one, filled it in; otherwise somebody edited it",
    )


@rule(
    "EG302",
    "queue-outlives-source",
    on=(Action.UPDATE, Action.REPLACE),
    needs=("live", "facts"),
    reaction=Reaction.HARMS,
)
def queue_outlives_source(change: Change, view: View) -> Found:
    """A group is to be made anew, and its queue holds messages that its source does not store any more.

    A new queue takes in again what the source has. What that has dropped meanwhile, by its limits or because somebody
    deleted it, is only in the old queue, and goes with it.

    Instead: let the members process what is queued first; or declare a second group, and let its members take over when
    this one's queue is empty.
    """
    queue = recreate.queue(change, view)
    queued = queue["state"].get("messages", 0) if queue else 0
    if not queued or not recreate.stands(change, view) or not any(still_stored.questions(change)):
        return None
    if recreation.unknowable(change, view) or (lost := still_stored.gone(change, view)) == 0:
        return None  # refused altogether, or nothing is lost
    stream = change.address.stream
    field = next(iter((*fixed(change), *(change.intent.fields if change.intent else ()))), "")
    to = change.becomes(field)
    which = (
        f"and whether {stream} still stores them could not be told ({still_stored.why_unknown(change, view)})"
        if lost is None
        else f"of which {stream} does not store {amount(Amount(0, lost))} any more"
    )
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=field,
        to=to,
        quantities={"messages": Amount(0, queued if lost is None else lost)},
        message=f"its queue {recreate.name(change)} holds {some(queued, 'message')}, {which}: made anew, it cannot take those "
        "in again",
        fix=f"let its members process what is queued first, or consent here: {consent_to('EG302', to)}",
    )


def _told(name: str, queue: Config, stream: str, group: Config) -> tuple[str, str]:
    """Whose work it looks like, and what to do about it."""
    differing = derived.deviations(queue, stream, group)
    said = f"{', '.join(differing)} differ{'s' if len(differing) == 1 else ''}"
    if derived.maker(queue, stream, group) == derived.NET:
        return (
            f"its stream {name} is as {derived.NET} makes it, not as the reference does: {said}",
            f"leave it, and let {derived.NET} alone create this group; members of both consume from it",
        )
    if set(differing) <= derived.BUFFERS.keys():
        limits = " ".join(f"--{field.replace('_', '-')}={group.get(derived.BUFFERS[field], -1)}" for field in differing)
        return (
            f"its stream {name} has other limits than its record: {said}; members do not mind",
            f"set them to those of the record, which loses nothing: nats stream edit {name} {limits}",
        )
    return (
        f"its stream {name} is as no known implementation makes it: {said}. Somebody edited it, or its server came back with an "
        "older store",
        "leave it if an implementation unknown here made it; otherwise make the group anew in a planned stop",
    )
