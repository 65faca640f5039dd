"""Records of ownership: every legal name has one key, every record comes back as written, and nothing foreign crashes."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.ledger.entries import is_config
from reconciler.model.ledger.records import Owned, decode_key, decode_owned, encode_key, encode_owned
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Entry

KV_KEY = re.compile(r"[-/_=.a-zA-Z0-9]+")
"""What KV clients accept; beyond that no dot may stand at either end."""

NAMES = st.text(st.characters(exclude_characters=" \t\r\n\f.*>\\/", exclude_categories=["Cs"]), min_size=1, max_size=30)
"""Names the server accepts for streams and consumers."""
ADDRESSES = st.builds(
    lambda kind, names: Address(kind, tuple(names)),
    st.sampled_from(["stream", "consumer", "kv_bucket", "elastic_group"]),
    st.lists(NAMES, min_size=1, max_size=2),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
CONFIGS = st.dictionaries(st.text(), VALUES).filter(is_config)
"""Configurations as kinds make them: what the engine looks into, such as `mirror`, has its own shape."""
RECORDS = st.builds(
    Owned,
    topology=st.text(min_size=1),
    source=st.none() | st.text(min_size=1),
    git_revision=st.none() | st.text(min_size=1),
    fields=CONFIGS,
    left=st.lists(st.text()).map(tuple),
    protected=st.booleans(),
    knows=st.sampled_from(["", "2.15"]),
    filled=CONFIGS,
    expected=st.dictionaries(st.text(), VALUES),
    start=st.sampled_from([{}, {"deliver_policy": "by_start_sequence", "opt_start_seq": 7, "opt_start_time": None}]),
    seen=st.dictionaries(st.text(), VALUES),
)


def entry(value: str, revision: int = 1) -> Entry:
    return Entry(value.encode("utf-8", "surrogatepass"), revision)


@given(ADDRESSES)
def test_an_address_comes_back_from_its_key(address: Address) -> None:
    assert decode_key(encode_key(address)) == address


@given(ADDRESSES)
def test_every_key_is_one_that_kv_clients_accept(address: Address) -> None:
    key = encode_key(address)
    assert KV_KEY.fullmatch(key)
    assert not key.startswith(".")
    assert not key.endswith(".")


@given(ADDRESSES, ADDRESSES)
def test_two_addresses_never_share_a_key(one: Address, other: Address) -> None:
    assert (encode_key(one) == encode_key(other)) == (one == other)


@given(st.text() | st.from_regex(r"owned(\.[a-z=0-9A-F]*){1,4}", fullmatch=True))
def test_any_key_either_is_the_one_of_its_address_or_of_none(key: str) -> None:
    address = decode_key(key)
    assert address is None or encode_key(address) == key


def test_a_plain_name_is_readable_in_its_key() -> None:
    assert encode_key(Address.of("consumer", "ORDERS", "dispatch")) == "owned.consumer.ORDERS.dispatch"


def test_bytes_a_key_cannot_hold_are_escaped() -> None:
    assert encode_key(Address.of("stream", "a=é$")) == "owned.stream.a=3D=C3=A9=24"


@given(RECORDS)
def test_a_record_comes_back_as_it_was_written(record: Owned) -> None:
    assert decode_owned(entry(json.dumps(encode_owned(record)), revision=0)) == record


@given(st.binary())
def test_whatever_else_stands_under_a_key_is_reported_in_words(value: bytes) -> None:
    assert isinstance(decode_owned(Entry(value, 1)), str)


@given(
    st.fixed_dictionaries({"topology": st.text(), "format": st.just(1)}, optional={"fields": VALUES, "left": VALUES})
)
def test_a_record_of_odd_shape_never_crashes(record: dict[str, object]) -> None:
    assert isinstance(decode_owned(entry(json.dumps(record))), Owned | str)


def test_a_later_format_is_named_and_left_alone() -> None:
    assert decode_owned(entry('{"topology": "t", "format": 2}')) == "its format is 2, this version reads 1"
