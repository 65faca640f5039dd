"""`reconciler unlock`: shows who holds leases, and removes abandoned ones after asking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import confirm, say, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.history import history
from reconciler.kinds.fields.words import some
from reconciler.memory.lease import Held
from reconciler.report.words.visible import visible
from reconciler.server.remember.lease import LeaseTerms
from reconciler.server.wire.api import JetStream

app = common.new_app()
LEFT_ALONE = "It was left alone."


@app.command()
@takes(connection)
@takes(values)
def unlock(
    connection: Connection,
    values: Values,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATHS]...", help="Files of the topology. [every topology]")
    ] = None,
    yes: common.Yes = False,
) -> int:
    """Show who holds the lease of a topology, and remove it after confirmation. Without a terminal to ask on it only
    shows. The lease ends after 5 seconds. An apply that is still at work stops writing by then, since it cannot renew its
    lease; the next one waits for that."""
    values.require_files(paths)
    topology = _topology_name(paths or [], values)
    return connection.for_environment(values, paths or []).ask(lambda js: _unlock(js, topology, yes=yes))


def _topology_name(paths: list[Path], values: Values) -> str | None:
    from reconciler.journeys.plan.files import read_topology  # noqa: PLC0415 - only for who names files

    return read_topology(paths, values.tree()).name if paths else None


async def _unlock(js: JetStream, topology: str | None, *, yes: bool) -> int:
    leases = await history.leases(js, topology)
    if not leases:
        where, whose = (visible(f"topology {topology}"), " of it") if topology else ("here", "")
        say(f"Nobody is applying {where}: no lease{whose} is held.\n")
    if yes and len(leases) > 1:
        names = ", ".join(visible(lease.holder.topology) for lease in leases)
        raise common.Misused(f"Several leases are held ({names}): name the files of one topology, or leave out --yes.")
    for lease in leases:
        say(visible(f"topology {lease.holder.topology} is being applied by {lease.holder}") + "\n")
        if not yes and not sys.stdin.isatty():
            tell(f"{LEFT_ALONE} There is no terminal to ask on; add --yes to remove it.\n")
            continue
        if not (yes or _confirm_removal(lease)):
            tell(f"{LEFT_ALONE}\n")
            return exits.FAILED
        await history.unlock(js, lease)
        notice = LeaseTerms.usual().notice
        say(f"Its lease ends in {some(notice, 'second')}: by then an apply that still runs has stopped writing.\n")
    return exits.FINE


def _confirm_removal(lease: Held) -> bool:
    return confirm(f"Remove the lease of topology {visible(lease.holder.topology)}?", unless=LEFT_ALONE)
