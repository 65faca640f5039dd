"""What we say of a consumer is what the servers do with it: refused when they refuse it, with the code they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache

import pytest

from reconciler.kinds.consumer import CONSUMER
from reconciler.kinds.subjects.subjects import name_problem
from reconciler.server.wire.answers import Answer, Refusal
from reconciler.server.wire.api import JetStream
from tests.kinds.consumer_cases import CASES, EXPLICIT, FLOW_CHANGED, QUEUE_CHANGES, QUEUES, REPLICATED
from tests.kinds.judging import RULES, Case, Judged, judge
from tests.support.accounts import Account, Pool
from tests.support.binaries import MINORS
from tests.support.jetstream import make_stream, talk
from tests.support.servers import running
from tests.support.versions import on_every_version

in_every_cluster = pytest.mark.parametrize("clustered_account", MINORS, indirect=True)

ELSEWHERE = {
    "CO583": "test_copied_streams",
    "CO401": "fields of other versions",
    **dict.fromkeys((f"CO{n}" for n in range(101, 111)), "changes of what is fixed: tests/primitives/test_update_table.py"),
}  # fmt: skip
"""Rules about refusals that have tests of their own."""


@pytest.fixture(scope="session")
def judged(pool: Pool) -> Callable[[str], list[Judged]]:
    """Every case on a single server of this minor version, asked once."""
    return cache(lambda minor: judge(pool.account(minor), [*CASES, *(FLOW_CHANGED if minor >= "2.14" else [])]))


def disagreements(found: list[Judged]) -> list[str]:
    return [one for one in (each.disagreement() for each in found) if one]


@pytest.mark.parametrize("minor", MINORS)
def test_a_single_server_refuses_what_we_say_it_refuses(judged: Callable[[str], list[Judged]], minor: str) -> None:
    assert disagreements(judged(minor)) == []


@in_every_cluster
def test_a_cluster_refuses_what_we_say_it_refuses(clustered_account: Account) -> None:
    assert disagreements(judge(clustered_account, [*REPLICATED, *QUEUES, *QUEUE_CHANGES])) == []


def test_every_rule_about_a_refusal_is_the_only_one_to_foresee_some(judged: Callable[[str], list[Judged]]) -> None:
    alone = {
        code
        for minor in MINORS
        for one in judged(minor)
        if one.refused
        for code in one.foreseen
        if len(one.foreseen) == 1
    }
    about = {rule.code for rule in CONSUMER.rules if rule.err_codes}
    assert about - ELSEWHERE.keys() - alone == set()


def test_every_answer_that_a_rule_names_is_given(judged: Callable[[str], list[Judged]]) -> None:
    given = {one.refused for minor in MINORS for one in judged(minor)}
    named = {code for rule in CONSUMER.rules if rule.code not in ELSEWHERE for code in rule.err_codes}
    only_in_clusters = {10126, 10134}
    assert named - given == only_in_clusters


NAMES = {
    "fine": ["x" * 255, "Ümläut", "$%{'", "case1", "CASE1", "a\x1b[31mb", "txt\u202eexe"],
    "impossible": ["x" * 256, "ü" * 128, "a*", "*", ">", "a>", "a/b", "a\\b", "nul\0x"],
}


@on_every_version
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("kind", ["stream", "consumer"])
def test_servers_refuse_the_names_we_refuse(account: Account, kind: str, names: list[str]) -> None:
    async def asked(js: JetStream) -> list[Answer]:
        await make_stream(js, "S", subjects=["s.>"])
        ask = _stream if kind == "stream" else _consumer
        return await asyncio.gather(*(ask(js, name) for name in names))

    refused = [
        isinstance(answer, Refusal) and answer.err_code in RULES["XX542"].err_codes for answer in talk(account, asked)
    ]
    assert refused == [name_problem(name) is not None for name in names]


async def _stream(js: JetStream, name: str) -> Answer:
    return await js.request(f"STREAM.CREATE.{name}", {"name": name, "subjects": [f"of.{name.encode().hex()}"]})


async def _consumer(js: JetStream, name: str) -> Answer:
    body = {"stream_name": "S", "action": "create", "config": {"durable_name": name, "name": name, **EXPLICIT}}
    return await js.request(f"CONSUMER.CREATE.S.{name}", body)


SMALL = """
accounts {
  A: {jetstream: {max_mem: 1G, max_file: 1G, max_consumers: 2, max_ack_pending: 7}, users: [{user: a, password: a}]}
}
"""


@pytest.mark.parametrize("minor", MINORS)
def test_what_the_account_allows_is_what_we_allow(minor: str) -> None:
    one = {"one": EXPLICIT}
    cases = [
        Case(about="as many pending as the account allows", wanted={**EXPLICIT, "max_ack_pending": 7}),
        Case(about="more pending than the account allows", wanted={**EXPLICIT, "max_ack_pending": 8}),
        Case(about="no limit of pending", wanted={**EXPLICIT, "max_ack_pending": -1}),
        Case(about="as many consumers as the account allows", wanted=EXPLICIT, others=one),
        Case(about="more consumers than the account allows", wanted=EXPLICIT, others={**one, "two": EXPLICIT}),
        Case(about="a stream that allows fewer", wanted=EXPLICIT, others=one, stream={"max_consumers": 1}),
        Case(about="a stream that hands down more than the account allows", wanted=EXPLICIT,
             stream={"consumer_limits": {"max_ack_pending": 100}}),
    ]  # fmt: skip
    with running(minor, SMALL) as server:
        found = judge(Account(server=server, user="a", password="a"), cases)
    assert disagreements(found) == []
    assert [one.refused for one in found] == [0, 10121, 0, 0, 10026, 10026, 10121]


MANY = {f"n{number}": EXPLICIT for number in range(1000)}


@pytest.mark.parametrize("account", MINORS[-2:], indirect=True)
def test_more_than_a_thousand_consumers_need_a_limit_of_their_own(account: Account) -> None:
    cases = [
        Case(about="no limit at all", wanted=EXPLICIT, others=MANY, stream={"storage": "memory"}),
        Case(about="a limit of its own", wanted=EXPLICIT, others=MANY, stream={"storage": "memory", "max_consumers": 1001}),
    ]  # fmt: skip
    found = judge(account, cases)
    assert disagreements(found) == []
    assert [one.refused for one in found] == [10026 if account.minor == "2.15" else 0, 0]
