"""A client of the probes, where its own process is too busy to look in time."""

from __future__ import annotations

import asyncio
import threading
import time

from reconciler.testbed.probes.client import QUIET, Client
from tests.support.accounts import Account


def test_what_the_server_had_sent_counts_although_nobody_looked_in_time(account: Account) -> None:
    async def publish() -> None:
        connection = await account.connect()
        await connection.publish("late", b"")
        await connection.close()

    def keep_the_loop_busy() -> None:
        publisher = threading.Thread(target=asyncio.run, args=(publish(),))
        publisher.start()
        publisher.join()
        time.sleep(2 * QUIET)

    async def heard() -> int:
        connection = await account.connect()
        async with Client(connection).listening("late") as messages:
            asyncio.get_running_loop().call_later(QUIET / 4, keep_the_loop_busy)
        await connection.close()
        return len(messages)

    assert asyncio.run(heard()) == 1
