"""Static groups: a KV record that divides a stream, whose subjects are already partitioned, among a fixed set of
members.

Any change of the record ends every running instance and deletes its consumer, so nothing in it changes in place.

Filters of a static group with which no member can consume, and those that members ignore.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from reconciler.changes.amount import Amount, total
from reconciler.changes.change import Action, Change, Consequence, FieldClass
from reconciler.changes.kind import Bound, Context, FilePlace, Kind, Raw, declared_config
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import SubjectsRead, View
from reconciler.kinds.fields.field_effects import fixed
from reconciler.kinds.fields.known import Known, Subject, Update, field_infos
from reconciler.kinds.fields.words import amount, consent_to, few, listed, verb
from reconciler.kinds.group_records import group_record, group_rules, group_steps
from reconciler.kinds.group_records.another_name import recipe
from reconciler.kinds.group_records.group_record import (
    GroupSpec,
    durable_name,
    durable_names,
    members,
    render_mappings,
    with_membership_left,
)
from reconciler.kinds.group_records.group_start import MatchedMessages, start_consequences, stored_messages
from reconciler.kinds.group_records.member_subjects import group_subjects, idle_filters, taken_subjects
from reconciler.kinds.losses.made_again import is_made_again
from reconciler.kinds.losses.unprocessed import unprocessed_messages
from reconciler.kinds.stream_config import calls
from reconciler.kinds.subjects.filters import EVERYTHING
from reconciler.kinds.subjects.subjects import collide, is_valid
from reconciler.model.resource import Declared, Json, Resource
from reconciler.model.wire.questions import MessagesFrom
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Step


@rule("SG544", "unusable-filters", on=(Action.CREATE, Action.ADOPT), reaction=Reaction.HARMS, can_stand=False)
def unusable_filters(change: Change, _view: View) -> Iterator[Finding]:
    """With these filters of a static group no member can ever consume: one is not a subject, or two overlap, or there are
    several together with mappings, for which the reference repeats each partition's filter. One filter together with mappings
    has no effect: members of the reference take everything in their partitions.

    The server accepts the record, and refuses the consumer as soon as a member joins (10138). With one filter and mappings the
    member joins, and gets what the filter leaves out as well; members of other implementations may apply the filter. Plans
    count with all that members can take.

    Instead: filters such that every subject matches only one of them, or plain members. Members that take everything in their
    partitions need no filter.
    """
    filters = change.becomes("filters") or []
    if change.action is Action.CREATE:
        yield from _bad_filter_refusals(filters)
    if not (ignored := idle_filters(change.wanted)):
        return
    if len(ignored) == 1:
        yield Finding(
            outcome=Outcome.WARNS,
            path="filters",
            message=f"with member_mappings, members of the reference take all subjects of their partitions, not only `{ignored[0]}`",
            fix="use plain members, or leave filters out",
        )
    elif change.action is Action.CREATE:
        yield group_rules.refusal(
            "member_mappings",
            "with several filters, no member of a mapped group can ever consume",
            "use plain members, or leave filters out",
        )


def _bad_filter_refusals(filters: list[str]) -> Iterator[Finding]:
    for index, subject in enumerate(filters):
        path = f"filters[{index}]"
        if not is_valid(subject):
            yield group_rules.refusal(
                path, f"`{subject}` is not a valid subject", "write tokens between single dots, `>` only at the end"
            )
        elif other := next((earlier for earlier in filters[:index] if collide(subject, earlier)), None):
            yield group_rules.refusal(
                path, f"filter `{subject}` overlaps with `{other}`", "let every subject match only one filter"
            )


BUCKET = group_record.STATIC_BUCKET
EDITED = (
    "take over what is live with `drift accept`: the edit has ended the instances that ran then, and writing the old record "
    "would end those that run now"
)
ANOTHER = (
    "declare a second group, or an elastic one, whose membership may change: its members get everything that the stream holds, "
    "also what this group has processed; on a work queue, start them after this group is removed"
)


class StaticGroupSpec(GroupSpec):
    """A static partitioned consumer group divides a stream, already partitioned by subject, among a fixed set of members."""

    filters: Annotated[
        tuple[Subject, ...] | None,
        Known(unit="list", ordered=False, left_out="all subjects", update=Update.FIXED, felt=fixed(101)),
    ] = None
    """Subjects that members consume, without the partition number in front. With `member_mappings`, members of the reference
    ignore this, and consume all subjects of their partitions."""


def _recognise(snapshot: Snapshot) -> Iterable[Resource]:
    return group_steps.recognise("static_group", BUCKET, snapshot)


def _claims(snapshot: Snapshot) -> Iterable[Raw]:
    """The members' durables: exactly those of the record, never any by prefix."""
    for group in _recognise(snapshot):
        stream, name = group.address.names
        for consumer in durable_names(name, group.config):
            yield Raw("consumer", (stream, consumer))


def _settle(declared: Declared, _context: Context) -> Resource:
    config = group_record.canonical(declared_config(declared.spec))
    return Resource(
        address=declared.address,
        config=config,
        terms=with_membership_left(declared.spec),
        where=declared.where,
    )


def _steps(change: Change, view: View) -> Sequence[Step]:
    if change.action is Action.CREATE and change.desired:
        record = group_record.new_record_text(change.desired.config, elastic=False)
        return (
            *group_steps.bucket_creation(change, BUCKET, view),
            group_steps.record_creation(change, BUCKET, record, view),
        )
    if change.action is Action.DELETE and change.live:
        gone = group_steps.delete_record(change, BUCKET)
        stream, group = change.address.names
        consumers = view.snapshot.consumers.get(stream, {})
        return (
            gone,
            *(
                calls.delete_consumer(change, stream, name, after=(gone.id,), before=consumers[name]["config"])
                for name in durable_names(group, change.live.config)
                if name in consumers
            ),
        )
    return ()


@rule("SG101", "static-group-change", on=(Action.UPDATE,), needs=("live",))
def static_group_change(change: Change, _view: View) -> Found:
    """A static group changes in any way.

    Each running instance of the reference deletes its durable consumer and ends as soon as the record differs. The next
    instance starts from the beginning of the stream, so all progress is lost.

    Instead: stop the members, and declare a second group, or an elastic one, whose membership may change. A new group
    starts with everything that the stream holds, also what the old one has processed. On a work queue the server
    refuses the consumers of its members until the old group is removed.
    """
    changed = change.fields if group_rules.has_current_record(change) else ()
    if not changed:
        return None
    is_edited = all(item.field_class is FieldClass.DRIFTED for item in changed)
    return Finding(
        outcome=Outcome.REFUSED,
        path=changed[0].path,
        to=changed[0].desired,
        message=f"{listed([item.path for item in changed])} of a static group cannot change: each running instance deletes its "
        "consumer and ends as soon as the record differs, and the next one starts from the beginning of the stream",
        fix=EDITED if is_edited else ANOTHER,
    )


@rule("SG102", "group-type-change", on=(Action.CREATE,), needs=("neighbours",))
def group_type_change(change: Change, view: View) -> Found:
    """An elastic group of this name is live. A static group has other consumers and no queue, so the one cannot become
    the other.

    Instead: declare the static group under another name, and remove the elastic one when its queue is empty.
    """
    return group_steps.other_type_finding(change, view, "elastic_group", "elastic")


@rule("SG312", "group-made-again", on=(Action.CREATE,), needs=("live",), reaction=Reaction.HARMS)
def group_made_again(change: Change, view: View) -> Found:
    """A group that was applied before is gone with its members' consumers, and apply recreates it.

    Only these consumers knew what members had processed. The new ones start with everything that the stream stores, so
    members process it again. If only the record is gone, the members continue where their consumers stand. A work queue
    deletes what is processed, so nothing of it is redelivered.

    Instead: make sure that processing a message twice does no harm, and consent.
    """
    if not _starts_over(change, view):
        return None
    matched, unserved = _matched_messages(change, view), _members_without_consumer(change, view)
    number = Amount(0, matched.messages)
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        quantities={"redelivered": number},
        message=f"it is gone, and {_lost_positions_text(unserved)}: recreated, the group starts with everything "
        f"that {change.address.stream} holds{matched.where_text}: {amount(number, 'message')}, including what its members have processed",
        fix="make sure that processing a message twice does no harm, and consent here: " + consent_to("SG312"),
    )


def _starts_over(change: Change, view: View) -> bool:
    """Is it to come back without positions, where messages stay when they are processed?"""
    keeps = _stream_retention(change, view) != "workqueue"
    return bool(
        keeps
        and is_made_again(change)
        and _matched_messages(change, view).messages
        and _members_without_consumer(change, view)
    )


def _questions(change: Change, view: View) -> list[MessagesFrom]:
    """How many of the stored messages its filters match, asked if it is new and has any."""
    if change.action is not Action.CREATE or not stored_messages(change, view):
        return []
    if taken_subjects(change.wanted) == EVERYTHING:
        return []
    return [
        MessagesFrom(stream=change.address.stream, start=1, filter=taken) for taken in group_subjects(change.wanted)
    ]


def _matched_messages(change: Change, view: View) -> MatchedMessages:
    """What its members start with: what their filters match, where somebody counted it."""
    stored, questions = stored_messages(change, view), _questions(change, view)
    answers = [answer for question in questions if isinstance(answer := view.facts.get(question), Mapping)]
    counts = [int(answer.get("messages", answer.get("most", stored))) for answer in answers]
    is_counted = len(counts) == len(questions)
    subjects = [question.filter for question in questions]
    return MatchedMessages(min(stored, sum(counts)) if questions and is_counted else stored, subjects)


def _stream_retention(change: Change, view: View) -> str:
    """Of its stream, as it is now."""
    config = view.snapshot.streams.get(change.address.stream, {}).get("config") or {}
    return str(config.get("retention") or "limits")


def _lost_positions_text(lost: Sequence[str]) -> str:
    return f"with it the position{'s' if len(lost) > 1 else ''} of {few(lost, 3)}"


def _consumer_infos(change: Change, view: View) -> dict[str, Mapping[str, Json] | None]:
    """The consumer of each member; None: it does not exist."""
    stream, group = change.address.names
    consumers = view.snapshot.consumers.get(stream, {})
    return {member: consumers.get(durable_name(group, member)) for member in members(change.wanted)}


def _members_without_consumer(change: Change, view: View) -> list[str]:
    return [member for member, info in _consumer_infos(change, view).items() if info is None]


def _start_consequences(change: Change, view: View) -> Iterator[Consequence]:
    """Members whose consumers exist continue there."""
    consumers, unserved = _consumer_infos(change, view).values(), _members_without_consumer(change, view)
    remaining = total(unprocessed_messages(change.address.stream, info, view) for info in consumers if info)
    if is_made_again(change) and unserved and _stream_retention(change, view) == "interest":
        deletion = f"When the consumer{'s' if len(unserved) > 1 else ''} of {few(unserved, 3)} {verb(len(unserved), 'were')} deleted"
        yield Consequence(message=f"{deletion}, the interest stream deleted what no other consumer wanted")
    if change.action is Action.CREATE and any(consumers) and not unserved:
        to_process = f"{amount(remaining, 'message')} left to process"
        yield Consequence(message=f"Its members continue where their consumers stand: {to_process}")
    else:
        yield from start_consequences(
            change, view, is_told=_starts_over(change, view), matched=_matched_messages(change, view)
        )


STATIC_GROUP = Kind(
    name="static_group",
    family="SG",
    title="Static groups",
    recipe=recipe,
    bound=Bound(floor=5, percent=20),
    place=FilePlace("groups", within="stream", tag=("type", "static"), names=group_record.NAME.pattern),
    spec=StaticGroupSpec,
    fields=field_infos(StaticGroupSpec),
    recognise=_recognise,
    claims=_claims,
    settle=_settle,
    steps=_steps,
    questions=_questions,
    consequences=_start_consequences,
    adrift=group_steps.broken_record,
    reads=lambda address, config: (SubjectsRead(address.stream, group_subjects(config)),),
    render=lambda resource: render_mappings(resource.config),
    primary=lambda address: Raw("entry", (BUCKET, group_record.key(*address.names))),
    unknown=lambda _address, snapshot: snapshot.why_bucket_unknown(BUCKET),
    rules=(
        static_group_change,
        group_type_change,
        group_made_again,
        group_rules.deletion_rule("SG"),
        group_rules.memberless_rule("SG"),
        group_rules.bad_name_rule("SG"),
        group_rules.bad_membership_rule("SG"),
        unusable_filters,
        group_rules.unreadable_record_rule("SG"),
        group_rules.unwritable_bucket_rule("SG", BUCKET),
    ),
)
