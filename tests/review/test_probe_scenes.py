"""What is played of a topology, and to which subjects clients publish: decided without any server."""

from __future__ import annotations

from pathlib import Path

from reconciler.changes.rehearsal import Missing
from reconciler.journeys.rehearse.probe_scenes import ELSEWHERE, MESSAGES, NEW, ChosenScenes, choose_scenes
from reconciler.testbed.probes.scene import Scene
from tests.support.topologies import scene


def cast(folder: Path, live: str, desired: str, *missing: Missing) -> ChosenScenes:
    made = scene(folder, f"streams: {{{desired}}}", f"streams: {{{live}}}")
    return choose_scenes(made.snapshot, made.plan(), missing)


def only(found: ChosenScenes) -> Scene:
    (one,) = found.scenes
    return one


def subjects(folder: Path, body: str) -> tuple[str, ...]:
    return only(cast(folder, f"S: {{{body}}}", f"S: {{{body}, description: new}}")).subjects["S"]


def test_clients_publish_where_consumers_look_and_keep_a_spare_subject(tmp_path: Path) -> None:
    body = "subjects: [o.>], consumers: {c: {filter_subject: o.eu.*}}"
    assert subjects(tmp_path, body) == ("o.eu.a", "o.a", "o.eu.b", "o.b", "o.spare")


def test_a_subject_without_wildcards_is_taken_as_it_is(tmp_path: Path) -> None:
    assert subjects(tmp_path, "subjects: [one]") == ("one",)


def test_nobody_publishes_what_the_server_itself_says(tmp_path: Path) -> None:
    assert subjects(tmp_path, "subjects: [$JS.EVENT.ADVISORY.API, o]") == ("o",)


def test_subjects_that_come_and_go_are_both_published_to(tmp_path: Path) -> None:
    found = only(cast(tmp_path, "S: {subjects: [stays, goes]}", "S: {subjects: [stays, comes]}"))
    assert found.subjects["S"] == ("stays", "goes", "comes")
    assert {subject for subject, _ in found.messages} == {"stays", "goes"}


def test_streams_between_which_a_subject_moves_are_played_together(tmp_path: Path) -> None:
    found = cast(tmp_path, "A: {subjects: [a, m]}, B: {subjects: [b]}", "A: {subjects: [a]}, B: {subjects: [b, m]}")
    assert list(only(found).streams) == ["A", "B"]
    assert len(only(found).messages) == 2 * MESSAGES


def test_what_has_nothing_to_do_with_each_other_is_played_apart(tmp_path: Path) -> None:
    live = "A: {subjects: [a]}, B: {subjects: [b]}, C: {subjects: [c]}"
    found = cast(tmp_path, live, live.replace("]}", "], description: x}", 2))
    assert [list(one.streams) for one in found.scenes] == [["A"], ["B"]]


def test_a_copy_is_played_with_its_origin_and_not_with_what_else_that_feeds(tmp_path: Path) -> None:
    live = "O: {subjects: [o], consumers: {c: {}}}, M: {mirror: {name: O}, consumers: {c: {}}}, P: {mirror: {name: O}}"
    found = only(cast(tmp_path, live, live.replace("M: {", "M: {description: x, ")))
    assert (list(found.streams), list(found.consumers), list(found.subjects)) == (["M", "O"], [("M", "c")], ["O"])


def test_what_is_to_be_copied_from_now_on_is_played_too(tmp_path: Path) -> None:
    live = "O: {subjects: [o]}, S: {subjects: [s]}"
    found = only(cast(tmp_path, live, live.replace("[s]", "[s], sources: [{name: O}]")))
    assert list(found.streams) == ["O", "S"]


def test_listeners_of_what_is_and_will_be_republished_are_played(tmp_path: Path) -> None:
    live = 'S: {subjects: ["s.*"], republish: {src: "s.*", dest: "old.{{wildcard(1)}}"}}'
    found = only(cast(tmp_path, live, live.replace("old.", "new.")))
    assert found.listen == ("old.*", "new.*")


def test_a_new_consumer_changes_what_is_stored_only_where_consumers_decide_that(tmp_path: Path) -> None:
    live = "L: {subjects: [l]}, I: {subjects: [i], retention: interest}"
    found = cast(
        tmp_path, live, live.replace("[l]", "[l], consumers: {c: {}}").replace("[i]", "[i], consumers: {c: {}}")
    )
    assert [list(one.streams) for one in found.scenes] == [["I"]]
    assert found.unplayed == (Missing("consumer/I/c", NEW), Missing("consumer/L/c", NEW))


def test_what_copies_from_elsewhere_or_could_not_be_made_again_is_named(tmp_path: Path) -> None:
    live = "M: {mirror: {name: X, external: {api: other}}}, L: {subjects: [l]}"
    lost = Missing("stream/L", "the server refused it")
    found = cast(tmp_path, live, live.replace("]", "], description: x").replace("M: {", "M: {description: x, "), lost)
    assert (found.scenes, found.unplayed) == ((), (Missing("stream/M", ELSEWHERE), lost))
