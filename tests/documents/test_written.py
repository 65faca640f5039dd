"""What reports and consents print can be pasted into a file, and means the same there; so does what exports hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from reconciler.changes.kind import Kind, declared_config
from reconciler.documents.write.dump import dump
from reconciler.kinds import REGISTRY
from reconciler.model.fields import FieldInfo, info_at
from reconciler.model.resource import Json
from reconciler.model.units import BYTES, parse_bytes, parse_count, parse_duration, show_bytes, show_duration
from reconciler.model.wire.version import Version
from reconciler.model.written import in_units, written_value
from reconciler.report.words.values import show_value
from tests.convergence.drawing import drawn_fields
from tests.documents.reading import HEAD, Folder
from tests.primitives.bodies import named

NUMBERS = st.one_of(
    st.integers(0, (1 << 63) - 1),
    st.builds(lambda number, unit: number * unit, st.integers(1, 4000), st.sampled_from(sorted(BYTES.values()))),
    st.builds(
        lambda number, unit: number * unit, st.integers(1, 400), st.sampled_from([10**3, 10**6, 10**9, 6 * 10**10])
    ),
)
INT64 = 1 << 63


@given(NUMBERS)
def test_a_size_is_read_back_and_never_longer_than_the_number(size: int) -> None:
    assume(size < INT64)
    assert parse_bytes(show_bytes(size)) == size
    assert len(show_bytes(size)) <= len(f"{size:_}")


@given(NUMBERS)
def test_a_duration_is_read_back_and_never_longer_than_its_nanoseconds(nanoseconds: int) -> None:
    assume(nanoseconds < INT64)
    assert parse_duration(show_duration(nanoseconds)) == nanoseconds
    assert len(show_duration(nanoseconds)) <= len(f"{nanoseconds:_}ns")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (10**9, "1GB"), (1 << 30, "1GiB"), (2 * 10**9, "2GB"), (20 << 30, "20GiB"), (500, "500"), (1000, "1KB"),
        (1024, "1KiB"), (1500, "1_500"), (512_000, "512KB"), (1536 << 20, "1536MiB"), (1_234_567_890, "1_234_567_890"),
    ],
)  # fmt: skip
def test_sizes_are_told_in_the_unit_that_fits_best(size: int, shown: str) -> None:
    assert show_bytes(size) == shown


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [(3600 * 10**9, "1h"), (5400 * 10**9, "1h30m"), (1500 * 10**6, "1s500ms"), (999_999_999_999, "999999999999ns")],
)
def test_durations_are_told_from_the_largest_unit_down(nanoseconds: int, shown: str) -> None:
    assert show_duration(nanoseconds) == shown


DRAWN = [
    (kind, field)
    for kind in ("stream", "consumer", "kv_bucket", "object_store")
    for field in sorted(drawn_fields(kind, Version(2, 15, 0)))
]


@pytest.mark.parametrize(("kind", "field"), DRAWN)
@given(data=st.data())
def test_a_printed_value_of_any_field_is_the_same_in_a_file(
    kind: str, field: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = Folder(tmp_path_factory.mktemp("w"))
    drawn = data.draw(drawn_fields(kind, Version(2, 15, 0))[field])
    raw = _raw(REGISTRY[kind], named({field: drawn}, "X"))
    info = info_at(REGISTRY[kind].fields, field)
    assert _read(folder, kind, f"{field}: {show_value(raw[field], info)}") == raw


def _raw(kind: Kind, body: dict[str, Any]) -> dict[str, Json]:
    """As a file that says this is taken."""
    try:
        raw = dict(declared_config(kind.spec.model_validate(body)))
    except ValidationError:
        raw = {}
    assume(any(value is not None for value in raw.values()))
    return raw


def _read(folder: Folder, kind: str, body: str) -> dict[str, Json]:
    section = REGISTRY[kind].place.section
    text = (
        f"streams: {{Q: {{consumers: {{X: {{{body}}}}}}}}}" if kind == "consumer" else f"{section}: {{X: {{{body}}}}}"
    )
    loaded = folder.load(f"{HEAD}{text}\n", REGISTRY)
    assert loaded.topology, folder.lines(loaded)
    (one,) = (one for one in loaded.topology.resources if one.address.kind == kind)
    return dict(declared_config(one.spec))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(texts=st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=3))
def test_a_printed_text_is_the_same_in_a_file(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = Folder(tmp_path_factory.mktemp("t"))
    assert _read(folder, "stream", f"metadata: {show_value(texts, FieldInfo())}") == {"metadata": texts}


LIMITS = st.fixed_dictionaries({"inactive_threshold": NUMBERS, "max_ack_pending": st.integers(0, 1 << 40)})


@given(limits=LIMITS, waits=st.lists(NUMBERS, min_size=1, max_size=3))
def test_nested_numbers_are_the_same_in_a_file(
    limits: dict[str, int], waits: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(max(limits["inactive_threshold"], *waits) < INT64)
    folder = Folder(tmp_path_factory.mktemp("n"))
    stream, consumer = REGISTRY["stream"].fields, REGISTRY["consumer"].fields
    assert _read(folder, "stream", f"consumer_limits: {written_value(limits, stream['consumer_limits'])}") == {
        "consumer_limits": limits
    }
    assert _read(folder, "consumer", f"backoff: {written_value(waits, consumer['backoff'])}") == {"backoff": waits}


@given(limits=LIMITS)
def test_an_export_holds_nested_numbers_in_units(
    limits: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(limits["inactive_threshold"] < INT64)
    folder = Folder(tmp_path_factory.mktemp("e"))
    data = in_units(limits, REGISTRY["stream"].fields["consumer_limits"])
    assert isinstance(data["inactive_threshold"], str)
    loaded = folder.load(dump("orders", {"streams": {"X": {"consumer_limits": data}}}), REGISTRY)
    assert loaded.topology, folder.lines(loaded)
    spec = loaded.topology.resources[0].spec
    assert declared_config(spec) == {"consumer_limits": limits}


def test_every_unit_lies_where_json_tells_it() -> None:
    for kind in REGISTRY.kinds:
        for info in kind.fields.values():
            deeper = [inner.units for inner in info.nested.values()]
            assert not any(deeper), kind.name


def test_what_is_counted_is_read_back() -> None:
    assert parse_count(written_value(1_000_000, FieldInfo(unit="count"))) == 1_000_000
    assert json.loads(written_value(True, FieldInfo())) is True
