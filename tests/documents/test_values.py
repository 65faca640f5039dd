"""`parameters:` and `${name}`: a value of a declared type in its place, an error at each place that is to blame, and never
another structure than the file shows."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.documents.fill.values import Filled
from reconciler.documents.parse.files import DISK
from reconciler.documents.read.load import Loaded, load
from reconciler.documents.write.dump import dump
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address, Json


def loaded(folder: Path, text: str, /, values_file: str = "", **values: str) -> Loaded:
    file, other = folder / "t.yaml", folder / "values.yaml"
    file.write_text(f"reconciler: 1\ntopology: t\n{text}", encoding="utf-8")
    other.write_text(values_file, encoding="utf-8")
    files = (other,) if values_file else ()
    return load([file], REGISTRY, Filled(DISK, values, values, files=files))


def spec(found: Loaded) -> dict[str, Json]:
    assert found.topology is not None, found.diagnostics
    (one,) = found.topology.resources
    return one.spec.model_dump(exclude_unset=True)


def said(found: Loaded) -> list[tuple[str, str, str]]:
    """Place, code and message of each problem, without folders."""
    folder = ""
    for one in found.diagnostics:
        folder = folder or (one.span.file.rpartition("/")[0] + "/" if one.span else "")
    return [
        (str(one.span or "").removeprefix(folder), one.code, one.message.replace(folder, ""))
        for one in found.diagnostics
    ]


STREAM = "streams:\n  S: {%s}\n"


@pytest.mark.parametrize(
    ("declared", "value", "field", "result"),
    [
        ("{}", "eu", "description: ${x}", {"description": "eu"}),
        ("{}", "no", "description: ${x}", {"description": "no"}),
        ("{}", "5", "description: ${x}", {"description": "5"}),
        ("{}", "a: b, c", "description: ${x}", {"description": "a: b, c"}),
        ("{}", "} #", "description: ${x}", {"description": "} #"}),
        ("{type: number}", "1_000", "max_msgs: ${x}", {"max_msgs": 1000}),
        ("{type: number}", "3", 'max_msgs: "${x}"', {"max_msgs": 3}),
        ("{type: duration}", "7d", "max_age: ${x}", {"max_age": 604_800_000_000_000}),
        ("{type: size}", "2KiB", "max_bytes: ${x}", {"max_bytes": 2048}),
        ("{type: flag}", "false", "deny_delete: ${x}", {"deny_delete": False}),
        ("{type: list}", "[a, b.>]", "subjects: ${x}", {"subjects": ("a", "b.>")}),
        ("{type: mapping}", "{team: orders}", "metadata: ${x}", {"metadata": {"team": "orders"}}),
        ("{}", "eu", "subjects: [${x}.a.>, b.${x}]", {"subjects": ("eu.a.>", "b.eu")}),
        ("{type: number}", "7", "max_age: ${x}d", {"max_age": 604_800_000_000_000}),
        ("{}", "eu", "description: $${x} ${x} $$${x} $5", {"description": "${x} eu $${x} $5"}),
    ],
)
def test_a_value_stands_in_its_place_as_what_it_is_declared_to_be(
    tmp_path: Path, declared: str, value: str, field: str, result: dict[str, Json]
) -> None:
    text = f"parameters: {{x: {declared}}}\n{STREAM % field}"
    assert spec(loaded(tmp_path, text, x=value)) == result
    if not declared.startswith("{}"):
        assert spec(loaded(tmp_path, text, f"x: {value}\n")) == result


def test_names_are_filled_in(tmp_path: Path) -> None:
    topology = loaded(tmp_path, "parameters: {region: }\nstreams: {ORDERS_${region}: {}}\n", region="eu").topology
    assert topology is not None
    assert topology.resources[0].address == Address.of("stream", "ORDERS_eu")


def test_without_a_value_the_default_counts_and_a_given_value_before_it(tmp_path: Path) -> None:
    text = "parameters: {x: {type: number, default: 1}}\n" + STREAM % "max_msgs: ${x}"
    found = [loaded(tmp_path, text), loaded(tmp_path, text, "x: 2\n"), loaded(tmp_path, text, "x: 2\n", x="3")]
    assert [spec(one)["max_msgs"] for one in found] == [1, 2, 3]


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Co", "Zl", "Zp", "Cn")), min_size=1, max_size=20))
def test_whatever_a_text_looks_like_it_stays_one_text(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    text = "parameters: {x: }\n" + STREAM % "metadata: {a: ${x}, b: <${x}>}, description: ${x}"
    found = loaded(tmp_path_factory.mktemp("t"), text, x=value)
    if value.isprintable():
        assert spec(found) == {"metadata": {"a": value, "b": f"<{value}>"}, "description": value}
    else:
        assert [one.code for one in found.diagnostics] == ["XX517"]


WRONG = {
    "no such parameter": (
        "parameters: {region: }\n" + STREAM % "subjects: [${regoin}.>, ${region}]", {"region": "eu"}, "",
        [("t.yaml:5:18", "XX515", "`${regoin}` is no parameter of this topology; did you mean `region`?")],
    ),
    "no value": (
        "parameters: {region: }\n" + STREAM % "subjects: [${region}.>]", {}, "",
        [("t.yaml:5:18", "XX515",
          "`${region}` has no value: parameter `region` at t.yaml:3:14 has no default, and none was given")],
    ),
    "another type": (
        "parameters: {most: {type: number}}\n" + STREAM % "max_msgs: ${most}", {}, "most: many\n",
        [("values.yaml:1:7", "XX517",
          "most `many` is text; write a number without quotes; parameter `most` is declared at t.yaml:3:14")],
    ),
    "no flag": (
        "parameters: {x: {type: flag}}\n" + STREAM % "deny_delete: ${x}", {"x": "no"}, "",
        [("t.yaml:3:14", "XX517", "x `no` means true or false to some YAML readers and text to others; write false (from --value); "
          "parameter `x` is declared at t.yaml:3:14")],
    ),
    "not allowed": (
        "parameters: {x: {allowed: [eu, us]}}\n" + STREAM % "description: ${x}", {"x": "asia"}, "",
        [("t.yaml:3:14", "XX517",
          "x `asia` is not allowed; write `eu` or `us` (from --value); parameter `x` is declared at t.yaml:3:14")],
    ),
    "another pattern": (
        "parameters: {x: {pattern: '[a-z]+'}}\n" + STREAM % "description: ${x}", {}, "x: a1\n",
        [("values.yaml:1:4", "XX517", "x `a1` does not match the pattern `[a-z]+`; parameter `x` is declared at t.yaml:3:14")],
    ),
    "several lines": (
        "parameters: {x: }\n" + STREAM % "description: ${x}", {"x": "1\nb: 2"}, "",
        [("t.yaml:3:14", "XX517", "x contains a line break, or another character that does not fit on a line (from --value); "
          "parameter `x` is declared at t.yaml:3:14")],
    ),
    "a list inside a text": (
        "parameters: {x: {type: list, default: [a]}}\n" + STREAM % "description: a ${x}", {}, "",
        [("t.yaml:5:20", "XX517", "`${x}` is a list, from the default at t.yaml:3:39, and cannot stand inside a text or a name")],
    ),
    "a list for a text": (
        "parameters: {x: {type: list, default: [a]}}\n" + STREAM % "description: ${x}", {}, "",
        [("t.yaml:5:20", "ST504",
          "description is a list; write a single value (`${x}` is a list, from the default at t.yaml:3:39)")],
    ),
    "a field that takes no such value": (
        "parameters: {x: }\n" + STREAM % "storage: ${x}", {"x": "disk"}, "",
        [("t.yaml:5:16", "ST502", "storage `disk` is not `file` or `memory` (`${x}` is `disk`, from --value)")],
    ),
    "a value without a parameter": (
        "parameters: {region: }\n" + STREAM % "description: ${region}", {"region": "eu"}, "regoin: us\n",
        [("values.yaml:1:9", "XX516", "value `regoin` is given, but there is no parameter `regoin`; did you mean `region`?")],
    ),
    "a parameter that nothing mentions": (
        "parameters: {x: {default: a}}\nstreams: {S: } # ${x}\n", {}, "",
        [("t.yaml:3:14", "XX516", "parameter `x` is declared, but no file mentions `${x}`")],
    ),
    "names that become one": (
        "parameters: {x: }\nstreams:\n  S_eu: {}\n  S_${x}: {}\n", {"x": "eu"}, "",
        [("t.yaml:6:3", "XX505", "`S_eu` is written here and at 5:3; keep one (`${x}` is `eu`, from --value)")],
    ),
    "a default of another type": (
        "parameters: {x: {type: number, default: a}}\n" + STREAM % "max_msgs: ${x}", {}, "",
        [("t.yaml:3:41", "XX502", "parameters.x.default `a` is text; write a number without quotes")],
    ),
    "a default that is not allowed": (
        "parameters: {x: {allowed: [a], default: b}}\n" + STREAM % "description: ${x}", {}, "",
        [("t.yaml:3:41", "XX502", "parameters.x.default `b` is not allowed; write `a`")],
    ),
    "no regular expression": (
        "parameters: {x: {pattern: '['}}\n" + STREAM % "description: ${x}", {"x": "a"}, "",
        [("t.yaml:3:27", "XX502", "parameters.x.pattern `[` cannot be used: unclosed character class")],
    ),
    "a pattern that is whole only beside others": (
        "parameters: {x: {pattern: 'a)|(b'}}\n" + STREAM % "description: ${x}", {"x": "a"}, "",
        [("t.yaml:3:27", "XX502", "parameters.x.pattern `a)|(b` cannot be used: unopened group")],
    ),
    "a pattern that is too large": (
        "parameters: {x: {pattern: 'a{1000}{1000}{1000}'}}\n" + STREAM % "description: ${x}", {"x": "a"}, "",
        [("t.yaml:3:27", "XX502", "parameters.x.pattern `a{1000}{1000}{1000}` cannot be used: compiled regex exceeds size limit of "
          "10485760 bytes")],
    ),
    "a pattern that looks ahead": (
        "parameters: {x: {pattern: '(?=a)a'}}\n" + STREAM % "description: ${x}", {"x": "a"}, "",
        [("t.yaml:3:27", "XX502", "parameters.x.pattern `(?=a)a` cannot be used: look-around, "
          "including look-ahead and look-behind, is not supported")],
    ),
    "an unknown key": (
        "parameters: {x: {defualt: b}}\n" + STREAM % "description: ${x}", {"x": "a"}, "",
        [("t.yaml:3:18", "XX501", "parameters.x: unknown key `defualt`; did you mean `default`?")],
    ),
    "a name that cannot be mentioned": (
        "parameters: {a b: }\n" + STREAM % "", {}, "",
        [("t.yaml:3:14", "XX506", "`a b` cannot stand in `${…}`; begin with a letter, and write letters, digits, `_`, `.` and `-`")],
    ),
    "values that are no mapping": (
        "parameters: {x: {default: a}}\n" + STREAM % "description: ${x}", {}, "- a\n",
        [("values.yaml:1:1", "XX504", "a file of values is a list; write a mapping (`region: eu`)")],
    ),
}  # fmt: skip


def test_no_pattern_takes_longer_than_its_text_is(tmp_path: Path) -> None:
    """A backtracking engine would take minutes, and whoever sends a pull request would stop its review."""
    begun = process_time()
    found = loaded(tmp_path, "parameters: {x: {pattern: '(a+)+'}}\n" + STREAM % "description: ${x}", x="a" * 27 + "!")
    assert [one.code for one in found.diagnostics] == ["XX517"]
    assert process_time() - begun < 1


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_once_at_its_place(tmp_path: Path, what: str) -> None:
    text, values, file, expected = WRONG[what]
    assert said(loaded(tmp_path, text, file, **values)) == expected


def test_every_place_without_a_value_is_told_at_once(tmp_path: Path) -> None:
    found = loaded(tmp_path, "streams:\n  ${a}: {}\n  ${b}: {}\n").diagnostics
    assert [one.message.partition(" is ")[0] for one in found] == ["`${a}`", "`${b}`"]


def test_a_parameter_is_declared_in_one_file_and_mentioned_in_all(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("topology: t\nparameters: {x: {default: eu}}\n")
    (tmp_path / "t.yaml").write_text("reconciler: 1\ntopology: t\nstreams: {S: {description: ${x}}}\n")
    assert spec(load([tmp_path], REGISTRY)) == {"description": "eu"}


def test_a_file_of_values_beside_the_files_is_no_part_of_the_topology(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "reconciler: 1\ntopology: t\nparameters: {x: }\nstreams: {S: {description: ${x}}}\n"
    )
    (tmp_path / "eu.yaml").write_text("x: eu\n")
    assert spec(load([tmp_path], REGISTRY, Filled(files=[tmp_path / "eu.yaml"]))) == {"description": "eu"}


def test_a_value_that_is_mentioned_too_often_to_be_read_is_an_error(tmp_path: Path) -> None:
    many = "[" + ", ".join("a" for _ in range(10_000)) + "]"
    mentions = "".join(f"  S{number}: {{subjects: ${{x}}}}\n" for number in range(100))
    found = loaded(tmp_path, f"parameters: {{x: {{type: list}}}}\nstreams:\n{mentions}", x=many)
    assert "the values add more than 500_000 nodes to these files" in [one.message for one in found.diagnostics][-1]


def test_keys_that_begin_with_x_hold_anchors(tmp_path: Path) -> None:
    text = "x-limits: &limits {max_msgs: 5}\nstreams:\n  S: {<<: *limits, description: a}\n"
    assert spec(loaded(tmp_path, text)) == {"max_msgs": 5, "description": "a"}


@pytest.mark.parametrize("text", ["${name}", "$${name}", "a ${x} b $${y}", "$ {name}", "${"])
def test_what_is_written_is_read_back(tmp_path: Path, text: str) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(dump("t", {"streams": {"S": {"description": text}}}), encoding="utf-8")
    assert spec(load([file], REGISTRY)) == {"description": text}
