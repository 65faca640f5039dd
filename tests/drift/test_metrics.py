"""Metrics as Prometheus reads them: names, types, escaped labels, one sample per line."""

from __future__ import annotations

import re
from pathlib import Path

from reconciler.journeys.drift.metrics import Gauges, metrics_text
from tests.drift.looking import look

SAMPLE = re.compile(r'[a-z_]+\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+\} -?\d+(\.\d+)?')


def test_every_line_is_a_sample_or_says_what_samples_are(tmp_path: Path) -> None:
    text = metrics_text(Gauges(drift=look(tmp_path, outside={"max_age": 1_000_000_000}), at=1.5, seconds=0.25))
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    assert [line for line in lines if not SAMPLE.fullmatch(line)] == []
    assert 'reconciler_drift{topology="orders",address="stream/S",standing="changed"} 1' in lines
    assert 'reconciler_drift_look_duration_seconds{topology="orders"} 0.250000' in lines
    assert text.endswith("\n")


def test_each_family_is_described_once(tmp_path: Path) -> None:
    text = metrics_text(Gauges(drift=look(tmp_path)))
    families = re.findall(r"^# TYPE (\S+) ", text, flags=re.MULTILINE)
    assert len(families) == len(set(families)) == text.count("# HELP ") > 0


def test_a_name_with_quotes_backslashes_and_line_ends_stays_one_label(tmp_path: Path) -> None:
    drift = look(tmp_path, raw={"streams": {"S": None}})
    hostile = metrics_text(Gauges(drift=None, topology='a"b\\c\nd'))
    assert 'topology="a\\"b\\\\c\\nd"' in hostile
    assert all(SAMPLE.fullmatch(line) for line in hostile.splitlines() if not line.startswith("#"))
    assert drift.drifted


def test_before_the_first_look_it_is_down_and_says_nothing_else(tmp_path: Path) -> None:
    text = metrics_text(Gauges(drift=None, up=False, topology=str(tmp_path.name)))
    assert f'reconciler_drift_up{{topology="{tmp_path.name}"}} 0' in text
    assert "reconciler_drift_objects" not in text
