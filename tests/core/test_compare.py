"""What becomes of each address: declared, live, owned, removed, forgotten, unknown, or none of our business."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from reconciler.changes.change import Action
from reconciler.model.resource import Address
from tests.support.topologies import Scene

Compare = Callable[..., Scene]

ORDERS = "streams: {ORDERS: {subjects: [orders.>]}}"
OLD = "streams: {OLD: {subjects: [old.>]}}"
REMOVE_OLD = "removed: [{address: stream/OLD, reason: moved}]"


def actions(scene: Scene) -> dict[str, Action]:
    return {str(address): change.action for address, change in scene.view().changes.items()}


def test_what_is_declared_and_not_live_is_created(compare: Compare) -> None:
    assert actions(compare(ORDERS)) == {"stream/ORDERS": Action.CREATE}


def test_what_is_live_as_declared_and_owned_is_kept(compare: Compare) -> None:
    assert actions(compare(ORDERS, ORDERS)) == {"stream/ORDERS": Action.KEEP}


def test_what_is_live_as_declared_and_owned_by_nobody_is_adopted(compare: Compare) -> None:
    assert actions(compare(ORDERS, ORDERS, owner=None)) == {"stream/ORDERS": Action.ADOPT}


def test_without_access_to_the_records_nothing_is_adopted(compare: Compare) -> None:
    assert actions(compare(ORDERS, ORDERS, owner=None, ledger_known=False)) == {"stream/ORDERS": Action.KEEP}


def test_what_is_owned_and_no_longer_declared_is_an_orphan(compare: Compare) -> None:
    assert actions(compare("", OLD)) == {"stream/OLD": Action.ORPHAN}


def test_what_is_owned_and_neither_declared_nor_live_is_not_mentioned(compare: Compare) -> None:
    scene = compare("", OLD, raw={"streams": {"OLD": None}})
    assert actions(scene) == {}


def test_what_is_removed_is_deleted(compare: Compare) -> None:
    assert actions(compare(REMOVE_OLD, OLD)) == {"stream/OLD": Action.DELETE}


def test_a_removal_of_what_is_gone_only_forgets(compare: Compare) -> None:
    assert actions(compare(REMOVE_OLD, OLD, raw={"streams": {"OLD": None}})) == {"stream/OLD": Action.FORGET}


@pytest.mark.parametrize("wanted", [REMOVE_OLD, "forget: [stream/OLD]"])
def test_what_is_gone_is_not_said_to_stay(compare: Compare, wanted: str) -> None:
    [gone] = compare(wanted, OLD, raw={"streams": {"OLD": None}}).view().changes.values()
    assert gone.reason == "already gone; an apply deletes its record"


def test_a_removal_of_what_never_was_does_nothing(compare: Compare) -> None:
    assert actions(compare(REMOVE_OLD)) == {"stream/OLD": Action.ABSENT}


def test_a_removal_that_nobody_can_see_is_unknown(compare: Compare) -> None:
    scene = compare(REMOVE_OLD, raw={"unknown": {"streams": "no permission"}})
    assert actions(scene) == {"stream/OLD": Action.UNKNOWN}


def test_what_is_forgotten_stays_and_is_no_longer_ours(compare: Compare) -> None:
    assert actions(compare("forget: [stream/OLD]", OLD)) == {"stream/OLD": Action.FORGET}


def test_forgetting_what_is_not_ours_does_nothing(compare: Compare) -> None:
    assert actions(compare("forget: [stream/OLD]", OLD, owner="shop")) == {}


def test_what_another_topology_owns_is_no_orphan_of_ours(compare: Compare) -> None:
    assert actions(compare("", OLD, owner="shop")) == {}


def test_what_is_neither_declared_nor_ours_is_unmanaged(compare: Compare) -> None:
    assert compare(ORDERS, OLD, owner=None).view().unmanaged == (Address.of("stream", "OLD"),)


def test_an_orphan_is_not_called_unmanaged(compare: Compare) -> None:
    assert compare("", OLD).view().unmanaged == ()


def test_unknown_is_never_absent(compare: Compare) -> None:
    scene = compare(ORDERS, raw={"unknown": {"stream/ORDERS": "its leader is not known"}})
    (change,) = scene.view().changes.values()
    assert (change.action, change.reason) == (Action.UNKNOWN, "its leader is not known")


def test_what_is_live_is_known_even_when_the_rest_is_not(compare: Compare) -> None:
    scene = compare(ORDERS, ORDERS, raw={"unknown": {"streams": "the list was cut short"}})
    assert actions(scene) == {"stream/ORDERS": Action.KEEP}


def test_consumers_of_an_unknown_stream_are_unknown(compare: Compare) -> None:
    desired = "streams: {ORDERS: {subjects: [orders.>], consumers: {c: {}}}}"
    scene = compare(desired, raw={"unknown": {"streams": "timeout"}})
    assert actions(scene) == {"stream/ORDERS": Action.UNKNOWN, "consumer/ORDERS/c": Action.UNKNOWN}


def test_a_group_is_unknown_when_the_bucket_of_records_is(compare: Compare) -> None:
    desired = "streams: {ORDERS: {subjects: [orders.>], groups: {g: {type: elastic, max_members: 2}}}}"
    scene = compare(desired, ORDERS, raw={"unknown": {"bucket/elastic-consumer-groups": "no permission"}})
    assert actions(scene)["elastic_group/ORDERS/g"] is Action.UNKNOWN


def test_an_external_stream_as_expected_is_kept_and_never_adopted(compare: Compare) -> None:
    desired = "streams: {ORDERS: {external: true, subjects: [orders.>]}}"
    assert actions(compare(desired, ORDERS, owner=None)) == {"stream/ORDERS": Action.KEEP}


def test_consumers_of_an_external_stream_are_ours(compare: Compare) -> None:
    desired = "streams: {ORDERS: {external: true, consumers: {c: {}}}}"
    assert actions(compare(desired, ORDERS, owner=None)) == {
        "stream/ORDERS": Action.KEEP,
        "consumer/ORDERS/c": Action.CREATE,
    }


def live(scene: Scene) -> set[str]:
    return {str(address) for address in scene.view().live}


def test_a_buckets_stream_is_only_a_bucket(compare: Compare) -> None:
    assert live(compare("", "kv_buckets: {CONFIG: {}}\nobject_stores: {FILES: {}}")) == {
        "kv_bucket/CONFIG",
        "object_store/FILES",
    }


def test_a_groups_queue_and_the_bucket_of_records_are_only_the_group(compare: Compare) -> None:
    there = "streams: {ORDERS: {subjects: [orders.>], groups: {g: {type: elastic, max_members: 2}}}}"
    assert live(compare("", there)) == {"stream/ORDERS", "elastic_group/ORDERS/g"}


def test_consumers_of_a_groups_queue_are_the_groups_business(compare: Compare) -> None:
    there = "streams: {ORDERS: {subjects: [orders.>], groups: {g: {type: elastic, max_members: 2, members: [m]}}}}"
    raw = {"consumers": {"ORDERS-g": {"m": {"config": {"durable_name": "m"}}}}}
    assert live(compare("", there, raw=raw)) == {"stream/ORDERS", "elastic_group/ORDERS/g"}


def test_the_durables_of_a_static_groups_members_are_the_groups_business(compare: Compare) -> None:
    there = "streams: {ORDERS: {subjects: [orders.>], groups: {g: {type: static, max_members: 2, members: [m]}}}}"
    names = {name: {"config": {"durable_name": name}} for name in ("g-m", "g-other")}
    assert live(compare("", there, raw={"consumers": {"ORDERS": names}})) == {
        "stream/ORDERS",
        "static_group/ORDERS/g",
        "consumer/ORDERS/g-other",
    }


def test_ephemeral_consumers_are_nobodys_business(compare: Compare) -> None:
    raw = {"consumers": {"ORDERS": {"x1": {"config": {"name": "x1"}}}}}
    assert live(compare("", ORDERS, raw=raw)) == {"stream/ORDERS"}


def test_a_removal_ends_with_its_last_day(compare: Compare) -> None:
    late = compare("removed: [{address: stream/OLD, reason: moved, until: 2026-05-31}]", OLD)
    assert late.desired.removed[0].until == date(2026, 5, 31)
    assert actions(late) == {"stream/OLD": Action.ORPHAN}


def test_a_removal_counts_on_its_last_day(compare: Compare) -> None:
    scene = compare("removed: [{address: stream/OLD, reason: moved, until: 2026-06-01}]", OLD)
    assert actions(scene) == {"stream/OLD": Action.DELETE}


GROUP = "{type: elastic, max_members: 2, members: [x], partitioning_filters: [{filter: 's.*', partitioning_wildcards: [1]}]}"


def test_a_queue_that_an_interrupted_removal_left_is_an_orphan_until_its_group_is_named(compare: Compare) -> None:
    live, kept = f"streams: {{S: {{subjects: [s.*], groups: {{g: {GROUP}}}}}}}", "streams: {S: {subjects: [s.*]}}"
    removed = f"{kept}\nremoved: [{{address: elastic_group/S/g, reason: r}}]"
    without_record = {"entries": {"elastic-consumer-groups": {"S.g": None}}}
    without_queue = {**without_record, "streams": {"S-g": None}}
    left = compare(kept, live, raw=without_record)
    assert actions(left)["elastic_group/S/g"] is Action.ORPHAN
    assert actions(compare(removed, live, raw=without_record))["elastic_group/S/g"] is Action.DELETE
    assert "elastic_group/S/g" not in actions(compare(kept, live, raw=without_queue))
    assert "only a part is left" in left.view().changes[Address.of("elastic_group", "S", "g")].reason
