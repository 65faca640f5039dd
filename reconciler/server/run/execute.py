"""Runs a plan's steps as a graph: many at once under one window, each verified, and every one accounted for at the end.

A failed step stops the steps after it and nothing else. Stopping early means starting nothing new: steps under way are
waited for, and those that stay unanswered are reported as in doubt.

Looks once more when all steps are done: does everything exist that was created, and is everything gone that was
deleted?

A single server's answer to a create is the truth. In a cluster the assignment is made first and the servers follow, so
the full list is read there, to which every server answers for what it holds. The server that answers may follow later
than the one that confirmed, so this looks for a while longer for what the list does not show at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from functools import partial

from reconciler.changes.events import (
    Done,
    Event,
    Failed,
    Finished,
    InDoubt,
    NotNeeded,
    NotStarted,
    Skipped,
    Started,
    StepOutcome,
    Waiting,
)
from reconciler.model.resource import Json
from reconciler.model.wire.steps import Call, Step
from reconciler.server.read.listing import Listed, Section, read_list
from reconciler.server.run import problems
from reconciler.server.run.handling import Acknowledged, Forms, LastLook, RunContext, Succeeded
from reconciler.server.run.problems import Unsuccessful
from reconciler.server.run.steps import carry_out
from reconciler.server.wire.api import JetStream, Pauses

GRACE = 5.0
"""Seconds that steps under way may still take when a run is stopped."""

MayWrite = Callable[[], str | None]
"""Why nothing may be written any more (the lease is lost); None while all is well."""


async def execute(
    js: JetStream,
    steps: Iterable[Step],
    *,
    forms: Forms,
    window: int = 64,
    stop: asyncio.Event | None = None,
    may_write: MayWrite = lambda: None,
    grace: float = GRACE,
    known: Iterable[StepOutcome] = (),
    last_look: LastLook = lambda _step, _info, _server: None,
    streams: Iterable[Mapping[str, Json]] = (),
) -> AsyncGenerator[Event, None]:
    """Yield events as they happen; the last is `Finished`. Setting `stop` ends the run early. `may_write` is asked
    before each step and again before each of its writes. `known` holds outcomes that were settled before the run, and
    stops what comes after them. `last_look` judges what is to be changed or deleted, just before. `streams` are those that were
    read, which show how many servers there are."""
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    acknowledged = Acknowledged()
    acknowledged.learn_servers(streams)
    guarded = js.writing_unless(may_write).repeating_stale_refusals(acknowledged.contradicts)
    run = RunContext(
        guarded,
        forms,
        lambda step, text: events.put_nowait(Waiting(step=step, text=text)),
        last_look,
        seen=acknowledged,
    )
    course = _RunState(run, steps, window, events.put_nowait, may_write, stop or asyncio.Event())
    course.settle(known)
    runner = asyncio.create_task(course.run(grace))
    runner.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        yield runner.result()
    finally:
        runner.cancel()
        await asyncio.gather(runner, return_exceptions=True)


class _RunState:
    """One run: which steps are ready, which are under way, and what became of the others."""

    def __init__(
        self,
        run: RunContext,
        steps: Iterable[Step],
        window: int,
        tell: Callable[[Event], None],
        may_write: MayWrite,
        stop: asyncio.Event,
    ) -> None:
        self._run, self._window, self._tell, self._may_write, self._stop = run, window, tell, may_write, stop
        self._steps = {step.id: step for step in steps}
        self._settled: dict[str, StepOutcome] = {}
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._stopped: str | None = None
        self._over = asyncio.Event()
        self._interrupted: set[str] = set()
        self._mistake: BaseException | None = None
        self._open = {step.id: len(self._before(step)) for step in self._steps.values()}
        self._following: dict[str, list[str]] = {}
        for step in self._steps.values():
            for before in self._before(step):
                self._following.setdefault(before, []).append(step.id)
        self._ready = deque(step for step in self._steps.values() if self._open[step.id] == 0)

    def _before(self, step: Step) -> set[str]:
        return {*step.after, *([step.undoes] if step.undoes else [])} & self._steps.keys()

    async def run(self, grace: float) -> Finished:
        self._start_ready()
        over, stopping = asyncio.create_task(self._over.wait()), asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait([over, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not over.done():
                self._is_stopped()
                self._drop_gates()
                await asyncio.wait([over], timeout=grace)
        finally:
            self._stopped = self._stopped or (None if self._over.is_set() else "interrupted")
            self._interrupted.update(self._under_way)
            tasks = [over, stopping, *self._under_way.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._mistake is not None:
            raise self._mistake  # our own error must not pass for an outcome
        return await self._conclude_run()

    def settle(self, outcomes: Iterable[StepOutcome]) -> None:
        for outcome in outcomes:
            self._settle(outcome)

    def _start_ready(self) -> None:
        while self._ready and len(self._under_way) < self._window and not self._is_stopped():
            step = self._ready.popleft()
            if step.id in self._settled:
                continue  # an outcome from before the run stays, whatever becomes of the steps it waits for
            if (unstarted := self._why_unstarted(step)) is not None:
                self._settle(unstarted)
                continue
            self._tell(Started(step=step))
            task = self._under_way[step.id] = asyncio.create_task(self._attempt_step(step))
            task.add_done_callback(partial(self._note_end, step.id))
        if not self._under_way:
            self._over.set()

    def _is_stopped(self) -> bool:
        """Must nothing new be started? It is asked before each step: a run may be stopped before it has begun."""
        self._stopped = self._stopped or self._may_write() or ("interrupted" if self._stop.is_set() else None)
        return self._stopped is not None

    async def _attempt_step(self, step: Step) -> None:
        result = await carry_out(self._run, step)
        if isinstance(result, Succeeded):
            self._settle(Done(step=step, echo=result.echo, revision=result.revision))
        elif isinstance(result, Unsuccessful):
            failed = Failed(
                step=step, reason=result.reason, nothing_done=result.nothing_done, changed_since=result.changed_since
            )
            self._settle(failed)
        else:
            self._settle(InDoubt(step=step, reason=result.reason))

    def _note_end(self, step_id: str, task: asyncio.Task[None]) -> None:
        del self._under_way[step_id]
        if not task.cancelled() and task.exception() is not None:
            self._mistake, self._stopped = task.exception(), "an internal error"
        self._start_ready()

    def _settle(self, outcome: StepOutcome) -> None:
        self._settled[outcome.step.id] = outcome
        self._tell(outcome)
        for following in self._following.get(outcome.step.id, ()):
            self._open[following] -= 1
            if self._open[following] == 0:
                self._ready.append(self._steps[following])

    def _why_unstarted(self, step: Step) -> Skipped | NotNeeded | None:
        """Why a step that is due is not started."""
        if step.undoes is not None and not self._was_refused(step.undoes):
            return NotNeeded(step=step)
        if step.undoes is not None and step.call is Call.ENTRY_DELETE and step.on not in self._run.written:
            return NotNeeded(step=step)  # this run did not write what the step would undo
        for before in step.after:
            if before != step.undoes and not isinstance(self._settled.get(before), Done):
                return Skipped(step=step, because=self._why_not_started(before))
        return None

    def _was_refused(self, step_id: str) -> bool:
        outcome = self._settled.get(step_id)
        return isinstance(outcome, Failed) and outcome.nothing_done

    def _why_not_started(self, step_id: str) -> str:
        outcome = self._settled.get(step_id)
        if isinstance(outcome, Skipped):
            return outcome.because
        if step_id not in self._steps:
            return f"{step_id} is not part of this plan"
        before = self._steps[step_id]
        if before.call.waits:
            return f"the {problems.deed_text(before)} was in vain"
        became = "is in doubt" if isinstance(outcome, InDoubt) else "did not succeed"
        return f"the step to {problems.deed_text(before)} {became}"

    def _drop_gates(self) -> None:
        """Drop waiting steps: waiting writes nothing, so nothing is lost when it ends."""
        for step_id, task in self._under_way.items():
            if self._steps[step_id].call.waits:
                task.cancel()

    async def _conclude_run(self) -> Finished:
        for late in await deviations_at_end(self._run.js, [o for o in self._settled.values() if isinstance(o, Done)]):
            self._settled[late.step.id] = late
            self._tell(late)
        for step in self._steps.values():
            if step.id not in self._settled:
                self._settle(self._outcome_of_unfinished(step))
        return self._finished_run()

    def _finished_run(self) -> Finished:
        outcomes = list(self._settled.values())
        return Finished(
            done=tuple(o for o in outcomes if isinstance(o, Done)),
            failed=tuple(o for o in outcomes if isinstance(o, Failed)),
            in_doubt=tuple(o for o in outcomes if isinstance(o, InDoubt)),
            skipped=tuple(o for o in outcomes if isinstance(o, Skipped)),
            not_started=tuple(o for o in outcomes if isinstance(o, NotStarted)),
            not_needed=tuple(o for o in outcomes if isinstance(o, NotNeeded)),
            stopped=self._stopped,
        )

    def _outcome_of_unfinished(self, step: Step) -> StepOutcome:
        """Steps without an outcome: interrupted under way, never begun, or waiting for each other."""
        if step.id in self._interrupted:
            return InDoubt(step=step, reason=problems.interrupted(step))
        if self._stopped is None:
            return Skipped(step=step, because="its steps wait for each other in a circle")
        return NotStarted(step=step)


_MADE = frozenset({Call.STREAM_CREATE, Call.STREAM_UPDATE, Call.CONSUMER_CREATE, Call.CONSUMER_UPDATE})
_GONE = frozenset({Call.STREAM_DELETE, Call.CONSUMER_DELETE})
FOLLOWS = 10.0
"""Seconds after which a server that has not followed has lost something; usually it takes milliseconds."""


async def deviations_at_end(js: JetStream, done: Iterable[Done]) -> list[Failed]:
    """Return done steps whose result is missing, as failures. What cannot be read stays as it was reported."""
    last = {outcome.step.on: outcome for outcome in done if outcome.step.call in _MADE | _GONE}
    if not last:
        return []
    verb = "LIST" if any(_is_clustered(outcome) for outcome in last.values()) else "NAMES"
    patience = 0 if any(_is_of_a_single_server(outcome) for outcome in last.values()) else FOLLOWS
    with Pauses(patience, f"until every server shows what was done ({len(last):_} objects)") as pauses:
        while True:
            failed = await _unlike_done(js, last, verb)
            if not failed or not await pauses.wait():
                return failed


async def _unlike_done(js: JetStream, last: Mapping[tuple[str, ...], Done], verb: str) -> list[Failed]:
    streams = await _listed_names(js, f"STREAM.{verb}", "streams")
    touched = sorted({on[0] for on in last if len(on) == 2 and (streams is None or on[0] in streams)})
    lists = await asyncio.gather(*(_listed_names(js, f"CONSUMER.{verb}.{stream}", "consumers") for stream in touched))
    consumers = dict(zip(touched, lists, strict=True))
    return [failed for outcome in last.values() if (failed := _failure_of(outcome, streams, consumers)) is not None]


def _failure_of(outcome: Done, streams: set[str] | None, consumers: Mapping[str, set[str] | None]) -> Failed | None:
    step = outcome.step
    existing = streams if len(step.on) == 1 else consumers.get(step.on[0], set())
    if existing is None or (step.on[-1] in existing) == (step.call in _MADE):
        return None
    if len(step.on) == 2 and step.on[0] not in consumers:
        return None  # its stream was deleted after it was created, and is judged itself
    unlike = problems.missing(step) if step.call in _MADE else problems.remains(step)
    return Failed(step=step, reason=unlike.reason, nothing_done=False)


async def _listed_names(js: JetStream, endpoint: str, section: Section) -> set[str] | None:
    answer = await read_list(js, endpoint, section)
    return {*answer.items, *answer.silent} if isinstance(answer, Listed) else None


def _is_clustered(outcome: Done) -> bool:
    return bool((outcome.echo.get("cluster") or {}).get("name"))


def _is_of_a_single_server(outcome: Done) -> bool:
    """Did a single server answer? The answer to a deletion does not show that."""
    return outcome.step.call in _MADE and not _is_clustered(outcome)
