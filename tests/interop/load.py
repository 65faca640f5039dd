"""Keyed sequences, published steadily: `jobs.<key>.1`, `jobs.<key>.2`, …; and whether all of it was worked on in order."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from tests.interop.cg import Got
from tests.support.accounts import Account

KEYS = tuple(f"k{n}" for n in range(12))

Sent = dict[str, int]
"""How many messages of each key were stored."""


def publish(account: Account, last: int, *, first: int = 1) -> Sent:
    """The messages `first` to `last` of every key; what has been sent then, counted from 1."""
    return asyncio.run(_publish(account, range(first, last + 1)))


async def _publish(account: Account, numbers: range) -> Sent:
    nc = await account.connect()
    for number in numbers:
        await asyncio.gather(*(nc.request(f"jobs.{key}.{number}", b"", timeout=10) for key in KEYS))
    await nc.close()
    return dict.fromkeys(KEYS, numbers[-1])


class Load:
    """Publishes until the block is left, every key about ten times a second."""

    def __init__(self, account: Account) -> None:
        self.sent: Sent = dict.fromkeys(KEYS, 0)
        self._account = account
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        nc = await self._account.connect()
        while not self._over.is_set():
            await asyncio.gather(*(nc.request(f"jobs.{key}.{self.sent[key] + 1}", b"", timeout=10) for key in KEYS))
            self.sent = {key: number + 1 for key, number in self.sent.items()}
            await asyncio.sleep(0.1)
        await nc.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _type: type[BaseException] | None, _value: object, _trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()


def first_times(got: Iterable[Got]) -> dict[str, list[int]]:
    """The numbers of each key in the order in which somebody began to work on them for the first time."""
    found: dict[str, dict[int, None]] = defaultdict(dict)
    for one in got:
        found[one.key].setdefault(one.number)
    return {key: list(numbers) for key, numbers in found.items()}


def is_complete(got: Iterable[Got], sent: Sent) -> bool:
    seen = first_times(got)
    return all(len(seen.get(key, ())) >= number for key, number in sent.items())


def assert_in_order(got: Iterable[Got], sent: Sent) -> None:
    """Every message of every key, in the order of publishing; deliveries again are not a first time."""
    seen = first_times(got)
    assert {key: seen.get(key, []) for key in sent} == {key: list(range(1, n + 1)) for key, n in sent.items()}
