"""Verdicts beside a real server's answers: many cases at once, each on a stream of its own, sent as our steps send them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from reconciler.changes.change import Action, Change
from reconciler.changes.verdict import Reaction, Verdict
from reconciler.changes.view import View
from reconciler.engine.compare import compare
from reconciler.engine.judging import verdicts_of_all
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config.consumer_config import update_body
from reconciler.memory.remembered import Memory
from reconciler.model.resource import Address, Declared
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call, Step
from reconciler.server.read.observe import observe
from reconciler.server.wire.answers import Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.primitives.bodies import named
from tests.support.accounts import Account
from tests.support.jetstream import make_stream

Body = Mapping[str, Any]

CONSUMER, STREAM = REGISTRY["consumer"], REGISTRY["stream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is wanted of consumer `c`, on a stream like this, beside others, from what it was before. `{name}` in any
    text stands for the stream's name, which is also the first token of its subject."""

    about: str
    wanted: Body
    before: Body | None = None
    stream: Body = field(default_factory=dict)
    others: Mapping[str, Body] = field(default_factory=dict)
    meddled: Mapping[str, Body] = field(default_factory=dict)
    """Updates that somebody else sends then, whatever they may be."""
    listened: str = ""
    """A subject that somebody is subscribed to all the time."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One case with both opinions."""

    case: Case
    change: Change
    verdicts: Sequence[Verdict]
    answer: Answer

    @property
    def refused(self) -> int:
        """The server's err_code; 0 when it said ok. Silence is neither."""
        assert not isinstance(self.answer, NoAnswer), self
        return self.answer.err_code if isinstance(self.answer, Refusal) else 0

    @property
    def foreseen(self) -> set[str]:
        """Codes of the rules that say the server refuses it."""
        return {v.code for v in self.verdicts if v.reaction is Reaction.REFUSES}

    def disagreement(self) -> str | None:
        codes = {code for v in self.foreseen for code in RULES[v].err_codes}
        if bool(self.foreseen) == bool(self.refused) and (not self.refused or self.refused in codes):
            return None
        return f"{self.case.about}: {sorted(self.foreseen) or 'nothing'} foreseen, the server said {self.answer}"


RULES = {rule.code: rule for rule in REGISTRY.rules()}


def judge(account: Account, cases: Sequence[Case]) -> list[Judged]:
    """A busy cluster may stay silent about one, however often it is asked; that one is tried anew, on a stream of its own."""
    found = asyncio.run(_judge(account, cases, "s"))
    silent = [one.case for one in found if isinstance(one.answer, NoAnswer)]
    anew = asyncio.run(_judge(account, silent, "again")) if silent else []
    return [*(one for one in found if not isinstance(one.answer, NoAnswer)), *anew]


async def _judge(account: Account, cases: Sequence[Case], prefix: str) -> list[Judged]:
    nc = await account.connect()
    js = await JetStream.open(nc, within=8)
    try:
        named_cases = {f"{prefix}{number}": case for number, case in enumerate(cases)}
        await _prepare(js, named_cases)
        snapshot = await _observed(js, named_cases)
        return await _both(js, named_cases, snapshot)
    finally:
        await js.close()
        await nc.close()


async def _prepare(js: JetStream, cases: Mapping[str, Case]) -> None:
    for subject in filter(None, (named({"": case.listened}, s)[""] for s, case in cases.items())):
        await js.pipeline.nc.subscribe(subject)
    await js.pipeline.nc.flush()
    await asyncio.gather(*(make_stream(js, **_stream(s, case)) for s, case in cases.items()))
    before = {s: _before(case) for s, case in cases.items()}
    await _together(_consumer(js, s, n, body, "create") for s, all_ in before.items() for n, body in all_.items())
    await _together(_consumer(js, s, n, b, "update") for s, case in cases.items() for n, b in case.meddled.items())


def _before(case: Case) -> dict[str, Body]:
    """Every consumer that is there before."""
    return {**case.others, **({"c": case.before} if case.before is not None else {})}


async def _observed(js: JetStream, cases: Mapping[str, Case]) -> Snapshot:
    """The leader of a stream with replicas hears of a consumer a moment after that consumer's own leader has said ok."""
    async with asyncio.timeout(60):
        while True:
            snapshot = await observe(js)
            if all(_before(case).keys() <= snapshot.consumers.get(s, {}).keys() for s, case in cases.items()):
                return snapshot


def _stream(name: str, case: Case) -> Body:
    return named({"subjects": ["{name}.>"], **case.stream, "name": name}, name)


async def _consumer(js: JetStream, stream: str, name: str, body: Body, action: str) -> Answer:
    config = {"durable_name": name, "name": name, **named(dict(body), stream)}
    return await _asked(js, stream, name, action, config)


async def _asked(js: JetStream, stream: str, name: str, action: str, config: Body) -> Answer:
    """Asked again where a busy cluster says nothing; what was done the first time is done again in vain."""
    body = {"stream_name": stream, "action": action, "config": config}
    for _ in range(4):
        if not isinstance(said := await js.request(f"CONSUMER.CREATE.{stream}.{name}", body), NoAnswer):
            break
    return said


async def _together(requests: Iterable[Any]) -> None:
    for answer in await asyncio.gather(*requests):
        assert isinstance(answer, Mapping), answer


async def _both(js: JetStream, cases: Mapping[str, Case], snapshot: Snapshot) -> list[Judged]:
    view = viewed(snapshot, [one for name, case in cases.items() for one in _declared(name, case)])
    verdicts = verdicts_of_all(view, REGISTRY)
    answers = await asyncio.gather(*(_send(js, name, view, snapshot) for name in cases))
    addresses = [Address.of("consumer", name, "c") for name in cases]
    return [
        Judged(case, view.changes[address], verdicts.get(address, []), answer)
        for case, address, answer in zip(cases.values(), addresses, answers, strict=True)
    ]


def _declared(name: str, case: Case) -> Iterable[Declared]:
    stream = {key: value for key, value in _stream(name, case).items() if key != "name"}
    yield Declared(address=Address.of("stream", name), spec=STREAM.spec.model_validate(stream))
    wanted = named(dict(case.wanted), name)
    yield Declared(address=Address.of("consumer", name, "c"), spec=CONSUMER.spec.model_validate(wanted))


def viewed(snapshot: Snapshot, declared: Sequence[Declared]) -> View:
    wanted = Topology(name="orders", resources=tuple(declared))
    return compare(wanted, snapshot, Memory(), REGISTRY, RunOptions(today=date(2026, 6, 1)))


async def _send(js: JetStream, stream: str, view: View, snapshot: Snapshot) -> Answer:
    """What our own steps send, whatever the rules say."""
    change = view.changes[Address.of("consumer", stream, "c")]
    assert change.action in (Action.CREATE, Action.UPDATE), change
    (step,) = (s for s in CONSUMER.steps(change, view) if s.call in (Call.CONSUMER_CREATE, Call.CONSUMER_UPDATE))
    action = "create" if step.call is Call.CONSUMER_CREATE else "update"
    return await _asked(js, stream, "c", action, _body(step, snapshot))


def _body(step: Step, snapshot: Snapshot) -> Body:
    if step.call is Call.CONSUMER_CREATE:
        return step.body
    stream, name = step.on
    return update_body(snapshot.consumers[stream][name]["config"], step.set, step.unset)
