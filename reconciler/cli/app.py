"""The commands by name. Each one's module is imported only when it is the one that runs."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from reconciler import __version__

COMMANDS = {
    "validate": "Check files alone, without any server.",
    "plan": "Show what would be changed, and what is refused and why.",
    "apply": "Show the plan, ask, and make it so.",
    "drift": "Show what is live and no longer as it was applied, and who changed it.",
    "review": "Compare two revisions of the files, without an account.",
    "rehearse": "Carry the plan out on throw-away servers, and see what they answer.",
    "history": "Show who applied what and when, and what became of it.",
    "unlock": "Show who is applying, and remove a lease that was left behind.",
    "permissions": "Print the least permissions of a user who plans or applies a topology.",
    "export": "Write what is live as YAML.",
    "adopt": "Record that what is live and declared is ours, without touching it.",
    "import": "Write files of the nats CLI, Terraform or NACK as YAML.",
    "upgrade-check": "Say what another server version would lose, refuse or rewrite.",
    "unpin": "End the pin of a consumer's client, so that another one is served.",
    "groups": "Partitioned consumer groups: who works, where a key goes, what is wrong.",
    "fleet": "Many accounts at once, on Spark: what each holds, what strayed, how it developed.",
    "explain": "Say what a code means and what to do instead.",
    "schema": "Print the JSON Schema of files, for editors, or of plans or drift.",
    "dev": "This folder's own embedded server: start, status, stop, wipe.",
    "demo": "Watch the main job on a throw-away server.",
    "completion": "Print a completion script for a shell.",
}


def _module(name: str) -> str:
    return name.replace("-", "_") + ("_" if iskeyword(name) else "")


class _Modules(MutableMapping[str, Any]):
    """Commands made from their modules when somebody asks for them."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._made:
            command = typer.main.get_command(import_module(f"reconciler.cli.{_module(name)}").app)
            command.name = name
            self._made[name] = command
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]


class Commands(TyperGroup):
    """The root: knows names and one sentence each, so that `--help` imports nothing."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": {}})
        self.commands = _Modules()

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=Commands, name="reconciler", add_completion=False, rich_markup_mode=None, no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["--help", "-h"]},
)  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reconciler {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 fine, 1 could not do it, 2 changes pending (with --exit-code), "
    "3 drift, or something is wrong (groups doctor --exit-code), "
    "4 refused, consent missing, or lost by an upgrade, 64 wrong usage, 130 interrupted."
)
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Declarative config-as-code for NATS JetStream: plan, refuse what harms, apply the rest."""
