"""What members of an elastic group experience when it changes in place, or when somebody edits its queue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from reconciler.changes.effect import Side
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.effects.effect_rules import Effects, MovedField, foretold
from reconciler.kinds.elastic_group.movement import moved_partitions
from reconciler.kinds.elastic_group.queue_stream import BUFFERS, stream_name
from reconciler.kinds.fields.field_effects import EVERY, UNSET, felt
from reconciler.kinds.fields.known import Known
from reconciler.kinds.fields.words import listed, some
from reconciler.kinds.group_records.group_rules import has_current_record
from reconciler.kinds.group_records.member_subjects import owners
from reconciler.kinds.losses.lagging import reached_limit_text
from reconciler.model.resource import Json

REMOVING = frozenset({"max_age", "max_msgs_per_subject", "discard"})
UNFELT = frozenset({"allow_direct", "description", "metadata"})


def effect_of_settings_text(queue: Mapping[str, Json], differing: Collection[str]) -> str:
    """What members feel of these settings, without a capital or a full stop; empty: nobody can tell."""
    config, other_settings = queue["config"], {*differing} - BUFFERS.keys()
    if REMOVING & other_settings:
        return "no member gets the messages that they delete"
    if other_settings - UNFELT:
        return ""
    if reached := reached_limit_text(queue):
        return f"it is full ({reached}), and copies nothing more until members have processed some of it"
    if any(config.get(limit, -1) > 0 for limit in differing if limit in BUFFERS):
        return "once it is full, it copies nothing more until members have processed some of it"
    return "members are not affected"


MEMBERS = (
    felt(
        601,
        Side.READERS,
        EVERY,
        "Partitions move between members with the messages queued on them, and every member recreates its consumer: the server "
        "redelivers what is in flight.",
    ),
    felt(304, Side.READERS, UNSET, "Nobody consumes any more.", "no member is left"),
)
MADE_ANEW = (
    felt(
        101,
        Side.READERS,
        EVERY,
        "Apply recreates the group: its members end until their owners restart them, and the server redelivers what is in flight.",
        also=(Side.COPIES,),
    ),
)
OTHER_MESSAGES = (
    *MADE_ANEW,
    felt(101, Side.STORED, EVERY, "The new queue copies only those unprocessed messages that its filters match."),
)


@foretold(601, "handed-over-in-flight")
def handed_over_in_flight(moved: MovedField) -> Iterable[Finding]:
    """A member loses partitions while it has unacknowledged messages: their new owner gets these messages as well, and
    may finish a later message of the same key first.

    Members give up their consumers as soon as the record changes, whatever they are processing.

    Instead: let the members that lose partitions finish first, or make sure that processing a message twice does no
    harm.
    """
    change, view = moved.change, moved.view
    if not has_current_record(change) or change.live is None or change.desired is None:
        return
    if moved.field == "member_mappings" and change.touches("members"):
        return  # a change of both is one handover
    before, after = owners(change.live.config), owners(change.desired.config)
    losers = sorted({owner for number in moved_partitions(before, after) if (owner := before[number]) is not None})
    consumers = view.snapshot.consumers.get(stream_name(*change.address.names), {})
    busy = {name: in_flight for name in losers if (in_flight := _in_flight(consumers.get(name, {})))}
    if busy:
        in_flight = sum(busy.values())
        givers = f"members {listed([*busy])} hand" if len(busy) > 1 else f"member {min(busy)} hands"
        yield Finding(
            outcome=Outcome.WARNS,
            path=moved.path,
            message=f"{givers} over partitions with up to {some(in_flight, 'message')} in flight: the new owners get them while the "
            "old ones may still process them",
            fix="let these members finish first, or make sure that processing a message twice does no harm",
        )


def _in_flight(info: Mapping[str, object]) -> int:
    return int(str(info.get("num_ack_pending") or 0))


EFFECTS = Effects(
    family="EG",
    fields={"members": Known(unit="list", felt=MEMBERS), "member_mappings": Known(unit="mapping", felt=MEMBERS)},
    families=(handed_over_in_flight,),
)
