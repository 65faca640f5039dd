"""`reconciler unpin`: ends the pin of a consumer's client, so that another client that pulls is served."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import say
from reconciler.journeys.unpin import Unpinned
from reconciler.journeys.unpin import unpin as ask

app = common.app()


@app.command()
@takes(connection)
def unpin(
    connection: Connection,
    consumer: Annotated[
        str, typer.Argument(metavar="STREAM/CONSUMER", help="The consumer, for example ORDERS/dispatch.")
    ],
) -> int:
    """End the pin of a consumer's client, so that another client that pulls is served at once. For a member of a
    partitioned group, use `groups step-down`."""
    named = consumer.removeprefix("consumer/")
    stream, _, name = named.partition("/")
    is_wrong = not (stream and name) or "/" in name
    common.never((is_wrong, f"{consumer}: write STREAM/CONSUMER, for example ORDERS/dispatch."))
    say(_said(asyncio.run(_ask(connection, named))))
    return exits.FINE


async def _ask(connection: Connection, consumer: str) -> Unpinned:
    async with connection.open() as js:
        return await ask(js, consumer)


def _said(told: Unpinned) -> str:
    groups = f"{'group' if len(told.groups) == 1 else 'groups'} {', '.join(told.groups)}"
    if told.client is None:
        return f"{told.consumer}: no client is pinned ({groups}); nothing was done.\n"
    shared = "" if len(told.groups) == 1 else ", which share one pin"
    return (
        f"{told.consumer}: client {told.client} is no longer pinned ({groups}{shared}); "
        "the next client that pulls is served.\n"
    )
