"""`reconciler fleet skew` and `fleet events`: what takes more data than one account's plan looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli import common
from reconciler.cli.fleet_options import As, Format, On, Which, on, which
from reconciler.cli.fleet_telling import run
from reconciler.cli.reporting import Reports, reports
from reconciler.cli.screen import paper
from reconciler.cli.sharing import takes
from reconciler.report.fleet.found import Found

if TYPE_CHECKING:
    from reconciler.fleet.runs.look import Look

app = common.app()


@app.command()
@takes(which)
@takes(on)
@takes(reports)
def skew(
    which: Which,
    on: On,
    reports: Reports,
    stream: Annotated[str, typer.Option("--stream", metavar="NAME", help="The stream whose subjects are the keys.")],
    filter_: Annotated[
        str,
        typer.Option("--filter", metavar="SUBJECT", help="Partitioning filter; every set of its `*` is a candidate."),
    ] = ">",
    wildcards: Annotated[
        list[str] | None,
        typer.Option("--wildcards", metavar="1,2", help="Only these sets of `*`, by number; 0: the whole subject."),
    ] = None,
    partitions: Annotated[
        str, typer.Option("--partitions", metavar="N,…", help="How many, several to compare.")
    ] = "6,12,24",
    members: Annotated[
        str, typer.Option("--members", metavar="N,…", help="How many, in the order they follow one another.")
    ] = "3,4",
    keys: Annotated[
        str | None,
        typer.Option("--keys", metavar="FILE", help="Keys from Parquet or CSV with a column `subject` instead."),
    ] = None,
    format_: As = Format.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """How evenly keys would fall on partitions and members, for every candidate, and what moves when members change."""
    from reconciler.fleet.candidates import Candidates, Choice, Membership, Partitioning, every_choice  # noqa: PLC0415

    sets = [_numbers("--wildcards", one, least=0) for one in wildcards or ()]
    stars = filter_.split(".").count("*")
    if wrong := [number for one in sets for number in one if number > stars]:
        raise common.Misused(f"--wildcards {wrong[0]}: `{filter_}` has {stars or 'no'} `*`.")
    chosen = tuple(
        Choice((Partitioning(filter=filter_, wildcards=tuple(number for number in one if number)),)) for one in sets
    )
    candidates = Candidates(
        choices=chosen or every_choice(filter_), partitions=_numbers("--partitions", partitions, least=1),
        memberships=tuple(map(Membership.of, _numbers("--members", members, least=1))),
    )  # fmt: skip

    def work(look: Look) -> Found:
        from reconciler.fleet.runs.skew import Keys, skew  # noqa: PLC0415 - pyspark is for fleet commands alone

        return skew(look, Keys(stream=stream, filter=filter_, file=keys), candidates)

    return run(which, on, reports, format_, paper(no_color=no_color), work)


def _numbers(option: str, said: str, *, least: int) -> tuple[int, ...]:
    try:
        numbers = tuple(map(int, said.split(",")))
    except ValueError:
        numbers = (least - 1,)
    if min(numbers) < least:
        raise common.Misused(f"{option} {said}: write numbers from {least} on, with commas between, for example 6,12.")
    return numbers


@app.command()
@takes(which)
@takes(on)
@takes(reports)
def events(
    which: Which,
    on: On,
    reports: Reports,
    stream: Annotated[
        str | None,
        typer.Option("--stream", metavar="NAME", help="The stream that captures them. [every one that does]"),
    ] = None,
    format_: As = Format.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Pins that change hands, acknowledgements that take long, and who changed what, as the servers told it."""

    def work(look: Look) -> Found:
        from reconciler.fleet.runs.events import told  # noqa: PLC0415 - pyspark is for fleet commands alone

        return told(look, stream)

    return run(which, on, reports, format_, paper(no_color=no_color), work)
