"""Groups as plain data: what `--format json` prints, and what the text reports are made of. An absent value is a
missing key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.kinds.elastic_group.derived import start
from reconciler.kinds.groups.depth import Depths
from reconciler.kinds.groups.model import Group, Member
from reconciler.kinds.groups.places import Located, patterns
from reconciler.kinds.groups.writer import of_queue, of_record

Data = dict[str, Any]


def summary(group: Group) -> Data:
    """What can be told without reading consumers."""
    return _present(
        address=str(group.address), type=group.type, stream=group.stream, group=group.name,
        revision=group.record.revision, broken=group.record.broken, legacy=list(group.record.legacy) or None,
        unread=group.unread, partitions=group.partitions or None, members=list(group.owned) or None,
        surplus=group.surplus or None, queue=_queue(group),
    )  # fmt: skip


def whole(group: Group, depths: Depths | None) -> Data:
    """Everything about one group."""
    return summary(group) | _present(
        filters=group.filters or None,
        pattern=[_present(filter=one.filter, wildcards=list(one.wildcards) or None, partitions=one.partitions) for one in patterns(group)],
        record=dict(group.record.raw) or None, text=group.text if group.record.broken else None,
        written_by=_present(record=None if group.record.broken else of_record(group), queue=of_queue(group)),
        members=[_member(one, depths) for one in group.members] or None,
        owners=group.owners or None,
        unassigned=[number for number, owner in enumerate(group.owners) if owner is None] or None,
        stalled=_stalled(group, depths) or None,
        queued=list(depths.messages) if depths else None,
        outside=dict(depths.outside) or None if depths else None,
    )  # fmt: skip


def _stalled(group: Group, depths: Depths | None) -> list[int]:
    """Partitions in which messages wait while their owner has no client, or while they have no owner."""
    working = {number for member in group.members if member.waiting or member.pin for number in member.partitions}
    return [
        number for number, queued in enumerate(depths.messages if depths else ()) if queued and number not in working
    ]


def active(group: Group) -> Data:
    """Only the members and their consumers."""
    return _present(address=str(group.address), unread=group.unread, broken=group.record.broken) | {
        "members": [_member(member, None) for member in group.members]
    }


def _queue(group: Group) -> Data | None:
    if not group.is_elastic:
        return None
    state: Mapping[str, Any] = (group.queue or {}).get("state", {})
    lag = sum(int(item.get("lag") or 0) for item in (group.queue or {}).get("sources") or ())
    return _present(
        stream=group.queue_name, missing=True if group.queue is None and not group.unread else None,
        messages=state.get("messages"), bytes=state.get("bytes"), consumers=state.get("consumer_count"),
        lag=lag if group.queue else None, resuming=start(group.queue["config"]) if group.queue else None,
    )  # fmt: skip


def _member(member: Member, depths: Depths | None) -> Data:
    pin = member.pin
    state = "absent" if member.info is None else "unpinned" if pin is None else "pinned"
    return _present(
        member=member.name, partitions=list(member.partitions), consumer=member.consumer, state=state,
        client=pin.client if pin else None, since=pin.since if pin else None, pinned_for=pin.age if pin else None,
        waiting=member.waiting if member.info else None, in_flight=member.in_flight if member.info else None,
        pending=int(member.info["num_pending"]) if member.info else None,
        queued=depths.of(member.partitions) if depths else None,
    )  # fmt: skip


def place(located: Located, group: Group | None = None, queued: int | None = None) -> Data:
    """Where a key goes, and which member works there."""
    data = _present(
        key=located.key, hashed=located.hashed, partition=located.partition, partitions=located.pattern.partitions,
        filter=located.pattern.filter, wildcards=list(located.pattern.wildcards) or None,
    )  # fmt: skip
    if group is None:
        return data
    owner = next((member for member in group.members if located.partition in member.partitions), None)
    return data | _present(address=str(group.address), queued=queued, member=_member(owner, None) if owner else None)


def spread(group: Group, queued: Depths | None, stored: Depths | None) -> Data:
    """How much each partition holds, in messages and in distinct subjects, both queued and in the source."""
    return _present(
        address=str(group.address), partitions=group.partitions, owners=group.owners,
        queued=list(queued.messages) if queued else None, queued_subjects=list(queued.subjects) if queued else None,
        stored=list(stored.messages) if stored else None, stored_subjects=list(stored.subjects) if stored else None,
        outside=dict(queued.outside) or None if queued else None,
    )  # fmt: skip


def _present(**items: Any) -> Data:
    return {name: value for name, value in items.items() if value is not None}
