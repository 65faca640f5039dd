"""Anchors, aliases and merge keys work, point at the original, and cannot blow up."""

from __future__ import annotations

from tests.documents.reading import HEAD, Folder

SHARED = HEAD + "streams:\n  A: &base\n    max_age: {age}\n    storage: file\n"


def test_a_merge_key_takes_over_what_is_not_written(folder: Folder) -> None:
    topology = folder.topology(SHARED.format(age="7d") + "  B:\n    <<: *base\n    storage: memory\n")
    written = [resource.spec.model_dump(exclude_unset=True) for resource in topology.resources]
    week = 7 * 86_400 * 10**9
    assert written == [{"max_age": week, "storage": "file"}, {"storage": "memory", "max_age": week}]


def test_earlier_mappings_of_a_merge_win(folder: Folder) -> None:
    text = HEAD + "streams:\n  A: &a {storage: file}\n  B: &b {storage: memory, no_ack: true}\n  C: {<<: [*a, *b]}\n"
    resource = folder.topology(text).resources[2]
    assert resource.spec.model_dump(exclude_unset=True) == {"storage": "file", "no_ack": True}


def test_merged_values_point_at_the_original(folder: Folder) -> None:
    resource = folder.topology(SHARED.format(age="7d") + "  B:\n    <<: *base\n").resources[1]
    place = resource.where("max_age")
    assert place is not None and (place.line, place.column) == (5, 14)


def test_a_wrong_value_is_shown_for_every_resource_that_uses_it(folder: Folder) -> None:
    loaded = folder.load(SHARED.format(age="soon") + "  B: *base\n")
    assert [(problem.address, str(problem.span).rsplit(":", 2)[1:]) for problem in loaded.diagnostics] == [
        ("stream/A", ["5", "14"]),
        ("stream/B", ["5", "14"]),
    ]


def test_an_anchored_value_is_shown_without_its_anchor(folder: Folder) -> None:
    assert folder.in_stream("max_age: &age   soon") == [
        "5:21 ST502 max_age `soon` is not a duration; write 7d, 36h, 90s or nanoseconds"
    ]


def test_an_alias_without_an_anchor_is_refused(folder: Folder) -> None:
    assert folder.in_stream("subjects: [*orders]") == [
        "5:16 XX513 `*orders` needs an anchor `&orders` above; if this is text, put it in quotes"
    ]


def test_a_subject_that_begins_with_a_star_asks_for_quotes(folder: Folder) -> None:
    assert folder.in_stream("subjects: [*.orders]") == [
        "5:16 XX510 `*` refers to an anchor in YAML; put the value in quotes"
    ]


def test_an_alias_inside_its_own_anchor_is_refused(folder: Folder) -> None:
    assert folder.in_stream("subjects: &all [*all]") == [
        "5:21 XX513 `*all` stands inside `&all` itself, so it would never end"
    ]


def test_merging_something_else_than_a_mapping_is_refused(folder: Folder) -> None:
    assert folder.in_stream("subjects: &all [a]", "<<: *all") == [
        "6:5 XX513 `<<` merges mappings, but this is a single value"
    ]


def test_an_alias_bomb_is_stopped(folder: Folder) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    problems = folder.in_stream("metadata:", *(f"  {level}" for level in levels))
    assert [problem for problem in problems if "XX513 aliases expand this file to more than 500_000 values" in problem]
