"""What is live and unchanged is never an offence, by whatever way it came: its export validates, reviews and plans clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.plan.validate import UNLESS_LIVE, offline, validate
from reconciler.kinds import REGISTRY
from reconciler.model.wire.version import SUPPORTED, Version
from tests.faithful.accounts import Live
from tests.faithful.copying import exported, offences, plan_of
from tests.faithful.standing import STANDING, brought_about
from tests.support.accounts import Pool
from tests.support.binaries import MINORS


@pytest.mark.parametrize("minor", MINORS)
def test_an_export_of_what_no_plan_would_make_is_no_offence(pool: Pool, minor: str, tmp_path: Path) -> None:
    wrong, warned = {}, set()
    for name, one in STANDING.items():
        with Live(pool.account(minor)) as live:
            if not one.is_taken_by(live.version):
                continue
            assert brought_about(live, one) == [], name
            wanted = exported(live, tmp_path)
            refused = [str(v) for change in plan_of(live, wanted).changes for v in change.verdicts if v.blocks]
            wrong[name] = [*offences(wanted, live.version), *refused]
            said = [d for version in (live.version, SUPPORTED[-1]) for d in offline(wanted, version, REGISTRY)]
            warned |= {name} if any(UNLESS_LIVE in d.message for d in said) else set()
    assert {name: said for name, said in wrong.items() if said} == {}
    assert len(warned) > len(wrong) * 0.7, f"next to nothing here would be refused anew: {warned}"


def test_what_no_server_ever_holds_is_still_wrong(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(
        "reconciler: 1\ntopology: t\nstreams:\n  A: {subjects: [a.>], max_age: 1ms}\n  B: {subjects: [a.b], max_age: 1m}\n"
        "  W: {retention: workqueue, consumers: {c: {ack_policy: all}}}\n"
    )
    _, found = validate([file])
    assert {one.code for one in found if one.is_error} == {"ST544", "XX201", "CO581"}


def test_what_an_old_server_took_is_worth_a_warning_and_what_none_takes_an_error(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(
        "reconciler: 1\ntopology: t\nstreams:\n  A:\n    consumers:\n      c: {priority_groups: [a]}\n"
        "      d: {priority_policy: overflow}\n"
    )
    _, found = validate([file], Version(2, 15))
    assert {(one.code, one.is_error) for one in found} == {("CO572", False), ("CO573", True)}
