"""What a change of a stream does to its existing consumers: they exceed new limits, or deliver into its new
subjects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.limits import staying_consumer_count
from reconciler.kinds.fields.words import consent_to, few, in_words
from reconciler.kinds.losses.dependants import consumers, live_consumers, streams
from reconciler.kinds.stream_config.config_checks import objection
from reconciler.kinds.stream_config.origins import FED_FOR, can_remove_limit, is_fed_durably, streams_fed_now
from reconciler.kinds.subjects.subjects import matches
from reconciler.model.fields import Unit
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.version import Version

UNITS: Mapping[str, Unit] = {"max_ack_pending": "count", "inactive_threshold": "duration"}


def _consumers_that_stay(change: Change, view: View) -> Iterator[tuple[str, Config, Change | None]]:
    """Live consumers that the plan does not delete: name, raw configuration, and the plan's update of them, if any."""
    stream = change.address.name
    for name, info in view.snapshot.consumers.get(stream, {}).items():
        theirs = view.changes.get(Address.of("consumer", stream, name))
        if theirs is None or theirs.action is not Action.DELETE:
            yield name, info["config"], theirs if theirs and theirs.action is Action.UPDATE else None


@rule("ST554", "consumers-above-limits", on=(Action.UPDATE,), needs=("live", "neighbours"), err_code=(10069, 10051))
def consumers_above_limits(change: Change, view: View) -> Iterator[Finding]:
    """`consumer_limits` become lower than what a consumer of the stream has.

    The server checks every existing consumer and refuses the update. That includes consumers that leave the field out:
    they were given the old limit. Servers before 2.12.12 and 2.14.3 also refuse to remove a limit, or to set only the
    other one, while any consumer has a value above zero.

    Mirrors and sources of this stream count as well. The server feeds them through consumers of its own, and these have
    an `inactive_threshold` of 10s. From 2.14 on, if the stream is a work queue or an interest stream, they have a
    `max_ack_pending` of 1000 instead.

    Instead: lower the consumers as well, in the same file; on older servers, raise the limit instead of removing it.
    """
    was, becomes = change.was("consumer_limits") or {}, change.becomes("consumer_limits") or {}
    strict = not can_remove_limit(view.target.version)
    if was == becomes:
        return
    for field, unit in UNITS.items():
        limit = becomes.get(field, 0)
        if limit <= 0 and not strict:
            continue
        path = f"consumer_limits.{field}" if field in becomes else "consumer_limits"
        above = [
            name
            for name, raw, theirs in _consumers_that_stay(change, view)
            if _future_value(field, raw, theirs, limit) > limit
        ]
        of_copiers = COPIERS_HAVE[field](change, view.target.version)
        copies = streams_fed_now(change.address.name, view) if of_copiers > limit else []
        if copies:
            least = in_words(of_copiers, unit)
            yield objection(
                path,
                f"{_few_of('stream', copies)} cop{'ies' if len(copies) == 1 else 'y'} this stream through a consumer of the server's "
                f"own, which has {field} {least}: the server refuses a lower limit",
                f"write {field}: {least} or more into consumer_limits",
                affects=streams(copies, view),
            )
        elif above:
            yield objection(
                path,
                f"{_few_of('consumer', above)} {'has' if len(above) == 1 else 'have'} a {field} above "
                + (in_words(limit, unit) if limit else f"0, which is how this server reads a removed {field}"),
                f"lower their {field} as well, in the same file" if limit else "keep a limit that none of them exceeds",
                affects=consumers(change.address.name, above, view),
            )


def _inactive_threshold_of_copiers(change: Change, version: Version) -> int:
    return 0 if _feeds_copies_durably(change, version) else FED_FOR


def _max_ack_pending_of_copiers(change: Change, version: Version) -> int:
    return 1000 if _feeds_copies_durably(change, version) else 0


def _feeds_copies_durably(change: Change, version: Version) -> bool:
    return change.live is not None and is_fed_durably(change.live.config, version)


COPIERS_HAVE = {"max_ack_pending": _max_ack_pending_of_copiers, "inactive_threshold": _inactive_threshold_of_copiers}


def _few_of(noun: str, names: list[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {few(sorted(names))}"


def _future_value(field: str, raw: Config, theirs: Change | None, limit: int) -> int:
    """The value the consumer will have when the stream changes. A consumer that is updated and leaves the field out
    gets the limit."""
    if theirs and (wanted := theirs.becomes(field)) is not None:
        return int(wanted)
    return limit if theirs and limit else int(raw.get(field) or 0)


@rule("ST555", "deliver-subject-taken-in", on=(Action.UPDATE,), needs=("live", "neighbours"), reaction=Reaction.DOOMS)
def deliver_subject_taken_in(change: Change, view: View) -> Iterator[Finding]:
    """The stream's new subjects capture the subject that one of its own push consumers delivers to.

    The stream would store each delivery as a new message and deliver it again. The server does not notice when the
    stream changes; at its next start it refuses the consumer, which is lost.

    Instead: narrower subjects, or another `deliver_subject` for the consumer.
    """
    if not change.touches("subjects"):
        return
    subjects = change.becomes("subjects") or ()
    for name, raw, theirs in _consumers_that_stay(change, view):
        deliver: Json = theirs.becomes("deliver_subject") if theirs else raw.get("deliver_subject")
        taken = next((index for index, subject in enumerate(subjects) if deliver and matches(deliver, subject)), None)
        if taken is not None:
            yield objection(
                f"subjects[{taken}]",
                f"`{subjects[taken]}` captures `{deliver}`, where consumer {name} delivers: the stream would store its own "
                "deliveries, and the server loses the consumer at its next restart",
                f"write narrower subjects, or give {name} another deliver_subject",
                affects=consumers(change.address.name, [name], view),
            )


@rule("ST556", "limits-given-at-restart", on=(Action.UPDATE,), needs=("live", "neighbours"), reaction=Reaction.DOOMS)
def limits_given_at_restart(change: Change, view: View) -> Iterator[Finding]:
    """`consumer_limits` gain a limit for a field that a consumer of the stream leaves out.

    The consumer does not change until the server starts next, and then gets the limit. With an `inactive_threshold` the
    server deletes it, durable or not, once nobody has used it for that long. With a `max_ack_pending` the server
    refuses a push consumer without acknowledgements at that start, and the consumer is lost.

    Instead: write the value you want into the consumer, in the same file; if the consumer is not yours, consent.
    """
    was, becomes = change.was("consumer_limits") or {}, change.becomes("consumer_limits") or {}
    for field, unit in UNITS.items():
        limit = becomes.get(field, 0)
        if limit <= 0 or limit == was.get(field, 0):
            continue
        silent = [
            (name, raw)
            for name, raw, theirs in _consumers_that_stay(change, view)
            if not raw.get(field) and (not theirs or _leaves_field_out(theirs, field))
        ]
        if field == "inactive_threshold" and silent:
            names = [name for name, _ in silent]
            yield replace(_expiry_finding(field, limit, names), affects=consumers(change.address.name, names, view))
        elif lost := [name for name, raw in silent if raw.get("deliver_subject") and raw.get("ack_policy") == "none"]:
            yield objection(
                f"consumer_limits.{field}",
                f"the server would lose {_few_of('consumer', lost)} at its next restart: it then gives them {field} "
                f"{in_words(limit, unit)}, which a push consumer without acknowledgements cannot have",
                f"write {field}: -1 into each of them, in the same file, or leave the limit out",
                affects=consumers(change.address.name, lost, view),
            )


def _leaves_field_out(change: Change, field: str) -> bool:
    return change.desired is not None and change.desired.leaves_to_server(field)


def _expiry_finding(field: str, limit: int, names: list[str]) -> Finding:
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=f"consumer_limits.{field}",
        to=limit,
        message=f"{_few_of('consumer', names)} {'has' if len(names) == 1 else 'have'} no {field}: from its next restart on, the server "
        f"deletes {'it' if len(names) == 1 else 'each of them'} after {in_words(limit, UNITS[field])} without use",
        fix=f"write {field} into {'it' if len(names) == 1 else 'each of them'}, in the same file, or consent here: "
        f"{consent_to('ST556', limit, UNITS[field])}",
    )


@rule(
    "ST557",
    "fewer-consumers-than-there-are",
    on=(Action.UPDATE,),
    needs=("live", "neighbours"),
    reaction=Reaction.HARMS,
)
def fewer_than_there_are(change: Change, view: View) -> Found:
    """`max_consumers` becomes lower than the number of consumers that stay.

    The server accepts the limit and keeps the consumers, but creates no more of them. A consumer that is deleted,
    replaced or lost cannot come back (10026), and an empty account would refuse the same file.

    Instead: write as many as there are, or remove some in the same plan.
    """
    most = change.becomes("max_consumers") or -1
    if not change.touches("max_consumers") or not 0 < most < (count := staying_consumer_count(change, view)):
        return None
    return objection(
        "max_consumers",
        f"{count:_} consumers stay: with max_consumers {most:_} the server recreates none of them after it is lost",
        f"write max_consumers: {count} or more, or remove consumers in the same plan",
        quantities={"consumers": count},
        affects=live_consumers(change.address.name, view),
    )


RULES = (consumers_above_limits, deliver_subject_taken_in, limits_given_at_restart, fewer_than_there_are)
