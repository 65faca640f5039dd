"""What we remember in the account itself, as plain shapes. Losing it costs three-way drift, never data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic_core import from_json

from reconciler.core.resource import Address, Config, Json
from reconciler.core.wire import Entry, Version

FORMAT = 1
BUCKET = "reconciler"
PREFIX = "owned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The record of one resource a topology manages: who, from where, and its managed fields as last applied."""

    topology: str
    source: str | None = None
    """Repository it came from; two repositories claiming one topology are told apart by this."""
    git_revision: str | None = None
    fields: Config = field(default_factory=dict)
    """Canonical configuration as last applied; a field missing here had its default."""
    left: tuple[str, ...] = ()
    """Top-level fields the file had no opinion on then (open or unmanaged): never drift."""
    protected: bool = False
    """It was applied with `protect: true`."""
    knows: str = ""
    """Newest server minor the writing tool knew; a field of a later one is not in this record."""
    start: Config = field(default_factory=dict)
    """What a replacement had to make it with instead of what the file says (`fields`), null where nothing: it stands
    for the file's words for as long as it is live."""
    taken_from: str = ""
    """The owner this plan takes it over from; not part of the record itself."""
    seen: Config = field(default_factory=dict)
    """Which object it was when this was written: `created`, how far it had come (`at`), and the `server` that said so."""
    revision: int = 0
    """Revision of the KV entry this was read from, for compare-and-set; not part of the record itself."""

    def remembers(self, name: str, since: Version | None = None) -> bool:
        """Was this field managed when the record was written, and known to whoever wrote it?"""
        return name not in self.left and not (since and self.knows and since[:2] > Version.parse(self.knows)[:2])


def encode_owned(owned: Owned) -> dict[str, Json]:
    """As it is stored; what says nothing is left out."""
    record = {
        "format": FORMAT,
        "topology": owned.topology,
        "source": owned.source,
        "git_revision": owned.git_revision,
        "fields": owned.fields,
        "left": list(owned.left),
        "protected": owned.protected,
        "knows": owned.knows,
        "start": owned.start,
        "seen": owned.seen,
    }
    return {name: value for name, value in record.items() if value or name == "topology"}


def decode_owned(entry: Entry) -> Owned | str:
    """A record, or why it cannot be used."""
    try:
        record = from_json(entry.value)  # twice as fast as the standard library's; thousands are read at once
    except ValueError:
        return "its text is not JSON"
    if not isinstance(record, dict) or not isinstance(record.get("topology"), str):
        return "it names no topology"
    if record.get("format") != FORMAT:
        return f"its format is {record.get('format')}, this version reads {FORMAT}"
    if not isinstance(record.get("fields", {}), dict) or not isinstance(record.get("left", []), list):
        return "its fields are not a mapping, or what it left open is not a list"
    return _owned(record, entry.revision)


def _owned(record: Mapping[str, Json], revision: int) -> Owned:
    return Owned(
        topology=record["topology"],
        source=record.get("source"),
        git_revision=record.get("git_revision"),
        fields=record.get("fields", {}),
        left=tuple(str(name) for name in record.get("left", ())),
        protected=bool(record.get("protected")),
        knows=str(record.get("knows", "")),
        start=record["start"] if isinstance(record.get("start"), dict) else {},
        seen=record["seen"] if isinstance(record.get("seen"), dict) else {},
        revision=revision,
    )


_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN_KEY = re.compile(r"[a-z]+(\.[A-Za-z0-9_-]+){2,}")


def encode_key(address: Address, prefix: str = PREFIX) -> str:
    """`owned.stream.ORDERS`: bytes that KV keys cannot hold become `=XX`, so that every legal name fits."""
    return ".".join((prefix, *(escaped(part) for part in (address.kind, *address.names))))


def escaped(text: str) -> str:
    """One token of a key."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(chr(b) if _PLAIN.match(chr(b)) else f"={b:02X}" for b in text.encode())


def decode_key(key: str, prefix: str = PREFIX) -> Address | None:
    """The address a key stands for; None when it is no record of this sort."""
    if not key.startswith(f"{prefix}."):
        return None
    if _PLAIN_KEY.fullmatch(key):  # nearly every key; thousands are read at once
        _, kind, *names = key.split(".")
        return Address(kind, tuple(names))
    _, *parts = key.split(".")
    if len(parts) < 2 or not all(parts):
        return None
    try:
        kind, *names = (unescaped(part) for part in parts)
    except ValueError:
        return None
    address = Address(kind, tuple(names))
    return address if encode_key(address, prefix) == key else None  # one address, one key: other spellings are not ours


def unescaped(text: str) -> str:
    """The text of such a token. Raises ValueError where the bytes are no text."""
    if "=" not in text:
        return text
    raw = re.sub(rb"=([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), text.encode())
    return raw.decode()
