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


def test_of_two_old_ones_nobody_knows_which_it_is(compare: Compare) -> None:
    two = BILLS.replace("consumers: {", "consumers: {other: {filter_subject: orders.paid}, ")
    assert hint(compare(RENAMED, two)) == ""


def test_the_record_of_a_rename_counts_more_than_an_equal_configuration(compare: Compare) -> None:
    """`bills` was `paid` once; `sent`, which is declared like it now, is new."""
    wanted = BILLS.replace("bills: {filter_subject: orders.paid}", "sent: {filter_subject: orders.paid}, paid: {}")
    known = {str(LEFT): {"earlier": ("consumer/ORDERS/paid",)}}
    scene = compare(wanted, BILLS, records=known)
    assert "from: consumer/ORDERS/bills, to: consumer/ORDERS/paid" in hint(scene)
    assert scene.view().changes[LEFT].counterpart == Address.of("consumer", "ORDERS", "paid")


def test_two_that_had_one_name_are_not_told_apart(compare: Compare) -> None:
    live = BILLS.replace("consumers: {", "consumers: {other: {}, ")
    known = {f"consumer/ORDERS/{name}": {"earlier": ("consumer/ORDERS/paid",)} for name in ("bills", "other")}
    assert hint(compare(BILLS.replace("bills: {filter_subject: orders.paid}", "paid: {}"), live, records=known)) == ""


MOVED = "\nmoved: [{from: consumer/ORDERS/bills, to: consumer/ORDERS/invoices, reason: clearer}]"
ONCE = "consumer/ORDERS/once"


def test_a_rename_is_recorded_with_the_names_before(compare: Compare) -> None:
    (change,) = compare(RENAMED + MOVED, BILLS, records={str(LEFT): {"earlier": (ONCE,)}}).plan().changes
    assert change.record and change.record.earlier == (ONCE, str(LEFT))


def test_a_rename_that_was_cut_off_is_recorded_by_the_run_that_finishes_it(compare: Compare) -> None:
    only = BILLS.replace("bills: {filter_subject: orders.paid}", "")
    begun = '{"format":1,"topology":"orders","old":{},"wanted":{},"ready":true}'
    entries = {"reconciler": {"intent.consumer.ORDERS.invoices": begun}}
    scene = compare(
        RENAMED + MOVED, only, records={str(LEFT): {"topology": "orders", "earlier": (ONCE,)}}, raw={"entries": entries}
    )
    (record,) = (its.record for its in scene.plan().changes if its.address == "consumer/ORDERS/invoices")
    assert record and record.earlier == (ONCE, str(LEFT))


def test_a_consumer_that_is_applied_again_keeps_its_names(compare: Compare) -> None:
    changed = BILLS.replace("orders.paid", "orders.due")
    (change,) = compare(changed, BILLS, records={str(LEFT): {"earlier": (ONCE,)}}).plan().changes
    assert change.record and change.record.earlier == (ONCE,)


def test_an_entry_that_is_done_never_reaches_what_has_the_old_name_now(compare: Compare) -> None:
    """Somebody deleted `invoices`, and an application that knows no better created `bills` again."""
    renamed = "consumer/ORDERS/invoices"
    scene = compare(
        RENAMED + MOVED, BILLS, owner=None, records={renamed: {"topology": "orders", "earlier": (str(LEFT),)}}
    )
    changes = scene.view().changes
    assert changes[Address.parse(renamed)].action is Action.CREATE
    assert LEFT not in changes
