"""Gates: steps that write nothing and wait for a state, and say what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from reconciler.engine.bindings import start_sequence
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.waits import waiting
from reconciler.model.wire.snapshot import (
    Entry,
    hears_origin,
    is_heard,
    is_stable,
    lagging_servers,
    mirror_hears_origin,
    partitions_of,
)
from reconciler.model.wire.steps import Step
from reconciler.server.read.read_kv import entry
from reconciler.server.run import problems
from reconciler.server.run.handling import POLL, Result, RunContext, Succeeded, info_endpoint, is_missing
from reconciler.server.wire.answers import NO_MESSAGE, Answer, Refusal
from reconciler.server.wire.pipeline import NoAnswer


@dataclass(frozen=True, slots=True)
class _Closed:
    """Not yet."""

    why: str
    """What the step waits for."""
    late: Result
    """The result of the step when its time is over."""
    anew: bool = False
    """Its time begins again."""


LOOK_AGAIN = None
"""It may be open; another look decides, even when the time is over."""


async def _wait_until_open(
    run: RunContext, step: Step, look: Callable[[], Awaitable[Result | _Closed | None]]
) -> Result:
    """Look until the state is reached or the step's time is over, and say what it waits for whenever that changes."""
    loop = asyncio.get_running_loop()
    within = float(step.body["timeout"]) / 1e9
    deadline = loop.time() + within
    with waiting("", within, quiet=0) as wait:
        while (state := await look()) is LOOK_AGAIN or isinstance(state, _Closed):
            if state is not LOOK_AGAIN:
                if state.anew:
                    deadline = loop.time() + within
                    wait.restart_deadline(within)
                if loop.time() >= deadline:
                    return state.late
                if state.why != wait.what:
                    wait.what = state.why
                    run.tell(step, f"waiting {state.why}")
            await asyncio.sleep(POLL)
        return state


async def consumers_gone(run: RunContext, step: Step) -> Result:
    """Wait until the members' consumers are gone. Members delete them themselves when they see that the record is gone;
    nobody else can do it safely."""

    async def look() -> Result | _Closed:
        names = await _consumers_left(run, step)
        return _Closed(f"for {', '.join(names)} to leave", problems.still_there(step, names)) if names else Succeeded()

    return await _wait_until_open(run, step, look)


async def _consumers_left(run: RunContext, step: Step) -> list[str]:
    """Return the named consumers that are not known to be gone; without names, all consumers."""
    stream, names = step.on[0], sorted(step.body.get("names", ()))
    if "names" not in step.body:
        answer = await run.js.read(f"CONSUMER.NAMES.{stream}")
        unread = [] if is_missing(answer) else ["consumers that could not be listed"]
        return sorted(answer.get("consumers") or ()) if isinstance(answer, Mapping) else unread
    answers = {name: await run.js.read(f"CONSUMER.INFO.{stream}.{name}") for name in names}
    return [name for name, answer in answers.items() if not is_missing(answer)]


async def replicas_current(run: RunContext, step: Step) -> Result:
    """Wait until the stream's servers no longer change and every replica is current."""
    return await _wait_until_current(run, step, problems.replicas_behind)


async def consumer_everywhere(run: RunContext, step: Step) -> Result:
    """Wait until every server has the consumer, has been heard since this look began, and started it where it was to
    start."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    def is_there(info: Mapping[str, Json]) -> bool:
        return is_heard(info, within=(loop.time() - start) * 1e9)

    stood = await _wait_until_current(run, step, problems.not_everywhere, is_there)
    return await _check_start(run, step, stood.echo) if step.body["is_new"] and isinstance(stood, Succeeded) else stood


async def _wait_until_current(
    run: RunContext,
    step: Step,
    late: Callable[[Step, str], Result],
    is_there: Callable[[Mapping[str, Json]], bool] = lambda _seen: True,
) -> Result:
    """Wait until all replicas are current in two looks in a row: the first may show the state before the change."""
    looks = 0

    async def look() -> Result | _Closed | None:
        nonlocal looks
        answer = await run.js.read(info_endpoint(step))
        if is_missing(answer):
            return problems.gone(step)
        if isinstance(answer, Mapping) and is_stable(answer, step.body["replicas"]) and is_heard(answer):
            looks = looks + 1 if is_there(answer) else 0
            return Succeeded(answer) if looks == 2 else LOOK_AGAIN
        looks = 0
        how = _what_is_behind_text(answer)
        return _Closed(f"for the replicas of {'/'.join(step.on)}: {how}", late(step, how))

    return await _wait_until_open(run, step, look)


async def _check_start(run: RunContext, step: Step, info: Mapping[str, Json]) -> Result:
    """Check the start: the leader of a new consumer starts it by its own copy of the stream. If that copy has lost
    messages, the consumer starts after them, and the other copies would drop them too. A consumer that found no match
    on the way proves nothing."""
    config, delivered = info["config"], info.get("delivered") or {}
    start = start_sequence(config)
    if start is None or delivered.get("consumer_seq") or delivered.get("stream_seq", 0) < start:
        return Succeeded()
    for subjects in config.get("filter_subjects") or [config.get("filter_subject") or ">"]:
        request = {"seq": start, "next_by_subj": subjects}
        answer = await run.js.read(f"STREAM.MSG.GET.{step.on[0]}", request)
        if isinstance(answer, Mapping) and answer["message"]["seq"] <= delivered["stream_seq"]:
            return problems.starts_too_late(step, answer["message"]["seq"], delivered["stream_seq"])
        if not isinstance(answer, Mapping) and not (isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE):
            return problems.unreadable(step, answer)
    return Succeeded()


def _what_is_behind_text(answer: Answer) -> str:
    if not isinstance(answer, Mapping):
        return str(answer)
    cluster = answer.get("cluster") or {}
    status = ((cluster.get("desired") or {}).get("status") or {}).get("description")
    return status or (
        f"{', '.join(behind)} not current" if (behind := lagging_servers(answer)) else "the servers are agreeing"
    )


async def in_flight_done(run: RunContext, step: Step) -> Result:
    """Wait until everything delivered so far is acknowledged, or what of it lies on some subjects of a work queue. After
    ack_wait the server would redeliver it in any case, so from then on waiting protects nobody."""
    delivered: int | None = None

    async def look() -> Result | _Closed:
        nonlocal delivered
        answer = await run.js.read(info_endpoint(step))
        if not isinstance(answer, Mapping):
            return problems.gone(step) if is_missing(answer) else problems.unreadable(step, answer)
        delivered = answer["delivered"]["stream_seq"] if delivered is None else delivered
        pending = answer.get("num_ack_pending")
        floor = answer["ack_floor"]["stream_seq"]
        if not pending or floor >= delivered or await _none_is_stored(run, step, floor + 1, delivered):
            return Succeeded()
        return _Closed(
            f"until the messages in flight on {'/'.join(step.on)} are acknowledged ({pending} left)", Succeeded()
        )

    return await _wait_until_open(run, step, look)


async def _none_is_stored(run: RunContext, step: Step, first: int, last: int) -> bool:
    """A work queue stores what nobody has acknowledged. So is nothing of these subjects stored between the two? Where the
    server does not say, some may be."""
    for subject in (subjects := step.body.get("subjects", ())):
        answer = await run.js.read(f"STREAM.MSG.GET.{step.on[0]}", {"seq": first, "next_by_subj": subject})
        is_none = isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE
        if not is_none and not (isinstance(answer, Mapping) and answer["message"]["seq"] > last):
            return False
    return bool(subjects)


async def mirror_caught_up(run: RunContext, step: Step) -> Result:
    """Wait until the mirror has all that its origin had at the look before: where messages keep coming, one more is
    always under way. The mirror's own lag does not tell, because it is 0 before the first message is copied as well."""
    loop = asyncio.get_running_loop()
    start, had = loop.time(), 0

    async def look() -> Result | _Closed:
        nonlocal had
        answer = await run.js.read(info_endpoint(step))
        if is_missing(answer):
            return problems.gone(step)
        if isinstance(answer, Mapping) and "mirror" not in answer["config"]:
            return Succeeded()
        how = _why_mirror_is_behind(answer)
        if isinstance(answer, Mapping) and not how:
            if "from" in step.body:
                how, had = await _copy_progress(run, step, answer, had)
            elif answer["mirror"]["active"] >= (loop.time() - start) * 1e9:
                how = "its origin has not been heard yet"
        if not how:
            return Succeeded()
        return _Closed(f"for mirror {step.on[0]}: {how}", problems.mirror_behind(step, how))

    return await _wait_until_open(run, step, look)


async def copy_listens(run: RunContext, step: Step) -> Result:
    """Wait until the server has set the copy up: from then on its origin keeps messages for it."""

    async def look() -> Result | _Closed:
        answer = await run.js.read(info_endpoint(step))
        if is_missing(answer):
            return problems.gone(step)
        if how := _why_not_listening(answer, step.body["from"]):
            return _Closed(f"for stream {step.on[0]}: {how}", problems.not_listening(step, how))
        return Succeeded()

    return await _wait_until_open(run, step, look)


def _why_not_listening(answer: Answer, origin: str) -> str:
    """Return what a stream lacks to listen to this origin; empty: nothing."""
    if not isinstance(answer, Mapping):
        return str(answer)
    copied = [
        source
        for source in (answer.get("mirror"), *(answer.get("sources") or ()))
        if source and source.get("name") == origin
    ]
    errors = [source["error"].get("description", "") for source in copied if source.get("error")]
    if errors:
        return f"{origin}: {errors[0]}"
    return "" if copied and all(hears_origin(source) for source in copied) else f"{origin} is not heard yet"


async def _copy_progress(run: RunContext, step: Step, mirror: Mapping[str, Json], had: int) -> tuple[str, int]:
    """Return what its origin, up to message `had`, holds and the mirror does not, in words; and how far the origin is
    now."""
    origin, start = step.body["from"], max(mirror["state"]["last_seq"] + 1, step.body["first"])
    requests = ({"seq": start, "next_by_subj": subject} for subject in step.body["subjects"])
    info, *answers = await asyncio.gather(
        run.js.read(f"STREAM.INFO.{origin}"),
        *(run.js.read(f"STREAM.MSG.GET.{origin}", request) for request in requests),
    )
    if not isinstance(info, Mapping):
        return f"its origin {origin}: {info}", had
    now = int(info["state"]["last_seq"])
    for answer in answers:
        if isinstance(answer, Mapping):
            if not had or answer["message"]["seq"] <= had:
                return f"message {answer['message']['seq']} of {origin} is not copied yet", now
        elif not (isinstance(answer, Refusal) and answer.err_code == NO_MESSAGE):
            return f"its origin {origin}: {answer}", had
    return "", now


def _why_mirror_is_behind(answer: Answer) -> str:
    """Return how far the mirror is behind by its own account; empty: not at all."""
    if not isinstance(answer, Mapping):
        return str(answer)
    copied = answer.get("mirror") or {}
    if error := (copied.get("error") or {}).get("description"):
        return str(error)
    if not mirror_hears_origin(answer):
        return "its origin is silent"
    return f"{copied['lag']:_} messages behind" if copied.get("lag") else ""


async def members_back(run: RunContext, step: Step) -> Result:
    """Wait until the members consume again. Every member recreates its consumer when it sees the record; a member that
    gains a partition waits for the one that loses it. If somebody writes another membership meanwhile, they follow that
    one. While a server is silent they cannot come back either, so their time begins when it answers."""
    loop = asyncio.get_running_loop()

    async def look() -> Result | _Closed:
        began = loop.time()
        record, answers = await asyncio.gather(entry(run.js, *step.body["record"]), _consumers_of_members(run, step))
        if not (away := _members_away(step, answers)):
            return Succeeded()
        if silent := _first_silence(record, *answers.values()):
            return problems.members_unseen(step, silent)
        if _is_written_again(run, step, record):
            return problems.changed(step, ["somebody changed the membership again, and the members follow the new one"])
        was_silent = loop.time() - began > run.js.timeout
        return _Closed(
            f"for {', '.join(away)} to consume again",
            problems.members_away(step, away),
            anew=was_silent,
        )

    return await _wait_until_open(run, step, look)


async def _consumers_of_members(run: RunContext, step: Step) -> dict[str, Answer]:
    """Ask for all members' consumers at once: an answer that does not come holds up no other."""
    names = list(step.body["partitions"])
    answers = await asyncio.gather(*(run.js.read(f"CONSUMER.INFO.{step.on[0]}.{name}") for name in names))
    return dict(zip(names, answers, strict=True))


def _members_away(step: Step, answers: Mapping[str, Answer]) -> list[str]:
    """Return the members without a consumer of exactly their partitions."""

    def is_back(answer: Answer, numbers: Sequence[int]) -> bool:
        return isinstance(answer, Mapping) and partitions_of(answer["config"]) == sorted(numbers)

    return [name for name, numbers in step.body["partitions"].items() if not is_back(answers[name], numbers)]


def _first_silence(*answers: object) -> Refusal | NoAnswer | None:
    """Return the first answer that did not come, although asked patiently."""
    silent = (answer for answer in answers if isinstance(answer, Refusal | NoAnswer) and not is_missing(answer))
    return next(silent, None)


def _is_written_again(run: RunContext, step: Step, record: object) -> bool:
    """Was the record written again since this run wrote it?"""
    bucket, key = step.body["record"]
    return isinstance(record, Entry) and record.revision != run.written.get((bucket, key), record.revision)
