"""Many targets are read side by side, and what is wrong with one of them stays with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from reconciler.fleet.accounts.reading import (
    Ask,
    Columns,
    SharedWindow,
    TargetPart,
    as_columns,
    configs,
    read_all,
    rows_of_part,
    subjects,
)
from reconciler.fleet.accounts.rows import snapshot_of
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.model.ledger.records import RESERVED
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.connect.settings import Settings
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import make_stream, make_streams, talk
from tests.support.servers import NatsServer
from tests.support.topologies import target as place


def target(name: str, url: str, **more: Any) -> FleetTarget:
    return FleetTarget(name=name, settings=Settings(url=url, no_context=True), **more)


def of_account(account: Account, **more: Any) -> FleetTarget:
    settings = Settings(url=account.url, user=account.user, password=account.password, no_context=True)
    return FleetTarget(name=account.user, settings=settings, **more)


class Ahead(asyncio.SelectorEventLoop):
    """With a clock that can be put forward, so that nobody has to wait, and nothing is late on a busy machine."""

    seconds = 0.0

    def time(self) -> float:
        return super().time() + self.seconds


async def pass_by(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Ahead)
    loop.seconds += seconds
    await asyncio.sleep(0)


def read(parts: Sequence[TargetPart], ask: Ask, *, taking: float = 0.0, **more: Any) -> list[dict[str, Any]]:
    found: list[Columns] = []

    async def take(columns: Columns) -> None:
        await pass_by(taking)
        found.append(columns)

    with asyncio.Runner(loop_factory=Ahead) as runner:
        runner.run(read_all(parts, ask, take, **{"requests": 100, **more}))
    return [{name: column[row] for name, column in one.items()} for one in found for row in range(len(one["target"]))]


def test_whoever_did_not_answer_is_asked_once_more_at_the_end() -> None:
    late = NatsServer()

    async def starting_it(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
        if part.target.name == "first":
            await asyncio.to_thread(late.start)
        yield {"row": ["there"]}

    try:
        with NatsServer() as first:
            parts = [TargetPart(target=target("late", late.url)), TargetPart(target=target("first", first.url))]
            rows = read(parts, starting_it, at_once=1)
    finally:
        late.close()
    assert [(row["target"], row["row"]) for row in rows] == [("first", "there"), ("late", "there")]


def test_whatever_a_question_raises_is_a_row(new_account: Callable[..., Account]) -> None:
    async def failing(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
        if part.target.name == "odd":
            raise KeyError("total")
        yield {"row": ["there"]}

    odd, well = (of_account(new_account()) for _ in range(2))
    parts = [TargetPart(target=FleetTarget(name="odd", settings=odd.settings)), TargetPart(target=well)]
    rows = {row["target"]: row for row in read(parts, failing)}
    assert rows["odd"]["error"] == "It could not be read (KeyError: 'total')."
    assert rows[well.name]["row"] == "there"


def test_what_was_told_before_it_broke_off_is_not_told_twice(account: Account) -> None:
    async def breaking(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
        yield {"row": ["piece"]}
        raise ConnectionError("gone")

    rows = read([TargetPart(target=of_account(account))], breaking)
    assert [row["row"] for row in rows] == ["piece", "error"]


def test_what_whoever_takes_the_rows_does_meanwhile_is_no_time_of_the_target(account: Account) -> None:
    async def pages(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
        for _ in range(3):
            yield {"row": ["page"]}

    rows = read([TargetPart(target=of_account(account, deadline=60))], pages, taking=25)
    assert [row["row"] for row in rows] == ["page"] * 3
    assert max(row["seconds"] for row in rows) < 25


def test_a_target_has_no_more_time_for_all_its_pages_together(account: Account) -> None:
    async def pages(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
        yield {"row": ["page"]}
        await pass_by(60)
        await asyncio.Event().wait()

    rows = read([TargetPart(target=of_account(account, deadline=60))], pages)
    assert [row.get("error") for row in rows] == [None, "It could not be read within 60 s."]


def test_what_goes_wrong_in_the_midst_of_a_streams_subjects_is_told_of_that_stream(account: Account) -> None:
    async def cut_off(js: JetStream, part: TargetPart) -> AsyncGenerator[Columns, None]:
        async for page in subjects(">")(js, part):
            yield page
        raise ConnectionError("gone")

    async def two(js: JetStream) -> None:
        await make_stream(js, "S", subjects=["s.*"])
        for number in range(2):
            await js.pipeline.request(f"s.{number}", b"", within=30)

    talk(account, two)
    rows = read([TargetPart(target=of_account(account), stream="S")], cut_off)
    assert [(row["stream"], row.get("subject"), row.get("messages")) for row in rows] == [
        ("S", "s.0", 1),
        ("S", "s.1", 1),
        ("S", None, None),
    ]
    assert rows[-1]["error"] == "It could not be read (ConnectionError: gone)."


def test_parts_of_an_account_make_up_the_whole(account: Account) -> None:
    async def many(js: JetStream) -> None:
        await make_streams(js, *(f"S{number}" for number in range(20)))

    talk(account, many)
    parts = [TargetPart(target=of_account(account), number=number, of=3) for number in range(3)]
    rows = read(parts, configs)
    seen = snapshot_of(rows)
    assert not isinstance(seen, str)
    assert len(rows) == 21
    assert len(seen.streams) == 20


def share(number: int, *, streams: Sequence[str] = (), unknown: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows of one of two parts, of what it saw of the whole."""
    items = {name: {"config": {"name": name}, "state": {"consumer_count": 0}} for name in streams}
    part = TargetPart(target=target("eu", "x"), number=number, of=2)
    return rows_of_part(Snapshot(target=place(), streams=items, unknown=unknown), part)


OF_FIRST, OF_SECOND = (next(f"S{n}" for n in range(9) if f"S{n}" in TargetPart(target=target("eu", "x"), number=number, of=2))
                       for number in (0, 1))  # fmt: skip


def test_a_part_that_could_not_list_streams_leaves_open_which_others_there_are() -> None:
    first = share(0, streams=[OF_FIRST, OF_SECOND], unknown={})
    second = share(1, unknown={"streams": "no answer"})
    seen = snapshot_of([*first, *second])
    assert not isinstance(seen, str)
    assert (seen.why_stream_unknown(OF_FIRST), seen.why_stream_unknown(OF_SECOND)) == (None, "no answer")
    assert snapshot_of([*second, *first, *second]) == seen


def test_a_stream_that_was_silent_is_unknown_where_its_part_says_so_and_only_there() -> None:
    silent = {f"stream/{OF_FIRST}": "silent", f"stream/{OF_SECOND}": "silent", "bucket/b": "silent"}
    seen = snapshot_of([*share(0, unknown=silent), *share(1, streams=[OF_FIRST, OF_SECOND], unknown={})])
    assert not isinstance(seen, str)
    assert seen.unknown == {f"stream/{OF_FIRST}": "silent", "bucket/b": "silent"}
    assert set(seen.streams) == {OF_SECOND}


def test_a_bucket_of_which_the_first_part_saw_nothing_is_not_empty() -> None:
    """Its entries are read by the first part, whichever part its stream would belong to."""
    for bucket in RESERVED:
        seen = snapshot_of(
            [*share(0, unknown={"streams": "no answer"}), *share(1, streams=[f"KV_{bucket}"], unknown={})]
        )
        assert not isinstance(seen, str)
        assert seen.why_bucket_unknown(bucket) == "no answer"


def test_an_account_of_which_one_part_could_not_be_read_is_not_known(account: Account) -> None:
    talk(account, lambda js: make_stream(js, "S"))
    parts = [
        TargetPart(target=of_account(account), of=2),
        TargetPart(target=target(account.user, "nats://127.0.0.1:1"), number=1, of=2),
    ]
    assert str(snapshot_of(read(parts, configs))).startswith("Cannot reach")


def test_labels_and_the_time_it_took_go_with_every_row(account: Account) -> None:
    talk(account, lambda js: make_stream(js, "S"))
    rows = read([TargetPart(target=of_account(account, labels={"team": "a"}))], configs)
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
    assert as_columns([{"a": 1}, {"b": 2}]) == {"a": [1, None], "b": [None, 2]}
