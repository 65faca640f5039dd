"""What we remember in the account itself, as plain shapes. Losing it costs three-way drift, never data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import Annotated

from reconciler.model.dataclass import dataclass
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.entries import (
    FORMAT,
    Fits,
    Unusable,
    are_labels,
    are_texts,
    escaped,
    is_config,
    is_mapping,
    is_start,
    is_text,
    is_true_or_false,
    is_version,
    read_entry,
    unescaped,
)
from reconciler.model.resource import Address, Config, Json, Resource
from reconciler.model.shape import ALWAYS, UNWRITTEN, Count
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.version import Version

BUCKET = "reconciler"
ENTRY_BUCKETS = ("static-consumer-groups", "elastic-consumer-groups")
"""Buckets whose keys are resources of a kind."""
RESERVED = (BUCKET, *ENTRY_BUCKETS)
"""Buckets that every plan reads, and that no file declares."""
PREFIX = "owned"
ID_KEY = "id"
"""Key of the random id that tells this account from every other one, whatever URL leads to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The record of one resource a topology manages: who, from where, and its managed fields as last applied."""

    topology: str
    """The owner."""
    source: str | None = None
    """The repository that it came from; this distinguishes two repositories that claim one topology."""
    git_revision: str | None = None
    """The git revision that it came from."""
    fields: Annotated[Config, ALWAYS] = field(default_factory=dict)
    """The managed fields, as applied; a field missing here had its default."""
    filled: Config = field(default_factory=dict)
    """What the server filled in where the file said nothing then; a field that also stands in `fields` was said."""
    expected: Config = field(default_factory=dict)
    """Of these, what something else decided then: `max_age`, limits of the stream or the account. Where it decides no
    more, nobody asked for the value; any other that is not the stock default shows a limit of the server."""
    left: tuple[str, ...] = ()
    """Paths the file left unmanaged then: never drift."""
    protected: bool = False
    """It was applied with `protect: true`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the file's `labels` said then: policies and `--only` judge by them what the files no longer declare."""
    uses: Mapping[str, str] = field(default_factory=dict)
    """Streams that it reads of another topology, and which the file named as their owner then (`external: {from: …}`)."""
    knows: str = ""
    """The newest minor of nats-server that the writing tool knew; a field of a later one is not in this record."""
    start: Config = field(default_factory=dict)
    """What a replacement had to make it with instead of what the file says (`fields`), null where nothing: it stands
    for the file's words for as long as it is live."""
    earlier: tuple[str, ...] = ()
    """The addresses that it had before it was renamed (`moved`), oldest first."""
    taken_from: Annotated[str, UNWRITTEN] = ""
    """The owner this plan takes it over from; not part of the record itself."""
    seen: Config = field(default_factory=dict)
    """Which object it was when this was written: `created`, its last position (`at`), and the `server` that said so.
    And what would be lost with it: how many `messages` a stream held, and which one a consumer had next (`next`)."""
    revision: Annotated[Count, ALWAYS] = 0
    """Revision of the entry in bucket `reconciler` that this was read from; 0: there is none yet."""
    written: Annotated[str, UNWRITTEN] = field(default="", compare=False)
    """When the server stored that entry; not part of the record itself."""

    @property
    def applied(self) -> Config:
        """All that was managed then, as it was live."""
        return {**self.filled, **self.fields} if self.filled else self.fields

    def remembers(self, name: str, since: Version | None = None) -> bool:
        """Was this field managed when the record was written, and known to whoever wrote it?"""
        return name not in self.left and not (since and self.knows and since[:2] > Version.parse(self.knows)[:2])


def managed_fields(desired: Resource) -> tuple[Config, Config]:
    """The canonical fields that are managed, and those of them the server fills in; of metadata, only the file's keys."""
    left = set(desired.terms.unmanaged)
    fields = {name: value for name, value in desired.config.items() if name not in left}
    own = getattr(desired.terms, "metadata", None) or {}
    if "metadata" in fields:
        mine = {key for key in own if f"metadata.{key}" not in left}
        fields["metadata"] = {key: value for key, value in fields["metadata"].items() if key in mine}
    filled = {
        name: fields.pop(name)
        for name, default in desired.filled.items()
        if name in fields and fields[name] == default.value
    }
    return {name: value for name, value in fields.items() if value != {}}, filled


def is_stale(owned: Owned, desired: Resource, infos: Mapping[str, FieldInfo]) -> bool:
    """Does the record say otherwise than what is wanted now? What its writer could not know of says nothing."""
    if (
        owned.protected != desired.terms.protect
        or owned.labels != desired.terms.labels
        or owned.uses != desired.uses
        or set(owned.left) != set(desired.terms.unmanaged)
    ):
        return True
    if owned.applied == desired.config and not (owned.left or "metadata" in desired.config):
        return False  # nearly always, and thousands of times in a plan
    fields, filled = managed_fields(desired)
    if fields == owned.fields and all(owned.filled.get(name) == value for name, value in filled.items()):
        return False
    was, is_ = owned.applied, {**fields, **filled}
    sayable = type(desired.terms).model_fields
    names = (n for n in is_.keys() | owned.fields.keys() if n in sayable and was.get(n) != is_.get(n))
    return any(owned.remembers(name, infos[name].since if name in infos else None) for name in names)


def encode_owned(owned: Owned) -> dict[str, Json]:
    """Return it as it is stored; what says nothing is left out."""
    record = {
        "format": FORMAT,
        "topology": owned.topology,
        "source": owned.source,
        "git_revision": owned.git_revision,
        "fields": owned.fields,
        "filled": owned.filled,
        "expected": owned.expected,
        "left": list(owned.left),
        "protected": owned.protected,
        "labels": dict(owned.labels),
        "uses": dict(owned.uses),
        "knows": owned.knows,
        "start": owned.start,
        "seen": owned.seen,
        "earlier": list(owned.earlier),
    }
    return {name: value for name, value in record.items() if value or name == "topology"}


_SHAPES: Mapping[str, Fits] = {
    "source": is_text, "git_revision": is_text, "fields": is_config, "filled": is_config, "expected": is_mapping, "left": are_texts,
    "protected": is_true_or_false, "labels": are_labels, "uses": are_labels, "knows": is_version, "start": is_start, "seen": is_mapping,
    "earlier": are_texts,
}  # fmt: skip


def decode_owned(entry: Entry) -> Owned | str:
    """A record, or why it cannot be used."""
    try:
        values = read_entry(entry.value, _SHAPES)
    except Unusable as why:
        return str(why)
    left, earlier = tuple(values.pop("left", ())), tuple(values.pop("earlier", ()))
    return Owned(left=left, earlier=earlier, **values, revision=entry.revision, written=entry.stored)


_PLAIN_KEY = re.compile(r"[a-z]+(\.[A-Za-z0-9_-]+){2,}")


@lru_cache(maxsize=1 << 14)  # the same ones again and again
def encode_key(address: Address, prefix: str = PREFIX) -> str:
    """`owned.stream.ORDERS`: bytes that KV keys cannot hold become `=XX`, so that every legal name fits."""
    return ".".join((prefix, *(escaped(part) for part in (address.kind, *address.names))))


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
