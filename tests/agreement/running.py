"""Runs cases: make what is live, judge, send the request, look at what is there then; after a restart once more."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.stream_config import stream_config
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import Question, Unanswered
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.observe import ask, observe
from reconciler.server.wire.answers import Answer, Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.agreement.case import Case, Live
from tests.agreement.ours import Ours, compared, judged, restricted
from tests.agreement.rooms import Ground, seated
from tests.agreement.row import S
from tests.agreement.sending import dropped, held, send, unlike

_numbers = itertools.count()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """One case with our verdict and the server's answer."""

    drawn: Case
    case: Case
    """The same under names of its own."""
    prefix: str
    """What those names begin with."""
    unborn: str = ""
    """Why what should be live before could not be made: not a case at all."""
    ours: Ours | None = None
    answer: Answer | None = None
    """None: there was nothing to send."""
    surprises: tuple[str, ...] = ()
    """What is not as predicted after an answer of ok."""
    made_without: tuple[str, ...] = ()
    """Fields of what is live before that the server left out without a word."""
    dropped: tuple[str, ...] = ()
    """Fields that were sent, and that no echo shows."""
    lost: tuple[str, ...] | None = None
    """What was gone after a restart; None: not looked at."""
    around: tuple[Snapshot, Snapshot] | None = None
    """What there was before that restart, and after it."""

    @property
    def refused(self) -> bool:
        return isinstance(self.answer, Refusal)

    @property
    def err_code(self) -> int:
        return self.answer.err_code if isinstance(self.answer, Refusal) else 0


def run(ground: Ground, cases: Sequence[Case], *, restart: bool = False) -> list[Outcome]:
    """Every case once; `restart` also looks at what is left of them after the server was restarted."""
    outcomes: list[Outcome] = []
    for sitting in seated(cases):
        outcomes += ground.run(_sitting(ground, sitting, restart=restart))
    return outcomes


async def _sitting(ground: Ground, sitting: Mapping[str, Sequence[Case]], *, restart: bool) -> list[Outcome]:
    rooms = {name: await ground.room(name) for name in sitting}
    found = dict(
        zip(
            sitting, await asyncio.gather(*(_room(rooms[n], c, ground.folder) for n, c in sitting.items())), strict=True
        )
    )
    if restart:
        before = dict(zip(rooms, await asyncio.gather(*(observe(js) for js in rooms.values())), strict=True))
        await ground.restart()
        rooms = {name: await ground.room(name) for name in sitting}
        after = dict(zip(rooms, await asyncio.gather(*(observe(js) for js in rooms.values())), strict=True))
        for name, outcomes in found.items():
            for one in outcomes:
                one.around = restricted(before[name], one.case), restricted(after[name], one.case)
                one.lost = tuple(_lost(*one.around))
    await asyncio.gather(*(clean(js) for js in rooms.values()))
    return [outcome for outcomes in found.values() for outcome in outcomes]


async def _room(js: JetStream, cases: Sequence[Case], folder: Path) -> list[Outcome]:
    prefixes = [f"c{next(_numbers)}" for _ in cases]
    outcomes = [Outcome(drawn=one, case=one.named(own), prefix=own) for one, own in zip(cases, prefixes, strict=True)]
    listeners = [await js.pipeline.nc.subscribe(subject) for one in outcomes for subject in one.case.listens]
    await asyncio.gather(*(_make(js, one) for one in outcomes))
    alive = [one for one in outcomes if not one.unborn]
    made = [live.on for one in alive for live in one.case.live]
    before = await _shown(js, lambda seen: all(held(seen, on) is not None for on in made))
    await asyncio.gather(*(_judge(js, one, restricted(before, one.case), folder) for one in alive))
    answers = await asyncio.gather(*(send(js, one.ours, restricted(before, one.case)) for one in alive if one.ours))
    foreseen = [said for one, said in zip(alive, answers, strict=True) if one.ours and not one.ours.blocks]
    after = await _shown(js, lambda seen: not any(said.unlisted(seen) for said in foreseen))
    for one, said in zip(alive, answers, strict=True):
        one.answer, one.dropped = said.answer, tuple(said.dropped)
        if one.ours and not one.ours.blocks:
            one.surprises = (*said.surprises, *said.unlisted(after))
    for listener in listeners:
        await listener.unsubscribe()
    return outcomes


async def _shown(js: JetStream, is_shown: Callable[[Snapshot], bool]) -> Snapshot:
    """The account; in a cluster when it is shown as it should be or has had time enough to, for the servers that answer a
    list may follow later than those that said ok."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 20
    while True:
        seen = await observe(js)
        if not seen.target.is_clustered or is_shown(seen) or loop.time() > deadline:
            return seen


async def _make(js: JetStream, one: Outcome) -> None:
    for wanted in one.case.live:
        said = await create(js, wanted)
        if isinstance(said, Refusal | NoAnswer):
            one.unborn = f"{'/'.join(wanted.on)}: {said}"
            return
        one.made_without = (*one.made_without, *dropped(wanted.body, said["config"]))
        for subject in wanted.messages:
            await js.pipeline.request(subject, b"x", within=2)


async def create(js: JetStream, wanted: Live) -> Answer:
    """Makes a stream or a consumer over the raw API; what is sealed is sealed afterwards."""
    name = wanted.on[-1]
    if len(wanted.on) == 1:
        config = {**wanted.body, "name": name}
        sealed = config.pop("sealed", False)
        said = await js.write(f"STREAM.CREATE.{name}", config)
        return await js.write(f"STREAM.UPDATE.{name}", {**config, "sealed": True}) if sealed else said
    config = {"name": name, "durable_name": name, **wanted.body}
    body = {"stream_name": wanted.on[0], "action": "create", "config": config}
    return await js.write(
        f"CONSUMER.CREATE.{wanted.on[0]}.{name}", {**body, "config": {k: v for k, v in config.items() if v is not None}}
    )


async def _judge(js: JetStream, one: Outcome, snapshot: Snapshot, folder: Path) -> None:
    comparison = compared(one.case, snapshot, folder)
    facts: dict[Question, Json | Unanswered] = {}
    while asked := comparison.questions(facts):
        facts |= await ask(js, asked)
    one.ours = judged(one.case, snapshot, comparison, facts)


def _lost(before: Snapshot, after: Snapshot) -> list[str]:
    """What is gone, or otherwise, after a restart."""
    found = []
    for name, info in before.streams.items():
        if name not in after.streams:
            found.append(f"stream {name} is gone")
        elif _meant(info["config"]) != _meant(after.streams[name]["config"]):
            found.append(f"stream {name} is otherwise: {unlike(info['config'], after.streams[name]['config'])}")
    for stream, own in before.consumers.items():
        there = after.consumers.get(stream, {})
        for name, info in own.items():
            if info["config"].get("mem_storage") or 0 < info["config"].get("inactive_threshold", 0) <= 60 * S:
                continue  # kept nowhere but in memory, or so idle meanwhile that it goes
            if name not in there:
                found.append(f"consumer {stream}/{name} is gone")
            elif _bound(info["config"]) != _bound(there[name]["config"]):
                found.append(f"consumer {stream}/{name} is otherwise: {unlike(info['config'], there[name]['config'])}")
    return found


def missing(before: Snapshot, after: Snapshot) -> list[str]:
    """What is gone, or otherwise, after a restart: also what is kept in memory alone."""
    found = [f"stream {name} is gone" for name in before.streams if name not in after.streams]
    found += [
        f"consumer {stream}/{name} is gone"
        for stream, own in before.consumers.items()
        for name in own
        if name not in after.consumers.get(stream, {})
    ]
    return sorted({*found, *_lost(before, after)})


def _meant(config: Config) -> Config:
    """Canonical. The duplicate window of a mirror means nothing, and 2.11 forgets it when it starts."""
    found = stream_config.canonical(config)
    return {name: value for name, value in found.items() if name != "duplicate_window" or "mirror" not in found}


def _bound(config: Config) -> Config:
    """Canonical. Without acknowledgements `max_ack_pending` means nothing, and servers fill it in when they start."""
    found = consumer_config.canonical(config)
    return {name: value for name, value in found.items() if name != "max_ack_pending" or "ack_policy" in found}


async def clean(js: JetStream) -> None:
    said = await observe(js, consumers_of=())
    await asyncio.gather(*(js.write(f"STREAM.DELETE.{name}") for name in said.streams))
