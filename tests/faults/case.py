"""One case: a topology applied while one thing goes wrong at one point, applied again, and everything looked at then."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan
from reconciler.memory.journal import Run
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.observe import observe
from reconciler.server.read.read_kv import entry
from reconciler.server.remember import journal
from reconciler.server.wire.answers import NO_STREAM, Refusal
from reconciler.server.wire.api import JetStream
from tests.faults.cluster import Throne, settled
from tests.faults.kinds import DEPOSING, GOES_ON, PERMANENT, TRANSIENT, Fault, step_type
from tests.faults.scenes import ALLOWED, Scene, Sections
from tests.faults.traffic import Traffic, inventory, of_others, others
from tests.faults.wire import Goes, Moment, Point, Request, Wire, wire
from tests.support.accounts import Account
from tests.support.applying import applying, ended
from tests.support.jetstream import done
from tests.support.leases import removed
from tests.support.suspending import stand_still
from tests.support.topologies import TODAY, from_files

OPTIONS = RunOptions(today=TODAY, allow=tuple((code, "*") for code in ALLOWED))
TTL, USUAL_TTL = 4, 20
"""Only that of who is suspended has to be over soon; on a busy machine nobody else could keep a lease of so short a term."""
TIMEOUT, USUAL_TIMEOUT = 4.0, 20.0
"""Seconds an answer may take, where one is waited for in vain and where a busy machine is all there is to wait for; a
delayed one takes half as long again as the first, an election up to ten."""
IN_VAIN = DEPOSING | {Fault.DELAYED, Fault.SUSPENDED}
SHOWN = 6000
"""Characters of what it printed: the reason comes before what was not reached."""
PATIENCE = 300.0
"""Seconds until an apply that does not end is taken for stuck."""
LEASE, BEGUN = "$KV.reconciler.lease", "$KV.reconciler.journal.N.begun"
ID = "$KV.reconciler.id"
"""Whoever comes first decides it, before there is any lease."""
UNSEEN, LATE = "unseen", "one request late"
"""Words for the two windows that remain: an edit in the instant of a step, and a request in the instant of a suspension."""


@dataclass(frozen=True, slots=True)
class Case:
    scene: Scene
    fault: Fault
    at: Point | None = None

    def __str__(self) -> str:
        return f"{self.scene.name}: {self.fault} at {self.at}" if self.at else f"{self.scene.name}: nothing goes wrong"


@dataclass(slots=True)
class Outcome:
    """What came of it; everything in `wrong` must not be."""

    case: Case
    wrong: list[str] = field(default_factory=list)
    lost: int = 0
    code: int | None = None
    was_reached: bool = False
    was_felt: bool = False
    """What happened at the point left a trace that nothing else leaves."""
    word: str = ""
    """How it ended: by itself, by the next apply, …"""
    asked: list[Request] = field(default_factory=list)
    left: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        return not self.wrong and not self.lost

    @property
    def step_type(self) -> str:
        return step_type(self.case.at.request) if self.case.at else ""

    def __str__(self) -> str:
        return "; ".join(
            (f"{self.case} [exit {self.code}]", *self.wrong, *([f"LOST {self.lost}"] if self.lost else []))
        )


class Playing:
    """A case as it is played, in an account of its own."""

    def __init__(self, case: Case, account: Account, folder: Path) -> None:
        self.case, self.account, self.folder = case, account, folder
        self.outcome = Outcome(case)
        self._throne = Throne(account) if account.cluster else None
        self._process: ForkServerProcess | None = None
        self._second: ForkServerProcess | None = None
        self._woken_at: int | None = None
        self._edited = self._has_begun = False
        self._gave_way = False
        """The second of two waited for the lease as long as it does, and the first was still at work."""
        self._later: set[asyncio.Task[None]] = set()

    async def played(self, expected: dict[str, list[str]] | None = None) -> Outcome:
        try:
            async with self._connected():
                await self._story()
            if expected is not None and self.outcome.left != expected:
                self.outcome.wrong.append(f"LEFT LYING ABOUT: {self.outcome.left}")
        except Exception as error:  # noqa: BLE001 - one case that goes wrong must not end the others
            self.outcome.wrong.append(f"THE TEST ITSELF: {type(error).__name__} {error}")
        return self.outcome

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        nc = await (self._throne.connect() if self._throne else self.account.connect())
        self.js = await JetStream.open(nc)
        self.traffic = Traffic(nc, self.js, self.case.scene)
        try:
            yield
        finally:
            for process in (self._process, self._second):
                if process is not None and process.is_alive():
                    process.kill()
            await self._cleared()
            await self.js.close()
            await nc.close()

    async def _story(self) -> None:
        before, self.wanted = self._file("before", self.case.scene.before), self._file("wanted", self.case.scene.wanted)
        finished = await self._apply(await plan(before, self.js, OPTIONS))
        assert finished.is_success, finished
        self._earlier = await self._runs()
        assert len(self._earlier) == (not self.case.scene.is_first), (self._earlier, finished.warnings)
        if self._throne:
            async with asyncio.timeout(PATIENCE):
                await settled(self.js)
        await others(self.js)
        theirs = await of_others(self.js)
        await self.traffic.begin()
        self.traffic.goes_on()
        await self._first()
        await self._seen_in_history()
        await self._again()
        await self.traffic.ends()
        self.outcome.lost = len(lost := await self.traffic.lost())
        if lost:
            self.outcome.wrong.append(f"NEVER CAME: {sorted(lost)[:40]}; {await self.traffic.evidence()}")
        await self._converged()
        if await of_others(self.js) != theirs:
            self.outcome.wrong.append("TOUCHED WHAT IS NOT OURS")

    async def _cleared(self) -> None:
        """Thousands of streams that nobody needs any more would keep a server from its work."""
        names = done(await self.js.persistent().read("STREAM.NAMES"))["streams"] or ()
        await asyncio.gather(*(self.js.request(f"STREAM.DELETE.{name}") for name in names))

    def _file(self, name: str, sections: Sections) -> Topology:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{name}.yaml"
        file.write_text(json.dumps({"reconciler": 1, "topology": "t", **sections}))
        return from_files(file)

    async def _apply(self, planned: Planned) -> Finished:
        return [event async for event in apply(planned, self.js) if isinstance(event, Finished)][-1]

    # -- the apply to which it happens

    async def _first(self) -> None:
        async with AsyncExitStack() as self._stack:
            between = await self._stack.enter_async_context(wire(self._port, self.case.at))
            between.act = self._acting(between)
            ttl = TTL if self.case.fault is Fault.SUSPENDED else USUAL_TTL
            self._process = self._applier(between.port, "said", ttl)
            self._process.start()
            await ended(self._process, PATIENCE)
            await asyncio.gather(*self._later)
            self._judge_the_first(between)
        if self._throne:
            await self._throne.whole()
            await self._led()

    async def _led(self) -> None:
        """Until somebody answers for every stream: a cluster is whole before that, and what nobody answers for is blocked."""
        async with asyncio.timeout(PATIENCE):
            while (await observe(self.js)).unknown:
                pass

    def _port(self) -> int:
        return self._throne.port() if self._throne else self.account.server.port

    def _applier(self, port: int, said: str, ttl: int = USUAL_TTL) -> ForkServerProcess:
        allowed = [word for code in ALLOWED for word in ("--allow", f"{code}=*/*")]
        login = ("--user", self.account.user, "--password", self.account.password)
        timeout = TIMEOUT if self.case.fault in IN_VAIN else USUAL_TIMEOUT
        server = ("--server", f"nats://127.0.0.1:{port}", "--timeout", f"{timeout}s", *login)
        return applying(
            self.folder, "wanted.yaml", "--yes", *allowed, *server, said=said, RECONCILER_LEASE_TTL=str(ttl)
        )

    def _acting(self, between: Wire) -> Callable[[Moment], Awaitable[Goes]]:
        deeds = {
            Fault.KILLED: self._kill, Fault.DISCONNECTED: self._disconnect, Fault.TRANSIENT: self._refuse,
            Fault.PERMANENT: self._refuse, Fault.DELAYED: self._delay, Fault.DOUBLED: self._double,
            Fault.EDITED: self._edit, Fault.LEADERLESS: self._depose, Fault.METALESS: self._depose,
        }  # fmt: skip
        if self.case.fault is Fault.SUSPENDED:
            return lambda _moment: self._suspend(between)
        return deeds.get(self.case.fault, self._nothing)

    async def _nothing(self, _moment: Moment) -> Goes:
        return Goes.ON

    async def _kill(self, _moment: Moment) -> Goes:
        assert self._process is not None
        self._process.kill()
        return Goes.WITH_THE_LINE

    async def _disconnect(self, _moment: Moment) -> Goes:
        return Goes.WITH_THE_LINE

    async def _refuse(self, moment: Moment) -> Goes:
        moment.answer({"error": TRANSIENT if self.case.fault is Fault.TRANSIENT else PERMANENT})
        return Goes.NOWHERE

    async def _delay(self, moment: Moment) -> Goes:
        async def later() -> None:
            await asyncio.sleep(1.5 * TIMEOUT)
            moment.to.write(moment.frame)

        self._later.add(asyncio.create_task(later()))
        return Goes.NOWHERE

    async def _double(self, _moment: Moment) -> Goes:
        """Another one begins now; this one goes on as soon as that has looked around."""
        beside = await self._stack.enter_async_context(wire(self._port))
        self._second = self._applier(beside.port, "second")
        self._second.start()
        self._later.add(asyncio.create_task(self._second_ends()))
        while self._second.is_alive():  # another process does not say when it looks
            if any("LIST" in one.subject for one in beside.asked):
                break
            await asyncio.sleep(0.01)
        return Goes.ON

    async def _second_ends(self) -> None:
        assert self._second is not None
        await ended(self._second, PATIENCE)
        self._gave_way = self.case.fault is Fault.DOUBLED and self._process is not None and self._process.is_alive()

    async def _suspend(self, between: Wire) -> Goes:
        """Until another one has waited for the lease, taken it over, and come to its end."""
        assert self._process is not None
        process = self._process
        stand_still(process.pid or 0)
        over = asyncio.get_running_loop().time() + TTL + 0.5
        self._second = self._applier(self._port(), "second")
        self._second.start()

        async def later() -> None:
            await self._second_ends()
            await asyncio.sleep(over - asyncio.get_running_loop().time())
            self._woken_at = len([one for one in between.asked if one.is_write])
            os.kill(process.pid or 0, signal.SIGCONT)

        self._later.add(asyncio.create_task(later()))
        return Goes.ON

    async def _edit(self, _moment: Moment) -> Goes:
        self._edited = await edit(self.js, self.case.scene.edited)
        return Goes.ON

    async def _depose(self, _moment: Moment) -> Goes:
        assert self._throne is not None and self.case.at is not None
        await self._throne.depose(self.js, self.case.at.request, meta=self.case.fault is Fault.METALESS)
        return Goes.ON

    # -- what must be true of it

    def _judge_the_first(self, between: Wire) -> None:
        assert self._process is not None
        out = self.outcome
        out.code, out.asked, out.was_reached = self._process.exitcode, between.asked, between.was_reached
        out.was_felt = out.was_reached and self._was_felt(between)
        self._has_begun = any(one.subject.startswith(BEGUN) for one in between.answered)
        said = self._said()[-SHOWN:]
        wrote = any(one.subject.startswith(LEASE) for one in self._before_the_point(between))
        if out.code is None:
            out.wrong.append(f"DID NOT END: {said}")
        elif "Traceback" in said or "internal error" in said:
            out.wrong.append(f"CRASHED: {said}")
        elif out.was_reached and self.case.fault in GOES_ON and wrote and out.code != 0:
            out.wrong.append(f"DID NOT GO ON: {said}")
        elif out.was_reached and self.case.fault is Fault.KILLED and not out.was_felt:
            out.wrong.append(f"OUTLIVED ITS END [exit {out.code}]: {said}")
        elif self.case.fault is Fault.NONE and out.code != 0:
            out.wrong.append(f"FAILED BY ITSELF: {said}")
        refused_for_good = self.case.fault is Fault.PERMANENT  # who can have none does without, if nothing is at stake
        if (bare := _without_a_lease(between.asked)) and not refused_for_good:
            out.wrong.append(f"WITHOUT A LEASE: {bare}")
        out.word = "by itself" if out.code == 0 else "by the next"
        second = self._said("second")[-SHOWN:]
        did_nothing = self._gave_way and "Nothing was changed" in second
        if self._second is not None and self._second.exitcode != 0 and not did_nothing:
            out.wrong.append(f"THE SECOND DID NOT FINISH [exit {self._second.exitcode}]: {second}")

    def _was_felt(self, between: Wire) -> bool:
        assert self.case.at is not None
        request, failed = self.case.at.request, self.outcome.code != 0
        was_asked_again = between.seen[request.subject] > request.nth
        was_kept_away = request not in between.asked  # whether the answer matters is the apply's affair
        traces = {
            Fault.KILLED: self.outcome.code == -signal.SIGKILL,
            Fault.DISCONNECTED: failed or between.connections > 1,
            Fault.TRANSIENT: was_kept_away,
            Fault.DELAYED: failed or was_asked_again,
            Fault.PERMANENT: was_kept_away,
            Fault.DOUBLED: self._second is not None,
            Fault.SUSPENDED: self._woken_at is not None,
            Fault.EDITED: self._edited,
        }
        return traces.get(self.case.fault, True)  # a leader that was killed is waited for

    def _said(self, which: str = "said") -> str:
        file = self.folder / which
        return file.read_text() if file.exists() else ""

    def _judge_the_woken(self, runs: list[Run]) -> None:
        """One request is what nobody can take back: it had been asked whether it may be sent. Whoever had not yet heard
        that the lease is his took it again, and all he did is under that: a run after the other one."""
        if self._woken_at is None:
            return
        writes = [one for one in self.outcome.asked if one.is_write][self._woken_at :]
        late = [one for one in writes if not one.subject.startswith((LEASE, ID))]
        if not late or (late[0].subject.startswith(BEGUN) and _in_order(runs)):
            return
        self.outcome.word = LATE
        if len(late) > 1:
            self.outcome.wrong += [f"WROTE WHEN IT WOKE: {one}" for one in late]

    def _before_the_point(self, between: Wire) -> list[Request]:
        at = self.case.at
        if at is None or at.request not in between.asked:
            return between.asked
        return between.asked[: between.asked.index(at.request)]

    async def _seen_in_history(self) -> None:
        """Two at once worked one after the other; and a run that began is seen, with what became of it."""
        runs = await self._runs()
        self._judge_the_woken(runs)
        told = [run.outcome for run in runs[: len(runs) - len(self._earlier)]]
        if self._has_begun and not told:
            self.outcome.wrong.append(f"NOT IN HISTORY: {runs}; {self._said()[-SHOWN:]}")
        ended = any(one.subject.startswith("$KV.reconciler.journal.N.ended") for one in self.outcome.asked)
        if self._has_begun and told and not ended and told[-1] == "applied":
            self.outcome.wrong.append(f"HISTORY SAYS {told}")
        if self.case.fault is Fault.DOUBLED and (both := _at_once(runs)):
            self.outcome.wrong.append(f"AT ONCE: {both}")

    async def _runs(self) -> list[Run]:
        runs = await journal.runs(self.js.persistent())
        if isinstance(runs, Refusal) and runs.err_code == NO_STREAM:
            return []
        assert isinstance(runs, list), runs
        return runs

    async def _again(self) -> None:
        """The lease of a killed one is removed; then whatever is left is done."""
        await removed(self.js)
        planned = await plan(self.wanted, self.js, OPTIONS)
        if self.case.fault is Fault.EDITED:
            self._judge_the_edit(planned)
        if blocked := planned.plan.blocked:
            self.outcome.wrong.append(
                f"BLOCKED: {[(one.address, [v.message for v in one.verdicts]) for one in blocked]}"
            )
        finished = await self._apply(planned)
        for one in finished.went_wrong:
            self.outcome.wrong.append(f"NOT APPLIED: {one.step.id}: {one.reason.message}")

    def _judge_the_edit(self, planned: Planned) -> None:
        """Stopped, or seen by the next plan; else it was made when nothing could see it."""
        said = self._said()
        address = "/".join(self.case.scene.edited[:2])
        if self._was_planned_after():
            self.outcome.word = "in the plan"
        elif not self._edited:
            self.outcome.word = "nothing there to edit"
        elif "AP103" in said or "description is edited" in said:  # before it was written, or in what the server echoed
            self.outcome.word = "stopped"
        elif self.outcome.code not in (0, None):
            self.outcome.wrong.append(f"FAILED, BUT NOT FOR WHAT WAS EDITED: {said[-SHOWN:]}")
        elif any(address in str(one.address) for one in planned.plan.changes) or "edited" in said:
            self.outcome.word = "in the next plan"
        else:
            self.outcome.word = UNSEEN

    def _was_planned_after(self) -> bool:
        """The plan was made from what it is since; the first write comes after that."""
        at, asked = self.case.at, self.outcome.asked
        first = next((number for number, one in enumerate(asked) if one.is_write), len(asked))
        return at is not None and at.request in asked[:first]

    async def _converged(self) -> None:
        """A group that resumes may need one more, when it has stored something."""
        planned = await plan(self.wanted, self.js, OPTIONS)
        if planned.plan.steps and self.case.scene.has_groups:
            await self._apply(planned)
            planned = await plan(self.wanted, self.js, OPTIONS)
        self.outcome.wrong += [
            f"STILL TO DO: {one.action} {one.address} {one.fields} {[v.message for v in one.verdicts]}"
            for one in planned.plan.changes
        ]
        self.outcome.left = await inventory(self.js, done(await self.js.read("STREAM.NAMES"))["streams"] or ())


def _without_a_lease(asked: list[Request]) -> list[str]:
    """Writes, but those to the bucket itself, which has to be there first."""
    leased = next((n for n, one in enumerate(asked) if one.subject.startswith(LEASE)), len(asked))
    own = ("$KV.reconciler.", "$JS.API.STREAM.CREATE.KV_reconciler")
    return [str(one) for one in asked[:leased] if one.is_write and not one.subject.startswith(own)]


def _at_once(runs: list[Run]) -> list[tuple[str, str]]:
    """Pairs of runs of which one began before the other had ended."""
    ordered = sorted(runs, key=lambda run: run.at)
    return [
        (f"{one.at}–{one.until}", other.at) for one, other in pairwise(ordered) if one.until and other.at < one.until
    ]


def _in_order(runs: list[Run]) -> bool:
    """Each began with a lease that was taken after those before it had begun: the number of a run is that of its lease."""
    numbers = [run.number for run in sorted(runs, key=lambda run: run.at)]
    return numbers == sorted(numbers)


async def edit(js: JetStream, what: tuple[str, ...]) -> bool:
    """Somebody changes a description, or the members of a group; False where there is nothing to change."""
    if what[-1] == "record":
        return await _edit_record(js, f"{what[0]}.{what[1]}")
    kind = "STREAM" if len(what) == 1 else "CONSUMER"
    info = await js.read(f"{kind}.INFO.{'.'.join(what)}")
    if not isinstance(info, dict):
        return False
    config: dict[str, Any] = {**info["config"], "description": "edited"}
    if kind == "STREAM":
        return isinstance(await js.request(f"STREAM.UPDATE.{what[0]}", config), dict)
    body = {"stream_name": what[0], "action": "update", "config": config}
    return isinstance(await js.request(f"CONSUMER.CREATE.{'.'.join(what)}", body), dict)


async def _edit_record(js: JetStream, key: str) -> bool:
    there = await entry(js, "elastic-consumer-groups", key)
    if not isinstance(there, Entry) or there.deleted:
        return False
    record = json.loads(there.value)
    record["members"] = [*record["members"], "z"]
    await js.put_entry("elastic-consumer-groups", key, json.dumps(record).encode(), expected_revision=there.revision)
    return True
