"""`--stages canary:5m,10%,rest`: everybody is in exactly one stage, in their order, or nothing is applied."""

from __future__ import annotations

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.journeys.rollout.divide import RolloutMember, RolloutStage, divide_members
from reconciler.model.diagnostic import CannotContinue

MEMBERS = [RolloutMember(name=name) for name in ("dev", "canary", "prod-eu", "prod-us", "prod-ap")]
NAMES = st.lists(
    st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True).filter(lambda name: name != "rest"),
    min_size=1,
    max_size=40,
    unique=True,
)


def names(stages: list[RolloutStage]) -> list[tuple[str, ...]]:
    return [stage.members for stage in stages]


@given(NAMES, st.lists(st.floats(0.01, 100), max_size=4), st.data())
def test_every_member_is_in_exactly_one_stage_and_the_canary_is_first(
    found: list[str], shares: list[float], data: st.DataObject
) -> None:
    canary = data.draw(st.sampled_from(found))
    said = ",".join([canary, *(f"{share:.4f}%" for share in shares), "rest"])
    try:
        stages = divide_members(said, [RolloutMember(name=name) for name in found], "environment")
    except CannotContinue as problem:
        assert "nothing is left for stage" in str(problem), "there were fewer members than stages"
        return
    assert stages[0].members == (canary,)
    assert all(stage.members for stage in stages)
    assert [name for stage in stages[1:] for name in stage.members] == [name for name in found if name != canary]


@given(st.integers(1, 200), st.integers(1, 100))
def test_a_share_is_rounded_up_so_that_it_is_at_least_one(many: int, percent: int) -> None:
    members = [RolloutMember(name=f"m{number}") for number in range(many)]
    said = f"{percent}%,rest" if -(-many * percent // 100) < many else f"{percent}%"
    assert len(divide_members(said, members, "target")[0].members) == -(-many * percent // 100)


def test_a_share_is_one_of_those_that_are_left() -> None:
    assert names(divide_members("canary,50%,rest", MEMBERS, "environment")) == [
        ("canary",), ("dev", "prod-eu"), ("prod-us", "prod-ap"),
    ]  # fmt: skip


def test_a_pattern_takes_those_that_no_earlier_stage_has() -> None:
    assert names(divide_members("prod-us, prod-*, rest", MEMBERS, "environment")) == [
        ("prod-us",), ("prod-eu", "prod-ap"), ("dev", "canary"),
    ]  # fmt: skip


def test_targets_are_named_by_their_labels_too() -> None:
    members = [
        RolloutMember(name="eu", labels={"tier": "gold", "at": "a:b"}),
        RolloutMember(name="us", labels={"tier": "canary"}),
    ]
    assert names(divide_members("tier=canary,tier=g*", members, "target")) == [("us",), ("eu",)]
    (first, _) = divide_members("at=a:b:90s,rest", members, "target")
    assert (first.members, first.stay) == (("eu",), 90)
    assert names(divide_members("at=a:b,rest", members, "target")) == [("eu",), ("us",)]


def test_each_stage_has_its_own_time() -> None:
    assert [stage.stay for stage in divide_members("canary:1h30m,10%:500ms,rest", MEMBERS, "environment")] == [
        5400,
        0.5,
        0,
    ]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("canary", "no stage has `dev`, `prod-eu`, `prod-us`, `prod-ap`"),
        ("canry,rest", "no environment is meant by stage `canry`; did you mean `canary`?"),
        ("staging-*,rest", "no environment is meant by stage `staging-*`"),
        ("canary,canary,rest", "nothing is left for stage `canary`: stage `canary` has all of that already"),
        ("prod-*,prod-eu,rest", "nothing is left for stage `prod-eu`: stage `prod-*` has all of that already"),
        ("rest,10%", "nothing is left for stage `10%`: stage `rest` has all of that already"),
        ("100%,rest", "nothing is left for stage `rest`"),
        ("0%,rest", "stage `0%` is no share"),
        ("-5%,rest", "stage `-5%` is no share"),
        ("101%,rest", "stage `101%` is no share"),
        ("canary,,rest", "a stage is empty"),
        ("", "a stage is empty"),
        ("canary:soon,rest", "stage `canary:soon` ends in no time"),
        ("canary:5,rest", "stage `canary:5` ends in no time"),
        (":5m,rest", "a stage is empty"),
    ],
)
def test_wrong_stages_are_errors_that_say_what_to_write(said: str, why: str) -> None:
    with pytest.raises(CannotContinue) as caught:
        divide_members(said, MEMBERS, "environment")
    (found,) = caught.value.diagnostics
    assert found.message.startswith(f"--stages: {why}"), found.message
    assert found.message.endswith("Nothing was applied.")
    assert found.code == "XX927"
    assert found.fix


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from(["rest", "10%", "\x1b[2J", "\u202e", "*", ":5m", ","]), max_size=4).map(",".join)
)
def test_whatever_is_written_divides_everybody_or_is_told_without_moving_a_cursor(said: str) -> None:
    try:
        stages = divide_members(said, MEMBERS, "environment")
    except CannotContinue as problem:
        assert not {category(char) for char in str(problem)} & {"Cc", "Cf", "Zl", "Zp"}, repr(str(problem))
        return
    assert sorted(name for stage in stages for name in stage.members) == sorted(one.name for one in MEMBERS)
