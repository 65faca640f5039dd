"""Many targets are read side by side, and what is wrong with one of them stays with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from reconciler.fleet.reading import Ask, Columns, Part, SharedWindow, across, configs, read_all
from reconciler.fleet.rows import snapshot_of
from reconciler.fleet.targets import Target
from reconciler.server.api import JetStream
from reconciler.server.settings import Settings
from tests.support.accounts import Account
from tests.support.jetstream import make_stream, make_streams, talk
from tests.support.servers import NatsServer


def target(name: str, url: str, **more: Any) -> Target:
    return Target(name=name, settings=Settings(url=url, no_context=True), **more)


def of_account(account: Account, **more: Any) -> Target:
    settings = Settings(url=account.url, user=account.user, password=account.password, no_context=True)
    return Target(name=account.user, settings=settings, **more)


def read(parts: Sequence[Part], ask: Ask, **more: Any) -> list[dict[str, Any]]:
    found: list[Columns] = []
    asyncio.run(read_all(parts, ask, found.append, **{"requests": 100, **more}))
    return [{name: column[row] for name, column in one.items()} for one in found for row in range(len(one["target"]))]


def test_whoever_did_not_answer_is_asked_once_more_at_the_end() -> None:
    late = NatsServer()

    async def starting_it(js: JetStream, part: Part) -> AsyncGenerator[Columns, None]:
        if part.target.name == "first":
            await asyncio.to_thread(late.start)
        yield {"row": ["there"]}

    try:
        with NatsServer() as first:
            parts = [Part(target=target("late", late.url)), Part(target=target("first", first.url))]
            rows = read(parts, starting_it, at_once=1)
    finally:
        late.close()
    assert [(row["target"], row["row"]) for row in rows] == [("first", "there"), ("late", "there")]


def test_whatever_a_question_raises_is_a_row(new_account: Callable[..., Account]) -> None:
    async def failing(js: JetStream, part: Part) -> AsyncGenerator[Columns, None]:
        if part.target.name == "odd":
            raise KeyError("total")
        yield {"row": ["there"]}

    odd, well = (of_account(new_account()) for _ in range(2))
    parts = [Part(target=Target(name="odd", settings=odd.settings)), Part(target=well)]
    rows = {row["target"]: row for row in read(parts, failing)}
    assert rows["odd"]["error"] == "It could not be read (KeyError: 'total')."
    assert rows[well.name]["row"] == "there"


def test_what_was_told_before_it_broke_off_is_not_told_twice(account: Account) -> None:
    async def breaking(js: JetStream, part: Part) -> AsyncGenerator[Columns, None]:
        yield {"row": ["piece"]}
        raise ConnectionError("gone")

    rows = read([Part(target=of_account(account))], breaking)
    assert [row["row"] for row in rows] == ["piece", "error"]


def test_parts_of_an_account_make_up_the_whole(account: Account) -> None:
    async def many(js: JetStream) -> None:
        await make_streams(js, *(f"S{number}" for number in range(20)))

    talk(account, many)
    parts = [Part(target=of_account(account), number=number, of=3) for number in range(3)]
    rows = read(parts, configs)
    seen = snapshot_of(rows)
    assert not isinstance(seen, str)
    assert len(rows) == 21
    assert len(seen.streams) == 20


def test_labels_and_the_time_it_took_go_with_every_row(account: Account) -> None:
    talk(account, lambda js: make_stream(js, "S"))
    rows = read([Part(target=of_account(account, labels={"team": "a"}))], configs)
    assert [row["labels"] for row in rows] == [{"team": "a"}] * 2
    assert all(row["seconds"] > 0 for row in rows)


def test_windows_share_what_may_be_under_way_in_all() -> None:
    inside, most = 0, 0

    async def request(window: SharedWindow) -> None:
        nonlocal inside, most
        async with window:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async def everybody() -> None:
        total = asyncio.Semaphore(5)
        windows = [SharedWindow(total, own=4) for _ in range(3)]
        await asyncio.gather(*(request(window) for window in windows for _ in range(20)))

    asyncio.run(everybody())
    assert most == 5


def test_whoever_is_interrupted_while_waiting_leaves_room() -> None:
    async def waiting() -> bool:
        window = SharedWindow(asyncio.Semaphore(0), own=1)
        waits = asyncio.create_task(window.__aenter__())
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        return window._own.locked()

    assert asyncio.run(waiting()) is False


def test_rows_become_columns_of_equal_length() -> None:
    assert across([{"a": 1}, {"b": 2}]) == {"a": [1, None], "b": [None, 2]}
