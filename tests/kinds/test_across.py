"""Rules across resources beside real servers of every version: what was there, what is wanted, and what each of them says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from reconciler.model.resource import Address
from tests.agreement.case import Case, Live
from tests.agreement.judging import Kind, judgement
from tests.agreement.rooms import Ground
from tests.agreement.running import Outcome, run
from tests.support.binaries import MINORS

Body = Mapping[str, Any]
KB, MB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One transition with the server's answer (0: ok) and the rule of ours that speaks (empty: none)."""

    words: str
    case: Case
    says: int = 0
    ours: str = ""
    versions: tuple[str, ...] = MINORS


def there(**streams: Body) -> tuple[Live, ...]:
    """Streams that are live before, named after the case."""
    return tuple(Live(on=(f"@{name}",), body=body) for name, body in streams.items())


def makes(name: str, body: Body, *live: Live, room: str = "shared", kind: str = "stream") -> Case:
    return Case(at=Address.of(kind, f"@{name}"), body=body, live=live, room=room)


def edits(name: str, body: Body, *live: Live, room: str = "shared", kind: str = "stream") -> Case:
    return Case(at=Address.of(kind, f"@{name}"), body=body, live=live, edits=True, room=room)


def of(name: str, filter_subject: str = "", /, **more: Any) -> dict[str, Any]:
    """A source or mirror of a stream of the case."""
    return {"name": f"@{name}", **({"filter_subject": f"@{filter_subject}"} if filter_subject else {}), **more}


def sub(*names: str) -> dict[str, Any]:
    return {"subjects": [f"@{name}" for name in names]}


def copy_(*origins: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"sources": list(origins), **more}


A, B, C = sub("a"), sub("b"), sub("c")
CYCLE: Mapping[str, Any] = {"says": 10052, "ours": "XX203"}
EXTERNAL = {"external": {"api": "$JS.elsewhere.API"}}

CYCLES = [
    Row(words="two streams that source each other", **CYCLE,
        case=edits("A", copy_(of("B")), *there(A=A, B={**B, **copy_(of("A"))}))),
    Row(words="three in a ring, the origin made last", **CYCLE,
        case=makes("C", {**C, **copy_(of("A"))}, *there(A={**A, **copy_(of("B"))}, B={**B, **copy_(of("C"))}))),
    Row(words="a stream that sources itself", **CYCLE, case=makes("A", copy_(of("A")))),
    Row(words="a stream that mirrors itself", **CYCLE, case=makes("A", {"mirror": of("A")})),
    Row(words="itself, by a filter that meets nothing of its own", case=makes("A", {**A, **copy_(of("A", "x"))})),
    Row(words="mirrors of each other", **CYCLE, case=makes("B", {"mirror": of("A")}, *there(A={"mirror": of("B")}))),
    Row(words="a source of one's own mirror", **CYCLE,
        case=makes("M", {"mirror": of("A")}, *there(A={**A, **copy_(of("M"))}))),
    Row(words="a filter on the mirror does not help", **CYCLE,
        case=makes("M", {"mirror": of("A", "x")}, *there(A={**A, **copy_(of("M"))}))),
    Row(words="a filter on the way out does not help", **CYCLE,
        case=edits("A", copy_(of("B", "b")), *there(A=A, B={**B, **copy_(of("A"))}))),
    Row(words="a filter on the way back that meets the copying stream's own subject does not help", **CYCLE,
        case=edits("A", copy_(of("B")), *there(A=A, B={**B, **copy_(of("A", "b"))}))),
    Row(words="transforms on the way back do not help", **CYCLE,
        case=edits("A", copy_(of("B")),
                   *there(A=A, B={**B, **copy_(of("A", subject_transforms=[{"src": "x", "dest": "y"}]))}))),
    Row(words="a filter on the way back that meets nothing keeps them apart, seen from here", ours="XX204",
        case=edits("A", copy_(of("B")), *there(A=A, B={**B, **copy_(of("A", "a"))}))),
    Row(words="the same with a copying stream that has no subjects", ours="XX204",
        case=edits("A", copy_(of("B")), *there(A=A, B=copy_(of("A", "a"))))),
    Row(words="two ways of equal length to one origin",
        case=makes("A", copy_(of("B"), of("C")), *there(D={}, B=copy_(of("D")), C=copy_(of("D"))))),
    Row(words="the shorter way first", **CYCLE,
        case=makes("A", copy_(of("D"), of("B")), *there(D={}, B=copy_(of("D"))))),
    Row(words="the longer way first", case=makes("A", copy_(of("B"), of("D")), *there(D={}, B=copy_(of("D"))))),
    Row(words="the shorter way first, the longer one by a mirror", **CYCLE,
        case=makes("A", copy_(of("D"), of("M")), *there(D={}, M={"mirror": of("D")}))),
    Row(words="the shorter way first, and a filter on the longer one's end",
        case=makes("A", {**A, **copy_(of("D"), of("B"))}, *there(D=sub("d"), B={**B, **copy_(of("D", "d"))}))),
    Row(words="a ring that leads through another account",
        case=makes("B", {**B, **copy_(of("A"))}, *there(A={**A, **copy_(of("B", **EXTERNAL))}))),
    Row(words="an origin made between two that wait for it", ours="XX204",
        case=makes("D", {}, *there(A=copy_(of("D"), of("B")), B=copy_(of("D"))))),
]  # fmt: skip

SMALL, LARGE = {"max_msg_size": 50}, {"max_msg_size": 100}
SIZES = [
    Row(words="a mirror smaller than its origin", says=10030, ours="XX205",
        case=makes("M", {"mirror": of("O"), **SMALL}, *there(O=LARGE))),
    Row(words="a sourcing stream smaller than its origin", says=10046, ours="XX205",
        case=makes("S", {**copy_(of("O")), **SMALL}, *there(O=LARGE))),
    Row(words="a mirror of equal size", case=makes("M", {"mirror": of("O"), **LARGE}, *there(O=LARGE))),
    Row(words="a mirror with a limit where the origin has none", case=makes("M", {"mirror": of("O"), **SMALL}, *there(O={}))),
    Row(words="a mirror without a limit", case=makes("M", {"mirror": of("O")}, *there(O=LARGE))),
    Row(words="a smaller mirror of something elsewhere",
        case=makes("M", {"mirror": of("O", **EXTERNAL), **SMALL}, *there(O=LARGE))),
    Row(words="a mirror is made smaller", says=10030, ours="XX205",
        case=edits("M", SMALL, *there(O=LARGE, M={"mirror": of("O"), **LARGE}))),
    Row(words="an origin outgrows its source", ours="XX204",
        case=edits("O", LARGE, *there(O=SMALL, S={**copy_(of("O")), **SMALL}))),
    Row(words="an origin outgrows its mirror", ours="XX204",
        case=edits("O", LARGE, *there(O=SMALL, M={"mirror": of("O"), **SMALL}))),
    Row(words="an origin shrinks below its mirror", case=edits("O", SMALL, *there(O=LARGE, M={"mirror": of("O"), **LARGE}))),
    Row(words="an origin appears that is larger than its waiting mirror", ours="XX204",
        case=makes("O", LARGE, *there(M={"mirror": of("O"), **SMALL}))),
]  # fmt: skip


def far(deliver: str) -> dict[str, Any]:
    return {"name": "FAR", "external": {"api": "$JS.elsewhere.API", "deliver": deliver}}


def _prefix(deliver: str, *subjects: str, says: int) -> Row:
    return Row(
        words=f"delivered under {deliver} beside an origin with {', '.join(subjects)}",
        case=makes("S", copy_(of("O"), far(deliver)), Live(on=("@O",), body={"subjects": list(subjects)})),
        says=says,
        ours="XX208" if says else "",
    )


PREFIXES = [
    _prefix("@o", "@o.>", says=10022),
    _prefix("@o.p", "@o.>", says=10022),
    _prefix("@o", "@a", "@o.@o.>", says=10022),
    _prefix("@o", "@o.*", says=0),
    _prefix("@o", "@o.*.*", says=0),
    _prefix("@x", "@o.>", says=0),
    Row(words="a prefix that only the external origin itself would mind",
        case=makes("S", copy_({**far("@o"), "name": "@O"}), *there(O=sub("o.>")))),
]  # fmt: skip

ROOM = [
    Row(words="a third stream where two are allowed", says=10027, ours="XX221",
        case=makes("C", {}, *there(A={}, B={}), room="few-streams")),
    Row(words="a third stream that is a bucket", says=10027, ours="XX221",
        case=makes("C", {}, *there(A={}, B={}), room="few-streams", kind="kv_bucket")),
    Row(words="one of two is changed",
        case=edits("A", {"description": "d"}, *there(A={}, B={}), room="few-streams")),
    Row(words="more consumers than the account may have", says=10026, ours="XX222",
        case=makes("A", {"max_consumers": 3}, room="few-consumers")),
    Row(words="as many", case=makes("A", {"max_consumers": 2}, room="few-consumers")),
    Row(words="no number said", case=makes("A", {}, room="few-consumers")),
    Row(words="nothing said where bytes are demanded", says=10113, ours="XX223", case=makes("A", {}, room="bytes-required")),
    Row(words="a mirror that says nothing", says=10113, ours="XX223",
        case=makes("M", {"mirror": of("O")}, *there(O={"max_bytes": KB}), room="bytes-required")),
    Row(words="an object store that says nothing", says=10113, ours="XX223",
        case=makes("A", {}, room="bytes-required", kind="object_store")),
    Row(words="the limit is taken away", says=10113, ours="XX223",
        case=edits("A", {"max_bytes": None}, *there(A={"max_bytes": KB}), room="bytes-required")),
    Row(words="a file stream above the account's", says=10122, ours="XX224",
        case=makes("A", {"max_bytes": 2 * MB + 1}, room="bytes-required")),
    Row(words="a file stream as large as the account's", case=makes("A", {"max_bytes": 2 * MB}, room="bytes-required")),
    Row(words="a memory stream above the account's", says=10122, ours="XX224",
        case=makes("A", {"max_bytes": MB + 1, "storage": "memory"}, room="bytes-required")),
    Row(words="a file stream grows above the account's", says=10122, ours="XX224",
        case=edits("A", {"max_bytes": 3 * MB}, *there(A={"max_bytes": MB}), room="bytes-required")),
]  # fmt: skip

STORE = 2 * MB
HALF, ALL, REST = ({"max_bytes": number} for number in (MB, STORE, STORE - KB))
RESERVED = [
    Row(words="a byte more than is left", says=10047, ours="XX225",
        case=makes("B", {"max_bytes": MB + 1}, *there(A=HALF), room="small-store")),
    Row(words="all that is left", case=makes("B", HALF, *there(A=HALF), room="small-store")),
    Row(words="nothing reserved where nothing is left", says=10047, ours="XX225",
        case=makes("B", {}, *there(A=ALL), room="small-store")),
    Row(words="nothing reserved where a byte is left", case=makes("B", {}, *there(A={"max_bytes": STORE - 1}), room="small-store")),
    Row(words="memory has a sum of its own", case=makes("B", {**HALF, "storage": "memory"}, *there(A=ALL), room="small-store")),
    Row(words="a byte of memory more than is left", says=10028, ours="XX225",
        case=makes("B", {"max_bytes": KB + 1, "storage": "memory"},
                   *there(A={"max_bytes": MB - KB, "storage": "memory"}), room="small-store")),
    Row(words="one grows by all that is left", case=edits("A", REST, *there(A=HALF, B={"max_bytes": KB}), room="small-store")),
    Row(words="one grows by a byte more", says=10047, ours="XX225",
        case=edits("A", {"max_bytes": STORE - KB + 1}, *there(A=HALF, B={"max_bytes": KB}), room="small-store")),
    Row(words="one shrinks", case=edits("A", {"max_bytes": KB}, *there(A=HALF, B=HALF), room="small-store")),
    Row(words="all that is left where another one is unlimited, which 2.11 would lose", versions=("2.11",), ours="XX225",
        case=makes("A", ALL, *there(Z={}), room="small-store")),
    Row(words="all that is left where another one is unlimited", versions=("2.12", "2.14", "2.15"),
        case=makes("A", ALL, *there(Z={}), room="small-store")),
    Row(words="an unlimited one is changed where little is left",
        case=edits("A", {"description": "d"}, *there(A={}, B=REST), room="small-store")),
    Row(words="an unlimited one becomes limited where nothing is left, which 2.11 miscounts", versions=("2.11",), ours="XX225",
        case=edits("A", {"max_bytes": 1}, *there(A={}, B=ALL), room="small-store")),
    Row(words="an unlimited one becomes limited where nothing is left", versions=("2.12", "2.14", "2.15"),
        says=10047, ours="XX225", case=edits("A", {"max_bytes": 1}, *there(A={}, B=ALL), room="small-store")),
    Row(words="a bucket beyond what is left", says=10047, ours="XX225",
        case=makes("B", ALL, *there(A=HALF), room="small-store", kind="kv_bucket")),
]  # fmt: skip


def _bucket_meets(*subjects: str, says: int, kind: str = "kv_bucket") -> Row:
    return Row(
        words=f"a {kind} beside {', '.join(subjects)}",
        case=makes("B", {}, Live(on=("@A",), body={"subjects": list(subjects), "no_ack": True}), kind=kind),
        says=says,
        ours="XX201" if says else "",
    )


OVERLAPS = [
    _bucket_meets("$KV.@B.x", says=10065),
    _bucket_meets("$KV.@B", says=0),
    _bucket_meets("$KV.@C.>", says=0),
    _bucket_meets("$O.@B.C.x", says=10065, kind="object_store"),
    _bucket_meets("$O.@B.M.>", says=10065, kind="object_store"),
    _bucket_meets("$O.@B.X.>", says=0, kind="object_store"),
    Row(words="a name captured as subject", says=10065, ours="XX201", case=makes("A", sub("B"), *there(B={}))),
    Row(words="a stream whose name is captured", says=10065, ours="XX201", case=makes("B", {}, *there(A=sub("B")))),
    Row(words="a mirror's name is not captured", case=makes("A", sub("M"), *there(O={}, M={"mirror": of("O")}))),
    Row(words="a sourcing stream's name is not captured", case=makes("A", sub("S"), *there(O={}, S=copy_(of("O"))))),
    Row(words="a sourcing stream that stops sourcing captures its name", says=10065, ours="XX201",
        case=edits("S", {"sources": None}, *there(O={}, S=copy_(of("O")), A=sub("S")))),
    Row(words="a promoted mirror captures its name", says=10065, ours="XX201", versions=("2.12", "2.14", "2.15"),
        case=edits("M", {"mirror": None}, *there(O={}, M={"mirror": of("O")}, A=sub("M")))),
    Row(words="wildcards of different lengths", says=10065, ours="XX201", case=makes("A", sub("x.*.c"), *there(B=sub("x.b.>")))),
    Row(words="wildcards that cannot meet", case=makes("A", sub("x.*"), *there(B=sub("x.b.>")))),
    Row(words="a subject is widened into a neighbour", says=10065, ours="XX201",
        case=edits("A", sub("x.>"), *there(A=sub("x.a"), B=sub("x.b")))),
]  # fmt: skip

ROWS = [*CYCLES, *SIZES, *PREFIXES, *ROOM, *RESERVED, *OVERLAPS]


@pytest.fixture(scope="module", params=MINORS)
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    with Ground(request.param) as found:
        yield found


@pytest.fixture(scope="module")
def outcomes(ground: Ground) -> dict[str, tuple[Row, Outcome]]:
    """Every row at once, and what a restart leaves of it; of what is in memory it leaves nothing anyway."""
    rows = [row for row in ROWS if ground.server.minor in row.versions]
    lasting = [row.case for row in rows if row.case.body.get("storage") != "memory"]
    fleeting = [row.case for row in rows if row.case.body.get("storage") == "memory"]
    found = {id(one.drawn): one for one in (*run(ground, lasting, restart=True), *run(ground, fleeting))}
    return {row.words: (row, found[id(row.case)]) for row in rows}


def test_a_server_says_what_the_table_says(outcomes: dict[str, tuple[Row, Outcome]]) -> None:
    said = {words: one.unborn or one.err_code for words, (_, one) in outcomes.items()}
    assert said == {words: row.says for words, (row, _) in outcomes.items()}


def test_our_rules_say_what_the_table_says(outcomes: dict[str, tuple[Row, Outcome]]) -> None:
    ours = {
        words: {v.code for v in one.ours.blocking if v.code.startswith("XX")} if one.ours else set()
        for words, (_, one) in outcomes.items()
    }
    assert ours == {words: {row.ours} - {""} for words, (row, _) in outcomes.items()}


def test_where_a_server_refuses_the_rule_names_its_err_code(outcomes: dict[str, tuple[Row, Outcome]]) -> None:
    judged = {words: judgement(one) for words, (_, one) in outcomes.items()}
    assert {words: one.why for words, one in judged.items() if one.kind not in (Kind.AGREED, Kind.STRICTER)} == {}


def test_what_we_allow_is_not_lost(outcomes: dict[str, tuple[Row, Outcome]]) -> None:
    assert {words: one.lost for words, (row, one) in outcomes.items() if one.lost and not row.ours} == {}
