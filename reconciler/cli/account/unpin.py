"""`reconciler unpin`: ends the pin of a consumer's client, so that another client that pulls is served."""

from __future__ import annotations

from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import say
from reconciler.journeys.unpin import Unpinned
from reconciler.journeys.unpin import unpin as unpin_consumer

app = common.new_app()


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
    path = consumer.removeprefix("consumer/")
    stream, _, name = path.partition("/")
    is_wrong = not (stream and name) or "/" in name
    common.refuse_if_any((is_wrong, f"{consumer}: write STREAM/CONSUMER, for example ORDERS/dispatch."))
    say(_unpinned_text(connection.ask(lambda js: unpin_consumer(js, path))))
    return exits.FINE


def _unpinned_text(unpinned: Unpinned) -> str:
    groups = f"{'group' if len(unpinned.groups) == 1 else 'groups'} {', '.join(unpinned.groups)}"
    if unpinned.client is None:
        return f"{unpinned.consumer}: no client is pinned ({groups}); nothing was done.\n"
    shared = "" if len(unpinned.groups) == 1 else ", which share one pin"
    return (
        f"{unpinned.consumer}: client {unpinned.client} is no longer pinned ({groups}{shared}); "
        "the next client that pulls is served.\n"
    )
