"""The example of a rule on a real server: what is live in it is made there, and the change it flags is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reconciler.changes.change import Action, Change
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Reaction, Verdict
from reconciler.changes.view import View
from reconciler.engine.judging import verdicts_of_all
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.stream_config import stream_config
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Step
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.agreement.answered import Answered, answered
from tests.agreement.case import Body, Live
from tests.agreement.judging import RULES
from tests.agreement.ours import Ours
from tests.agreement.rooms import EACH, Ground
from tests.agreement.running import clean, create, missing
from tests.agreement.sending import dropped, send
from tests.rules.examples import Example, example

WITHIN = 60.0
"""Seconds for one example."""
RESTARTS = 5
"""What is lost depends on the order in which a server finds its streams again, and that is another one each time."""
PATIENCE = 5.0
"""Seconds for copies to begin; what has no origin never does."""
ELSEWHERE = frozenset({"cluster", "limits", "usage"})
"""What an example says that an account of a single server without limits is not."""


def examples_on(minor: str, codes: Iterable[str]) -> dict[str, Answered]:
    """What this version does with the change in the example of each of these rules, where it can be asked for it."""
    wanted = [example(code) for code in codes]
    possible = [one for one in wanted if not one.case.keys() & ELSEWHERE]
    lasting = [one for one in possible if one.verdict.reaction is not Reaction.DOOMS]
    found: dict[str, Answered] = {}
    with Ground(minor) as ground:
        for start in range(0, len(lasting), EACH):
            found |= ground.run(_sitting(ground, lasting[start : start + EACH]))
    doomed = (_with_restarts(minor, one) for one in possible if one not in lasting)
    return found | {code: answer for code, answer in doomed if answer}


async def _sitting(ground: Ground, some: Sequence[Example]) -> dict[str, Answered]:
    """Each in an account of its own."""
    rooms = [await ground.room(f"alone-{number}") for number, _ in enumerate(some)]
    said = await asyncio.gather(*(_patiently(js, one) for js, one in zip(rooms, some, strict=True)))
    await asyncio.gather(*map(clean, rooms))
    return {one.code: answer for one, answer in zip(some, said, strict=True) if answer}


def _with_restarts(minor: str, one: Example) -> tuple[str, Answered | None]:
    """With what is lost when the server starts again, on one new server after another."""
    lost, found = set[str](), None
    for _ in range(RESTARTS):
        with Ground(minor) as ground:
            found = ground.run(_restarted(ground, one))
        lost.update((found or {}).pop("lost", ()))
    if found and found["answer"] == "accepts":
        found |= {"lost": sorted(lost), "restarts": RESTARTS * RESTARTS}
    return one.code, found


async def _restarted(ground: Ground, one: Example) -> Answered | None:
    js = await ground.room("alone-0")
    found = await _patiently(js, one)
    if found is None or found["answer"] != "accepts":
        return found
    before, lost = await observe(js), set[str]()
    for _ in range(RESTARTS):
        await ground.restart()
        lost.update(missing(before, await observe(await ground.room("alone-0"))))
    return {**found, "lost": sorted(lost)}


async def _patiently(js: JetStream, one: Example) -> Answered | None:
    try:
        async with asyncio.timeout(WITHIN):
            return await _answer(js, one)
    except TimeoutError:
        return None


async def _answer(js: JetStream, one: Example) -> Answered | None:
    """None where the server cannot hold what is live in the example, or where nothing would be sent."""
    if not await _made(js, one.scene.snapshot):
        return None
    await _copying(js)
    at = Address.parse(one.change.address)
    if not await _made_beside(js, one, at):
        return None
    view = await _view(js, one)
    if at not in view.changes or not _is_same(one.change, view.changes[at]):
        return None
    sent = await send(js, _as_asked(REGISTRY.of(at).steps(view.changes[at], view)), view.snapshot)
    said = answered(sent.answer, sent.dropped)
    return said if said and _is_its_own(one, at, view, said) else None


async def _made_beside(js: JetStream, one: Example, at: Address) -> bool:
    """Makes or changes whatever else the example does: the stream of a consumer, the other of two streams. False where the
    server refuses what the rule does not flag."""
    flagged = {change.address for change in one.plan.changes if one.code in _codes(change.verdicts)}
    for address, imagined in one.scene.view().changes.items():
        view = await _view(js, one)
        if address == at or imagined.action is Action.DELETE or address not in view.changes:
            continue
        if not await _done(js, address, view) and str(address) not in flagged:
            return False
    return True


def _is_its_own(one: Example, at: Address, view: View, said: Answered) -> bool:
    """Whether the answer is about what the rule flags: the rule flags it here as it does in the example, for a server of
    this version, and no other rule foretells the refusal."""
    snapshot = replace(one.scene.snapshot, target=replace(one.scene.snapshot.target, version=view.target.version))
    imagined, real = (_verdicts(at, other) for other in (replace(one.scene, snapshot=snapshot).view(), view))
    if one.verdict.reaction is Reaction.REFUSES and one.code in _codes(imagined) and one.code not in _codes(real):
        return False
    refusing = {found.code for found in real if found.reaction is Reaction.REFUSES}
    foretold = {code for code in refusing if said.get("err_code") in RULES[code].err_codes}
    return not foretold or one.code in foretold


def _verdicts(at: Address, view: View) -> Sequence[Verdict]:
    return verdicts_of_all(view, REGISTRY).get(at, ())


def _codes(verdicts: Iterable[Verdict]) -> set[str]:
    return {found.code for found in verdicts}


async def _copying(js: JetStream) -> None:
    """Waits until every copy takes in messages, or has had time enough to begin."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while _unfed((await observe(js)).streams) and loop.time() < deadline:  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0.1)


def _unfed(streams: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Origins that are there, and from which nothing is taken in yet."""
    origins = [one for info in streams.values() for one in (*(info.get("sources") or ()), info.get("mirror")) if one]
    return [one["name"] for one in origins if one["name"] in streams and one.get("active", -1) < 0]


async def _view(js: JetStream, one: Example) -> View:
    return replace(one.scene, snapshot=await observe(js), facts={}).view()


def _is_same(imagined: PlannedChange, real: Change) -> bool:
    """Whether the same is done to the same fields. A real server of another version may ask for more beside them."""
    edits = (Action.UPDATE, Action.REPLACE)
    alike = imagined.action is real.action or (imagined.action in edits and real.action in edits)
    return alike and {field.path for field in imagined.fields} <= {field.path for field in real.fields}


async def _done(js: JetStream, address: Address, view: View) -> bool:
    """Carries out a change as it would be; False where the server refuses it."""
    steps = REGISTRY.of(address).steps(view.changes[address], view)
    sent = await send(js, _as_asked(steps), view.snapshot)
    return not steps or isinstance(sent.answer, Mapping)


async def _made(js: JetStream, snapshot: Snapshot) -> bool:
    """Makes what is live in the example; False where the server does not take that."""
    streams = [Live(on=(name,), body=_as_sent((name,), info, snapshot)) for name, info in snapshot.streams.items()]
    consumers = [
        Live(on=(stream, name), body={"durable_name": None, **_as_sent((stream, name), info, snapshot)})
        for stream, own in snapshot.consumers.items()
        for name, info in own.items()
    ]
    for one in (*streams, *consumers):
        said = await create(js, one)
        if not isinstance(said, Mapping) or dropped(one.body, said["config"]):
            return False
    for bucket, entries in snapshot.entries.items():
        for key, entry in entries.items():
            stored = await js.pipeline.request(f"$KV.{bucket}.{key}", entry.value, within=20)
            if isinstance(stored, NoAnswer):
                return False
    return True


def _as_sent(on: tuple[str, ...], info: Mapping[str, Any], snapshot: Snapshot) -> Body:
    """The configuration without what the server filled in."""
    config = info.get("config", {})
    if len(on) == 1:
        filled = stream_config.settle(config, snapshot.target, name=on[0]).filled
    else:
        parent = stream_config.canonical(snapshot.streams[on[0]]["config"])
        filled = consumer_config.settle(config, snapshot.target, parent=parent).filled
    return {name: value for name, value in config.items() if name not in filled or filled[name].value != value}


def _as_asked(steps: Iterable[Step]) -> Ours:
    return Ours(text="", steps=tuple(step for step in steps if step.undoes is None))
