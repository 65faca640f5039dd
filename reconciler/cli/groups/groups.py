"""`reconciler groups`: who works in partitioned consumer groups, where a key goes, what is queued, and what is
wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from reconciler.cli.groups import group_changes
from reconciler.cli.groups.group_changes import Group, Groups
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import ChosenPlainFormat, PlainFormat, takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import paper, say
from reconciler.journeys.groups import groups, text
from reconciler.journeys.groups import json as documents
from reconciler.kinds.groups import data, doctor
from reconciler.kinds.groups.places import Pattern
from reconciler.model.diagnostic import Diagnostic
from reconciler.report.codec.json import json_of, json_text
from reconciler.report.codec.shape import data_of
from reconciler.report.words.commands import findings_with_connection, with_connection
from reconciler.report.words.diagnostics import report
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted

app = common.new_app(no_args_is_help=True)
app.add_typer(group_changes.app)

Draw = Callable[[Sequence[Mapping[str, Any]], Paper], str]


@app.callback()
def groups_() -> None:
    """Look at partitioned consumer groups: who works, where a key goes, what waits, what is wrong. Only step-down and migrate
    change anything in the account."""


@app.command(name="list")
@takes(connection)
def list_(connection: Connection, wanted: Groups = None, format_: ChosenPlainFormat = PlainFormat.TEXT) -> int:
    """Show every group with its partitions, its members, and what is queued."""
    read = connection.ask(lambda js: groups.look(js, wanted or (), consumers=False))
    _print_groups(
        connection,
        documents.GroupsListed,
        [data.summary(group) for group in read.groups],
        format_,
        text.groups_text,
        read.unread_buckets,
    )
    return exits.FAILED if read.unread_buckets else exits.FINE


@app.command()
@takes(connection)
def show(connection: Connection, group: Group, format_: ChosenPlainFormat = PlainFormat.TEXT) -> int:
    """Show one group from all sides: its record, its queue, its members and their clients, and what waits in each partition."""
    details = connection.ask(lambda js: groups.group_details(js, [group]))
    _print_groups(
        connection,
        documents.GroupsShown,
        details,
        format_,
        lambda details, paper: "\n".join(text.group_text(detail, paper) for detail in details),
    )
    return exits.FINE


@app.command()
@takes(connection)
def active(connection: Connection, wanted: Groups = None, format_: ChosenPlainFormat = PlainFormat.TEXT) -> int:
    """Show members with and without a client, and since when each client is pinned."""
    read = connection.ask(lambda js: groups.look(js, wanted or ()))
    _print_groups(
        connection,
        documents.GroupsActive,
        [data.active(group) for group in read.groups],
        format_,
        text.active_text,
        read.unread_buckets,
    )
    return exits.FAILED if read.unread_buckets else exits.FINE


@app.command(name="step-down")
@takes(connection)
def step_down(
    connection: Connection,
    group: Group,
    member: Annotated[str, typer.Argument(metavar="MEMBER", help="The member whose client gives way.")],
) -> int:
    """End the pin of a member's client, so that another instance of the member takes over at once."""
    pin = connection.ask(lambda js: groups.step_down(js, group, member))
    was = f"client {pin['was']} is no longer pinned" if "was" in pin else "no client was pinned"
    say(f"{pin['address']}: {was}; the next instance of {member} that pulls is served.\n")
    return exits.FINE


@app.command()
@takes(connection)
def where(
    connection: Connection,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A subject, or the tokens that decide.")],
    wanted: Groups = None,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", min=1, metavar="N", help="Compute without a server, for so many partitions."),
    ] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="SUBJECT", help="With --partitions, the filter of the group. [>]")
    ] = None,
    wildcard: Annotated[
        list[int] | None,
        typer.Option(
            "--wildcard",
            min=1,
            metavar="K",
            help="With --partitions, the `*` of the filter that decides, from 1. Repeatable, in order.",
        ),
    ] = None,
    format_: ChosenPlainFormat = PlainFormat.TEXT,
) -> int:
    """Show the partition of a key, and who works there. With --partitions, no server is asked."""
    common.refuse_if_any(
        (partitions is None and (filter_ or wildcard),
         ("--filter and --wildcard compute a partition without any server; give the number of partitions "
          "with --partitions.")),
        (partitions is not None and wanted,
         f"--partitions asks no server, so it knows no group; leave out {' '.join(wanted or ())}, or --partitions."),
    )  # fmt: skip
    if partitions is not None:
        filter_ = filter_ or ">"
        pattern = Pattern(filter=filter_, wildcards=_wildcards(filter_, wildcard or []), partitions=partitions)
        place = groups.offline(key, pattern)
        places = [place] if place else []
    else:
        places = connection.ask(lambda js: groups.places(js, key, wanted or ()))
    if not places:
        raise common.Misused(f"No filter here matches {key}; write a whole subject, or name a group as well.")
    _print_groups(connection, documents.GroupsWhere, places, format_, text.place_text)
    return exits.FINE


def _wildcards(filter_: str, numbers: Sequence[int]) -> tuple[int, ...]:
    stars = filter_.split(".").count("*")
    if beyond := [number for number in numbers if number > stars]:
        raise common.Misused(f"--wildcard {beyond[0]}: `{filter_}` has {stars or 'no'} `*`.")
    return tuple(numbers)


@app.command()
@takes(connection)
def skew(connection: Connection, wanted: Groups = None, format_: ChosenPlainFormat = PlainFormat.TEXT) -> int:
    """Show how evenly keys and messages spread over partitions, in the queue and in the stream."""
    spreads = connection.ask(lambda js: groups.group_spreads(js, wanted or ()))
    _print_groups(connection, documents.GroupsSpread, spreads, format_, text.spread_text)
    return exits.FINE


@app.command(name="doctor", epilog=exits.epilog(instead={exits.DRIFT: "something is wrong (with --exit-code)"}))
@takes(connection)
def doctor_(
    connection: Connection,
    wanted: Groups = None,
    format_: ChosenPlainFormat = PlainFormat.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 3 when something is wrong.")] = False,
) -> int:
    """Show what is wrong with groups, and what to do: in records, queues, transforms, replicas and consumers."""
    read, found = connection.ask(lambda js: groups.examine_groups(js, wanted or ()))
    findings = findings_with_connection(found, connection.repeated)
    if format_ is PlainFormat.JSON:
        examined = documents.GroupsExamined(examined=len(read.groups), diagnostics=findings)
        say(json_of(examined))
    else:
        lines = report(findings, paper()) if findings else "nothing found\n"
        say(f"{lines}{counted(len(read.groups), 'group')} examined\n")
    if any(finding.code == "GR190" for finding in findings):
        return exits.FAILED
    return exits.DRIFT if exit_code and doctor.has_errors_or_warnings(findings) else exits.FINE


def _print_groups(
    connection: Connection,
    answer: type[documents.GroupsAnswer],
    answers: Iterable[object],
    format_: PlainFormat,
    draw: Draw,
    unread: Sequence[Diagnostic] = (),
) -> None:
    unread = findings_with_connection(unread, connection.repeated)
    document = data_of(answer(groups=tuple(answers), diagnostics=unread))
    if format_ is PlainFormat.JSON:
        say(json_text(document))
    else:
        say(with_connection(draw(document["groups"], paper()), connection.repeated) + report(unread, paper()))
