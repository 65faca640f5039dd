"""Rules that static and elastic groups share: records that cannot be changed or written, the cost of a deletion.

Rules about the members of a group, static or elastic: their names, their number, and that somebody is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from reconciler.changes.amount import Amount, exactly, total
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import amount, consent_to, few, some
from reconciler.kinds.group_records.group_record import MOST_PARTITIONS, NAME, durable_names, key, members
from reconciler.kinds.group_records.group_steps import write_obstacle
from reconciler.kinds.losses.unprocessed import undelivered_messages
from reconciler.kinds.subjects.subjects import LONGEST_NAME, name_problem
from reconciler.model.resource import Config, Json


def has_current_record(change: Change) -> bool:
    """The live record can be understood, so its differences mean something."""
    state = change.info
    return not (state.get("broken") or state.get("legacy"))


def migrate_command(stream: str, group: str) -> str:
    """The command that rewrites a group's record in today's form."""
    return f"reconciler groups migrate {stream}/{group}"


def unreadable_record_rule(family: str, queue: str = "") -> Rule:
    """Rule 509 of a family: apply leaves a record in a historic form, or a broken one, alone. `queue` is the field that
    is `missing` if the group's own queue is."""

    def judge(change: Change, _view: View) -> Found:
        """The stored record is in a historic form, or somebody broke it by hand.

        Rewriting a legacy record ends every running instance that still uses it, and drops keys permanently. Nothing in a broken
        record can be trusted. If somebody deleted the queue of an elastic group with a legacy record, apply does not create it
        either: instances that ignore the old keys would read it in another way.

        Instead: migrate it in a planned stop of its members; until then leave the group as it is.
        """
        state = change.info
        if state.get("broken"):
            return refusal(
                "",
                f"the record of this group cannot be understood: {state['broken']}",
                "repair or delete the record, with all members stopped",
            )
        if state.get("legacy"):
            form = f"the record of this group is in a historic form ({', '.join(state['legacy'])})"
            way_out = f"stop its members, then: {migrate_command(*change.address.names)}"
            if change.action is Action.UPDATE and queue and change.was(queue) == "missing":
                name = "-".join(change.address.names)
                message = f"its queue {name} is gone, and apply does not create it: {form}"
                return refusal("", message, f"{way_out}; then apply creates {name}")
            return refusal("", f"{form}; running instances would end if it were rewritten", way_out)
        return None

    return rule(f"{family}509", "record-not-current", on=(Action.UPDATE, Action.DELETE), needs=("live",))(judge)


def unwritable_bucket_rule(family: str, bucket: str) -> Rule:
    """Rule 546 of a family: nothing can be written to the bucket of the records, because somebody edited or sealed
    it."""

    def judge(change: Change, view: View) -> Found:
        """The record of this group cannot be written to the bucket of the records: the bucket's stream captures other subjects,
        or is sealed.

        Somebody made or edited the stream by hand. Nobody answers when the record is written, or the server refuses it (10109).
        Members would not see it either.

        Instead: give the stream the subjects of its bucket again; recreate a sealed one, and put its records back.
        """
        info = view.snapshot.streams.get(f"KV_{bucket}")
        message_and_fix = write_obstacle(info["config"], bucket, key(*change.address.names)) if info else None
        return refusal("", *message_and_fix) if message_and_fix else None

    on = (Action.CREATE, Action.UPDATE, Action.REPLACE, Action.DELETE)
    return rule(f"{family}546", "bucket-takes-no-record", on=on, needs=("live",), reaction=Reaction.REFUSES)(judge)


def _queue_loss(change: Change, view: View) -> tuple[str, dict[str, int | Amount]] | None:
    queue = "-".join(change.address.names)
    info = view.snapshot.streams.get(queue, {})
    queued = info.get("state", {}).get("messages", 0)
    if not queued:
        return None
    message, quantities = f"this deletes its stream {queue} with {some(queued, 'queued message')}", {"queued": queued}
    if unfinished := _in_flight(view.snapshot.consumers.get(queue, {}).values()):
        message += f", {some(unfinished)} of them delivered and not acknowledged"
        quantities["unacknowledged"] = unfinished
    if retention := _deleting_retention(change.address.stream, view):
        unless = " and nobody else wants" if retention == "interest" else ""
        is_late = view.target.version >= V2_14
        message += (
            f": no member of it processes them any more, and {change.address.stream} deletes what is copied from it{unless}"
            f"{', at the latest when publishers pause' if is_late else ''} ({retention} retention)"
        )
        quantities["messages"] = Amount(0, queued) if is_late else queued
    return message, quantities


def _deleting_retention(stream: str, view: View) -> str:
    """The retention of a stream that deletes what a group has copied; empty where it keeps that."""
    retention = str(view.snapshot.streams.get(stream, {}).get("config", {}).get("retention", "limits"))
    return "" if retention == "limits" else retention


def _position_loss(change: Change, view: View) -> tuple[str, dict[str, int | Amount]] | None:
    """The stream keeps the messages that a static group divides; only the members' durables know how far the members
    have come."""
    infos = view.snapshot.consumers.get(change.address.stream, {})
    names = {
        name for name in durable_names(change.address.name, change.live.config if change.live else {}) if name in infos
    }
    own_infos = [infos[name] for name in names]
    undelivered = total(undelivered_messages(change.address.stream, info, view) for info in own_infos)
    unfinished = _in_flight(own_infos)
    if not (undelivered.most or unfinished):
        return None
    counts = f"{amount(undelivered, 'message')} not delivered yet, {some(unfinished)} not acknowledged"
    message = f"this deletes its members' consumers with their positions: {counts}"
    quantities: dict[str, int | Amount] = {"undelivered": undelivered, "unacknowledged": unfinished}
    if _deleting_retention(change.address.stream, view) == "interest":
        is_shared = infos.keys() > names or view.snapshot.copiers.get(change.address.stream)
        unprocessed = total((undelivered, exactly(unfinished)))
        dropped = Amount(0, unprocessed.most) if is_shared else unprocessed
        unless = ", those that no other consumer wants" if is_shared else ""
        message += f"; {change.address.stream} deletes {amount(dropped)} of them (interest retention){unless}"
        quantities["dropped"] = dropped
    return message, quantities


def _in_flight(consumers: Iterable[Mapping[str, Json]]) -> int:
    return sum(int(consumer.get("num_ack_pending", 0)) for consumer in consumers)


def deletion_rule(family: str) -> Rule:
    """Rule 310 of a family: what is deleted with a group, which is its queue (EG) or its members' positions (SG)."""

    def judge(change: Change, view: View) -> Iterator[Finding]:
        """A group is deleted with what is queued for its members, and its members end.

        `removed:` is the consent to the deletion; this verdict says what it costs. If its stream is a work queue or an interest
        stream, what is queued exists nowhere else, and counts as messages lost: an apply stops if there are more than twice as
        many as the plan said (AP202).

        Instead: let the members process the queue first, or `forget:` the group, which leaves it as it is.
        """
        names = members(change.live.config if change.live else {})
        lost = (_queue_loss if family == "EG" else _position_loss)(change, view)
        message, quantities = lost or ("", {})
        ends = f"its members stop consuming: {few(names)}" if names else ""
        if message or ends:
            message = "; ".join(filter(None, (message, ends)))
            yield Finding(outcome=Outcome.WARNS, quantities=quantities, message=message)

    return rule(f"{family}310", "group-deletion", on=(Action.DELETE,), needs=("live",), reaction=Reaction.HARMS)(judge)


LETTERS = "use letters, digits, `_`, `=` and `-`"


def refusal(path: str, message: str, fix: str) -> Finding:
    """A refusal that no consent lifts; `path` is empty if no field is at fault."""
    return Finding(outcome=Outcome.REFUSED, path=path, message=message, fix=fix)


def bad_name_rule(family: str) -> Rule:
    """Rule 542 of a family: names that cannot be part of a record's key, or of a consumer's name."""

    def judge(change: Change, _view: View) -> Iterator[Finding]:
        """A stream, group or member name cannot be part of a record's key, or of a stream's or consumer's name.

        The reference finds out only after it has written half of the group. Letters, digits, `_`, `=` and `-` work. Stream and
        group together (elastic), or group and member (static), form one name of at most 255 bytes.

        Instead: choose another name.
        """
        stream, group = change.address.names
        for name in [f"{stream}-{group}"] if family == "EG" else durable_names(group, change.wanted):
            if len(name) > LONGEST_NAME and not name_problem(stream):
                message = f"`{name}` is longer than {LONGEST_NAME} bytes, and servers refuse such a name"
                yield refusal("", message, "use shorter names")
        named = (("group", group),) if name_problem(stream) else (("stream", stream), ("group", group))
        for what, name in named:  # an impossible stream name is the stream's own error
            if not NAME.fullmatch(name):
                yield refusal("", f"{what} name `{name}` cannot be part of a group's key", LETTERS)
        places = {"members": "members[{}]", "member_mappings": "member_mappings[{}].member"}
        for field, path in places.items():
            for index, member in enumerate(change.becomes(field) or ()):
                if not NAME.fullmatch(member):
                    yield refusal(path.format(index), f"member name `{member}` cannot be a consumer's name", LETTERS)

    return rule(f"{family}542", "bad-group-name")(judge)


def bad_membership_rule(family: str) -> Rule:
    """Rule 543 of a family: partitions without an owner, and members that would own none."""

    def judge(change: Change, _view: View) -> Iterator[Finding]:
        """The reference refuses this membership, or it leaves members or partitions idle.

        Members beyond `max_members` always idle, and the order of names decides which ones. Mappings must give every partition
        to exactly one member. Members and mappings together stop every running instance.

        Instead: at most as many members as partitions, or mappings that cover each partition once.
        """
        config = change.wanted
        partitions = config.get("max_members", 0)
        if partitions < 1:
            yield refusal(
                "max_members",
                f"max_members {partitions} is below 1, so the group would have no partition",
                "choose a number from 1",
            )
        if partitions > MOST_PARTITIONS:
            yield refusal(
                "max_members",
                f"max_members {partitions:_} needs far more filters than servers can serve",
                f"choose a number up to {MOST_PARTITIONS:_}",
            )
            return
        yield from _duplicate_mapping_refusals(change)
        if config.get("members") and config.get("member_mappings"):
            yield refusal("member_mappings", "members and member_mappings exclude each other", "keep one of them")
        if change.action is Action.CREATE or change.touches("members", "member_mappings", "max_members"):
            yield from _surplus_member_refusals(config, partitions)
            yield from _partition_refusals(config, partitions)

    return rule(f"{family}543", "bad-membership")(judge)


def _duplicate_mapping_refusals(change: Change) -> Iterator[Finding]:
    """Only the file can tell: everywhere else, mappings are looked up by member."""
    names = [mapping.member for mapping in getattr(change.terms, "member_mappings", None) or ()]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield refusal(
                f"member_mappings[{index}].member", f"member {name} is listed twice", "list its partitions in one place"
            )


def _surplus_member_refusals(config: Config, partitions: int) -> Iterator[Finding]:
    members = sorted(set(config.get("members") or ()), key=lambda name: name.encode())
    if len(members) > partitions > 0:
        idle = ", ".join(members[partitions:][:5])
        yield refusal(
            "members",
            f"{len(members)} members share {partitions} partitions, and {idle} would own none",
            "leave out some members; more partitions need another group, or this one recreated",
        )


def _partition_refusals(config: Config, partitions: int) -> Iterator[Finding]:
    if not (mappings := config.get("member_mappings")):
        return
    owned = [number for numbers in mappings.values() for number in numbers]
    outside = sorted({number for number in owned if not 0 <= number < partitions})
    twice = sorted(number for number, times in Counter(owned).items() if times > 1)
    missing = sorted(set(range(partitions)) - set(owned))
    idle = [member for member, numbers in mappings.items() if not numbers]
    fix = f"give each of the partitions 0 to {partitions - 1} to exactly one member"
    for numbers, singular, plural in (
        (outside, "does not exist", "do not exist"),
        (twice, "is given twice", "are given twice"),
        (missing, "is given to nobody", "are given to nobody"),
    ):
        if numbers:
            clause = (
                f"partition {numbers[0]} {singular}"
                if len(numbers) == 1
                else f"partitions {few([*map(str, numbers)], 10)} {plural}"
            )
            yield refusal("member_mappings", clause, fix)
    if idle:
        yield refusal(
            "member_mappings", f"with these mappings {', '.join(idle)} would own no partition", "leave out that member"
        )


def last_member_leaves_rule(family: str) -> Rule:
    """Rule 304 of a family: the last member leaves, which takes consent."""

    def judge(change: Change, _view: View) -> Found:
        """The last member leaves the group. Nobody consumes any more, and the queue grows to its limit. Then the source's own
        limits delete messages that nobody has seen.

        Instead: keep a member; or consent: `allow: [{code: …304, reason: …}]`. To stop managing the membership, leave
        `members` out.
        """
        before = members(change.live.config) if change.live else []
        if not before or members(change.wanted):
            return None
        return Finding(
            outcome=Outcome.NEEDS_CONSENT,
            path="members",
            message="the group would have no members left, and nobody would consume anything from then on",
            fix=f"keep a member, or consent here: {consent_to(f'{family}304')}",
        )

    return rule(f"{family}304", "group-emptied", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)(judge)


def memberless_rule(family: str) -> Rule:
    """Rule 311 of a family: a new group has no member, which is worth a warning."""

    def judge(change: Change, _view: View) -> Found:
        """A new group has no members, so nobody consumes anything. An elastic group's queue grows to its limit meanwhile. Members
        can never be added to a static group later.

        Instead: name its members. An elastic group may also leave them out, if something else manages them.
        """
        elastic = family == "EG"
        stated = change.terms.model_fields_set & {"members", "member_mappings"}
        if members(change.wanted) or (elastic and not stated):
            return None
        return Finding(
            outcome=Outcome.WARNS,
            path="members",
            message="the group has no members, so nobody consumes anything"
            + (", and new messages wait" if elastic else ", and members of a static group can never be added"),
            fix="name its members" + ("; or leave `members` out, if something else manages them" if elastic else ""),
        )

    return rule(f"{family}311", "group-without-members", on=(Action.CREATE,))(judge)
