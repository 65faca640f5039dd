"""How a group on a work queue gets another name."""

from __future__ import annotations

from reconciler.changes.renaming import Renaming
from reconciler.kinds.group_records.another_name import recipe
from reconciler.model.resource import Address

OLD, NEW = Address.of("elastic_group", "ORD", "g"), Address.of("elastic_group", "ORD", "h")


def test_on_a_work_queue_nobody_publishes_while_two_groups_take_messages() -> None:
    steps = recipe(Renaming(old=OLD, new=NEW, live={}, is_queue=True))
    assert steps[0].startswith("Stop what publishes to ORD.")
    assert steps[-1].startswith("Publish again only after g is removed")
    assert not any("process again" in step for step in steps)


def test_on_other_streams_the_new_group_processes_again() -> None:
    steps = recipe(Renaming(old=OLD, new=NEW, live={}))
    assert any("process again what g has processed" in step for step in steps)
