"""Why a step did not end well, in words: refused, changed since the plan, unlike the prediction, or in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reconciler.changes.events import Strayed
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.wire.steps import Call, Step
from reconciler.model.written import written
from reconciler.server.remember.capacity import FULL_DISK
from reconciler.server.wire.api import NoAnswer, Refusal

CORRECT = "Correct what the server names and plan again. The plan should have said so before: please report it."
PLAN_AGAIN = "Run `reconciler plan` again and look at what is there now."

DEEDS = {
    Call.STREAM_CREATE: "create stream {}",
    Call.STREAM_UPDATE: "update stream {}",
    Call.STREAM_DELETE: "delete stream {}",
    Call.CONSUMER_CREATE: "create consumer {}",
    Call.CONSUMER_UPDATE: "update consumer {}",
    Call.CONSUMER_DELETE: "delete consumer {}",
    Call.CONSUMER_PAUSE: "pause consumer {}",
    Call.CONSUMER_UNPIN: "unpin consumer {}",
    Call.CONSUMER_READ: "read consumer {}",
    Call.CONSUMER_RESET: "start consumer {} over",
    Call.QUEUE_READ: "read how far stream {} has come",
    Call.QUEUE_SETTLE: "take the start sequence off stream {}",
    Call.ENTRY_PUT: "write entry {}",
    Call.ENTRY_DELETE: "delete entry {}",
    Call.GATE_CONSUMERS_GONE: "see the consumers of {} gone",
    Call.GATE_REPLICAS_CURRENT: "see the replicas of {} current",
    Call.GATE_CONSUMER_EVERYWHERE: "see consumer {} on every server",
    Call.GATE_IN_FLIGHT_DONE: "see what {} has delivered acknowledged",
    Call.GATE_MIRROR_CAUGHT_UP: "see mirror {} caught up",
    Call.GATE_MEMBERS_BACK: "see the members of {} consuming again",
}

FIXES = {
    10005: "The cluster has no servers for so many replicas, or none that is placed so; lower num_replicas, or add servers.",
    10008: "The cluster has no leader at the moment; run apply again when it has.",
    10023: "The server lacks resources; ask its operator, then run apply again.",
    10025: "The server does not know a field of this configuration: it is older than the plan assumed. " + PLAN_AGAIN,
    10027: "The account's limit of streams is reached; raise it or remove streams.",
    10047: "The account or server has no storage left to reserve; lower max_bytes or raise the limit.",
    10028: "The account or server has no memory left to reserve; lower max_bytes or raise the limit.",
    10058: "Somebody created a stream of this name with another configuration. " + PLAN_AGAIN,
    10148: "Somebody created a consumer of this name with another configuration. " + PLAN_AGAIN,
    10185: "The server's API level is too low for this configuration. " + PLAN_AGAIN,
}


@dataclass(frozen=True, slots=True)
class Unsuccessful:
    reason: Diagnostic
    nothing_done: bool
    strayed: tuple[Strayed, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubtful:
    reason: Diagnostic


def deed(step: Step) -> str:
    """What the step is to do, as it follows `could not`: `create stream ORDERS`."""
    return DEEDS[step.call].format("/".join(step.on))


def refused(step: Step, said: Refusal | NoAnswer) -> Unsuccessful:
    """AP102: the server said no, with a way out by its error code. AP101: the request was not sent, or nobody got it."""
    if isinstance(said, NoAnswer):
        message = f"Could not {deed(step)}: {said}. Nothing was done."
        return Unsuccessful(_diagnostic(step, "AP101", "not-sent", message, None), nothing_done=True)
    message = f"The server refused to {deed(step)}: {said}."
    return Unsuccessful(_diagnostic(step, "AP102", "refused", message, _fix(said)), True)


def _fix(said: Refusal) -> str:
    return f"{FULL_DISK}; then apply again." if said.is_for_want_of_disk else FIXES.get(said.err_code, CORRECT)


def changed(step: Step, what: Sequence[str]) -> Unsuccessful:
    """AP103: the object is not what the plan was made from, so it was left alone. `what`: the differences in words."""
    message = f"Did not {deed(step)}, since it changed after the plan was made: {'; '.join(what)}."
    return Unsuccessful(_diagnostic(step, "AP103", "changed-since-plan", message, PLAN_AGAIN), nothing_done=True)


def gone(step: Step) -> Unsuccessful:
    """AP103 for an object that was there when the plan was made, and is not any more."""
    return changed(step, ["it existed then and is gone now"])


def strayed(step: Step, found: Sequence[Strayed]) -> Unsuccessful:
    """AP103 with each field that somebody changed after the plan was made, as it was and as it is."""
    said = [f"{one.path} was {_shown(one.planned, one)} and is {_shown(one.now, one)} now" for one in found]
    return replace(changed(step, said), strayed=tuple(found))


def _shown(value: Json, one: Strayed) -> str:
    return "absent" if value is None else written(value, one.info)


def unreadable(step: Step, said: Refusal | NoAnswer) -> Unsuccessful:
    """AP104: the object could not be read just before it was to be changed, so it was left alone."""
    message = f"Did not {deed(step)}, since it could not be read just before: {said}. Nothing was done."
    return Unsuccessful(_diagnostic(step, "AP104", "unreadable", message, None), nothing_done=True)


def unlike(step: Step, wrong: Sequence[str]) -> Unsuccessful:
    """AP105: the server confirmed the step, but what it holds now is not what was predicted."""
    message = f"The server said ok to {deed(step)}, but {'; '.join(wrong)}."
    return Unsuccessful(_diagnostic(step, "AP105", "not-as-predicted", message, PLAN_AGAIN), nothing_done=False)


def missing(step: Step) -> Unsuccessful:
    """AP105 for what was created or updated, and is not in a list that was read afterwards."""
    message = f"The server said ok to {deed(step)}, but a list read afterwards does not have it."
    return Unsuccessful(_diagnostic(step, "AP105", "not-as-predicted", message, PLAN_AGAIN), nothing_done=False)


def remains(step: Step) -> Unsuccessful:
    """AP105 for what was deleted, and is still in a list that was read afterwards."""
    message = f"The server said ok to {deed(step)}, but a list read afterwards still has it."
    return Unsuccessful(_diagnostic(step, "AP105", "not-as-predicted", message, PLAN_AGAIN), nothing_done=False)


def still_there(step: Step, names: Sequence[str]) -> Unsuccessful:
    """AP106: these members did not give up their consumers in time."""
    seconds = step.body["timeout"] / 1e9
    message = f"Members of {step.address} are still consuming after {seconds:g} s: {', '.join(names)}."
    fix = "Stop these members, then run apply again; what was queued on their partitions is still there."
    return Unsuccessful(_diagnostic(step, "AP106", "members-still-attached", message, fix), nothing_done=True)


def unbound(step: Step) -> Unsuccessful:
    """AP108: the server does not tell a position that later steps need, so the object was not replaced."""
    if step.call is Call.QUEUE_READ:
        return _no_resume_point(step)
    message = f"Consumer {'/'.join(step.on)} does not say where it stands, so it was not replaced."
    fix = "Before 2.14 it says so from the first acknowledgement on: acknowledge its first message, then plan again."
    return Unsuccessful(_diagnostic(step, "AP108", "position-unknown", message, fix), nothing_done=True)


def _no_resume_point(step: Step) -> Unsuccessful:
    queue, source = step.on[0], step.body["from"]
    message = f"Nobody can say which message of {source} comes next in {queue}, so it was not deleted."
    fix = (
        f"Let {queue} catch up with {source} (`nats stream info {queue}` shows a lag of 0), or publish something; then run "
        f"apply again. If {source} was deleted and made anew, remove the group and declare it again."
    )
    return Unsuccessful(_diagnostic(step, "AP108", "position-unknown", message, fix), nothing_done=True)


def outlived(step: Step, gone: int) -> Unsuccessful:
    """AP114: the source lacks more of what is queued than the plan said, so the queue was not deleted."""
    queue, source, planned = step.on[0], step.body["from"], step.body["gone"]
    message = (
        f"Of what is queued in {queue}, up to {gone} {'is' if gone == 1 else 'are'} not in {source} any more, where the plan "
        f"said {planned}: a new queue could not take that in again, so {queue} was not deleted."
    )
    fix = (
        "Apply the group as it was declared before: then its members can go on, and process what is queued. "
        "Or plan again, which asks for consent to the loss (EG302)."
    )
    return Unsuccessful(_diagnostic(step, "AP114", "queue-outlives-source", message, fix), nothing_done=True)


def still_moving(step: Step, how: str) -> Unsuccessful:
    """AP109: the replicas of the stream were not current in time. `how`: what they still lack."""
    seconds = step.body["timeout"] / 1e9
    message = f"Stream {step.on[0]} is still being moved or copied after {seconds:g} s: {how}."
    fix = "Wait until `nats stream info` shows all replicas current, then run apply again: it does what is left."
    return Unsuccessful(_diagnostic(step, "AP109", "replicas-behind", message, fix), nothing_done=True)


def not_everywhere(step: Step, how: str) -> Unsuccessful:
    """AP113: some server did not have the consumer in time, so the consumers that wait for it stay as they are."""
    seconds = step.body["timeout"] / 1e9
    message = (
        f"Consumer {'/'.join(step.on)} is not on every server after {seconds:g} s: {how}. A server that does not know it "
        "as it is now would drop messages when another consumer lets go of them, so that one stays as it is."
    )
    fix = (
        f"Wait until `nats consumer info {' '.join(step.on)}` shows all replicas current, then run apply again: it does what "
        "is left. A server that is gone for good is taken off by `nats server cluster peer-remove`."
    )
    return Unsuccessful(_diagnostic(step, "AP113", "not-everywhere", message, fix), nothing_done=True)


def passes_over(step: Step, message: int, begins: int) -> Unsuccessful:
    """AP112: the new consumer was made behind `begins`, past a stored `message` that it has to deliver."""
    stream, name = step.on
    said = (
        f"Consumer {stream}/{name} was made behind message {begins}, but {stream} still holds message {message}, which it "
        "must deliver: the server that leads it has lost part of its copy. Nothing was deleted that keeps these messages."
    )
    fix = (
        f"Delete it (`nats consumer rm {stream} {name}`), then run apply again: it is made anew where it has to start."
    )
    return Unsuccessful(_diagnostic(step, "AP112", "starts-too-late", said, fix), nothing_done=True)


def still_behind(step: Step, how: str) -> Unsuccessful:
    """AP110: the mirror did not catch up in time, so it was not promoted. `how`: what it still lacks."""
    seconds = step.body["timeout"] / 1e9
    message = f"Mirror {step.on[0]} has not caught up after {seconds:g} s, so it was not promoted: {how}."
    fix = (
        "Apply again when `nats stream info` shows a lag of 0. If its origin is gone for good, plan again: the plan then "
        "says what never comes, and does not wait for it."
    )
    return Unsuccessful(_diagnostic(step, "AP110", "mirror-behind", message, fix), nothing_done=True)


def still_away(step: Step, names: Sequence[str]) -> Unsuccessful:
    """AP111: the membership is written, but these members did not consume again in time."""
    seconds, held, again = (step.body.get(name, 0) / 1e9 for name in ("timeout", "held", "again"))
    how = (
        f" A member that is gone holds its partitions for up to {held:g} s (its ack wait, its inactive_threshold, and 1 s), "
        f"those that run try again every {again:g} s, and 1 s is for the answers."
    )
    message = (
        f"The membership of {step.address} is changed, but {', '.join(names)} consumed before and did not again within "
        f"{seconds:g} s: nobody takes what is queued on the partitions there.{how if held else ''}"
    )
    fix = "Look whether these members run (`reconciler groups doctor` says what is wrong with each), and start them."
    return Unsuccessful(_diagnostic(step, "AP111", "members-away", message, fix), nothing_done=True)


def members_unseen(step: Step, said: Refusal | NoAnswer) -> Unsuccessful:
    """AP104: the membership is written, but the server did not say how the members are."""
    message = (
        f"The membership of {step.address} is changed, but whether its members consume again could not be read: {said}."
    )
    fix = "Apply again when the servers answer (`reconciler groups doctor` says how the members are)."
    return Unsuccessful(_diagnostic(step, "AP104", "unreadable", message, fix), nothing_done=True)


def in_doubt(step: Step, silence: Refusal | NoAnswer) -> Doubtful:
    """AP107: no answer came to a request that was sent, and looking again did not tell whether it was done."""
    message = f"Nobody knows whether the attempt to {deed(step)} succeeded: {silence}; looking again did not tell."
    return Doubtful(_diagnostic(step, "AP107", "in-doubt", message, PLAN_AGAIN))


def interrupted(step: Step) -> Diagnostic:
    """AP107 for a step that was under way when the run was stopped."""
    message = f"The run was stopped before the answer to the attempt to {deed(step)} came."
    return _diagnostic(step, "AP107", "in-doubt", message, PLAN_AGAIN)


def _diagnostic(step: Step, code: str, name: str, message: str, fix: str | None) -> Diagnostic:
    return Diagnostic(severity=Severity.ERROR, code=code, name=name, message=message, address=step.address, fix=fix)
