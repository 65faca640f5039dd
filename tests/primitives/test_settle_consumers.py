"""The silent rewrites of consumer configurations, one by one; that servers really make them is proven beside this."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.kinds.consumer_config.consumer_config import canonical, settle
from reconciler.kinds.fields.canonical_form import Settled
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

S, M = 1_000_000_000, 60_000_000_000
PINNED = {"priority_policy": "pinned_client", "priority_groups": ["jobs"]}


def settled(body: dict[str, Any], version: str = "2.15", **more: Any) -> Settled:
    limits = more.pop("limits", {})
    return settle(body, Target(version=Version.parse(version), limits=limits), **more)


def written(made: Settled) -> dict[str, Any]:
    """Without what the server fills in by itself."""
    return {name: value for name, value in made.config.items() if name not in made.filled}


def test_names_are_not_part_of_the_configuration() -> None:
    assert canonical({"name": "c", "durable_name": "c", "ack_policy": "explicit"}) == {"ack_policy": "explicit"}


@pytest.mark.parametrize("policy", ["explicit", "all"])
def test_thirty_seconds_is_the_default_ack_wait_of_policies_that_acknowledge(policy: str) -> None:
    assert canonical({"ack_policy": policy, "ack_wait": 30 * S}) == {"ack_policy": policy}


def test_an_ack_wait_without_acknowledgements_stays() -> None:
    assert canonical({"ack_wait": 30 * S}) == {"ack_wait": 30 * S}


def test_the_first_backoff_is_the_ack_wait() -> None:
    body = {"ack_policy": "explicit", "ack_wait": M, "backoff": [S, 2 * S]}
    assert written(settled(body)) == {"ack_policy": "explicit", "ack_wait": S, "backoff": [S, 2 * S]}


def test_a_pinned_client_is_let_go_after_two_minutes() -> None:
    assert settled(PINNED).config["priority_timeout"] == 2 * M


def test_the_flow_control_policy_brings_flow_control_and_a_heartbeat() -> None:
    config = settled({"ack_policy": "flow_control", "deliver_subject": "d"}).config
    assert (config["flow_control"], config["idle_heartbeat"]) == (True, S)


def test_one_filter_in_a_list_stays_a_list() -> None:
    assert canonical({"filter_subjects": ["a"]}) == {"filter_subjects": ["a"]}


def test_a_sample_frequency_is_what_the_server_shows() -> None:
    assert canonical({"sample_freq": "30%"}) == {"sample_freq": "30%"}


def test_no_limit_of_pending_acknowledgements_is_not_the_same_as_saying_nothing() -> None:
    assert canonical({"max_ack_pending": -1}) == {"max_ack_pending": -1}


def test_the_zero_time_is_no_pause() -> None:
    assert canonical({"pause_until": "0001-01-01T00:00:00Z"}) == {}


ACKED = {"ack_policy": "explicit"}


@pytest.mark.parametrize(
    ("body", "more", "filled"),
    [
        (ACKED, {}, 1000),
        (ACKED, {"limits": {"max_ack_pending": 100}}, 100),
        (ACKED, {"limits": {"max_ack_pending": 5000}}, 1000),
        (ACKED, {"limits": {"max_ack_pending": -1}}, 1000),
        (ACKED, {"parent": {"consumer_limits": {"max_ack_pending": 5000}}}, 5000),
        ({}, {}, None),
    ],
)
def test_left_out_max_ack_pending_is_the_streams_the_accounts_or_a_thousand(
    body: dict[str, Any], more: dict[str, Any], filled: int | None
) -> None:
    assert settled(body, **more).filled["max_ack_pending"].value == filled


@pytest.mark.parametrize(
    ("body", "field", "filled"),
    [
        ({}, "max_waiting", 512),
        ({"deliver_subject": "d"}, "max_waiting", None),
        ({}, "max_batch", None),
        ({}, "inactive_threshold", None),
    ],
)
def test_a_field_left_out_is_what_a_stock_server_fills_in(body: dict[str, Any], field: str, filled: int | None) -> None:
    made = settled(body)
    assert (made.filled[field].value, made.config.get(field)) == (filled, filled)


@pytest.mark.parametrize(
    ("field", "echoed", "possible"),
    [
        ("max_ack_pending", 100, True),
        ("max_ack_pending", 1001, False),
        ("max_ack_pending", -1, False),
        ("max_batch", 50, True),
        ("max_waiting", 300, False),
        ("inactive_threshold", M, False),
    ],
)
def test_a_server_with_limits_of_its_own_fills_in_less(field: str, echoed: int, possible: bool) -> None:
    assert settled(ACKED).filled[field].could_be(echoed) is possible


def test_an_inherited_inactive_threshold_counts_as_left_out() -> None:
    parent = {"consumer_limits": {"inactive_threshold": M}}
    assert settled({}, parent=parent).filled["inactive_threshold"].value == M


def test_what_is_written_is_not_filled_in() -> None:
    assert not settled({"max_ack_pending": 5, "max_waiting": 5, "max_batch": 5, "inactive_threshold": M}).filled
