"""`reconciler permissions`: prints the least permissions to plan, apply or watch a topology. Asks no server."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import emit, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.permissions.text import config_block, nsc_lines
from reconciler.model.wire.permissions import Purpose

if TYPE_CHECKING:
    from reconciler.server.read.permission_subjects import Api

app = common.new_app()


class PermissionsFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    NSC = "nsc"


@app.command(name="permissions")
@takes(connection)
@takes(values)
def permissions_(
    purpose: Annotated[Purpose, typer.Argument(help="What the user is to do.", show_default=False)],
    paths: common.AnyPaths,
    connection: Connection,
    values: Values,
    allow: common.Allow = None,
    backup: Annotated[bool, typer.Option("--backup", help="Add what `apply --backup` needs.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Add what `drift watch` needs.")] = False,
    format_: Annotated[
        PermissionsFormat,
        typer.Option("--format", help="text for nats-server's configuration, json for tools, nsc for an nsc command."),
    ] = PermissionsFormat.TEXT,
    for_: Annotated[str, typer.Option("--name", metavar="USER", help="Name of the user in the nsc command.")] = "ci",
) -> int:
    """Print the least permissions of a user who plans, applies or looks for drift, whatever state the account is in.

    Of several topologies, they let one user work on all of them.

    They let the user delete or replace only what `removed:`, `allow:` or --allow names; subjects know no patterns, so an entry
    of `removed:` about many (`on`) lets the user delete every object of the kinds that it can match. They let `drift` tell who changed
    something if these files declare the stream of audit events; for a stream that is declared elsewhere, add
    $JS.API.DIRECT.GET.NAME. No server is asked: of the connection, only --js-domain, --js-api-prefix and --inbox-prefix
    matter, given as options or by the context. Leave out --js-domain for users whose server is itself of the domain.
    """
    from reconciler.journeys.permissions.json import permissions_json  # noqa: PLC0415
    from reconciler.journeys.permissions.permissions import permissions_for_all  # noqa: PLC0415
    from reconciler.journeys.plan.files import load, topologies_of  # noqa: PLC0415
    from reconciler.report.words.diagnostics import report  # noqa: PLC0415 - only for who needs it

    _check_options(purpose, backup=backup, watch=watch)
    consents = common.parse_consents(allow)
    loaded = load(paths, values.tree())
    topologies = topologies_of(loaded, values.environment)
    tell(report([finding for one in loaded.each or (loaded,) for finding in one.diagnostics]))
    api = _api(connection.for_environment(values, paths))
    needs = permissions_for_all(topologies, purpose, api, allow=consents, backup=backup, watch=watch)
    names = [topology.name for topology in topologies]
    title = f"to {_DOES[purpose]} {'topologies' if names[1:] else 'topology'} {', '.join(names)}"
    if format_ is PermissionsFormat.JSON:
        emit(permissions_json(needs, names, purpose))
    elif format_ is PermissionsFormat.NSC:
        emit(nsc_lines(needs, title, for_))
    else:
        emit(config_block(needs, title))
    return exits.FINE


def _check_options(purpose: Purpose, *, backup: bool, watch: bool) -> None:
    for is_given, option, owner in ((backup, "--backup", Purpose.APPLY), (watch, "--watch", Purpose.DRIFT)):
        if is_given and purpose is not owner:
            raise common.Misused(
                f"{option} belongs to `reconciler {owner}`: write `reconciler permissions {owner} {option} …`."
            )


_DOES = {Purpose.PLAN: "plan", Purpose.APPLY: "plan and apply", Purpose.DRIFT: "look for drift of"}


def _api(connection: Connection) -> Api:
    from reconciler.server.connect.options import ConnectOptions  # noqa: PLC0415
    from reconciler.server.read.permission_subjects import Api  # noqa: PLC0415

    options = ConnectOptions() if connection.dev else connection.options()
    return Api.of(options.js_domain, options.js_api_prefix, options.inbox_prefix)
