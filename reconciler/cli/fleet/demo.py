"""`reconciler demo --fleet`: runs the fleet commands themselves, on servers with accounts that live as long as the
story."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from reconciler.cli.shared import exits
from reconciler.cli.shared.screen import paper, say
from reconciler.fleet import demo as story
from reconciler.fleet.accounts.fleet_file import load_fleet
from reconciler.fleet.accounts.targets import Fleet
from reconciler.fleet.session import require_packages
from reconciler.journeys.demo import example
from reconciler.report.words.values import counted
from reconciler.testbed import programs
from reconciler.testbed.node import Node

SKEW = (
    "skew",
    "--stream",
    "ORDERS",
    "--filter",
    "orders.*.*",
    "--partitions",
    "6,12",
    "--members",
    "3,4",
    "--target",
    "eu-1",
)


def play(page: Path) -> int:
    """Play the story; `page` is where it writes the report."""
    require_packages()
    page = page.absolute()
    with _servers_and_fleet() as (nodes, fleet):
        scale = f"{counted(len(fleet.targets), 'account')} on {counted(len(nodes), 'nats-server')} of their own"
        say(f"{scale}; the files are examples/fleet.\n")
        targets = {target.name: target for target in fleet.targets}
        successes = [_run_scene("What would be created on each of them? This needs no Spark.", "plan")]
        _say_heading("Apply it on all of them.")
        asyncio.run(story.apply_to_all(fleet.targets))
        say(f"{counted(len(targets), 'account')} applied, as `reconciler apply` does for one.\n")
        for number, day in enumerate(story.DAYS, 1):
            _say_heading(day.told)
            asyncio.run(story.live(day, targets, number))
            if number == len(story.DAYS):
                nodes[story.LOST.partition("-")[0]].kill()
            successes.append(
                _run_scene(
                    f"Night {number}: what drifted?",
                    "drift",
                    "--run",
                    f"night-{number}",
                    expected=_expected_code(number),
                )
            )
        successes.append(_run_scene("How would the customers spread over partitions and members?", *SKEW))
        successes.append(
            _run_scene("What did the servers report about acknowledgements, and about who changed what?", "events")
        )
        successes.append(
            _run_scene("All of it, on one page.", "report", "--report", f"html={page}", expected=exits.DRIFT)
        )
    say(f"\nThe servers and their data are deleted. The page is {page}\n")
    return exits.FINE if all(successes) else exits.FAILED


def _expected_code(number: int) -> int:
    """Return how this night's look ends: in the last one, a target does not answer."""
    return {1: exits.FINE, len(story.DAYS): exits.FAILED}.get(number, exits.DRIFT)


@contextmanager
def _servers_and_fleet() -> Iterator[tuple[Mapping[str, Node], Fleet]]:
    """Start servers, and work in a folder that holds the topology and a fleet.yaml that names them."""
    home, program = Path.cwd(), programs.find(os.environ)
    with tempfile.TemporaryDirectory(prefix="reconciler-fleet-", ignore_cleanup_errors=True) as name:
        nodes = story.servers(program)
        os.environ[story.VARIABLE] = story.PASSWORD
        os.chdir(name)
        try:
            Path("shop.yaml").write_text((example("fleet") / "shop.yaml").read_text(encoding="utf-8"), encoding="utf-8")
            Path("fleet.yaml").write_text(story.fleet_yaml(nodes), encoding="utf-8")
            yield nodes, load_fleet(Path("fleet.yaml"))
        finally:
            os.chdir(home)
            for node in nodes.values():
                node.close()


def _run_scene(heading: str, *command: str, expected: int = exits.FINE) -> bool:
    """Run a command, and say whether it ended as the story expects."""
    from reconciler.cli.run import run  # noqa: PLC0415 - it knows all commands, this one too

    _say_heading(heading)
    line: Sequence[str] = ("fleet", command[0], "fleet.yaml", *command[1:])
    say(paper().paint(f"$ reconciler {' '.join(line)}", "head") + "\n")
    code = run(line)
    say(paper().paint(f"exit {code}", "quiet") + "\n")
    return code == expected


def _say_heading(text: str) -> None:
    say("\n" + paper().paint(f"── {text}", "head") + "\n\n")
