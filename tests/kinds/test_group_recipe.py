"""How a group gets another name, by its kind and by the retention of its stream."""

from __future__ import annotations

import pytest

from reconciler.changes.renaming import Renaming
from reconciler.kinds.group_records.another_name import declared_again, recipe
from reconciler.model.resource import Address

OLD, NEW = Address.of("elastic_group", "ORD", "g"), Address.of("elastic_group", "ORD", "h")
STATIC_OLD, STATIC_NEW = Address.of("static_group", "ORD", "g"), Address.of("static_group", "ORD", "h")


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_on_a_queue_nobody_publishes_while_two_groups_take_messages(retention: str) -> None:
    steps = recipe(Renaming(old=OLD, new=NEW, live={}, retention=retention))
    assert steps[0].startswith("Stop what publishes to ORD. When ORD stores nothing that g takes")
    assert steps[-1].startswith("Publish again only after g is removed")
    assert not any("process again" in step for step in steps)


@pytest.mark.parametrize(("retention", "waits"), [("workqueue", False), ("interest", True)])
def test_publishers_of_an_interest_stream_wait_until_a_new_queue_copies(retention: str, waits: bool) -> None:
    steps = " ".join(recipe(Renaming(old=OLD, new=NEW, live={}, retention=retention)))
    assert ("when ORD-h copies from ORD" in steps) == waits
    assert ("when ORD-g copies from ORD" in declared_again(OLD, retention)) == waits


def test_a_stream_that_keeps_what_was_processed_gives_it_to_a_new_group_again() -> None:
    assert any("process again what g has processed" in step for step in recipe(Renaming(old=OLD, new=NEW, live={})))
    assert "its members process that again" in declared_again(OLD, "limits")


def test_members_of_a_static_group_on_a_work_queue_start_when_the_old_group_is_gone() -> None:
    steps = recipe(Renaming(old=STATIC_OLD, new=STATIC_NEW, live={}, retention="workqueue"))
    assert "only after g is removed" in steps[-1]
    assert not any("Stop what publishes" in step for step in steps)
