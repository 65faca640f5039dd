"""Which word of a command line is being typed, and what it may become.

Names that a word may become: what files declare, and contexts of the nats CLI. A file that cannot be read has none.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
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

    def environments(self, files: Sequence[str]) -> Sequence[str]: ...

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


def parse_line(words: Sequence[str], table: Table) -> Asked:
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
    so_far = Asked(command=command, option=option, arguments=tuple(arguments))
    return _parse_last_word(words[-1], so_far, is_over, table)


def _parse_last_word(word: str, so_far: Asked, is_over: bool, table: Table) -> Asked:
    command, arguments, option = so_far.command, so_far.arguments, so_far.option
    if option:
        takes = _option_entry(option, command, table)[1]
        return Asked(command=command, option=option, takes=takes, begun=word, arguments=arguments)
    name, equals, value = word.partition("=")
    if equals and not is_over and (option := _option_name(name, command, table)):
        takes = _option_entry(option, command, table)[1]
        return Asked(command=command, option=option, takes=takes, begun=value, before=f"{name}=", arguments=arguments)
    if (word.startswith("-") and not is_over) or any(
        name.startswith(word) for name in _subcommands(command, arguments)
    ):
        return Asked(command=command, begun=word, arguments=arguments)
    return Asked(command=command, takes=_argument_at(command, len(arguments)), begun=word, arguments=arguments)


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


def offers(typed: Asked, table: Table, names: Named) -> list[Offer]:
    """Return what begins as the typed word does, in a fixed order; nothing where the shell knows files better."""
    candidates = _candidates(typed, table, names)
    fitting = [offer for offer in candidates if offer.word.startswith(typed.begun) and _SAFE.fullmatch(offer.word)]
    return [Offer(typed.before + word, about) for word, about in _shortened_offers(fitting, typed.begun)]


def _shortened_offers(offers_: Sequence[Offer], begun: str) -> Iterable[Offer]:
    if len(offers_) <= MANY or not any("/" in offer.word for offer in offers_):
        return offers_
    ends = ((offer.word.find("/", len(begun)) + 1 or len(offer.word), offer.word) for offer in offers_)
    return [Offer(word) for word in dict.fromkeys(word[:end] for end, word in ends)]


def _candidates(typed: Asked, table: Table, names: Named) -> Iterator[Offer]:
    if typed.takes is None:
        yield from _options(typed, table) if typed.begun.startswith("-") else _commands(typed)
    elif not isinstance(typed.takes, str):
        yield from map(Offer, typed.takes)
    else:
        yield from _values_of(typed.option or typed.takes, typed, table, names)


def _commands(typed: Asked) -> Iterator[Offer]:
    return (Offer(name, subcommand["about"]) for name, subcommand in typed.command.get("commands", {}).items())


def _options(typed: Asked, table: Table) -> Iterator[Offer]:
    for name in typed.command["options"]:
        others, _, about = _option_entry(name, typed.command, table)
        yield Offer(name, about)
        yield from (Offer(other, about) for other in others if other.startswith("--"))


def _values_of(name: str, typed: Asked, table: Table, names: Named) -> Iterator[Offer]:
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
        parts = map(_split_address, names.addresses(files))
        within = [address for kind, _, address in parts if kind in _IN_STREAMS[name]]
        yield from (Offer(address) for address in within if address not in typed.arguments)


_IN_STREAMS = {"STREAM/CONSUMER": ("consumer",), "GROUP": ("static_group", "elastic_group")}


def _split_address(address: str) -> tuple[str, str, str]:
    return address.partition("/")


def _code_offers(begun: str, table: Table) -> Iterator[Offer]:
    """Offer codes by number, or by name where a name was begun."""
    names = {**table["rules"], **table["pages"]}
    if begun[:1].islower():
        yield from map(Offer, sorted({*names.values()}))
    else:
        yield from (Offer(code, names[code]) for code in sorted(names))


def _consent_offers(typed: Asked, table: Table, names: Named) -> Iterator[Offer]:
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


PATIENCE = 0.15
"""Seconds in which files are looked for: whoever pressed a key waits, and may be in a folder of a million files."""
ROOM = 512 << 10
"""Characters of files that are read at most."""
ENDINGS = (".yaml", ".yml")

Kinds = Mapping[str, Sequence[Any]]
"""By kind: its section, the kind it stands within, the key and value that tell it from others of that section, its family."""


@dataclass(slots=True)
class NamesThere:
    """What there is on this machine; files are read once."""

    kinds: Kinds
    environ: Mapping[str, str]
    _read: dict[tuple[str, ...], NamesRead] = field(default_factory=dict)

    def addresses(self, files: Sequence[str]) -> list[str]:
        """Return what the files declare as their own."""
        return self._names_in(files).addresses

    def labels(self, files: Sequence[str]) -> list[str]:
        """Return labels of anything in the files, as `team=orders`."""
        return self._names_in(files).labels

    def topologies(self, files: Sequence[str]) -> list[str]:
        """Return the names of topologies in the files."""
        return self._names_in(files).topologies

    def environments(self, files: Sequence[str]) -> list[str]:
        """Return the names of environments in the files."""
        return self._names_in(files).environments

    def contexts(self) -> list[str]:
        """Return the contexts of the nats CLI."""
        from reconciler.server.connect.settings import config_home, context_names  # noqa: PLC0415 - only for who names one

        return context_names(config_home(self.environ))

    def _names_in(self, files: Sequence[str]) -> NamesRead:
        paths = tuple(path for path in files if Path(path).exists()) or (".",)
        if paths not in self._read:
            self._read[paths] = read_names([Path(path) for path in paths], self.kinds)
        return self._read[paths]


@dataclass(slots=True)
class NamesRead:
    """In the order of the files, each once."""

    addresses: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    topologies: list[str] = field(default_factory=list)
    environments: list[str] = field(default_factory=list)


def read_names(paths: Sequence[Path], kinds: Kinds) -> NamesRead:
    """Return the names in the files, as far as they are read in no time."""
    names_by_use: dict[str, dict[str, None]] = {"addresses": {}, "labels": {}, "topologies": {}, "environments": {}}
    for root in _topology_trees(paths, kinds):
        if name := _value_text(root, "topology"):
            names_by_use["topologies"][name] = None
        names_by_use["environments"] |= dict.fromkeys(getattr(root.get("environments"), "entries", ()))
        for address, entry in _entries_below(root, kinds, None, ()):
            external = entry.get("external") if hasattr(entry, "get") else None
            if external is None or _value_text(entry, "external") == "false":
                names_by_use["addresses"][address] = None
            labels = entry.get("labels") if hasattr(entry, "get") else None
            names_by_use["labels"] |= {
                f"{key}={_value_text(labels, key)}": None for key in getattr(labels, "entries", ())
            }
    return NamesRead(**{use: [*names] for use, names in names_by_use.items()})


def _topology_trees(paths: Sequence[Path], kinds: Kinds) -> Iterator[Any]:
    from reconciler.documents.parse.tree import read_tree  # noqa: PLC0415 - only for who has files

    sections = "|".join({str(section) for section, within, *_ in kinds.values() if within is None})
    topology_file = re.compile(rf"""^\{{?["']?({sections}|topology|environments)\b""", re.MULTILINE)
    room = ROOM
    for path in list(_candidate_files(paths)):
        text = _read_text(path, room)
        room -= len(text)
        if topology_file.search(text):
            root, errors = read_tree(str(path), text)
            if not errors and hasattr(root, "entries"):
                yield root


def _read_text(path: Path, room: int) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size <= room else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _candidate_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that are named and what stands in named folders; of folders below, those nearest first while there is time."""
    waiting, until = deque(paths), time.monotonic() + PATIENCE
    named_paths = {*paths}
    while waiting:
        path = waiting.popleft()
        if not path.is_dir():
            if path in named_paths or path.name.endswith(ENDINGS):
                yield path
        elif os.access(path, os.R_OK) and (path in named_paths or time.monotonic() < until):
            inside = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
            waiting.extend(sorted(inside, key=Path.is_dir))


def _entries_below(node: Any, kinds: Kinds, within: str | None, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for kind, (section, stands_in, tag, _) in kinds.items():
        section_node = node.get(section) if stands_in == within and hasattr(node, "get") else None
        for name, (_, entry) in getattr(section_node, "entries", {}).items():
            if tag is None or _value_text(entry, tag[0]) == tag[1]:
                yield "/".join((kind, *above, name)), entry
                yield from _entries_below(entry, kinds, kind, (*above, name))


def _value_text(node: Any, key: str) -> str:
    value = node.get(key) if hasattr(node, "get") else None
    return getattr(value, "text", "")
