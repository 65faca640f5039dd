"""`allow:` at the top level of the files is checked like everything else, and names something that stands in them."""

from __future__ import annotations

import pytest

from tests.documents.reading import HEAD, Folder

STREAMS = "streams:\n  ORDERS: {labels: {team: orders}}\n  ORBIT: {}\n"


def allowing(entry: str) -> str:
    return f"{HEAD}allow:\n  - {{{entry}}}\n{STREAMS}"


def test_an_entry_names_by_pattern_or_label(folder: Folder) -> None:
    for on in ("stream/OR*", "stream/ORDERS", "team=orders", "'*/*'"):
        (one,) = folder.topology(allowing(f"code: ST101, to: memory, on: {on}, reason: r")).allow
        assert (one.on, one.consent.code, one.consent.to) == (on.strip("'"), "ST101", "memory")


@pytest.mark.parametrize(
    ("on", "problem"),
    [
        ("stream/ODERS", "did you mean `stream/ORDERS`?"),
        ("steam/OR*", "did you mean `stream/OR*`?"),
        ("team=ordrs", "did you mean `team=orders`?"),
        ("stream/Z*", ""),
    ],
)
def test_an_entry_that_names_nothing_is_an_error_at_its_place(folder: Folder, on: str, problem: str) -> None:
    said = f"XX916 `allow` names `{on}`, but no object here has that address or label"
    assert folder.problems(allowing(f"code: ST101, on: {on}, reason: r")) == [
        f"4:23 {said}; {problem}" if problem else f"4:23 {said}"
    ]


def test_what_is_removed_can_be_named(folder: Folder) -> None:
    removed = "removed: [{address: stream/GONE, reason: r}]\n"
    assert folder.problems(allowing("code: ST310, on: stream/GONE, reason: r") + removed) == []


def test_no_entry_goes_without_a_reason(folder: Folder) -> None:
    assert folder.problems(allowing("code: ST101, on: stream/ORDERS")) == ["4:5 XX503 allow[0]: missing key `reason`"]


def test_a_name_without_a_kind_is_no_address(folder: Folder) -> None:
    (problem,) = folder.load(allowing("code: ST101, on: ORDERS, reason: r")).diagnostics
    instead = "write an address such as stream/ORBIT, a pattern such as 'stream/*', or a label such as team=orders"
    assert (problem.code, problem.fix) == ("XX916", instead)


def test_a_file_that_cannot_be_read_leaves_open_what_there_is(folder: Folder) -> None:
    broken = "streams:\n  OTHER: {subjects: 5\n"
    loaded = folder.load_all(a=allowing("code: ST101, on: stream/OTHER, reason: r"), b=HEAD + broken)
    assert not any("XX916" in line for line in folder.lines(loaded))
