"""The clients of a consumer with priority groups: how many wait, which is pinned since when, and what a switch does to
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.changes.change import Change
from reconciler.kinds.consumer_config.consumer_settle import PINNED_TIMEOUT
from reconciler.kinds.fields.times import ZERO, nanoseconds_between
from reconciler.kinds.fields.words import age, listed, some, verb
from reconciler.kinds.stream_config.config_checks import is_since
from reconciler.model.resource import Json
from reconciler.model.units import show_duration
from reconciler.model.wire.version import Version


class Pulls(NamedTuple):
    """Pull requests, in words, and how clients can do without them."""

    words: str
    instead: str
    may_be_served: bool = True
    """Do old servers serve them although they have refused them?"""


ACCEPTED_BY: Mapping[str, Pulls] = {
    "none": Pulls(
        "pulls that name none of its groups",
        "first let every client name one of the groups in its pulls, which a consumer without a policy ignores (stop those of "
        "nats.go: their Consume and Messages take a group only after the switch)",
        may_be_served=False,
    ),
    "overflow": Pulls(
        "pulls with min_pending or min_ack_pending", "first let clients leave out min_pending and min_ack_pending"
    ),
    "pinned_client": Pulls(
        "pulls with the id of a pin", "make sure that a pinned client whose pull fails pulls again without that id"
    ),
}
"""By policy: pulls that no other policy accepts. All of them accept pulls that name one of the consumer's groups and
nothing else; a consumer without a policy accepts any group. Only prioritized looks at a pull's priority."""
ONE_AT_A_TIME = "pinned_client"
SHARED_OUT: Mapping[str, str] = {
    "overflow": "clients get messages however few are pending",
    ONE_AT_A_TIME: "several clients get messages at once, and may process messages of a key out of order",
    "prioritized": "the priority of a pull no longer counts",
}
"""By policy that goes: how messages are shared out from then on, beside the pulls that fail."""
NO_GROUP = "clients that name a group have to leave it out before they start again, for Consume and Messages of nats.go refuse it then"
"""Measured with nats.go 1.55.0 on 2.12.8 and 2.15.1; its Fetch, and the server, take the group."""
BEST_FIRST = "the lowest priority number among waiting pulls gets messages first"


def policy_of(value: Json) -> str:
    """The policy as it is called in a file; a consumer without one has the policy `none`."""
    return str(value or "none")


def failing_pulls_text(change: Change, version: Version) -> str:
    """Which pulls the server refuses once the priority policy has changed, and which go on, in sentences."""
    before, after = policy_of(change.was("priority_policy")), policy_of(change.becomes("priority_policy"))
    is_served = before in ACCEPTED_BY and ACCEPTED_BY[before].may_be_served and not _refuses_for_good(version)
    served = f" {_fate_of_messages_text(change, after, ACCEPTED_BY[before])}" if is_served else ""
    return f"{'; '.join(_effects_on_pulls_texts(change, before, after))}.{served}"


# Measured: 2.11.11, 2.12.8 and 2.14.2 answer 400 and keep the pull, with whatever policy the consumer has then; 2.14.3 does not.
def _refuses_for_good(version: Version) -> bool:
    """Does this server forget a pull that it has refused for its policy?"""
    return is_since(version, Version(2, 12, 12), Version(2, 14, 3))


def _fate_of_messages_text(change: Change, after: str, pulls: Pulls) -> str:
    """What becomes of messages that the server delivers to clients that have given up, and of the others meanwhile."""
    most = change.becomes("max_deliver") or -1
    tries = f", until it was delivered {some(most, 'time')} (max_deliver)" if most > 1 else ""
    is_lost = change.becomes("ack_policy") not in ("explicit", "all") or most == 1
    fate = "no client gets it again" if is_lost else f"the server redelivers it after ack_wait{tries}"
    timeout = show_duration(change.becomes("priority_timeout") or PINNED_TIMEOUT)
    pinned = f", and pins that client, which blocks the others for up to {timeout}" if after == ONE_AT_A_TIME else ""
    return (
        f"Before 2.12.12 and 2.14.3 the server also delivers the next message to {pulls.words}{pinned}: a client that "
        f"stopped at the 400 does not process it, and {fate}."
    )


def _effects_on_pulls_texts(change: Change, before: str, after: str) -> Iterator[str]:
    removed = removed_groups(change) if after != "none" else []
    refused = [ACCEPTED_BY[before].words] if before in ACCEPTED_BY else []
    refused += [f"pulls for {listed(removed)}"] if removed else []
    if refused:
        yield f"{listed(refused)} fail (400), others go on"
    else:
        yield "no pull fails"
    if after == "none":
        yield NO_GROUP
    if before in SHARED_OUT and (before, after) != ("overflow", ONE_AT_A_TIME):
        yield SHARED_OUT[before]
    if after == "prioritized":
        yield BEST_FIRST
    if after == ONE_AT_A_TIME:
        yield f"one client at a time gets messages: {pin_rule_text(change.becomes('priority_timeout') or PINNED_TIMEOUT)}"


def pin_rule_text(timeout: int) -> str:
    """When a pin goes to another client. Measured on 2.11.11 to 2.15.1: a delivery, an ack and a pull that waits prolong no pin."""
    return (
        f"the server pins another client once the pinned one has sent no new pull for {show_duration(timeout)}, even if a pull of it "
        "waits and it acknowledges messages"
    )


def waiting_clients_text(change: Change, is_recreated: bool = False) -> str:
    """What the live consumer says about its clients, and what becomes of a pin."""
    info = change.info
    waiting = info.get("num_waiting", 0)
    requests = f"{some(waiting, 'pull request')} {verb(waiting, 'are')} waiting on it"
    clients = requests if waiting else "No pull request is waiting on it now"
    if not (pin_clause := pin_clause_of(info)):
        return f"{clients}."
    if is_recreated:
        return f"{clients}, and {pin_clause}."
    return (
        f"{clients}, and {pin_clause}. Apply releases the pin, which would block the others{_block_time_text(change)}."
    )


def _block_time_text(change: Change) -> str:
    """How long a pin stands if nobody releases it. One that has outlived its policy keeps a time that no server shows."""
    is_known = change.was("priority_policy") == ONE_AT_A_TIME
    return f" for up to {show_duration(change.was('priority_timeout') or PINNED_TIMEOUT)}" if is_known else ""


def pulls_of_removed_groups_text(change: Change) -> str:
    """The fate of pulls of a removed group that wait, as those of a standby do. The pinned client's own one ends."""
    info = change.info
    if change.was("priority_policy") != ONE_AT_A_TIME or not info.get("num_waiting"):
        return ""
    is_pinned, blocked = bool(pin_clause_of(info)), show_duration(change.was("priority_timeout") or PINNED_TIMEOUT)
    other, again = (", other than the pinned client's own,", " once more") if is_pinned else ("", "")
    return (
        f" A pull for {listed(removed_groups(change))} that waits then{other} is still served, and pins its client{again}: that blocks "
        f"the others for up to {blocked}, unless you run `reconciler unpin {'/'.join(change.address.names)}`."
    )


def pin_clause_of(info: Mapping[str, Json]) -> str:
    """A clause about the client that is pinned now; empty if none is."""
    for group in info.get("priority_groups") or ():
        if group.get("pinned_client_id"):
            since, now = group.get("pinned_ts", ZERO), info.get("ts")
            long = f" (for {age(nanoseconds_between(since, now))} now)" if now and since != ZERO else ""
            return f"one client is pinned for group {group['group']}{long}"
    return ""


def may_hold_a_pin(change: Change) -> bool:
    """Can a client be pinned when the change begins? A pin outlives an update that took its policy away."""
    return change.was("priority_policy") == ONE_AT_A_TIME or bool(pin_clause_of(change.info))


def removed_groups(change: Change) -> list[str]:
    """Priority groups of the live consumer that it no longer has. One that is added takes nothing from the others."""
    kept = change.becomes("priority_groups") or ()
    return [group for group in change.was("priority_groups") or () if group not in kept]


def renaming_advice(change: Change) -> str:
    """What clients do before some of their groups go. A consumer that pins clients has one group (CO123), so they cannot name the
    new one before it takes the place of the old one."""
    removed, after = removed_groups(change), change.becomes("priority_groups") or ()
    is_replaced = len(removed) == len(change.was("priority_groups") or ())
    if change.becomes("priority_policy") != ONE_AT_A_TIME or not is_replaced:
        return f"keep {listed(removed)} until its clients name another group"
    return (
        f"a consumer that pins clients has one group (CO123), so pulls for {listed(after)} fail (400) until apply: let clients that "
        f"get a 400 pull again for {listed(after)}"
    )


def waiting_pulls(change: Change) -> dict[str, int]:
    """How many pull requests wait on the live consumer; empty if none does."""
    info = change.info
    return {"waiting": info["num_waiting"]} if info.get("num_waiting") else {}
