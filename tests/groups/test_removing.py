"""An elastic group is removed while messages come: its queue takes in none of them, and only what was told is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.changes.events import Done, Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan, predicted_forms
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.steps import Call
from reconciler.model.wire.version import Version
from reconciler.server.run.execute import execute
from reconciler.server.wire.api import JetStream
from tests.groups.making import SECOND, consumer, publish, sourced
from tests.quantities.losing import applied, state
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

GROUP = (
    "{type: elastic, max_members: 4, members: [a], partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}]}"
)
STREAM = "S: {subjects: [j.*], retention: %s%s}"
GONE = "removed: [{address: elastic_group/S/g, reason: done}]"


def there(retention: str) -> str:
    return f"streams: {{{STREAM % (retention, f', groups: {{g: {GROUP}}}')}}}"


def gone(retention: str) -> str:
    return f"streams: {{{STREAM % (retention, '')}}}\n{GONE}"


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "workqueue"])
def test_what_comes_while_its_members_end_is_not_deleted_with_the_queue(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> tuple[int, int, int]:
        await applied(js, tmp_path, there(retention))
        await publish(js, 3)
        await sourced(js, 3)
        await consumer(js, "a", ["0.j.*", "1.j.*", "2.j.*", "3.j.*"], inactive_threshold=SECOND)
        made = await plan(read(tmp_path, gone(retention)), js, RunOptions())
        (change,) = made.plan.changes
        said = next(one.quantities["queued"] for one in change.verdicts if one.code == "EG310" and one.quantities)
        came = 0
        async for event in apply(made, js):
            if isinstance(event, Done) and event.step.on == ("S-g",) and not came:
                came = 20  # the members have not ended yet
                await publish(js, came)
            last = event
        assert isinstance(last, Finished) and last.is_success, last
        assert "S-g" not in done(await js.request("STREAM.NAMES"))["streams"]
        return said, came, (await state(js, "S"))["messages"]

    said, came, left = talk(account, work)
    assert (said, came) == (3, 20)
    is_late = Version.parse(account.version) >= (2, 14)  # it deletes what is copied when publishers pause
    assert left in (range(20, 24) if is_late else (20,)) if retention == "workqueue" else left == 23


@on_every_version
def test_after_a_removal_that_was_cut_off_its_queue_is_an_orphan_and_goes_with_the_next(
    account: Account, tmp_path: Path
) -> None:
    """Declared again, it is refused until then: nobody knows any more what the queue took in."""

    async def work(js: JetStream) -> tuple[list[str], list[str], list[str]]:
        await applied(js, tmp_path, there("limits"))
        made = await plan(read(tmp_path, gone("limits")), js, RunOptions())
        first = [step for step in made.plan.steps if step.call in (Call.ENTRY_DELETE, Call.STREAM_UPDATE)]
        *_, cut = [event async for event in execute(js, first, forms=predicted_forms(made.snapshot))]
        assert isinstance(cut, Finished) and cut.is_success, cut
        orphans = (await plan(read(tmp_path, gone("limits").removesuffix(GONE)), js, RunOptions())).plan.changes
        again = (await plan(read(tmp_path, there("limits")), js, RunOptions())).plan.changes
        refused = [one.message for change in again for one in change.verdicts if one.code == "EG103"]
        await applied(js, tmp_path, gone("limits"))
        names = done(await js.request("STREAM.NAMES"))["streams"]
        return [str(one.address) for one in orphans], refused, sorted(names)

    orphans, refused, names = talk(account, work)
    assert orphans == ["elastic_group/S/g"]
    assert refused == ["stream S-g is left of a removal that was interrupted"]
    assert "S-g" not in names
