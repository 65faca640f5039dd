"""What to do about a request that the server refused, by its cause."""

from __future__ import annotations

from reconciler.server.wire.answers import Refusal

CORRECT = "Correct what the server names and plan again. The plan should have foretold this: please report it."
PLAN_AGAIN = "Run `reconciler plan` again and look at the live state."
FULL_DISK = (
    "make room on the server's disk, which is full (its log says more if it is not), and restart that server if it "
    "still stores nothing"
)
NOTHING_LEFT = 10047
"""The account or the server has no file storage left to reserve."""
FIXES = {
    10005: (
        "The cluster has no servers for so many replicas, or none that match the placement; lower "
        "num_replicas, or add servers."
    ),
    10008: "The cluster has no leader at the moment; apply again when it has one.",
    10023: "The server lacks resources; ask its operator, then apply again.",
    10025: "The server does not know a field of this configuration: it is older than the plan assumed. " + PLAN_AGAIN,
    10027: "The account's limit of streams is reached; raise it or delete streams.",
    NOTHING_LEFT: "The account or server has no storage left to reserve; lower max_bytes or raise the limit.",
    10028: "The account or server has no memory left to reserve; lower max_bytes or raise the limit.",
    10058: "Somebody created a stream of this name with another configuration. " + PLAN_AGAIN,
    10148: "Somebody created a consumer of this name with another configuration. " + PLAN_AGAIN,
    10185: "The server's API level is too low for this configuration. " + PLAN_AGAIN,
}


def for_refusal(refusal: Refusal) -> str:
    """Return the way out of a refusal to make, change or delete an object."""
    return f"{FULL_DISK}; then apply again." if refusal.is_for_want_of_disk else FIXES.get(refusal.err_code, CORRECT)
