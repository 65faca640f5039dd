"""Entries of `removed`, `forget` and `moved` that name nothing: a slip is told from work that is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from reconciler.model.ledger.records import BUCKET
from reconciler.model.wire.snapshot import Entry
from tests.support.topologies import Scene

Compare = Callable[..., Scene]

LIVE = """
streams:
  OLD: {subjects: [old.>]}
  S: {subjects: [s.>], consumers: {reader: {}}}
"""
KEPT = "streams: {S: {subjects: [s.>]}}\n"


def told(scene: Scene) -> list[tuple[str, str, str | None]]:
    return [
        (one.severity.value, one.message, f"{one.span.line}:{one.span.column}" if one.span else None)
        for one in scene.plan().diagnostics
        if one.code == "XX916"
    ]


def slip(entry: str, meant: str, at: str, key: str = "removed") -> list[tuple[str, str, str]]:
    never = "which does not exist, and nothing of that name was ever applied here"
    return [("error", f"`{key}` names `{entry}`, {never}; did you mean `{meant}`?", at)]


def test_a_misspelt_removal_is_an_error_at_its_place(compare: Compare) -> None:
    scene = compare(KEPT + "removed: [{address: stream/ODL, reason: r}]", LIVE)
    assert told(scene) == slip("stream/ODL", "stream/OLD", "2:21")
    assert scene.plan().exit_code == 1


def test_a_misspelt_entry_of_forget_is_an_error_at_its_place(compare: Compare) -> None:
    scene = compare(KEPT + "forget: [consumer/S/raeder]", LIVE)
    assert told(scene) == slip("consumer/S/raeder", "consumer/S/reader", "2:10", "forget")


def test_a_misspelt_parent_is_seen_too(compare: Compare) -> None:
    streams = "streams: {ORDERS: {subjects: [s.>], consumers: {reader: {}}}}"
    scene = compare(streams.replace(", consumers: {reader: {}}", "") + "\nforget: [consumer/ORDRES/reader]", streams)
    assert told(scene) == slip("consumer/ORDRES/reader", "consumer/ORDERS/reader", "2:10", "forget")


def test_a_misspelt_origin_of_a_move_is_an_error_at_its_place(compare: Compare) -> None:
    wanted = "streams: {S: {subjects: [s.>], consumers: {other: {}}}}\n"
    scene = compare(wanted + "moved: [{from: consumer/S/raeder, to: consumer/S/other, reason: r}]", LIVE)
    assert told(scene) == slip("consumer/S/raeder", "consumer/S/reader", "2:16", "moved")


def test_the_wrong_kind_is_seen_by_its_name(compare: Compare) -> None:
    scene = compare(KEPT + "removed: [{address: kv_bucket/OLD, reason: r}]", LIVE)
    assert told(scene) == slip("kv_bucket/OLD", "stream/OLD", "2:21")


def test_an_entry_that_has_done_its_work_is_told_by_the_mark_of_its_record(compare: Compare) -> None:
    scene = compare(KEPT + "removed: [{address: stream/ODL, reason: r}]", LIVE)
    marked = {BUCKET: {"owned.stream.ODL": Entry(b"", 7, deleted=True)}}
    assert told(replace(scene, snapshot=replace(scene.snapshot, entries=marked))) == []


@pytest.mark.parametrize(
    "text",
    [
        KEPT + "removed: [{address: stream/PAYMENTS, reason: r}]",  # like nothing that is there
        KEPT + "removed: [{address: stream/S_V1, reason: r}]",  # S is declared, so it is not meant
        KEPT + "removed: [{address: stream/ODL, reason: r, until: 2020-01-01}]",
        KEPT + "removed: [{address: stream/OLD, reason: r}, {address: stream/OLD_V1, reason: r}]",
    ],
)
def test_in_an_account_that_never_had_it_an_entry_may_stay(compare: Compare, text: str) -> None:
    assert told(compare(text, LIVE)) == []


def test_what_may_not_be_ours_is_only_a_warning(compare: Compare) -> None:
    (only,) = told(compare(KEPT + "removed: [{address: stream/ODL, reason: r}]", LIVE, owner=None))
    assert only[0] == "warning"
    assert only[1].endswith("did you mean `stream/OLD`, which is live and not known to be this topology's own?")


def test_of_what_another_topology_owns_nothing_is_said(compare: Compare) -> None:
    assert told(compare("removed: [{address: stream/ODL, reason: r}]", LIVE, owner="billing")) == []


def test_where_nobody_can_read_what_is_there_nothing_is_guessed(compare: Compare) -> None:
    unseen = {"unknown": {"streams": "no permission"}}
    assert told(compare(KEPT + "removed: [{address: stream/ODL, reason: r}]", LIVE, raw=unseen)) == []


def test_a_former_owner_that_owns_nothing_is_a_warning(compare: Compare) -> None:
    scene = compare(KEPT + "moved: [{from: topology/biling, to: topology/orders}]", LIVE, owner="billing")
    assert told(scene) == [
        ("warning", "`moved` names topology `biling`, which owns nothing; did you mean `billing`?", "2:16")
    ]


def test_a_former_owner_that_owns_something_is_none(compare: Compare) -> None:
    assert told(compare(KEPT + "moved: [{from: topology/billing, to: topology/orders}]", LIVE, owner="billing")) == []
