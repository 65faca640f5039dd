"""A snapshot goes into rows and comes out of them as it was."""

from __future__ import annotations

import random
from typing import Any

from reconciler.fleet.accounts.rows import rows_of, snapshot_of
from reconciler.fleet.tables.tables import CONFIGS
from reconciler.model.wire.permissions import Granted
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.version import Version

ACCOUNT = Snapshot(
    target=Target(version=Version(2, 15, 1), level=5, account="ORDERS", peers=1, limits={"max_streams": -1}),
    streams={
        "ORDERS": {"config": {"name": "ORDERS"}, "state": {"messages": 7, "bytes": 700, "consumer_count": 1}},
        "KV_reconciler": {"config": {"name": "KV_reconciler"}, "state": {"messages": 1}},
    },
    consumers={"ORDERS": {"billing": {"name": "billing", "num_pending": 3, "num_ack_pending": 2}}},
    copiers={"ORDERS": {"JS_MIR_x": {"name": "JS_MIR_x", "num_pending": 1}}},
    entries={
        "reconciler": {"owned.stream/ORDERS": Entry(b"\xff{}", 4, stored="2026-06-01T00:00:00Z")},
        "static-consumer-groups": {},
    },
    unknown={"consumer/ORDERS/mute": "nobody answered"},
    denied=("kv/elastic-consumer-groups",),
    may=Granted(allow=("$JS.API.>",)),
)


def complete(row: dict[str, Any]) -> dict[str, Any]:
    return {**dict.fromkeys(CONFIGS.names), **row}


def test_nothing_is_lost_whatever_the_order() -> None:
    rows = [complete(row) for row in rows_of(ACCOUNT)]
    random.Random(7).shuffle(rows)
    back = snapshot_of(rows)
    assert isinstance(back, Snapshot)
    assert back == ACCOUNT
    assert back.entries["reconciler"]["owned.stream/ORDERS"].stored == "2026-06-01T00:00:00Z"


def test_a_row_carries_the_figures_beside_the_answer() -> None:
    by_address = {row.get("address"): row for row in rows_of(ACCOUNT)}
    assert by_address["stream/ORDERS"]["messages"] == 7
    assert by_address["consumer/ORDERS/billing"]["ack_pending"] == 2


def test_rows_have_no_columns_of_their_own() -> None:
    assert {name for row in rows_of(ACCOUNT) for name in row} <= set(CONFIGS.names)


def test_one_row_of_error_makes_the_target_unreadable() -> None:
    rows = [complete(row) for row in rows_of(ACCOUNT)]
    assert snapshot_of([*rows, complete({"row": "error", "error": "it hangs"})]) == "it hangs"


def test_without_the_account_nothing_is_known() -> None:
    rows = [complete(row) for row in rows_of(ACCOUNT) if row["row"] != "target"]
    assert snapshot_of(rows) == "no row says which account this is"
