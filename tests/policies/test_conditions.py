"""What a condition may mention, and what is said of one that cannot be read."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.engine.judging import EVERYTHING
from reconciler.journeys import policies as journey
from reconciler.kinds import REGISTRY
from reconciler.model.ledger.records import Owned
from reconciler.model.policy import PlacedPolicy, Policy
from reconciler.model.resource import Address, Resource
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import SUPPORTED
from reconciler.policies.policies import Policies, problems
from reconciler.policies.variables import variables

DAY = date(2026, 11, 27)
KINDS = [kind.name for kind in REGISTRY.kinds]


def policy(forbid: str, *on: str, code: str = "ACME101") -> PlacedPolicy:
    return PlacedPolicy(policy=Policy(code=code, name="one", on=on, forbid=forbid, message="it is so"))


def view(*resources: Resource) -> View:
    desired = {one.address: one for one in resources}
    snapshot = Snapshot(target=Target(version=SUPPORTED[-1]))
    return View(
        snapshot=snapshot, desired=desired, kinds=REGISTRY.by_name, today=DAY, environment="prod", topology="shop"
    )


STREAM = Resource(address=Address.of("stream", "ORDERS"), config={})


def is_forbidden(forbid: str, *resources: Resource, **more: Any) -> bool:
    """Is the last of these resources forbidden?"""
    one = resources[-1]
    change = replace(Change(address=one.address, action=Action.KEEP, desired=one, live=one), **more)
    said = Policies([policy(forbid, one.address.kind)], REGISTRY).judge(change, view(*resources), EVERYTHING)
    assert not any(verdict.message.startswith("cannot tell") for verdict in said), said
    return bool(said)


def told(forbid: str, *on: str) -> list[str]:
    return [one.message for one in problems([policy(forbid, *on)], REGISTRY)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_has_a_value_of_its_type_even_where_nothing_is_set(kind: str) -> None:
    names = ("ORDERS", "x") if REGISTRY[kind].place.within else ("x",)
    one = Resource(address=Address.of(kind, *names), config={})
    for name, variable in variables(REGISTRY[kind], REGISTRY).items():
        alone = "[{}].size() != 1" if variable.type in ("list(dyn)", "dyn") else "{0} != {0}"
        assert not is_forbidden(alone.format(name), STREAM, one), name


def test_what_is_not_set_is_the_default_of_the_server_or_empty() -> None:
    for condition in (
        "resource.num_replicas == 1", "resource.max_msgs == -1", "resource.max_age == duration('0s')",
        "resource.retention == 'limits'", "resource.description == ''", "resource.subjects.size() == 0",
        "resource.mirror.name == ''", "resource.labels.owner == ''", "!('owner' in resource.labels)",
        "resource.metadata.team == ''", "!resource.protect", "!has(resource.labels.owner)",
    ):  # fmt: skip
        assert is_forbidden(condition, STREAM), condition


@pytest.mark.parametrize(("condition", "of_one_with_it", "of_one_without"), [
    ("resource.labels['cost-center'] == 'x'", True, False), ('resource.labels [ "cost-center" ] == "x"', True, False),
    ("resource.labels['cost-center'] == ''", False, True), ("resource.metadata['a.b'] == ''", True, True),
    ("!('cost-center' in resource.labels)", False, True), ("'cost-center' in resource.labels", True, False),
    ("resource.labels['cost-center'] != 'x' // resource.labels['y']", False, True),
    ("resource.labels['cost-center'].startsWith('x') && resource.labels['cost-centre'] == ''", True, False),
    ("resource.labels['cost_center'] == 'y' && resource.labels['cost-center'] == 'x'", True, False),
])  # fmt: skip
def test_a_key_in_brackets_is_empty_where_it_is_absent(
    condition: str, of_one_with_it: bool, of_one_without: bool
) -> None:
    for labels, outcome in (({"cost-center": "x", "cost_center": "y"}, of_one_with_it), ({}, of_one_without)):
        owned = Owned(topology="shop", labels=labels)
        assert is_forbidden(condition, STREAM, owned=owned, desired=None, action=Action.DELETE) is outcome


def test_a_message_names_a_key_as_the_condition_does() -> None:
    many = [
        policy("resource.labels['cost-center'] == ''"),
        policy("resource.labels['cost_center'] == 'x'", code="ACME102"),
    ]
    change = Change(address=STREAM.address, action=Action.CREATE, desired=STREAM)
    said = Policies(many, REGISTRY).judge(change, view(STREAM), EVERYTHING)
    assert [verdict.message for verdict in said] == ["it is so (labels['cost-center'] is empty)"]


def test_a_field_that_an_item_of_a_list_leaves_out_is_empty() -> None:
    sources = [{"name": "A"}, {"name": "B", "external": {"api": "x"}, "subject_transforms": [{"src": "a"}]}]
    stream = Resource(address=STREAM.address, config={"sources": sources})
    for condition in (
        "resource.sources.exists(one, one.name == 'A' && one.filter_subject == '')",
        "resource.sources.exists(one, one.external.deliver == '' && one.external.api == 'x')",
        "resource.sources.all(one, one.opt_start_seq == 0 && one.subject_transforms.all(each, each.dest == ''))",
        "resource.sources[0].external.api == '' && resource.sources[0].subject_transforms.size() == 0",
    ):  # fmt: skip
        assert is_forbidden(condition, stream), condition


def test_values_are_those_of_the_resource_its_stream_and_what_was_live() -> None:
    week = 7 * 86_400 * 10**9
    stream = Resource(address=STREAM.address, config={"retention": "workqueue", "max_age": week})
    consumer = Resource(
        address=Address.of("consumer", "ORDERS", "w"), config={"ack_policy": "none", "backoff": [10**9]}
    )
    assert is_forbidden("resource.max_age == duration('168h')", stream)
    assert is_forbidden("stream.retention == 'workqueue' && resource.ack_policy == 'none'", stream, consumer)
    assert is_forbidden("resource.backoff.exists(one, one <= duration('1s'))", stream, consumer)
    before = Resource(address=STREAM.address, config={"num_replicas": 3})
    assert is_forbidden("resource.num_replicas < before.num_replicas", STREAM, live=before, action=Action.UPDATE)
    assert is_forbidden("environment.name == 'prod' && topology.name == 'shop' && today == '2026-11-27'", STREAM)


def test_a_consumer_of_a_bucket_has_the_stream_behind_it() -> None:
    bucket = Resource(address=Address.of("kv_bucket", "prices"), config={"num_replicas": 3})
    consumer = Resource(address=Address.of("consumer", "KV_prices", "w"), config={})
    assert is_forbidden("stream.num_replicas == 3", bucket, consumer)


def test_what_is_deleted_is_judged_by_the_labels_that_were_recorded() -> None:
    gold = Owned(topology="shop", labels={"tier": "gold"})
    condition = "change.action == 'delete' && resource.labels.tier == 'gold'"
    assert is_forbidden(condition, STREAM, desired=None, owned=gold, action=Action.DELETE)
    assert not is_forbidden(condition, STREAM, desired=None, owned=Owned(topology="shop"), action=Action.DELETE)


def test_a_number_beyond_those_of_cel_is_the_highest_of_them() -> None:
    far = Resource(address=STREAM.address, config={"first_seq": (1 << 64) - 1})
    assert is_forbidden("resource.first_seq > 9000000000000000000", far)


def test_a_policy_that_cannot_tell_is_violated() -> None:
    change = Change(address=STREAM.address, action=Action.CREATE, desired=STREAM)
    for condition, why in (
        ("resource.labels['own' + 'er'] == 'a'", "there is no key `owner`; ask `'owner' in …` first"),
        ("1 / resource.subjects.size() == 1", "divide by zero"),
    ):
        said = Policies([policy(condition)], REGISTRY).judge(change, view(STREAM), EVERYTHING)
        assert [one.message for one in said] == [said[0].message]
        assert said[0].message.startswith(f"cannot tell whether ACME101 is kept ({why}): it is so")
        assert said[0].blocks


def test_a_condition_that_takes_too_long_is_violated() -> None:
    many = Resource(address=STREAM.address, config={"subjects": [f"s{number}" for number in range(1_000)]})
    change = Change(address=many.address, action=Action.CREATE, desired=many)
    endless = "resource.subjects.exists(a, resource.subjects.exists(b, resource.subjects.exists(c, a + b == c)))"
    said = Policies([policy(endless)], REGISTRY).judge(change, view(many), EVERYTHING)
    assert [one.message.partition(": ")[0] for one in said] == [
        "cannot tell whether ACME101 is kept (iteration budget exceeded)"
    ]


def test_many_conditions_are_judged_as_each_is_alone() -> None:
    many = [policy(f"resource.num_replicas == {number}", code=f"ACME{100 + number}") for number in range(60)]
    change = Change(address=STREAM.address, action=Action.CREATE, desired=STREAM)
    said = Policies(many, REGISTRY).judge(change, view(STREAM), EVERYTHING)
    assert [one.code for one in said] == ["ACME101"]


def test_nothing_is_judged_by_what_nobody_knows() -> None:
    change = Change(address=STREAM.address, action=Action.CREATE, desired=STREAM)
    of_changes = Policies(
        [policy("change.action == 'create'"), policy("before.num_replicas == 1", code="ACME102")], REGISTRY
    )
    assert of_changes.judge(change, view(STREAM), frozenset({"spec", "neighbours"})) == []
    assert len(of_changes.judge(change, view(STREAM), EVERYTHING)) == 2
    lost = Resource(address=Address.of("consumer", "GONE", "w"), config={})
    change = Change(address=lost.address, action=Action.CREATE, desired=lost)
    assert Policies([policy("stream.retention == 'limits'")], REGISTRY).judge(change, view(lost), EVERYTHING) == []


@pytest.mark.parametrize(("condition", "message", "place"), [
    (
        "resource.max_agee > duration('1h')", "there is no `resource.max_agee`; did you mean `resource.max_age`?",
        "column 1 of the condition: `resource.max_agee > duration('1h')`",
    ),
    (
        "true &&\n  resource.xyzzy == 'red'", "there is no `resource.xyzzy`",
        "line 2, column 3 of the condition: `resource.xyzzy == 'red'`",
    ),
    (
        "stream.retention == 'limits'", "there is no `stream.retention`; did you mean `resource.retention`?",
        "column 1 of the condition: `stream.retention == 'limits'`",
    ),
    (
        "has(resource.max_age)",
        "`has(resource.max_age)` is not needed: a field that is not set has the server's default, or is empty", "",
    ),
    ("resource.num_replicas", "it is a number, and not a condition that is true or false", ""),
    ("resource.num_replicas ==", "it ends too early", "column 25 of the condition"),
    ("resource.num_replicas == '3'", "`==` does not take a number and a text", "column 23 of the condition: `== '3'`"),
    (
        "resource.max_age > 3", "`>` does not take a duration and a number; write a duration as duration('36h')",
        "column 18 of the condition: `> 3`",
    ),
    (
        "true && resource.labels.cost-center == 'x'",
        "there is no `center`; write a key with a hyphen in brackets: `resource.labels['cost-center']`",
        "column 9 of the condition: `resource.labels.cost-center == 'x'`",
    ),
    ("resource.labels['cost-center'] == 3", "`==` does not take a text and a number", "column 32 of the condition: `== 3`"),
    ("many(resource.name)", "there is no function `many`", "column 5 of the condition: `(resource.name)`"),
    (
        "resource.retention == 'work_queue'", "`resource.retention` is never `work_queue`; did you mean `workqueue`?",
        "column 23 of the condition: `'work_queue'`",
    ),
    (
        "true &&\n \"disk\" != before.storage", "`before.storage` is never `disk`; it is file, memory",
        "line 2, column 2 of the condition: `\"disk\" != before.storage`",
    ),
    (
        "resource.storage in ['file', \"ram\"]", "`resource.storage` is never `ram`; it is file, memory",
        "column 30 of the condition: `\"ram\"]`",
    ),
    (
        "change.action == 'destroy'",
        "`change.action` is never `destroy`; it is adopt, create, delete, forget, keep, replace, update",
        "column 18 of the condition: `'destroy'`",
    ),
    (
        "'max_agee' in change.fields", "`change.fields` never names `max_agee`; did you mean `max_age`?",
        "column 1 of the condition: `'max_agee' in change.fields`",
    ),
    (
        "resource.sources.exists(one, one.nam == 'x')", "items have no `nam`; did you mean `name`?",
        "column 30 of the condition: `one.nam == 'x')`",
    ),
    (
        "resource.sources.exists(s, s.subject_transforms.exists(t, t.xyzzy == ''))", "items have no `xyzzy`; they have src, dest",
        "column 59 of the condition: `t.xyzzy == ''))`",
    ),
    (
        "resource.sources[0].external.apy == ''", "items have no `apy`; did you mean `api`?",
        "column 21 of the condition: `external.apy == ''`",
    ),
    (
        "resource.sources.exists(one, has(one.external.api))",
        "`has(one.external.api)` is not needed: a field that an item leaves out is empty",
        "column 34 of the condition: `one.external.api))`",
    ),
    (
        "true &&\n resource.name.matches('[a')", "'[a' is no regular expression (missing ])",
        "line 2, column 24 of the condition: `'[a')`",
    ),
    (
        "matches(resource.name, \"(?!a)\")", "\"(?!a)\" is no regular expression (invalid perl operator)",
        "column 24 of the condition: `\"(?!a)\")`",
    ),
    ("resource.max_age > duration('36x')", "'36x' is no duration", "column 29 of the condition: `'36x')`"),
    ("timestamp(today) < timestamp('x')", "'x' is no time", "column 30 of the condition: `'x')`"),
    ("resource.num_replicas < int('three')", "'three' is no number", "column 29 of the condition: `'three')`"),
    ("(" * 40 + "true" + ")" * 40, "it nests too deep; divide it into several policies", ""),
])  # fmt: skip
def test_what_cannot_be_read_is_told_with_its_place(condition: str, message: str, place: str) -> None:
    said = f"{message}; {place}" if place else message
    faults = {" never ": "compares in vain", "not needed": "asks in vain", "items have": "cannot be judged"}
    faults |= dict.fromkeys(("' is no ", '" is no '), "cannot be judged")
    fault = next((fault for words, fault in faults.items() if words in message), "cannot be read")
    assert told(condition, "stream") == [f"policy ACME101 {fault}: {said}"]


@pytest.mark.parametrize("condition", [
    "resource.retention in ['limits', 'interest'] && change.action == 'create'",
    "resource.name == 'file' && 'gold' == resource.labels.tier && resource.sources.exists(one, one.name == 'x')",
    "'re' + resource.storage == 'refile' || resource.storage + 'd' == 'filed' || resource.storage == 'f' + 'ile'",
    "resource.storage.startsWith('m') || resource.storage.size() == 3 || [resource.storage, 'x'] == ['file', 'x']",
    "resource.mirror.name == '' || resource.persist_mode == '' // resource.storage == 'disk'",
    "resource.description == \"resource.storage == 'disk'\" || 'subjects' in change.fields",
    "resource.sources.exists(s, s.name.size() > 1 && s.external.api.startsWith('a') && s == resource.sources[0])",
    "resource.sources.filter(s, s.name == 'a').exists(t, t.any == 1) || resource.sources[0].external.api == ''",
    "resource.name == \"matches('[a')\" || resource.name.matches(r'^\\d+$') // duration('x')",
    "'ab'.matches('a' + 'b') && resource.max_age < duration('36h') && resource.allow.exists(one, one.until < today)",
    "(resource.storage == 'file' ? 'a' : 'b') == 'b' || resource.storage == 'fi\\u006ce'",
])  # fmt: skip
def test_what_may_be_so_is_no_slip(condition: str) -> None:
    assert told(condition, "stream") == []


def test_of_several_kinds_a_field_is_named_that_one_of_them_has() -> None:
    assert told("'subjects' in change.fields || resource.kind == 'consumer'") == []
    assert told("'subjects' in change.fields", "consumer")[0].startswith(
        "policy ACME101 compares in vain: `change.fields` never names `subjects`"
    )
    assert told("stream.retention == 'work_queue'", "consumer")[0].startswith(
        "policy ACME101 compares in vain: `stream.retention` is never `work_queue`"
    )


def test_of_several_kinds_the_first_that_it_does_not_fit_is_named() -> None:
    assert told("resource.subjects.size() > 1", "stream", "consumer")[0].startswith(
        "policy ACME101 cannot be read (on consumer): there is no `resource.subjects`"
    )
    assert told("true", "streem") == ["policy ACME101 is about `streem`, which is no kind; did you mean `stream`?"]


def test_one_code_is_one_policy() -> None:
    twice = list(problems([policy("true"), policy("false")], REGISTRY))
    assert [one.message for one in twice] == ["policy ACME101 is declared at None already; keep one"]


def test_the_starter_pack_answers_its_cases() -> None:
    found = journey.judge_cases([Path(__file__).parents[2] / "examples" / "policies"])
    assert (found.policies, found.diagnostics) == (10, ())
    assert len(found.cases) > 2 * found.policies


def test_a_message_names_the_values_that_decided_as_a_file_has_them() -> None:
    one = Resource(address=STREAM.address, config={"max_age": 3_600_000_000_000, "subjects": ["a", "b"]})
    change = Change(address=one.address, action=Action.CREATE, desired=one)
    condition = "resource.max_age < duration('2h') && resource.subjects.size() > 1 && resource.sources.size() == 0"
    (said,) = Policies([policy(condition)], REGISTRY).judge(change, view(one), EVERYTHING)
    assert said.message == "it is so (max_age is 1h, subjects is [a, b], sources is [])"


def test_texts_and_comments_mention_nothing() -> None:
    assert told("resource.name == 'resource.colour' // resource.colour", "stream") == []
