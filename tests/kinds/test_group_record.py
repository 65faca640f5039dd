"""Records of groups: the reference's own bytes, every historic spelling, and patches that touch the membership alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kinds.group_records.group_record import (
    Record,
    canonical,
    key,
    new_record_text,
    patched_record_text,
    read_record,
    split_key,
)
from reconciler.model.wire.snapshot import Entry

ELASTIC: list[tuple[dict[str, Any], str]] = [
    (
        {"max_members": 10, "partitioning_filters": [{"filter": "foo.*", "partitioning_wildcards": [1]}]},
        '{"max_members":10,"partitioning_filters":[{"filter":"foo.*","partitioning_wildcards":[1]}]}',
    ),
    (
        {"max_members": 10, "members": ["m1", "m2"]},
        '{"max_members":10,"partitioning_filters":null,"members":["m1","m2"]}',
    ),
    (
        {
            "max_members": 4,
            "partitioning_filters": [
                {"filter": "foo.*", "partitioning_wildcards": [1]},
                {"filter": "bar.>", "partitioning_wildcards": []},
            ],
            "max_buffered_msg": 1000,
            "max_buffered_bytes": 1048576,
            "member_mappings": {"a": [0, 3], "b": [1, 2]},
        },
        '{"max_members":4,"partitioning_filters":[{"filter":"foo.*","partitioning_wildcards":[1]},'
        '{"filter":"bar.\\u003e","partitioning_wildcards":[]}],"max_buffered_msg":1000,"max_buffered_bytes":1048576,'
        '"member_mappings":[{"member":"a","partitions":[0,3]},{"member":"b","partitions":[1,2]}]}',
    ),
]
STATIC: list[tuple[dict[str, Any], str]] = [
    ({"max_members": 10, "members": ["m1", "m2"]}, '{"max_members":10,"members":["m1","m2"]}'),
    (
        {"max_members": 4, "filters": ["foo.*", "bar.*"], "members": ["m1", "m2"]},
        '{"max_members":4,"filters":["foo.*","bar.*"],"members":["m1","m2"]}',
    ),
    (
        {"max_members": 4, "member_mappings": {"a": [0, 1], "b": [2, 3]}},
        '{"max_members":4,"member_mappings":[{"member":"a","partitions":[0,1]},{"member":"b","partitions":[2,3]}]}',
    ),
]


def stored(text: str) -> Record:
    return read_record(Entry(text.encode(), 7))


def patched(text: str, **membership: Any) -> str:
    return patched_record_text(stored(text), {"max_members": 4, **membership})


@pytest.mark.parametrize(("config", "text"), ELASTIC)
def test_an_elastic_record_is_written_byte_by_byte_as_the_reference_does(config: dict[str, Any], text: str) -> None:
    assert new_record_text(config, elastic=True) == text


@pytest.mark.parametrize(("config", "text"), STATIC)
def test_a_static_record_is_written_byte_by_byte_as_the_reference_does(config: dict[str, Any], text: str) -> None:
    assert new_record_text(config, elastic=False) == text


@pytest.mark.parametrize(("config", "text"), ELASTIC + STATIC)
def test_the_references_records_are_understood(config: dict[str, Any], text: str) -> None:
    record = stored(text)
    assert (record.config, record.legacy, record.broken) == (config, (), None)


def test_the_characters_go_escapes_are_escaped() -> None:
    config = {"max_members": 1, "filters": ["a.>", "b<c&d"]}
    assert new_record_text(config, elastic=False) == '{"max_members":1,"filters":["a.\\u003e","b\\u003cc\\u0026d"]}'


def test_letters_of_other_languages_are_not_escaped() -> None:
    assert (
        new_record_text({"max_members": 1, "filters": ["größe"]}, elastic=False)
        == '{"max_members":1,"filters":["größe"]}'
    )


@pytest.mark.parametrize(
    ("text", "legacy"),
    [
        ('{"max_members":4,"filter":"foo.*","partitioning_wildcards":[1]}', ("filter", "partitioning_wildcards")),
        ('{"max_members":4,"filter":"foo.*","partitioning-wildcards":[1]}', ("filter", "partitioning-wildcards")),
        ('{"max_members":4,"msg-buffer-size":10}', ("msg-buffer-size",)),
        ('{"max_members":4,"member-mappings":[{"member":"a","partitions":[0]}]}', ("member-mappings",)),
        ('{"max_members":4,"filter":"foo.>","members":["a"]}', ("filter",)),
    ],
)
def test_a_historic_spelling_is_reported(text: str, legacy: tuple[str, ...]) -> None:
    assert stored(text).legacy == legacy


@pytest.mark.parametrize("filter_", ['""', '">"', "null"])
def test_an_old_static_filter_of_everything_does_no_harm(filter_: str) -> None:
    assert stored(f'{{"max_members":4,"filter":{filter_},"members":["a"]}}').legacy == ()


@pytest.mark.parametrize("wildcards", ["partitioning_wildcards", "partitioning-wildcards"])
def test_the_filter_of_the_first_versions_means_the_same(wildcards: str) -> None:
    record = stored(f'{{"max_members":4,"filter":"foo.*","{wildcards}":[1],"members":["a"]}}')
    assert record.config["partitioning_filters"] == [{"filter": "foo.*", "partitioning_wildcards": [1]}]


def test_hyphenated_limits_and_mappings_mean_the_same() -> None:
    text = '{"max_members":1,"msg-buffer-size":10,"member-mappings":[{"member":"a","partitions":[0]}]}'
    assert stored(text).config == {"max_members": 1, "max_buffered_msg": 10, "member_mappings": {"a": [0]}}


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "7",
        '{"max_members":4,"members":7}',
        '{"max_members":4,"member_mappings":[{"partitions":[0]}]}',
        '{"max_members":4,"partitioning_filters":["a"]}',
    ],
)
def test_a_record_broken_by_hand_is_explained(text: str) -> None:
    assert stored(text).broken


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "max_members",
                        "members",
                        "member_mappings",
                        "filters",
                        "partitioning_filters",
                        "filter",
                        "max_buffered_msg",
                        "member",
                        "partitions",
                        "partitioning_wildcards",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=8,
    )
)
def test_whatever_stands_under_a_key_never_crashes(value: Any) -> None:
    assert isinstance(stored(json.dumps(value)), Record)


@pytest.mark.parametrize("spelling", ["-1", "0"])
def test_limits_that_say_none_are_absent(spelling: str) -> None:
    assert stored(f'{{"max_members":4,"max_buffered_msg":{spelling}}}').config == {"max_members": 4}


def test_a_member_listed_twice_counts_once() -> None:
    assert canonical({"max_members": 4, "members": ["a", "b", "a"]})["members"] == ["a", "b"]


def test_a_new_membership_leaves_every_other_key_as_spelled() -> None:
    text = '{"max_members":4,"partitioning_filters":[],"max_buffered_msg":-1,"their_own":{"x":null},"members":["a"]}'
    assert patched(text, members=["a", "b"]) == text.replace('["a"]', '["a","b"]')


def test_null_stays_null() -> None:
    text = '{"max_members":4,"partitioning_filters":null,"members":["a"]}'
    assert patched(text, members=["b"]) == '{"max_members":4,"partitioning_filters":null,"members":["b"]}'


def test_an_emptied_membership_is_left_out() -> None:
    assert patched('{"max_members":4,"partitioning_filters":null,"members":["a"]}') == (
        '{"max_members":4,"partitioning_filters":null}'
    )


def test_a_first_membership_stands_at_the_end() -> None:
    assert patched('{"max_members":4,"partitioning_filters":null}', members=["a"]) == (
        '{"max_members":4,"partitioning_filters":null,"members":["a"]}'
    )


def test_mappings_replace_members() -> None:
    text = '{"max_members":4,"partitioning_filters":null,"members":["a"]}'
    assert patched(text, member_mappings={"a": [0, 1, 2, 3]}) == (
        '{"max_members":4,"partitioning_filters":null,"member_mappings":[{"member":"a","partitions":[0,1,2,3]}]}'
    )


def test_escapes_survive_a_patch() -> None:
    text = (
        '{"max_members":4,"partitioning_filters":[{"filter":"a.\\u003e","partitioning_wildcards":[]}],"members":["a"]}'
    )
    assert patched(text, members=["a"]) == text


def test_a_group_is_found_by_its_key() -> None:
    assert split_key(key("ORDERS", "billing")) == ("ORDERS", "billing")


@pytest.mark.parametrize("text", ["ORDERS", ".billing", "ORDERS."])
def test_a_key_that_is_no_groups_is_told(text: str) -> None:
    assert split_key(text) is None
