"""Files in form: whatever they looked like, they say the same, every comment is there once, and nothing is left to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from reconciler.changes.kind import Registry
from reconciler.documents.parse import nodes
from reconciler.documents.parse.nodes import Node
from reconciler.documents.parse.shape import ANYTHING, Shape
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.write.dump import dump
from reconciler.documents.write.edit import texts_of_node
from reconciler.documents.write.formatter import first_loss, in_form
from reconciler.documents.write.order import document_order, in_order
from reconciler.kinds import REGISTRY as REAL
from reconciler.model.resource import nowhere
from reconciler.model.topology import Topology
from tests.documents.kinds import REGISTRY
from tests.documents.random_documents import sections, valid_text
from tests.documents.reading import Folder
from tests.documents.untidy import TEXTS, Untidy

ORDER = document_order(REAL)
OF = {"small": (REGISTRY, document_order(REGISTRY)), "real": (REAL, ORDER)}
BESIDE: dict[str, Any] = {
    "expect": {"min_server": "2.12", "cluster": "eu"},
    "guards": [{"upto": 7, "reason": "it's the trial", "kind": "stream"}],
    "removed": [
        {"reason": "# old", "address": "stream/OLD"},
        {"address": "stream/OLDER", "reason": "x"},
        {"reason": "they left", "upto": 4, "on": "*/T17*"},
    ],
    "forget": ["stream/GONE", {"upto": 2, "on": "tenant=t18"}],
    "ignore_drift": [{"path": "placement", "reason": "moves: often", "address": "stream/*"}],
}


HEAD = "reconciler: 1\ntopology: t\n"
CASES = {
    "lists are indented below their key": (
        HEAD + "forget:\n- stream/A\n- stream/B\n", HEAD + "forget:\n  - stream/A\n  - stream/B\n",
    ),
    "a list in a list": (
        HEAD + "streams:\n  A:\n    backoff:\n    -   - 1\n        - 2\n    -   -   -   3\n",
        HEAD + "streams:\n  A:\n    backoff:\n      - - 1\n        - 2\n      - - - 3\n",
    ),
    "a dash alone, and one with a comment": (
        HEAD + "removed:\n-\n   reason: x\n   address: stream/A\n- # why\n   address: stream/B\n",
        HEAD + "removed:\n  - address: stream/A\n    reason: x\n  - # why\n    address: stream/B\n",
    ),
    "comments above a key that comes to stand beside a dash": (
        HEAD + "removed:\n  - reason: x\n    # of what\n    address: stream/A\n",
        HEAD + "removed:\n  # of what\n  - address: stream/A\n    reason: x\n",
    ),
    "what an entry is about stands first": (
        HEAD + "removed:\n  - {until: 2030-01-01, reason: r, upto: 4, on: team=a}\n  - {reason: r, until: 2030-01-01, address: stream/A}\n"
        "forget:\n  - {upto: 4, for_each: [a], on: team=a}\n",
        HEAD + "removed:\n  - {on: team=a, upto: 4, reason: r, until: 2030-01-01}\n  - {address: stream/A, reason: r, until: 2030-01-01}\n"
        "forget:\n  - {for_each: [a], on: team=a, upto: 4}\n",
    ),
    "blank lines": (
        f"\n\n{HEAD}\n\n\nstreams:\n\n  A: {{}}\n\n\n  B: {{}}\n  \n\n", f"{HEAD}\nstreams:\n  A: {{}}\n\n  B: {{}}\n",
    ),
    "what was set apart from its neighbour still is": (
        HEAD + "streams:\n  A:\n    consumers:\n      c: {}\n\n    max_age: 7d\n    subjects: [a]\n",
        HEAD + "streams:\n  A:\n    subjects: [a]\n    max_age: 7d\n\n    consumers:\n      c: {}\n",
    ),
    "one space where one belongs": (
        HEAD + "streams:\n  A :   {max_age:   7d , subjects:  [ a,b ],}\n", HEAD + "streams:\n  A: {subjects: [a, b], max_age: 7d}\n",
    ),
    "brackets over several lines": (
        HEAD + "streams:\n    A:\n        subjects: [\n            a,  # first\n            # none\n        ]\n",
        HEAD + "streams:\n  A:\n    subjects: [\n        a,  # first\n        # none\n    ]\n",
    ),
    "a text over several lines without a mark": (
        HEAD + "streams:\n    A:\n        description: one\n            two\n        max_age: 7d\n",
        HEAD + "streams:\n  A:\n    description: one\n        two\n    max_age: 7d\n",
    ),
    "quotes over several lines": (
        HEAD + "streams:\n    A:\n        description: \"one  \n          two\n\n  # three\"\n",
        HEAD + "streams:\n  A:\n    description: \"one  \n      two\n\n    # three\"\n",
    ),
    "a value below its key": (
        HEAD + "streams:\n    A:\n        max_age:\n            # a week\n            7d\n",
        HEAD + "streams:\n  A:\n    max_age:\n        # a week\n        7d\n",
    ),
    "a key after a question mark": (
        HEAD + "streams:\n    ? A\n    :   subjects: [a]\n        max_age: 7d\n",
        HEAD + "streams:\n  ? A\n  :   subjects: [a]\n      max_age: 7d\n",
    ),
    "keys in other quotes": (HEAD + "streams:\n  'on': {'max_age': 7d}\n", HEAD + 'streams:\n  "on": {"max_age": 7d}\n'),
    "an anchor on a line of its own": (
        HEAD + "streams:\n    A:\n        &a\n        subjects: [a]\n", HEAD + "streams:\n  A:\n      &a\n      subjects: [a]\n",
    ),
    "no comment but part of a value": (
        HEAD + "forget: [stream/A#1, 'stream/# x']\n", HEAD + 'forget: [stream/A#1, "stream/# x"]\n',
    ),
    "a comment beside an empty value": (HEAD + "forget:   # none\n", HEAD + "forget:   # none\n"),
    "a comment at the end of the file": (HEAD + "\n\n  # the end\n\n", HEAD + "\n# the end\n"),
    "keys that nobody knows stand last": (HEAD + "nope: 1\nstreams: {}\n", HEAD + "streams: {}\nnope: 1\n"),
}  # fmt: skip


def in_stream(*lines: str) -> list[str]:
    """What becomes of the lines of a stream."""
    head = f"{HEAD}streams:\n  A:\n"
    after = formed(head + "".join(f"    {line}\n" if line else "\n" for line in lines))
    assert after.startswith(head)
    return [line.removeprefix("    ") for line in after.removeprefix(head).splitlines()]


def formed(text: str, order: Shape = ORDER) -> str:
    after, problems = in_form("t.yaml", text, order)
    assert problems == [], (text, problems)
    return after


@st.composite
def documents(draw: st.DrawFn, registry: Registry) -> dict[str, Any]:
    """With what may stand beside the resources, and texts of several lines where any text may stand."""
    beside = {key: BESIDE[key] for key in draw(st.sets(st.sampled_from(sorted(BESIDE))))}
    return {**draw(sections(registry, None)), **beside}


def with_texts(value: Any, texts: Iterator[str], key: str = "") -> Any:
    if isinstance(value, dict):
        return {
            name: with_texts(below, texts, name if key not in ("labels", "metadata") else "text")
            for name, below in value.items()
        }
    if isinstance(value, list):
        return [with_texts(item, texts) for item in value]
    return next(texts) if key == "text" and isinstance(value, str) else value


@st.composite
def untidy(draw: st.DrawFn, document: dict[str, Any], *, has_anchors: bool = True) -> Untidy:
    random = Random(draw(st.integers(0, 2**64 - 1)))
    texts = iter(random.choices([*TEXTS, "x"], k=40))
    made = Untidy(random, has_anchors=has_anchors)
    made.text = made.written(with_texts({"reconciler": 1, "topology": "orders", **document}, texts))
    return made


def said(topology: Topology) -> dict[str, Any]:
    """All of it but where it stands, and whether streams or buckets stand first."""
    found = {
        field.name: getattr(topology, field.name) for field in fields(topology) if field.name not in ("where", "files")
    }
    lists = {
        name: [replace(one, where=nowhere) for one in value]
        for name, value in found.items()
        if isinstance(value, tuple)
    }
    return {**found, **lists, "resources": sorted(lists["resources"], key=lambda one: one.address)}


@pytest.mark.parametrize("kinds", OF)
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_file_says_the_same_in_form_with_every_comment_once_and_then_nothing_is_left_to_do(
    kinds: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    registry, order = OF[kinds]
    folder = Folder(tmp_path_factory.mktemp("form"))
    document = data.draw(documents(registry))
    valid_text(folder, registry, document)
    before = data.draw(untidy(document))
    after = formed(before.text, order)
    assert formed(after, order) == after
    assert [(comment, after.count(comment)) for comment in before.comments] == [(one, 1) for one in before.comments]
    was, now = (folder.load(text, registry).topology for text in (before.text, after))
    assert was is not None and now is not None
    assert said(was) == said(now)


def out_of_form(was: Node, now: Node, order: Shape, column: int = 0) -> Iterator[Any]:
    """Keys that are not in their order, names that are not in their author's, and what is not indented by two. Brackets over
    several lines are left to their author."""
    if not isinstance(was, nodes.Scalar) and was.flow and was.line != was.end_line:
        return
    if isinstance(was, nodes.Sequence) and isinstance(now, nodes.Sequence):
        for one, other in zip(was.items, now.items, strict=True):
            yield from out_of_form(one, other, order.items or ANYTHING, column + 2)
    if not (isinstance(was, nodes.Mapping) and isinstance(now, nodes.Mapping)):
        return
    keys = list(in_order(dict.fromkeys(was.entries), order))
    if list(now.entries) != keys:
        yield keys, list(now.entries)
    for key, (name, value) in now.entries.items():
        if not now.flow and name.column != column:
            yield key, name.column, column
        yield from out_of_form(was.entries[key][1], value, order.below(key) or ANYTHING, column + 2)


@pytest.mark.parametrize("kinds", OF)
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_keys_are_in_their_order_names_in_their_authors_and_each_level_is_indented_by_two(
    kinds: str, data: st.DataObject
) -> None:
    registry, order = OF[kinds]
    before = data.draw(untidy(data.draw(documents(registry)), has_anchors=False))
    after = formed(before.text, order)
    was, now = (read_tree("t.yaml", text)[0] for text in (before.text, after))
    assert was and now
    assert list(out_of_form(was, now, order)) == [], f"{before.text}\n{after}"


@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_we_write_ourselves_is_in_form(data: st.DataObject) -> None:
    text = dump("orders", in_order(data.draw(documents(REAL)), ORDER))
    assert formed(text) == text


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=[*CASES])
def test_hard_cases(before: str, after: str) -> None:
    assert formed(before) == after
    assert formed(after) == after


def test_a_key_takes_along_what_stands_directly_above_it_and_at_the_end_of_its_line() -> None:
    assert in_stream("max_age: 7d   # a week", "# not more", "# than this", "subjects: [a]") == [
        "# not more", "# than this", "subjects: [a]", "max_age: 7d   # a week",
    ]  # fmt: skip


def test_what_stands_right_below_a_key_with_a_blank_line_behind_it_goes_with_that_key() -> None:
    assert in_stream("max_age: 7d", "# max_bytes: 1GiB", "", "subjects: [a]") == [
        "subjects: [a]", "", "max_age: 7d", "# max_bytes: 1GiB",
    ]  # fmt: skip


def test_what_stands_behind_the_last_key_stays_last() -> None:
    assert in_stream("max_age: 7d", "subjects: [a]", "# sealed: true") == [
        "subjects: [a]", "max_age: 7d", "# sealed: true",
    ]  # fmt: skip


def test_a_comment_that_is_indented_deeper_than_what_follows_stays_with_what_is_nested() -> None:
    text = HEAD + "streams:\n    A:\n        subjects: [a]\n        # max_age: 7d\n    # about B\n    B: {}\n"
    assert formed(text) == text.replace("    ", "  ")


def test_a_header_stays_on_top_whatever_comes_first_then() -> None:
    header, streams = "# Orders.\n#\n# All of them.\n", "streams:\n  A: {}\n"
    assert formed(f"{header}\n{streams}{HEAD}") == f"{header}\n{HEAD}{streams}"
    assert formed(f"{header}topology: t\nreconciler: 1\n") == f"{header}reconciler: 1\ntopology: t\n"
    assert formed(f"# of streams\n{streams}{HEAD}") == f"{HEAD}# of streams\n{streams}"
    schema = "# yaml-language-server: $schema=x.json\n"
    assert formed(f"{schema}# of streams\n{streams}{HEAD}") == f"{schema}{HEAD}# of streams\n{streams}"


def test_comments_in_a_column_stay_in_it_and_others_where_they_were_behind_their_line() -> None:
    before = "streams:\n    A:        # one\n        max_age: 7d # a week\n        protect: true  # yes\n    B: {}     # two\n"
    assert formed(HEAD + before) == HEAD + (
        "streams:\n  A:          # one\n    max_age: 7d # a week\n    protect: true  # yes\n  B: {}       # two\n"
    )


@pytest.mark.parametrize("mark", ["|", "|-", "|+", "|2", ">", ">-", "|2+"])
def test_a_text_of_several_lines_keeps_each_of_them(mark: str) -> None:
    text = "one # no comment\n\n    two\n  # three\n"
    before = "".join(f"      {line}\n" if line else "\n" for line in text.splitlines())
    where = "streams:\n    A:\n        max_age: 7d\n        description: "
    whole = (
        HEAD
        + where
        + mark
        + "\n"
        + before.replace("      ", "          ")
        + ("\n\n" if "+" in mark else "")
        + "        subjects: [a]\n"
    )
    root, after = (read_tree("t", one)[0] for one in (whole, formed(whole)))
    assert root and after and texts_of_node(root) == texts_of_node(after)
    assert list(texts_of_node(after)["streams"]["A"]) == ["description", "subjects", "max_age"]


ANCHORED = (
    HEAD
    + """streams:
  A:
    labels: &mine {team: x}
    max_age: &age 7d
    consumers:
      c: {ack_wait: *age, labels: *mine}
kv_buckets:
  B: {ttl: *age, labels: *mine}
"""
)


def test_anchors_and_aliases_stay_in_the_order_that_they_need() -> None:
    assert formed(ANCHORED) == ANCHORED.replace(
        "    labels: &mine {team: x}\n    max_age: &age 7d\n", "    max_age: &age 7d\n    labels: &mine {team: x}\n"
    )
    first = HEAD + "kv_buckets:\n  B: {ttl: &age 7d}\nstreams:\n  A: {max_age: *age}\n"
    assert formed(first) == first, "streams stand first, were it not for the anchor"
    again = "kv_buckets:\n  B: {max_bytes: &n 1, ttl: &n 7d}\nstreams:\n  A: {max_age: *n}\n"
    assert formed(HEAD + again) == HEAD + again, "an anchor that is given again is another one"


def test_merge_keys_stand_first() -> None:
    base = "streams:\n  A: &base\n    subjects: [a]\n    max_age: 7d\n"
    assert formed(HEAD + base + "  B:\n    subjects: [b]\n    <<: *base\n") == (
        HEAD + base + "  B:\n    <<: *base\n    subjects: [b]\n"
    )


@pytest.mark.parametrize(
    ("said", "in_form"),
    [
        ("'a: b'", '"a: b"'), ("'it''s'", '"it\'s"'), ("'a\\b'", "'a\\b'"), ("'say \"x\"'", "'say \"x\"'"),
        ('"x"', '"x"'), ("x", "x"), ("'7'", '"7"'), ("'${x}'", "'${x}'"), ("'\ue000'", "'\ue000'"), ("''", '""'),
    ],
)  # fmt: skip
def test_quotes_are_double_where_that_says_the_same(said: str, in_form: str) -> None:
    assert in_stream(f"description: {said}") == [f"description: {in_form}"]
    assert in_stream(f"sources: [{{name: {said}}}]") == [f"sources: [{{name: {in_form}}}]"]


def test_values_that_are_given_later_stay_what_they_are() -> None:
    line = '{subjects: [${region}.*, "$${x}"], max_age: ${keep}, ${more}: 1}'
    quoted = '{subjects: ["${region}.*", "$${x}"], max_age: "${keep}", "${more}": 1}'
    assert formed(f"{HEAD}streams:\n  A:   {line}\n") == f"{HEAD}streams:\n  A: {quoted}\n"
    private = "description: \ue000 and \ue001, not ${this}"
    assert in_stream(private) == [private]


@pytest.mark.parametrize(
    ("said", "in_form"),
    [
        ("subjects: [a.${x}.*, b, '${x}']", """subjects: ["a.${x}.*", b, '${x}']"""),
        ("subjects: [\n  a.${x},  # ${x}\n  b]", 'subjects: [\n  "a.${x}",  # ${x}\n  b]'),
        ('consumers: {c-${x}: {description: it says "${x}"}}', """consumers: {"c-${x}": {description: 'it says "${x}"'}}"""),
        ('subjects: [a.${x}]     # one\nmax_age: ${keep}       # two', 'subjects: ["a.${x}"]   # one\nmax_age: ${keep}       # two'),
        ("max_age: ${keep}", "max_age: ${keep}"),
        ("description: |\n  [a.${x}]", "description: |\n  [a.${x}]"),
    ],
)  # fmt: skip
def test_a_mention_in_brackets_gets_the_quotes_that_other_readers_need(said: str, in_form: str) -> None:
    lines = in_stream(*said.split("\n"))
    assert lines == in_form.split("\n")
    YAML(typ="safe", pure=True).load("\n".join(lines))


def test_lines_go_on_ending_as_the_first_one_does() -> None:
    text = "reconciler: 1\r\ntopology: t\nstreams:\r\n   A: {}\r"
    assert formed(text) == "reconciler: 1\r\ntopology: t\r\nstreams:\r\n  A: {}\r\n"


def test_a_document_in_brackets_is_left_to_its_author() -> None:
    text = '{"topology": "t",\n   "reconciler": 1}'
    assert formed(text) == text + "\n"


def test_what_stands_around_the_document_stays_there() -> None:
    text = "%YAML 1.1\n--- # one\n# Orders.\ntopology: t\nreconciler: 1\n...\n# end\n\n"
    assert formed(text) == "%YAML 1.1\n--- # one\n# Orders.\nreconciler: 1\ntopology: t\n...\n# end\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topology: t\nstreams: [\n", "XX510"),
        ("a: 1\nb: 2\n", "XX524"),
        ("targets: {}\nreconciler: 1\n", "XX524"),
        ("", "XX512"), ("# nothing\n", "XX512"), ("- topology\n", "XX504"),
        ("topology: t\ntopology: u\n", "XX505"),
        ("topology: !secret t\n", "XX514"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_as_validate_tells_it(text: str, problem: str, folder: Folder) -> None:
    after, problems = in_form(str(folder.path / "t.yaml"), text, document_order(REGISTRY))
    assert after == text
    assert problems == [one for one in folder.load(text).diagnostics if one.code != "XX503"]
    assert problem in str(problems[0])


def test_a_file_that_would_say_something_else_stays_as_it_is() -> None:
    """Without a break behind it, the last line of a text has none either: no other line may follow."""
    text = HEAD + "streams:\n  A:\n    description: |\n      one"
    after, (problem,) = in_form("t.yaml", text, ORDER)
    assert after == text
    assert (str(problem.span), problem.code, problem.fix) == ("t.yaml:5:18", "XX525", "end the file with a line break")


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("a: 1\nb: 2\n", "a: 1\nb: 3\n", "2:4"),
        ("a: 1\nb: '2'\n", "a: 1\nb: 2\n", "2:4"),
        ("a: 1\nb: [x, y]\n", "a: 1\nb: [y, x]\n", "2:5"),
        ("a: 1\nb: {x: 1}\n", "a: 1\nb: {y: 1}\n", "2:4"),
        ("a: 1\n", "a: [\n", "1:1"),
        ("a: 1\n# x\nb: 2\n", "a: 1\nb: 2\n", "2:1"),
        ("a: 1\nb: 2 # x\n", "a: 1\nb: 2\n", "2:6"),
        ("a: 1\nb: 2 # x\n", "# x\na: 1\nb: 2 # x\n", "2:6"),
        ("a: | # x\n  b # x\n", "a: |\n  b # x\n", "1:6"),
    ],
)  # fmt: skip
def test_whatever_would_be_lost_is_noticed_with_its_place(before: str, after: str, place: str) -> None:
    problem = first_loss("t", before, after)
    assert problem is not None
    assert str(problem.span) == f"t:{place}"


def test_the_order_of_keys_says_nothing() -> None:
    assert first_loss("t", "a: 1 # x\nb: {c: 2, d: 3}\n", "b: {d: 3, c: 2}\na: 1 # x\n") is None
