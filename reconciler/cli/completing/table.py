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
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES
from reconciler.model.wire.version import SUPPORTED
from reconciler.report.formats import FORMATS

HELP: dict[str, Any] = {"--help": (("-h",), None, "Show this message and exit.")}


def words() -> dict[str, Any]:
    """The whole table."""
    root = typer.main.get_command(app)
    program = _command(root, root.help)
    return {
        "program": program,
        "options": _shared(program),
        "rules": {rule.code: rule.name for rule in sorted(REGISTRY.rules(), key=lambda rule: rule.code)},
        "pages": {code.replace("?", "XX"): page.name for code, page in PAGES.items()},
        "kinds": {kind.name: [*kind.place[:3], kind.family] for kind in REGISTRY.kinds},
        "formats": list(FORMATS),
        "versions": [version.short for version in SUPPORTED],
    }


def _command(command: Any, about: str | None) -> dict[str, Any]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    found: dict[str, Any] = {"about": (about or "").split("\n")[0]}
    found["options"] = {one.opts[0]: _option(one) for one in options} | HELP
    if isinstance(command, TyperGroup):
        below = command.commands
        found["commands"] = {name: _command(below[name], _sentence(name, below[name], command)) for name in below}
    if arguments:
        found["arguments"] = [(_takes(one), one.nargs != 1, one.help) for one in arguments]
    return found


def _option(one: Any) -> tuple[Any, ...]:
    """Its other names, what it takes, and what it is about."""
    return (*one.opts[1:], *one.secondary_opts), _takes(one), one.help


def _shared(program: dict[str, Any]) -> dict[str, Any]:
    """Options as most commands have them, each written once; a command then names them, and holds none but its own."""
    each = list(_each(program))
    counts = Counter((name, repr(option)) for one in each for name, option in one["options"].items())
    shared: dict[str, Any] = {}
    for one in each:
        for name, option in one["options"].items():
            most = shared.setdefault(name, option)
            if counts[name, repr(option)] > counts[name, repr(most)]:
                shared[name] = option
    for one in each:
        own = {name: option for name, option in one["options"].items() if option != shared[name]}
        one["options"] = list(one["options"])
        if own:
            one["own"] = own
    return shared


def _each(command: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield command
    for below in command.get("commands", {}).values():
        yield from _each(below)


def _sentence(name: str, command: Any, above: Any) -> str | None:
    """As the help of the command above has it."""
    known = COMMANDS.get(name) if above.name == "reconciler" else None
    return known.about if known else command.help


def _takes(one: Any) -> tuple[str, ...] | str | None:
    """Its choices, or the name of what it takes; None for what takes nothing."""
    if getattr(one, "is_flag", False):
        return None
    kind = one.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(choice.value) for choice in kind)
    return str(one.metavar or one.name.upper()).strip("[].")


def text(value: Any, indent: str = "") -> str:
    """As JSON, with a line for each command, option and code, so that a change of one is one line."""
    if not (isinstance(value, Mapping) and value):
        return json.dumps(value, ensure_ascii=False)
    return "{\n" + ",\n".join(_lines(value.items(), indent + " ")) + f"\n{indent}}}"


def _lines(items: Iterable[tuple[str, Any]], indent: str) -> Iterable[str]:
    return (f"{indent}{json.dumps(key)}: {text(value, indent)}" for key, value in items)


if __name__ == "__main__":
    sys.stdout.write(text(words()) + "\n")
