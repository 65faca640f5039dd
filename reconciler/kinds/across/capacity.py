"""What the account has room for: how many streams, and the bytes that streams reserve by their `max_bytes`."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.reservations import (
    LEDGER,
    STORED,
    V2_12,
    StreamReservation,
    has_tiers,
    room_by_stream,
)
from reconciler.kinds.afterwards.streams import Afterwards, afterwards
from reconciler.kinds.fields.peers import account_limits
from reconciler.kinds.fields.words import size, some, written_size
from reconciler.model.resource import Config
from reconciler.model.wire.snapshot import Target


def _written_streams(change: Change, view: View) -> Iterator[tuple[str, Config, Config]]:
    """(name, configuration, limits that apply to it) of every stream this change creates or updates."""
    after = afterwards(view)
    for name in _stream_names(change, after, view):
        if (limits := account_limits(view.target, StreamReservation.of(after.streams[name]).replicas)) is not None:
            yield name, after.streams[name], limits


def _stream_names(change: Change, after: Afterwards, view: View) -> list[str]:
    own = view.stream_of(change.address) or ""
    records = view.kinds[change.address.kind].record_bucket(change.address)
    candidates = [own, f"KV_{records}"] if records else [own]
    ours = [name for name in candidates if name in after.streams and after.made_by.get(name) is change]
    return [name for name in ours if not (records and _is_live_stream(name, view))]


def _is_live_stream(name: str, view: View) -> bool:
    return bool(name in view.snapshot.streams)


@rule("XX221", "too-many-streams", on=(Action.CREATE, Action.UPDATE), needs=("neighbours",), err_code=10027)
def too_many_streams(change: Change, view: View) -> Iterator[Finding]:
    """The account may hold no more streams. Buckets, object stores, the work queues of elastic groups, the buckets that
    hold group records and reconciler's own bucket `reconciler` are streams too.

    The server refuses the next one (10027). Reconciler counts the plan as a whole.

    Instead: remove what nobody needs, or have the account's limit raised.
    """
    for name, config, limits in _written_streams(change, view):
        if _is_live_stream(name, view) or (most := limits.get("max_streams") or -1) <= 0:
            continue
        room = room_by_stream(view)[name]
        others = room.streams - (room.ledger is not None)
        if room.streams >= most:
            ledger = f"reconciler's own {LEDGER}, which is created first, and " if room.ledger else ""
            yield refusal(
                "",
                f"the account may hold {some(most, 'stream')}; with {ledger}{some(others, 'other')} there is no room for {name}",
                "remove what nobody needs, or have the account's limit raised",
                reaction=None
                if others >= most and not _server_counts_no_streams(config, view.target)
                else Reaction.DOES,
            )


def _server_counts_no_streams(config: Config, target: Target) -> bool:
    """In an account with tiers, 2.11 counts no streams if the request leaves out the one replica it wants."""
    return has_tiers(target) and target.version < V2_12 and StreamReservation.of(config).replicas == 1


@rule("XX222", "max-consumers-above-account", needs=("neighbours",), err_code=10026)
def max_consumers_above_account(change: Change, view: View) -> Iterator[Finding]:
    """A stream asks for more consumers than the account allows on a stream.

    The server refuses the stream (10026), and every later update of it.

    Instead: write the account's number or less, or leave it out.
    """
    for _name, config, limits in _written_streams(change, view):
        wanted, most = config.get("max_consumers") or -1, limits.get("max_consumers") or -1
        if 0 < most < wanted:
            yield refusal(
                "max_consumers",
                f"max_consumers {wanted} is above the {most} that the account allows",
                f"write {most} or less, or leave it out",
            )


@rule("XX223", "unbounded-stream", needs=("neighbours",), err_code=10113)
def unbounded_stream(change: Change, view: View) -> Iterator[Finding]:
    """The account requires every stream to limit its bytes, mirrors included, and this one does not.

    The server refuses it (10113). Reconciler cannot create the bucket of group records in such an account, since the
    reference's shape of that bucket has no limit: the bucket must exist first.

    Instead: write `max_bytes` (elastic groups: `max_buffered_bytes`).
    """
    for name, config, limits in _written_streams(change, view):
        if limits.get("max_bytes_required") and not StreamReservation.of(config).reserves:
            is_records = name != view.stream_of(change.address)
            yield refusal(
                "" if is_records else view.kinds[change.address.kind].reserves,
                f"this account requires max_bytes on every stream, and {name} has none",
                (
                    f"let an administrator create {name} with max_bytes first"
                    if is_records
                    else f"write {view.kinds[change.address.kind].reserves}"
                ),
            )


@rule("XX224", "stream-above-account", needs=("neighbours",), err_code=10122)
def stream_above_account(change: Change, view: View) -> Iterator[Finding]:
    """`max_bytes` is above what the account allows one stream of this storage.

    The server refuses it (10122), and every later update of it.

    Instead: write the account's number or less, or have it raised.
    """
    for name, config, limits in _written_streams(change, view):
        need = StreamReservation.of(config)
        most = limits.get(STORED[need.storage][1]) or -1
        if 0 < most < need.reserves:
            yield refusal(
                view.kinds[change.address.kind].reserves,
                (
                    f"stream {name} asks for {written_size(need.reserves)}, and the account allows {written_size(most)} for a "
                    f"{need.storage} stream"
                ),
                "write less, or have the account's limit raised",
            )


@rule("XX225", "no-room-left", needs=("neighbours",), err_code=(10047, 10028))
def no_room_left(change: Change, view: View) -> Iterator[Finding]:
    """Together with what other streams reserve by their `max_bytes`, this is more than the account may store.

    The server reserves the `max_bytes` of every stream and refuses what exceeds the account's limit (10047 file, 10028
    memory). It counts each replica unless the account has tiers. A stream without `max_bytes` reserves nothing, but is
    refused once nothing is left. Before 2.14 the server leaves out the replicas of the stream in question. Reconciler
    sums the plan as a whole.

    Where the account requires every stream to limit its bytes, reconciler's own bucket `reconciler` reserves a sixteenth of
    what the account may store, at most 64 MiB. The first apply creates it before anything else.

    A single 2.11 server counts again when it starts, and counts a stream without `max_bytes` as one byte. If the last
    byte is reserved, it loses those streams.

    Instead: reserve less, here or elsewhere, or have the account's limit raised.
    """
    for name, config, limits in _written_streams(change, view):
        need = StreamReservation.of(config)
        if (most := limits.get(STORED[need.storage][0], -1)) < 0:
            continue
        room = room_by_stream(view)[name]
        if room.total > most:
            others, whole, above = (size(count, room.wanted) for count in (room.reserved, most, room.total - most))
            ours = room.ledger if room.ledger and room.ledger.reserves and room.ledger.storage == need.storage else None
            ledger = f" (reconciler's own {LEDGER} among them, which is created first)" if ours else ""
            yield refusal(
                view.kinds[change.address.kind].reserves,
                (
                    f"stream {name} needs {size(room.wanted, room.wanted)} of {need.storage}, others reserve {others}{ledger}, and "
                    f"the account may store {whole}, which is {above} too little"
                ),
                "reserve less with a smaller max_bytes, here or elsewhere, or have the account's limit raised",
                quantities={"bytes": room.total - most},
                reaction=Reaction.DOES if ours and room.total - ours.reserves * ours.replicas <= most else None,
            )
        elif (
            view.target.version < V2_12
            and not view.target.is_clustered
            and most < room.recovered
            and (change.action is Action.CREATE or change.touches("max_bytes"))
        ):
            yield refusal(
                view.kinds[change.address.kind].reserves,
                (
                    f"this reserves all of the {written_size(most)} that the account may store, and at its next start this server "
                    "would lose the streams that have no max_bytes"
                ),
                "leave one byte free, or give every stream a max_bytes",
                reaction=Reaction.DOOMS,
            )


@rule("XX226", "no-tier", needs=("neighbours",), err_code=10120)
def no_tier(change: Change, view: View) -> Iterator[Finding]:
    """The account has limits for certain numbers of replicas, and none for this number.

    The server refuses such a stream (10120).

    Instead: use a number of replicas that the account has a tier for.
    """
    after = afterwards(view)
    for name in _stream_names(change, after, view):
        replicas = StreamReservation.of(after.streams[name]).replicas
        if account_limits(view.target, replicas) is None and not _keeps_its_tier(change, view):
            tiers = sorted(view.target.usage.get("tiers") or {})
            yield refusal(
                "num_replicas" if name == view.stream_of(change.address) else "",
                f"the account has no tier R{replicas} for {name}, only {', '.join(tiers)}",
                "use a number of replicas that the account has a tier for",
            )


def _keeps_its_tier(change: Change, view: View) -> bool:
    """The server measures an update to a missing tier by the limits of the old tier."""
    live = change.live.state.get("config", {}) if change.live else None
    return live is not None and account_limits(view.target, StreamReservation.of(live).replicas) is not None


RULES = (
    too_many_streams,
    max_consumers_above_account,
    unbounded_stream,
    stream_above_account,
    no_room_left,
    no_tier,
)
