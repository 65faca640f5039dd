"""`expect` is about the place that answers, and stops everything where that is another one."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from reconciler.engine.compare import refuse_wrong_target, target_mismatches
from reconciler.model.diagnostic import CannotContinue, SourceSpan, about_topology
from reconciler.model.topology import Expect, Topology
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from reconciler.report.document.headline import topology_and_account

HERE = Target(version=Version(2, 12, 3), account="ORDERS", cluster="eu", domain="hub")


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        ({}, []),
        ({"cluster": "eu", "domain": "hub", "account": "ORDERS", "min_server": "2.12.3"}, []),
        ({"cluster": "us"}, [("cluster", "expected cluster `us`, but `eu` answered")]),
        ({"domain": "leaf"}, [("domain", "expected domain `leaf`, but `hub` answered")]),
        ({"account": "B"}, [("account", "expected account `B`, but `ORDERS` answered")]),
        ({"min_server": "2.12.4"}, [("min_server", "expected nats-server 2.12.4 or newer, but 2.12.3 answered")]),
    ],
)
def test_each_expectation_is_compared_with_what_answers(expected: dict[str, Any], wrong: list[tuple[str, str]]) -> None:
    assert target_mismatches(Expect(**expected), HERE) == wrong


KEYED = replace(HERE, account="A" * 56, account_name="ORDERS")


@pytest.mark.parametrize("name", ["ORDERS", "A" * 56])
def test_an_account_with_a_key_is_known_by_its_name_as_well(name: str) -> None:
    assert target_mismatches(Expect(account=name), KEYED) == []
    assert topology_and_account("orders", KEYED) == "orders → account ORDERS at eu, domain hub (nats-server 2.12.3)"


def test_both_names_of_another_account_are_said() -> None:
    ((_, said),) = target_mismatches(Expect(account="B"), KEYED)
    assert said == f"expected account `B`, but `ORDERS` alias `{'A' * 56}` answered"


def test_where_nothing_is_there_to_be_compared_it_is_another_place() -> None:
    assert target_mismatches(Expect(cluster="eu"), Target(version=Version(2, 12))) == [
        ("cluster", "expected cluster `eu`, but none answered")
    ]


def test_everything_that_is_wrong_is_said_at_once_as_errors() -> None:
    with pytest.raises(CannotContinue) as refused:
        refuse_wrong_target(Topology(name="t", expect=Expect(cluster="us", account="B")), HERE)
    assert [(one.code, one.name, one.is_error) for one in refused.value.diagnostics] == [
        ("XX105", "wrong-place", True)
    ] * 2
    assert [one.message for one in refused.value.diagnostics] == [
        "expected cluster `us`, but `eu` answered. Nothing was changed.",
        "expected account `B`, but `ORDERS` answered. Nothing was changed.",
    ]
    assert refused.value.diagnostics[0].fix == "check the context or URL, or correct `expect`"


def test_an_account_that_the_server_may_not_tell_is_a_permission() -> None:
    with pytest.raises(CannotContinue) as refused:
        refuse_wrong_target(Topology(name="t", expect=Expect(account="B")), Target(version=Version(2, 12)))
    assert "allow this user to publish to $SYS.REQ.USER.INFO" in str(refused.value.diagnostics[0].fix)


def test_what_is_wrong_is_told_where_it_stands() -> None:
    def where(path: str) -> SourceSpan:
        return SourceSpan(path, 1, 1, 1, 1)

    with pytest.raises(CannotContinue) as refused:
        refuse_wrong_target(Topology(name="t", expect=Expect(domain="leaf"), where=where), HERE)
    assert refused.value.diagnostics[0].span == where("expect.domain")


def test_the_right_place_is_let_pass() -> None:
    refuse_wrong_target(Topology(name="t", expect=Expect(cluster="eu")), HERE)


def test_a_reason_comes_back_whole_from_another_process() -> None:
    with pytest.raises(CannotContinue) as refused, about_topology("orders"):
        raise CannotContinue.because("LE101", "no-account", "it did not answer", fix="try again")
    there = pickle.loads(pickle.dumps(refused.value))
    assert (str(there), there.diagnostics, there.topology) == (
        "it did not answer", refused.value.diagnostics, "orders",
    )  # fmt: skip
