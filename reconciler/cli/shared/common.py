"""Arguments and options that mean the same in several commands, and how a function's parameters become a command's."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from reconciler.cli.shared import exits
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.wire.version import Version
from reconciler.report.words.visible import visible

Command = TypeVar("Command", bound=Callable[..., Any])


def takes(declaration: Callable[..., Any]) -> Callable[[Command], Command]:
    """Let the decorated command take the options of `declaration`, and get its result under the declaration's name."""
    name, options = declaration.__name__, _parameters(declaration)

    def decorate(command: Command) -> Command:
        own_parameters = [parameter for parameter in _parameters(command) if parameter.name != name]

        @wraps(command)
        def with_options(**arguments: Any) -> Any:
            declared = {option.name: arguments.pop(option.name) for option in options}
            return command(**arguments, **{name: declaration(**declared)})

        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own_parameters, *options)
        ]
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return with_options  # type: ignore[return-value]

    return decorate


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters, with annotations as objects, because their names mean nothing in another module."""
    hints = get_type_hints(function, include_extras=True)
    return [p.replace(annotation=hints[p.name]) for p in inspect.signature(function).parameters.values()]


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATHS...", help="Files and folders of one topology.", show_default=False)
]
AnyPaths = Annotated[
    list[Path],
    typer.Argument(metavar="PATHS...", help="Files and folders, of one topology or of several.", show_default=False),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="Write without colours, as with NO_COLOR set.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Name every object, also those that are not managed.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="PATTERN",
        help="Only resources of this address (stream/ORD*) or label (team=billing). Repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", help="No resources of this address or label. Repeatable."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="CODE=ADDRESS",
        help="Consent for this run alone, for example ST301=stream/ORDERS. Repeatable.",
    ),
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Partial = Annotated[bool, typer.Option("--partial", help="Apply what does not depend on anything refused or unknown.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit 2 when changes are pending.")]
ForServer = Annotated[
    str | None,
    typer.Option(
        "--for-server",
        metavar="VERSION",
        help="Judge for this version of nats-server alone. [expect.min_server, and the newest]",
    ),
]
TakeOver = Annotated[
    list[str] | None,
    typer.Option(
        "--take-over", metavar="FROM", help="Take over what topology FROM owns and these files declare. Repeatable."
    ),
]


NOTHING_CHANGED = "Nothing was changed."
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class PlainFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


ChosenPlainFormat = Annotated[PlainFormat, typer.Option("--format", help="text for people, json for tools.")]
OutcomeFormat = Annotated[
    PlainFormat, typer.Option("--format", help="Tell what was done: text for people, json for tools.")
]


class Misused(typer.BadParameter):
    """Wrong usage that one whole sentence explains."""

    def format_message(self) -> str:
        """Return the sentence alone: click would put `Invalid value:` in front of it."""
        return self.message


class Interrupted(CannotContinue):
    """Somebody wanted to end the command at once."""


def refuse_if_any(*cases: tuple[object, str]) -> None:
    """Refuse combinations that make no sense, each with its sentence, so that no option is accepted and then
    ignored."""
    for is_wrong, sentence in cases:
        if is_wrong:
            raise Misused(sentence)


def parse_version(text: str | None) -> Version | None:
    """Return the nats-server version of an option; None where it was left out. Raises Misused where it is no
    version."""
    try:
        return Version.parse(text) if text else None
    except ValueError as error:
        raise Misused(str(error)) from None


def write_error(path: Path, error: OSError, so: str = "") -> CannotContinue:
    """Return the error for a file that cannot be written; `so` is a sentence about the consequence."""
    message = f"Cannot write {path}: {(error.strerror or str(error)).lower()}.{so and f' {so}'}"
    fix = (
        "Make room there, or name another place." if error.errno in NO_ROOM else "Name a folder that you may write to."
    )
    return CannotContinue.because("XX902", "cannot-write", message, fix=fix)


def parse_consents(allow: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Parse `--allow ST101=stream/ORDERS` into (code, address pattern)."""
    pairs = [item.partition("=") for item in allow or ()]
    for (code, _, address), item in zip(pairs, allow or (), strict=True):
        if not (code and "/" in address):
            raise Misused(f"--allow {item}: write a code and an address, for example ST301=stream/ORDERS.")
    return tuple((code.upper(), address) for code, _, address in pairs)


class App(typer.Typer):
    """Commands whose help ends with their exit codes."""

    def command(self, name: str | None = None, *, epilog: str | None = None, **more: Any) -> Callable[..., Any]:
        """Register a command as typer does; `epilog` is for commands that may end with more codes than every command
        does."""
        return super().command(name, epilog=epilog or exits.epilog(), **more)


def new_app(**more: Any) -> App:
    """Return a command's own typer app, in plain style, so that its output can be copied and pasted."""
    return App(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **more)


def left_out_line(topologies: Iterable[str], environment: str | None) -> str:
    """Say which topologies lack the environment that was asked for."""
    return f"Left out, without an environment {visible(environment or '')}: {', '.join(map(visible, topologies))}.\n"
