"""Why a step did not end well, in words: refused, changed since the plan, unlike the prediction, or in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reconciler.changes.events import ChangedSince
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.wire.steps import DEEDS, Call, Step
from reconciler.model.written import written_value
from reconciler.server.wire.answers import PLAN_AGAIN, Refusal, advice_for
from reconciler.server.wire.pipeline import NoAnswer


@dataclass(frozen=True, slots=True)
class Unsuccessful:
    reason: Diagnostic
    nothing_done: bool
    changed_since: tuple[ChangedSince, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubtful:
    reason: Diagnostic


def deed_text(step: Step) -> str:
    """Return what the step is to do, as it follows `could not`: `create stream ORDERS`."""
    return DEEDS[step.call].format("/".join(step.on))


def refused(step: Step, answer: Refusal | NoAnswer) -> Unsuccessful:
    """AP102: the server refused, with a way out by its error code. AP101: the request was not sent, or nobody received
    it."""
    if isinstance(answer, NoAnswer):
        message = f"Could not {deed_text(step)}: {answer}. Nothing was done."
        return Unsuccessful(_diagnostic(step, "AP101", "not-sent", message, None), nothing_done=True)
    message = f"The server refused to {deed_text(step)}: {answer}."
    return Unsuccessful(_diagnostic(step, "AP102", "refused", message, advice_for(answer)), True)


def changed(step: Step, differences: Sequence[str]) -> Unsuccessful:
    """AP103: the object differs from what the plan was made from, so it was left alone. `what` describes the
    differences."""
    message = f"Did not {deed_text(step)}, because it changed after the plan was made: {'; '.join(differences)}."
    return Unsuccessful(_diagnostic(step, "AP103", "changed-since-plan", message, PLAN_AGAIN), nothing_done=True)


def gone(step: Step) -> Unsuccessful:
    """AP103 for an object that existed when the plan was made, and no longer does."""
    return changed(step, ["it existed then and is gone now"])


def changed_since(step: Step, changes: Sequence[ChangedSince]) -> Unsuccessful:
    """AP103 with each field that somebody changed after the plan was made, as it was and as it is."""
    texts = [
        f"{change.path} was {_value_text(change.planned, change)} and is {_value_text(change.now, change)} now"
        for change in changes
    ]
    return replace(changed(step, texts), changed_since=tuple(changes))


def _value_text(value: Json, change: ChangedSince) -> str:
    return "absent" if value is None else written_value(value, change.info)


def unreadable(step: Step, answer: Refusal | NoAnswer) -> Unsuccessful:
    """AP104: the object could not be read just before a change, so it was left alone."""
    message = f"Did not {deed_text(step)}, because it could not be read just before: {answer}. Nothing was done."
    return Unsuccessful(_diagnostic(step, "AP104", "unreadable", message, None), nothing_done=True)


def unlike(step: Step, wrong: Sequence[str]) -> Unsuccessful:
    """AP105: the server confirmed the step, but what it holds now differs from the prediction."""
    message = f"The server confirmed the attempt to {deed_text(step)}, but {'; '.join(wrong)}."
    return Unsuccessful(_diagnostic(step, "AP105", "not-as-predicted", message, PLAN_AGAIN), nothing_done=False)


def missing(step: Step) -> Unsuccessful:
    """AP105 for an object that was created or updated, but is missing from a list that was read afterwards."""
    message = f"The server confirmed the attempt to {deed_text(step)}, but a list read afterwards does not have it."
    return Unsuccessful(_diagnostic(step, "AP105", "not-as-predicted", message, PLAN_AGAIN), nothing_done=False)


def remains(step: Step) -> Unsuccessful:
    """AP105 for an object that was deleted, but is still in a list that was read afterwards."""
    message = f"The server confirmed the attempt to {deed_text(step)}, but a list read afterwards still has it."
    return Unsuccessful(_diagnostic(step, "AP105", "not-as-predicted", message, PLAN_AGAIN), nothing_done=False)


def still_there(step: Step, names: Sequence[str]) -> Unsuccessful:
    """AP106: these members did not give up their consumers in time."""
    seconds = step.body["timeout"] / 1e9
    message = f"Members of {step.address} are still consuming after {seconds:g} s: {', '.join(names)}."
    fix = "Stop these members, then apply again; the messages queued in their partitions are still there."
    return Unsuccessful(_diagnostic(step, "AP106", "members-still-attached", message, fix), nothing_done=True)


def position_unknown(step: Step) -> Unsuccessful:
    """AP108: the server does not report a position that later steps need, so the object was not replaced."""
    if step.call is Call.QUEUE_READ:
        return _no_resume_point(step)
    message = f"The position of consumer {'/'.join(step.on)} is unknown, so it was not replaced."
    fix = (
        "Plan again, which says why. Before 2.14 the server reports it only after the first acknowledgement: acknowledge its "
        "first message before."
    )
    return Unsuccessful(_diagnostic(step, "AP108", "position-unknown", message, fix), nothing_done=True)


def _no_resume_point(step: Step) -> Unsuccessful:
    queue, source = step.on[0], step.body["from"]
    message = f"It is unknown which message of {source} comes next in {queue}, so the queue was not deleted."
    fix = (
        f"Let {queue} catch up with {source} (`nats stream info {queue}` shows a lag of 0), or publish something; "
        f"then apply again. If {source} was deleted and recreated, remove the group and declare it again."
    )
    return Unsuccessful(_diagnostic(step, "AP108", "position-unknown", message, fix), nothing_done=True)


def queue_outlives_source(step: Step, gone: int) -> Unsuccessful:
    """AP114: the source lacks more of the queued messages than the plan said, so the queue was not deleted."""
    queue, source, planned = step.on[0], step.body["from"], step.body["gone"]
    message = (
        f"Up to {gone} of the messages queued in {queue} {'is' if gone == 1 else 'are'} no longer in {source}, but "
        f"the plan said {planned}. A new queue could not take them in again, so {queue} was not deleted."
    )
    fix = (
        "Apply the group as it was declared before: then its members can go on and process the queued messages. Or "
        "plan again, which asks for consent to the loss (EG302)."
    )
    return Unsuccessful(_diagnostic(step, "AP114", "queue-outlives-source", message, fix), nothing_done=True)


def replicas_behind(step: Step, how: str) -> Unsuccessful:
    """AP109: the replicas of the stream were not current in time. `how` says what they still lack."""
    seconds = step.body["timeout"] / 1e9
    message = f"Stream {step.on[0]} is still being moved or replicated after {seconds:g} s: {how}."
    fix = "Wait until `nats stream info` shows all replicas current, then apply again: the apply does what is left."
    return Unsuccessful(_diagnostic(step, "AP109", "replicas-behind", message, fix), nothing_done=True)


def not_everywhere(step: Step, how: str) -> Unsuccessful:
    """AP113: some server did not have the consumer in time, so the consumers that wait for it stay as they are."""
    seconds = step.body["timeout"] / 1e9
    message = (
        f"Consumer {'/'.join(step.on)} is not on every server after {seconds:g} s: {how}. A server without its "
        "present configuration would drop messages when the plan takes them from another consumer, so that "
        "consumer stays as it is."
    )
    fix = (
        f"Wait until `nats consumer info {' '.join(step.on)}` shows all replicas current, then apply again: the "
        "apply does what is left. `nats server cluster peer-remove` removes a server that will not come back."
    )
    return Unsuccessful(_diagnostic(step, "AP113", "not-everywhere", message, fix), nothing_done=True)


def starts_too_late(step: Step, message: int, begins: int) -> Unsuccessful:
    """AP112: the new consumer started after `begins`, past a stored `message` that it has to deliver."""
    stream, name = step.on
    text = (
        f"Consumer {stream}/{name} started after message {begins}, but {stream} still holds message {message}, "
        "which it must deliver: the server that leads it has lost part of its copy. Nothing was deleted that keeps "
        "these messages."
    )
    fix = (
        f"Delete it (`nats consumer rm {stream} {name}`), then apply again: the apply recreates it where it "
        "has to start."
    )
    return Unsuccessful(_diagnostic(step, "AP112", "starts-too-late", text, fix), nothing_done=True)


def mirror_behind(step: Step, how: str) -> Unsuccessful:
    """AP110: the mirror did not catch up in time, so it was not promoted. `how` says what it still lacks."""
    seconds = step.body["timeout"] / 1e9
    message = f"Mirror {step.on[0]} has not caught up after {seconds:g} s, so it was not promoted: {how}."
    fix = (
        "Apply again when `nats stream info` shows a lag of 0. If its origin will not come back, plan again: the "
        "plan then says which messages never come, and does not wait for them."
    )
    return Unsuccessful(_diagnostic(step, "AP110", "mirror-behind", message, fix), nothing_done=True)


def not_listening(step: Step, how: str) -> Unsuccessful:
    """AP116: the copy did not begin in time, so what waits for it is not done. `how` says what the server tells of it."""
    copy, origin, seconds = step.on[0], step.body["from"], step.body["timeout"] / 1e9
    message = (
        f"Stream {copy} does not listen to {origin} after {seconds:g} s: {how}. What waits for it is not done yet, because "
        f"{origin} drops what only {copy} wants."
    )
    fix = f"See what `nats stream info {copy}` says of {origin}; then apply again: the apply does what is left."
    return Unsuccessful(_diagnostic(step, "AP116", "copy-silent", message, fix), nothing_done=True)


def queue_behind(step: Step, how: str) -> Unsuccessful:
    """AP115: the queue did not catch up, so nothing was deleted from its source. `how` says what it still lacks."""
    queue, source, seconds = step.on[0], step.body["from"], step.body["timeout"] / 1e9
    message = (
        f"Stream {queue} has copied nothing more of {source} for {seconds:g} s, and does not have everything yet: {how}. {source} "
        "was left as it is, because it would delete messages that no member got."
    )
    fix = f"If {queue} is full, let members process some of it; then apply again: the apply does what is left."
    return Unsuccessful(_diagnostic(step, "AP115", "queue-behind", message, fix), nothing_done=True)


def members_away(step: Step, names: Sequence[str]) -> Unsuccessful:
    """AP111: the membership is written, but these members did not consume again in time."""
    seconds, held, again = (step.body.get(name, 0) / 1e9 for name in ("timeout", "held", "again"))
    how = (
        f" A member that is gone holds its partitions for up to {held:g} s (its ack wait, its inactive_threshold, "
        f"and 1 s); members that run try again every {again:g} s, and 1 s is for the answers."
    )
    message = (
        f"The membership of {step.address} is changed, but {', '.join(names)} consumed before and did not again "
        f"within {seconds:g} s: nobody takes the messages queued in the partitions there.{how if held else ''}"
    )
    fix = "Check whether these members run (`reconciler groups doctor` says what is wrong with each), and start them."
    return Unsuccessful(_diagnostic(step, "AP111", "members-away", message, fix), nothing_done=True)


def members_unseen(step: Step, answer: Refusal | NoAnswer) -> Unsuccessful:
    """AP104: the membership is written, but the server did not say whether the members consume."""
    message = f"The membership of {step.address} is changed, but whether its members consume again could not be read: {answer}."
    fix = "Apply again when the servers answer (`reconciler groups doctor` shows the state of the members)."
    return Unsuccessful(_diagnostic(step, "AP104", "unreadable", message, fix), nothing_done=True)


def in_doubt(step: Step, silence: Refusal | NoAnswer) -> Doubtful:
    """AP107: a request was sent but not answered, and reading the object again did not settle whether it was done."""
    message = f"It is unknown whether the attempt to {deed_text(step)} succeeded: {silence}; reading it again did not settle that."
    return Doubtful(_diagnostic(step, "AP107", "in-doubt", message, PLAN_AGAIN))


def interrupted(step: Step) -> Diagnostic:
    """AP107 for a step that was under way when the run was stopped."""
    message = f"The run was stopped before the attempt to {deed_text(step)} was answered."
    return _diagnostic(step, "AP107", "in-doubt", message, PLAN_AGAIN)


def _diagnostic(step: Step, code: str, name: str, message: str, fix: str | None) -> Diagnostic:
    return Diagnostic(severity=Severity.ERROR, code=code, name=name, message=message, address=step.address, fix=fix)
