"""What is said without an account is said with it too: a review may know less than a plan, and never knows better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.judging import VerdictsByAddress, verdicts_of_all
from reconciler.engine.offline import OfflineJudge, PartlyKnown, ServerDataNeeded, without_server_data
from reconciler.kinds import REGISTRY
from reconciler.model.wire.snapshot import SOME_CLUSTER
from tests.rules.test_rules import FILES, cases, prepared
from tests.support.topologies import scene

HAPPENED = ("raw", "facts", "limits", "usage")
"""What a case says of its account beyond what was applied to it."""
LOOKING = {
    f"{family}{number}"
    for family, numbers in {
        "CO": (301, 310, 312, 330, 601, 602, 603, 605, 607, 608), "EG": (302, 310, 312, 320, 321),
        "KV": (301, 303, 304, 305, 306, 307, 310, 312, 320, 601, 605),
        "OB": (206, 301, 303, 306, 310, 312, 320, 601, 605), "SG": (310, 312),
        "ST": (301, 302, 303, 304, 305, 306, 307, 310, 312, 320, 601, 603, 604, 605, 609),
        "XX": (209, *range(221, 229), 231, 234, 245, 557),
    }.items()
    for number in numbers
}  # fmt: skip
"""Rules that have to see the account for one of their cases; all others say without it what they say with it."""


def said(found: VerdictsByAddress) -> set[tuple[str, str]]:
    return {(one.code, str(address)) for address, verdicts in found.items() for one in verdicts}


def offline(case: dict[str, Any], folder: Path) -> tuple[set[tuple[str, str]], OfflineJudge]:
    """As a review has it: the configurations of the case, and an account in which nothing has happened."""
    calm = prepared({name: one for name, one in case.items() if name not in HAPPENED}, folder / "calm").view()
    watched = OfflineJudge(calm)
    return said(verdicts_of_all(without_server_data(prepared(case, folder).view()), REGISTRY, judge=watched)), watched


def online(case: dict[str, Any], folder: Path) -> set[tuple[str, str]]:
    return said(verdicts_of_all(prepared(case, folder).view(), REGISTRY))


@pytest.mark.parametrize("code", FILES)
def test_nothing_is_said_that_the_account_would_not_confirm_and_whoever_says_less_is_named(
    code: str, tmp_path: Path
) -> None:
    silent = set()
    for number, case in enumerate(cases(code)):
        (blind, watched), all_of_it = offline(case, tmp_path / str(number)), online(case, tmp_path / str(number))
        assert blind - all_of_it == set(), case["case"]
        named = {(code, str(address)) for code, addresses in watched.left.items() for address in addresses}
        assert all_of_it - blind - named == set(), case["case"]
        silent |= {one for one, _ in all_of_it - blind}
    assert (code in silent) == (code in LOOKING)


@pytest.mark.parametrize(
    "looking", [lambda seen: seen["state"], lambda seen: seen.get("num_pending", 0), list, len, dict]
)
def test_looking_at_something_unseen_is_noticed(looking: Any) -> None:
    with pytest.raises(ServerDataNeeded):
        looking(PartlyKnown({"config": {"name": "S"}, "state": {"messages": 3}}))


def test_configurations_are_seen() -> None:
    assert PartlyKnown({"config": {"name": "S"}})["config"] == {"name": "S"}


ONE = "streams: {S: {subjects: [s.*]}}"
REPLICATED = "streams: {S: {subjects: [s.*]}, T: {subjects: [t.*], num_replicas: 3}}"


@pytest.mark.parametrize(
    ("live", "cluster", "is_named"),
    [(ONE, SOME_CLUSTER, True), (ONE, "prod", False), (REPLICATED, SOME_CLUSTER, False)],
    ids=["nothing tells", "the files name it", "something has replicas"],
)
def test_whether_servers_form_a_cluster_is_known_or_named(
    live: str, cluster: str, is_named: bool, tmp_path: Path
) -> None:
    """A single server refuses three replicas, and a review asks no server."""
    wanted = live.replace("S: {subjects: [s.*]}", "S: {subjects: [s.*], num_replicas: 3}")
    view = scene(tmp_path, wanted, live, cluster=cluster).view()
    watched = OfflineJudge(view)
    verdicts_of_all(without_server_data(view), REGISTRY, judge=watched)
    assert ("ST511" in watched.left) == is_named
