"""Where YAML readers disagree, or YAML surprises people, we ask instead of guessing."""

from __future__ import annotations

import pytest

from tests.documents.reading import HEAD, STREAM, Folder

YES = ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"]
NO = ["n", "N", "no", "No", "NO", "off", "Off", "OFF"]


@pytest.mark.parametrize(("written", "meant"), [*((w, "true") for w in YES), *((w, "false") for w in NO)])
def test_a_flag_in_the_words_of_yaml_1_1_asks_for_true_or_false(folder: Folder, written: str, meant: str) -> None:
    assert folder.in_stream(f"no_ack: {written}") == [
        f"5:13 ST502 no_ack `{written}` means true or false to some YAML readers and text to others; write {meant}"
    ]


def test_a_name_in_the_words_of_yaml_1_1_asks_for_quotes(folder: Folder) -> None:
    assert folder.in_stream("subjects: [on]") == [
        "5:16 ST502 subjects[0] `on` means true or false to some YAML readers and text to others; "
        'put it in quotes: "on"'
    ]


def test_quoted_words_of_yaml_1_1_are_text(folder: Folder) -> None:
    (stream,) = folder.topology(STREAM + "    subjects: [\"on\", 'n']\n").resources
    assert stream.spec.model_dump()["subjects"] == ("on", "n")


def test_a_quoted_flag_is_no_flag(folder: Folder) -> None:
    assert folder.in_stream('no_ack: "yes"', 'external: "true"') == [
        '5:13 ST502 no_ack `"yes"` is text; write true or false',
        '6:15 ST502 external `"true"` is text; write true or false',
    ]


@pytest.mark.parametrize("written", ["true", "True", "TRUE"])
def test_true_is_true_in_every_case(folder: Folder, written: str) -> None:
    (stream,) = folder.topology(f"{STREAM}    no_ack: {written}\n").resources
    assert stream.spec.model_dump()["no_ack"] is True


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("on", "a boolean"), ("N", "a boolean"), ("true", "a boolean"), ("1", "a number"), ("1e3", "a number"),
        ("0x1", "a number"), ("010", "a number"), (".inf", "a number"), ("-1.5", "a number"),
        ("null", "null"), ("~", "null"),
    ],
)  # fmt: skip
def test_a_name_that_is_no_text_to_yaml_asks_for_quotes(folder: Folder, name: str, what: str) -> None:
    assert folder.problems(f"{HEAD}streams:\n  {name}:\n    no_ack: true\n") == [
        f'4:3 ST506 name `{name}` is {what} to YAML readers; put it in quotes: "{name}"'
    ]


@pytest.mark.parametrize("name", ["on", "1", "1e3", "null", "0x1", "~"])
def test_quoted_names_are_taken_as_written(folder: Folder, name: str) -> None:
    (stream,) = folder.topology(f'{HEAD}streams:\n  "{name}":\n    no_ack: true\n').resources
    assert stream.address.name == name


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("010", "is octal to some YAML readers and decimal to others; write 10"),
        ("0o10", "is written in a base that not every YAML reader knows; write 8"),
        ("0x1F", "is written in a base that not every YAML reader knows; write 31"),
        ("0b11", "is written in a base that not every YAML reader knows; write 3"),
        (".nan", "is not a number that JSON or the server knows; write a number without quotes"),
        ("-.inf", "is not a number that JSON or the server knows; write a number without quotes"),
        ("1e999", "is a number too large for any field; write a number without quotes"),
        ("18446744073709551616",
         "is a number too large for any field (the largest is 2^64 - 1); write a number without quotes"),
    ],
)  # fmt: skip
def test_numbers_that_readers_disagree_on_are_asked_about(folder: Folder, written: str, why: str) -> None:
    assert folder.in_stream(f"sequence: {written}") == [f"5:15 ST502 sequence `{written}` {why}"]


def test_the_same_numbers_in_text_ask_for_quotes(folder: Folder) -> None:
    assert folder.in_stream("subjects: [010]") == [
        '5:16 ST502 subjects[0] `010` is octal to some YAML readers and decimal to others; put it in quotes: "010"'
    ]


def test_a_number_with_thousands_of_digits_is_refused_like_any_other(folder: Folder) -> None:
    (plain,) = folder.in_stream("max_bytes: " + "9" * 5000)
    (in_quotes,) = folder.in_stream('max_bytes: "' + "9" * 5000 + '.0B"')
    assert plain.startswith("5:16 ST502 max_bytes `999") and "too large" in plain
    assert in_quotes == f"5:16 ST502 max_bytes `{'9' * 20}…` is too long for a number"


def test_underscores_separate_thousands(folder: Folder) -> None:
    (stream,) = folder.topology(STREAM + "    sequence: 1_000_000\n").resources
    assert stream.spec.model_dump()["sequence"] == 1_000_000


def test_a_version_without_quotes_is_shown_as_written(folder: Folder) -> None:
    assert folder.problems(HEAD + "expect: {min_server: 2.10}\n") == [
        '3:22 XX502 expect.min_server `2.10` is a number; put it in quotes: "2.10"'
    ]


def test_timestamps_stay_text(folder: Folder) -> None:
    (stream,) = folder.topology(
        STREAM + "    metadata:\n      at: 2026-01-01\n      when: 2026-03-01T08:00:00Z\n"
    ).resources
    assert stream.spec.model_dump()["metadata"] == {"at": "2026-01-01", "when": "2026-03-01T08:00:00Z"}


def test_a_number_is_no_date(folder: Folder) -> None:
    assert folder.in_stream("since: 20261231") == [
        "5:12 ST502 since `20261231` is a number; write a date such as 2026-12-31"
    ]


def test_a_key_without_a_value_is_shown_at_the_key(folder: Folder) -> None:
    assert folder.in_stream("max_age:", "storage: ~") == [
        "5:5 ST502 max_age has no value; remove the key or write one",
        "6:14 ST502 storage has no value; remove the key or write one",
    ]


def test_an_item_without_a_value_is_shown(folder: Folder) -> None:
    assert folder.in_stream("subjects: [a, null]") == [
        "5:19 ST502 subjects[1] has no value; remove the `-` or write one"
    ]


def test_empty_lists_mappings_and_sections_count_as_left_out(folder: Folder) -> None:
    text = (
        STREAM
        + "    subjects:\n    placement:\n    sources: ~\n    consumers:\n    groups: null\nkv_buckets:\nremoved:\nexpect:\n"
    )
    (stream,) = folder.topology(text).resources
    assert stream.spec.model_fields_set == set()


def test_a_resource_without_anything_is_declared(folder: Folder) -> None:
    (bucket,) = folder.topology(HEAD + "kv_buckets:\n  CONFIG:\n").resources
    assert str(bucket.address) == "kv_bucket/CONFIG"


def test_a_duplicate_key_shows_both_places(folder: Folder) -> None:
    assert folder.in_stream("max_age: 7d", "storage: file", "max_age: 3d") == [
        "7:5 XX505 key `max_age` is written here and at 5:5 of the same mapping; keep one"
    ]


def test_a_tag_is_refused(folder: Folder) -> None:
    assert folder.in_stream("storage: !secret file", "subjects: !!set [a]") == [
        "5:14 XX514 tag `!secret` has no meaning here; remove it",
        "6:15 XX514 tag `!!set` has no meaning here; remove it",
    ]


def test_a_second_document_is_refused(folder: Folder) -> None:
    assert folder.problems(HEAD + "---\nstreams: {}\n") == [
        "3:1 XX512 a second document begins here; write one document per file"
    ]


@pytest.mark.parametrize("content", ["", "\n\n", "# only words\n", "\ufeff"])
def test_an_empty_file_is_said_to_be_empty(folder: Folder, content: str) -> None:
    assert folder.problems(content) == ["1:1 XX512 this file is empty; remove it or fill it"]


@pytest.mark.parametrize(
    ("content", "what"),
    [("---\n", "empty"), ("orders\n", "a single value"), ("- a\n", "a list"), ("~\n", "a single value")],
)
def test_a_document_that_is_no_mapping_is_refused(folder: Folder, content: str, what: str) -> None:
    (problem,) = folder.problems(content)
    assert f"the document is {what}; write a mapping" in problem


def test_what_would_nest_without_end_is_stopped(folder: Folder) -> None:
    (problem,) = folder.problems(HEAD + "streams: " + "[" * 500 + "]" * 500)
    assert "XX510 this is nested more than 64 levels deep" in problem


def test_a_key_that_is_a_list_is_refused(folder: Folder) -> None:
    assert folder.in_stream("? [a, b]", ": 1") == ["5:7 XX510 a key must be a single value, but this is a list"]
