"""Drift as Prometheus metrics, in the text format that both a page and a textfile collector take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.journeys.drift.drift import Drift
from reconciler.model.dataclass import dataclass

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """The drift that was found, and the state of the looking itself."""

    drift: Drift | None
    """None: nothing was seen yet."""
    at: float = 0.0
    """When that was seen, in seconds since 1970."""
    seconds: float = 0.0
    """How long the look took."""
    up: bool = True
    """Whether the account can be seen now."""
    topology: str = ""
    looks: int = 1
    advisories: int = 0
    reconnects: int = 0


def metrics_text(gauges: Gauges) -> str:
    """Write every family once, each with its help and type."""
    return "".join(line + "\n" for family in _families(gauges) for line in family)


def _families(now: Gauges) -> Iterator[list[str]]:
    own = {"topology": now.drift.topology if now.drift else now.topology}
    if now.drift and now.drift.environment:
        own["environment"] = now.drift.environment
    yield _family_lines("reconciler_drift_up", "gauge", "Whether the account can be seen now.", [(own, int(now.up))])
    yield _family_lines(
        "reconciler_drift_looks_total", "counter", "How many full looks were taken.", [(own, now.looks)]
    )
    heard = "Advisories that led to a look."
    yield _family_lines("reconciler_drift_advisories_total", "counter", heard, [(own, now.advisories)])
    again = "How often the connection was dialled again."
    yield _family_lines("reconciler_drift_reconnects_total", "counter", again, [(own, now.reconnects)])
    if now.drift is not None:
        yield from _drifted_series(now.drift, own)
        when = "When the last full look was taken, in seconds since 1970."
        yield _family_lines("reconciler_drift_last_look_timestamp_seconds", "gauge", when, [(own, now.at)])
        took = "How long the last full look took."
        yield _family_lines("reconciler_drift_look_duration_seconds", "gauge", took, [(own, now.seconds)])


def _drifted_series(drift: Drift, own: dict[str, str]) -> Iterator[list[str]]:
    counts = [({**own, "standing": name}, number) for name, number in drift.counts.items()]
    yield _family_lines("reconciler_drift_objects", "gauge", "Objects declared or owned here, by state.", counts)
    fields = sum(field.is_drift for item in drift.items for field in item.fields)
    yield _family_lines(
        "reconciler_drift_fields", "gauge", "Fields that somebody changed outside the files.", [(own, fields)]
    )
    each = [({**own, "address": item.address, "standing": item.standing.value}, 1) for item in drift.drifted]
    yield _family_lines("reconciler_drift", "gauge", "1 for each object that drifted.", each)
    coverage = drift.coverage
    extras = [(own, len(coverage.extras))]
    yield _family_lines("reconciler_drift_unmanaged_objects", "gauge", "Live objects that nobody declares.", extras)
    share = coverage.percent / 100
    yield _family_lines(
        "reconciler_drift_coverage_ratio", "gauge", "Share of live objects that are declared.", [(own, share)]
    )


def _family_lines(name: str, kind: str, help_text: str, samples: Sequence[tuple[dict[str, str], float]]) -> list[str]:
    lines = [f"{name}{{{_label_pairs_text(labels)}}} {_number_text(value)}" for labels, value in samples]
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", *lines]


def _label_pairs_text(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    """Escape a backslash, a quote and the end of a line; the format knows no other escapes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number_text(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.6f}"
