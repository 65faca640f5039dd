"""The commands by name, of one word or two: `drift`, `drift accept`. A command's module is imported only when it runs."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module
from typing import Annotated, Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup

from reconciler import __version__
from reconciler.cli.shared import exits


class Command(NamedTuple):
    """Where a command's module is, below `reconciler.cli`, and what it does in one sentence."""

    module: str
    about: str


COMMANDS = {
    "init": Command("files.init", "Write a first file, of what an account holds, or a small one to begin with."),
    "validate": Command("files.validate", "Check files, without a server."),
    "render": Command("files.render", "Print what files say for an environment."),
    "policy": Command("files.policy", "Test policies, and show what their conditions may mention."),
    "fmt": Command("files.fmt", "Put files into form, or show what that would change."),
    "plan": Command("account.plan", "Show what an apply would change, what is refused, and why."),
    "apply": Command("account.apply", "Show the plan, ask, and carry it out."),
    "drift": Command("drift.drift", "Show what was changed since the last apply, and who changed it."),
    "drift accept": Command("drift.accept", "Write what was changed into the files."),
    "drift restore": Command("drift.restore", "Put back what was changed, and nothing else."),
    "drift watch": Command("drift.watch", "Tell of each change when it happens."),
    "review": Command("files.review", "Show what a change of the files would do, without an account."),
    "rehearse": Command("account.rehearse", "Carry the plan out on throw-away servers, and show what they answer."),
    "history": Command("account.history", "Show who applied what and when, and how it ended."),
    "history diff": Command("account.history_diff", "Show what changed from one apply to another."),
    "unlock": Command("account.unlock", "Show who is applying, and remove a lease that was left behind."),
    "permissions": Command(
        "account.permissions", "Print the least permissions of a user who plans, applies or looks for drift."
    ),
    "export": Command("files.export", "Write what is live as YAML."),
    "adopt": Command("account.adopt", "Record live objects as this topology's, without touching them."),
    "import": Command("files.import_", "Write files of the nats CLI, Terraform or NACK as YAML."),
    "upgrade-check": Command("files.upgrade_check", "Show what another server version would lose, refuse or rewrite."),
    "unpin": Command("account.unpin", "End the pin of a consumer's client, so that another client is served."),
    "groups": Command(
        "groups.groups", "Look at partitioned consumer groups: who works, where a key goes, what is wrong."
    ),
    "fleet": Command(
        "fleet.fleet", "Look at many accounts at once: what each holds, what drifted, how that developed."
    ),
    "explain": Command("help.explain", "Explain a code: what it means, and what to do instead."),
    "schema": Command("help.schema", "Print the JSON Schema of files, or of what a command prints."),
    "dev": Command("help.dev", "Start, show, stop or wipe this folder's own embedded server."),
    "demo": Command("help.demo", "Watch the main job on a throw-away server."),
    "completion": Command("help.completion", "Print a completion script for a shell."),
}


class _Modules(MutableMapping[str, Any]):
    """Makes commands from their modules when somebody asks for them, once."""

    _made: ClassVar[dict[str, Any]] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._made:
            command = typer.main.get_command(import_module(f"reconciler.cli.{COMMANDS[name].module}").app)
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
    """The root: it knows names and one sentence each, so that `--help` imports nothing."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": {}})
        self.commands = _Modules()

    def resolve_command(self, ctx: Any, args: Sequence[str]) -> tuple[str | None, Any, list[str]]:
        """Take two words for a command's name where there is one of this name."""
        if (name := " ".join(args[:2])) in COMMANDS:
            return name, self.commands[name], [*args[2:]]
        return super().resolve_command(ctx, [*args])

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the commands of `--help` from COMMANDS, so that no module of theirs is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.about) for name, command in COMMANDS.items()])


app = typer.Typer(
    cls=Commands, name="reconciler", add_completion=False, rich_markup_mode=None, no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["--help", "-h"]},
)  # fmt: skip


def _version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"reconciler {__version__}")
        raise typer.Exit


@app.callback(epilog=exits.epilog(*exits.MEANINGS))
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Declarative config-as-code for NATS JetStream: plan, refuse what harms, apply the rest."""
