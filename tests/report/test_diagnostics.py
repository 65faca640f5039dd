"""Findings as lines for people, editors and CI logs."""

from __future__ import annotations

from typing import Any

from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.report.words.diagnostics import report
from tests.report.plans import at


def finding(message: str = "unknown key `subjectz`", severity: Severity = Severity.ERROR, **more: Any) -> Diagnostic:
    return Diagnostic(**{"severity": severity, "code": "ST501", "name": "unknown-key", "message": message, **more})


def test_an_error_in_a_file_is_one_line_with_its_place() -> None:
    text = report([finding(address="stream/ORDERS", span=at(12, 5))])
    assert text == "streams/orders.yaml:12:5 error ST501 stream/ORDERS: unknown key `subjectz`\n1 error\n"


def test_a_long_message_stays_on_its_line() -> None:
    text = report([finding("long " * 60, span=at(1, 1))])
    assert len(text.splitlines()) == 2


def test_findings_stand_in_the_order_of_the_files() -> None:
    text = report([finding(span=at(9, 1)), finding(span=at(2, 7)), finding(span=at(2, 3))])
    assert [line.split()[0] for line in text.splitlines()[:3]] == [
        f"streams/orders.yaml:{p}" for p in ("2:3", "2:7", "9:1")
    ]


def test_the_way_out_stands_below() -> None:
    text = report([finding(span=at(1, 1), fix="write subjects")])
    assert "\n    Instead: write subjects\n" in text


def test_the_last_line_counts_by_severity_and_file() -> None:
    text = report([finding(span=at(1, 1, "a.yaml")), finding(severity=Severity.WARNING, span=at(1, 1, "b.yaml"))])
    assert text.endswith("\n1 error, 1 warning in 2 files\n")


def test_trouble_outside_is_a_plain_sentence() -> None:
    text = report(
        [finding("Cannot reach nats://x:4222: connection refused. Nothing was changed.", fix="Check the address.")]
    )
    assert text == "Cannot reach nats://x:4222: connection refused. Nothing was changed.\nCheck the address.\n"


def test_nothing_found_says_nothing() -> None:
    assert report([]) == ""


def test_what_a_file_says_cannot_drive_the_terminal() -> None:
    text = report([finding("unknown key `\x1b]0;x\x07\nerror`", span=at(1, 1, "a\nb.yaml"))])
    assert text.splitlines()[0] == "a\\nb.yaml:1:1 error ST501: unknown key `\\x1b]0;x\\x07\\nerror`"
