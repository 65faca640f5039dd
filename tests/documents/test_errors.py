"""What is wrong with a resource is said once, at exactly the value or key, in the words of the file."""

from __future__ import annotations

from tests.documents.reading import HEAD, STREAM, Folder


def test_a_slip_beside_the_key_that_is_meant_says_that_it_is_there(folder: Folder) -> None:
    assert folder.in_stream("max_age: 1d\n    max_aeg: 2d") == [
        "6:5 ST501 unknown key `max_aeg`; `max_age` is there already"
    ]


def test_an_unknown_key_suggests_the_one_that_was_meant(folder: Folder) -> None:
    assert folder.in_stream("subjectz: [orders.>]") == ["5:5 ST501 unknown key `subjectz`; did you mean `subjects`?"]


def test_a_misspelt_section_inside_a_resource_suggests_the_section(folder: Folder) -> None:
    assert folder.in_stream("consumer: {}") == ["5:5 ST501 unknown key `consumer`; did you mean `consumers`?"]


def test_an_unlike_key_suggests_nothing(folder: Folder) -> None:
    assert folder.in_stream("zzz: 0x1") == ["5:5 ST501 unknown key `zzz`"]


def test_an_unknown_key_deep_inside_says_where(folder: Folder) -> None:
    assert folder.in_stream("sources:", "  - {name: A, filter: x}") == [
        "6:19 ST501 sources[0]: unknown key `filter`; did you mean `filter_subject`?"
    ]


def test_an_unknown_top_level_key_suggests_a_section(folder: Folder) -> None:
    assert folder.problems(HEAD + "stream: {}\n") == ["3:1 XX501 unknown key `stream`; did you mean `streams`?"]


def test_a_wrong_duration_is_shown_as_written(folder: Folder) -> None:
    loaded = folder.load(STREAM + "    max_age: 7 fortnights\n")
    (problem,) = loaded.diagnostics
    assert problem.message == "max_age `7 fortnights` is not a duration; write 7d, 36h, 90s or nanoseconds"
    assert (problem.code, problem.name, problem.address) == ("ST502", "wrong-value", "stream/ORDERS")
    assert problem.span and (problem.span.column, problem.span.end_column) == (14, 26)


def test_values_keep_the_spelling_of_the_file(folder: Folder) -> None:
    assert folder.in_stream("num_replicas: 1e3", "max_age: True") == [
        "5:19 ST502 num_replicas `1e3` is not a whole number; write for example 5 or 1_000_000",
        "6:14 ST502 max_age `True` is not a duration; write 7d, 36h, 90s or nanoseconds",
    ]


def test_a_bound_is_told(folder: Folder) -> None:
    assert folder.in_stream("num_replicas: 9") == ["5:19 ST502 num_replicas `9` is too large; write at most 5"]


def test_a_wrong_choice_lists_the_choices(folder: Folder) -> None:
    assert folder.in_stream("storage: files") == [
        "5:14 ST502 storage `files` is not `file` or `memory`; did you mean `file`?"
    ]


def test_a_missing_key_is_shown_at_the_name(folder: Folder) -> None:
    assert folder.in_stream("groups:", "  g: {type: static}") == ["6:7 SG503 missing key `max_members`"]


def test_a_missing_key_of_a_list_item_is_shown_where_the_item_begins(folder: Folder) -> None:
    assert folder.in_stream("sources:", "  - start: 5") == ["6:9 ST503 sources[0]: missing key `name`"]


def test_a_value_where_a_mapping_belongs_is_told_in_words_of_yaml(folder: Folder) -> None:
    assert folder.in_stream("placement: eu", "sources: {}", "storage: [file]", "metadata:", "  a: {}") == [
        "5:16 ST504 placement is `eu`; write a mapping (`key: value`)",
        "6:14 ST504 sources is a mapping; write a list (`[a, b]` or lines of `- a`)",
        "7:14 ST504 storage is a list; write a single value",
        "9:10 ST504 metadata.a is a mapping; write a single value",
    ]


def test_a_block_of_the_wrong_shape_is_shown_at_its_key(folder: Folder) -> None:
    assert folder.in_stream("max_age:", "  days: 7") == ["5:5 ST504 max_age is a mapping; write a single value"]


def test_a_resource_that_is_no_mapping_is_told(folder: Folder) -> None:
    assert folder.problems(HEAD + "streams: {A: [x], B: y}\n") == [
        "3:14 ST504 `A` is a list; write a mapping (`key: value`)",
        "3:22 ST504 `B` is a single value; write a mapping (`key: value`)",
    ]


def test_a_section_that_is_no_mapping_is_told(folder: Folder) -> None:
    assert folder.problems(HEAD + "streams:\n- A\n") == [
        "3:1 ST504 streams is a list; write a mapping of names (`NAME: {…}`)"
    ]


def test_a_union_complains_once_about_a_value(folder: Folder) -> None:
    assert folder.in_stream("backup: {name: [x]}") == ["5:20 ST504 backup.name is a list; write a single value"]


def test_a_check_of_the_whole_resource_is_shown_at_its_name(folder: Folder) -> None:
    assert folder.in_stream("mirror: {name: A}", "sources: [{name: B}]") == [
        "4:3 ST502 mirror and sources exclude each other"
    ]


def test_a_check_of_the_whole_resource_may_name_the_value(folder: Folder) -> None:
    assert folder.in_stream("placement:", "  cluster: nowhere") == [
        "6:16 ST502 placement.cluster `nowhere` cannot hold a stream"
    ]


def test_a_date_that_does_not_exist_is_refused(folder: Folder) -> None:
    assert folder.in_stream("since: 2026-02-30") == [
        "5:12 ST502 since `2026-02-30` is not a date; write for example 2026-12-31"
    ]


def test_an_empty_name_is_refused(folder: Folder) -> None:
    assert folder.problems(HEAD + 'streams: {"": {}}\n') == ["3:11 ST506 a name is empty"]


def test_a_name_with_a_slash_cannot_be_an_address(folder: Folder) -> None:
    assert folder.problems(HEAD + "streams: {a/b: {}}\n") == [
        "3:11 ST506 name `a/b` holds `/`, which separates names in addresses"
    ]


def test_a_shared_section_asks_for_the_tag(folder: Folder) -> None:
    assert folder.in_stream("groups:", "  g: {max_members: 1}", "  h: {type: elastik}", "  i: {type: [x]}") == [
        "6:7 XX503 `g` needs `type`: `static` or `elastic`",
        "7:17 XX502 type `elastik` is not `static` or `elastic`; did you mean `elastic`?",
        "8:17 XX502 type a list is not `static` or `elastic`",
    ]


def test_children_are_checked_even_when_their_parent_is_wrong(folder: Folder) -> None:
    assert folder.in_stream("max_age: soon", "consumers:", "  c: {ack_wait: later}") == [
        "5:14 ST502 max_age `soon` is not a duration; write 7d, 36h, 90s or nanoseconds",
        "7:21 CO502 ack_wait `later` is not a duration; write 7d, 36h, 90s or nanoseconds",
    ]


def test_expectations_are_checked_like_everything_else(folder: Folder) -> None:
    assert folder.problems(HEAD + "expect: {clustre: a, domain: [b]}\n") == [
        "3:10 XX501 expect: unknown key `clustre`; did you mean `cluster`?",
        "3:30 XX504 expect.domain is a list; write a single value",
    ]


def test_an_unknown_format_version_names_the_one_that_is_read(folder: Folder) -> None:
    loaded = folder.load("reconciler: 2\ntopology: t\n")
    (problem,) = loaded.diagnostics
    assert (problem.code, problem.fix) == ("XX530", "use the release this file was written for")
    assert problem.message == "reconciler `2` is a format that this release does not read; it reads 1"


def test_the_owner_must_be_named(folder: Folder) -> None:
    assert folder.problems("streams: {}\n") == [
        "1:1 XX503 missing key `reconciler`; write `reconciler: 1` at the top of one file",
        "1:1 XX503 missing key `topology`; write `topology: NAME` at the top of one file",
    ]


def test_removals_and_forgotten_addresses_are_checked(folder: Folder) -> None:
    text = HEAD + (
        "removed:\n- {address: strem/OLD, reason: old}\n- {address: stream/OLD}\n- stream/A\n"
        "forget: [consumer/x, stream, {}]\n"
    )
    known = "`stream`, `consumer`, `kv_bucket`, `static_group` or `elastic_group`"
    assert folder.problems(text) == [
        f"4:13 XX502 removed[0].address `strem/OLD` begins with no known kind; write {known}; did you mean `stream`?",
        "5:3 XX503 removed[1]: missing key `reason`",
        "6:3 XX504 removed[2] is `stream/A`; write a mapping (`key: value`)",
        "7:10 XX502 forget[0] `consumer/x` does not fit its kind; write consumer/STREAM/NAME",
        "7:22 XX502 forget[1] `stream` is not an address; write kind/name, for example stream/ORDERS",
        "7:30 XX503 forget[2]: missing key `on`",
        "7:30 XX503 forget[2]: missing key `upto`",
    ]


def test_wildcards_are_no_addresses(folder: Folder) -> None:
    text = HEAD + (
        "removed: [{address: stream/*, reason: old}, {address: consumer/A/>, reason: old}]\n"
        "forget: ['consumer/*']\nmoved: [{from: consumer/A/old*, to: consumer/A/b, reason: r}]\n"
    )
    many, each = "names many objects; write", "an entry for each of them"
    stream, consumer = "stream/NAME without `*` or `>`", "consumer/STREAM/NAME without `*` or `>`"
    assert folder.problems(text) == [
        f"3:21 XX502 removed[0].address `stream/*` {many} `{{on: stream/*, upto: NUMBER, reason: …}}`, or {each}, {stream}",
        f"3:55 XX502 removed[1].address `consumer/A/>` {many} `{{on: consumer/A/*, upto: NUMBER, reason: …}}`, or {each}, {consumer}",
        f"4:10 XX502 forget[0] `consumer/*` {many} `{{on: consumer/*, upto: NUMBER}}`, or {each}, {consumer}",
        f"5:16 XX502 moved[0].from `consumer/A/old*` {many} {each}, {consumer}",
    ]


def test_what_is_written_in_place_of_a_wildcard_is_right(folder: Folder) -> None:
    text = HEAD + "removed: [{on: stream/*, upto: 4, reason: …}, {on: consumer/A/*, upto: 1_000, reason: …}]\n"
    assert folder.topology(text + "forget: [{on: consumer/*, upto: 1}]\n").bulk[1].upto == 1_000


def test_entries_about_many_are_checked(folder: Folder) -> None:
    text = HEAD + (
        "removed:\n- {on: stream/OLD_*, reason: r}\n- {on: stream/OLD_*, upto: 0, reason: r}\n- {on: stream/OLD_*, upto: 4}\n"
        "- {on: strem/OLD_*, upto: 4, reason: r}\n- {on: '*', upto: 4, reason: r}\n- {on: =t17, upto: 4, reason: r}\n"
        "- {address: stream/OLD, on: stream/OLD_*, upto: 4, reason: r}\n- {address: stream/OLD, upto: 1, reason: r}\n"
        "- {on: stream/, upto: 4, reason: r}\n- {on: [stream/A], upto: many, reason: r}\n- {on: a=b, upto: -1, reason: ''}\n"
        "forget:\n- {on: stream/OLD_*}\n- {on: stream, upto: 3}\n- {address: stream/OLD}\n- {on: stream/*, upto: 3, until: 2026-01-01}\n"
    )
    known = "`stream`, `consumer`, `kv_bucket`, `static_group` or `elastic_group`"
    neither = "is neither an address nor a label; write an address, for example stream/TENANT-*, or a label, for example team=orders"
    both = "has `address`, which names one object, beside `on` or `upto`, which are about many; keep one"
    assert folder.problems(text) == [
        "4:3 XX503 removed[0]: missing key `upto`",
        "5:28 XX502 removed[1].upto `0` is too small; write at least 1",
        "6:3 XX503 removed[2]: missing key `reason`",
        f"7:8 XX502 removed[3].on `strem/OLD_*` begins with no known kind; write {known}; did you mean `stream`?",
        f"8:8 XX502 removed[4].on `*` {neither}",
        "9:8 XX502 removed[5].on `=t17` is a label without a name; write an address, for example stream/TENANT-*, or a label, "
        "for example team=orders",
        f"10:4 XX505 removed[6] {both}",
        f"11:4 XX505 removed[7] {both}",
        f"12:8 XX502 removed[8].on `stream/` {neither}",
        "13:8 XX504 removed[9].on is a list; write a single value",
        "13:26 XX502 removed[9].upto `many` is text; write a number without quotes",
        "14:19 XX502 removed[10].upto `-1` is too small; write at least 1",
        "14:31 XX502 removed[10].reason is empty",
        "16:3 XX503 forget[0]: missing key `upto`",
        f"17:8 XX502 forget[1].on `stream` {neither}",
        "18:3 XX503 forget[2]: missing key `on`",
        "18:3 XX503 forget[2]: missing key `upto`",
        "18:4 XX501 forget[2]: unknown key `address`",
        "19:27 XX501 forget[3]: unknown key `until`",
    ]
