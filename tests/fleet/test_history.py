"""What came of drift over many looks, told the same whatever the order in which they were written."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from reconciler.fleet.history import drift_history
from tests.fleet.drift_rows import Row, field, frame, look, night, unreachable, unremembered, whole

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
AWAY = None
"""A night in which the target was not reached."""

CASES: dict[str, tuple[list[list[Row] | None], list[tuple[Any, ...]]]] = {
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
}  # fmt: skip


WORLDS = 60
THINGS = [(f"stream/S{n}", path) for n in range(3) for path in (None, "max_age", "subjects")]
WHOLE = ("missing", "recreated", "foreign", "unknown", "pending", "orphaned")


def world(number: int) -> list[list[Row]]:
    """Up to eight looks at one target, in the order of their runs' names, which is not that of their times; and mostly one
    of the newest run, which may be about others alone."""
    random = Random(number)
    times = [hour / 12 for hour in random.sample(range(24), 8)]
    looks = [look("r2", night(2), *_found(random), target=f"t{number}")] if random.random() < 0.7 else []
    for n, time in enumerate(times):
        target, at = f"t{number}", night(time)
        match random.choice(["look"] * 6 + ["unreachable", "none"]):
            case "look":
                looks.append(look(f"w{n}", at, *_found(random), target=target))
            case "unreachable":
                looks.append(unreachable(f"w{n}", at, target=target))
    return looks


def _found(random: Random) -> list[Row]:
    found = []
    for address in ("stream/S0", "stream/S1", "stream/S2"):
        match random.choice(["well", "fields", "fields", "whole"]):
            case "fields":
                some = [path for path in ("max_age", "subjects") if random.random() < 0.6]
                found += [field(address, path, ignored=random.choice(["", "", "", "why"])) for path in some]
            case "whole":
                found.append(whole(address, random.choice(WHOLE)))
    return found


def expected(looks: list[list[Row]]) -> list[tuple[Any, ...]]:
    """The definition: look by look, thing by thing."""
    compared = sorted((one for one in looks if one[0]["standing"] == "compared"), key=lambda one: one[0]["at"])
    newest = max((one[0]["at"], one[0]["run"]) for one in looks)[1] if looks else None
    rows: list[tuple[Any, ...]] = []
    for address, path in THINGS:
        stretches: list[Row] = []
        for one in compared:
            _step(stretches, [row for row in one if row.get("address") == address], path, one[0])
        for n, s in enumerate(stretches, 1):
            seconds = (s["closed"] - s["opened"]).total_seconds() if s.get("ended") == "repaired" else None
            state = "closed" if "closed" in s else "open" if s["last"] == newest else "unseen"
            rows.append(
                (address, path, state, n, s["run"], s["last"], s["looks"], s.get("by"), s.get("ended"), seconds)
            )
    return sorted(rows, key=str)


def _step(stretches: list[Row], rows: list[Row], path: str | None, this: Row) -> None:
    mine = [row for row in rows if row.get("path") == path]
    is_open = bool(stretches) and "closed" not in stretches[-1]
    unsure = {"unknown", "pending"} | ({"missing", "foreign"} if path else set())
    if any(row["drifted"] and not row.get("ignored") for row in mine):
        if not is_open:
            stretches.append({"opened": this["at"], "run": this["run"], "looks": 0})
        stretches[-1] |= {"last": this["run"], "looks": stretches[-1]["looks"] + 1}
    elif is_open and not any(row["standing"] in unsure and "path" not in row for row in rows):
        ignored = any(row.get("ignored") for row in mine)
        why = "ignored" if ignored else "undeclared" if any(r["standing"] == "orphaned" for r in rows) else "repaired"
        stretches[-1] |= {"closed": this["at"], "by": this["run"], "ended": why}


Found = dict[str, list[tuple[Any, ...]]]


def by_target(history: DataFrame) -> Found:
    found: Found = {**{target: [] for target in CASES}, **{f"t{n}": [] for n in range(WORLDS)}}
    for row in history.where("state != 'watched'").select("target", *TOLD).collect():
        found[row[0]].append(tuple(row)[1:])
    return {target: sorted(rows, key=str) for target, rows in found.items()}


def _few_nights(target: str, nights: list[list[Row] | None]) -> list[list[Row]]:
    return [
        unreachable(f"r{n}", night(n), target) if found is AWAY else look(f"r{n}", night(n), *found, target=target)
        for n, found in enumerate(nights)
    ]


WORLDS_LOOKS = [world(n) for n in range(WORLDS)]


@pytest.fixture(scope="module")
def drift(spark: SparkSession) -> DataFrame:
    """Every case and every world a target of its own; in no order, and a third of it written twice."""
    told = [*(_few_nights(target, nights) for target, (nights, _) in CASES.items()), *WORLDS_LOOKS]
    rows = [row for looks in told for one in looks for row in one]
    Random(1).shuffle(rows)
    return frame(spark, rows + rows[::3])


@pytest.fixture(scope="module")
def history(drift: DataFrame) -> DataFrame:
    return drift_history(drift).localCheckpoint()


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


def test_going_on_from_an_earlier_history_gives_the_same(spark: SparkSession, drift: DataFrame, found: Found) -> None:
    """Earlier, some runs had not been written, were written late, or were written otherwise and then anew."""
    earlier = [row for n, looks in enumerate(WORLDS_LOOKS) for one in _as_it_was(Random(n), looks) for row in one]
    before = drift_history(frame(spark, earlier)).localCheckpoint()
    assert by_target(drift_history(drift, before)) == found


def _as_it_was(random: Random, looks: list[list[Row]]) -> list[list[Row]]:
    in_order = sorted(looks, key=lambda one: one[0]["at"])
    match random.choice(["shorter", "shorter", "shorter", "gap", "otherwise", "nothing"]):
        case "shorter":
            return in_order[: random.randrange(1, len(in_order))]
        case "gap":
            return [one for one in in_order if random.random() < 0.6]
        case "otherwise":
            other = random.choice([{"at": night(3)}, {"quantities": {"changed": 9}}])
            return [[one[0] | other] if random.random() < 0.3 else one for one in in_order]
        case _:
            return []
