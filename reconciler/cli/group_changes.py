"""`reconciler groups plan-members`: who would own what with other members, before a file is edited, or by editing it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from reconciler.cli import common, exits
from reconciler.cli.connecting import Connection, connection
from reconciler.cli.screen import paper, say, tell
from reconciler.cli.sharing import takes
from reconciler.kinds.groups.membership import Wish
from reconciler.report.json import json_text
from reconciler.report.members import members_data, members_text
from reconciler.server.observe import observe
from reconciler.server.options import ConnectOptions
from reconciler.workflow.both import both
from reconciler.workflow.members import Preview, preview, write
from reconciler.workflow.session import session

app = common.app()


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command(name="plan-members")
@takes(connection)
def plan_members(
    connection: Connection,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="STREAM/GROUP, for example ORDERS/billing.")],
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATHS...", help="Files that declare it; left out: as it is live.")
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option("--add", metavar="NAME", help="Members that join, a,b or repeated.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", metavar="NAME", help="Members that leave.")] = None,
    exactly: Annotated[list[str] | None, typer.Option("--set", metavar="NAMES", help="All members, a,b,c.")] = None,
    mapped: Annotated[
        bool | None,
        typer.Option("--mappings/--members", help="Say who owns what so that least moves, or plain members. [as now]"),
    ] = None,
    write_: Annotated[bool, typer.Option("--write", help="Edit the file; comments and layout stay.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="For people, or for tools.")] = Format.TEXT,
) -> int:
    """What would move with other members: partitions, what is queued on them, what is delivered again. Sends nothing."""
    wish = Wish(add=_names(add), drop=_names(drop), exactly=_names(exactly), mapped=mapped)
    _check(wish, write=write_, paths=paths)
    made: list[Preview] = []
    asyncio.run(_look(made, group, wish, paths or (), connection.options()))
    _show(made[0], format_)
    if write_:
        place = write(made[0])
        tell(f"Wrote {place}. Next: reconciler plan {connection.arguments(*map(str, paths or ()))}\n")
    change = made[0].change
    return exits.REFUSED if change and change.is_blocked else exits.FINE


def _names(said: list[str] | None) -> Sequence[str]:
    return [name.strip() for one in said or () for name in one.split(",") if name.strip()]


def _check(wish: Wish, *, write: bool, paths: list[Path] | None) -> None:
    if wish.exactly and (wish.add or wish.drop):
        raise common.Misused("--set says all members; leave out --add and --drop.")
    if not (wish.exactly or wish.add or wish.drop or wish.mapped is not None):
        raise common.Misused("Say what shall be different: --add, --drop, --set, --mappings or --members.")
    if write and not paths:
        raise common.Misused("--write edits the files that declare the group; name them.")


async def _look(into: list[Preview], group: str, wish: Wish, paths: Sequence[Path], options: ConnectOptions) -> None:
    if paths:
        async with both(paths, options) as here:
            into.append(await preview(here.js, here.snapshot, group, wish, here.topology))
    else:
        async with session(options) as js:
            into.append(await preview(js, await observe(js), group, wish, None))


def _show(made: Preview, format_: Format) -> None:
    shown: dict[str, Any] = {
        "address": str(made.address), "membership": made.membership, "moved": made.moved, "least": made.least,
    }  # fmt: skip
    if format_ is Format.JSON:
        say(json_text(members_data(made.change, **shown)))
    else:
        say(members_text(made.change, paper(), **shown))
