"""How what was said is counted: by looking at every message, and at what every consumer is given."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from reconciler.core.rule import Verdict
from reconciler.kinds.primitives.readers import filters
from reconciler.kinds.primitives.subjects import matches
from tests.support.jetstream import done, make_consumer
from tests.truth.account import Live, Work
from tests.truth.case import Measured, Ready, Scene


def verdict_of(scene: Scene, code: str) -> Verdict | None:
    return next((one for change in scene.plan.changes for one in change.verdicts if one.code == code), None)


async def trimmed(live: Live, scene: Scene, code: str = "ST301") -> Measured:
    """How many messages and bytes went, and how many of them a consumer had still to process."""
    verdict = verdict_of(scene, code)
    counted = verdict and "messages" in verdict.quantities and "messages" not in verdict.bounds
    left = await live.rests(len(scene.stored) - verdict.quantities["messages"] if verdict and counted else None)
    gone = scene.stored.keys() - left.keys()
    found = {f"{code} messages": len(gone)}
    if verdict and "bytes" in verdict.quantities:
        found[f"{code} bytes"] = scene.bytes - (await live.info())["state"]["bytes"]
    if code == "ST301":
        found[f"{code} unprocessed"] = max((len(live.wanted(name, gone)) for name in live.consumers), default=0)
        found |= {f"{code} {name}": len(live.wanted(name, gone)) for name in live.consumers}
    return found


bucket_trimmed = partial(trimmed, code="KV301")


async def without_interest(live: Live, scene: Scene) -> Measured:
    wanted = set().union(*(live.wanted(name, scene.stored.keys()) for name in live.consumers))
    return {"ST302 messages": len(scene.stored) - len(await live.rests(len(wanted)))}


async def no_longer_taken(live: Live, scene: Scene) -> Measured:
    subjects = (await live.info())["config"]["subjects"]
    stays = await live.rests(len(scene.stored))
    return {"ST303 stored": sum(not any(matches(one, kept) for kept in subjects) for one in stays.values())}


async def removed(live: Live, scene: Scene) -> Measured:
    """All of it is gone with the stream."""
    assert not isinstance(await live.js.request(f"STREAM.INFO.{live.stream}"), dict)
    code = "KV310" if live.stream.startswith("KV_") else "ST310"
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
    is_interest = (await live.info())["config"]["retention"] == "interest" and "skipped" not in (
        verdict.quantities if verdict else ()
    )
    dropping = verdict and "messages" in verdict.quantities and "messages" not in verdict.bounds
    left = await live.rests(len(scene.stored) - verdict.quantities["messages"] if verdict and dropping else None)
    came = set(await live.everything("c"))
    taken = {seq for seq in passed if any(matches(scene.stored[seq], one) for one in filters(config))}
    dropped = {"CO301 messages": len(scene.stored.keys() - left.keys())}
    found = dropped if is_interest else {"CO301 skipped": len(pending - came)}
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
    verdict = verdict_of(scene, "CO312")
    if verdict and "skipped" in verdict.quantities:
        return {"CO312 skipped": len(live.wanted("c", scene.stored.keys()) - came)}
    return {"CO312 redelivered": len(came & progress.processed)}


async def replaced(live: Live, scene: Scene) -> Measured:
    """Whatever the new one is given that the old one was given before, and nothing that was not is missing."""
    code = next(one.code for change in scene.plan.changes for one in change.verdicts)
    progress, name = live.consumers["c"], "d" if code == "CO330" else "c"
    came, wanted = set(await live.everything(name)), live.wanted("c", scene.stored.keys())
    assert wanted <= came, (wanted - came, "lost")
    return {f"{code} redelivered": len(came & progress.given), f"{code} unacknowledged": len(wanted & progress.given)}


async def note_queued(live: Live) -> None:
    """Until the queue has everything; then a member's consumer is given some, and has not acknowledged them."""
    async with asyncio.timeout(30):
        while (await _messages(live, "S-g")) < len(live.subjects):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)
    live.subjects = await live.stored()
    await make_consumer(live.js, "S-g", "m", filter_subject=">")
    await live.work("m", {"filter_subject": ">"}, Work(pulled=len(live.subjects) // 2))


async def moved(live: Live, scene: Scene) -> Measured:
    """Partitions by the record before and after, messages by their subjects in the queue. Instances rebuild their consumers."""
    change = next(
        (one for one in scene.plan.changes if one.address.startswith("elastic_group/") and one.consequences), None
    )
    if change is None:
        return {}
    kept = change.consequences[0].detail["partition_map"]
    moving = {
        str(number) for number, (now, then) in enumerate(zip(kept["now"], kept["then"], strict=True)) if now != then
    }
    done(await live.js.request("CONSUMER.DELETE.S-g.m"))
    await make_consumer(live.js, "S-g", "m", filter_subject=">")
    again = set(await live.everything("m")) & live.consumers["m"].given
    found = {"partitions_moved": len(moving), "messages_redelivered": len(again)}
    found["messages_moved"] = sum(one.partition(".")[0] in moving for one in scene.stored.values())
    return {f"EG move {name}": number for name, number in found.items()}


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


async def _messages(live: Live, stream: str) -> int:
    return int(done(await live.js.request(f"STREAM.INFO.{stream}"))["state"]["messages"])
