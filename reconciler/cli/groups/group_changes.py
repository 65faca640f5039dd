"""`reconciler groups plan-members` and `migrate`: other members, previewed before a file is edited; records in today's
form."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import ChosenPlainFormat, PlainFormat, takes
from reconciler.cli.shared.connecting import Connection, connection, result_of
from reconciler.cli.shared.screen import confirm, paper, say, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.documents.parse.files import Tree
from reconciler.journeys.files_and_account import both
from reconciler.journeys.groups.json import GroupsMigrated, MembersPreview
from reconciler.journeys.groups.members import Preview, preview, preview_offline, write
from reconciler.journeys.groups.migrate import describe_migration, migrate, migrations
from reconciler.journeys.groups.text import members_preview_text, migrations_text
from reconciler.journeys.plan.files import read_topology
from reconciler.kinds.groups.membership import MembershipRequest
from reconciler.report.codec.json import json_of
from reconciler.report.words.commands import with_connection
from reconciler.report.words.values import counted
from reconciler.server.connect.connection import session
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream

app = common.new_app()


Group = Annotated[str, typer.Argument(metavar="GROUP", help="STREAM/GROUP, for example ORDERS/billing.")]
Groups = Annotated[
    list[str] | None, typer.Argument(metavar="GROUP...", help="STREAM/GROUP, or a pattern. [all groups]")
]


@app.command(name="plan-members", epilog=exits.epilog(exits.REFUSED))
@takes(connection)
@takes(values)
def plan_members(
    connection: Connection,
    values: Values,
    group: Group,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATHS...",
            help="Files that declare the group; without --add and the like, what they change. [the group as it is live]",
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="NAME", help="Members that join, separated by commas. Repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="NAME", help="Members that leave, separated by commas. Repeatable."),
    ] = None,
    exactly: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAMES", help="All members there shall be, separated by commas."),
    ] = None,
    mapped: Annotated[
        bool | None,
        typer.Option("--mappings/--members", help="Write mappings that move the least, or plain members. [as now]"),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no server: take the group as the files declare it.")
    ] = False,
    write_: Annotated[bool, typer.Option("--write", help="Edit the file. Comments and layout stay.")] = False,
    format_: ChosenPlainFormat = PlainFormat.TEXT,
) -> int:
    """Show what other members would change: which partitions move, what is queued on them, what is redelivered.
    Changes nothing in the account."""
    wish = MembershipRequest(add=_names(add), drop=_names(drop), exactly=_names(exactly), mapped=mapped)
    _check_usage(wish, write=write_, offline=offline, paths=paths, values=values)
    connection = connection.for_environment(values, paths or ())
    options = None if offline else connection.options()
    with connection.adding_connection_to_errors():
        preview = result_of(_preview_members(group, wish, paths or (), values.tree(), options))
    _print_preview(preview, format_, connection, offline=offline)
    if write_:
        file = write(preview)
        tell(f"Wrote {file}. Next: reconciler plan {connection.arguments(*map(str, paths or ()))}\n")
    return exits.REFUSED if preview.change and preview.change.is_blocked else exits.FINE


def _names(lists: list[str] | None) -> Sequence[str]:
    return [name.strip() for value in lists or () for name in value.split(",") if name.strip()]


def _check_usage(
    wish: MembershipRequest, *, write: bool, offline: bool, paths: list[Path] | None, values: Values
) -> None:
    values.require_files(paths)
    if wish.exactly and (wish.add or wish.drop):
        raise common.Misused("--set names all members; leave out --add and --drop.")
    if not wish and (write or offline or not paths):
        raise common.Misused(
            "Say what should change: --add, --drop, --set, --mappings or --members; or name the edited files and ask a server."
        )
    if write and values:
        raise common.Misused(
            "--write edits files, but these have parameters that other values fill elsewhere; edit them by hand."
        )
    if write and not paths:
        raise common.Misused("--write edits the files that declare the group; name them.")
    if offline and not paths:
        raise common.Misused("--offline reads the files that declare the group; name them.")


async def _preview_members(
    group: str, wish: MembershipRequest, paths: Sequence[Path], tree: Tree, options: ConnectOptions | None
) -> Preview:
    if options is None:
        return await preview_offline(read_topology(paths, tree), group, wish)
    if paths:
        async with both(paths, options, tree) as state:
            return await preview(state.js, state.snapshot, group, wish, state.topology)
    async with session(options) as js:
        return await preview(js, await observe(js), group, wish, None)


def _print_preview(members: Preview, format_: PlainFormat, connection: Connection, *, offline: bool) -> None:
    if format_ is PlainFormat.JSON:
        preview = MembersPreview(
            address=members.address, membership=members.membership, partitions_moved=members.moved,
            partitions_moved_with_mappings=members.least, offline=offline, change=members.change,
        )  # fmt: skip
        say(json_of(preview))
    else:
        preview_text = members_preview_text(
            members.change, paper(), address=str(members.address), membership=members.membership, moved=members.moved,
            least=members.least, offline=offline,
        )  # fmt: skip
        say(with_connection(preview_text, connection.repeated))


@app.command(name="migrate", epilog=exits.epilog(exits.REFUSED))
@takes(connection)
def migrate_(
    connection: Connection,
    wanted: Groups = None,
    yes: common.Yes = False,
    while_running: Annotated[
        bool,
        typer.Option(
            "--while-running",
            help="Migrate groups whose instances run, too. The instances end when the record changes.",
        ),
    ] = False,
    format_: ChosenPlainFormat = PlainFormat.TEXT,
) -> int:
    """Write records of earlier versions in today's form. Shows each before and after, and asks."""
    return connection.ask(lambda js: _migrate(js, wanted or (), yes=yes, while_running=while_running, format_=format_))


async def _migrate(
    js: JetStream, wanted: Sequence[str], *, yes: bool, while_running: bool, format_: PlainFormat
) -> int:
    records = await migrations(js, wanted, while_running=while_running)
    descriptions = [describe_migration(migration) for migration in records]
    say(
        json_of(GroupsMigrated(records=tuple(descriptions)))
        if format_ is PlainFormat.JSON
        else migrations_text(descriptions, paper())
    )
    if any(migration.obstacles for migration in records):
        tell("Nothing was changed. To migrate the records that are not refused, name their groups.\n")
        return exits.REFUSED
    if not records:
        return exits.FINE
    if not yes and not sys.stdin.isatty():
        tell("There is no terminal to ask on; add --yes to migrate without being asked. Nothing was changed.\n")
        return exits.USAGE
    if not yes and not confirm(f"\nMigrate {counted(len(records), 'record')}?"):
        tell("Nothing was changed.\n")
        return exits.FAILED
    failed = [(migration, reason) for migration in records if (reason := await migrate(js, migration))]
    for migration, reason in failed:
        tell(f"{migration.group.address} was not written: {reason}. Somebody may have changed it; look again.\n")
    tell(f"Migrated {counted(len(records) - len(failed), 'record')}.\n")
    return exits.FAILED if failed else exits.FINE
