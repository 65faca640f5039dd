"""A consumer either pulls or pushes: options of the other way, and subjects to which a push consumer cannot deliver."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.amount import exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.kind import declared_config
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.neighbours import stream_of
from reconciler.kinds.consumer_checks.objections import Check, codes, objections
from reconciler.kinds.fields.actions import STANDING, is_new
from reconciler.kinds.fields.words import amount
from reconciler.kinds.losses.unprocessed import undelivered_messages
from reconciler.kinds.subjects.subjects import is_literal, is_valid, matches
from reconciler.model.resource import Config
from reconciler.model.units import show_duration

PUSH_ONLY = "give the consumer a deliver_subject, or leave {} out"
PULL_ONLY = "leave {} out, or leave deliver_subject out"


def pushes(config: Config) -> bool:
    """The consumer delivers to a subject; without `deliver_subject`, clients pull from it."""
    return bool(config.get("deliver_subject"))


def acknowledges_by_flow(config: Config) -> bool:
    """The server then sets push options itself, and asks for a push consumer with an error of its own."""
    return config.get("ack_policy") == "flow_control"


def _push_only(path: str, err_code: int) -> Check:
    return Check(
        path=path,
        wrong=lambda c: c.get(path) and not pushes(c) and not acknowledges_by_flow(c),
        says=f"{path} is for push consumers; clients pull from this one",
        fix=PUSH_ONLY.format(path),
        err_code=err_code,
    )


def _pull_only(path: str, err_code: int = 0) -> Check:
    refused = "" if err_code else ", and has no effect here"
    return Check(
        path=path,
        wrong=lambda c: c.get(path) and pushes(c),
        says=f"{path} is for pull consumers; this one delivers to a subject{refused}",
        fix=PULL_ONLY.format(path),
        err_code=err_code,
    )


WRONG_WAY = (
    _push_only("rate_limit_bps", 10086),
    _push_only("idle_heartbeat", 10088),
    _push_only("flow_control", 10089),
    _pull_only("max_waiting", 10080),
)


@rule("CO561", "option-of-the-other-way", err_code=codes(WRONG_WAY))
def option_of_the_other_way(change: Change, view: View) -> Iterator[Finding]:
    """A pull consumer has options of push consumers, or a push consumer has options of pull consumers.

    The server refuses it: `rate_limit_bps`, `idle_heartbeat` and `flow_control` need a `deliver_subject`, and
    `max_waiting` counts waiting pull requests.

    Instead: leave the option out, or decide whether the consumer pulls or pushes.
    """
    return objections(WRONG_WAY, change, view)


IDLE = (
    *(_pull_only(path) for path in ("max_batch", "max_expires", "max_bytes")),
    Check(
        path="deliver_group",
        wrong=lambda c: c.get("deliver_group") and not pushes(c),
        says="deliver_group is for push consumers, and has no effect here",
        fix=PUSH_ONLY.format("deliver_group"),
    ),
)


@rule("CO562", "option-without-effect", reaction=Reaction.INERT)
def option_without_effect(change: Change, view: View) -> Iterator[Finding]:
    """An option that the server never uses: limits of pull requests on a push consumer, a queue group on a pull consumer, or
    `ack_wait` beside `backoff`, whose first entry the server takes instead.

    Readers of the configuration believe that it has an effect.

    Instead: leave it out.
    """
    yield from (finding for finding in objections(IDLE, change, view) if is_new(change, finding.path))
    if is_new(change, "backoff", "ack_wait"):
        yield from _ack_wait_beside_backoff(change)


def _ack_wait_beside_backoff(change: Change) -> Iterator[Finding]:
    stated = declared_config(change.desired.terms) if change.desired and change.becomes("backoff") else {}
    wait, first = stated.get("ack_wait"), (stated.get("backoff") or (None,))[0]
    if wait and first and wait != first:
        yield Finding(
            outcome=Outcome.WARNS,
            path="ack_wait",
            message=f"ack_wait {show_duration(wait)} has no effect: the server takes the first entry of backoff, {show_duration(first)}",
            fix="leave it out, or write it as the first entry of backoff",
            reaction=Reaction.INERT,
        )


@rule("CO563", "undeliverable-subject", needs=("neighbours",), err_code=(10079, 10081, 10112))
def undeliverable_subject(change: Change, view: View) -> Found:
    """A push consumer delivers to a subject with wildcards, or into its own stream.

    The server refuses it: the stream would store its own deliveries and deliver them again, forever.

    Instead: deliver to a literal subject that the stream does not capture.
    """
    subject = change.becomes("deliver_subject")
    if not subject or not (why := _delivery_problem(subject, stream_of(change, view) or {}, change.address.stream)):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="deliver_subject",
        message=why,
        fix="deliver to a literal subject that the stream does not capture",
        can_stand=is_literal(subject) and is_valid(subject),  # the stream was widened later
    )


def _delivery_problem(subject: str, stream: Config, name: str) -> str | None:
    if not is_literal(subject):
        return f"`{subject}` has wildcards, and a consumer delivers to one literal subject"
    if not is_valid(subject):
        return f"`{subject}` is not a valid subject"
    captured = next((pattern for pattern in stream.get("subjects") or () if matches(subject, pattern)), None)
    return (
        f"stream {name} captures `{captured}`, so it would store deliveries to `{subject}` again" if captured else None
    )


@rule("CO320", "doomed-live", on=STANDING, needs=("live", "neighbours"), reaction=Reaction.DOOMS)
def doomed_live(change: Change, view: View) -> Found:
    """A live push consumer delivers to a subject that its own stream captures: an update widened the stream over it.

    The server checks only the stream when its subjects change, and the consumer when it starts. At its next restart it
    loses the consumer with its position. That needs no further change, so every plan says it.

    Instead: deliver to another subject, or narrow the stream's subjects, before any server restarts.
    """
    subject = change.was("deliver_subject")
    if not subject or not (why := _delivery_problem(subject, stream_of(change, view) or {}, change.address.stream)):
        return None
    pending = undelivered_messages(change.address.stream, change.live.state, view) if change.live else exactly(0)
    return Finding(
        outcome=Outcome.WARNS,
        path="deliver_subject",
        quantities={"messages": pending},
        message=f"the server will lose this consumer and its position at its next restart: {why}; the consumer has yet to deliver "
        f"{amount(pending, 'message')}",
        fix="before any server restarts: deliver to another subject, or narrow the stream's subjects",
    )


@rule("CO112", "bound-deliver-subject", on=(Action.UPDATE,), needs=("live",), err_code=10013)
def bound_deliver_subject(change: Change, _view: View) -> Found:
    """The deliver subject of a push consumer changes while somebody is subscribed to the old one.

    The server refuses it as long as there is a subscriber.

    Instead: stop the clients first, or declare a second consumer and move them.
    """
    if not (change.touches("deliver_subject") and change.was("deliver_subject") and change.becomes("deliver_subject")):
        return None
    if not change.info.get("push_bound"):
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="deliver_subject",
        message=f"the subject cannot change while a client is subscribed to `{change.was('deliver_subject')}`",
        fix="stop the clients first, or declare a second consumer and move them",
    )


RULES = (option_of_the_other_way, option_without_effect, undeliverable_subject, doomed_live, bound_deliver_subject)
