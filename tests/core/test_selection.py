"""Patterns name resources by address or by label; one that names nothing is set right."""

from __future__ import annotations

import pytest

from reconciler.model.resource import Address
from reconciler.model.selection import common_pattern, likely_pattern, selects

TENANTS = [
    Address.of("stream", "TENANT-a"),
    Address.of("stream", "TENANT-b"),
    Address.of("consumer", "TENANT-a", "west"),
]
LABELS = [{"team": "orders", "rule": "a=b", "sort": "b/c=d"}, {"stage": "prod"}]


@pytest.mark.parametrize(
    ("pattern", "is_named"),
    [
        ("stream/TENANT-a", True), ("stream/*", True), ("stream/TENANT-b", False), ("team=orders", True),
        ("team=billing", False), ("stage=prod", False), ("stream/TENANT-a=b", False),
        ("rule=a=b", True), ("rule=a", False), ("sort=b/c=d", True), ("TENANT-a", False),
    ],
)  # fmt: skip
def test_a_pattern_names_by_address_or_by_label(pattern: str, is_named: bool) -> None:
    assert selects(pattern, TENANTS[0], LABELS[0]) is is_named


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("stream/TENENT-*", "stream/TENANT-*"), ("stream/TENNANT-*", "stream/TENANT-*"), ("stream/TENAN-*", "stream/TENANT-*"),
        ("steam/TENANT-*", "stream/TENANT-*"), ("stream/TENANT-A", "stream/TENANT-a"),
        ("consumr/*", "consumer/*"), ("consumer/*/wets", "consumer/*/west"), ("team=order", "team=orders"), ("stream/Z*", None),
        ("colour=red", None),
    ],
)  # fmt: skip
def test_what_was_probably_meant_is_said_with_its_wildcards(pattern: str, meant: str | None) -> None:
    assert likely_pattern(pattern, TENANTS, LABELS) == meant


def test_a_pattern_with_a_slash_before_its_sign_is_an_address() -> None:
    assert not selects("stream/A=b", Address.of("stream", "X"), {"stream/A": "b"})
    assert selects("stream/A=b", Address.of("stream", "A=b"), {})


def test_several_addresses_are_named_by_what_they_begin_with() -> None:
    assert common_pattern(["stream/TENANT-b", "stream/TENANT-a", "stream/TENANT-c"]) == "stream/TENANT-*"


def test_an_address_that_begins_as_another_one_is_named_with_it() -> None:
    assert common_pattern(["stream/A", "stream/AB"]) == "stream/A*"


def test_addresses_of_two_kinds_have_no_pattern() -> None:
    assert common_pattern(["stream/S", "kv_bucket/B"]) is None
