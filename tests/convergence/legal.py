"""Makes a drawn body legal: what a server would refuse for reasons inside the body itself is taken out of it."""

from __future__ import annotations

from reconciler.model.wire.version import Version
from tests.primitives.bodies import Body

NOT_IN_A_MIRROR = (
    "subjects", "sources", "subject_transform", "first_seq", "allow_msg_counter", "allow_msg_schedules", "republish",
    "subject_delete_marker_ttl", "allow_atomic", "allow_batched", "discard_new_per_subject", "duplicate_window",
)  # fmt: skip
PULL_ONLY = (
    "max_waiting", "max_batch", "max_expires", "max_bytes", "priority_groups", "priority_policy", "priority_timeout",
)  # fmt: skip
PUSH_ONLY = ("flow_control", "idle_heartbeat", "deliver_group", "rate_limit_bps")


def _drop(body: Body, *names: str) -> None:
    for name in names:
        body.pop(name, None)


def legal_stream(said: Body, version: Version) -> Body:
    body = dict(said)
    if body.get("mirror"):
        _drop(body, *NOT_IN_A_MIRROR)
    else:
        _drop(body, "mirror", "mirror_direct")
    if body.get("discard_new_per_subject"):
        body.update(discard="new", max_msgs_per_subject=5)
    if body.get("allow_rollup_hdrs") or body.get("subject_delete_marker_ttl") or body.get("allow_msg_schedules"):
        _drop(body, "deny_purge")
    if body.get("subject_delete_marker_ttl") or body.get("allow_msg_schedules"):
        _drop(body, "allow_rollup_hdrs")
    if body.get("allow_msg_counter"):
        body.update(discard="old", retention="limits")
        _drop(body, "allow_msg_ttl", "subject_delete_marker_ttl", "allow_msg_schedules", "discard_new_per_subject")
    if body.get("persist_mode") == "async":
        _drop(body, "allow_atomic", "allow_batched")
        body["storage"] = "file"
    if body.get("sources") or body.get("subject_transform"):
        _drop(body, "allow_msg_schedules")
    if body.get("allow_msg_schedules"):
        _drop(body, "discard", "discard_new_per_subject")
    if body.get("republish", {}).get("dest") == ">" and not body.get("subject_transform"):
        body["republish"] = {**body["republish"], "dest": "rp.>"}  # all to all is a cycle
    if 0 < (body.get("max_age") or 0) < (body.get("duplicate_window") or 0):
        _drop(body, "duplicate_window")
    return body


def legal_consumer(said: Body, stream: Body, version: Version, index: int) -> Body:
    body = dict(said)
    _start(body)
    _push_or_pull(body, version)
    if body.get("filter_subject"):
        _drop(body, "filter_subjects")
    if body.get("backoff"):
        _drop(body, "max_deliver", "ack_wait")
    if body.get("ack_policy", "none") == "none":
        _drop(body, "ack_wait", "backoff", "max_ack_pending")
    limits = stream.get("consumer_limits") or {}
    if limits:
        _drop(body, "max_ack_pending", "inactive_threshold")
    if stream.get("retention") == "workqueue":
        _drop(body, "filter_subject", "filter_subjects", "deliver_policy", "opt_start_seq", "opt_start_time")
        body.update(ack_policy="explicit", filter_subject=f"q{index}.>")
    return body


def _start(body: Body) -> None:
    """Start and policy say the same; the one that needs a filter has one."""
    if body.get("opt_start_seq"):
        body["deliver_policy"] = "by_start_sequence"
        _drop(body, "opt_start_time")
    elif body.get("opt_start_time"):
        body["deliver_policy"] = "by_start_time"
        _drop(body, "opt_start_seq")
    elif body.get("deliver_policy") in ("by_start_sequence", "by_start_time"):
        _drop(body, "deliver_policy")
    if body.get("deliver_policy") == "last_per_subject" and not body.get("filter_subjects"):
        body["filter_subject"] = body.get("filter_subject") or "a.>"


def _push_or_pull(body: Body, version: Version) -> None:
    if body.get("ack_policy") == "flow_control" and not body.get("deliver_subject"):
        body["ack_policy"] = "all"
    if not body.get("deliver_subject"):
        _drop(body, *PUSH_ONLY, "deliver_subject")
        _priority(body)
        return
    _drop(body, *PULL_ONLY)
    if body.get("deliver_group"):
        _drop(body, "flow_control", "idle_heartbeat")
    if body.get("flow_control"):
        body["idle_heartbeat"] = body.get("idle_heartbeat") or 1_000_000_000
    if body.get("ack_policy") == "flow_control":
        body.update(flow_control=True, idle_heartbeat=1_000_000_000)
        _drop(body, "deliver_group", "backoff", "ack_wait", "max_deliver", "max_ack_pending")


def _priority(body: Body) -> None:
    if body.get("priority_policy", "none") == "none" or not body.get("priority_groups"):
        _drop(body, "priority_policy", "priority_groups", "priority_timeout")
        return
    body["priority_groups"] = body["priority_groups"][:1]
    if body["priority_policy"] != "pinned_client":
        _drop(body, "priority_timeout")
    if body.get("ack_policy", "none") == "none":
        body["ack_policy"] = "explicit"
