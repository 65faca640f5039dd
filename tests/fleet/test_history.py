"""What came of drift over many looks, told the same whatever the order in which they were written."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from reconciler.fleet.drift.history import drift_history
from tests.fleet.drift_rows import (
    Row,
    field,
    frame,
    look,
    night,
    undeclared,
    unreachable,
    unremembered,
    wanted,
    whole,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

S = "stream/ORDERS"
SEEN = field(S, "max_age")
TOLD = (
    "address",
    "path",
    "state",
    "occurrence",
    "opened_run",
    "last_seen_run",
    "looks",
    "closed_run",
    "ended",
    "seconds",
)
DAY = 86_400.0
AWAY, BARE, RENAMED, BROKEN = "not reached", "nothing is declared", "another topology", "a file that says nothing"
"""Nights in which the target's topology was not looked at."""
Night = list[Row] | str

CASES: dict[str, tuple[list[Night], list[tuple[Any, ...]]]] = {
    "drift opens with the look that finds it and closes with the one that does not": (
        [[], [SEEN], []], [(S, "max_age", "closed", 1, "r1", "r1", 1, "r2", "repaired", DAY)],
    ),
    "it lasts as long as every look finds it": (
        [[SEEN], [SEEN], [SEEN]], [(S, "max_age", "open", 1, "r0", "r2", 3, None, None, None)],
    ),
    "a thing that comes back is another occurrence": (
        [[SEEN], [], [SEEN]],
        [(S, "max_age", "closed", 1, "r0", "r0", 1, "r1", "repaired", DAY),
         (S, "max_age", "open", 2, "r2", "r2", 1, None, None, None)],
    ),
    "a target that was not reached closes nothing": (
        [[SEEN], AWAY, [SEEN]], [(S, "max_age", "open", 1, "r0", "r2", 2, None, None, None)],
    ),
    "a look that does not know what was applied opens and closes nothing": (
        [[SEEN], [whole("stream/NEW", "missing"), unremembered()], [SEEN]],
        [(S, "max_age", "open", 1, "r0", "r2", 2, None, None, None)],
    ),
    "what the newest run did not look at is not said to be open": (
        [[SEEN], [SEEN], AWAY], [(S, "max_age", "unseen", 1, "r0", "r1", 2, None, None, None)],
    ),
    "an object that was not read keeps what was open": (
        [[SEEN], [whole(S, "unknown")], [SEEN]], [(S, "max_age", "open", 1, "r0", "r2", 2, None, None, None)],
    ),
    "an object that is gone is drift of its own, and repairs none of its fields": (
        [[SEEN], [whole(S, "missing")], []],
        [(S, "max_age", "closed", 1, "r0", "r0", 1, "r2", "repaired", 2 * DAY),
         (S, None, "closed", 1, "r1", "r1", 1, "r2", "repaired", DAY)],
    ),
    "to be ignored is not to be repaired": (
        [[SEEN], [field(S, "max_age", ignored="until June")], []],
        [(S, "max_age", "closed", 1, "r0", "r0", 1, "r1", "ignored", None)],
    ),
    "to be declared no longer is not to be repaired": (
        [[SEEN], [whole(S, "orphaned")], []],
        [(S, "max_age", "closed", 1, "r0", "r0", 1, "r1", "undeclared", None)],
    ),
    "a change of the file that waits is no drift": (
        [[field(S, "max_age", drifted=False)], [], []], [],
    ),
    "what is hidden by an object that is gone was looked at": (
        [[SEEN], [whole(S, "missing")]],
        [(S, "max_age", "open", 1, "r0", "r0", 1, None, None, None), (S, None, "open", 1, "r1", "r1", 1, None, None, None)],
    ),
    "what waits to be finished was looked at": (
        [[SEEN], [whole(S, "pending")]], [(S, "max_age", "open", 1, "r0", "r0", 1, None, None, None)],
    ),
    "an object that could not be read was not looked at": (
        [[SEEN], [whole(S, "unknown")]], [(S, "max_age", "unseen", 1, "r0", "r0", 1, None, None, None)],
    ),
    "where its record cannot be used, nobody knows whether anything drifted": (
        [[whole(S, "unremembered"), SEEN], []], [],
    ),
    "a record that cannot be used closes nothing": (
        [[SEEN], [whole(S, "unremembered"), SEEN], [whole(S, "unremembered")], [SEEN]],
        [(S, "max_age", "open", 1, "r0", "r3", 2, None, None, None)],
    ),
    "what differs from the file alone, without a record of an apply, has no history": (
        [[field(S, "max_age", **{"class": "plain"})], []], [],
    ),
    "a record that is lost closes nothing": (
        [[SEEN], [field(S, "max_age", **{"class": "plain"})], [SEEN]], [(S, "max_age", "open", 1, "r0", "r2", 2, None, None, None)],
    ),
    "a topology that the target is to hold no longer takes its drift with it": (
        [[SEEN], AWAY, BARE, BARE], [(S, "max_age", "closed", 1, "r0", "r0", 1, "r2", "undeclared", None)],
    ),
    "so does one that has another name": (
        [[SEEN], RENAMED], [(S, "max_age", "closed", 1, "r0", "r0", 1, "r1", "undeclared", None)],
    ),
    "one that is declared again strays again": (
        [[SEEN], BARE, [SEEN]],
        [(S, "max_age", "closed", 1, "r0", "r0", 1, "r1", "undeclared", None),
         (S, "max_age", "open", 2, "r2", "r2", 1, None, None, None)],
    ),
    "files that nobody could read do not say that it is gone": (
        [[SEEN], BROKEN], [(S, "max_age", "unseen", 1, "r0", "r0", 1, None, None, None)],
    ),
    "an object that was taken out of the file has not been repaired": (
        [[SEEN], []], [(S, "max_age", "closed", 1, "r0", "r0", 1, "r1", "undeclared", None)],
    ),
    "of a night whose declarations were thrown away nobody can tell": (
        [[SEEN], []], [(S, "max_age", "closed", 1, "r0", "r0", 1, "r1", "repaired", DAY)],
    ),
}  # fmt: skip


WORLDS = 60
THINGS = [(f"stream/S{n}", path) for n in range(3) for path in (None, "max_age", "subjects")]
WHOLE = ("missing", "recreated", "foreign", "unknown", "pending", "orphaned", "unremembered")
LET_GO = "an object that was taken out of the file has not been repaired"
THROWN_AWAY = "of a night whose declarations were thrown away nobody can tell"


def declared(target: str, run: str) -> set[str] | None:
    """What a run knew of; None where that is kept no longer."""
    if target in CASES:
        return None if target == THROWN_AWAY else set() if (target, run) == (LET_GO, "r1") else {S, "stream/NEW"}
    random = Random(f"{target} {run}")
    return None if random.random() < 0.2 else {address for address, _ in THINGS if random.random() < 0.9}


def world(number: int) -> list[list[Row]]:
    """Up to eight looks at one target, in the order of their runs' names, which is not that of their times; and mostly one
    of the newest run, which may be about others alone."""
    random = Random(number)
    times = [hour / 12 for hour in random.sample(range(24), 8)]
    looks = [look("r2", night(2), *_found(random), target=f"t{number}")] if random.random() < 0.7 else []
    for n, time in enumerate(times):
        target, at = f"t{number}", night(time)
        match random.choice(["look"] * 6 + ["unreachable", "unnamed", "bare", "renamed", "none"]):
            case "look":
                looks.append(look(f"w{n}", at, *_found(random), target=target))
            case "unreachable":
                looks.append(unreachable(f"w{n}", at, target))
            case "unnamed":
                looks.append(unreachable(f"w{n}", at, target, None))
            case "bare":
                looks.append(undeclared(f"w{n}", at, target))
            case "renamed":
                looks.append(look(f"w{n}", at, target=target, topology="shop"))
    return looks


def _found(random: Random) -> list[Row]:
    found = []
    for address in ("stream/S0", "stream/S1", "stream/S2"):
        what = random.choice(["nothing", "fields", "fields", "whole", "fields, whole"])
        if "fields" in what:
            some = [path for path in ("max_age", "subjects") if random.random() < 0.6]
            found += [field(address, path, ignored=random.choice(["", "", "", "why"])) for path in some]
        if "whole" in what:
            found.append(whole(address, random.choice(WHOLE)))
    return found


def expected(looks: list[list[Row]]) -> list[tuple[Any, ...]]:
    """The definition: look by look, thing by thing."""
    told = sorted((one for one in looks if one[0]["standing"] != "unreachable"), key=lambda one: one[0]["at"])
    newest = max(looks, key=lambda one: (one[0]["at"], one[0]["run"]), default=[])
    rows: list[tuple[Any, ...]] = []
    for address, path in THINGS:
        stretches: list[Row] = []
        for one in told:
            _step(stretches, [row for row in one if row.get("address") == address], (address, path), one[0])
        for n, s in enumerate(stretches, 1):
            seconds = (s["closed"] - s["opened"]).total_seconds() if s.get("ended") == "repaired" else None
            state = "closed" if "closed" in s else "open" if _tells(newest, address) else "unseen"
            rows.append(
                (address, path, state, n, s["run"], s["last"], s["looks"], s.get("by"), s.get("ended"), seconds)
            )
    return sorted(rows, key=str)


def _tells(one: list[Row], address: str) -> bool:
    """Could this look say how the object stands to what was applied?"""
    return one[0].get("topology") == "orders" and one[0]["standing"] == "compared" and not _is_lost(one, address)


def _is_lost(rows: list[Row], address: str) -> bool:
    return any(row["standing"] in ("unknown", "unremembered") for row in rows if row.get("address") == address)


def _step(stretches: list[Row], rows: list[Row], thing: tuple[str, str | None], this: Row) -> None:
    address, path = thing
    mine = [row for row in rows if row.get("path") == path]
    is_open = bool(stretches) and "closed" not in stretches[-1]
    unsure = {"unknown", "unremembered", "pending"} | ({"missing", "foreign"} if path else set())
    if this.get("topology") != "orders":
        if is_open:
            stretches[-1] |= {"closed": this["at"], "by": this["run"], "ended": "undeclared"}
    elif any(row["drifted"] and not row.get("ignored") for row in mine) and not _is_lost(rows, address):
        if not is_open:
            stretches.append({"opened": this["at"], "run": this["run"], "looks": 0})
        stretches[-1] |= {"last": this["run"], "looks": stretches[-1]["looks"] + 1}
    elif is_open and not any(row["standing"] in unsure and "path" not in row for row in rows):
        ignored = any(row.get("ignored") for row in mine)
        is_let_go = any(row["standing"] == "orphaned" for row in rows)
        is_let_go |= address not in (declared(this["target"], this["run"]) or {address})
        why = "ignored" if ignored else "undeclared" if is_let_go else "repaired"
        stretches[-1] |= {"closed": this["at"], "by": this["run"], "ended": why}


Found = dict[str, list[tuple[Any, ...]]]


def by_target(history: DataFrame) -> Found:
    found: Found = {**{target: [] for target in CASES}, **{f"t{n}": [] for n in range(WORLDS)}}
    for row in history.where("state != 'watched'").select("target", *TOLD).collect():
        found[row[0]].append(tuple(row)[1:])
    return {target: sorted(rows, key=str) for target, rows in found.items()}


def _few_nights(target: str, nights: list[Night]) -> list[list[Row]]:
    return [_look(f"r{n}", night(n), found, target) for n, found in enumerate(nights)]


def _look(run: str, at: datetime, found: Night, target: str) -> list[Row]:
    match found:
        case "not reached":
            return unreachable(run, at, target)
        case "a file that says nothing":
            return unreachable(run, at, target, None)
        case "nothing is declared":
            return undeclared(run, at, target)
        case "another topology":
            return look(run, at, target=target, topology="shop")
    assert isinstance(found, list)
    return look(run, at, *found, target=target)


WORLDS_LOOKS = [world(n) for n in range(WORLDS)]


@pytest.fixture(scope="module")
def drift(spark: SparkSession) -> DataFrame:
    """Every case and every world a target of its own; in no order, and a third of it written twice."""
    rows = [row for looks in _told() for one in looks for row in one]
    Random(1).shuffle(rows)
    return frame(spark, rows + rows[::3])


def _told() -> list[list[list[Row]]]:
    return [*(_few_nights(target, nights) for target, (nights, _) in CASES.items()), *WORLDS_LOOKS]


@pytest.fixture(scope="module")
def desired(spark: SparkSession) -> DataFrame:
    """What the looks knew of, where that is still kept."""
    looks = {(one[0]["run"], one[0]["target"]) for looks in _told() for one in looks}
    there = [(run, target, declared(target, run)) for run, target in sorted(looks)]
    return wanted(spark, [(run, target, sorted(known)) for run, target, known in there if known is not None])


@pytest.fixture(scope="module")
def history(drift: DataFrame, desired: DataFrame) -> DataFrame:
    return drift_history(drift, desired).localCheckpoint()


@pytest.fixture(scope="module")
def found(history: DataFrame) -> Found:
    return by_target(history)


@pytest.mark.parametrize("case", CASES)
def test_what_a_few_nights_tell(found: Found, case: str) -> None:
    assert found[case] == sorted(CASES[case][1], key=str)


def test_it_says_since_when_and_how_often_a_topology_has_been_looked_at(history: DataFrame) -> None:
    case = "a target that was not reached closes nothing"
    (row,) = history.where("state = 'watched'").where(F.col("target") == case).collect()
    assert (row.opened_run, row.last_seen_run, row.looks, row.labels) == ("r0", "r2", 2, {"env": "prod"})


def test_history_is_what_its_definition_says(found: Found) -> None:
    worlds = {f"t{n}": expected(looks) for n, looks in enumerate(WORLDS_LOOKS)}
    assert {target: found[target] for target in worlds} == worlds


def test_going_on_from_an_earlier_history_gives_the_same(
    spark: SparkSession, drift: DataFrame, desired: DataFrame, found: Found
) -> None:
    """Earlier, some runs had not been written, were written late, or were written otherwise and then anew."""
    earlier = [row for n, looks in enumerate(WORLDS_LOOKS) for one in _as_it_was(Random(n), looks) for row in one]
    before = drift_history(frame(spark, earlier), desired).localCheckpoint()
    assert by_target(drift_history(drift, desired, before)) == found


def _as_it_was(random: Random, looks: list[list[Row]]) -> list[list[Row]]:
    in_order = sorted(looks, key=lambda one: one[0]["at"])
    match random.choice(["shorter", "shorter", "shorter", "gap", "otherwise", "nothing"]):
        case "shorter":
            return in_order[: random.randrange(1, len(in_order))]
        case "gap":
            return [one for one in in_order if random.random() < 0.6]
        case "otherwise":
            others: list[Row] = [{"at": night(3)}, {"quantities": {"changed": 9}}]
            other = random.choice(others)
            return [[one[0] | other] if random.random() < 0.3 else one for one in in_order]
        case _:
            return []
