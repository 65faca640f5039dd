"""What is wrong with the stream that members read from: missing, edited, behind, full, or fed by another source."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from reconciler.kinds.elastic_group import effects
from reconciler.kinds.elastic_group.queue_stream import (
    NET,
    TAKING_IN,
    deviations,
    own_and_source_replicas,
    record_fields_text,
    start_sequence,
    without_leftover_start,
)
from reconciler.kinds.fields.known import V2_14, V2_15
from reconciler.kinds.fields.times import moment
from reconciler.kinds.fields.words import in_words, listed, listed_few, outside, some
from reconciler.kinds.group_records.group_record import ELASTIC_BUCKET, key
from reconciler.kinds.group_records.group_rules import migrate_command
from reconciler.kinds.group_records.member_subjects import taken_subjects
from reconciler.kinds.groups.finding import Evidence, error, note, warning
from reconciler.kinds.groups.live_group import Group, queue_writer
from reconciler.kinds.groups.places import patterns
from reconciler.kinds.losses.lagging import reached_limit_text
from reconciler.kinds.stream_config.stream_config import FIELD_INFOS
from reconciler.kinds.subjects.partitions import members_without_partition
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version

LIMITS = ("max_msgs", "max_bytes")
FAR_BEHIND = 100
"""How many messages behind the source are worth a finding, if they are at least a tenth of what the source holds."""
NEVER = "never edit its sources, subjects or transforms in place, which imports messages twice or drops some"


def missing_streams(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR103: the stream that the group divides does not exist; GR101: its own queue does not."""
    if group.source is None:
        yield error(
            "GR103", group.address, f"its stream {group.stream} does not exist: nothing new arrives",
            "recreate that stream, or remove the group; a recreated stream counts from 1 again (GR104)",
        )  # fmt: skip
    if group.is_elastic and group.queue is None:
        yield error(
            "GR101", group.address,
            f"its work-queue stream {group.queue_name} does not exist: members cannot start, and nothing is queued",
            f"{_migrate_first_text(group, 'then ')}declare the group and apply: that creates the missing stream, which copies everything "
            "that the source still holds",
        )  # fmt: skip


def different_queue(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR120 to GR123: the queue is not as the reference would make it. The server refuses the reference's own create
    (10058) if anything differs."""
    if not group.is_elastic or group.queue is None or group.record.broken:
        return
    live = group.queue["config"]
    differing = deviations(without_leftover_start(live, legacy=bool(group.record.legacy)), group.stream, group.config)
    if start_sequence(live) and not group.record.legacy:
        yield _leftover_start_warning(group, differing)
    if not differing:
        return
    if queue_writer(group) == NET:
        yield note(
            "GR121", group.address,
            f"{group.queue_name} is in the form of {NET}: the reference would not write {', '.join(differing)} like this. "
            "Members consume; the server refuses the reference's own create of the group (10058)",
            "leave it as it is; let only one implementation create this group",
        )  # fmt: skip
    elif not TAKING_IN & {*differing}:
        effect_text = effects.effect_of_settings_text(group.queue, differing)
        effect = f"{effect_text[:1].upper()}{effect_text[1:]}; the" if effect_text else "The"
        kind_of_setting = "limits" if {*differing} <= {*LIMITS} else "settings"
        differences = ", ".join(f"{name} is {_limit_in_words(name, live)}" for name in differing)
        yield warning(
            "GR122", group.address,
            f"{group.queue_name} has other {kind_of_setting} than its record: {differences}. {effect} server refuses the reference's own "
            "create of the group (10058)",
            f"set the {kind_of_setting} of {group.queue_name} to those of the record, which loses nothing",
        )  # fmt: skip
    elif group.other_record:
        fields = record_fields_text(group.other_record)
        yield error(
            "GR120", group.address,
            f"{group.queue_name} is not the queue of this record, but of one that says {fields}: somebody edited one of them. "
            "Members look for messages as the record says, and leave those in other partitions",
            f"write {fields} into record {key(group.stream, group.name)} of bucket {ELASTIC_BUCKET}, with its members stopped, which "
            f"loses nothing; {NEVER}",
        )  # fmt: skip
    else:
        yield error(
            "GR120", group.address,
            f"{group.queue_name} is not what its record says: {', '.join(differing)} differ. Keys may be in other "
            "partitions than members expect, and messages may be missing or stored twice",
            f"{_migrate_first_text(group, '')}run this again; {NEVER}" if group.record.legacy
            else f"recreate the group in a planned stop; {NEVER}",
        )  # fmt: skip


def _migrate_first_text(group: Group, then: str) -> str:
    """What comes first under a record of an earlier version, which apply leaves alone."""
    if not group.record.legacy:
        return ""
    return f"stop its members, and migrate its record: {migrate_command(group.stream, group.name)}; {then}"


def _limit_in_words(field: str, live: Mapping[str, Json]) -> str:
    info = FIELD_INFOS[field]
    return in_words(live.get(field, info.default), info.unit)


def _leftover_start_warning(group: Group, differing: Sequence[str]) -> Diagnostic:
    live = (group.queue or {})["config"]
    first = f"set right first what else differs ({', '.join(differing)}); then " if differing else ""
    return warning(
        "GR123", group.address,
        f"{group.queue_name} still has the start sequence {start_sequence(live)} with which it was recreated; servers before 2.15 import "
        "everything from there again if they restart while the queue is empty",
        f"{first}apply once more after something was published: that removes it",
    )  # fmt: skip


def unfitting_partitioning(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR124 to GR126: a static group's stream must put a partition number before each subject, of as many partitions as
    the record has."""
    if group.is_elastic or group.source is None or group.record.broken:
        return
    config, made_by_stream = group.source["config"], patterns(group)
    if not made_by_stream:
        yield warning(
            "GR125", group.address,
            f"stream {group.stream} has no transform that puts a partition number before subjects: members get only messages "
            "that publishers send with one",
            "give the stream a subject_transform with {{partition(…)}}, unless publishers or imports do that",
        )  # fmt: skip
        return
    if made_by_stream[0].partitions != group.partitions:
        yield error(
            "GR124", group.address,
            f"stream {group.stream} divides into {made_by_stream[0].partitions} partitions, and the record into {group.partitions}: "
            + _idle_clause(group, made_by_stream[0].partitions),
            f"recreate the group with max_members {made_by_stream[0].partitions}, in a planned stop",
        )  # fmt: skip
    covered = made_by_stream[0].filter
    wanted = taken_subjects(group.config)
    bare = [
        outside(subject, [covered] if collide(subject, covered) else [])
        for subject in config.get("subjects") or ()
        if not is_subset(subject, covered) and any(collide(subject, pattern) for pattern in wanted)
    ]
    if bare:
        yield warning(
            "GR126", group.address,
            f"the transform `{covered}` of {group.stream} does not cover {listed_few(bare, 5)}: messages there are stored without a "
            "partition number, unless publishers send one, and members get only those that have one",
            "if they are for this group, widen the transform's src; if not, leave it as it is",
        )  # fmt: skip


def _idle_clause(group: Group, made: int) -> str:
    if made > group.partitions:
        return "nobody consumes the highest ones"
    idle = members_without_partition(group.owned, made)
    return f"the highest get no message{', and ' + listed(idle) + ' idle' + ('' if len(idle) > 1 else 's') if idle else ''}"


def fewer_replicas(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR150: the queue has fewer replicas than its source. They are copied when the group is created, and nobody
    adjusts them later."""
    if not group.is_elastic or group.queue is None or group.source is None:
        return
    if behind := own_and_source_replicas(group.queue["config"], group.source["config"]):
        own, wanted = behind
        yield warning(
            "GR150", group.address, f"{group.queue_name} has {some(own, 'replica')}, and its source {group.stream} has {wanted}",
            "declare the group and apply, which raises them in place; the reference's own create needs it too",
        )  # fmt: skip


def unfollowed_source(group: Group, evidence: Evidence) -> Iterator[Diagnostic]:
    """GR104, GR160, GR161: whether the source is still the one the queue was filled from, and whether the queue keeps
    up with it."""
    if group.is_elastic and group.queue is not None and group.source is not None:
        beyond_end = [*source_ended_earlier(group, evidence), *new_start(group, evidence)]
        yield from beyond_end or list(_not_fed(group)) or _lag_findings(group, evidence)


def _not_fed(group: Group) -> Iterator[Diagnostic]:
    """GR105: the server refused its own consumer of the source."""
    for refusal in [item["error"] for item in (group.queue or {}).get("sources") or () if item.get("error")][:1]:
        yield error(
            "GR105", group.address,
            f"{group.queue_name} copies nothing from {group.stream}: {refusal.get('description')} ({refusal.get('err_code')})",
            f"change what the server refuses, usually the consumer_limits of {group.stream}: write them into each consumer",
        )  # fmt: skip


def source_ended_earlier(group: Group, evidence: Evidence) -> Iterator[Diagnostic]:
    """GR104: the queue has copied a later message than its source holds, and skips new ones up to there."""
    if (position := _position_beyond_end(group, evidence)) is None or _starts_over(group):
        return
    if _is_source_newer(group):
        cause = "was replaced"
        fix = (
            "recreate the group after the stream, in a planned stop; then it starts with the new stream's first message"
        )
    else:
        cause = "has lost its last messages, as after a power cut"
        fix = (
            f"recreate the group in a planned stop: its queue then copies everything that {group.stream} holds, and its members "
            "process again what they have processed of that"
        )
    yield error(
        "GR104", group.address, f"stream {group.stream} {cause}: {position}. The queue may silently skip new messages up to there", fix
    )  # fmt: skip


def new_start(group: Group, evidence: Evidence) -> Iterator[Diagnostic]:
    """GR104: the queue has yet to start over with a source that somebody recreated."""
    if (position := _position_beyond_end(group, evidence)) is not None and _starts_over(group):
        yield note(
            "GR104", group.address,
            f"stream {group.stream} was replaced: {position}. The server notices that within about two minutes, and then copies "
            "everything that the new stream holds",
            "wait for that, and run this again",
        )  # fmt: skip


def _position_beyond_end(group: Group, evidence: Evidence) -> str | None:
    """How far the queue has come and where its source ends, if that is earlier."""
    reached = reached_sequence(group, evidence) if group.is_elastic and group.source is not None else None
    last = int((group.source or {}).get("state", {}).get("last_seq", 0))
    if reached is None or reached <= last:
        return None
    return f"{group.queue_name} has copied its message {reached:_}, and now it ends at {last:_}"


def _starts_over(group: Group) -> bool:
    """Will the server notice that the source was recreated? Those that report how far a queue has come do."""
    return bool(_reported_sequences(group)) and _is_source_newer(group)


def _is_source_newer(group: Group) -> bool:
    """Was the source created after the newest message of the queue was stored?"""
    created, stored = (group.source or {}).get("created"), (group.queue or {}).get("state", {}).get("last_ts")
    return created is not None and stored is not None and moment(stored) < moment(created)


def _reported_sequences(group: Group) -> list[int]:
    return [source["seq"] for source in (group.queue or {}).get("sources") or () if source.get("seq")]


def reached_sequence(group: Group, evidence: Evidence) -> int | None:
    """The source's sequence that the queue has reached; servers from 2.15 report it."""
    reported = _reported_sequences(group)
    return evidence.sourced.get(group.address, reported[0] if reported else None)


def is_in_doubt(group: Group, version: Version) -> bool:
    """Must the newest message be asked where it came from? The source is younger, or shorter, than the queue. A server that
    reports no position there, and reports positions at all, has started over."""
    if version >= V2_15 or not group.is_elastic or group.queue is None or group.source is None:
        return False
    if not group.queue["state"]["messages"]:
        return False
    younger = str(group.source.get("created", "")) > str(group.queue.get("created", ""))
    return younger or group.source["state"]["last_seq"] < group.queue["state"]["last_seq"]


def _lag_findings(group: Group, evidence: Evidence) -> Iterator[Diagnostic]:
    queue, origin = group.queue or {}, (group.source or {}).get("config", {})
    lag = sum(int(item.get("lag") or 0) for item in queue.get("sources") or ())
    full, drops = reached_limit_text(queue), queue.get("config", {}).get("discard") == "old"
    behind = f"; it is at least {some(lag, 'message')} behind {group.stream}" if lag else ""
    if full and drops:
        yield warning(
            "GR161", group.address,
            f"{group.queue_name} is full ({full}) and has `discard: old`: for each new message it drops its oldest ones, which "
            f"no member then gets{behind}",
            f"set its discard policy to new, which loses nothing: nats stream edit {group.queue_name} --discard=new; then check "
            "whether members keep up (`reconciler groups active`)",
        )  # fmt: skip
    elif full:
        lost = _lost_while_full_text(group, evidence)
        yield (error if lost else warning)(
            "GR161", group.address,
            f"{group.queue_name} is full ({full}): it copies nothing more until members have processed some of it{behind}{lost}",
            "check whether members keep up (`reconciler groups active`); add members, or raise the stream's limit",
        )  # fmt: skip
    bounds = [name for name in ("max_msgs", "max_bytes", "max_age", "max_msgs_per_subject") if origin.get(name, 0) > 0]
    is_stuck = bool(full and lag and not drops)
    if bounds and origin.get("discard", "old") == "old" and (is_stuck or _is_far_behind(group, lag)):
        yield warning(
            "GR160", group.address,
            f"its queue has yet to copy at least {some(lag, 'message')} of {group.stream}, which drops its oldest "
            f"({', '.join(bounds)}): messages that are dropped before they are queued never reach a member",
            "let members catch up, or keep more in the source; `discard: new` would refuse publishers instead",
        )  # fmt: skip


def _lost_while_full_text(group: Group, evidence: Evidence) -> str:
    """Before 2.14 a work queue and an interest stream delete what a full queue was given and could not store."""
    retention = (group.source or {}).get("config", {}).get("retention")
    if retention not in ("workqueue", "interest") or evidence.version is None or evidence.version >= V2_14:
        return ""
    return (
        f". {group.stream} has {retention} retention, and this server does not keep for {group.queue_name} what no other "
        "consumer wants: members may never get that"
    )


def _is_far_behind(group: Group, lag: int) -> bool:
    """A busy queue is always a little behind. It is in danger if that is a good part of what the source still holds."""
    held = int((group.source or {}).get("state", {}).get("messages", 0))
    return lag >= FAR_BEHIND and lag * 10 >= held


def unowned_partitions(group: Group, evidence: Evidence) -> Iterator[Diagnostic]:
    """GR130: messages that no member will ever get."""
    depths = evidence.depths.get(group.address)
    if depths is None or group.record.broken:
        return
    unowned = {
        str(number): depths.messages[number]
        for number, owner in enumerate(group.owners)
        if owner is None and depths.messages[number] and group.owned
    }
    if lost := {**unowned, **depths.outside}:
        partitions = ", ".join(list(lost)[:10])
        yield error(
            "GR130", group.address,
            f"no member ever gets {some(sum(lost.values()), 'message')} in partitions without an owner ({partitions})",
            "; ".join(_ways_to_members(group, unowned, depths.outside)),
        )  # fmt: skip


def _ways_to_members(group: Group, unowned: Collection[str], outside: Collection[str]) -> Iterator[str]:
    """How messages without an owner reach a member."""
    if group.other_record:
        yield "write the record as GR120 says, and run this again: its queue made these partitions for that record"
        return
    if unowned:
        yield "give those partitions to a member"
    if outside:
        yield (
            f"recreate the group with another max_members (EG101), which copies messages in partitions from {group.partitions} on "
            f"once more, as far as {group.stream} still stores them"
        )


CHECKS = (
    missing_streams,
    different_queue,
    unfitting_partitioning,
    fewer_replicas,
    unfollowed_source,
    unowned_partitions,
)
