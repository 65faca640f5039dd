"""The tables beside the fields: versions, values, levels, patches, and how fast canonical form is."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from reconciler.documents.schema.for_editors import described_fields
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.consumer_config.consumer_config import ConsumerConfig
from reconciler.kinds.fields.canonical_form import update_body
from reconciler.kinds.fields.known import Known, Update, unknown_fields, unknown_values
from reconciler.kinds.fields.times import in_utc, moment
from reconciler.kinds.stream_config import stream_config
from reconciler.kinds.stream_config.stream_config import StreamConfig
from reconciler.model.wire.version import Version
from tests.primitives.echo import Request, Server
from tests.support.accounts import Account
from tests.support.versions import on_every_version

YOUNG: dict[str, Any] = {
    "allow_msg_ttl": True,
    "allow_msg_counter": True,
    "allow_atomic": True,
    "allow_msg_schedules": True,
    "persist_mode": "async",
    "allow_batched": True,
    "sources": [{"name": "A", "consumer": {"name": "c", "deliver_subject": "d"}}],
}


@on_every_version
def test_servers_drop_or_refuse_exactly_the_fields_they_are_too_old_for(account: Account) -> None:
    with Server(account) as server:
        replies = {field: server.create_streams({field: {field: value}})[0] for field, value in YOUNG.items()}
    lost = {field for field, reply in replies.items() if not reply.config or reply.config.get(field) != YOUNG[field]}
    assert lost == {f for f, value in YOUNG.items() if unknown_fields(StreamConfig, {f: value}, server.version)}
    silently = {field for field in lost if replies[field].config}
    assert silently == (lost if server.version < Version(2, 12) else set())


@on_every_version
@pytest.mark.parametrize(
    "body", [{"priority_policy": "prioritized", "priority_groups": ["a"]}, {"ack_policy": "flow_control"}]
)
def test_servers_refuse_exactly_the_values_they_are_too_old_for(account: Account, body: dict[str, Any]) -> None:
    push = {"deliver_subject": "d"} if "ack_policy" in body else {}
    with Server(account) as server:
        server.create_streams({"S": {}})
        (reply,) = server.consumers("S", {"c": {**body, **push}})
    assert (reply.err_code == 10025) == bool(unknown_values(ConsumerConfig, body, server.version))


def test_nested_fields_are_named_with_their_place() -> None:
    body = {"sources": [{"name": "A"}, {"name": "B", "consumer": {"name": "c"}}]}
    assert unknown_fields(StreamConfig, body, Version(2, 12)) == ["sources[1].consumer"]


@pytest.mark.parametrize(
    ("config", "level"),
    [
        ({}, 0),
        ({"allow_msg_ttl": False, "persist_mode": "default"}, 0),
        ({"subject_delete_marker_ttl": 1}, 1),
        ({"persist_mode": "async"}, 2),
        ({"allow_batched": True}, 4),
        ({"mirror": {"name": "A", "consumer": {"name": "c"}}}, 4),
    ],
)
def test_a_stream_needs_the_level_of_its_youngest_field(config: dict[str, Any], level: int) -> None:
    assert stream_config.required_level(config) == level


def test_every_field_of_the_models_is_known() -> None:
    terms = {"protect", "labels", "unmanaged", "allow"}
    assert StreamConfig.model_fields.keys() - terms == stream_config.FIELDS.keys()
    assert ConsumerConfig.model_fields.keys() - terms == consumer_config.FIELDS.keys()


@on_every_version
def test_every_field_a_server_echoes_is_known(account: Account) -> None:
    with Server(account) as server:
        server.create_streams({"S": {}})
        server.consumers("S", {"c": {}})
        (stream,), (consumer,) = server.listed_streams().values(), server.listed_consumers("S").values()
    assert stream.keys() - stream_config.FIELDS.keys() == {"name"}
    assert consumer.keys() - consumer_config.FIELDS.keys() == {"name", "durable_name"}


def test_every_field_of_the_models_is_explained() -> None:
    for model in (StreamConfig, ConsumerConfig):
        assert model.model_fields.keys() - described_fields()[model.__name__].keys() == set()


@pytest.mark.parametrize(
    ("version", "rule"),
    [
        ("2.10", Update.FIXED),
        ("2.11.9", Update.FIXED),
        ("2.12.4", Update.FIXED),
        ("2.12.5", Update.FREE),
        ("3.0", Update.FREE),
    ],
)
def test_what_an_update_may_do_is_looked_up_by_version(version: str, rule: Update) -> None:
    assert stream_config.FIELDS["max_consumers"].updates(Version.parse(version)) == rule


def test_a_field_fixed_but_for_some_values_moves_between_those() -> None:
    about = stream_config.FIELDS["retention"]
    changes = [(None, "interest"), ("interest", None), (None, "workqueue"), ("workqueue", "interest")]
    assert [about.may_become(*change, Version(2, 15)) for change in changes] == [True, True, False, False]


def test_a_one_way_field_may_only_be_turned_on() -> None:
    about = Known(update=Update.ONE_WAY)
    assert (about.may_become(None, True, Version(2, 15)), about.may_become(True, None, Version(2, 15))) == (True, False)


def test_a_patch_keeps_what_it_does_not_name() -> None:
    raw = {"name": "S", "future": 1, "max_age": 5, "metadata": {"_nats.ver": "x", "team": "a", "old": "b"}}
    assert update_body(raw, {"max_age": 7, "metadata": {"team": "c"}}, ["metadata.old", "description"]) == {
        "name": "S", "future": 1, "max_age": 7, "metadata": {"_nats.ver": "x", "team": "c"},
    }  # fmt: skip


def test_a_patch_leaves_the_live_configuration_untouched() -> None:
    raw = {"metadata": {"team": "a"}}
    update_body(raw, {"metadata": {"b": "c"}}, ["metadata.team"])
    assert raw == {"metadata": {"team": "a"}}


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("2026-03-01T10:00:00.500+02:00", "2026-03-01T08:00:00.5Z"),
        ("2025-12-31T23:30:00.123456789-05:30", "2026-01-01T05:00:00.123456789Z"),
        ("2024-02-29T00:00:00.000Z", "2024-02-29T00:00:00Z"),
    ],
)
def test_a_time_has_one_spelling(written: str, spelled: str) -> None:
    assert in_utc(written) == spelled


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-01T08:00:00.5Z",
        "2026-03-01T08:00:00.500000000Z",
        "2026-03-01T17:00:00.5+09:00",
        "2026-03-01T04:30:00.5-03:30",
    ],
)
def test_a_time_is_one_moment_in_whatever_zone_it_is_written(written: str) -> None:
    assert moment(written) == datetime(2026, 3, 1, 8, 0, 0, 500_000, tzinfo=UTC)


def test_a_time_in_another_zone_needs_no_fraction() -> None:
    assert moment("2026-03-01T17:00:00+09:00") == moment("2026-03-01T08:00:00Z")


def test_values_in_human_units_are_stored_as_the_server_wants_them() -> None:
    spec = StreamConfig.model_validate({"max_age": "7d", "max_bytes": "20GiB", "max_msgs": "1_000"})
    assert spec.model_dump(mode="json", exclude_unset=True) == {
        "max_age": 604_800_000_000_000, "max_bytes": 20 << 30, "max_msgs": 1000,
    }  # fmt: skip


@pytest.mark.parametrize(
    "wrong", [{"storage": "FILE"}, {"max_age": "7 days"}, {"rollup_hdrs": True}, {"metadata": {"a": 1}}]
)
def test_what_no_server_understands_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StreamConfig.model_validate(wrong)


@pytest.mark.parametrize("written", [30, "30", "30%"])
def test_a_sample_frequency_may_be_written_as_a_number(written: object) -> None:
    assert str(ConsumerConfig.model_validate({"sample_freq": written}).sample_freq).removesuffix("%") == "30"


def test_thousands_of_live_objects_become_canonical_in_a_moment(account: Account) -> None:
    """Against a floor measured in the same run: one JSON round trip of the same configuration."""
    body = {
        "subjects": ["a.>"],
        "max_age": 10**12,
        "metadata": {"team": "a"},
        "sources": [{"name": "X", "filter_subject": "b"}],
    }
    with Server(account) as server:
        server.create_streams({"S": body})
        (answer,) = server.ask([Request("STREAM.INFO.S", {})])
    echo, text = answer["config"], json.dumps(answer)
    rounds = [(_seconds(lambda: json.loads(text)), _seconds(lambda: stream_config.canonical(echo))) for _ in range(40)]
    floor, taken = (min(times) for times in zip(*rounds, strict=True))  # in turns: both meet the same busy machine
    assert taken < 2 * floor, f"canonical form took {taken / floor:.1f} times reading the answer"


def _seconds(work: Any) -> float:
    start = time.process_time()
    for _ in range(200):
        work()
    return time.process_time() - start
