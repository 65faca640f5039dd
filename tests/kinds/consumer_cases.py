"""Consumers that servers refuse, and their nearest relatives that they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.kinds.judging import Case
from tests.primitives.bodies import MS, S

EXPLICIT: dict[str, Any] = {"ack_policy": "explicit"}
PUSH: dict[str, Any] = {"deliver_subject": "deliver.{name}"}
PINNED = {"priority_policy": "pinned_client", "priority_groups": ["jobs"]}
OVERFLOW = {"priority_policy": "overflow", "priority_groups": ["jobs"]}
FLOW = {"ack_policy": "flow_control", **PUSH}
WORK_QUEUE = {"retention": "workqueue"}
LIMITED = {"consumer_limits": {"max_ack_pending": 5, "inactive_threshold": 60 * S}}
A, B = ({**EXPLICIT, "filter_subject": f"{{name}}.{x}"} for x in "ab")
TIME = "2026-03-01T08:00:00Z"
ROOM = 128 * 1024 - len("_nats.req.level") - len("0") - len("key")


def created(about: str, **wanted: Any) -> Case:
    return Case(about=about, wanted=wanted)


def changed(about: str, before: dict[str, Any], **wanted: Any) -> Case:
    return Case(about=f"update: {about}", before=before, wanted={**before, **wanted})


def queued(about: str, wanted: dict[str, Any], **others: dict[str, Any]) -> Case:
    return Case(about=f"work queue: {about}", stream=WORK_QUEUE, wanted=wanted, others=others)


def _without(config: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in fields}


FILTERS = [
    created("both kinds of filters", filter_subject="{name}.a", filter_subjects=["{name}.b"]),
    created("an empty filter in the list", filter_subjects=["{name}.a", ""]),
    created("an empty filter alone in the list", filter_subjects=[""]),
    created("a filter with an empty token", filter_subject="{name}..a"),
    created("a filter with white space in the list", filter_subjects=["{name}.a b"]),
    created("filters that overlap without one being inside the other", filter_subjects=["{name}.*.x", "{name}.y.*"]),
    created("a filter inside another", filter_subjects=["{name}.*", "{name}.y"]),
    created("the same filter twice", filter_subjects=["{name}.y", "{name}.y"]),
    created("two of three filters overlap", filter_subjects=["{name}.y", "{name}.z.>", "{name}.z.k"]),
    created("filters side by side", filter_subjects=["{name}.y.>", "{name}.z"]),
    created("a filter outside the stream", filter_subject="elsewhere.y"),
    created("a filter wider than the stream", filter_subject=">"),
    changed("a second kind of filter", A, filter_subjects=["{name}.b"]),
    changed("overlapping filters", EXPLICIT, filter_subjects=["{name}.b", "{name}.*"]),
    changed("a filter outside", A, filter_subject="elsewhere"),
    changed("an invalid filter", A, filter_subject="{name}..b"),
]  # fmt: skip

STARTS = [
    created("a start sequence without its policy", opt_start_seq=5),
    created("a start time without its policy", opt_start_time=TIME),
    created("by_start_sequence without sequence", deliver_policy="by_start_sequence"),
    created("by_start_sequence with a sequence", deliver_policy="by_start_sequence", opt_start_seq=4),
    created("by_start_sequence with a time", deliver_policy="by_start_sequence", opt_start_time=TIME),
    created("by_start_sequence with both", deliver_policy="by_start_sequence", opt_start_seq=4, opt_start_time=TIME),
    created("by_start_time without time", deliver_policy="by_start_time"),
    created("by_start_time with a time", deliver_policy="by_start_time", opt_start_time=TIME),
    created("by_start_time with both", deliver_policy="by_start_time", opt_start_seq=4, opt_start_time=TIME),
    *(created(f"{p} with a start sequence", deliver_policy=p, opt_start_seq=4, filter_subject="{name}.a")
      for p in ("last", "new", "last_per_subject")),
    *(created(f"{p} with a start time", deliver_policy=p, opt_start_time=TIME, filter_subject="{name}.a")
      for p in ("last", "new", "last_per_subject")),
    created("last_per_subject without filter", deliver_policy="last_per_subject"),
    created("last_per_subject with a filter", deliver_policy="last_per_subject", filter_subject="{name}.a"),
    created("last_per_subject with filters", deliver_policy="last_per_subject", filter_subjects=["{name}.a"]),
    changed("last_per_subject loses its filter",
            {"deliver_policy": "last_per_subject", "filter_subject": "{name}.a"}, filter_subject=""),
    created("a negative start sequence", deliver_policy="by_start_sequence", opt_start_seq=-1),
]  # fmt: skip

WAITS = [
    *(created(f"a negative ack_wait, ack {ack}", ack_policy=ack, ack_wait=-1) for ack in ("none", "all", "explicit")),
    created("a negative backoff", **EXPLICIT, backoff=[S, -1]),
    created("a negative first backoff", **EXPLICIT, backoff=[-1]),
    created("a zero backoff", **EXPLICIT, backoff=[0, S]),
    created("more backoff than deliveries", **EXPLICIT, backoff=[S, S, S], max_deliver=2),
    created("as much backoff as deliveries", **EXPLICIT, backoff=[S, S, S], max_deliver=3),
    created("backoff without limit of deliveries", **EXPLICIT, backoff=[S, S, S], max_deliver=-1),
    created("backoff beside another ack_wait", **EXPLICIT, backoff=[S, 2 * S], ack_wait=5 * S),
    changed("a negative ack_wait", EXPLICIT, ack_wait=-1),
    changed("a negative backoff", EXPLICIT, backoff=[-1]),
    changed("fewer deliveries than backoff", {**EXPLICIT, "backoff": [S, S]}, max_deliver=1),
    created("max_expires of a nanosecond", max_expires=1),
    created("max_expires below a millisecond", max_expires=MS - 1),
    created("max_expires of a millisecond", max_expires=MS),
    changed("max_expires below a millisecond", EXPLICIT, max_expires=1),
]

NUMBERS = [
    created("negative limits of pull requests", max_expires=-5, max_batch=-5, max_bytes=-5, max_waiting=-5),
    created("other negative limits", **EXPLICIT, max_deliver=-7, inactive_threshold=-7, max_ack_pending=-9),
    created("a negative rate limit", **PUSH, rate_limit_bps=-1),
    created("every share of samples", sample_freq="999999999%"),
    created("a description of 4096 bytes", description="x" * 4096),
    created("a description of 4097 bytes", description="x" * 4097),
    created("a description of 4098 bytes in 2049 letters", description="ü" * 2049),
    changed("a description of 4097 bytes", {}, description="x" * 4097),
    created("metadata that just fit", metadata={"key": "x" * ROOM}),
    created("metadata of a byte too many", metadata={"key": "x" * (ROOM + 1)}),
    changed("metadata of a byte too many", {"metadata": {"k": "v"}}, metadata={"key": "x" * (ROOM + 1)}),
]

PULL_AND_PUSH = [
    created("a rate limit on a pull consumer", rate_limit_bps=1),
    created("a heartbeat on a pull consumer", idle_heartbeat=S),
    created("flow control on a pull consumer", flow_control=True),
    created("a negative heartbeat on a pull consumer", idle_heartbeat=-S),
    created("a queue group on a pull consumer", deliver_group="q"),
    created("max_ack_pending without acks on a pull consumer", max_ack_pending=5),
    created("a push consumer", **PUSH),
    created("a push consumer with max_waiting", **PUSH, max_waiting=5),
    created("a push consumer with limits of pull requests", **PUSH, max_batch=5, max_bytes=5, max_expires=1),
    created("max_ack_pending without acks on a push consumer", **PUSH, max_ack_pending=5),
    created("no limit of pending messages without acks", **PUSH, max_ack_pending=-1),
    created("max_ack_pending with acks on a push consumer", **PUSH, **EXPLICIT, max_ack_pending=5),
    created("delivery to *", deliver_subject="a.*"),
    created("delivery to >", deliver_subject="a.>"),
    created("delivery to an invalid subject", deliver_subject="a..b"),
    created("delivery to white space", deliver_subject="a b"),
    created("delivery to a star inside a token", deliver_subject="a.b*"),
    created("delivery into the own stream", deliver_subject="{name}.x"),
    created("delivery beside the own stream", deliver_subject="{name}"),
    created("delivery into another stream", deliver_subject="s1.x"),
    created("a heartbeat of 99ms", **PUSH, idle_heartbeat=99 * MS),
    created("a heartbeat of 100ms", **PUSH, idle_heartbeat=100 * MS),
    created("a negative heartbeat", **PUSH, idle_heartbeat=-1),
    created("flow control without heartbeat", **PUSH, flow_control=True),
    created("flow control with heartbeat", **PUSH, flow_control=True, idle_heartbeat=S),
    created("flow control with a negative heartbeat", **PUSH, flow_control=True, idle_heartbeat=-1),
    changed("a rate limit on a pull consumer", EXPLICIT, rate_limit_bps=1),
    changed("max_ack_pending without acks", PUSH, max_ack_pending=5),
    changed("limits of pull requests on a push consumer", PUSH, max_batch=5),
    changed("delivery to *", PUSH, deliver_subject="a.*"),
    changed("delivery into the own stream", PUSH, deliver_subject="{name}.q"),
    changed("delivery elsewhere", PUSH, deliver_subject="elsewhere.{name}"),
    replace(changed("delivery elsewhere while somebody listens", PUSH, deliver_subject="elsewhere.{name}"),
            listened="deliver.{name}"),
    replace(changed("a description while somebody listens", PUSH, description="x"), listened="deliver.{name}"),
]  # fmt: skip

FLOW_CONTROLLED = [
    created("acks by flow control on a pull consumer", ack_policy="flow_control"),
    created("acks by flow control", **FLOW),
    created("acks by flow control, spelled out", **FLOW, flow_control=True, idle_heartbeat=S, max_ack_pending=10),
    created("acks by flow control with a heartbeat of 2s", **FLOW, idle_heartbeat=2 * S),
    created("acks by flow control with flow control off", **FLOW, flow_control=False),
    created("acks by flow control without limit", **FLOW, max_ack_pending=-1),
    created("acks by flow control with ack_wait", **FLOW, ack_wait=S),
    created("acks by flow control with the usual ack_wait", **FLOW, ack_wait=30 * S),
    created("acks by flow control with backoff", **FLOW, backoff=[S]),
    created("acks by flow control with max_deliver", **FLOW, max_deliver=3),
    created("acks by flow control with max_deliver -1", **FLOW, max_deliver=-1),
    queued("acks by flow control", FLOW),
]
FLOW_CHANGED = [
    changed("a description beside acks by flow control", FLOW, description="x"),
    changed("ack_wait beside acks by flow control", FLOW, ack_wait=S),
    changed("max_deliver beside acks by flow control", FLOW, max_deliver=4),
    changed("no limit beside acks by flow control", FLOW, max_ack_pending=-1),
]

LIMITS = [
    *(Case(about=f"consumer_limits: {about}", stream=LIMITED, wanted=wanted) for about, wanted in {
        "more pending than allowed": {**EXPLICIT, "max_ack_pending": 6},
        "as many pending as allowed": {**EXPLICIT, "max_ack_pending": 5},
        "no limit of pending": {**EXPLICIT, "max_ack_pending": -1},
        "more pending than allowed without acks": {"max_ack_pending": 6},
        "idle for too long": {"inactive_threshold": 61 * S},
        "idle for as long as allowed": {"inactive_threshold": 60 * S},
        "an inherited limit without acks on a pull consumer": {},
        "an inherited limit without acks on a push consumer": PUSH,
        "an inherited limit waived": {**PUSH, "max_ack_pending": -1},
    }.items()),
    Case(about="update: more pending than allowed", stream=LIMITED, before=EXPLICIT, wanted={**EXPLICIT, "max_ack_pending": 6}),
    Case(about="update: idle for too long", stream=LIMITED, before=EXPLICIT, wanted={**EXPLICIT, "inactive_threshold": 61 * S}),
    Case(about="update: the waiver of an inherited limit ends", stream=LIMITED,
         before={**PUSH, "max_ack_pending": -1}, wanted={**PUSH, "description": "x"}),
    *(created(f"{n} replicas", **EXPLICIT, num_replicas=n) for n in (-1, 0, 1, 2, 6)),
    *(changed(f"{n} replicas", EXPLICIT, num_replicas=n) for n in (-1, 1, 3)),
    Case(about="more consumers than max_consumers", stream={"max_consumers": 1}, wanted=EXPLICIT, others={"other": EXPLICIT}),
    Case(about="as many consumers as max_consumers", stream={"max_consumers": 2}, wanted=EXPLICIT, others={"other": EXPLICIT}),
    Case(about="update: with max_consumers reached", stream={"max_consumers": 1}, before=EXPLICIT,
         wanted={**EXPLICIT, "description": "x"}),
    Case(about="an ephemeral of that name", wanted=EXPLICIT,
         others={"c": {"durable_name": "", "inactive_threshold": 600 * S, **EXPLICIT}}),
]  # fmt: skip

PRIORITY = [
    *(created(f"a priority group named {group!r}", priority_policy="overflow", priority_groups=[group])
      for group in ("x" * 17, "x" * 16, "a)", "a+", "a b", "a/_=-", "ü", "", "a.b", "a\n")),
    created("a bad second group", priority_policy="overflow", priority_groups=["a", "b!"]),
    created("a bad group without policy", priority_groups=["a!"]),
    created("a group without policy", priority_groups=["a"]),
    created("a group with policy none", priority_policy="none", priority_groups=["a"]),
    created("a group without policy on a push consumer", **PUSH, priority_groups=["a"]),
    created("a timeout without policy", priority_timeout=S),
    created("a timeout on a push consumer", **PUSH, priority_timeout=S),
    *(created(f"{p} without group", priority_policy=p) for p in ("none", "overflow", "pinned_client", "prioritized")),
    *(created(f"{p} on a push consumer", **PUSH, priority_policy=p, priority_groups=["a"])
      for p in ("overflow", "pinned_client", "prioritized")),
    created("pinned_client on a push consumer without group", **PUSH, priority_policy="pinned_client"),
    *(created(f"{p} with a timeout", priority_policy=p, priority_groups=["a"], priority_timeout=S)
      for p in ("overflow", "pinned_client", "prioritized")),
    changed("a group without policy", EXPLICIT, priority_groups=["a"]),
    changed("a timeout without policy", EXPLICIT, priority_timeout=S),
    changed("a policy without group", EXPLICIT, priority_policy="overflow"),
    changed("a bad group", EXPLICIT, **{**PINNED, "priority_groups": ["a!"]}),
    changed("a policy on a push consumer", PUSH, **PINNED),
    changed("policy none beside groups", {**EXPLICIT, **OVERFLOW}, priority_policy="none"),
    Case(about="update: no policy and no groups any more", before={**EXPLICIT, **PINNED}, wanted=EXPLICIT),
]  # fmt: skip

OPEN = {"filter_subject": ""}
QUEUES = [
    queued("ack none", {}), queued("ack all", {"ack_policy": "all"}), queued("ack explicit", EXPLICIT),
    queued("ack none on a push consumer", PUSH), queued("ack all on a push consumer", {**PUSH, "ack_policy": "all"}),
    *(queued(f"deliver {p}", {**EXPLICIT, "deliver_policy": p}) for p in ("new", "last")),
    queued("deliver by sequence", {**EXPLICIT, "deliver_policy": "by_start_sequence", "opt_start_seq": 1}),
    queued("deliver last per subject", {**A, "deliver_policy": "last_per_subject"}),
    queued("an unfiltered second", EXPLICIT, other=A),
    queued("two unfiltered", EXPLICIT, other=EXPLICIT),
    queued("a filter beside an unfiltered one", A, other=EXPLICIT),
    queued("the same filter", A, other=A),
    queued("another filter", B, other=A),
    queued("a filter that includes another's", {**EXPLICIT, "filter_subject": "{name}.*"}, other=A),
    queued("filters that may meet", {**EXPLICIT, "filter_subject": "{name}.*.x"}, other={**EXPLICIT, "filter_subject": "{name}.y.*"}),
    queued("one of two filters is another's", {**EXPLICIT, "filter_subjects": ["{name}.c", "{name}.a"]}, other=A),
    queued("two filters beside another", {**EXPLICIT, "filter_subjects": ["{name}.c", "{name}.b"]}, other=A),
    queued("everything as a filter", {**EXPLICIT, "filter_subject": ">"}, other=A),
    queued("beside everything as a filter", A, other={**EXPLICIT, "filter_subjects": [">"]}),
    queued("the same filter outside the stream", {**EXPLICIT, "filter_subject": "zz"}, other={**EXPLICIT, "filter_subject": "zz"}),
    queued("a star inside a token", {**EXPLICIT, "filter_subject": "{name}.*a.x"}, other={**EXPLICIT, "filter_subject": "{name}.b.*"}),
    queued("a third that meets the second", {**EXPLICIT, "filter_subject": "{name}.b.x"}, one=A, two={**B, "filter_subject": "{name}.b.>"}),
    Case(about="limits: two unfiltered", wanted=EXPLICIT, others={"other": EXPLICIT}),
]  # fmt: skip

QUEUE_CHANGES = [
    *(Case(about=f"work queue, update: {about}", stream=WORK_QUEUE, before=A, wanted=wanted, others={"other": B})
      for about, wanted in {
        "another's filter": {**A, "filter_subject": "{name}.b"},
        "one of two filters is another's": {**EXPLICIT, "filter_subjects": ["{name}.b", "{name}.c"]},
        "another filter": {**A, "filter_subject": "{name}.c"},
        "a description": {**A, "description": "x"},
        "no filter any more": EXPLICIT,
        "another ack_policy": {**A, "ack_policy": "all"},
    }.items()),
    Case(about="work queue, update: beside one that lost its filter", stream=WORK_QUEUE, before=A, others={"other": B},
         meddled={"other": EXPLICIT}, wanted={**A, "description": "x"}),
    Case(about="work queue, update: of one that lost its filter", stream=WORK_QUEUE, before=A, others={"other": B},
         meddled={"c": EXPLICIT}, wanted={**EXPLICIT, "description": "x"}),
    Case(about="work queue, update: alone", stream=WORK_QUEUE, before=A, wanted=EXPLICIT),
]  # fmt: skip

CASES = [*FILTERS, *STARTS, *WAITS, *NUMBERS, *PULL_AND_PUSH, *FLOW_CONTROLLED, *LIMITS, *PRIORITY, *QUEUES, *QUEUE_CHANGES]  # fmt: skip

REPLICATED = [
    Case(about=f"{kind} on three servers: {n} replicas", wanted={**EXPLICIT, "num_replicas": n}, before=before,
         stream={"retention": retention, "num_replicas": held, "storage": "memory"})
    for kind, retention, held in (
        ("limits", "limits", 3), ("interest", "interest", 3), ("queue", "workqueue", 3), ("single", "interest", 1)
    )
    for n in (-1, 1, 2, 3, 4)
    for before in (None, EXPLICIT)
]  # fmt: skip
