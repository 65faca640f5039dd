"""Files of several topologies that use one another's streams: checked together, with both places."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.plan.files import SeveralTopologies, in_order, load
from reconciler.journeys.plan.validate import checked_each
from reconciler.model.diagnostic import CannotContinue, Diagnostic

ORDERS = "reconciler: 1\ntopology: orders\nstreams:\n  ORDERS: {subjects: [%s]%s}\n"
PAYMENTS = """reconciler: 1
topology: payments
streams:
  ORDERS:
    external: {from: topology/orders}
    consumers:
      ledger:
        filter_subject: orders.*.eu
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(**files: str) -> list[Path]:
    for name, text in files.items():
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    return [Path(f"{name}.yaml") for name in files]


def told(paths: list[Path]) -> list[Diagnostic]:
    return [one for loaded in checked_each(paths).each for one in loaded.diagnostics]


def test_a_filter_beside_what_the_owner_declares_is_told_with_both_places() -> None:
    (said,) = told(written(orders=ORDERS % ("paid.>", ""), payments=PAYMENTS))
    assert (said.code, str(said.severity), str(said.span)) == ("XX234", "warning", "payments.yaml:8:25")
    assert (
        said.message == "`orders.*.eu` matches no subject of ORDERS (paid.>), which orders declares at orders.yaml:4:22"
    )


@pytest.mark.parametrize("subjects", ["orders.>", "orders.*.*", "orders.a.eu"])
def test_a_filter_that_matches_some_of_it_is_fine(subjects: str) -> None:
    assert told(written(orders=ORDERS % (subjects, ""), payments=PAYMENTS)) == []


def test_what_a_stream_copies_or_renames_is_not_judged_by_its_subjects() -> None:
    moved = ", subject_transform: {src: in.>, dest: orders.>}"
    assert told(written(orders=ORDERS % ("in.>", moved), payments=PAYMENTS)) == []


def test_a_stream_that_its_owner_does_not_declare_is_an_error_at_the_place() -> None:
    files = written(orders=(ORDERS % ("x", "")).replace("ORDERS:", "OTHER:"), payments=PAYMENTS)
    (said,) = told(files)
    assert (said.code, said.is_error, str(said.span)) == ("XX531", True, "payments.yaml:5:22")
    loaded = load(files)
    several = SeveralTopologies(*loaded.diagnostics)
    several.each = loaded.each
    with pytest.raises(CannotContinue) as stopped:
        several.readable()
    assert [one.code for one in stopped.value.diagnostics] == ["XX531"]


def test_whoever_declares_it_is_named_with_the_place() -> None:
    others = (ORDERS % ("x", "")).replace("ORDERS:", "OTHER:")
    billing = (ORDERS % ("orders.>", "")).replace("topology: orders", "topology: billing")
    (said,) = told(written(orders=others, billing=billing, payments=PAYMENTS))
    assert said.message.endswith("; billing declares it at billing.yaml:4:3")
    assert said.fix == "write `from: topology/billing`"


def test_topologies_for_other_accounts_are_not_compared() -> None:
    far = (ORDERS % ("orders.us.>", "")).replace("streams:", "expect: {account: FAR}\nstreams:")
    assert told(written(orders=far, payments=PAYMENTS)) == []


def test_the_owner_of_a_bucket_goes_before_who_uses_its_stream() -> None:
    user = "reconciler: 1\ntopology: a\nstreams: {KV_CONFIG: {external: {from: topology/b}, consumers: {audit: {}}}}\n"
    owner = "reconciler: 1\ntopology: b\nkv_buckets: {CONFIG: {}}\n"
    paths = written(a=user, b=owner)
    assert [one.name for one in in_order(load(paths).each)] == ["b", "a"]
    assert told(paths) == []


def test_two_that_use_each_other_keep_the_order_of_the_files() -> None:
    ours = ORDERS % ("orders.>", "") + "  PAID: {external: {from: topology/payments}}\n"
    paths = written(payments=PAYMENTS + "  PAID: {subjects: [paid.>]}\n", orders=ours)
    assert [one.name for one in in_order(load(paths).each)] == ["payments", "orders"]
    assert told(paths) == []


def test_who_removes_a_consumer_goes_before_who_removes_its_stream() -> None:
    owner = "reconciler: 1\ntopology: a\nstreams: {KEEP: {}}\nremoved: [{address: stream/ORDERS, reason: over}]\n"
    reader = "reconciler: 1\ntopology: b\nstreams: {LOG: {}}\nremoved: [{address: consumer/ORDERS/c, reason: over}]\n"
    assert [one.name for one in in_order(load(written(a=owner, b=reader)).each)] == ["b", "a"]
