"""A snapshot as rows of the table `configs`, and back: nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from pydantic_core import from_json, to_json

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.model.wire.permissions import Granted
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.version import Version

Row = dict[str, Any]
"""Columns of CONFIGS by name; a missing value is null."""


def rows_of(snapshot: Snapshot) -> Iterator[Row]:
    """Yield the account first, then its objects, then what could not be read."""
    yield {"row": "target", "json": _json_text(_account_data(snapshot))}
    for stream, item in snapshot.streams.items():
        yield _stream_row(stream, item)
        for name, consumer in snapshot.consumers.get(stream, {}).items():
            yield _consumer_row(stream, name, consumer)
        for name, copier in snapshot.copiers.get(stream, {}).items():
            yield {"row": "copier", "scope": f"{stream}/{name}", "json": _json_text(copier)}
    for bucket, entries in snapshot.entries.items():
        yield {"row": "entries", "scope": bucket}  # a bucket that was read and found empty differs from an unread one
        for key, entry in entries.items():
            yield _entry_row(bucket, key, entry)
    for scope, why in snapshot.unknown.items():
        yield {"row": "unknown", "scope": scope, "error": why}


def _stream_row(name: str, item: Mapping[str, Json]) -> Row:
    state = item.get("state") or {}
    return {
        "row": "stream",
        "address": f"stream/{name}",
        "scope": name,
        "json": _json_text(item),
        "messages": state.get("messages"),
        "bytes": state.get("bytes"),
        "consumers": state.get("consumer_count"),
    }


def _consumer_row(stream: str, name: str, item: Mapping[str, Json]) -> Row:
    return {
        "row": "consumer",
        "address": f"consumer/{stream}/{name}",
        "scope": f"{stream}/{name}",
        "json": _json_text(item),
        "pending": item.get("num_pending"),
        "ack_pending": item.get("num_ack_pending"),
    }


def _entry_row(bucket: str, key: str, entry: Entry) -> Row:
    return {
        "row": "entry",
        "scope": f"{bucket}/{key}",
        "value": entry.value,
        "revision": entry.revision,
        "deleted": entry.deleted,
        "stored": entry.stored,
    }


def _account_data(snapshot: Snapshot) -> dict[str, Json]:
    target, may = snapshot.target, snapshot.may
    values = {name: getattr(target, name) for name in Target.__slots__ if name != "version"}
    return {
        **values,
        "version": str(target.version),
        "may": None if may is None else {"allow": may.allow, "deny": may.deny},
        "denied": [*snapshot.denied],
    }


@dataclass(slots=True)
class _Gathered:
    """Rows of one target, in their places."""

    account: Mapping[str, Json] | None = None
    streams: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    consumers: dict[str, dict[str, Mapping[str, Json]]] = field(default_factory=dict)
    copiers: dict[str, dict[str, Mapping[str, Json]]] = field(default_factory=dict)
    entries: dict[str, dict[str, Entry]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    error: str | None = None

    def add(self, row: Mapping[str, Any]) -> None:
        kind, scope = row["row"], row.get("scope") or ""
        first, _, rest = scope.partition("/")
        if kind == "stream":
            self.streams[scope] = from_json(row["json"])
        elif kind == "consumer":
            self.consumers.setdefault(first, {})[rest] = from_json(row["json"])
        elif kind == "copier":
            self.copiers.setdefault(first, {})[rest] = from_json(row["json"])
        elif kind == "entries":
            self.entries.setdefault(scope, {})
        elif kind == "entry":
            stored = row.get("stored") or ""  # null in tables of earlier versions
            entry = Entry(bytes(row["value"] or b""), int(row["revision"]), bool(row["deleted"]), stored)
            self.entries.setdefault(first, {})[rest] = entry
        elif kind == "unknown":
            self.unknown[scope] = row["error"]
        elif kind == "target":
            self.account = from_json(row["json"])
        else:
            self.error = row["error"]


def snapshot_of(rows: Iterable[Mapping[str, Any]]) -> Snapshot | str:
    """Return the snapshot of the rows of one target, in whatever order, or why it could not be read: unknown is never
    absent."""
    gathered = _Gathered()
    for row in rows:
        gathered.add(row)
    if gathered.error is not None or gathered.account is None:
        return gathered.error or "no row says which account this is"
    account = dict(gathered.account)
    may, denied = account.pop("may"), account.pop("denied", ())  # missing in tables of earlier versions
    return Snapshot(
        target=Target(**{**account, "version": Version.parse(account["version"])}),
        streams=gathered.streams,
        consumers=gathered.consumers,
        copiers=gathered.copiers,
        entries=gathered.entries,
        unknown=gathered.unknown,
        denied=tuple(denied),
        may=None if may is None else Granted(allow=tuple(may["allow"]), deny=tuple(may["deny"])),
    )


def _json_text(value: Mapping[str, Json]) -> str:
    return to_json(value).decode()  # five times as fast as the standard library's
