"""What is wrong with the members' consumers: missing, without a client, or made by instances that disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from reconciler.kinds.elastic_group.queue_stream import GO
from reconciler.kinds.fields.words import few, in_words, some, verb
from reconciler.kinds.group_records.group_record import PRIORITY_GROUP
from reconciler.kinds.group_records.member_subjects import idle_filters, in_partitions, is_mapped
from reconciler.kinds.groups.finding import Evidence, error, warning
from reconciler.kinds.groups.live_group import Group, Member, record_writer
from reconciler.kinds.groups.record_checks import has_only_joined_members
from reconciler.kinds.subjects.filters import EVERYTHING, filters_of, named_filters
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Json

OWN = frozenset({
    "name", "durable_name", "filter_subject", "filter_subjects", "metadata",
    "priority_groups", "priority_policy", "priority_timeout",
})  # fmt: skip
"""Fields that naturally differ between members, or that have a check of their own; the others must be the same for
all."""

UNITS = {"ack_wait": "duration", "inactive_threshold": "duration"}


def absent_members(group: Group, evidence: Evidence) -> Iterator[Diagnostic]:
    """GR140: a member owns partitions and has no consumer, so no instance of it consumes. On a work queue, a consumer of
    nobody in the group may keep it from having one."""
    for member in group.members:
        if member.info is not None or group.queue is None or not member.partitions:
            continue
        if keeper := _blocking_consumer(group, member):
            consumer, subject = keeper
            yield warning(
                "GR140", group.address,
                f"member {member.name} has no consumer, and the server refuses it one: {group.queue_name} is a work queue, of which "
                f"consumer {consumer} takes `{subject}`{_waiting_clause(group, member, evidence)}",
                f"let the two take different subjects, or remove consumer {consumer}; then start an instance of {member.name}",
            )  # fmt: skip
        else:
            yield warning(
                "GR140", group.address,
                f"member {member.name} has no consumer: no instance of it consumes{_waiting_clause(group, member, evidence)}"
                + ("" if group.is_elastic else ". One that starts gets all that is stored in its partitions, processed before or not"),
                f"start an instance of {member.name}"
                + (", or remove it from the members: the others get its partitions" if group.is_elastic else ""),
            )  # fmt: skip


def _blocking_consumer(group: Group, member: Member) -> tuple[str, str] | None:
    """A consumer of the work queue that takes messages which the member's own would take, and what it takes."""
    if (group.queue or {}).get("config", {}).get("retention") != "workqueue":
        return None
    own, wanted = {other.consumer for other in group.members}, wanted_filters(group, member)
    return next(
        (
            (name, subject)
            for name, info in group.consumers.items()
            for subject in filters_of(info["config"])
            if name not in own and any(collide(subject, mine) for mine in wanted)
        ),
        None,
    )


def members_not_pinned(group: Group, evidence: Evidence) -> Iterator[Diagnostic]:
    """GR141: a member's consumer serves no client. Pulls that only wait for a first message are no finding."""
    for member in group.members:
        if member.info is None or member.pin is not None or _has_old_priority_group(member) or _is_ready(member):
            continue
        pulls = f"{some(member.waiting_pulls, 'pull')} {verb(member.waiting_pulls, 'wait')} there and none is served"
        step_down = f"reconciler groups step-down {group.stream}/{group.name} {member.name}"
        yield warning(
            "GR141", group.address,
            f"consumer {member.consumer} of member {member.name} serves no client: "
            f"{pulls if member.waiting_pulls else 'nobody pulls from it'}{_waiting_clause(group, member, evidence)}",
            f"start an instance of {member.name}" + (f", or end a stale pin: {step_down}" if member.waiting_pulls else ""),
        )  # fmt: skip


def _is_ready(member: Member) -> bool:
    """Servers pin a client with the first message they deliver to it; until then pulls just wait."""
    return member.waiting_pulls > 0 and not (member.info or {}).get("num_pending")


def _waiting_clause(group: Group, member: Member, evidence: Evidence) -> str:
    depths = evidence.depths.get(group.address)
    messages = depths.of(member.partitions) if depths else 0
    return (
        f"; {some(messages, 'message')} {verb(messages, 'wait')} in its {some(len(member.partitions), 'partition')}"
        if messages
        else ""
    )


def unknown_consumers(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR142: a consumer of a group's work queue belongs to no member. Anybody may have consumers on a static group's
    stream."""
    if not group.is_elastic or group.record.broken or has_only_joined_members(group):
        return
    for name in sorted(group.consumers.keys() - group.owned.keys()):
        yield warning(
            "GR142", group.address,
            f"consumer {name} of {group.queue_name} belongs to no member: as long as it exists, it keeps partitions from their owners",
            "stop the instances that use it; once idle, the server deletes it after its inactive_threshold",
        )  # fmt: skip


def old_priority_groups(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR143: a member's consumer lacks the priority group of current instances. Old and new instances delete each
    other's consumer."""
    for member in group.members:
        if member.info is not None and _has_old_priority_group(member):
            config = member.info["config"]
            names = ", ".join(config.get("priority_groups") or ()) or "none"
            yield error(
                "GR143", group.address,
                f"consumer {member.consumer} has priority group {names} and policy {config.get('priority_policy', 'none')}; "
                f"current instances pull with {PRIORITY_GROUP}, pinned: old and new ones delete each other's consumer",
                "stop all instances, delete that consumer, and start instances of one version"
                + ("" if group.is_elastic else "; a static member's new consumer starts at its application's deliver policy"),
            )  # fmt: skip


def _has_old_priority_group(member: Member) -> bool:
    config = (member.info or {}).get("config", {})
    return (config.get("priority_groups"), config.get("priority_policy")) != ([PRIORITY_GROUP], "pinned_client")


def disagreeing_settings(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR144: members have different consumer settings. Instances of one member must ask for the identical consumer, or
    they endlessly delete each other's."""
    infos = {member.name: member.info for member in group.members if member.info is not None}
    configs = {name: {k: v for k, v in info["config"].items() if k not in OWN} for name, info in infos.items()}
    first, *others = configs.values() or [{}]
    if all(other == first for other in others):
        return
    differing = []
    for name in sorted({name for config in configs.values() for name in config}):
        if len(values := _by_value(configs, name)) > 1:
            differing.append(f"{name} is " + ", ".join(f"{value} for {who[0]}" for value, who in values.items()))
    if differing:
        yield warning(
            "GR144", group.address,
            f"consumers of its members have different settings: {'; '.join(differing[:4])}. Instances of one member that "
            "differ like that endlessly delete each other's consumer",
            "run every instance of the group with the same consumer settings, from shared configuration",
        )  # fmt: skip


def _by_value(configs: Mapping[str, Mapping[str, Json]], name: str) -> dict[str, list[str]]:
    members_by_value: dict[str, list[str]] = defaultdict(list)
    for member, config in configs.items():
        members_by_value[in_words(config.get(name), UNITS.get(name, "text"))].append(member)
    return members_by_value


def disagreeing_filters(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR145: a member's consumer takes other partitions than the member owns. Records in a historic form are not
    judged."""
    if group.record.legacy:
        return
    for member in group.members:
        if member.info is None:
            continue
        live, wanted = _live_filters(member), wanted_filters(group, member)
        if not consumes_own_partitions(group, member):
            yield warning(
                "GR145", group.address,
                f"consumer {member.consumer} does not consume what member {member.name} owns: "
                f"{_listed_subjects(live - wanted, 'too much')}{_listed_subjects(wanted - live, 'missing')}".rstrip(", ")
                + ". A change of members has not reached it, or another implementation made it",
                f"check whether an instance of {member.name} still runs, and of which implementation; run only one implementation",
            )  # fmt: skip


def mappings_with_filters(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR133: mappings together with several filters. The reference names each partition once for every filter; other
    implementations name it once, or once with each filter after it."""
    if not group.config.get("member_mappings") or len(group.filters) < 2 or record_writer(group) != GO:
        return
    if not any(consumes_own_partitions(group, member) for member in group.members if member.info is not None):
        yield error(
            "GR133", group.address,
            "with member_mappings and several filters no member of the reference can consume: the server refuses its consumer (10138)",
            "declare plain `members` instead of mappings, and apply" if group.is_elastic else "recreate it with one filter",
        )  # fmt: skip


def filters_without_effect(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR134: with mappings, members' consumers take whole partitions, and the group's filters have no effect."""
    if group.is_elastic or group.record.legacy or not (filters := idle_filters(group.config)):
        return
    wide = [
        member.consumer
        for member in group.members
        if _live_filters(member) == set(in_partitions(EVERYTHING, member.partitions))
    ]
    if wide:
        consumers = f"{'consumers' if len(wide) > 1 else 'consumer'} {few(wide)} {verb(len(wide), 'take')}"
        yield warning(
            "GR134", group.address,
            f"its filters ({few(filters)}) have no effect on members of the reference, since it has member_mappings: {consumers} all "
            "that lies in the partitions",
            "if members are to get only what the filters name, declare another group with plain `members`, and remove this one; if "
            "they are to get everything, leave it as it is",
        )  # fmt: skip


def _live_filters(member: Member) -> set[str]:
    return set(named_filters((member.info or {}).get("config", {})))


def consumes_own_partitions(group: Group, member: Member) -> bool:
    """Does the member's consumer take exactly what the member owns, in either spelling of filters?"""
    return _live_filters(member) in (wanted_filters(group, member), _partition_filters(group, member))


def wanted_filters(group: Group, member: Member) -> set[str]:
    """The filters as the reference makes them; with mappings it leaves the group's filters out."""
    subjects = EVERYTHING if is_mapped(group.config) else group.filters or EVERYTHING
    return set(in_partitions(subjects, member.partitions))


def _partition_filters(group: Group, member: Member) -> set[str]:
    """Each partition with each filter, as some implementations also make them with mappings."""
    return set(in_partitions(group.filters or EVERYTHING, member.partitions))


def _listed_subjects(subjects: set[str], what: str) -> str:
    return f"{what} {few(sorted(subjects))}, " if subjects else ""


CHECKS = (
    absent_members,
    members_not_pinned,
    unknown_consumers,
    old_priority_groups,
    disagreeing_settings,
    disagreeing_filters,
    mappings_with_filters,
    filters_without_effect,
)
