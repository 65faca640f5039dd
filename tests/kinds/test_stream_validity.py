"""What the rules say of a stream's configuration is what real servers answer to the request a plan would send."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest
from pydantic import ValidationError

from reconciler.changes.verdict import Outcome, Reaction, Verdict
from reconciler.engine.compare import compare
from reconciler.engine.judging import verdicts_of_all
from reconciler.kinds import REGISTRY
from reconciler.kinds.fields.canonical_form import update_body
from reconciler.kinds.fields.known import unknown_fields
from reconciler.kinds.stream_config.stream_config import StreamConfig
from reconciler.memory.remembered import Memory
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from tests.agreement.harm import shows
from tests.convergence.drawing import topology
from tests.kinds.stream_cases import BUCKETS, FINE, FLAGGED, Case, every_case
from tests.primitives.bodies import Body, named
from tests.primitives.echo import Reply, Request, Server
from tests.support.accounts import Account, accounts_config
from tests.support.binaries import MINORS
from tests.support.servers import running
from tests.support.versions import on_every_version

ELSEWHERE = {"ST401", "ST107", "ST206", "ST303", *(f"ST{number}" for number in range(601, 610))}
"""Rules with tests of their own that rightly speak about some of what is fine here."""
ERR_CODES = {rule.code: rule.err_codes for rule in REGISTRY.rules()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the rules say of one case, and the request its plan would send."""

    body: Body
    verdicts: tuple[Verdict, ...]
    request: Request

    @property
    def codes(self) -> set[str]:
        return {verdict.code for verdict in self.verdicts if verdict.outcome is not Outcome.NEEDS_CONSENT}

    def is_taken_and(self, reaction: Reaction) -> bool:
        """The server says ok, and this is what comes of it."""
        reactions = {verdict.reaction for verdict in self.verdicts}
        return reaction in reactions and Reaction.REFUSES not in reactions

    def differs(self, reply: Reply) -> str | None:
        """How the server's answer differs from the verdict; None when they agree."""
        refusing = [v.code for v in self.verdicts if v.reaction is Reaction.REFUSES]
        expected = {code for rule in refusing for code in ERR_CODES[rule]}
        if (reply.config is None) == bool(refusing) and (not refusing or reply.err_code in expected):
            return None
        return f"{self.body}: the rules say {refusing or 'ok'}, the server {reply.err_code or 'ok'} {reply.words}"


def judged(kind: str, wanted: Mapping[str, Body], made: Mapping[str, Body], target: Target) -> dict[str, Judged]:
    """What files of this kind want, by name, as one topology beside the streams that were `made` before."""
    streams = {stream: {"config": config, "state": {}} for stream, config in made.items()}
    snapshot = Snapshot(target=target, streams=streams)
    desired = topology("cases", {Address.of(kind, name): named(body, name) for name, body in wanted.items()})
    view = compare(desired, snapshot, Memory(), REGISTRY)
    verdicts, own = verdicts_of_all(view, REGISTRY), REGISTRY[kind].family
    found = {}
    for address, change in view.changes.items():
        steps = REGISTRY.of(address).steps(change, view)
        assert steps, f"{wanted[address.name]} changes nothing"
        found[address.name] = Judged(
            body=wanted[address.name],
            verdicts=tuple(verdict for verdict in verdicts.get(address, ()) if verdict.code.startswith(own)),
            request=_request(steps[0], made.get(steps[0].on[0], {})),
        )
    return found


def _request(step: Step, raw: Body) -> Request:
    (name,) = step.on
    if step.call is Call.STREAM_CREATE:
        return Request(f"STREAM.CREATE.{name}", step.body)
    return Request(f"STREAM.UPDATE.{name}", update_body(raw, step.set, step.unset))


def prepared(server: Server, cases: list[Case], kind: str = "stream") -> dict[str, Judged]:
    """The cases judged, with what each starts from on the server."""
    numbered = {f"N{number}": case for number, case in enumerate(cases)}
    before = {name: case[0] for name, case in numbered.items() if case[0] is not None}
    replies = server.replies(one.request for one in judged(kind, before, {}, server.target).values())
    assert [reply.words for reply in replies if reply.config is None] == []
    made = {reply.config["name"]: reply.config for reply in replies if reply.config}
    return judged(kind, {name: case[1] for name, case in numbered.items()}, made, server.target)


def known_here(cases: Iterable[Case], server: Server) -> list[Case]:
    """Cases that start from what this version can hold."""
    return [case for case in cases if case[0] is None or not unknown_fields(StreamConfig, case[0], server.version)]


def disagreements(server: Server, cases: dict[str, Judged]) -> list[str]:
    replies = server.replies(one.request for one in cases.values())
    found = (one.differs(reply) for one, reply in zip(cases.values(), replies, strict=True))
    return [text for text in found if text]


@on_every_version
def test_the_server_refuses_exactly_what_the_rules_say_it_refuses(account: Account) -> None:
    with Server(account) as server:
        assert disagreements(server, prepared(server, known_here(every_case(), server))) == []


@on_every_version
@pytest.mark.parametrize("kind", BUCKETS)
def test_the_server_refuses_buckets_exactly_when_the_rules_say_so(kind: str, account: Account) -> None:
    with Server(account) as server:
        assert disagreements(server, prepared(server, BUCKETS[kind], kind)) == []


@pytest.mark.parametrize("code", FLAGGED)
def test_the_rule_speaks_about_each_of_its_cases(code: str, account: Account) -> None:
    with Server(account) as server:
        cases = prepared(server, FLAGGED[code])
    assert [one.body for one in cases.values() if code not in one.codes] == []


@on_every_version
def test_nothing_is_said_about_what_is_fine(account: Account) -> None:
    with Server(account) as server:
        cases = prepared(server, known_here(FINE, server))
    assert [(one.body, one.codes) for one in cases.values() if one.codes - ELSEWHERE] == []


@pytest.mark.parametrize("minor", MINORS)
def test_what_the_rules_call_doomed_is_gone_after_the_next_start(minor: str) -> None:
    after = MINORS[min(MINORS.index(minor) + 1, len(MINORS) - 1)]
    with running(minor, accounts_config(1)) as process:
        account = Account(server=process, user="a0", password="a0")
        with Server(account) as server:
            cases = prepared(server, known_here(every_case(), server))
            doomed = {name: one for name, one in cases.items() if one.is_taken_and(Reaction.DOOMS)}
            replies = server.replies(one.request for one in doomed.values())
            server.create_streams({"SURVIVES": {}})
        process.restart(after)
        with Server(account) as server:
            left = server.listed_streams()
    assert [reply.words for reply in replies if reply.config is None] == []
    assert "SURVIVES" in left
    assert [one.body for name, one in doomed.items() if name in left] == []
    assert doomed


@on_every_version
def test_republishing_that_an_update_gives_no_destination_never_ends(account: Account) -> None:
    async def copies() -> list[str]:
        nc = await account.connect()
        seen = await nc.subscribe("loop.a")
        await seen.unsubscribe(limit=100)  # a server cuts off whoever cannot keep up with the flood
        await nc.publish("loop.a", b"once")
        found = [(await seen.next_msg(timeout=20)).subject for _ in range(100)]
        await nc.close()
        return found

    looping = {"LOOP": {"subjects": ["loop.a"], "republish": {"src": ">"}, "max_msgs": 10}}
    with Server(account) as server:
        server.create_streams({"LOOP": {"subjects": ["loop.a"], "max_msgs": 10}})
        server.update_streams(looping)
        found = asyncio.run(copies())
        server.delete_streams(looping)
    assert found == ["loop.a"] * 100


def test_a_partition_of_nothing_ends_a_server_of_2_11_at_the_first_message() -> None:
    async def publish(account: Account) -> None:
        gone = asyncio.Event()

        async def note() -> None:
            gone.set()

        nc = await account.connect(disconnected_cb=note)
        await nc.publish("parted.a", b"")
        await asyncio.wait_for(gone.wait(), 60)

    body = {"subjects": ["parted.*"], "subject_transform": {"src": "parted.*", "dest": "{{partition(0,1)}}"}}
    with running("2.11", accounts_config(1)) as process:
        account = Account(server=process, user="a0", password="a0")
        with Server(account) as server:
            (reply,) = server.create_streams({"PARTED": body})
        asyncio.run(publish(account))
        log = process.log + (process.home / "output").read_text()
    assert reply.config is not None
    assert "divide by zero" in log


@shows("ST110", "KV110")
@on_every_version
def test_a_source_that_is_there_already_goes_on_where_it_is(account: Account) -> str:
    def copy(start: int) -> Body:
        origin = {"name": "FROM", "opt_start_seq": start}
        return {"COPY": {"sources": [origin], "republish": {"src": ">", "dest": "copied.>"}}}

    with Server(account) as server:

        async def publish(*numbers: int) -> None:
            for number in numbers:
                await server.client.request("from.a", str(number).encode(), timeout=20)

        async def copied(count: int) -> list[int]:
            return [int((await arriving.next_msg(timeout=20)).data) for _ in range(count)]

        arriving = server.run(server.client.subscribe("copied.>"))
        server.create_streams({"FROM": {"subjects": ["from.a"]}})
        server.run(publish(*range(1, 11)))
        server.create_streams(copy(8))
        first = server.run(copied(3))
        server.update_streams(copy(1))
        server.run(publish(11))
        then = server.run(copied(1))
    assert (first, then) == ([8, 9, 10], [11])
    return f"A source that began at message {first[0]} is told to begin at 1: the server says ok, and the next one copied is {then[0]}."


@pytest.mark.parametrize(
    "body",
    [
        {"retention": "LIMITS"}, {"storage": ""}, {"discard": "New"}, {"compression": "gzip"}, {"persist_mode": "sync"},
        {"max_msgs": 1 << 63}, {"max_age": "1 hour"}, {"no_ack": "perhaps"}, {"sources": [None]}, {"sources": [{}]},
        {"mirror": {"name": ""}}, {"mirror": {"name": "A", "opt_start_time": "yesterday"}}, {"template_owner": "x"},
    ],
)  # fmt: skip
def test_what_no_version_could_read_is_refused_where_the_file_is_read(body: Body) -> None:
    with pytest.raises(ValidationError):
        REGISTRY["stream"].spec.model_validate(body)
