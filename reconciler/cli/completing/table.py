"""Writes `words.json`, of which a shell's completions are made: all commands with their options, codes, kinds and versions.

To ask the commands themselves would import most of the program at each press of a key. `make schemas` writes it again.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import typer
from typer.core import TyperGroup

from reconciler.cli.app import COMMANDS, app
from reconciler.cli.shared.schemas import SCHEMAS
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES
from reconciler.model.wire.version import SUPPORTED
from reconciler.report.formats import FORMATS

HELP: dict[str, Any] = {"--help": (("-h",), None, "Show this message and exit.")}


def completion_table() -> dict[str, Any]:
    """Return the whole table."""
    root = typer.main.get_command(app)
    program = _command(root, root.help)
    program["commands"] = _nested(program["commands"])
    return {
        "program": program,
        "takes_several": dict(_options_with_several_values(root)),
        "options": _take_out_shared_options(program),
        "rules": {rule.code: rule.name for rule in sorted(REGISTRY.rules(), key=lambda rule: rule.code)},
        "pages": {code.replace("?", "XX"): page.name for code, page in PAGES.items()},
        "kinds": {kind.name: [*kind.place[:3], kind.family] for kind in REGISTRY.kinds},
        "formats": list(FORMATS),
        "schemas": list(SCHEMAS),
        "versions": [version.short for version in SUPPORTED],
    }


def _command(command: Any, about: str | None) -> dict[str, Any]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [
        parameter for parameter in command.params if parameter.param_type_name == "option" and not parameter.hidden
    ]
    entry: dict[str, Any] = {"about": (about or "").split("\n")[0]}
    entry["options"] = {parameter.opts[0]: _option(parameter) for parameter in options} | HELP
    if isinstance(command, TyperGroup):
        commands = command.commands
        entry["commands"] = {
            name: _command(commands[name], _help_sentence(name, commands[name], command)) for name in commands
        }
    if arguments:
        entry["arguments"] = [(_value_kind(parameter), parameter.nargs != 1, parameter.help) for parameter in arguments]
    return entry


def _nested(commands: Mapping[str, Any]) -> dict[str, Any]:
    """Put each command of two words below the first one."""
    nested = {name: command for name, command in commands.items() if " " not in name}
    for name, command in commands.items():
        first, _, second = name.partition(" ")
        if second:
            nested[first].setdefault("commands", {})[second] = command
    return nested


def _option(option: Any) -> tuple[Any, ...]:
    """Return its other names, what it takes, and what it is about."""
    return (*option.opts[1:], *option.secondary_opts), _value_kind(option), option.help


def _options_with_several_values(command: Any) -> Iterator[tuple[str, int]]:
    """Yield options that take more than one word at once, each with how many."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.nargs > 1:
            yield parameter.opts[0], parameter.nargs
    for subcommand in command.commands.values() if isinstance(command, TyperGroup) else ():
        yield from _options_with_several_values(subcommand)


def _take_out_shared_options(program: dict[str, Any]) -> dict[str, Any]:
    """Return options as most commands have them, each written once; a command then names them, and holds none but its own."""
    commands = list(_walk_commands(program))
    counts = Counter((name, repr(option)) for command in commands for name, option in command["options"].items())
    shared: dict[str, Any] = {}
    for command in commands:
        for name, option in command["options"].items():
            common = shared.setdefault(name, option)
            if counts[name, repr(option)] > counts[name, repr(common)]:
                shared[name] = option
    for command in commands:
        different = {name: option for name, option in command["options"].items() if option != shared[name]}
        command["options"] = list(command["options"])
        if different:
            command["own"] = different
    return shared


def _walk_commands(command: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield command
    for subcommand in command.get("commands", {}).values():
        yield from _walk_commands(subcommand)


def _help_sentence(name: str, command: Any, parent: Any) -> str | None:
    """Return a command's sentence in the help of its parent."""
    listed = COMMANDS.get(name) if parent.name == "reconciler" else None
    return listed.about if listed else command.help


def _value_kind(parameter: Any) -> tuple[str, ...] | str | None:
    """Return its choices, or the name of what it takes; None for what takes nothing."""
    if getattr(parameter, "is_flag", False):
        return None
    annotation = parameter.type_descriptor.annotation
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(str(choice.value) for choice in annotation)
    return str(parameter.metavar or parameter.name.upper()).strip("[].")


def table_text(value: Any, indent: str = "") -> str:
    """Write JSON with a line for each command, option and code, so that a change of one is one line."""
    if not (isinstance(value, Mapping) and value):
        return json.dumps(value, ensure_ascii=False)
    return "{\n" + ",\n".join(_lines(value.items(), indent + " ")) + f"\n{indent}}}"


def _lines(items: Iterable[tuple[str, Any]], indent: str) -> Iterable[str]:
    return (f"{indent}{json.dumps(key)}: {table_text(value, indent)}" for key, value in items)


if __name__ == "__main__":
    sys.stdout.write(table_text(completion_table()) + "\n")
