"""Priority groups that a server refuses, and pins that have no effect or end too early."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from reconciler.changes.change import Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.objections import Check, codes, objections
from reconciler.kinds.consumer_checks.pull_push import pushes
from reconciler.kinds.consumer_config.consumer_fields import GROUP
from reconciler.kinds.consumer_config.consumer_settle import ACK_WAIT, PINNED_TIMEOUT
from reconciler.kinds.fields.actions import ALL, is_new
from reconciler.kinds.fields.known import V2_12
from reconciler.model.resource import Json
from reconciler.model.units import show_duration

NAME = re.compile(GROUP)


@rule("CO571", "bad-priority-group", err_code=(10161, 10162))
def bad_priority_group(change: Change, _view: View) -> Iterator[Finding]:
    """A priority group has an invalid name.

    The server accepts 1 to 16 letters, digits, `-`, `_`, `/` and `=`; its own message wrongly allows `)` and `+`.

    Instead: choose another name.
    """
    if not change.becomes("priority_policy"):
        return
    for index, group in enumerate(change.becomes("priority_groups") or ()):
        if not NAME.fullmatch(group):
            yield Finding(
                outcome=Outcome.REFUSED,
                path=f"priority_groups[{index}]",
                message=f"`{group}` is not a valid name of a priority group",
                fix="use 1 to 16 letters, digits, `-`, `_`, `/` and `=`",
            )


def _policy_check(path: str, err_code: int) -> Check:
    return Check(
        path=path,
        wrong=lambda c: c.get(path) and not c.get("priority_policy"),
        says=f"{path} means nothing without a priority_policy",
        fix=f"write a priority_policy, or leave {path} out",
        err_code=err_code,
        since=V2_12,
        reaction=Reaction.DOOMS,
        within=("priority_policy",),
    )


UNLED = (_policy_check("priority_groups", 10196), _policy_check("priority_timeout", 10197))


@rule("CO572", "groups-without-policy", on=ALL, err_code=codes(UNLED))
def settings_without_policy(change: Change, view: View) -> Iterator[Finding]:
    """Priority groups or a priority timeout have no policy.

    Servers from 2.12 on refuse it. 2.11 accepts it, and the consumer is lost as soon as the server is upgraded.

    Instead: write a `priority_policy`, or leave the groups and the timeout out.
    """
    return objections(UNLED, change, view)


MISFITS = (
    Check(
        path="priority_policy",
        wrong=lambda c: c.get("priority_policy") and not c.get("priority_groups"),
        says="priority_policy {value} needs a priority group",
        fix="write priority_groups with one name, for example [jobs]",
        err_code=10159,
    ),
    Check(
        path="priority_policy",
        wrong=lambda c: c.get("priority_policy") and c.get("priority_groups") and pushes(c),
        says="priority groups are for pull consumers; this one delivers to a subject",
        fix="leave the priority fields out, or leave deliver_subject out",
        err_code=10178,
    ),
)


@rule("CO573", "policy-without-groups", err_code=codes(MISFITS))
def policy_without_groups(change: Change, view: View) -> Iterator[Finding]:
    """A priority policy has no client to serve: it has no group, or the consumer pushes.

    The server refuses it: clients name a group in their pull requests.

    Instead: write `priority_groups: [name]`, on a consumer that clients pull from.
    """
    return objections(MISFITS, change, view)


IDLE = (
    Check(
        path="priority_timeout",
        wrong=lambda c: c.get("priority_timeout") and c.get("priority_policy") in ("overflow", "prioritized"),
        says="priority_timeout has no effect with this policy, which pins nobody",
        fix="leave it out, or write priority_policy: pinned_client",
        within=("priority_policy",),
    ),
)


@rule("CO574", "timeout-without-pins", reaction=Reaction.INERT)
def timeout_without_pins(change: Change, view: View) -> Iterator[Finding]:
    """A priority timeout is set with a policy that pins no client.

    The server stores it and never uses it.

    Instead: leave it out, or choose `pinned_client`.
    """
    return (
        finding for finding in objections(IDLE, change, view) if is_new(change, "priority_timeout", "priority_policy")
    )


@rule("CO575", "pin-ends-early", reaction=Reaction.HARMS)
def pin_ends_early(change: Change, _view: View) -> Iterator[Finding]:
    """A pinned client loses its pin while it still has time to acknowledge: `priority_timeout` is shorter than `ack_wait`,
    or than the longest `backoff`.

    Only a new pull prolongs a pin. A client that works on a message and pulls again afterwards has `priority_timeout` for
    it. Then the server pins another client and delivers the next messages to it, so two clients work at once, and may
    process messages of a key out of order. The server still takes the acknowledgement of the first one.

    Instead: write a `priority_timeout` that is at least as long; or let clients send their next pull while they work.
    """
    parts = ("priority_timeout", "backoff", "ack_wait", "priority_policy", "ack_policy")
    if change.becomes("priority_policy") != "pinned_client" or not is_new(change, *parts):
        return
    timeout, wait = change.becomes("priority_timeout") or PINNED_TIMEOUT, max(ack_waits(change.becomes))
    if timeout >= wait or change.becomes("ack_policy") not in ("explicit", "all"):
        return
    of_wait = "the longest backoff" if change.becomes("backoff") else "ack_wait"
    yield Finding(
        outcome=Outcome.WARNS,
        path=next((part for part in parts if change.touches(part)), parts[0]),
        message=f"a pin ends {show_duration(timeout)} after the client's last pull (priority_timeout), while the client has "
        f"{show_duration(wait)} to acknowledge a message ({of_wait}): two clients may work at once, and may process messages of a key "
        "out of order",
        fix=f"write a priority_timeout of at least {show_duration(wait)}, or let clients send their next pull while they work",
    )


def ack_waits(value_of: Callable[[str], Json]) -> list[int]:
    """The times that clients have to acknowledge, one for each delivery."""
    return list(value_of("backoff") or [value_of("ack_wait") or ACK_WAIT])


RULES = (bad_priority_group, settings_without_policy, policy_without_groups, timeout_without_pins, pin_ends_early)
