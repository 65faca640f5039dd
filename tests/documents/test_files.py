"""A topology is one file or a folder; sections merge by name, and nothing is said twice in two ways."""

from __future__ import annotations

import os
from datetime import date

from reconciler.documents.read.load import load
from tests.documents.kinds import REGISTRY
from tests.documents.reading import HEAD, STREAM, Folder


def addresses(folder: Folder, *names: str) -> list[str]:
    loaded = load([folder.path / name for name in names] or [folder.path], REGISTRY)
    assert loaded.topology is not None, folder.lines(loaded)
    return [str(resource.address) for resource in loaded.topology.resources]


def test_sections_merge_by_name_across_files(folder: Folder) -> None:
    folder.write("a.yaml", HEAD + "streams: {A: {}}\n")
    folder.write("deep/er/b.yml", "streams: {B: {}}\nkv_buckets: {C: {}}\n")
    assert addresses(folder) == ["stream/A", "stream/B", "kv_bucket/C"]


def test_parents_stand_before_their_children(folder: Folder) -> None:
    folder.write(
        "a.yaml", STREAM + "    groups: {g: {type: static, max_members: 1}}\n    consumers: {c: {}}\n    max_age: 7d\n"
    )
    assert addresses(folder) == ["stream/ORDERS", "consumer/ORDERS/c", "static_group/ORDERS/g"]


def test_hidden_files_and_folders_and_other_files_are_left_alone(folder: Folder) -> None:
    folder.write("a.yaml", HEAD)
    for name in (".hidden.yaml", ".git/x.yaml", "notes.txt", "b.yaml.orig"):
        folder.write(name, "broken: [")
    assert addresses(folder) == []


def test_a_file_that_is_named_may_have_any_ending(folder: Folder) -> None:
    folder.write("topology.conf", HEAD + "streams: {A: {}}\n")
    assert addresses(folder, "topology.conf") == ["stream/A"]


def test_a_file_reached_twice_is_read_once(folder: Folder) -> None:
    folder.write("a.yaml", HEAD + "streams: {A: {}}\n")
    (folder.path / "link.yaml").symlink_to(folder.path / "a.yaml")
    assert addresses(folder, "a.yaml", ".", "link.yaml") == ["stream/A"]


def test_files_are_told_in_their_order(folder: Folder) -> None:
    topology = folder.load_all(b="streams: {}\n", a=HEAD).topology
    assert topology and topology.files == (f"{folder.path}/a.yaml", f"{folder.path}/b.yaml")


def test_a_name_declared_twice_shows_both_places(folder: Folder) -> None:
    loaded = folder.load_all(a=HEAD + "streams: {A: {}}\n", b="streams:\n  A: {}\n")
    assert folder.lines(loaded) == ["2:3 ST505 `A` is declared here and at a.yaml:3:11; keep one"]


def test_groups_of_two_kinds_share_their_names(folder: Folder) -> None:
    assert folder.in_stream("groups: {g: {type: static, max_members: 1}, g: {type: elastic, max_members: 1}}") == [
        "5:49 XX505 key `g` is written here and at 5:14 of the same mapping; keep one"
    ]


def test_files_of_one_topology_may_repeat_its_name(folder: Folder) -> None:
    loaded = folder.load_all(a=HEAD + "expect: {cluster: eu}\n", b="expect:\n  cluster: eu\n" + HEAD)
    assert loaded.topology and loaded.topology.expect.cluster == "eu"


def test_files_of_two_topologies_are_refused(folder: Folder) -> None:
    loaded = folder.load_all(a=HEAD + "expect: {cluster: eu}\n", b="topology: other\nexpect: {cluster: us}\n")
    assert folder.lines(loaded) == [
        "1:11 XX505 topology differs from a.yaml:2:11; all files of one topology must say the same",
        "2:9 XX505 expect differs from a.yaml:3:9; all files of one topology must say the same",
    ]


def test_removals_are_gathered_from_all_files(folder: Folder) -> None:
    entry = 'removed:\n- {{address: stream/{}, reason: "moved to ORDERS in May", until: 2026-12-31}}\n'
    topology = folder.load_all(a=HEAD + entry.format("A"), b=entry.format("B") + "forget: [consumer/X/y]\n").topology
    assert topology
    assert [(str(one.address), one.reason, one.until) for one in topology.removed] == [
        ("stream/A", "moved to ORDERS in May", date(2026, 12, 31)),
        ("stream/B", "moved to ORDERS in May", date(2026, 12, 31)),
    ]
    assert [str(one.address) for one in topology.forget] == ["consumer/X/y"]


def test_what_is_declared_cannot_be_removed_or_forgotten(folder: Folder) -> None:
    text = HEAD + "streams: {A: {}, B: {}}\nremoved: [{address: stream/A, reason: x}]\nforget: [stream/B, stream/B]\n"
    assert folder.problems(text) == [
        "4:21 XX505 `stream/A` is removed here but declared at t.yaml:3:11; keep one",
        "5:10 XX505 `stream/B` is forgotten here but declared at t.yaml:3:18; keep one",
        "5:20 XX505 `stream/B` is forgotten here but declared at t.yaml:3:18; keep one",
    ]


def test_a_missing_path_and_an_empty_folder_are_told(folder: Folder) -> None:
    (folder.path / "empty").mkdir()
    loaded = load([folder.path / "nowhere.yaml", folder.path / "empty"], REGISTRY)
    assert [problem.message.replace(f"{folder.path}/", "") for problem in loaded.diagnostics] == [
        "`empty` holds no *.yaml or *.yml file",
        "`nowhere.yaml` does not exist",
    ]


def test_no_path_at_all_is_told() -> None:
    assert [problem.message for problem in load([], REGISTRY).diagnostics] == ["no file or folder was given"]


def test_a_folder_that_leads_back_into_itself_is_told(folder: Folder) -> None:
    folder.write("a.yaml", HEAD)
    (folder.path / "loop").symlink_to(folder.path)
    loaded = load([folder.path], REGISTRY)
    assert [problem.message.replace(f"{folder.path}/", "") for problem in loaded.diagnostics] == [
        "`loop` leads back into a folder that contains it"
    ]


def test_what_cannot_be_read_is_told(folder: Folder) -> None:
    folder.write("a.yaml", HEAD)
    (folder.path / "gone.yaml").symlink_to(folder.path / "nowhere")
    os.mkfifo(folder.path / "pipe.yaml")
    loaded = load([folder.path], REGISTRY)
    assert [problem.message.replace(f"{folder.path}/", "") for problem in loaded.diagnostics] == [
        "`gone.yaml` is not a regular file",
        "`pipe.yaml` is not a regular file",
    ]


def test_places_are_found_long_after_loading(folder: Folder) -> None:
    text = (
        STREAM
        + "    sources:\n      - name: A\n      - {name: B, filter_subject: b.>}\n    metadata:\n      my.team: x\n"
    )
    where = folder.topology(text).resources[0].where
    places = [
        where(path)
        for path in ("", "sources", "sources[0]", "sources[1].filter_subject", "metadata.my.team", "max_age")
    ]
    assert [place and (place.line, place.column) for place in places] == [
        (4, 3),
        (5, 5),
        (6, 9),
        (7, 35),
        (9, 16),
        (4, 3),
    ]


def test_places_of_top_level_paths_are_found_in_their_file(folder: Folder) -> None:
    topology = folder.load_all(a="streams: {}\n", b=HEAD + "expect: {min_server: '2.12'}\n").topology
    assert topology
    places = [topology.where(path) for path in ("expect.min_server", "", "expect.cluster")]
    assert [str(place).replace(f"{folder.path}/", "") for place in places] == [
        "b.yaml:3:22",
        "b.yaml:2:11",
        "b.yaml:3:9",
    ]
