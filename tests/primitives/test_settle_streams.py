"""The silent rewrites of stream configurations, one by one; that servers really make them is proven beside this."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.kinds.fields.canonical_form import Settled
from reconciler.kinds.stream_config.stream_config import canonical, settle
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

S, M = 1_000_000_000, 60_000_000_000
ORIGIN = {"mirror": {"name": "ORIGIN"}}


def settled(body: dict[str, Any], version: str = "2.15", **more: Any) -> Settled:
    return settle(body, Target(version=Version.parse(version)), name="ORDERS", **more)


def written(made: Settled) -> dict[str, Any]:
    """Without what the server fills in by itself."""
    return {name: value for name, value in made.config.items() if name not in made.filled}


def test_a_stream_without_subjects_stores_its_own_name() -> None:
    assert written(settled({})) == {"subjects": ["ORDERS"]}


def test_a_mirror_has_no_subjects() -> None:
    assert written(settled(ORIGIN)) == ORIGIN


@pytest.mark.parametrize("spelled", [None, "", [], {}, False])
def test_empty_equals_absent(spelled: object) -> None:
    assert written(settled({"placement": spelled})) == {"subjects": ["ORDERS"]}


def test_a_default_spelled_out_equals_absent() -> None:
    assert canonical({"max_msgs": -1, "storage": "file", "num_replicas": 1, "max_age": 0}) == {}


@pytest.mark.parametrize("limit", ["max_msgs", "max_bytes", "max_consumers", "max_msgs_per_subject", "max_msg_size"])
def test_a_negative_limit_is_no_limit(limit: str) -> None:
    assert canonical({limit: -5}) == {}


def test_delete_markers_turn_on_ttls_and_roll_ups_and_allow_purging() -> None:
    config = settled({"subject_delete_marker_ttl": S, "deny_purge": True}).config
    assert {k: config.get(k) for k in ("allow_msg_ttl", "allow_rollup_hdrs", "deny_purge")} == {
        "allow_msg_ttl": True, "allow_rollup_hdrs": True, "deny_purge": None,
    }  # fmt: skip


def test_schedules_turn_on_roll_ups_and_allow_purging() -> None:
    assert written(settled({"allow_msg_schedules": True, "deny_purge": True, "subjects": ["a"]})) == {
        "allow_msg_schedules": True, "allow_rollup_hdrs": True, "subjects": ["a"],
    }  # fmt: skip


def test_sealing_stops_everything() -> None:
    assert written(settled({"sealed": True, "max_age": M, "allow_rollup_hdrs": True, "subjects": ["a"]})) == {
        "sealed": True, "discard": "new", "deny_delete": True, "deny_purge": True, "subjects": ["a"],
    }  # fmt: skip


@pytest.mark.parametrize(("origin", "direct"), [({"allow_direct": True}, True), ({}, None)])
def test_a_mirror_takes_direct_reads_from_its_origin(origin: dict[str, Any], direct: bool | None) -> None:
    assert settled({**ORIGIN, "mirror_direct": direct is None}, origin=origin).config.get("mirror_direct") == direct


def test_a_mirror_of_another_account_keeps_what_is_written() -> None:
    body = {"mirror": {"name": "ORIGIN", "external": {"api": "$JS.hub.API"}}, "mirror_direct": True}
    assert written(settled(body, origin={})) == body


def test_republishing_everything_means_the_transformed_subjects() -> None:
    body = {
        "subjects": ["a.*"],
        "subject_transform": {"src": "a.*", "dest": "b.{{wildcard(1)}}"},
        "republish": {"dest": ">"},
    }
    assert settled(body).config["republish"] == {"src": "b.{{wildcard(1)}}", "dest": "b.{{wildcard(1)}}"}


def test_a_transform_without_destination_changes_nothing_and_is_shown() -> None:
    assert canonical({"subject_transform": {"src": "a.>", "dest": ""}}) == {"subject_transform": {"src": "a.>"}}


def test_start_times_have_one_spelling() -> None:
    source = {"name": "A", "opt_start_time": "2026-03-01T10:00:00.500+02:00"}
    assert canonical({"sources": [source]}) == {"sources": [{"name": "A", "opt_start_time": "2026-03-01T08:00:00.5Z"}]}


def test_the_servers_own_metadata_is_not_part_of_the_configuration() -> None:
    assert canonical({"metadata": {"_nats.ver": "2.15.1", "_nats.level": "5", "_nats.req.level": "0"}}) == {}


def test_a_field_of_a_newer_server_is_kept_only_when_it_says_something() -> None:
    assert canonical({"allow_time_travel": True, "allow_more": False, "new_limits": {}}) == {"allow_time_travel": True}


@pytest.mark.parametrize(
    ("body", "server", "filled"),
    [
        ({}, "2.12", 2 * M),
        ({"max_age": M}, "2.12", M),
        ({"max_age": 5 * M}, "2.12", 2 * M),
        (ORIGIN, "2.12", None),
        ({"sources": [{"name": "A"}]}, "2.12", 2 * M),
        ({"sources": [{"name": "A"}]}, "2.14", None),
    ],
)
def test_a_left_out_duplicate_window_is_two_minutes_or_max_age(
    body: dict[str, Any], server: str, filled: int | None
) -> None:
    made = settled(body, server)
    assert (made.filled["duplicate_window"].value, made.config.get("duplicate_window")) == (filled, filled)


@pytest.mark.parametrize(
    ("body", "echoed", "possible"),
    [({}, 2 * M, True), ({}, M, True), ({}, 5 * M, False), ({}, None, False), ({"max_age": M}, 2 * M, False)],
)
def test_a_server_with_a_limit_of_its_own_fills_in_less(
    body: dict[str, Any], echoed: int | None, possible: bool
) -> None:
    assert settled(body).filled["duplicate_window"].could_be(echoed) is possible


def test_a_written_duplicate_window_is_not_filled_in() -> None:
    assert "duplicate_window" not in settled({"duplicate_window": M}).filled
