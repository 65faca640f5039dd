"""One apply at a time for each topology: who holds its lease, and what an entry under `lease.<topology>` means."""

from __future__ import annotations

from dataclasses import asdict, fields

from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.entries import FORMAT, Unusable, compact_json, escaped, json_object, unescaped
from reconciler.model.wire.snapshot import Entry

PREFIX = "lease"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who is working, as others see it; never a secret."""

    topology: str
    run: str
    """A random word that tells this run from every other one; empty once `reconciler unlock` lets the lease end."""
    user: str = ""
    """Who started it: the actor that a CI system names, else the user of the machine."""
    account_user: str = ""
    """The user as the server knows it."""
    host: str = ""
    pid: int = 0
    since: str = ""
    git_revision: str = ""
    source: str = ""
    tool: str = ""

    def __str__(self) -> str:
        revision = f", revision {self.git_revision[:12]}" if self.git_revision else ""
        source = f" of {self.source}" if self.source else ""
        return f"{self.user or 'somebody'} on {self.host or 'an unnamed host'} (process {self.pid}){self._since_text}{revision}{source}"

    @property
    def _since_text(self) -> str:
        return f" since {self.since}" if self.since else ""


@dataclass(frozen=True, slots=True)
class Free:
    """Nobody holds it: it was never taken, has expired, or was given back."""

    revision: int
    """The revision to expect when taking it: 0, or that of the marker left when it was given back."""


@dataclass(frozen=True, slots=True)
class Held:
    holder: Holder
    revision: int


@dataclass(frozen=True, slots=True)
class Ours:
    revision: int


LeaseState = Free | Held | Ours


def read_lease(entry: Entry | None, topology: str, run: str = "") -> LeaseState:
    """The lease as `run` finds it. Only the server's clock decides what has expired: an expired lease does not exist any more."""
    if entry is None or entry.deleted:
        return Free(entry.revision if entry else 0)
    holder = decode_holder(entry.value, topology)
    return Ours(entry.revision) if run and holder.run == run else Held(holder, entry.revision)


def lease_key(topology: str) -> str:
    """The key that holds who is applying this topology, so that nobody else applies it at the same time."""
    return f"{PREFIX}.{escaped(topology)}"


def topology_of(key: str) -> str | None:
    """The topology whose lease a key is; None: it is no lease."""
    prefix, _, token = key.partition(".")
    try:
        topology = unescaped(token)
    except ValueError:
        return None
    return topology if prefix == PREFIX and token and lease_key(topology) == key else None


def encode_holder(holder: Holder) -> bytes:
    """The holder as it is stored, without empty values."""
    values = {name: value for name, value in asdict(holder).items() if value}
    return compact_json({"format": FORMAT, **values})


def decode_holder(value: bytes, topology: str) -> Holder:
    """The holder of a lease. Whatever is stored there holds the lease, even if it does not say who it is."""
    try:
        values = json_object(value)
    except Unusable:
        return Holder(topology=topology, run="")
    types = {field.name: int if field.name == "pid" else str for field in fields(Holder)}
    readable = {name: values[name] for name, kind in types.items() if isinstance(values.get(name), kind)}
    return Holder(**{"run": "", **readable, "topology": topology})
