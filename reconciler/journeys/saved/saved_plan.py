"""A saved plan: the account it was made for, what was seen then, what was declared, and whether that still holds.

Pure. It compares the account and the objects that the steps touch, never a file or a URL; what was declared is compared
without its places in the files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import Annotated, Any, Self

from reconciler.changes.kind import Registry
from reconciler.changes.plan import Plan
from reconciler.engine.pairing.identity import Seen
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import BUCKET, ID_KEY
from reconciler.model.resource import Address, Config, Declared, Json
from reconciler.model.run_options import NO_OPTIONS, RunOptions
from reconciler.model.shape import ALWAYS
from reconciler.model.topology import (
    Allowed,
    BulkEntry,
    Expect,
    Forgotten,
    Guarded,
    IgnoreRule,
    Moved,
    Removed,
    Topology,
)
from reconciler.model.wire.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyHeader:
    """All of a topology except its resources."""

    expect: Expect
    """As in the file."""
    removed: Annotated[tuple[Removed, ...], ALWAYS] = ()
    """As in the file."""
    forget: Annotated[tuple[Address, ...], ALWAYS] = ()
    """As in the file."""
    bulk: tuple[BulkEntry, ...] = ()
    """Entries of `removed` and `forget` that are about many."""
    moved: Annotated[tuple[Moved, ...], ALWAYS] = ()
    """As in the file."""
    guards: Annotated[tuple[Guarded, ...], ALWAYS] = ()
    """As in the file."""
    allow: tuple[Allowed, ...] = ()
    """As at the top level of the files."""
    ignore_drift: tuple[IgnoreRule, ...] = ()
    """As in the file."""

    @classmethod
    def of(cls, topology: Topology, **more: Any) -> Self:
        """Return what the topology says besides its resources; `more` is what a larger document holds."""
        return cls(
            expect=topology.expect, removed=topology.removed, forget=tuple(entry.address for entry in topology.forget),
            bulk=topology.bulk, moved=topology.moved, guards=topology.guards, allow=topology.allow,
            ignore_drift=topology.ignore_drift,
            **more,
        )  # fmt: skip

    def topology(self, name: str, resources: tuple[Declared, ...]) -> Topology:
        """Return the topology that says this and has these resources."""
        return Topology(
            name=name, resources=resources, expect=self.expect, removed=self.removed,
            forget=tuple(Forgotten(address=address) for address in self.forget), bulk=self.bulk, moved=self.moved, guards=self.guards,
            allow=self.allow, ignore_drift=self.ignore_drift,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource, and what its file says of it."""

    address: Address
    """The resource."""
    spec: Config
    """What the file says of it."""

    @classmethod
    def of(cls, resource: Declared) -> ResourceSpec:
        """Return what the file says, and nothing else."""
        return cls(
            address=resource.address, spec=resource.spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
        )

    def declared_resource(self, registry: Registry) -> Declared:
        """Return the resource. Raises ValueError (pydantic's) where its kind has no such fields."""
        return Declared(address=self.address, spec=registry.of(self.address).spec.model_validate(self.spec))


FINGERPRINT = "fingerprint"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlace:
    """What identifies an account. None: unknown."""

    account: str | None = None
    """Name or public key of the account."""
    domain: str | None = None
    """JetStream domain."""
    cluster: str | None = None
    """Name of the cluster; empty for a single server."""
    id: str | None = None
    """The random id in bucket `reconciler`."""
    server: str | None = None
    """The id of the server that answered; it changes when the server restarts."""
    at: str | None = None
    """When this was seen, by the server's clock."""
    bucket: str | None = None
    """When bucket `reconciler` was created; absent where there is none."""
    reached: int | None = None
    """The last sequence of bucket `reconciler`: how many writes it has ever taken."""
    streams: Annotated[Mapping[str, str], ALWAYS] = field(default_factory=dict)
    """The oldest streams with their creation times: no two accounts share one."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> AccountPlace:
        """Identify the account of this snapshot; what the answers do not show is None."""
        entry = snapshot.entries.get(BUCKET, {}).get(ID_KEY)
        target, bucket = snapshot.target, snapshot.streams.get(f"KV_{BUCKET}") or {}
        return cls(
            account=target.account,
            domain=target.domain,
            cluster=target.cluster or ("" if target.peers == 1 else None),
            id=entry.value.decode(errors="replace") if entry and not entry.deleted else None,
            server=target.server,
            at=target.at,
            bucket=bucket.get("created"),
            reached=(bucket.get("state") or {}).get("last_seq"),
            streams=_oldest_streams(snapshot.streams),
        )


def why_set_back(planned: AccountPlace, now: AccountPlace) -> str | None:
    """Why bucket `reconciler` is older here than it was for the plan, in words; None: it is not older, as far as can be
    seen. Two buckets with the same id are the same bucket."""
    if planned.id is None or planned.id != now.id or planned.reached is None or now.reached is None:
        return None
    if now.reached >= planned.reached:
        return None
    return (
        f"bucket {BUCKET} had taken {planned.reached} writes when the plan was made, and has {now.reached} now: it "
        "came back older than it was, as after a power cut, and no longer knows what was applied last"
    )


WITNESSES = 16


def _oldest_streams(streams: Mapping[str, Mapping[str, Json]]) -> dict[str, str]:
    created = ((str(info.get("created")), name) for name, info in streams.items() if name != f"KV_{BUCKET}")
    return {name: when for when, name in sorted(created)[:WITNESSES]}


def why_elsewhere(planned: AccountPlace, account_now: AccountPlace) -> str | None:
    """Why this account is not the one the plan was made for, in words; None: it is."""
    sides = (("account", planned.account, account_now.account), ("cluster", planned.cluster, account_now.cluster))
    both_known = {part: (then, now) for part, then, now in sides if then is not None and now is not None}
    compared = {
        "account": both_known.get("account"),
        "domain": (planned.domain, account_now.domain),
        "cluster": both_known.get("cluster"),
    }
    for part, pair in compared.items():
        if pair is not None and pair[0] != pair[1]:
            return f"it was made for {_part_text(part, pair[0])}, but {_part_text(part, pair[1])} answers here"
    if planned.id is not None and planned.id != account_now.id:
        id_here = "has a different id" if account_now.id else "has none"
        return f"bucket {BUCKET} of the account it was made for holds an id, but the one here {id_here}"
    if planned.id is None and (planned.account is None or account_now.account is None):
        return "the account cannot be identified: neither its name nor an id is known"
    return _why_another_account(planned, account_now) if planned.id is None else None


def _why_another_account(planned: AccountPlace, now: AccountPlace) -> str | None:
    """Compare accounts without an id by what they held: many accounts share a name, since `$G` is on every server. What
    existed then must exist here, and what did not exist then must be new here."""
    if planned.server is None or planned.server == now.server or _ACCOUNT_KEY.fullmatch(planned.account or ""):
        return None
    if _is_before(now.bucket, planned.at):
        return f"the account it was made for had no bucket {BUCKET}, but the one here is older than the plan"
    if planned.streams:
        same = planned.streams.items() & now.streams.items()
        return None if same else "none of the streams that the account had when the plan was made exists here"
    if old := next((name for name, created in now.streams.items() if _is_before(created, planned.at)), None):
        return f"the account it was made for had no stream, but {old} here is older than the plan"
    if not (planned.cluster or planned.domain):  # somebody chose the name of a cluster or domain
        return "it was made for an account that held nothing, on another server or before this one was restarted"
    return None


_ACCOUNT_KEY = re.compile(r"A[A-Z2-7]{55}")
"""The public key of an account, which is unique."""


def _is_before(earlier: str | None, later: str | None) -> bool:
    try:
        return bool(earlier and later) and datetime.fromisoformat(str(earlier)) < datetime.fromisoformat(str(later))
    except (ValueError, TypeError):
        return False


def _part_text(part: str, name: str | None) -> str:
    return f"{part} `{name}`" if name else "a single server" if part == "cluster" else f"no {part}"


_STREAM = ("config", "created", "cluster", "mirror", "sources")
_STATE = ("messages", "bytes", "first_seq", "last_seq", "consumer_count")
_CONSUMER = ("config", "created", "delivered", "ack_floor", "num_pending", "num_ack_pending", "num_waiting", "paused")
_MOVING = frozenset({"last_active", "active", "lag"})
"""Times and distances that differ from one look to the next although nothing happened."""


def state_digest(snapshot: Snapshot) -> str:
    """Digest everything in an account that a plan depends on: the same digest means the same plan. It does not cover
    quantities that depend on the age of messages."""
    target = snapshot.target
    return fingerprint(
        {
            "target": [str(target.version), target.level, target.account, target.domain, target.cluster, target.peers],
            "limits": dict(target.limits),
            "streams": {
                name: [_values_of(info, _STREAM), _values_of(info.get("state") or {}, _STATE)]
                for name, info in snapshot.streams.items()
            },
            "consumers": {
                stream: {name: _values_of(info, _CONSUMER) for name, info in own.items()}
                for stream, own in snapshot.consumers.items()
            },
            "entries": {
                bucket: {key: entry.revision for key, entry in own.items()} for bucket, own in snapshot.entries.items()
            },
            "unknown": dict(snapshot.unknown),
        }
    )


def _values_of(info: Mapping[str, Json], names: Iterable[str]) -> list[Json]:
    return [_hashable(info.get(name)) for name in names]


def _hashable(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _hashable(inner) for key, inner in value.items() if key not in _MOVING}
    return [_hashable(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A plan with what it takes to judge it again before an apply: quantities are measured then, not remembered."""

    plan: Plan
    place: AccountPlace
    topology: Topology
    seen: Seen = field(default_factory=dict)
    state: str = ""
    """A digest of the whole account as it was."""
    options: RunOptions = NO_OPTIONS
    """The options of the run; the current day is taken again at each apply."""
    paths: tuple[str, ...] = ()
    """The files as they were named, to repeat in a next command."""
    made_by: str = ""
    """The version of this tool."""

    def can_reuse_plan(self, snapshot: Snapshot) -> bool:
        """Would planning again surely give this very plan? Only in the same account in the same state, where no consent
        may have ended since and nothing was counted that depends on the age of messages."""
        verdicts = (verdict for change in self.plan.changes for verdict in change.verdicts)
        if any(verdict.consented or verdict.quantities for verdict in verdicts):
            return False
        topology = self.topology
        days = (
            *(r.until for r in topology.removed),
            *(b.until for b in topology.bulk),
            *(m.until for m in topology.moved),
            *(g.until for g in topology.guards),
        )
        return not any(days) and state_digest(snapshot) == self.state


def fingerprint(data: Config) -> str:
    """Digest everything else in the file. This detects accidents and edits; it is no signature, since anybody who can
    edit the file can also compute it."""
    rest = {key: value for key, value in data.items() if key != FINGERPRINT}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
