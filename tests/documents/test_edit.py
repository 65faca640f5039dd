"""Values of a file are edited where they stand: nothing but the touched lines changes, whatever the layout."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.documents.parse.tree import read_tree
from reconciler.documents.write.edit import CannotEdit, edit_values, texts_of_node, texts_of_value

BEFORE = """# orders, all of it
reconciler: 1
topology: orders
streams:
    ORDERS:            # the big one
        subjects: [ orders.> ]
        groups:
            billing:
                type: elastic
"""
AFTER = """                max_members: 6      # fixed for ever

            # somebody else's
            audit: {type: elastic,   max_members: 2, members: [x]}
"""

FLOW = "                members: [b1,  'b2', b3]   # who works\n"
BLOCK = """                members:            # who works
                - b1                # since 2021
                  # the next two are on the new machines
                - "b2"
                - b3
"""
SPREAD = """                members: [
                    b1,   # since 2021
                    b2,
                    b3    # newest
                ]
"""


def written(lines: str, *members: str) -> str:
    return edit_values(
        "t.yaml", BEFORE + lines + AFTER, ["streams", "ORDERS", "groups", "billing"], {"members": [*members]}
    )


@pytest.mark.parametrize(
    ("lines", "members", "expected"),
    [
        (FLOW, ["b1", "b2", "b3", "b4"], "                members: [b1,  'b2', b3, b4]   # who works\n"),
        (FLOW, ["b1", "b3"], "                members: [b1,  b3]   # who works\n"),
        (FLOW, ["b2", "b3"], "                members: ['b2', b3]   # who works\n"),
        (FLOW, ["b1"], "                members: [b1]   # who works\n"),
        (FLOW, ["c", "d"], "                members: [c, d]   # who works\n"),
        (FLOW, [], "                members: []   # who works\n"),
        (FLOW, ["on", "b1"], "                members: [b1, \"on\"]   # who works\n"),
        (BLOCK, ["b1", "b2", "b3", "b4", "b5"], BLOCK + "                - b4\n                - b5\n"),
        (BLOCK, ["b1", "b3"], BLOCK.replace('                - "b2"\n', "")),
        (BLOCK, ["b4"], "                members:            # who works\n"
                        "                  # the next two are on the new machines\n                - b4\n"),
        (SPREAD, ["b1", "b2", "b3", "b4"], SPREAD.replace("b3    #", "b3, b4    #")),
        (SPREAD, ["b1", "b3"], SPREAD.replace("                    b2,\n", "")),
        ("                members: [b, b]\n", ["b", "c"], "                members: [b, c]\n"),
        ("                members: []\n", ["a"], "                members: [a]\n"),
        ("                members:\n", ["a"], "                members: [a]\n"),
        ("                members: ~ # none\n", ["a"], "                members: [a] # none\n"),
    ],
)  # fmt: skip
def test_items_come_and_go_where_the_list_stands(lines: str, members: list[str], expected: str) -> None:
    assert written(lines, *members) == BEFORE + expected + AFTER


def test_an_item_that_stands_twice_is_told_from_two() -> None:
    text = "streams:\n  S:\n    placement:\n      tags: [b, b]\n"
    assert edit_values("t.yaml", text, ["streams", "S"], {"placement": {"tags": ["b", "c"]}}) == text.replace(
        "b, b", "b, c"
    )


def test_a_list_that_is_not_there_is_added_behind_the_last_key() -> None:
    assert written("", "a") == BEFORE + AFTER.replace("ever\n", "ever\n                members: [a]\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_end_as_the_others_do(newline: str) -> None:
    text = "g:\n  members:\n  - a\n".replace("\n", newline)
    assert edit_values("t", text, ["g"], {"members": ["a", "b"]}) == text + f"  - b{newline}"


def test_a_file_without_a_last_line_break_gets_one_only_between_lines() -> None:
    assert edit_values("t", "g:\n  n: 1", ["g"], {"members": ["a"]}) == "g:\n  n: 1\n  members: [a]"


def test_what_stands_in_braces_stays_there() -> None:
    text = "g: {type: elastic, members: [a], n: 2}   # short\n"
    assert edit_values("t", text, ["g"], {"members": ["a", "b"]}) == text.replace("[a]", "[a, b]")
    assert edit_values("t", "g: {n: 2} # x\n", ["g"], {"members": ["a"]}) == "g: {n: 2, members: [a]} # x\n"


@pytest.mark.parametrize("braces", ["{}", "{ }", "{\n  }"])
def test_empty_braces_are_filled(braces: str) -> None:
    assert edit_values("t", f"g: {braces} # x\nh: {{}}\n", ["g"], {"sealed": True}) == "g: {sealed: true} # x\nh: {}\n"


def test_empty_braces_that_others_share_are_left_to_a_person() -> None:
    with pytest.raises(CannotEdit):
        edit_values("t", "g: &none {}\nh: *none\n", ["g"], {"sealed": True})


MAPPED = [{"member": "a", "partitions": [0, 2]}, {"member": "b", "partitions": [1]}]


def test_one_key_takes_the_place_of_another() -> None:
    text = "g:\n  # who\n  members: [a, b] # two\n  n: 1\n"
    assert edit_values("t", text, ["g"], {"members": None, "member_mappings": MAPPED}) == (
        "g:\n  # who\n  member_mappings:\n  - {member: a, partitions: [0, 2]}\n  - {member: b, partitions: [1]} # two\n  n: 1\n"
    )


def test_in_braces_too() -> None:
    text = "g: {members: [a, b], n: 1}\n"
    assert edit_values("t", text, ["g"], {"members": None, "member_mappings": MAPPED}) == (
        "g: {member_mappings: [{member: a, partitions: [0, 2]}, {member: b, partitions: [1]}], n: 1}\n"
    )


def test_only_the_mappings_that_differ_are_touched() -> None:
    text = """g:
  member_mappings:
  - member: a          # eldest
    partitions: [0,2]
  - {member: c, partitions: [3]}
  - {partitions: [1], member: b}
"""
    wanted = [*MAPPED[:1], {"member": "c", "partitions": [1, 3]}]
    assert (
        edit_values("t", text, ["g"], {"member_mappings": wanted})
        == """g:
  member_mappings:
  - member: a          # eldest
    partitions: [0,2]
  - {member: c, partitions: [3, 1]}
"""
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("g:\n  n: 1\n  members: [a] # me\n", "g:\n  n: 1\n"),
        ("g: {members: [a], n: 1}\n", "g: {n: 1}\n"),
        ("g: {n: 1, members: [a]}\n", "g: {n: 1}\n"),
    ],
)
def test_a_key_that_goes_takes_its_line_or_its_comma(text: str, left: str) -> None:
    assert edit_values("t", text, ["g"], {"members": None}) == left


SHARED = "team: &team [a, b]\ng: {members: *team}\nh: {members: *team}\n"


def test_an_alias_is_replaced_by_a_list_of_its_own() -> None:
    assert edit_values("t", SHARED, ["g"], {"members": ["a", "b", "c"]}) == SHARED.replace("*team", "[a, b, c]", 1)


def test_what_a_merge_key_brings_is_overridden_beside_it() -> None:
    text = "base: &base {members: [a], n: 1}\ng:\n  <<: *base\n  m: 2\nh: {<<: *base}\n"
    assert edit_values("t", text, ["g"], {"members": ["b"]}) == text.replace("m: 2\n", "m: 2\n  members: [b]\n")


@pytest.mark.parametrize(
    "text",
    [
        "g: {members: &team [a, b]}\nh: {members: *team}\n",
        "base: &base {members: [a]}\ng: *base\nh: *base\n",
        "base: &base {members: [a]}\ng: {<<: *base}\n",
        "x: &x a\ng:\n  members:\n  - *x\n  - b\n",
    ],
)
def test_what_others_share_is_left_to_a_person(text: str) -> None:
    with pytest.raises(CannotEdit):
        edit_values("t", text, ["g"], {"members": ["a", "b", "c"]})


def test_a_list_with_an_item_from_elsewhere_is_written_anew() -> None:
    text = "x: &x a\ng: {members: [*x, b]}\n"
    assert edit_values("t", text, ["g"], {"members": ["a", "c"]}) == text.replace("[*x, b]", "[a, c]")


names = st.lists(st.sampled_from(["a", "b", "c", "on", "1", "x y", "m-4", "é"]), unique=True)
layouts = st.sampled_from(["flow", "block", "spread"])


def drawn(members: list[str], layout: str) -> str:
    quoted = [f'"{name}"' for name in members]
    if layout == "block" and members:
        return "  members:\n" + "".join(f"  - {name}  # {name}\n" for name in quoted)
    inside = ",\n    ".join(quoted) if layout == "spread" else ", ".join(quoted)
    return f"  members: [{inside}]\n"


@given(names, names.filter(bool), layouts)
def test_any_list_becomes_any_other_and_the_lines_around_it_stay(old: list[str], new: list[str], layout: str) -> None:
    head, tail = "# top\ng: # g\n  n: 1 # n\n", "  # below\n  m: [1,  2]\nh: {members: [z]}\n"
    text = edit_values("t", head + drawn(old, layout) + tail, ["g"], {"members": new})
    assert text.startswith(head)
    assert text.endswith(tail)
    assert sorted(says(text)["members"]) == sorted(texts_of_value(new))  # those that were there keep their order
    again: Any = edit_values("t", text, ["g"], {"members": new})
    assert again == text


def says(text: str) -> dict[str, Any]:
    """What stands under `g`."""
    root, problems = read_tree("t", text)
    assert root is not None and not problems
    found: dict[str, Any] = texts_of_node(root)["g"]
    return found


def owners_of(group: dict[str, Any]) -> dict[str, list[str]]:
    return {one["member"]: sorted(one["partitions"]) for one in group["member_mappings"]}


owned = st.dictionaries(
    st.sampled_from(["a", "b", "on", "1", "x y"]), st.lists(st.integers(0, 9), unique=True), min_size=1
)


def mapped(owners: dict[str, list[int]]) -> list[dict[str, Any]]:
    return [{"member": name, "partitions": numbers} for name, numbers in owners.items()]


def as_lines(owners: dict[str, list[int]], layout: str) -> str:
    """In one line each, in several, or all of them in brackets."""
    flows = [f'{{member: "{name}", partitions: {numbers}}}' for name, numbers in owners.items()]
    if layout == "flow":
        return f"  member_mappings: [{', '.join(flows)}]  # all\n"
    if layout == "block":
        return "  member_mappings:\n" + "".join(f"  # next\n  - {one}  # who\n" for one in flows)
    return "  member_mappings:\n" + "".join(
        f'    - member: "{name}"  # who\n      partitions: {numbers}  # what\n' for name, numbers in owners.items()
    )


@given(owned, owned, layouts)
def test_any_mappings_become_any_others(old: dict[str, list[int]], new: dict[str, list[int]], layout: str) -> None:
    head, tail = "# top\ng: # g\n  n: 1 # n\n", "  # below\n  m: [1,  2]\nh: {members: [z]}\n"
    text = edit_values("t", head + as_lines(old, layout) + tail, ["g"], {"member_mappings": mapped(new)})
    assert text.startswith(head)
    assert text.endswith(tail)
    assert owners_of(says(text)) == {name: sorted(texts_of_value(numbers)) for name, numbers in new.items()}
    assert edit_values("t", text, ["g"], {"member_mappings": mapped(new)}) == text


@given(owned, names.filter(bool), layouts)
def test_mappings_and_members_take_each_others_place(
    owners: dict[str, list[int]], members: list[str], layout: str
) -> None:
    head, tail = "# top\ng: # g\n  n: 1 # n\n", "  # below\n  m: [1,  2]\nh: {members: [z]}\n"
    listed = edit_values(
        "t", head + as_lines(owners, layout) + tail, ["g"], {"member_mappings": None, "members": members}
    )
    again = edit_values("t", listed, ["g"], {"members": None, "member_mappings": mapped(owners)})
    assert says(listed) == texts_of_value({"n": 1, "members": members, "m": [1, 2]})
    assert says(again) == texts_of_value({"n": 1, "m": [1, 2], "member_mappings": mapped(owners)})
    assert again.startswith(head)
    assert again.endswith(tail)


@pytest.mark.parametrize("new", [{}, {"f": 5}], ids=["nothing new", "something new"])
def test_several_keys_leave_a_mapping_on_one_line(new: dict[str, int]) -> None:
    """Whichever they are: each takes its comma along, once."""
    keys = {"b": 1, "c": 2, "d": 3, "e": 4}
    text = f"a: {{{', '.join(f'{name}: {value}' for name, value in keys.items())}}}\n"
    for number in range(1, len(keys)):
        for gone in combinations(keys, number):
            after = read_tree("x", edit_values("x", text, ["a"], {**dict.fromkeys(gone), **new}))[0]
            left = {name: value for name, value in keys.items() if name not in gone}
            assert after is not None and texts_of_node(after) == {"a": texts_of_value({**left, **new})}


def test_a_parameter_is_not_overwritten_by_the_value_of_one_account() -> None:
    text = "a:\n  keep: ${keep}   # each its own\n  subjects: [${region}.x]\n  most: 1\n"
    assert edit_values("x", text, ["a"], {"most": 2}) == text.replace("most: 1", "most: 2")
    for changes in ({"keep": "7d"}, {"subjects": ["eu.x"]}, {"keep": None}):
        with pytest.raises(CannotEdit, match=r"`\$\{(keep|region)\}` stands for the value there"):
            edit_values("x", text, ["a"], changes)


@pytest.mark.parametrize("text", ["a: {b: c}\n", "a:\n  b: c\n"])
def test_a_value_that_looks_like_a_parameter_is_written_as_the_text_that_it_is(text: str) -> None:
    assert "$${x}" in edit_values("x", text, ["a"], {"b": "${x}"})
