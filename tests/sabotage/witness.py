"""A plugin of pytest (`-p tests.sabotage.witness`): writes down what became of each test, and how it failed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

SAYS = "RECONCILER_SABOTAGE_WITNESS"
"""The file to write."""
_SEEN: list[dict[str, str]] = []


def pytest_sessionstart() -> None:
    """What fails need not be made small before it is told: that takes minutes."""
    settings.register_profile("unshrunk", settings.default, phases=(Phase.explicit, Phase.generate))
    settings.load_profile("unshrunk")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or not report.passed:
        _SEEN.append({"test": report.nodeid, "when": report.when, "outcome": report.outcome, "how": _how(report)})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _SEEN.append({"test": report.nodeid, "when": "collect", "outcome": "failed", "how": _how(report)})


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return  # what workers see they tell the one that started them
    code = getattr(sys.modules.get("reconciler"), "__file__", None)
    Path(os.environ[SAYS]).write_text(json.dumps({"code": code, "seen": _SEEN}), encoding="utf-8")


def _how(report: pytest.TestReport | pytest.CollectReport) -> str:
    """`AssertionError: …`, or the whole of it where pytest has no short words."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr or "")
