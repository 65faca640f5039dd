"""One entry stands for many: each has its own name and values, and every mistake is told once, with the key that it is about."""

from __future__ import annotations

import time

import pytest

from reconciler.documents.fill.for_each import MOST
from reconciler.documents.fill.values import Filled
from reconciler.documents.read.load import Loaded, load
from reconciler.documents.write.render import rendered_file
from reconciler.kinds import REGISTRY
from tests.documents.reading import Folder

HEAD = "reconciler: 1\ntopology: t\n"
TENANTS = """parameters:
  tenants: {type: mapping, default: {acme: {keep: 3d}, beta: {keep: 5d, tags: [ssd]}}}
streams:
  ORDERS_${each.key}:
    for_each: ${tenants}
    subjects: [orders.${each.key}.>]
    max_age: ${each.value.keep}
    consumers:
      billing: {ack_policy: explicit}
"""


def loaded(folder: Folder, text: str, **given: str) -> Loaded:
    folder.write("t.yaml", HEAD + text)
    return load([folder.path], REGISTRY, Filled(values=given))


def addresses(found: Loaded) -> list[str]:
    assert found.topology is not None, found.diagnostics
    return [str(one.address) for one in found.topology.resources]


def told(found: Loaded, folder: Folder) -> list[tuple[str, str, str]]:
    here = f"{folder.path}/"
    return [(str(one.span).replace(here, ""), one.code, one.message.replace(here, "")) for one in found.diagnostics]


def test_an_entry_becomes_one_for_each_key_with_its_values(folder: Folder) -> None:
    found = loaded(folder, TENANTS)
    assert addresses(found) == [
        "stream/ORDERS_acme", "consumer/ORDERS_acme/billing", "stream/ORDERS_beta", "consumer/ORDERS_beta/billing",
    ]  # fmt: skip
    text = rendered_file(found.tops, None)
    assert "max_age: 3d" in text and "max_age: 5d" in text
    assert "subjects: [orders.beta.>]" in text
    assert "for_each" not in text


def test_what_is_rendered_says_which_key_each_value_is_from(folder: Folder) -> None:
    found = loaded(folder, TENANTS)
    [line] = [line for line in rendered_file(found.tops, found.origins).splitlines() if "max_age: 5d" in line]
    assert line.replace(f"{folder.path}/", "").endswith("# t.yaml:9:14; key `beta` at t.yaml:4:56")


def test_the_order_of_keys_changes_nothing(folder: Folder) -> None:
    one, other = (
        loaded(folder, TENANTS, tenants="{" + said + "}")
        for said in ("a: {keep: 1d}, b: {keep: 2d}", "b: {keep: 2d}, a: {keep: 1d}")
    )
    assert sorted(addresses(one)) == sorted(addresses(other))
    assert one.topology and other.topology
    assert {str(r.address): r.spec for r in one.topology.resources} == {
        str(r.address): r.spec for r in other.topology.resources
    }


def test_consumers_are_stamped_within_stamped_streams(folder: Folder) -> None:
    found = loaded(folder, """streams:
  S_${each.key}:
    for_each: [a, b]
    subjects: ["${each.key}.>"]
    consumers:
      c_${each.key}: {for_each: [x, y], filter_subject: "${each.outer.key}.${each.key}"}
kv_buckets:
  K_${each.key}: {for_each: [a, b]}
""")  # fmt: skip
    assert [one for one in addresses(found) if one.startswith("consumer")] == [
        f"consumer/S_{stream}/c_{name}" for stream in "ab" for name in "xy"
    ]
    assert "filter_subject: b.x" in rendered_file(found.tops, None)


def test_an_anchor_may_hold_what_every_stamped_entry_says(folder: Folder) -> None:
    found = loaded(folder, """x-stream: &alike {subjects: ["s.${each.key}.>"], max_age: 1d}
streams:
  A_${each.key}: {for_each: [a, b], <<: *alike}
""")  # fmt: skip
    assert "subjects: [s.b.>]" in rendered_file(found.tops, None)


def test_a_whole_tenant_is_removed_by_its_keys(folder: Folder) -> None:
    found = loaded(
        folder, 'removed:\n  - {for_each: [x, y], address: "stream/ORDERS_${each.key}", reason: they left}\n'
    )
    assert found.topology is not None, found.diagnostics
    assert [str(one.address) for one in found.topology.removed] == ["stream/ORDERS_x", "stream/ORDERS_y"]


def test_an_entry_about_many_stands_for_one_of_each_tenant(folder: Folder) -> None:
    found = loaded(folder, """removed:
  - {for_each: {x: {objects: 3}, y: {objects: 5}}, on: "tenant=${each.key}", upto: "${each.value.objects}", reason: they left}
forget:
  - {for_each: [v, w], on: "*/ORDERS_${each.key}*", upto: 2}
""")  # fmt: skip
    assert found.topology is not None, found.diagnostics
    assert [(one.key, one.on, one.upto) for one in found.topology.bulk] == [
        ("removed", "tenant=x", 3), ("removed", "tenant=y", 5), ("forget", "*/ORDERS_v*", 2), ("forget", "*/ORDERS_w*", 2),
    ]  # fmt: skip


def test_no_key_is_no_resource(folder: Folder) -> None:
    assert addresses(loaded(folder, "streams:\n  A_${each.key}: {for_each: []}\n")) == []


def test_a_text_never_becomes_a_flag_or_a_number(folder: Folder) -> None:
    found = loaded(folder, """streams:
  A_${each.key}: {for_each: {"no": "7", b: "yes"}, subjects: ["a.${each.key}"], metadata: {is: "${each.value}"}}
""")  # fmt: skip
    assert found.topology is not None, found.diagnostics
    assert [one.spec.model_dump(exclude_unset=True)["metadata"] for one in found.topology.resources] == [
        {"is": "7"},
        {"is": "yes"},
    ]


WRONG = {
    "a name that is the same": (
        "S: {for_each: [a, b, c]}", "4:3", "XX527", "keys `a` and `b` of for_each both give the name `S`"),
    "a key that is there twice": (
        "S_${each.key}: {for_each: [a, a]}", "4:33", "XX527", "key `a` of for_each is there twice, also at t.yaml:4:30"),
    "a key that is a wildcard": (
        'S_${each.key}: {for_each: ["*"]}', "4:30", "XX527", "key `*` of for_each holds `*`, and cannot stand in a name or a subject"),
    "a key that makes two tokens": (
        "S_${each.key}: {for_each: [a.b]}", "4:30", "XX527", "key `a.b` of for_each holds `.`, and cannot stand in a name or a subject"),
    "a key that nobody sees": (
        'S_${each.key}: {for_each: ["a\\u202e"]}', "4:30", "XX527",
        "key `a\u202e` of for_each holds a character that nobody can see, and cannot stand in a name or a subject"),
    "no names": (
        "S_${each.key}: {for_each: 7}", "4:29", "XX527", "for_each is a single value; write a list of names, or a mapping"),
    "nothing": (
        "S_${each.key}: {for_each: }", "4:19", "XX527", "for_each has no value; write a list of names, or a mapping"),
    "a list of mappings": (
        "S_${each.key}: {for_each: [{a: 1}]}", "4:30", "XX527",
        "for_each lists a mapping; to say more than names, write a mapping (`acme: {keep: 7d}`)"),
    "a value that some do not have": (
        "S_${each.key}: {for_each: {a: {k: 1d}, b: {}, c: }, max_age: '${each.value.k}'}", "4:64", "XX515",
        "`${each.value.k}` has no value for key `b` and 1 more: there is no `k`"),
    "outside of any": (
        "S_${each.key}: {}", "4:3", "XX515", "`${each.key}` stands outside of any `for_each`"),
    "around the only one": (
        "S_${each.key}: {for_each: [a], description: '${each.outer.key}'}", "4:47", "XX515",
        "`${each.outer.key}` has no value for key `a`: there is no `for_each` around this one"),
    "the same mistake for all": (
        "S_${each.key}: {for_each: [a, b, c], max_age: 7x}", "4:49", "ST502",
        "max_age `7x` is not a duration; write 7d, 36h, 90s or nanoseconds (for key `a` at t.yaml:4:30, and for 2 more)"),
    "a value that is wrong for one": (
        "S_${each.key}: {for_each: {a: 1d, b: 7x}, max_age: '${each.value}'}", "4:54", "ST502",
        "max_age `7x` is not a duration; write 7d, 36h, 90s or nanoseconds (for key `b` at t.yaml:4:37)"),
    "a name that another entry has": (
        "S_a: {}\n  S_${each.key}: {for_each: [a]}", "5:3", "XX505",
        "`S_a` is written here for key `a` at t.yaml:5:30 and at 4:3; keep one"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_told_once_at_its_place_with_its_key(folder: Folder, what: str) -> None:
    text, place, code, message = WRONG[what]
    assert told(loaded(folder, f"streams:\n  {text}\n"), folder) == [(f"t.yaml:{place}", code, message)]


def test_ten_thousand_keys_are_too_many(folder: Folder) -> None:
    keys = ", ".join(f"k{number}" for number in range(10_000))
    [(place, code, message)] = told(loaded(folder, f"streams:\n  S_${{each.key}}: {{for_each: [{keys}]}}\n"), folder)
    assert (place, code) == ("t.yaml:4:29", "XX527")
    assert message == f"for_each stands for 10_000 entries, and {MOST:_} are the most; divide them"


def test_no_parameter_takes_the_name_of_an_element(folder: Folder) -> None:
    found = loaded(folder, "parameters: {each.key: {default: x}}\nstreams: {}\n")
    assert told(found, folder)[0] == (
        "t.yaml:3:14", "XX506", "`each.key` is a name that `for_each` gives a meaning; choose another"
    )  # fmt: skip


def test_an_overlay_changes_one_of_many_by_its_name_or_all_by_their_keys(folder: Folder) -> None:
    folder.write("t.yaml", f"{HEAD}environments: {{prod: }}\n{TENANTS}")
    folder.write("one.yaml", "environment: prod\nstreams: {ORDERS_acme: {max_age: 9d}}\n")
    folder.write(
        "all.yaml", 'environment: prod\nstreams: {"ORDERS_${each.key}": {for_each: ${tenants}, num_replicas: 3}}\n'
    )
    text = rendered_file(load([folder.path], REGISTRY, Filled(environment="prod")).tops, None)
    assert ("max_age: 9d" in text, "max_age: 5d" in text, text.count("num_replicas: 3")) == (True, True, 2)


def test_what_an_overlay_changes_in_all_of_many_is_noted_once_for_each(folder: Folder) -> None:
    folder.write("t.yaml", f"{HEAD}environments: {{prod: }}\n{TENANTS}")
    folder.write(
        "all.yaml", 'environment: prod\nstreams: {"ORDERS_${each.key}": {for_each: ${tenants}, max_age: 9d}}\n'
    )
    found = load([folder.path], REGISTRY, Filled(environment="prod"))
    lines = [line for line in rendered_file(found.tops, found.origins).splitlines() if "max_age: 9d" in line]
    assert [line.count("in place of") for line in lines] == [1, 1]
    assert "in place of what is said at" in lines[0]


def test_stamped_files_cost_no_more_than_written_ones(folder: Folder) -> None:
    """Per object, beside the same objects written one by one, in the same run."""
    count = 300
    inner = "    consumers: {a: {ack_policy: explicit}, b: {ack_policy: explicit}, c: {ack_policy: explicit}}\n"
    stamped = "".join(
        f"  S{n}_${{each.key}}:\n    for_each: ${{keys}}\n    subjects: [s{n}.${{each.key}}.>]\n{inner}"
        for n in range(4)
    )
    written = "".join(
        f"  S{n}_k{key}:\n    subjects: [s{n}.k{key}.>]\n{inner}" for n in range(4) for key in range(count)
    )
    keys = ", ".join(f"k{number}" for number in range(count))

    def seconds(text: str) -> float:
        start = time.process_time()
        assert len(addresses(loaded(folder, text))) == 16 * count
        return time.process_time() - start

    one = f"parameters: {{keys: {{type: list, default: [{keys}]}}}}\nstreams:\n{stamped}"
    assert min(seconds(one) for _ in range(3)) < 1.2 * min(seconds(f"streams:\n{written}") for _ in range(3))
