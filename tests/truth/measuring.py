"""How what was said is counted: by looking at every message, and at what every consumer is given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from reconciler.changes.verdict import Verdict
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.partitions import assign
from reconciler.kinds.subjects.subjects import matches
from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.read_kv import entry
from tests.support.jetstream import done, make_consumer
from tests.truth.account import Live, Work
from tests.truth.case import SIZED, Measured, Ready, Scene


def verdict_of(scene: Scene, code: str) -> Verdict | None:
    return next((one for change in scene.plan.changes for one in change.verdicts if one.code == code), None)


async def trimmed(live: Live, scene: Scene, code: str = "ST301") -> Measured:
    """How many messages and bytes went, and how many of them a consumer had still to process."""
    verdict = verdict_of(scene, code)
    counted = verdict and "messages" in verdict.quantities and "messages" not in verdict.bounds
    left = await live.rests(len(scene.stored) - verdict.quantities["messages"] if verdict and counted else None)
    gone = scene.stored.keys() - left.keys()
    found = {f"{code} messages": len(gone)}
    weighed = scene.bytes - (await live.info())["state"]["bytes"]
    if verdict and "bytes" in verdict.quantities:
        found[f"{code} bytes"] = weighed
    if code == "ST301":
        if verdict and SIZED.search(verdict.message):
            found["ST301 size"] = weighed
        found[f"{code} unprocessed"] = max((len(live.wanted(name, gone)) for name in live.consumers), default=0)
        found |= {f"{code} {name}": len(live.wanted(name, gone)) for name in live.consumers}
    return found


bucket_trimmed = partial(trimmed, code="KV301")


async def without_interest(live: Live, scene: Scene) -> Measured:
    wanted = set().union(*(live.wanted(name, scene.stored.keys()) for name in live.consumers))
    return {"ST302 messages": len(scene.stored) - len(await live.rests(len(wanted)))}


async def no_longer_kept(live: Live, scene: Scene) -> Measured:
    """The same where a server keeps less than its consumers want: it deletes before it answers."""
    return {"ST302 messages": len(scene.stored) - len(await live.rests())}


def turned(name: str, filters: Mapping[str, Any], pulled: int, purged: str = "") -> Ready:
    """Somebody gives a consumer another filter while messages are in flight, and purges a subject; then it processes more."""

    async def ready(live: Live) -> None:
        progress = live.consumers[name]
        progress.config = {"ack_policy": "explicit", **filters}
        config = {"durable_name": name, "name": name, **progress.config}
        body = {"stream_name": live.stream, "action": "update", "config": config}
        done(await live.js.request(f"CONSUMER.CREATE.{live.stream}.{name}", body))
        if purged:
            done(await live.js.request(f"STREAM.PURGE.{live.stream}", {"filter": purged}))
        there = done(await live.js.request(f"CONSUMER.INFO.{live.stream}.{name}"))["num_pending"]
        for one in await live.pull(name, min(pulled, there)):
            await live.js.pipeline.nc.request(one.reply, b"+ACK", timeout=20)

    return ready


async def no_longer_taken(live: Live, scene: Scene) -> Measured:
    subjects = (await live.info())["config"]["subjects"]
    stays = await live.rests(len(scene.stored))
    return {"ST303 stored": sum(not any(matches(one, kept) for kept in subjects) for one in stays.values())}


async def removed(live: Live, scene: Scene) -> Measured:
    """All of it is gone with the stream."""
    assert not isinstance(await live.js.request(f"STREAM.INFO.{live.stream}"), dict)
    code = {"KV": "KV310", "OBJ": "OB310"}.get(live.stream.partition("_")[0], "ST310")
    found = {f"{code} messages": len(scene.stored), f"{code} bytes": scene.bytes}
    unread = [len(live.wanted(name, scene.stored.keys())) for name in live.consumers]
    return found | ({f"{code} unprocessed": max(unread, default=0)} if code == "ST310" else {})


async def filtered(live: Live, scene: Scene) -> Measured:
    """What the consumer c does not get after its filter has changed: of what was pending, and of what it had passed."""
    progress, verdict = live.consumers["c"], verdict_of(scene, "CO301")
    config = done(await live.js.request(f"CONSUMER.INFO.{live.stream}.c"))["config"]
    pending = live.wanted("c", scene.stored.keys()) - progress.given
    passed = (
        {seq for seq in scene.stored if seq <= max(progress.given, default=0)} - progress.given - progress.processed
    )
    quantities = verdict.quantities if verdict else {}
    is_interest = (await live.info())["config"]["retention"] == "interest" and (
        "messages" in quantities or "skipped" not in quantities
    )
    dropping = verdict and "messages" in verdict.quantities and "messages" not in verdict.bounds
    left = await live.rests(len(scene.stored) - verdict.quantities["messages"] if verdict and dropping else None)
    came = set(await live.everything("c"))
    taken = {seq for seq in passed if any(matches(scene.stored[seq], one) for one in filters_of(config))}
    later = {seq for seq in scene.stored if seq > max(progress.given, default=0)} - pending
    turned = {seq for seq in later if any(matches(scene.stored[seq], one) for one in filters_of(config))}
    dropped = {"CO301 messages": len(scene.stored.keys() - left.keys())}
    if "skipped" in quantities:
        dropped["CO301 skipped"] = len((turned & left.keys()) - came)
    found = dropped if is_interest else {"CO301 skipped": len((pending | turned) - came)}
    return found if verdict and "missed" not in verdict.quantities else {**found, "CO301 missed": len(taken - came)}


async def consumer_removed(live: Live, scene: Scene) -> Measured:
    progress, wanted = live.consumers["c"], live.wanted("c", scene.stored.keys())
    verdict = verdict_of(scene, "CO310")
    exact = verdict and "dropped" not in verdict.bounds
    left = await live.rests(len(scene.stored) - verdict.quantities.get("dropped", 0) if verdict and exact else None)
    return {
        "CO310 undelivered": len(wanted - progress.given),
        "CO310 unacknowledged": len(wanted & progress.given),
        "CO310 dropped": len(scene.stored) - len(left),
    }


async def made_again(live: Live, scene: Scene) -> Measured:
    progress, came = live.consumers["c"], set(await live.everything("c"))
    return {
        "CO312 skipped": len(live.wanted("c", scene.stored.keys()) - came),
        "CO312 redelivered": len(came & progress.processed),
    }


async def replaced(live: Live, scene: Scene) -> Measured:
    """Whatever the new one is given that the old one was given before, and nothing that was not is missing."""
    code = next(one.code for change in scene.plan.changes for one in change.verdicts)
    progress, name = live.consumers["c"], "d" if code == "CO330" else "c"
    came, wanted = set(await live.everything(name)), live.wanted("c", scene.stored.keys())
    assert wanted <= came, (wanted - came, "lost")
    return {f"{code} redelivered": len(came & progress.given), f"{code} unacknowledged": len(wanted & progress.given)}


async def started(live: Live, scene: Scene) -> Measured:
    """What a new consumer is given of what is stored, or of what comes where it starts behind that."""
    changes = (one for one in scene.plan.changes if one.address == "consumer/S/c")
    said = [one for change in changes for one in change.consequences]
    if said and not any(one.quantities for one in said):
        return {}  # in words alone
    config = done(await live.js.request("CONSUMER.INFO.S.c"))["config"]
    last, (subject, *_) = (await live.info())["state"]["last_seq"], filters_of(config)
    if (start := config.get("opt_start_seq", 0)) > last + 1:
        await live.publish([(subject if subject != ">" else "s.a", 1)] * (start - last))
        (first,) = await live.pull("c", 1)
        return {"CO start skipped": first.metadata.sequence.stream - last - 1}
    came = await live.everything("c")
    taken = [seq for seq, of in scene.stored.items() if any(matches(of, one) for one in filters_of(config))]
    return {"CO start stored": len(came), "CO start skipped": len(taken) - len(came)}


async def set_free(live: Live, _scene: Scene) -> Measured:
    """What clients are given once a pause is over."""
    return {"CO pause pending": len(await live.everything("c"))}


def note_queued(work: Work, *leaving: str) -> Ready:
    """Until the queue has everything; then a member's consumer is given some, and has acknowledged as much as is said."""

    async def ready(live: Live) -> None:
        async with asyncio.timeout(30):
            while (await _messages(live, "S-g")) < len(live.subjects):  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
        live.subjects, live.record = await live.stored(), await _record(live)
        await make_consumer(live.js, "S-g", "m", filter_subject=">")
        await live.work("m", {"filter_subject": ">"}, work)
        live.members = asyncio.create_task(_leave(live, "elastic-consumer-groups", leaving))

    return ready


async def _record(live: Live) -> dict[str, Any]:
    there = await entry(live.js, "elastic-consumer-groups", "S.g")
    assert isinstance(there, Entry), there
    found: dict[str, Any] = json.loads(there.value)
    return found


async def _leave(live: Live, bucket: str, consumers: Iterable[str]) -> None:
    """As instances do when the record of their group is gone."""
    while not isinstance(record := await entry(live.js, bucket, "S.g"), Entry) or not record.deleted:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    for name in consumers:
        done(await live.js.request(f"CONSUMER.DELETE.{live.stream}.{name}"))


def note_members(partitions: Mapping[str, Collection[int]], work: Mapping[str, Work]) -> Ready:
    """Members of a static group, with the consumers that their instances make."""

    async def ready(live: Live) -> None:
        for name, numbers in partitions.items():
            config = {"filter_subjects": [f"{number}.>" for number in numbers]}
            await make_consumer(live.js, "S", f"g-{name}", **config)
            await live.work(f"g-{name}", config, work[name])
        names = [f"g-{name}" for name in partitions]
        live.members = asyncio.create_task(_leave(live, "static-consumer-groups", names))

    return ready


async def queue_removed(live: Live, scene: Scene) -> Measured:
    assert not isinstance(await live.js.request("STREAM.INFO.S-g"), dict)
    progress = live.consumers["m"]
    in_flight = (progress.given - progress.processed) & scene.stored.keys()
    return {"EG310 queued": len(scene.stored), "EG310 unacknowledged": len(in_flight)}


async def queue_made_again(live: Live, scene: Scene) -> Measured:
    """By their subjects, since partitions and sequences are others. What was done out of order may be among them again."""
    progress, queued = live.consumers["m"], {_in_stream(subject) for subject in scene.stored.values()}
    taken = [one["filter"] for one in (await _record(live))["partitioning_filters"]]
    matching = {subject for subject in queued if any(matches(subject, one) for one in taken)}
    async with asyncio.timeout(30):
        while not matching <= (there := {_in_stream(one) for one in (await live.rests()).values()}):
            pass
    given = {_in_stream(live.subjects[sequence]) for sequence in progress.given}
    found = {"instances": 0, "queued": len(queued), "redelivered": len(given & there), "unmatched": len(queued - there)}
    return {f"EG101 {name}": number for name, number in found.items()}


def _in_stream(subject: str) -> str:
    """Without its partition."""
    return subject.partition(".")[2]


async def members_removed(live: Live, scene: Scene) -> Measured:
    left, in_flight = 0, 0
    for name, progress in live.consumers.items():
        assert not isinstance(await live.js.request(f"CONSUMER.INFO.S.{name}"), dict), name
        wanted = live.wanted(name, scene.stored.keys())
        left, in_flight = left + len(wanted - progress.given), in_flight + len(wanted & progress.given)
    return {"SG310 undelivered": left, "SG310 unacknowledged": in_flight}


async def moved(live: Live, scene: Scene) -> Measured:
    """Partitions by the record before and after, messages by their subjects in the queue. Instances rebuild their consumers."""
    now, then = _owners(live.record), _owners(await _record(live))
    moving = {str(number) for number, owner in now.items() if owner != then[number]}
    if not moving:
        return {"EG move partitions_moved": 0}
    done(await live.js.request("CONSUMER.DELETE.S-g.m"))
    await make_consumer(live.js, "S-g", "m", filter_subject=">")
    again = set(await live.everything("m")) & live.consumers["m"].given
    found = {"partitions_moved": len(moving), "messages_redelivered": len(again)}
    found["messages_moved"] = sum(one.partition(".")[0] in moving for one in scene.stored.values())
    return {f"EG move {name}": number for name, number in found.items()}


def _owners(record: Mapping[str, Any]) -> dict[int, str]:
    """The member that has each partition."""
    owned = assign(record["members"], record["max_members"])
    return {number: member for member, numbers in owned.items() for number in numbers}


async def copied(live: Live, scene: Scene) -> Measured:
    """What the copy holds more than before."""
    verdict = verdict_of(scene, "ST304")
    expected = live.notes["copied"] + (verdict.quantities.get("messages", 0) if verdict else 0)
    before, now, loop = -1, await _messages(live, "ALL"), asyncio.get_running_loop()
    deadline = loop.time() + 15
    while before != now or (now < expected and loop.time() < deadline):
        await asyncio.sleep(0.3)
        before, now = now, await _messages(live, "ALL")
    copy = [one for one in (await replace(live, stream="ALL").stored()).values() if matches(one, live.taken)]
    return {"ST304 messages": len(copy) - live.notes["copied"]}


def note_copied(taken: str) -> Ready:
    """Waits until the copy has what its filter takes."""

    async def ready(live: Live) -> None:
        expected = sum(matches(subject, taken) for subject in live.subjects.values())
        async with asyncio.timeout(30):
            while await _messages(live, "ALL") < expected:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
        live.notes["copied"], live.taken = expected, taken

    return ready


async def note_lag(live: Live) -> None:
    async with asyncio.timeout(60):
        while not done(await live.js.request("STREAM.INFO.S"))["sources"][0].get("lag"):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)


async def left_behind(live: Live, scene: Scene) -> Measured:
    return {"ST305 left": len(scene.stored) - await _messages(live, "S")}


async def lose_origin(live: Live) -> None:
    """When its mirror has all of it."""
    async with asyncio.timeout(30):
        while await _messages(live, "M") < len(live.subjects):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)
    live.notes["copied"] = len(live.subjects)
    done(await live.js.request("STREAM.DELETE.O"))


async def skipped_by_copies(live: Live, scene: Scene) -> Measured:
    """A mirror takes it up again after some ten seconds of silence."""
    before = live.notes["copied"]
    await live.publish([("o.x", 5)] * (before + 2))
    async with asyncio.timeout(60):
        while await _messages(live, "M") < before + 2:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.1)
    return {"ST312 skipped": before + 2 - (len(await live.rests()) - before)}


async def _messages(live: Live, stream: str) -> int:
    return int(done(await live.js.request(f"STREAM.INFO.{stream}"))["state"]["messages"])
