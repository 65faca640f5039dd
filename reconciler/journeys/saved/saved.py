"""A plan kept for later: where it was made for, what was seen then, what was declared, and whether that still holds.

Pure. What is compared is never a file or a URL, but the account itself and the objects that the steps touch.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.changes.plan import Plan
from reconciler.engine.identity import Seen
from reconciler.model.records import BUCKET, ID_KEY
from reconciler.model.resource import Config, Json
from reconciler.model.run_options import NO_OPTIONS, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot

FINGERPRINT = "fingerprint"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlace:
    """What tells one account from another. None: nobody could say."""

    account: str | None = None
    domain: str | None = None
    cluster: str | None = None
    """Empty for a single server."""
    id: str | None = None
    server: str | None = None
    """Which server answered, by the id it has until it is started again."""
    at: str | None = None
    """When this was seen, by that server's clock."""
    bucket: str | None = None
    """When bucket `reconciler` was created; None where there is none."""
    reached: int | None = None
    """How far bucket `reconciler` had come: how much was ever written there."""
    streams: Mapping[str, str] = field(default_factory=dict)
    """The oldest ones, with when they were created: no two accounts share one."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> AccountPlace:
        """The account that was read for this snapshot; what its answers do not tell is None."""
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
            streams=_oldest(snapshot.streams),
        )


def went_back(planned: AccountPlace, here: AccountPlace) -> str | None:
    """Why what is remembered here is older than what the plan was made from, in words; None: it is not, as far as one can
    tell. Of two buckets the same id says that they are one."""
    if planned.id is None or planned.id != here.id or planned.reached is None or here.reached is None:
        return None
    if here.reached >= planned.reached:
        return None
    return (
        f"bucket {BUCKET} was written {planned.reached} times when it was made, and knows of {here.reached} now: it came back "
        "older than it was, as after a power cut, and no longer knows what was applied last"
    )


WITNESSES = 16


def _oldest(streams: Mapping[str, Mapping[str, Json]]) -> dict[str, str]:
    created = ((str(info.get("created")), name) for name, info in streams.items() if name != f"KV_{BUCKET}")
    return {name: when for when, name in sorted(created)[:WITNESSES]}


def elsewhere(planned: AccountPlace, here: AccountPlace) -> str | None:
    """Why this is not the place the plan was made for, in words; None: it is."""
    sides = (("account", planned.account, here.account), ("cluster", planned.cluster, here.cluster))
    known = {what: (then, now) for what, then, now in sides if then is not None and now is not None}
    compared = {
        "account": known.get("account"),
        "domain": (planned.domain, here.domain),
        "cluster": known.get("cluster"),
    }
    for what, pair in compared.items():
        if pair is not None and pair[0] != pair[1]:
            return f"it was made for {_named(what, pair[0])}, and {_named(what, pair[1])} answers here"
    if planned.id is not None and planned.id != here.id:
        found = "has another id" if here.id else "has none"
        return f"bucket {BUCKET} of the account it was made for holds an id, and the one here {found}"
    if planned.id is None and (planned.account is None or here.account is None):
        return "nobody can tell whether this is the account it was made for: neither its name nor an id is known"
    return _another(planned, here) if planned.id is None else None


def _another(planned: AccountPlace, here: AccountPlace) -> str | None:
    """There was no id yet, and accounts of one name are many: `$G` is on every server. What was there must be here, and
    what was not there must be new here."""
    if planned.server is None or planned.server == here.server or _ACCOUNT_KEY.fullmatch(planned.account or ""):
        return None
    if _is_before(here.bucket, planned.at):
        return f"there was no bucket {BUCKET} where it was made, and the one here is older than the plan"
    if planned.streams:
        same = planned.streams.items() & here.streams.items()
        return None if same else "none of the streams that were there when it was made is here"
    if old := next((name for name, created in here.streams.items() if _is_before(created, planned.at)), None):
        return f"there was no stream where it was made, and {old} here is older than the plan"
    if not (planned.cluster or planned.domain):  # of those somebody chose a name
        return "it was made where nothing was yet, on another server or before this one was started again"
    return None


_ACCOUNT_KEY = re.compile(r"A[A-Z2-7]{55}")
"""What an operator calls accounts by; there is one of each."""


def _is_before(one: str | None, other: str | None) -> bool:
    try:
        return bool(one and other) and datetime.fromisoformat(str(one)) < datetime.fromisoformat(str(other))
    except (ValueError, TypeError):
        return False


def _named(what: str, name: str | None) -> str:
    return f"{what} `{name}`" if name else "a single server" if what == "cluster" else f"no {what}"


_STREAM = ("config", "created", "cluster", "mirror", "sources")
_STATE = ("messages", "bytes", "first_seq", "last_seq", "consumer_count")
_CONSUMER = ("config", "created", "delivered", "ack_floor", "num_pending", "num_ack_pending", "num_waiting", "paused")
_MOVING = frozenset({"last_active", "active", "lag"})
"""Times and distances that differ from one look to the next although nothing happened."""


def state(snapshot: Snapshot) -> str:
    """A digest of everything in an account that a plan depends on: where it is the same, so is the plan. Whatever counts
    messages by their age is not in it."""
    target = snapshot.target
    return fingerprint(
        {
            "target": [str(target.version), target.level, target.account, target.domain, target.cluster, target.peers],
            "limits": dict(target.limits),
            "streams": {
                name: [_part(info, _STREAM), _part(info.get("state") or {}, _STATE)]
                for name, info in snapshot.streams.items()
            },
            "consumers": {
                stream: {name: _part(info, _CONSUMER) for name, info in own.items()}
                for stream, own in snapshot.consumers.items()
            },
            "entries": {
                bucket: {key: entry.revision for key, entry in own.items()} for bucket, own in snapshot.entries.items()
            },
            "unknown": dict(snapshot.unknown),
        }
    )


def _part(info: Mapping[str, Json], names: Iterable[str]) -> list[Json]:
    return [_still(info.get(name)) for name in names]


def _still(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _still(inner) for key, inner in value.items() if key not in _MOVING}
    return [_still(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A plan with what it takes to judge it again where it is applied: quantities are measured then, not remembered."""

    plan: Plan
    place: AccountPlace
    topology: Topology
    seen: Seen = field(default_factory=dict)
    state: str = ""
    """Digest of the whole account as it was."""
    options: RunOptions = NO_OPTIONS
    """What the run was told beside its files; which day it is counts anew where it is applied."""
    paths: tuple[str, ...] = ()
    """The files as they were named, to be repeated in a next command."""
    made_by: str = ""
    """Version of the tool."""

    def would_be_the_same(self, snapshot: Snapshot) -> bool:
        """Would planning again surely give this very plan? Only in the same account in the same state, and where no
        consent may have ended and nothing was counted that grows old by itself."""
        verdicts = (verdict for change in self.plan.changes for verdict in change.verdicts)
        if any(verdict.consented or verdict.quantities for verdict in verdicts):
            return False
        topology = self.topology
        days = (
            *(r.until for r in topology.removed),
            *(m.until for m in topology.moved),
            *(g.until for g in topology.guards),
        )
        return not any(days) and state(snapshot) == self.state


def fingerprint(data: Config) -> str:
    """A digest of everything else in the file. It notices accidents and edits; it is no signature, since whoever can
    edit the file can also compute it."""
    rest = {key: value for key, value in data.items() if key != FINGERPRINT}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
