"""What fleet reports say of a value is as it would stand in a file, also of what lies inside a field."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.fleet.runs.looks import field_infos
from reconciler.report.words.values import show_side


@pytest.mark.parametrize(
    ("kind", "path", "value", "shown"),
    [
        ("stream", "consumer_limits.inactive_threshold", 3_600_000_000_000, "1h"),
        ("stream", "sources[1].opt_start_seq", 100_000, "100_000"),
        ("stream", "consumer_limits", {"inactive_threshold": 3_600_000_000_000}, "{inactive_threshold: 1h}"),
        ("consumer", "backoff", [1_000_000_000, 300_000_000_000], "[1s, 5m]"),
        ("consumer", "ack_wait", None, "30s, if messages are acknowledged (default)"),
        ("kv_bucket", "max_bytes", 1_000_000_000, "1GB"),
        ("kv_bucket", "ttl", None, "no limit (default)"),
        ("kv_bucket", "subjects", None, "as the bucket needs it (default)"),
        ("stream", "metadata.team", None, "none"),
    ],
)
def test_a_value_of_a_row_has_the_unit_of_its_path(kind: str, path: str, value: Any, shown: str) -> None:
    assert show_side(value, field_infos([{"kind": kind, "path": path}])[kind, path]) == shown
