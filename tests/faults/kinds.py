"""What can go wrong at a request or a reply: killed, cut off, refused, kept waiting, doubled, suspended, overtaken by an edit."""

from __future__ import annotations

from enum import StrEnum

from tests.faults.wire import Point, Request, Side


class Fault(StrEnum):
    NONE = "nothing"
    KILLED = "killed"
    DISCONNECTED = "disconnected"
    TRANSIENT = "transient error"
    PERMANENT = "permanent error"
    DELAYED = "delayed reply"
    DOUBLED = "second applier"
    SUSPENDED = "suspended"
    EDITED = "edited"
    LEADERLESS = "leader killed"
    """Of the stream that the request is about."""
    METALESS = "meta leader killed"


SIDES = {
    Fault.KILLED: (Side.REQUEST, Side.REPLY),
    Fault.DISCONNECTED: (Side.REQUEST, Side.REPLY),
    Fault.TRANSIENT: (Side.REQUEST,),
    Fault.PERMANENT: (Side.REQUEST,),
    Fault.DELAYED: (Side.REPLY,),
    Fault.DOUBLED: (Side.REQUEST,),
    Fault.SUSPENDED: (Side.REPLY,),
    Fault.EDITED: (Side.REQUEST,),
    Fault.LEADERLESS: (Side.REQUEST,),
    Fault.METALESS: (Side.REQUEST,),
}
"""Where each can happen: no reply comes to a request that somebody answered in the server's place."""

TRANSIENT = {"code": 503, "err_code": 10008, "description": "JetStream system temporarily unavailable"}
PERMANENT = {"code": 503, "err_code": 10023, "description": "insufficient resources"}

GOES_ON = frozenset(
    {Fault.DISCONNECTED, Fault.TRANSIENT, Fault.DELAYED, Fault.DOUBLED, Fault.LEADERLESS, Fault.METALESS}
)
"""After these the apply itself finishes, without another one."""
DEPOSING = frozenset({Fault.LEADERLESS, Fault.METALESS})
ONLY_WRITES = DEPOSING | {Fault.SUSPENDED}


def applies(fault: Fault, request: Request) -> bool:
    """Can it happen there?"""
    if fault in (Fault.TRANSIENT, Fault.PERMANENT):
        return "DIRECT.GET" not in request.subject and not request.subject.startswith("$SYS.")  # not answered as JSON
    return request.is_write or fault not in ONLY_WRITES or (fault in DEPOSING and "KV_reconciler" in request.subject)


def points(fault: Fault, requests: list[Request]) -> list[Point]:
    return [Point(one, side) for one in requests if applies(fault, one) for side in SIDES[fault]]


STEP_TYPES = {
    "$KV.reconciler.lease.": "lease", "$KV.reconciler.journal.": "journal", "$KV.reconciler.intent.": "intent",
    "$KV.reconciler.owned.": "ledger", "$KV.reconciler.": "ledger", "$KV.": "group record",
    "$JS.API.STREAM.CREATE.KV_reconciler": "ledger",
    "$JS.API.STREAM.CREATE.": "create stream", "$JS.API.STREAM.UPDATE.": "update stream",
    "$JS.API.STREAM.DELETE.": "delete stream", "$JS.API.CONSUMER.CREATE.": "write consumer",
    "$JS.API.CONSUMER.DELETE.": "delete consumer", "$JS.API.CONSUMER.PAUSE.": "pause consumer",
    "$JS.API.CONSUMER.UNPIN.": "unpin consumer", "$JS.API.CONSUMER.RESET.": "reset consumer",
}  # fmt: skip


def step_type(request: Request) -> str:
    if not request.is_write:
        return "read"
    return next((name for prefix, name in STEP_TYPES.items() if request.subject.startswith(prefix)), "other")
