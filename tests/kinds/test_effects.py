"""Every field says what clients experience when it changes, a rule foretells it, and changes that nobody feels stay silent."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.changes.change import Action
from reconciler.changes.effect import Way
from reconciler.changes.kind import Kind
from reconciler.engine.decide import unanswered_questions
from reconciler.kinds import REGISTRY
from reconciler.kinds.buckets.kv_bucket import SHAPE as KV
from reconciler.kinds.buckets.object_store import SHAPE as OB
from reconciler.kinds.consumer.rules import FIXED
from reconciler.kinds.consumer_config.consumer_config import FIELDS as CONSUMER_FIELDS
from reconciler.kinds.elastic_group import ELASTIC_GROUP
from reconciler.kinds.fields.field_effects import Felt
from reconciler.kinds.fields.known import Known, known_fields
from reconciler.kinds.static_group import STATIC_GROUP
from reconciler.kinds.stream_config.stream_config import FIELDS
from reconciler.model.code_pages import page
from reconciler.model.resource import Terms
from tests.support.topologies import facts, scene

SHAPES = {shape.kind: shape for shape in (KV, OB)}
ELSEWHERE = {
    "CO609": "a pause is what its own field says: a note counts what is pending, which has a page",
    **{
        f"{family}611": "nobody can tell whether somebody publishes just then: a note, which has a page"
        for family in ("ST", "KV", "OB")
    },
}
"""Effects that no rule of this number foretells, with the reason."""


def effects(kind: Kind) -> Iterator[tuple[str, tuple[Felt, ...] | None]]:
    """By the name that a file gives the field. Fields of buckets are those of their streams."""
    if shape := SHAPES.get(kind.name):
        yield from ((own, FIELDS[shape.stream_field(own)].felt) for own in shape.keys)
    else:
        yield from ((name, about.felt) for name, about in known_fields(kind.spec).items())


@pytest.mark.parametrize("kind", REGISTRY.kinds, ids=lambda kind: kind.name)
def test_every_field_says_what_clients_experience(kind: Kind) -> None:
    found = dict(effects(kind))
    assert [name for name, said in found.items() if said is None] == [], "write NOT_FELT, or the effect"
    assert kind.spec.model_fields.keys() - Terms.model_fields.keys() - {"external"} == found.keys()


FILLED_IN = ("ack_wait", "duplicate_window")
"""A server gives these a value where nobody does: they are raised and lowered, never set."""
NUMBERS = ("count", "bytes", "duration")


def ways(name: str, about: Known) -> set[Way]:
    """How a field can move, by what it holds."""
    if name in FILLED_IN:
        return {Way.RAISED, Way.LOWERED}
    if about.unit == "flag":
        return {Way.SET, Way.UNSET}
    if about.unit in NUMBERS:
        return {Way.SET, Way.UNSET, Way.RAISED, Way.LOWERED}
    return {Way.SWITCHED} if about.default else {Way.SET, Way.UNSET, Way.SWITCHED}


GROUPS = {kind.name: known_fields(kind.spec) for kind in (STATIC_GROUP, ELASTIC_GROUP)}
TABLES = {"stream": FIELDS, "consumer": CONSUMER_FIELDS, **GROUPS}


@pytest.mark.parametrize(("kind", "fields"), TABLES.items(), ids=TABLES)
def test_every_way_in_which_a_field_moves_is_spoken_of(kind: str, fields: Mapping[str, Known]) -> None:
    silent = {
        name: sorted(missing)
        for name, about in fields.items()
        if about.felt and (missing := ways(name, about) - {way for one in about.felt for way in one.ways})
    }
    assert silent == {}, "write the effect, or `unfelt` with what it means"


FELT_BY_NOBODY_ELSE = {
    **dict.fromkeys(("deliver_policy", "opt_start_seq", "opt_start_time"), "a recreated consumer keeps its position"),
    "mem_storage": "clients do not see where a server keeps a position",
    "deliver_subject": "clients must subscribe instead of pull, or the other way round, as the plan says of the new consumer",
}
"""Fields that only a replacement changes, with the reason why clients feel nothing beside that."""


def test_clients_of_a_recreated_consumer_feel_more_than_that_it_is_recreated() -> None:
    silent = {
        name: ways(name, CONSUMER_FIELDS[name])
        - {way for one in CONSUMER_FIELDS[name].felt or () if one.rule != words.code[2:] for way in one.ways}
        for name, words in FIXED.items()
        if name not in FELT_BY_NOBODY_ELSE
    }
    assert {name: missing for name, missing in silent.items() if missing} == {}, "write what clients feel beside it"


def test_every_effect_has_a_page() -> None:
    rules = {rule.code for rule in REGISTRY.rules()}
    codes = {
        f"{kind.family}{one.rule}"
        for kind in REGISTRY.kinds
        for _, said in effects(kind)
        for one in said or ()
        if one.rule
    }
    assert [code for code in sorted(codes) if code not in rules and page(code) is None] == []


@pytest.mark.parametrize("kind", REGISTRY.kinds, ids=lambda kind: kind.name)
def test_every_effect_is_foretold_by_a_rule(kind: Kind) -> None:
    codes = {rule.code for rule in REGISTRY.rules()}
    wanted = {f"{kind.family}{one.rule}" for _, said in effects(kind) for one in said or () if one.rule}
    assert wanted - codes - ELSEWHERE.keys() == set()


def test_nothing_is_listed_that_a_rule_foretells() -> None:
    codes = {rule.code for rule in REGISTRY.rules()}
    wanted = {
        f"{kind.family}{one.rule}"
        for kind in REGISTRY.kinds
        for _, said in effects(kind)
        for one in said or ()
        if one.rule
    }
    assert ELSEWHERE.keys() & codes == set()
    assert ELSEWHERE.keys() <= wanted


STREAM = {
    "subjects": ["{0}.>"],
    "max_msgs": 100,
    "max_bytes": 100_000,
    "max_age": "1h",
    "discard": "new",
    "num_replicas": 3,
}
CONSUMER = {"ack_policy": "explicit", "ack_wait": "10s", "max_deliver": 3, "max_batch": 10, "max_ack_pending": 50}
HARMLESS: dict[str, list[dict[str, Any]]] = {
    "stream": [
        {"description": "x"}, {"metadata": {"a": "b"}}, {"labels": {"a": "b"}}, {"max_msgs": 200}, {"max_bytes": 200_000},
        {"max_age": "2h"}, {"max_age": 0},
        {"compression": "s2"}, {"allow_direct": True}, {"allow_rollup_hdrs": True}, {"duplicate_window": "10m"},
        {"republish": {"dest": "again.{0}.>"}}, {"max_msgs": -1}, {"max_bytes": -1},
    ],
    "consumer": [
        {"description": "x"}, {"metadata": {"a": "b"}}, {"labels": {"a": "b"}}, {"ack_wait": "20s"},
        {"max_batch": 20}, {"max_batch": 0}, {"max_ack_pending": 100}, {"max_ack_pending": -1},
        {"sample_freq": "10%"}, {"num_replicas": 3}, {"protect": True},
    ],
    "kv_bucket": [
        {"description": "x"}, {"metadata": {"a": "b"}}, {"labels": {"a": "b"}}, {"history": 9}, {"ttl": "2h"}, {"ttl": 0},
        {"max_bytes": 200_000}, {"max_bytes": -1}, {"max_value_size": 2000}, {"max_value_size": -1},
        {"compression": "s2"}, {"republish": {"dest": "again.{0}.>"}}, {"protect": True},
    ],
    "object_store": [
        {"description": "x"}, {"metadata": {"a": "b"}}, {"labels": {"a": "b"}}, {"ttl": "2h"}, {"ttl": 0},
        {"max_bytes": 200_000}, {"max_bytes": -1}, {"compression": "s2"},
        {"protect": True},
    ],
    "static_group": [{"labels": {"a": "b"}}, {"protect": True}],
    "elastic_group": [{"labels": {"a": "b"}}, {"protect": True}],
}  # fmt: skip
BUCKET = {"history": 5, "ttl": "1h", "max_bytes": 100_000, "max_value_size": 1000, "num_replicas": 3}
STORE = {"ttl": "1h", "max_bytes": 100_000, "num_replicas": 3}
STATIC = {"type": "static", "max_members": 2, "members": ["a", "b"]}
ELASTIC = {"type": "elastic", "max_members": 2, "members": ["a", "b"]}
HOLDS = {"kv_bucket": ("kv_buckets", BUCKET), "object_store": ("object_stores", STORE)}
WITHIN: dict[str, tuple[str, dict[str, Any]]] = {
    "consumer": ("consumers", CONSUMER), "static_group": ("groups", STATIC), "elastic_group": ("groups", ELASTIC)
}  # fmt: skip
CHANGES = [(kind, change) for kind, changes in HARMLESS.items() for change in changes]


def harmless(number: int) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Section, name, and what stands there before and after: each change at least once, 200 in all."""
    draw = random.Random(number)
    for turn, (kind, drawn) in enumerate([*CHANGES, *draw.choices(CHANGES, k=200 - len(CHANGES))]):
        change = {key: {"dest": f"again.s{turn}.>"} if key == "republish" else value for key, value in drawn.items()}
        stream = {**STREAM, "subjects": [f"s{turn}.*"]}
        if kind in HOLDS:
            section, before = HOLDS[kind]
            yield section, f"S{turn}", before, {**before, **change}
        elif kind in WITHIN:
            inside, before = WITHIN[kind]
            yield (
                "streams", f"S{turn}", {**stream, inside: {"c": before}}, {**stream, inside: {"c": {**before, **change}}}
            )  # fmt: skip
        else:
            stream["consumers"] = {"c": CONSUMER}
            yield "streams", f"S{turn}", stream, {**stream, **change}


def test_every_kind_has_harmless_changes() -> None:
    assert HARMLESS.keys() == {kind.name for kind in REGISTRY.kinds}


def test_a_plan_of_200_harmless_changes_says_nothing_about_clients(tmp_path: Path) -> None:
    drawn = list(harmless(7))
    texts = []
    for side in (2, 3):
        path = tmp_path / f"{side}.yaml"
        file: dict[str, Any] = {}
        for one in drawn:
            file.setdefault(one[0], {})[one[1]] = one[side]
        YAML().dump(file, path)
        texts.append(path.read_text(encoding="utf-8"))
    now = "2026-06-01T00:00:00Z"
    state = {
        "messages": 90,
        "bytes": 90_000,
        "num_subjects": 9,
        "first_seq": 1,
        "last_seq": 90,
        "last_ts": now,
        "first_ts": now,
    }
    consumer = {
        "num_pending": 10,
        "num_ack_pending": 20,
        "num_redelivered": 5,
        "delivered": {"consumer_seq": 30, "stream_seq": 30},
    }
    names = [{"kv_buckets": "KV_", "object_stores": "OBJ_"}.get(section, "") + name for section, name, *_ in drawn]
    with_consumers = [name for section, name, before, _ in drawn if section == "streams" and "consumers" in before]
    led = {"cluster": {"leader": "n1"}}
    raw = {
        "streams": {name: {"state": state, **led} for name in names},
        "consumers": {name: {"c": {**consumer, "num_waiting": 1, **led}} for name in with_consumers},
    }
    plan = scene(tmp_path, texts[1], texts[0], cluster="C1", raw=raw).plan()
    assert sum(change.action.writes for change in plan.changes) > 150
    assert [(v.code, v.message) for change in plan.changes for v in change.verdicts] == []
    assert [one.message for change in plan.changes for one in change.consequences] == []


def test_what_does_not_hurt_now_is_a_note_with_the_code_of_its_page(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [s], discard: new, consumers: {c: {ack_policy: explicit}}}}"
    desired = (
        "streams: {S: {subjects: [s], discard: new, max_msgs: 10, max_bytes: 50MB, max_msg_size: 3KB, "
        "consumers: {c: {ack_policy: explicit, max_deliver: 3, ack_wait: 5s, max_ack_pending: 9}}}}"
    )
    plan = scene(tmp_path, desired, live).plan()
    assert [change.verdicts for change in plan.changes] == [(), ()]
    assert [[(one.code, one.message) for one in change.consequences] for change in plan.changes] == [
        [
            ("CO603", "from then on a message is delivered at most 3 times (CO603)"),
            ("CO605", "a message that a client does not acknowledge within 5s is redelivered (CO605)"),
            ("CO606", "from then on at most 9 messages are in flight at once (CO606)"),
        ],
        [
            ("ST601", "once 50MB are stored, the server refuses every publish (ST601)"),
            (
                "ST601",
                "from then on the server refuses messages above 3KB; none that large is stored (ST601)",
            ),
            ("ST601", "once 10 messages are stored, the server refuses every publish (ST601)"),
        ],
    ]


IN_USE = {"delivered": {"consumer_seq": 5, "stream_seq": 5}, "ack_floor": {"consumer_seq": 5, "stream_seq": 5}}


def test_a_plan_says_of_a_recreated_consumer_what_clients_will_feel_one_day(tmp_path: Path) -> None:
    def notes(before: str, after: str) -> list[str]:
        live, desired = (
            f"streams: {{S: {{subjects: [s], consumers: {{c: {{ack_policy: explicit{more}}}}}}}}}"
            for more in (before, after)
        )
        raw = {"consumers": {"S": {"c": {**IN_USE, "push_bound": "deliver" in before}}}}
        folder = tmp_path / str(abs(hash((before, after))))
        (change,) = scene(folder, desired, live, raw=raw).plan(allow=(("*", "*"),)).changes
        assert change.action is Action.REPLACE
        return [one.message for one in change.consequences if one.code]

    push = ", deliver_subject: out, idle_heartbeat: 5s"
    assert notes("", ", max_waiting: 9") == [
        "from then on the server refuses pulls that would make more than 9 wait (409) (CO602)"
    ]
    assert notes(f"{push}, flow_control: true", push) == [
        "from then on the server does not slow down for a slow subscriber of out (CO607)"
    ]
    assert notes(push, push.replace("5s", "1s")) == [
        "from then on subscribers of out get a heartbeat, which is an empty message with status 100, after each 1s without a message "
        "(CO608)"
    ]
    assert notes(", replay_policy: original", "") == [
        "from then on clients get stored messages as fast as they take them (CO608)"
    ]
    assert notes("", ", mem_storage: true, max_ack_pending: 9") == [
        "from then on at most 9 messages are in flight at once (CO606)"
    ]


@pytest.mark.parametrize("field", ["idle_heartbeat: 5s", "idle_heartbeat: 5s, flow_control: true", "mem_storage: true"])
def test_nobody_claims_that_subscribers_of_a_recreated_consumer_notice_nothing(tmp_path: Path, field: str) -> None:
    live = "streams: {S: {subjects: [s], consumers: {c: {ack_policy: explicit, deliver_subject: out}}}}"
    raw = {"consumers": {"S": {"c": {**IN_USE, "push_bound": True}}}}
    (change,) = scene(tmp_path, live.replace("out", f"out, {field}"), live, raw=raw).plan().changes
    assert [one.message for one in change.consequences if "Subscribers" in one.message] == [
        "Subscribers of out stay subscribed; delivery counts start again"
    ]


AHEAD, LATER, PAST = "2099-01-01T00:00:00Z", "2099-06-01T00:00:00Z", "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("before", "after", "pending", "said"),
    [
        ("", AHEAD, 885, f"from then on nothing is delivered until {AHEAD}; 885 messages are pending now"),
        ("", AHEAD, 0, f"from then on nothing is delivered until {AHEAD}; no message is pending now"),
        (AHEAD, LATER, 1, f"from then on nothing is delivered until {LATER}; 1 message is pending now"),
        (AHEAD, "", 885, "clients then get 885 pending messages at once"),
        (AHEAD, PAST, 885, "clients then get 885 pending messages at once"),
        (AHEAD, "", 0, None),
        (PAST, "", 885, None),
    ],
)
def test_a_pause_says_how_many_messages_it_keeps_or_sets_free(
    tmp_path: Path, before: str, after: str, pending: int, said: str | None
) -> None:
    live, desired = (
        "streams: {S: {subjects: [s], consumers: {c: {ack_policy: explicit"
        + (f", pause_until: '{until}'" if until else "")
        + "}}}}"
        for until in (before, after)
    )
    raw = {"consumers": {"S": {"c": {"num_pending": pending, "ts": "2026-06-01T00:00:00Z"}}}}
    (change,) = scene(tmp_path, desired, live, raw=raw).plan().changes
    found = [(one.message, dict(one.quantities)) for one in change.consequences if one.code]
    assert found == ([(f"{said} (CO609)", {"pending": pending})] if said else [])


def test_a_source_that_is_taken_off_is_copied_no_more(tmp_path: Path) -> None:
    live = "streams: {O: {subjects: [o]}, S: {subjects: [s], sources: [{name: O}]}}"
    desired = "streams: {O: {subjects: [o]}, S: {subjects: [s]}}"
    (change,) = scene(tmp_path, desired, live).plan().changes
    assert change.verdicts == ()
    assert [one.message for one in change.consequences] == [
        "from then on the stream does not copy new messages of O (ST305)"
    ]


def test_of_two_streams_of_one_name_elsewhere_the_one_that_is_taken_off_is_named(tmp_path: Path) -> None:
    a, b = ({"name": "O", "external": {"api": f"$JS.{domain}.API"}} for domain in "ab")
    live, desired = (f"streams: {{S: {{subjects: [s], sources: {json.dumps(kept)}}}}}" for kept in ([a, b], [a]))
    (change,) = scene(tmp_path, desired, live).plan().changes
    assert [one.message for one in change.consequences] == [
        "from then on the stream does not copy new messages of O behind $JS.b.API (ST305)"
    ]


@pytest.mark.parametrize("start, since", [("", ""), (", opt_start_seq: 7", " from 7 on")], ids=["all", "later"])
def test_a_source_elsewhere_that_is_added_copies_what_nobody_counts(tmp_path: Path, start: str, since: str) -> None:
    live = "streams: {S: {subjects: [s]}}"
    desired = f"streams: {{S: {{subjects: [s], sources: [{{name: O, external: {{api: $JS.b.API}}{start}}}]}}}}"
    (change,) = scene(tmp_path, desired, live).plan().changes
    assert [one.message for one in change.consequences if one.code == "ST304"] == [
        f"the server at once copies what O behind $JS.b.API stores{since}, which this plan does not see (ST304)"
    ]


def test_another_backoff_is_a_note_unless_it_waits_as_before(tmp_path: Path) -> None:
    def notes(waits: str, folder: str) -> list[str]:
        live = "streams: {S: {subjects: [s], consumers: {c: {ack_policy: explicit, ack_wait: 1h}}}}"
        (change,) = scene(tmp_path / folder, live.replace("ack_wait: 1h", f"backoff: {waits}"), live).plan().changes
        return [one.code for one in change.consequences]

    assert notes("[1h, 2h]", "other") == ["CO608"]
    assert notes("[1h]", "same") == []


def test_direct_gets_that_a_mirror_goes_on_answering_are_a_note(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [s], allow_direct: true}}"
    mirror: dict[str, Any] = {
        "config": {"name": "M", "mirror": {"name": "S"}, "mirror_direct": True},
        "state": {"messages": 3},
    }
    said = []
    for more in (
        {},
        {"M": mirror},
        {"M": {**mirror, "config": {**mirror["config"], "mirror": {"name": "S", "filter_subject": "s"}}}},
    ):
        raw = {"streams": {"S": {"state": {"messages": 3}}, **more}}
        (change,) = scene(tmp_path, "streams: {S: {subjects: [s]}}", live, raw=raw).plan().changes
        said.append(([one.code for one in change.verdicts], [one.message for one in change.consequences]))
    note = "from then on only M answers direct gets, with what is copied there (ST605)"
    assert said == [(["ST605"], []), ([], [note]), (["ST605"], [])]


@pytest.mark.parametrize("name", ["c", "O", "M"])
def test_a_consumer_named_like_a_stream_hides_no_change_of_that_stream(tmp_path: Path, name: str) -> None:
    def file(own: str, mirror: str) -> str:
        return (
            f"streams: {{A: {{subjects: [a.*], consumers: {{{name}: {{filter_subject: a.b}}}}}}, "
            f"O: {{subjects: [s]{own}}}, M: {{mirror: {{name: O}}{mirror}}}}}"
        )

    def notes(live: str, desired: str, folder: str) -> list[str]:
        raw = {"streams": {stream: {"state": {"messages": 10, "bytes": 600}} for stream in "OM"}}
        plan = scene(tmp_path / folder, desired, live, raw=raw).plan()
        assert {str(change.address) for change in plan.changes} == {"stream/M", "stream/O"}
        return [one.message for change in plan.changes for one in change.consequences]

    direct = ", allow_direct: true"
    assert notes(file(direct, ""), file("", ""), "gets") == []
    limits = file(f"{direct}, max_msgs: 5", ", max_msgs: 5")
    assert notes(file(direct, ", max_msgs: 8"), limits, "limits") == []


def test_a_server_is_asked_only_where_a_change_needs_it(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [s], max_msgs_per_subject: 9, discard: new}}"
    raw = {"streams": {"S": {"state": {"messages": 3, "bytes": 600, "num_subjects": 1}}}}

    def asked(more: str) -> list[str]:
        desired = live.replace("discard: new", f"discard: new{more}")
        made = scene(tmp_path / str(len(more)), desired, live, raw=raw)
        return [type(one).__name__ for one in unanswered_questions(made.view(), REGISTRY)]

    assert asked("") == []
    assert asked(", max_msg_size: 1000") == []
    assert asked(", max_msg_size: 100") == ["Largest"]
    assert asked(", discard_new_per_subject: true") == ["SubjectCounts"]


def test_a_shorter_wait_brings_nothing_again_that_is_delivered_once(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [s], consumers: {c: {ack_policy: explicit, ack_wait: 1h, max_deliver: 1}}}}"
    raw = {"consumers": {"S": {"c": {"num_ack_pending": 3}}}}
    (change,) = scene(tmp_path, live.replace("1h", "5s"), live, raw=raw).plan().changes
    assert [one.code for one in change.verdicts] == []
    assert [one.message for one in change.consequences] == [
        "a message that a client does not acknowledge within 5s is never redelivered (CO605)"
    ]


PINNED = "{ack_policy: explicit, priority_groups: [a], priority_policy: pinned_client, priority_timeout: 1m}"


def test_more_time_for_the_next_pull_of_a_pinned_client_is_a_note(tmp_path: Path) -> None:
    live = f"streams: {{S: {{subjects: [s], consumers: {{c: {PINNED}}}}}}}"
    (change,) = scene(tmp_path, live.replace("1m", "5m"), live).plan().changes
    assert [one.message for one in change.consequences] == [
        "the server pins another client once the pinned one has sent no new pull for 5m, even if a pull of it waits and it "
        "acknowledges messages (CO608)"
    ]
    raw = {"consumers": {"S": {"c": {"priority_groups": [{"group": "a", "pinned_client_id": "x"}]}}}}
    (change,) = scene(tmp_path, live.replace("1m", "5m"), live, raw=raw).plan().changes
    assert [one.message for one in change.consequences] == [
        "the server pins another client once the pinned one has sent no new pull for 5m, even if a pull of it waits and it "
        "acknowledges messages; for the client that is pinned now, 1m counts until its next pull (CO608)"
    ]


def test_of_an_origin_that_holds_nothing_no_plan_says_that_nothing_of_it_is_copied(tmp_path: Path) -> None:
    live = 'streams: {O: {subjects: [o.*]}, ALL: {sources: [{name: O, opt_start_time: "2026-06-01T00:00:00Z", filter_subject: o.a}]}}'
    (change,) = scene(tmp_path, live.replace("o.a", "o.b"), live).plan().changes
    assert [consequence.message for consequence in change.consequences if "copies none of" in consequence.message] == []


def test_a_first_limit_of_a_stream_that_nobody_has_used_says_nothing(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [s]}}"
    (change,) = scene(tmp_path, "streams: {S: {subjects: [s], max_age: 1h, max_msgs: 9}}", live).plan().changes
    assert (change.verdicts, change.consequences) == ((), ())


def test_a_limit_of_a_stream_that_was_used_is_a_note(tmp_path: Path) -> None:
    live, raw = "streams: {S: {subjects: [s]}}", {"streams": {"S": {"state": {"messages": 0, "last_seq": 7}}}}
    (change,) = scene(tmp_path, "streams: {S: {subjects: [s], max_age: 1h}}", live, raw=raw).plan().changes
    assert [one.message for one in change.consequences] == [
        "from then on the server deletes messages when they are 1h old (ST301)"
    ]


AGED = "from then on the server deletes messages when they are 1h old"
FULL = "each publish deletes the oldest messages"


@pytest.mark.parametrize(
    ("flag", "limit", "said"),
    [
        ("allow_msg_schedules", "max_age: 1h", f"{AGED}; schedules that are due later are never sent"),
        ("allow_msg_counter", "max_age: 1h", f"{AGED}; counters that nobody changes for so long start again at 0"),
        (
            "allow_msg_schedules",
            "max_msgs: 9",
            f"once 9 messages are stored, {FULL}; schedules among them are never sent",
        ),
        (
            "allow_msg_counter",
            "max_bytes: 9KiB",
            f"once 9KiB are stored, {FULL}; counters whose last message goes start again at 0",
        ),
        (
            "allow_msg_counter",
            "max_msgs_per_subject: 9",
            "once a subject holds 9 messages, each publish there deletes its oldest message",
        ),
    ],
)
def test_a_limit_to_come_says_what_becomes_of_schedules_and_counters(
    tmp_path: Path, flag: str, limit: str, said: str
) -> None:
    live, raw = f"streams: {{S: {{subjects: [s.*], {flag}: true}}}}", {"streams": {"S": {"state": {"last_seq": 7}}}}
    (change,) = scene(tmp_path, live.replace("true", f"true, {limit}"), live, raw=raw).plan().changes
    assert [one.message for one in change.consequences] == [f"{said} (ST301)"]
    assert [one.code for one in change.verdicts] == []


@pytest.mark.parametrize("flag", ["allow_msg_schedules", "allow_msg_counter"])
def test_a_limit_for_each_subject_takes_no_schedule_and_no_total(tmp_path: Path, flag: str) -> None:
    live = f"streams: {{S: {{subjects: [s.*], {flag}: true}}}}"
    raw = {"streams": {"S": {"state": {"messages": 30, "num_subjects": 3}}}}
    (change,) = scene(tmp_path, live.replace("true", "true, max_msgs_per_subject: 1"), live, raw=raw).plan().changes
    (verdict,) = change.verdicts
    assert verdict.message.endswith("how many each subject holds was not counted")


def test_schedules_that_a_shorter_life_ends_are_not_said_twice(tmp_path: Path) -> None:
    live = "streams: {S: {subjects: [s.*], allow_msg_schedules: true}}"
    raw = {"streams": {"S": {"state": {"messages": 7, "last_seq": 7}}}}
    (change,) = scene(tmp_path, live.replace("true", "true, max_age: 1h"), live, raw=raw).plan().changes
    assert [one.code for one in change.verdicts] == ["ST301"]
    assert not any("ST301" in one.message for one in change.consequences)


def test_mirrors_leave_direct_gets_to_nobody_where_their_origin_answers_none_either(tmp_path: Path) -> None:
    live = "streams: {O: {subjects: [o], allow_direct: true}, M: {mirror: {name: O}}, P: {mirror: {name: O}}}"
    state = {name: {"state": {"messages": 3}} for name in "OMP"}
    plan = scene(tmp_path, live.replace(", allow_direct: true", ""), live, raw={"streams": state}).plan()
    changes = {one.address: one for one in plan.changes}
    assert [one.code for one in changes["stream/O"].verdicts] == ["ST605"]
    told = [one.message for name in ("stream/M", "stream/P") for one in changes[name].consequences]
    assert not any("others still do" in one for one in told), told


def test_what_two_limits_mean_alike_is_told_once(tmp_path: Path) -> None:
    live = "streams: {O: {subjects: [o], allow_direct: true}, M: {mirror: {name: O}}}"
    raw = {"streams": {"O": {"state": {"messages": 3}}}}
    plan = scene(tmp_path, live.replace("[o]", "[o], max_age: 1d, max_bytes: 9MB"), live, raw=raw).plan()
    (change,) = (one for one in plan.changes if one.address == "stream/O")
    told = [one.message for one in change.consequences]
    assert len([one for one in told if "M, which answer" in one]) == 1, told


def test_a_change_that_is_refused_says_nothing_of_what_it_would_do(tmp_path: Path) -> None:
    live, raw = "streams: {S: {subjects: [s]}}", {"streams": {"S": {"state": {"messages": 9, "last_seq": 9}}}}
    policies = ("deliver_policy: last_per_subject", "deliver_policy: all")
    plans = [
        scene(tmp_path, f"{live[:-2]}, consumers: {{c: {{{policy}}}}}}}}}", live, raw=raw).plan() for policy in policies
    ]
    told = [[(change.verdicts != (), len(change.consequences)) for change in plan.changes] for plan in plans]
    assert told == [[(True, 0)], [(False, 1)]]


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (30, "none that large is stored"),
        (12, "none of the last 12 is that large, and older ones were not read"),
        (0, "no stored message was looked at"),
    ],
)
def test_a_smaller_message_limit_says_which_messages_were_looked_at(tmp_path: Path, read: int, said: str) -> None:
    raw = {"streams": {"S": {"state": {"messages": 30, "bytes": 6_000}}}}
    known = facts([{"stream": "S", "above": 100, "newest": 30, "answer": {"read": read, "larger": 0, "largest": 90}}])
    live, desired = "streams: {S: {subjects: [s]}}", "streams: {S: {subjects: [s], max_msg_size: 100}}"
    (change,) = scene(tmp_path, desired, live, raw=raw, facts=known).plan().changes
    assert [one.message for one in change.consequences] == [
        f"from then on the server refuses messages above 100 bytes; {said} (ST601)"
    ]


@pytest.mark.parametrize(
    ("live", "desired", "told"),
    [
        ("filter_subject: a", "filter_subjects: [a]", ["with filter_subject is refused (10148)"]),
        ("filter_subjects: [a]", "filter_subject: a", ["with filter_subjects is refused (10148)"]),
        ("filter_subject: a", "filter_subjects: [a, b]", ["from then on clients get messages on a and b"]),
        ("filter_subjects: [a, b]", "filter_subjects: [b, a]", []),
        (
            "description: x",
            'deliver_policy: last_per_subject, filter_subject: ">"',
            ["continues after the ack floor", "No pull"],
        ),
        ('sample_freq: "30"', "sample_freq: 30%", ["with sample_freq 30 is refused (10148)"]),
        ('sample_freq: "0"', "description: x", ["with sample_freq 0 is refused (10148)"]),
        ("description: x", "sample_freq: 0%", ["without sample_freq is refused (10148)"]),
        ("sample_freq: 30%", "sample_freq: 31%", []),
    ],
)
def test_another_spelling_of_a_consumer_changes_only_who_may_create_it(
    tmp_path: Path, live: str, desired: str, told: list[str]
) -> None:
    def file(own: str) -> str:
        return f"streams: {{S: {{subjects: [a, b], consumers: {{c: {{ack_policy: explicit, {own}}}}}}}}}"

    changes = scene(tmp_path, file(desired), file(live)).plan().changes
    said = [
        consequence.message
        for change in changes
        if change.address == "consumer/S/c"
        for consequence in change.consequences
    ]
    assert [part in message for part, message in zip(told, said, strict=True)] == [True] * len(told)
