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


class Named(Protocol):
    """The names there are; each is looked up when it is asked for."""

    def addresses(self, files: Sequence[str]) -> Sequence[str]: ...

    def labels(self, files: Sequence[str]) -> Sequence[str]: ...

    def topologies(self, files: Sequence[str]) -> Sequence[str]: ...

    def contexts(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
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


def asked(words: Sequence[str], table: Table) -> Asked:
    """`words` are those up to the one that is being typed, the program first."""
    command, arguments, option, is_over = table["program"], list[str](), "", False
    for word in words[1:-1]:
        if option:
            option = ""
        elif is_over or not word.startswith("-"):
            below = command.get("commands")
            command = command if below is None else below.get(word, _UNKNOWN)
            arguments += [word] if below is None else []
        elif word == "--":
            is_over = True
        elif "=" not in word:
            option = _full(word, command, table)
    return _last(words[-1], Asked(command=command, option=option, arguments=tuple(arguments)), is_over, table)


def _last(word: str, so_far: Asked, is_over: bool, table: Table) -> Asked:
    command, arguments, option = so_far.command, so_far.arguments, so_far.option
    if option:
        return Asked(
            command=command, option=option, takes=_option(option, command, table)[1], begun=word, arguments=arguments
        )
    name, equals, value = word.partition("=")
    if equals and not is_over and (option := _full(name, command, table)):
        takes = _option(option, command, table)[1]
        return Asked(command=command, option=option, takes=takes, begun=value, before=f"{name}=", arguments=arguments)
    if (word.startswith("-") and not is_over) or "commands" in command:
        return Asked(command=command, begun=word, arguments=arguments)
    return Asked(command=command, takes=_argument(command, len(arguments)), begun=word, arguments=arguments)


def _argument(command: Mapping[str, Any], place: int) -> Sequence[str] | str:
    """What belongs at this place; empty where nothing does."""
    known = command.get("arguments", ())
    if place >= len(known) and not (known and known[-1][1]):
        return ""
    takes: Sequence[str] | str = known[min(place, len(known) - 1)][0]
    return takes


def _option(
    name: str, command: Mapping[str, Any], table: Table
) -> tuple[Sequence[str], Sequence[str] | str | None, str]:
    """Its other names, what it takes, and what it is about."""
    others, takes, about = command.get("own", {}).get(name) or table["options"][name]
    return others, takes, about or ""


def _full(word: str, command: Mapping[str, Any], table: Table) -> str:
    """The first name of an option of the command that takes something."""
    for name in command["options"]:
        others, takes, _ = _option(name, command, table)
        if takes is not None and (word == name or word in others):
            return str(name)
    return ""


# -- what it may become


def offers(it: Asked, table: Table, named: Named) -> list[Offer]:
    """Everything that begins as the word does, in a fixed order; nothing where the shell knows files better."""
    found = [one for one in _all(it, table, named) if one.word.startswith(it.begun) and _SAFE.fullmatch(one.word)]
    return [Offer(it.before + word, about) for word, about in _cut(found, it.begun)]


def _cut(found: Sequence[Offer], begun: str) -> Iterable[Offer]:
    if len(found) <= MANY or not any("/" in one.word for one in found):
        return found
    ends = ((one.word.find("/", len(begun)) + 1 or len(one.word), one.word) for one in found)
    return [Offer(word) for word in dict.fromkeys(word[:end] for end, word in ends)]


def _all(it: Asked, table: Table, named: Named) -> Iterator[Offer]:
    if it.takes is None:
        yield from _options(it, table) if it.begun.startswith("-") else _commands(it)
    elif not isinstance(it.takes, str):
        yield from map(Offer, it.takes)
    else:
        yield from _values(it.option or it.takes, it, table, named)


def _commands(it: Asked) -> Iterator[Offer]:
    return (Offer(name, below["about"]) for name, below in it.command.get("commands", {}).items())


def _options(it: Asked, table: Table) -> Iterator[Offer]:
    for name in it.command["options"]:
        others, _, about = _option(name, it.command, table)
        yield Offer(name, about)
        yield from (Offer(one, about) for one in others if one.startswith("--"))


def _values(of: str, it: Asked, table: Table, named: Named) -> Iterator[Offer]:
    """By the option, or by what an argument is called."""
    files = it.arguments
    if of in ("--only", "--exclude"):
        yield from map(Offer, (*named.addresses(files), *named.labels(files)))
    elif of == "--allow":
        yield from _consents(it, table, named)
    elif of in ("--topology", "--take-over"):
        yield from map(Offer, named.topologies(files))
    elif of == "--context":
        yield from map(Offer, named.contexts())
    elif of in ("--server-version", "--for-server", "--on"):
        yield from map(Offer, table["versions"])
    elif of == "--report":
        yield from (Offer(f"{name}=") for name in table["formats"])
    elif of == "--fleet":
        yield from map(Offer, table["program"]["commands"]["fleet"]["commands"])
    elif of == "CODE":
        yield from _codes(it.begun, table)
    elif of in _IN_STREAMS:
        names = [one for kind, _, one in map(_parted, named.addresses(files)) if kind in _IN_STREAMS[of]]
        yield from (Offer(one) for one in names if one not in it.arguments)


_IN_STREAMS = {"STREAM/CONSUMER": ("consumer",), "GROUP": ("static_group", "elastic_group")}


def _parted(address: str) -> tuple[str, str, str]:
    return address.partition("/")


def _codes(begun: str, table: Table) -> Iterator[Offer]:
    """By number, or by name where that is what was begun."""
    known = {**table["rules"], **table["pages"]}
    if begun[:1].islower():
        yield from map(Offer, sorted({*known.values()}))
    else:
        yield from (Offer(code, known[code]) for code in sorted(known))


def _consents(it: Asked, table: Table, named: Named) -> Iterator[Offer]:
    """`ST301=` first, then the addresses that a rule of this family may be about."""
    code, equals, _ = it.begun.partition("=")
    if not equals:
        yield from (Offer(f"{code}=", name) for code, name in table["rules"].items())
        return
    families = {kind: family for kind, (*_, family) in table["kinds"].items()}
    of_family = [kind for kind, family in families.items() if code.startswith(family)] or [*families]
    for address in named.addresses(it.arguments):
        if address.partition("/")[0] in of_family:
            yield Offer(f"{code}={address}")
