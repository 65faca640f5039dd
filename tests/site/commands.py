"""The reference of the commands, from the program itself: what each does, its arguments and options, and how it may end."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, get_args

import typer

from reconciler.cli.app import COMMANDS, app
from reconciler.cli.shared import exits
from reconciler.cli.shared.connecting import connection
from tests.site.json_output import schemas_of
from tests.site.markdown import fenced, page, table
from tests.site.markdown import prose as plain

BRACKETS = re.compile(r" ?\[(?P<inside>[^\]]+)\]$")
ROOT: Any = typer.main.get_command(app)
CONNECTION = frozenset(inspect.signature(connection).parameters)
"""Options that every command has which talks to a server."""


def pages() -> dict[str, str]:
    """By their path below docs/: an overview, and a page for each command."""
    return {
        "reference/commands.md": _overview(),
        **{f"reference/commands/{name}.md": _command(name) for name in COMMANDS if " " not in name},
    }


def every() -> Iterator[tuple[str, Any]]:
    """Each command that does something, by its words: `plan`, `groups list`."""
    for name in COMMANDS:
        yield from _below(name, ROOT.commands[name])


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", {})
    if not inside or command.invoke_without_command:
        yield words, command
    for name, one in inside.items():
        yield from _below(f"{words} {name}", one)


def exit_codes(command: Any) -> list[int]:
    """Those that the last line of its help names."""
    return [int(code) for code in re.findall(r"(\d+) ", command.epilog or "")] or [*exits.ALWAYS]


def _overview() -> str:
    rows = ((f"[`{name}`](commands/{_place(name)})", prose(command.about)) for name, command in COMMANDS.items())
    return page(
        ["# Commands"],
        [
            "Each command says with `--help` what stands here. Reports go to stdout, progress and errors to stderr. The",
            "[exit code](exit-codes.md) says how a command ended, and tools read its [JSON output](json.md).",
        ],
        table(("command", ""), rows),
        ["## Connecting"],
        [
            "Commands that talk to a server take the options, variables and contexts of the `nats` CLI. An option beats a variable, and a",
            "variable beats the context. `--dev` starts a server of this folder's own, and is used alone.",
        ],
        _options([one for one in _options_of(dict(every())["plan"]) if one.name in CONNECTION]),
        [
            "Secrets appear in no output. Other users of a machine can read its command lines, so say a password or a token in a variable",
            "or in a context.",
        ],
        ["## On a terminal"],
        [
            "Colours and progress appear on terminals only, and no colours with `NO_COLOR` set or `--no-color`. Whatever takes longer than",
            "two seconds says there what it waits for, since when, and how long at most.",
        ],
        [
            "A report that is longer than the screen opens in a pager: `RECONCILER_PAGER`, else `PAGER`, else `less -FRX`. There is no",
            "pager with `--no-pager` or an empty `RECONCILER_PAGER`, in a pipe, where `CI` is set, and in an apply. A long plan names once",
            "more at its end what stops it. Before `apply` asks, changes without consequences are counted where they do not fit on the",
            "screen; `-v` shows them.",
        ],
    )


def _place(words: str) -> str:
    """Where a command stands: one of two words on the page of the first."""
    first, _, second = words.partition(" ")
    return f"{first}.md#reconciler-{first}-{second}" if second else f"{first}.md"


def _command(name: str) -> str:
    command = ROOT.commands[name]
    inside = [(words, one) for words, one in _below(name, command) if words != name]
    inside += [(words, ROOT.commands[words]) for words in COMMANDS if words.startswith(f"{name} ")]
    parts = [["# reconciler " + name], *_paragraphs(command.help)]
    if not hasattr(command, "commands") or command.invoke_without_command:
        parts += _itself(name, command)
    if inside:
        rows = ((f"[`{words}`](#reconciler-{words.replace(' ', '-')})", _first(one.help)) for words, one in inside)
        parts += [table(("command", ""), rows)]
    for words, one in inside:
        parts += [[f"## reconciler {words}"], *_paragraphs(one.help), *_itself(words, one)]
    return page(*parts)


def _itself(words: str, command: Any) -> Iterator[list[str]]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    own = [one for one in _options_of(command) if one.name not in CONNECTION]
    connects = any(one.name in CONNECTION for one in command.params)
    yield fenced("text", _synopsis(words, arguments, own, connects=connects))
    if arguments:
        yield table(("argument", "", "left out"), map(_argument, arguments))
    if own:
        yield _options(own)
    if connects:
        yield [
            f"And the options for [connecting](../commands.md#connecting): `--context`, `--server`, `--dev` {chr(0x2026)}"
        ]
    if schemas := schemas_of(words):
        contracts = " or ".join(f"[{name}](../json.md#{name})" for name in schemas)
        yield [f"`--format json` follows the contract {contracts}."]
    yield [_ends(command)]


def _ends(command: Any) -> str:
    named = re.findall(r"(\d+) (.+?)(?:, (?=\d+ )|\.$)", command.epilog or "")
    names = [(int(code), name) for code, name in named]
    usual = {code: exits.MEANINGS[code].name for code in exits.ALWAYS}
    own = [f"{code} {prose(name)}" for code, name in names if usual.get(code) != name]
    beside = f"{', '.join(own)}; and as every command 0, 1, 64 or 130" if own else "0, 1, 64 or 130, as every command"
    return f"[Exit codes](../exit-codes.md): {beside}."


def _synopsis(words: str, arguments: Sequence[Any], options: Sequence[Any], *, connects: bool) -> str:
    named = [_metavar(one) if one.required else f"[{_metavar(one)}]" for one in arguments]
    needed = [f"{one.opts[0]} {one.metavar}" for one in options if one.required]
    others = ["[OPTIONS]"] if connects or len(needed) < len(options) else []
    return " ".join(["reconciler", words, *named, *needed, *others])


def _metavar(argument: Any) -> str:
    said = (argument.metavar or argument.name.upper()).removesuffix("...")
    many = "..." if argument.nargs == -1 else ""
    return re.sub(r"^\[(.*)\]$", r"\1", said).removesuffix("...") + ("" if " " in said else many)


def _argument(one: Any) -> tuple[str, str, str]:
    about, default, _variable = _parted(one.help or "")
    choices = _choices(one)
    shown = " or ".join(f"`{choice}`" for choice in choices)
    left_out = "must be there" if one.required else prose(default) or _default(one)
    return f"`{_metavar(one)}`", prose(about) + (f" {shown}." if shown else ""), left_out


def _options_of(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def _options(options: Iterable[Any]) -> list[str]:
    return table(("option", "", "default", "variable"), map(_option, options))


def _option(one: Any) -> tuple[str, str, str, str]:
    about, default, variable = _parted(one.help or "")
    names = ", ".join(f"`{name}`" for name in (*sorted(one.opts, key=len, reverse=True), *one.secondary_opts))
    said = f" `{one.metavar}`" if one.metavar and not one.is_flag else ""
    choices = _choices(one)
    said += f" `{'|'.join(choices)}`" if choices and not one.metavar else ""
    needed = "must be said" if one.required else prose(default) or _default(one)
    return names + said, prose(about), needed, f"`{variable}`" if variable else ""


def _choices(one: Any) -> list[str]:
    """The only values there are, where that is so."""
    wanted = one.type_descriptor.annotation
    closed = [kind for kind in (wanted, *get_args(wanted)) if isinstance(kind, type) and issubclass(kind, Enum)]
    return [str(member.value) for kind in closed for member in kind]


def _default(one: Any) -> str:
    if one.param_type_name == "option" and one.is_flag:
        return ""
    value = getattr(one.default, "value", one.default)
    return "" if value in (None, [], (), "") or callable(value) else f"`{value}`"


def _parted(text: str) -> tuple[str, str, str]:
    """What it means; and from the square brackets behind it, its default and the variable that says the same."""
    default = variable = ""
    while found := BRACKETS.search(text):
        if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", found["inside"]):
            variable = found["inside"]
        else:
            default = found["inside"]
        text = text[: found.start()]
    return text, default, variable


def prose(text: str) -> str:
    """Help as Markdown: options in it are code."""
    return plain(
        "`".join(
            re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", one) if n % 2 == 0 else one
            for n, one in enumerate(text.split("`"))
        )
    )


def _paragraphs(text: str | None) -> list[list[str]]:
    return [[prose(" ".join(one.split()))] for one in inspect.cleandoc(text or "").split("\n\n")]


def _first(text: str | None) -> str:
    return prose(" ".join(inspect.cleandoc(text or "").split("\n\n")[0].split()))
