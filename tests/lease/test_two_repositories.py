"""Two repositories that claim one topology: whichever comes second is told, and changes nothing of the first one's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.repository import Repository


def from_repository(name: str, folder: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    Repository.at(folder / name).git("remote", "add", "origin", f"https://github.com/org/{name}.git")
    return somebody(folder / name, account, monkeypatch)


@pytest.fixture
def second(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    """The first one has applied stream A."""
    first = from_repository("first", tmp_path, account, monkeypatch)
    first.applied("streams: {A: {subjects: [a]}}\n")
    return from_repository("second", tmp_path, account, monkeypatch)


@pytest.mark.parametrize(
    "text",
    [
        "streams: {A: {subjects: [a], max_msgs: 5}}\n",
        "streams: {A: {subjects: [a]}}\n",
        "streams: {B: {subjects: [b]}}\nremoved: [{address: stream/A, reason: old}]\n",
        "streams: {B: {subjects: [b]}}\nforget: [stream/A]\n",
    ],
    ids=["changes it", "declares the same", "removes it", "forgets it"],
)
def test_what_the_first_applied_is_not_the_seconds_to_decide(second: Someone, text: str) -> None:
    ran = second.apply(text)
    assert (ran.code, "XX102" in ran.out) == (4, True), ran.out
    said = " ".join(ran.out.split())
    assert "applied from github.com/org/first; this repository is github.com/org/second" in said


def test_what_only_the_first_declares_is_left_alone_and_said(second: Someone) -> None:
    ran = second.apply("streams: {B: {subjects: [b]}}\n")
    assert (ran.code, "XX102" in ran.out) == (0, True), ran.out
