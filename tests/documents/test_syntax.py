"""Texts that are no YAML, and bytes that are no text: what is wrong, at its line and column, in words that help."""

from __future__ import annotations

import pytest

from tests.documents.reading import HEAD, STREAM, Folder

NO_KEY_HERE = (
    "`key:` cannot stand here; check the indentation of this line, or put a value that contains `: ` in quotes"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n\t- b\n", "2:1 XX510 a tab indents this line; YAML allows only spaces there"),
        ("a:\n  b: 1\n\tc: 2\n", "3:1 XX510 a tab indents this line; YAML allows only spaces there"),
        ("a: b: c\n", f"1:5 XX510 {NO_KEY_HERE}"),
        ("a:\n b: 1\n  c: 2\n", f"3:4 XX510 {NO_KEY_HERE}"),
        ("a: - b\n", "1:4 XX510 `- item` cannot stand here; begin the list on its own line under the key"),
        ("a: [1\nb: 2\n", "2:2 XX510 the list opened with `[` at 1:4 is not closed, or a `,` is missing"),
        ("a: {b: c\n", "2:1 XX510 the mapping opened with `{` at 1:4 is not closed, or a `,` is missing"),
        ("a:\n  - b\n c: d\n", "3:2 XX510 the indentation of this line matches nothing above it"),
        ("- a\nb: c\n", "2:1 XX510 a `- item` was expected here, as on the lines above"),
        ("a: 'x\n", "1:4 XX510 the quote opened here is never closed"),
        ('a: "\\q"\n', "1:5 XX510 `\\q` is not an escape in double quotes; write `\\\\`, or use single quotes"),
        ("a: @x\n", "1:4 XX510 `@` is reserved in YAML; put the value in quotes"),
        ("a: `x`\n", "1:4 XX510 ``` is reserved in YAML; put the value in quotes"),
        ("a: %x\n", "1:4 XX510 `%` begins a directive in YAML; put the value in quotes"),
        ("a: [>]\n", "1:5 XX510 `>` begins a folded text in YAML; put the value in quotes"),
        ("a: &.x\n", "1:4 XX510 `&` names an anchor in YAML; put the value in quotes"),
        ("a: {b: 8:00}\n", "1:9 XX510 inside `[…]` and `{…}` a value that contains `:` needs quotes"),
        ("a: 1\nb\n", "2:1 XX510 this is neither `key: value` nor `- item`"),
    ],
)  # fmt: skip
def test_broken_yaml_is_explained(folder: Folder, text: str, said: str) -> None:
    assert folder.problems(text) == [said]


def test_a_byte_order_mark_is_accepted(folder: Folder) -> None:
    loaded = folder.load(b"\xef\xbb\xbf" + (STREAM + "    max_age: soon\n").encode())
    assert folder.lines(loaded) == ["5:14 ST502 max_age `soon` is not a duration; write 7d, 36h, 90s or nanoseconds"]


def test_windows_line_ends_do_not_move_places(folder: Folder) -> None:
    (problem,) = folder.problems((STREAM + "    max_age: soon\n").replace("\n", "\r\n"))
    assert problem.startswith("5:14 ")


def test_columns_count_characters(folder: Folder) -> None:
    (problem,) = folder.problems(HEAD + "streams:\n  Überträge: {max_age: soon}\n")
    assert problem.startswith("4:24 ")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_encoding_is_named(folder: Folder, encoding: str) -> None:
    (problem,) = folder.problems(HEAD.encode(encoding))
    assert problem == "1:1 XX511 this is not UTF-8 (it looks like UTF-16 or UTF-32); save the file as UTF-8"


def test_a_byte_that_is_no_utf8_is_shown(folder: Folder) -> None:
    assert folder.problems("a: 1\nü: ".encode() + b"\xe4\n") == [
        "2:4 XX511 byte 0xe4 is not UTF-8; save the file as UTF-8"
    ]


@pytest.mark.parametrize(
    ("character", "escape"),
    [("\x01", "\\x01"), ("\x7f", "\\x7f"), ("\x85", "\\x85"), ("\u2028", "\\u2028"), ("\ufeff", "\\ufeff")],
)
def test_invisible_characters_are_shown_with_their_escape(folder: Folder, character: str, escape: str) -> None:
    assert folder.problems(f"topology: or{character}ders\n") == [
        f'1:13 XX511 invisible character U+{ord(character):04X}; remove it, or write "{escape}" in double quotes'
    ]


def test_a_broken_file_does_not_hide_what_is_wrong_in_others(folder: Folder) -> None:
    loaded = folder.load_all(a="a: 'x\n", b=STREAM + "    max_age: soon\n")
    assert [problem.code for problem in loaded.diagnostics] == ["XX510", "ST502"]


def test_nothing_is_called_missing_while_a_file_cannot_be_read(folder: Folder) -> None:
    loaded = folder.load_all(a="a: 'x\n", b="streams: {}\n")
    assert [problem.code for problem in loaded.diagnostics] == ["XX510"]
