"""One power cut: the account as it was in one moment, but one of its streams as it was in an earlier one; applied again."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from reconciler.changes.change import Action
from reconciler.journeys.plan.plan import Planned, plan
from reconciler.kinds.consumer_config.consumer_config import placeholder_name
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.faults.traffic import LOOKING, of_others
from tests.power.recording import (
    BUCKET,
    OPTIONS,
    PLACES,
    STREAMS,
    Clients,
    Moment,
    Part,
    Recording,
    carried_out,
    connected,
)
from tests.support.jetstream import make_consumer
from tests.support.leases import removed
from tests.support.servers import NatsServer

PATIENCE = 15.0
"""Seconds in which all that is to be delivered comes."""
PUBLISHED = 24
"""Messages on each subject after the power is back: more than were lost."""
APPLIES = (2, 12, 22)
"""After which of them: a group that resumes needs more than one, when it has stored something."""


@dataclass(frozen=True, slots=True)
class Case:
    recording: Recording
    now: Moment
    stream: str
    """The one whose store is older than the rest."""
    then: Moment
    part: Part = Part.ALL

    @property
    def sort(self) -> str:
        return "bucket older" if self.stream == BUCKET else f"stream older: {self.part}"

    def __str__(self) -> str:
        name, minor = self.recording.scene.name, self.recording.minor
        return (
            f"{minor} {name}: after {self.now.number} {self.now.request.subject}, "
            f"{self.stream} ({self.part}) as after {self.then.number} {self.then.request.subject}"
        )


@dataclass(slots=True)
class Outcome:
    case: Case
    wrong: list[str] = field(default_factory=list)
    word: str = ""
    """`converged`, or the codes that stop it until somebody settles it."""
    said: list[str] = field(default_factory=list)
    """What the plan said that stopped it."""

    @property
    def is_good(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        return "; ".join([f"{self.case} [{self.word}]", *self.wrong, *self.said])


def composed(case: Case, home: Path) -> None:
    """The store that the server finds when it starts again."""
    there, place = home / STREAMS, f"{case.stream}/{PLACES[case.part]}"
    shutil.copytree(case.now.store, there)
    shutil.rmtree(there / place, ignore_errors=True)
    if (case.then.store / case.stream / "meta.inf").exists():
        shutil.copytree(case.then.store / place, there / place)


def played(case: Case, folder: Path) -> Outcome:
    outcome = Outcome(case)
    playing = _Playing(case, outcome)
    _on_it(case, folder, outcome, playing.story)
    if playing.missing:
        passed_over = _Playing(case, Outcome(case))
        _on_it(case, folder, outcome, passed_over.without_us)
        playing.missing -= passed_over.missing
        if passed_over.missing and any(not name for _, name in case.recording.scene.readers):
            playing.missing -= (
                playing.fresh
            )  # of a source that is behind a queue, how many depends on the moment it is asked
        outcome.word += ", passed over by the server" if passed_over.missing else ""
        if (
            passed_over.missing
            and "LE109" not in playing.told
            and all(name for _, name in case.recording.scene.readers)
        ):
            outcome.wrong.append("PASSED OVER WITHOUT A WORD")
    if playing.missing:
        outcome.wrong.append(f"LOST: {sorted(playing.missing)[:20]}; {playing.evidence}")
    return outcome


def _on_it(
    case: Case, folder: Path, outcome: Outcome, story: Callable[[NatsServer], Coroutine[Any, Any, None]]
) -> None:
    """On a server that starts with this store."""
    home = folder / "again"
    composed(case, home)
    try:
        with NatsServer(case.recording.minor, home=home) as server:
            asyncio.run(story(server))
            server.kill()
    except Exception as error:  # noqa: BLE001 - one case that goes wrong must not end the others
        outcome.wrong.append(f"THE TEST ITSELF: {type(error).__name__} {error}")
    finally:
        shutil.rmtree(home, ignore_errors=True)


Contents = Mapping[str, list[tuple[int, str]]]
"""By stream, what it holds: sequence and text."""


class _Playing:
    def __init__(self, case: Case, outcome: Outcome) -> None:
        self.case, self.outcome, self.scene = case, outcome, case.recording.scene
        self.readers = [*case.recording.scene.readers]
        self.told: set[str] = set()
        """Codes of what the first plan said aside."""
        self.came: set[str] = set()
        self.missing: set[str] = set()
        """What the stores held, or took in since, and nobody will ever get."""
        self.fresh: set[str] = set()
        """What was published since."""
        self.evidence = ""

    async def without_us(self, server: NatsServer) -> None:
        """What becomes of the messages when nothing is applied."""
        async with connected(server.port) as (self.nc, self.js):
            held = await contents(self.js, await observe(self.js))
            clients = Clients(self.nc, self.scene, server.home, number=100_000)
            for _ in range(PUBLISHED):
                await clients.publish()
            there = (await observe(self.js)).consumers
            self.readers = [one for one in self.scene.readers if not one[1] or one[1] in there.get(one[0], {})]
            fresh = {text for texts in clients.stored.values() for text in texts}
            if all(name for _, name in self.readers):  # what nobody would get without us says nothing
                now = await contents(self.js, await observe(self.js))
                fresh &= {text for stream, _ in self.readers for _, text in now.get(stream, ())}
            self.behind: set[str] = set()
            await self._judge_messages(held, fresh)

    async def story(self, server: NatsServer) -> None:
        async with connected(server.port) as (self.nc, self.js):
            await removed(self.js)
            theirs, before = await of_others(self.js), await observe(self.js)
            held = await contents(self.js, before)
            self.behind = {
                text for stream, texts in held.items() for seq, text in texts if seq <= floor(before, stream)
            }
            clients = Clients(self.nc, self.scene, server.home, number=100_000)
            self.told |= {one.code for one in (await self._planned(OPTIONS)).plan.diagnostics}
            for at in range(PUBLISHED):
                await clients.publish()
                if at in APPLIES:
                    await self._applied(OPTIONS)
            after = await observe(self.js)
            self._judge_what_went(before, after)
            await self._settled()
            self._judge_leftovers(await observe(self.js))
            fresh = {text for texts in clients.stored.values() for text in texts}
            self.fresh = fresh
            await self._judge_messages(held, fresh)
            if await of_others(self.js) != theirs:
                self.outcome.wrong.append("TOUCHED WHAT IS NOT OURS")

    async def _planned(self, options: RunOptions) -> Planned:
        return await plan(self.case.recording.wanted, self.js, options)

    async def _applied(self, options: RunOptions) -> None:
        """As a run does it that applies what does not depend on anything refused."""
        planned = await self._planned(options)
        finished = await carried_out(planned, self.js)
        for one in finished.went_wrong:
            self.outcome.wrong.append(f"NOT APPLIED: {one.step.id}: {one.reason.message}")

    async def _settled(self) -> None:
        """Converged, or stopped with why and what to do."""
        planned = await self._planned(OPTIONS)
        told: set[str] = set()
        for change in planned.plan.changes:
            stops = [one for one in change.verdicts if one.blocks]
            about = stops or change.verdicts
            if not stops and not change.blocked_by and (change.action is not Action.KEEP or not change.verdicts):
                text = [one.message for one in change.verdicts]
                self.outcome.wrong.append(f"STILL TO DO: {change.action} {change.address} {change.fields} {text}")
            told |= {one.code for one in about}
            self.outcome.said += [f"{change.address}: {one.code} {one.message} | {one.fix}" for one in about]
            self.outcome.wrong += [f"NO WAY OUT: {one.code} {one.message}" for one in about if not one.fix]
        is_stopped = any(change.is_blocked for change in planned.plan.changes)
        aside = [one for one in planned.plan.diagnostics if one.code.startswith("LE")]
        told |= {one.code for one in aside}
        self.outcome.said += [f"{one.address}: {one.code} {one.message} | {one.fix}" for one in aside]
        self.outcome.word = ", ".join(("stopped" if is_stopped else "converged", *sorted(told)))

    # -- what must be true

    def _judge_what_went(self, before: Snapshot, after: Snapshot) -> None:
        """Only what the files remove, and what a replacement makes anew."""
        removed = {str(one.address) for one in self.case.recording.wanted.removed}
        for name in before.streams.keys() - after.streams.keys():
            is_queue = any(f"elastic_group/{'/'.join(name.split('-', 1))}" == one for one in removed)
            if f"stream/{name}" not in removed and not is_queue:
                self.outcome.wrong.append(f"STREAM {name} IS GONE")
        for stream, consumers in before.consumers.items():
            for name in consumers.keys() - after.consumers.get(stream, {}).keys():
                moved = any(str(one.origin) == f"consumer/{stream}/{name}" for one in self.case.recording.wanted.moved)
                is_ours = f"consumer/{stream}/{name}" in removed or f"stream/{stream}" in removed
                if not (moved or is_ours or name.endswith("-kept") or stream not in after.streams):
                    self.outcome.wrong.append(f"CONSUMER {stream}/{name} IS GONE")

    def _judge_leftovers(self, after: Snapshot) -> None:
        """What holds messages back for a consumer that is there by now is named."""
        for stream, consumers in after.consumers.items():
            for name in consumers:
                kept = placeholder_name(name)
                if kept in consumers and not any(kept in one for one in self.outcome.said):
                    self.outcome.wrong.append(f"PLACEHOLDER OF {stream}/{name} IS LEFT, AND NOBODY SAYS SO")

    async def _judge_messages(self, held: Contents, fresh: set[str]) -> None:
        read, wanted = {stream for stream, _ in self.readers}, self.case.recording.wanted
        gone = {removed for one in wanted.removed for removed in (one.address.name, "-".join(one.address.names))}
        held = {stream: texts for stream, texts in held.items() if stream not in gone}
        due = {text for stream, texts in held.items() if stream in read for _, text in texts}
        due = due - self.case.now.processed | fresh
        if self.outcome.word.startswith("stopped"):
            read = set()
        else:
            await self._delivered(due)
        kept = await contents(self.js, await observe(self.js))
        there = {text for texts in kept.values() for _, text in texts}
        beside = {text for stream, texts in held.items() if stream not in read for _, text in texts}
        self.missing = (beside - self.case.now.processed | (due if not read else set())) - there
        self.missing |= due - self.came if read else set()
        self.evidence = await self._evidence()
        if again := (self.case.recording.behind | self.behind) & self.case.now.processed & self.came:
            self.outcome.wrong.append(f"STARTED OVER: {sorted(again)[:20]}; {self.evidence}")

    async def _delivered(self, due: set[str]) -> None:
        async def arrived(message: Msg) -> None:
            if not (message.headers or {}).get("Status"):
                self.came.add(message.data.decode())
                await message.ack()

        inbox = self.nc.new_inbox()
        await self.nc.subscribe(inbox, cb=arrived)
        for stream, consumer in self.readers:
            if not consumer:
                await make_consumer(self.js, stream, LOOKING, max_ack_pending=-1, ack_wait=500_000_000)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while (due - self.came or await self._pending()) and loop.time() < deadline:
            for stream, consumer in self.readers:
                body = json.dumps({"batch": 500, "expires": 200_000_000}).encode()
                subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer or LOOKING}"
                await self.nc.publish(subject, body, reply=inbox)
            await asyncio.sleep(0.1)  # what is out already comes again when its time is over, and nothing tells when

    async def _pending(self) -> bool:
        infos = [await self._info(*reader) for reader in self.readers]
        return any(one.get("num_pending") or one.get("num_ack_pending") for one in infos)

    async def _info(self, stream: str, consumer: str) -> Mapping[str, Any]:
        said = await self.js.read(f"CONSUMER.INFO.{stream}.{consumer or LOOKING}")
        return said if isinstance(said, Mapping) else {}

    async def _evidence(self) -> str:
        said = []
        for stream, consumer in self.readers:
            info, one = await self.js.read(f"STREAM.INFO.{stream}"), await self._info(stream, consumer)
            if isinstance(info, Mapping):
                told = {name: one.get(name) for name in ("delivered", "ack_floor", "num_pending", "num_ack_pending")}
                told["start"] = one.get("config", {}).get("opt_start_seq")
                said.append(f"{stream} {info['state']} {told}")
        return "; ".join(said)


def floor(snapshot: Snapshot, stream: str) -> int:
    """Up to where some consumer of the stream has processed all it wants, and so need not see again. What a work queue holds
    is still to be done."""
    if snapshot.streams[stream]["config"]["retention"] == "workqueue":
        return 0
    found = snapshot.consumers.get(stream, {})
    return min((one["ack_floor"]["stream_seq"] for one in found.values() if one["delivered"]["stream_seq"]), default=0)


async def contents(js: JetStream, snapshot: Snapshot) -> dict[str, list[tuple[int, str]]]:
    """All messages that clients published, by the stream that holds them."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name, info in snapshot.streams.items():
        if not name.startswith("KV_") and name != "THEIRS":
            found[name] = [one async for one in _messages(js.pipeline.nc, name, info["state"])]
    return found


async def _messages(nc: Client, stream: str, state: Mapping[str, Any]) -> AsyncIterator[tuple[int, str]]:
    following = state["first_seq"]
    while following <= state["last_seq"]:
        body = json.dumps({"seq": following, "next_by_subj": ">"}).encode()
        said = json.loads((await nc.request(f"$JS.API.STREAM.MSG.GET.{stream}", body, timeout=10)).data)
        if "message" not in said:
            return
        message = said["message"]
        yield message["seq"], base64.b64decode(message.get("data", "")).decode()
        following = message["seq"] + 1
