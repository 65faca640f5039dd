"""Which word of a command line is being typed, and what it may become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from reconciler.model.dataclass import dataclass

Table = Mapping[str, Any]
"""What `words.json` holds."""


MANY = 100
"""So many names are shown whole; of more, what stands before their next slash."""


_SAFE = re.compile(r"[\w@%+=:,./-]+")
"""A shell takes these for themselves. Other names are not offered: whoever pressed a key would have to read them first."""


class Offer(NamedTuple):
    """What the word may become, and what that is about."""

    word: str
    about: str = ""


class NameSource(Protocol):
    """The names there are; each is looked up when it is asked for."""

    def addresses(self, files: Sequence[str]) -> Sequence[str]: ...

    def labels(self, files: Sequence[str]) -> Sequence[str]: ...

    def topologies(self, files: Sequence[str]) -> Sequence[str]: ...

    def environments(self, files: Sequence[str]) -> Sequence[str]: ...

    def contexts(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedWord:
    """The last word of a line: what it may be, and what stands before it."""

    command: Mapping[str, Any]
    option: str = ""
    """The option whose value it is."""
    takes: Sequence[str] | str | None = None
    """Choices, or the name of what belongs there; None where an option or a command does."""
    begun: str = ""
    before: str = ""
    """What stands in the same word before the value: `--only=`."""
    arguments: tuple[str, ...] = ()


_UNKNOWN: Mapping[str, Any] = {"options": ()}


def parse_line(words: Sequence[str], table: Table) -> TypedWord:
    """Return what the last of these words may be; the program comes first."""
    command, arguments, option, is_over = table["program"], list[str](), "", False
    left = 0
    for word in words[1:-1]:
        if option:
            left -= 1
            option = option if left else ""
        elif is_over or not word.startswith("-"):
            if (subcommand := _subcommands(command, arguments).get(word)) or (
                "arguments" not in command and "commands" in command
            ):
                command = subcommand or _UNKNOWN
            else:
                arguments.append(word)
        elif word == "--":
            is_over = True
        elif "=" not in word:
            option = _option_name(word, command, table)
            left = table["takes_several"].get(option, 1)
    so_far = TypedWord(command=command, option=option, arguments=tuple(arguments))
    return _parse_last_word(words[-1], so_far, is_over, table)


def _parse_last_word(word: str, so_far: TypedWord, is_over: bool, table: Table) -> TypedWord:
    command, arguments, option = so_far.command, so_far.arguments, so_far.option
    if option:
        takes = _option_entry(option, command, table)[1]
        return TypedWord(command=command, option=option, takes=takes, begun=word, arguments=arguments)
    name, equals, value = word.partition("=")
    if equals and not is_over and (option := _option_name(name, command, table)):
        takes = _option_entry(option, command, table)[1]
        return TypedWord(
            command=command, option=option, takes=takes, begun=value, before=f"{name}=", arguments=arguments
        )
    if (word.startswith("-") and not is_over) or any(
        name.startswith(word) for name in _subcommands(command, arguments)
    ):
        return TypedWord(command=command, begun=word, arguments=arguments)
    return TypedWord(command=command, takes=_argument_at(command, len(arguments)), begun=word, arguments=arguments)


def _subcommands(command: Mapping[str, Any], arguments: Sequence[str]) -> Mapping[str, Any]:
    """Return the commands that the next word may name: there are none behind an argument."""
    return {} if arguments else command.get("commands", {})


def _argument_at(command: Mapping[str, Any], index: int) -> Sequence[str] | str:
    """Return what belongs at this place; empty where nothing does."""
    arguments = command.get("arguments", ())
    if index >= len(arguments) and not (arguments and arguments[-1][1]):
        return ""
    takes: Sequence[str] | str = arguments[min(index, len(arguments) - 1)][0]
    return takes


def _option_entry(
    name: str, command: Mapping[str, Any], table: Table
) -> tuple[Sequence[str], Sequence[str] | str | None, str]:
    """Return its other names, what it takes, and what it is about."""
    others, takes, about = command.get("own", {}).get(name) or table["options"][name]
    return others, takes, about or ""


def _option_name(word: str, command: Mapping[str, Any], table: Table) -> str:
    """Return the first name of an option that takes something; empty where the word is none."""
    for name in command["options"]:
        others, takes, _ = _option_entry(name, command, table)
        if takes is not None and (word == name or word in others):
            return str(name)
    return ""


# -- what it may become


def offers(typed: TypedWord, table: Table, names: NameSource) -> list[Offer]:
    """Return what begins as the typed word does, in a fixed order; nothing where the shell knows files better."""
    candidates = _candidates(typed, table, names)
    fitting = [offer for offer in candidates if offer.word.startswith(typed.begun) and _SAFE.fullmatch(offer.word)]
    return [Offer(typed.before + word, about) for word, about in _shortened_offers(fitting, typed.begun)]


def _shortened_offers(offers_: Sequence[Offer], begun: str) -> Iterable[Offer]:
    if len(offers_) <= MANY or not any("/" in offer.word for offer in offers_):
        return offers_
    ends = ((offer.word.find("/", len(begun)) + 1 or len(offer.word), offer.word) for offer in offers_)
    return [Offer(word) for word in dict.fromkeys(word[:end] for end, word in ends)]


def _candidates(typed: TypedWord, table: Table, names: NameSource) -> Iterator[Offer]:
    if typed.takes is None:
        yield from _options(typed, table) if typed.begun.startswith("-") else _commands(typed)
    elif not isinstance(typed.takes, str):
        yield from map(Offer, typed.takes)
    else:
        yield from _values_of(typed.option or typed.takes, typed, table, names)


def _commands(typed: TypedWord) -> Iterator[Offer]:
    return (Offer(name, subcommand["about"]) for name, subcommand in typed.command.get("commands", {}).items())


def _options(typed: TypedWord, table: Table) -> Iterator[Offer]:
    for name in typed.command["options"]:
        others, _, about = _option_entry(name, typed.command, table)
        yield Offer(name, about)
        yield from (Offer(other, about) for other in others if other.startswith("--"))


def _values_of(name: str, typed: TypedWord, table: Table, names: NameSource) -> Iterator[Offer]:
    """Offer the values of an option, or of an argument by its name."""
    files = typed.arguments
    if name in ("--only", "--exclude"):
        yield from map(Offer, (*names.addresses(files), *names.labels(files)))
    elif name == "--allow":
        yield from _consent_offers(typed, table, names)
    elif name in ("--topology", "--take-over"):
        yield from map(Offer, names.topologies(files))
    elif name in ("--environment", "--diff"):
        yield from map(Offer, names.environments(files))
    elif name == "--context":
        yield from map(Offer, names.contexts())
    elif name in ("--server-version", "--for-server", "--on"):
        yield from map(Offer, table["versions"])
    elif name == "--report":
        yield from (Offer(f"{format_}=") for format_ in table["formats"])
    elif name == "NAME":  # of a schema
        yield from map(Offer, table["schemas"])
    elif name == "CODE":
        yield from _code_offers(typed.begun, table)
    elif name in _IN_STREAMS:
        parts = (address.partition("/") for address in names.addresses(files))
        within = [address for kind, _, address in parts if kind in _IN_STREAMS[name]]
        yield from (Offer(address) for address in within if address not in typed.arguments)


_IN_STREAMS = {"STREAM/CONSUMER": ("consumer",), "GROUP": ("static_group", "elastic_group")}


def _code_offers(begun: str, table: Table) -> Iterator[Offer]:
    """Offer codes by number, or by name where a name was begun."""
    names = {**table["rules"], **table["pages"]}
    if begun[:1].islower():
        yield from map(Offer, sorted({*names.values()}))
    else:
        yield from (Offer(code, names[code]) for code in sorted(names))


def _consent_offers(typed: TypedWord, table: Table, names: NameSource) -> Iterator[Offer]:
    """Offer `ST301=` first, then the addresses that a rule of this family may be about."""
    code, equals, _ = typed.begun.partition("=")
    if not equals:
        yield from (Offer(f"{code}=", name) for code, name in table["rules"].items())
        return
    families = {kind: family for kind, (*_, family) in table["kinds"].items()}
    of_family = [kind for kind, family in families.items() if code.startswith(family)] or [*families]
    for address in names.addresses(typed.arguments):
        if address.partition("/")[0] in of_family:
            yield Offer(f"{code}={address}")
