"""How a group gets another name or other settings, by its kind and by the retention of its stream."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.changes.renaming import Renaming
from reconciler.kinds.fields.known import V2_12, V2_15
from reconciler.kinds.group_records.another_name import recipe, redeclaration_recipe
from reconciler.model.resource import Address

OLD, NEW = Address.of("elastic_group", "ORD", "g"), Address.of("elastic_group", "ORD", "h")
STATIC_OLD, STATIC_NEW = Address.of("static_group", "ORD", "g"), Address.of("static_group", "ORD", "h")


def renaming(old: Address = OLD, new: Address = NEW, **known: Any) -> Renaming:
    return Renaming(**{"old": old, "new": new, "live": {}, "version": V2_15} | known)


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_on_a_queue_nobody_publishes_while_two_groups_take_messages(retention: str) -> None:
    steps = recipe(renaming(retention=retention))
    assert steps[0].startswith("Stop what publishes to ORD.")
    assert steps[1].startswith("Wait until ORD holds no messages (")
    assert steps[-1].startswith("Publish again only after the next step")


def test_one_waits_for_the_messages_that_the_group_takes() -> None:
    live = {"partitioning_filters": [{"filter": "ord.*"}, {"filter": "inv.*"}]}
    steps = recipe(renaming(live=live, retention="workqueue"))
    assert steps[1].startswith("Wait until ORD holds no messages on ord.* and inv.* (nats stream subjects ORD)")


def test_one_waits_longer_where_a_deleted_queue_counts_as_a_reader_for_a_while() -> None:
    before, after = renaming(retention="workqueue", version=V2_12), renaming(retention="workqueue", version=V2_15)
    assert recipe(before)[-1].startswith("Publish again only 20 seconds after the next step")
    assert "Publish again only 20 seconds after the removal" in redeclaration_recipe(before)
    assert "seconds" not in "".join(recipe(after)) + redeclaration_recipe(after)


@pytest.mark.parametrize(("retention", "waits"), [("workqueue", False), ("interest", True)])
def test_publishers_of_an_interest_stream_wait_until_a_new_queue_copies(retention: str, waits: bool) -> None:
    assert ("when ORD-h copies from ORD" in recipe(renaming(retention=retention))[-1]) == waits
    assert ("when ORD-g copies from ORD" in redeclaration_recipe(renaming(new=OLD, retention=retention))) == waits


def test_a_stream_that_keeps_what_was_processed_gives_it_to_a_new_group_again() -> None:
    for groups in ((OLD, NEW), (STATIC_OLD, STATIC_NEW)):
        assert any("process again what g has processed" in step for step in recipe(renaming(*groups)))
    assert "its members process that again" in redeclaration_recipe(renaming(new=OLD))


def test_members_of_a_static_group_on_a_work_queue_start_when_the_old_group_is_gone() -> None:
    steps = recipe(renaming(STATIC_OLD, STATIC_NEW, retention="workqueue"))
    assert steps[-1].startswith("Start them with the new name after the next step")
    assert not any("publishes to" in step for step in steps)
