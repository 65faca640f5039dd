"""An environment changes files by name and on purpose, and every mistake in it is told at its place."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from reconciler.documents.fill.values import Filled
from reconciler.documents.read.load import Loaded, load
from reconciler.documents.write.render import rendered_file
from reconciler.journeys.plan.validate import checked_each
from reconciler.kinds import REGISTRY
from tests.documents.reading import Folder

BASE = """\
reconciler: 1
topology: t
parameters: {keep: {type: duration, default: 7d}}
environments:
  dev:
  prod: {values: {keep: 30d}, expect: {min_server: "2.12"}}
streams:
  A:
    subjects: [a, b]
    max_age: ${keep}
    metadata: {team: x, tier: gold}
    placement: {cluster: c, tags: [ssd]}
    consumers:
      c: {ack_policy: explicit, ack_wait: 1m}
      d: {ack_policy: none}
  B: {subjects: [${environment}.>]}
"""
PROD = "environment: prod\nstreams:\n  A:\n"


def loaded(folder: Folder, environment: str | None, *overlays: str, base: str = BASE) -> Loaded:
    """Of a base with overlays in files of their own."""
    folder.write("t.yaml", base)
    for number, text in enumerate(overlays):
        folder.write(f"u{number}.yaml", text)
    return load([folder.path], REGISTRY, Filled(environment=environment))


def without_comments(found: Loaded) -> str:
    assert found.topology is not None, found.diagnostics
    return rendered_file(found.tops, None)


def told(found: Loaded, folder: Folder) -> list[tuple[str, str, str]]:
    here = f"{folder.path}/"
    return [(str(one.span).replace(here, ""), one.code, one.message.replace(here, "")) for one in found.diagnostics]


def lines_of(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()}


def test_each_environment_has_its_values_its_name_and_its_expectations(folder: Folder) -> None:
    dev, prod = (without_comments(loaded(folder, name)) for name in ("dev", "prod"))
    assert {"max_age: 7d", "subjects: [dev.>]"} <= lines_of(dev)
    assert {"max_age: 30d", "subjects: [prod.>]", 'min_server: "2.12"'} <= lines_of(prod)
    assert "min_server" not in dev


CHANGES = {
    "set": ("    max_age: 1d\n", ["max_age: 1d"], ["max_age: 30d"]),
    "set a mapping, whole": ("    placement: {cluster: e}\n", ["placement:", "cluster: e"], ["tags: [ssd]"]),
    "set a list, whole": ("    subjects: [c]\n", ["subjects: [c]"], ["subjects: [a, b]"]),
    "set a new key": ("    max_msgs: 5\n", ["max_msgs: 5", "max_age: 30d"], []),
    "unset": ("    unset: [max_age, placement]\n", ["subjects: [a, b]"], ["max_age: 30d", "cluster: c"]),
    "append to a list": ("    append: {subjects: [c]}\n", ["subjects: [a, b, c]"], []),
    "append to a mapping": ("    append: {metadata: {env: x}}\n", ["team: x", "env: x"], []),
    "remove from a list": ("    remove: {subjects: [a]}\n", ["subjects: [b]"], []),
    "remove from a mapping": ("    remove: {metadata: [tier]}\n", ["team: x"], ["tier: gold"]),
    "change inside": ("    consumers: {c: {ack_wait: 2m}}\n", ["ack_wait: 2m", "ack_policy: explicit"], ["ack_wait: 1m"]),
    "leave out inside": ("    consumers: {d: {not_here: true}}\n", ["c:"], ["d:"]),
    "add inside": ("    consumers: {e: {only_here: true, ack_policy: all}}\n", ["e:", "ack_policy: all"], []),
    "a value": ("    description: in ${environment} for ${keep}\n", ["description: in prod for 30d"], []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "there", "gone"), CHANGES.values(), ids=CHANGES)
def test_an_overlay_changes_what_it_names_and_nothing_else(
    folder: Folder, text: str, there: Iterable[str], gone: Iterable[str]
) -> None:
    before = lines_of(without_comments(loaded(folder, "prod")))
    after = lines_of(without_comments(loaded(folder, "prod", PROD + text)))
    assert set(there) <= after
    assert set(gone) <= before - after
    assert before - after <= {*gone, *before - set(there)}
    assert lines_of(without_comments(loaded(folder, "dev", PROD + text))) == lines_of(
        without_comments(loaded(folder, "dev"))
    )


def test_resources_come_and_go(folder: Folder) -> None:
    text = (
        "environment: [prod]\nstreams: {A: {not_here: true}, NEW: {only_here: true, subjects: [new]}}\n"
        "kv_buckets: {K: {only_here: true}}\n"
    )
    found = loaded(folder, "prod", text).topology
    assert found is not None
    assert [str(one.address) for one in found.resources] == ["stream/B", "stream/NEW", "kv_bucket/K"]


def test_what_anchors_share_changes_at_one_place_alone(folder: Folder) -> None:
    shared = "  C: {consumers: &all {x: {ack_policy: none}}, subjects: [c]}\n  D: {consumers: *all, subjects: [d]}\n"
    overlay = "environment: prod\nstreams: {C: {consumers: {x: {ack_policy: explicit}}}}\n"
    found = loaded(folder, "prod", overlay, base=BASE.replace("  B: {", shared + "  B: {")).topology
    assert found is not None
    said = {str(one.address): one.spec.model_dump(exclude_unset=True) for one in found.resources}
    assert (said["consumer/C/x"], said["consumer/D/x"]) == ({"ack_policy": "explicit"}, {"ack_policy": "none"})


def test_consent_of_an_overlay_is_for_its_environment_alone(folder: Folder) -> None:
    text = (
        "environment: prod\nallow: [{code: ST301, to: 1d, on: 'stream/*', reason: agreed}]\n"
        "streams: {A: {allow: [{code: ST301, to: 2d, reason: x}]}}\n"
    )
    dev, prod = (loaded(folder, name, text).topology for name in ("dev", "prod"))
    assert dev is not None
    assert prod is not None
    assert [(len(one.allow), len(one.resources[0].spec.allow)) for one in (dev, prod)] == [(0, 0), (1, 1)]


def test_places_are_those_of_the_overlay_and_messages_name_both(folder: Folder) -> None:
    found = loaded(folder, "prod", PROD + "    max_msgs: many\n    max_age: 5 fortnights\n    storage: disk\n")
    said = told(found, folder)
    assert [one[:2] for one in said] == [
        ("u0.yaml:4:15", "ST502"),
        ("u0.yaml:5:14", "ST502"),
        ("u0.yaml:6:14", "ST502"),
    ]
    assert [one[2].endswith("(in place of `30d` at t.yaml:10:14)") for one in said] == [False, True, False]


MISTAKES = {
    "a name that is not there": ("streams: {AA: {max_age: 1d}}", "2:11 XX519", "an overlay changes `AA`, but there is none"),
    "a name that is there": ("streams: {A: {only_here: true}}", "2:11 XX519", "but all environments have it: t.yaml:8:3"),
    "nothing to leave out": ("streams: {X: {not_here: true}}", "2:11 XX519", "an overlay changes `X`, but there is none"),
    "changed and left out": ("streams: {A: {not_here: true, max_age: 1d}}", "2:11 XX519", "`A` is `not_here`, so `max_age`"),
    "nothing to unset": ("streams: {A: {unset: [max_agee]}}", "2:23 XX519", "could be unset; did you mean `max_age`?"),
    "nothing to append to": ("streams: {A: {append: {sources: [x]}}}", "2:24 XX519", "no list or mapping"),
    "appended again": ("streams: {A: {append: {subjects: [a]}}}", "2:35 XX519", "has it already: t.yaml:9:16"),
    "a key appended again": ("streams: {A: {append: {metadata: {team: z}}}}", "2:35 XX519", "already: t.yaml:11:16"),
    "nothing to remove": ("streams: {A: {remove: {subjects: [z]}}}", "2:35 XX519", "does not have it"),
    "no key to remove": ("streams: {A: {remove: {metadata: [teem]}}}", "2:35 XX519", "did you mean `team`?"),
    "a flag that is no flag": ("streams: {A: {not_here: yes}}", "2:25 XX502", "not_here is `true`, or it is left out"),
    "two for one key": ("streams: {A: {max_age: 1d, unset: [max_age]}}", "2:36 XX505", "here and at u0.yaml:2:15; keep one"),
    "a key that the base has by its right name": ("streams: {A: {max_aeg: 1d}}", "2:15 ST501", "did you mean `max_age`?"),
    "a key of no file": ("streamz: {}", "2:1 XX501", "unknown key `streamz`; did you mean `streams`?"),
    "no resource": ("streams: {A: 1}", "2:14 XX504", "`A` is a single value"),
    "no names": ("streams: [A]", "2:10 XX504", "streams is a list; write a mapping of names"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), MISTAKES.values(), ids=MISTAKES)
def test_an_overlay_never_guesses(folder: Folder, text: str, place: str, message: str) -> None:
    said = told(loaded(folder, "prod", f"environment: prod\n{text}\n"), folder)
    assert [(f"{where} {code}", message in words) for where, code, words in said] == [(f"u0.yaml:{place}", True)], said


def test_a_file_for_an_environment_that_is_not_there_is_told(folder: Folder) -> None:
    said = told(loaded(folder, "prod", "environment: prd\n"), folder)
    assert said == [("u0.yaml:1:14", "XX518", "there is no environment `prd`; did you mean `prod`?")]


def test_two_overlays_may_not_say_the_same_key_but_may_both_append(folder: Folder) -> None:
    both = loaded(folder, "prod", PROD + "    append: {subjects: [c]}\n", PROD + "    append: {subjects: [d]}\n")
    assert "subjects: [a, b, c, d]" in lines_of(without_comments(both))
    found = loaded(folder, "prod", PROD + "    max_age: 1d\n", PROD + "    max_age: 1d\n")
    assert [one[:2] for one in told(found, folder)] == [("u1.yaml:4:5", "XX505")]


@pytest.mark.parametrize(("wanted", "message"), [
    (None, "topology t has environments, and each is planned by itself: `dev` or `prod`"),
    ("prd", "topology t has no environment `prd`; did you mean `prod`?"),
])  # fmt: skip
def test_files_with_environments_are_read_for_one_of_them(folder: Folder, wanted: str | None, message: str) -> None:
    found = loaded(folder, wanted)
    assert found.topology is None
    assert [one[1:] for one in told(found, folder)] == [("XX518", message)]


def test_files_without_environments_are_read_for_none(folder: Folder) -> None:
    found = loaded(folder, "prod", base="reconciler: 1\ntopology: t\nstreams: {A: {subjects: [a]}}\n")
    assert [one[1:] for one in told(found, folder)] == [("XX518", "topology t has no environments, and none `prod`")]


@pytest.mark.parametrize(("declared", "code"), [
    ("environments: [dev]\n", "XX504"), ("environments: {1dev: }\n", "XX506"), ("environments: {dev: x}\n", "XX504"),
    ("environments: {dev: {contxt: x}}\n", "XX501"), ("environments: {dev: {context: a, server: b}}\n", "XX502"),
    ("environments: {dev: {server: 'nats://me:secret@host'}}\n", "XX502"), ("environments: {dev: {values: {kep: 1d}}}\n", "XX516"),
])  # fmt: skip
def test_a_wrong_declaration_is_told_once(folder: Folder, declared: str, code: str) -> None:
    base = (
        "reconciler: 1\ntopology: t\nparameters: {keep: {default: x}}\nstreams: {A: {description: '${keep}'}}\n"
        + declared
    )
    found = loaded(folder, "dev", base=base)
    assert [one[1] for one in told(found, folder) if one[1] != "XX518"] == [code]
    assert "secret" not in str(found.diagnostics)


def test_a_check_without_a_name_is_one_of_every_environment(folder: Folder) -> None:
    loaded(folder, "dev", PROD + "    max_msgs: many\n")
    found = checked_each([folder.path]).each
    assert [(one.topology.environment if one.topology else None) for one in found] == ["dev", None]
    assert [one.topology.environment for one in checked_each([folder.path], environment="d*").each if one.topology] == [
        "dev"
    ]


@pytest.mark.parametrize("environment", ["dev", "prod"])
@pytest.mark.parametrize("is_commented", [True, False])
def test_what_is_rendered_is_read_as_the_same_files(folder: Folder, environment: str, is_commented: bool) -> None:
    odd = "    description: 'yes: \"#no\"'\n    metadata: {x: '7', \"y z\": 'null', e: ''}\n"
    found = loaded(folder, environment, PROD + "    append: {subjects: [c]}\n" + odd)
    path = folder.write("rendered/t.yaml", rendered_file(found.tops, found.origins if is_commented else None))
    again = load([path], REGISTRY).topology
    assert found.topology is not None
    assert again is not None
    assert [(one.address, one.spec) for one in again.resources] == [
        (one.address, one.spec) for one in found.topology.resources
    ]
    assert again.expect == found.topology.expect


def test_every_rendered_value_says_where_it_is_from(folder: Folder) -> None:
    found = loaded(folder, "prod", PROD + "    max_msgs: 5\n")
    lines = rendered_file(found.tops, found.origins).replace(f"{folder.path}/", "").splitlines()
    assert [line for line in lines if line and "  # " not in line] == []
    assert "    max_msgs: 5  # u0.yaml:4:15" in lines
    assert "    max_age: 30d  # t.yaml:10:14; `${keep}` is `30d`, from environment `prod` at t.yaml:6:25" in lines


def fragment(folder: Folder, include: str, **files: str) -> Loaded:
    for name, text in files.items():
        folder.write(f"parts/{name}.yaml", text)
    return load([folder.write("t.yaml", f"reconciler: 1\ntopology: t\ninclude: {include}\n")], REGISTRY)


def test_files_are_included_once_by_paths_relative_to_the_file(folder: Folder) -> None:
    found = fragment(
        folder,
        "[parts/a.yaml, parts/b.yaml]",
        a="include: b.yaml\nstreams: {A: {subjects: [a]}}\n",
        b="streams: {B: {subjects: [b]}}\n",
    )
    assert found.topology is not None, found.diagnostics
    assert {str(one.address) for one in found.topology.resources} == {"stream/A", "stream/B"}
    assert load([folder.path], REGISTRY).topology is not None


@pytest.mark.parametrize(("include", "place", "message"), [
    ("parts/none.yaml", "t.yaml:3:10", "does not exist"),
    ("/etc/passwd", "t.yaml:3:10", "leads out of the topology's folder"),
    ("../x.yaml", "t.yaml:3:10", "leads out of the topology's folder"),
    ("parts/link.yaml", "t.yaml:3:10", "leads out of the topology's folder"),
    ("parts/a.yaml", "parts/a.yaml:1:10", "includes this file again: t.yaml → parts/a.yaml → t.yaml"),
    ("t.yaml", "t.yaml:3:10", "includes this file again"),
    ("{a: b}", "t.yaml:3:10", "include is a mapping"),
])  # fmt: skip
def test_nothing_else_is_included(folder: Folder, include: str, place: str, message: str) -> None:
    outside = folder.path.parent / "outside.yaml"
    outside.write_text("streams: {}\n", encoding="utf-8")
    (folder.path / "parts").mkdir()
    (folder.path / "parts" / "link.yaml").symlink_to(outside)
    found = fragment(folder, include, a="include: ../t.yaml\nstreams: {A: {subjects: [a]}}\n")
    assert [(one[0], message in one[2]) for one in told(found, folder)] == [(place, True)], told(found, folder)


def test_a_fragment_that_topologies_share_belongs_to_each_of_them(folder: Folder) -> None:
    folder.write("parts/shared.yaml", "streams: {'A_${team}': {subjects: ['${team}.a']}}\n")
    for team in ("red", "blue"):
        head = f"reconciler: 1\ntopology: {team}\ninclude: parts/shared.yaml\n"
        folder.write(f"{team}.yaml", f"{head}parameters: {{team: {{default: {team}}}}}\n")
    found = [one.topology for one in checked_each([folder.path]).each]
    assert [[str(one.address) for one in each.resources] for each in found if each] == [
        ["stream/A_blue"],
        ["stream/A_red"],
    ]


SAID = {
    "a key of files in the overlay of an environment": (
        "environments: {prod: {overlay: {include: [x.yaml]}}}", "XX501",
        "`include` stands at the top of a file, and not in the overlay of an environment"),
    "a context that nobody sees": (
        'environments: {prod: {context: "a\\0b"}}', "XX502", "environments.prod.context contains a character that nobody can see"),
    "a parameter in a value": (
        "parameters: {r: }\nenvironments: {prod: {values: {r: '${environment}'}}}\nstreams: {'${r}': }", "XX517",
        "r mentions `${environment}`, but a value is taken as it is, and nothing in it is replaced; "
        "parameter `r` is declared at t.yaml:3:14"),
    "a context with a parameter": (
        "parameters: {r: {default: x}}\nenvironments: {prod: {context: '${r}'}}\nstreams: {'${r}': }", None, None),
    "an include with a parameter": (
        "environments: {prod: }\ninclude: ${environment}.yaml", "XX526", "`${environment}.yaml` does not exist"),
    "an include that nobody sees": (
        'environments: {prod: }\ninclude: "a\\0b.yaml"', "XX526", "a path contains a character that nobody can see"),
}  # fmt: skip


@pytest.mark.parametrize("what", SAID)
def test_what_no_parameter_stands_for_is_taken_as_it_is(folder: Folder, what: str) -> None:
    text, code, message = SAID[what]
    found = loaded(folder, "prod", base=f"reconciler: 1\ntopology: t\n{text}\n")
    assert [(one, said) for _, one, said in told(found, folder)] == ([(code, message)] if code else [])


@pytest.mark.parametrize(("first", "second"), [
    ("{max_age: 1h}", "{not_here: true}"), ("{not_here: true}", "{max_age: 1h}"), ("{not_here: true}", "{not_here: true}"),
])  # fmt: skip
def test_what_two_overlays_say_of_one_resource_depends_on_no_order(folder: Folder, first: str, second: str) -> None:
    found = loaded(folder, "prod", *(f"environment: prod\nstreams: {{A: {one}}}\n" for one in (first, second)))
    [(place, code, message)] = told(found, folder)
    assert (place, code) == ("u1.yaml:2:11", "XX505")
    assert message.startswith("streams.A is named here and at u0.yaml:2:11") and message.endswith("; keep one")


def test_an_overlay_for_nobody_is_told(folder: Folder) -> None:
    found = loaded(folder, "prod", "environment: []\nstreams: {A: {max_age: 1h}}\n")
    assert told(found, folder) == [
        ("u0.yaml:1:14", "XX504", "environment is an empty list, so this file is for no environment; name one")
    ]


def test_a_file_of_values_is_no_topology(folder: Folder) -> None:
    folder.write("t.yaml", "reconciler: 1\ntopology: t\n")
    found = load([folder.path], REGISTRY, Filled(files=[folder.path / "t.yaml"]))
    assert [(code, message) for _, code, message in told(found, folder)][:1] == [
        ("XX520", "`t.yaml` is a file of values (--values), so no file of a topology is left to read")
    ]


def test_what_an_alias_shares_with_a_declaration_is_filled_in_where_it_is_used(folder: Folder) -> None:
    base = """reconciler: 1
topology: t
parameters: {r: {default: eu}}
environments: {prod: {description: &said "for ${r}"}}
streams: {A: {description: *said}}
"""
    assert "description: for eu" in without_comments(loaded(folder, "prod", base=base))
