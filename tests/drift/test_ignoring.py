"""`ignore_drift`: with a reason and a last day; what covers nothing, or is over, is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.documents.read.load import load
from reconciler.kinds import REGISTRY
from tests.drift.looking import APPLIED, field, item, look

DAY = 86_400_000_000_000
STRAYED = {"max_age": DAY, "max_msgs": 6}


def ignoring(rule: str) -> str:
    return f"{APPLIED}ignore_drift:\n  - {{{rule}}}\n"


def test_a_rule_for_a_field_leaves_the_other_fields(tmp_path: Path) -> None:
    found = look(tmp_path, ignoring("address: stream/*, path: max_age, reason: tuned by hand"), outside=STRAYED)
    assert (field(found, "max_age").is_drift, field(found, "max_msgs").is_drift, found.exit_code) == (False, True, 3)


def test_a_rule_without_a_field_covers_everything_and_says_why(tmp_path: Path) -> None:
    found = look(tmp_path, ignoring("address: stream/S, reason: tuned by hand"), outside=STRAYED)
    assert (found.exit_code, found.counts["ignored"], item(found).ignored) == (0, 1, "tuned by hand")


def test_a_missing_object_is_ignored_only_as_a_whole(tmp_path: Path) -> None:
    gone = {"streams": {"S": None}}
    by_field, whole = (
        look(tmp_path / name, ignoring(rule), raw=gone)
        for name, rule in (
            ("a", "address: stream/S, path: max_age, reason: r"), ("b", "address: stream/S, reason: r"),
        )
    )  # fmt: skip
    assert (by_field.exit_code, whole.exit_code) == (3, 0)


def test_a_path_covers_what_lies_below_it(tmp_path: Path) -> None:
    found = look(
        tmp_path, ignoring("address: stream/S, path: placement, reason: moved by operators"),
        outside={"placement": {"cluster": "c"}},
    )  # fmt: skip
    assert found.exit_code == 0


def test_objects_that_are_ignored_do_not_count_as_extras(tmp_path: Path) -> None:
    extra = {"streams": {"TMP_1": {"config": {"name": "TMP_1"}, "state": {}}}}
    found = look(tmp_path, ignoring("address: stream/TMP_*, reason: made by tests"), raw=extra)
    assert (found.coverage.extras, found.diagnostics) == ((), ())


def test_a_rule_that_covers_nothing_is_told_at_its_line(tmp_path: Path) -> None:
    found = look(tmp_path, ignoring("address: stream/S, path: max_bytes, reason: r"), outside=STRAYED)
    (warning,) = found.diagnostics
    assert (warning.code, warning.span and warning.span.line, warning.is_error) == ("DR101", 5, False)


def test_the_last_day_counts_and_the_day_after_it_is_told(tmp_path: Path) -> None:
    last, over = (
        look(tmp_path / day, ignoring(f"address: stream/S, reason: r, until: {day}"), outside=STRAYED)
        for day in ("2026-06-01", "2026-05-31")
    )
    assert (last.exit_code, last.diagnostics) == (0, ())
    assert (over.exit_code, [one.code for one in over.diagnostics]) == (3, ["DR102"])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("address: stream/S", "missing key `reason`"),
        ("address: ORDERS, reason: r", "write kind/name"),
        ("address: streams/S, reason: r", "write kind/name"),
        ("address: stream/S, reason: r, pth: x", "unknown key `pth`"),
        ("address: stream/S, reason: r, until: soon", "until"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_an_error_at_its_place(tmp_path: Path, rule: str, said: str) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(f"reconciler: 1\ntopology: t{ignoring(rule)}")
    loaded = load([file], REGISTRY)
    assert loaded.topology is None
    assert [said in one.message and one.span is not None and one.span.line == 6 for one in loaded.diagnostics] == [True]
