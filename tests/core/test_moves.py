"""What goes by another name than before."""

from __future__ import annotations

from collections.abc import Callable

from reconciler.changes.change import Action
from reconciler.model.resource import Address
from tests.support.topologies import Scene

Compare = Callable[..., Scene]

BILLS = "streams: {ORDERS: {subjects: [orders.>], consumers: {bills: {filter_subject: orders.paid}}}}"
RENAMED = BILLS.replace("bills:", "invoices:")
LEFT = Address.of("consumer", "ORDERS", "bills")


def hint(scene: Scene) -> str:
    orphan = scene.view().changes[LEFT]
    assert orphan.action is Action.ORPHAN
    return orphan.reason


def test_a_consumer_renamed_without_an_entry_is_told_of_it(compare: Compare) -> None:
    said = hint(compare(RENAMED, BILLS))
    assert "moved: [{from: consumer/ORDERS/bills, to: consumer/ORDERS/invoices, reason: …}]" in said


def test_a_new_consumer_that_wants_something_else_is_another_one(compare: Compare) -> None:
    assert hint(compare(RENAMED.replace("orders.paid", "orders.sent"), BILLS)) == ""


def test_of_two_new_ones_nobody_knows_which_it_is(compare: Compare) -> None:
    two = RENAMED.replace("consumers: {", "consumers: {other: {filter_subject: orders.paid}, ")
    assert hint(compare(two, BILLS)) == ""
