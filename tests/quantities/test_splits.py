"""A consumer is split in two by subject: what the plan says of either half, and what they really get."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.plan.plan import Planned, plan
from reconciler.kinds.consumer import taking_over
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, publish, settled, take
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

ON = "streams: {S: {subjects: [s.>], retention: %s, consumers: {%s}}}"
WHOLE = "whole: {ack_policy: explicit, filter_subjects: [%s]}"
FIRST = "whole: {ack_policy: explicit, filter_subject: s.a}"
OTHER = "half: {ack_policy: explicit, filter_subject: %s}"
START = ", deliver_policy: by_start_sequence, opt_start_seq: 9"


def _halves(retention: str, start: str = "") -> str:
    return ON % (retention, f"{FIRST}, {OTHER % f's.b{start}'}")


async def _pending(js: JetStream, consumer: str) -> int:
    return int(done(await js.request(f"CONSUMER.INFO.S.{consumer}"))["num_pending"])


async def _filled(js: JetStream, folder: Path, retention: str, filters: str) -> None:
    await applied(js, folder, ON % (retention, WHOLE % filters))
    await publish(js, *["s.a", "s.b"] * 10)
    await take(js, "S", "whole", 8)


def _said(found: Planned) -> dict[str, str]:
    return {change.address: " ".join(one.message for one in change.consequences) for change in found.plan.changes}


@on_every_version
@pytest.mark.parametrize("filters", ["s.>", "s.a, s.b"])
@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_the_other_half_takes_what_the_first_leaves(
    retention: str, filters: str, account: Account, tmp_path: Path
) -> None:
    """Eight of twenty are processed, so six of either subject are left. Nobody consents, and nothing is lost."""

    async def work(js: JetStream) -> None:
        await _filled(js, tmp_path, retention, filters)
        found = await applied(js, tmp_path, _halves(retention))
        is_known = retention == "workqueue" and filters == "s.a, s.b"
        assert found["CO301"].message.endswith(f"half takes {'them' if is_known else 'those stored now'}")
        assert (await _pending(js, "whole"), await _pending(js, "half")) == (6, 10 if retention == "limits" else 6)

    talk(account, work)


@on_every_version
def test_what_the_first_half_has_delivered_the_other_delivers_too(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        await _filled(js, tmp_path, "limits", "s.>")
        found = await plan(read(tmp_path, _halves("limits")), js, RunOptions())
        (said,) = [text for address, text in _said(found).items() if address == "consumer/S/half"]
        assert "whole has delivered up to " in said
        assert said.endswith("this one delivers them too. To continue after them instead:" + START.replace(",", "", 1))
        (half,) = [one for one in found.plan.changes if one.address == "consumer/S/half"]
        (bounds,) = [one.bounds["delivered_before"] for one in half.consequences if one.bounds]
        assert bounds.least <= 4 <= bounds.most <= 8
        again = await plan(read(tmp_path, _halves("limits", START)), js, RunOptions())
        assert "whole" not in _said(again)["consumer/S/half"]
        await applied(js, tmp_path, _halves("limits", START))
        assert (await _pending(js, "whole"), await _pending(js, "half")) == (6, 6)

    talk(account, work)


@on_every_version
def test_what_an_interest_stream_has_in_flight_stays_for_the_other_half(account: Account, tmp_path: Path) -> None:
    """Two of either subject are in flight. The other half gets those of its own, and the first is given them again."""

    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, ON % ("interest", WHOLE % "s.>"))
        await publish(js, *["s.a", "s.b"] * 10)
        await take(js, "S", "whole", 4, acknowledge=False)
        found = await applied(js, tmp_path, _halves("interest"))
        assert "half takes those stored now" in found["CO301"].message
        assert await _pending(js, "half") == 10

    talk(account, work)


@pytest.mark.parametrize(
    "heir",
    ["[s.b]", "[s.*.b]", "[s.*.b, s.c], deliver_policy: new"],
    ids=["another subject", "part of them", "too late"],
)
def test_what_no_half_takes_still_needs_consent(heir: str, account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, ON % ("interest", WHOLE % "s.>"))
        await publish(js, *["s.a", "s.x.b", "s.c"] * 3)
        text = ON % ("interest", f"{FIRST}, half: {{ack_policy: explicit, filter_subjects: {heir}}}")
        found = await plan(read(tmp_path, text), js, RunOptions())
        (verdict,) = [one for change in found.plan.changes for one in change.verdicts if one.code == "CO301"]
        assert (verdict.blocks, "apply deletes them unless another consumer wants them" in verdict.message) == (
            True,
            True,
        )

    talk(account, work)


@on_every_version
@pytest.mark.parametrize(
    ("taken", "goes"),
    [
        ("s.>", 0),
        ("s.b", 6),
    ],
)
def test_a_consumer_that_goes_leaves_to_a_new_one_what_that_takes(
    taken: str, goes: int, account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> None:
        await _filled(js, tmp_path, "interest", "s.>")
        gone = "\nremoved: [{address: consumer/S/whole, reason: split}]"
        text = ON % ("interest", OTHER % taken) + gone
        found = await applied(js, tmp_path, text)
        assert ("half takes those stored now" in found["CO310"].message) == (not goes)
        assert await _pending(js, "half") == (12 if not goes else 6)

    talk(account, work)


@on_every_version
@pytest.mark.parametrize(("retention", "advised", "again"), [("limits", 9, 0), ("interest", 5, 2)])
def test_what_is_in_flight_is_left_to_the_other_half_where_the_first_does_not_get_it_again(
    retention: str, advised: int, again: int, account: Account, tmp_path: Path
) -> None:
    """Eight of twenty are delivered, and the first four of them acknowledged."""

    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, ON % (retention, f"{WHOLE % 's.>'}, audit: {{ack_policy: explicit}}"))
        await publish(js, *["s.a", "s.b"] * 10)
        await take(js, "S", "whole", 4)
        await take(js, "S", "whole", 4, acknowledge=False)
        halves = f"{FIRST}, {OTHER % '%s'}, audit: {{ack_policy: explicit}}"
        said = _said(await plan(read(tmp_path, ON % (retention, halves % "s.b")), js, RunOptions()))["consumer/S/half"]
        assert said.endswith(f"opt_start_seq: {advised}")
        start = f"s.b, deliver_policy: by_start_sequence, opt_start_seq: {advised}"
        found = await plan(read(tmp_path, ON % (retention, halves % start)), js, RunOptions())
        assert ("whole has delivered" in _said(found)["consumer/S/half"]) == bool(again)
        await applied(js, tmp_path, ON % (retention, halves % start))
        assert await _pending(js, "half") == 6 + again

    talk(account, work)


@on_every_version
def test_a_filter_that_was_another_one_before_leaves_out_less_than_it_seems(account: Account, tmp_path: Path) -> None:
    """Somebody narrowed it by hand when everything was processed: the narrow filter left out nothing."""

    async def work(js: JetStream) -> None:
        whole = ON % ("limits", WHOLE % "s.a, s.b")
        await applied(js, tmp_path, whole.replace("subjects: [s.>]", "subjects: [s.>], allow_direct: true"))
        await publish(js, *["s.a", "s.b"] * 10)
        await take(js, "S", "whole", 20)
        config = done(await js.request("CONSUMER.INFO.S.whole"))["config"]
        narrow = {"stream_name": "S", "action": "update", "config": {**config, "filter_subjects": ["s.a"]}}
        done(await js.request("CONSUMER.CREATE.S.whole", narrow))
        found = await plan(read(tmp_path, whole), js, RunOptions())
        (verdict,) = [one for change in found.plan.changes for one in change.verdicts if one.code == "CO301"]
        assert (verdict.quantities["missed"], verdict.bounds["missed"].least) == (10, 0)
        assert "up to 10 messages before its position that the old filter left out" in verdict.message

    talk(account, work)


@on_every_version
@pytest.mark.parametrize("retention", ["interest", "workqueue"])
def test_the_halves_become_one_again_and_nothing_is_deleted(retention: str, account: Account, tmp_path: Path) -> None:
    """The first half takes what the other leaves, as far as its server has not moved past that, which nobody can tell."""

    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, _halves(retention))
        await publish(js, *["s.a", "s.b"] * 10)
        await take(js, "S", "half", 4)
        await take(js, "S", "whole", 2)
        one = ON % (retention, WHOLE % "s.>") + "\nremoved: [{address: consumer/S/half, reason: split no more}]"
        found = await applied(js, tmp_path, one, "XX311")
        takes = "up to 6 of them: those that no other consumer wants" if retention == "interest" else "whole takes them"
        assert takes in found["CO310"].message
        assert await _pending(js, "whole") == 14

    talk(account, work)


def test_a_message_that_two_take_does_not_stand_for_one_that_nobody_takes(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, ON % ("interest", WHOLE % "s.>"))
        await publish(js, "s.a", "s.b.c", "s.d.d")
        thirds = f"{FIRST}, {OTHER % 's.*.c'}, third: {{ack_policy: explicit, filter_subject: s.b.*}}"
        found = await plan(read(tmp_path, ON % ("interest", thirds)), js, RunOptions())
        (verdict,) = [one for change in found.plan.changes for one in change.verdicts if one.code == "CO301"]
        assert (verdict.blocks, "take those stored now" in verdict.message) == (True, False)

    talk(account, work)


@pytest.mark.parametrize(
    ("heirs", "are_taken"),
    [
        ("half: {ack_policy: explicit, filter_subjects: [s.b.*, s.d.d]}", True),
        ("half: {ack_policy: explicit, filter_subject: s.b}", False),
        ("half: {ack_policy: explicit, filter_subject: s.b.*}", False),
        (
            "half: {ack_policy: explicit, filter_subject: s.*.c}, third: {ack_policy: explicit, filter_subject: s.b.*}",
            False,
        ),
    ],
    ids=["one takes all", "nobody takes them", "one takes a part", "two take the same"],
)
def test_where_subjects_are_too_many_to_name_their_messages_are_counted(
    heirs: str, are_taken: bool, account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three are one too many here. The first half takes one message, so two are left."""
    monkeypatch.setattr(taking_over, "MANY_SUBJECTS", 2)
    shape = ON.replace("[s.>]", "[s.>], allow_direct: true")

    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, shape % ("interest", WHOLE % "s.>"))
        await publish(js, "s.a", "s.b.c", "s.d.d")
        found = await plan(read(tmp_path, shape % ("interest", f"{FIRST}, {heirs}")), js, RunOptions())
        (verdict,) = [one for change in found.plan.changes for one in change.verdicts if one.code == "CO301"]
        assert (verdict.blocks, "those stored now" in verdict.message) == (not are_taken, are_taken)

    talk(account, work)


TWO = "high: {ack_policy: explicit, filter_subject: m.high.>}, low: {ack_policy: explicit, filter_subject: m.low.>}"


@on_every_version
@pytest.mark.parametrize("left", ["m.high.>", "m.high.>, m.mid"])
@pytest.mark.parametrize("come_past", [0, 1])
@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_messages_that_stay_although_they_are_acknowledged_are_foretold(
    retention: str, come_past: int, left: str, account: Account, tmp_path: Path
) -> None:
    """The subject of one consumer goes to no other stream. Then its clients acknowledge everything."""

    async def work(js: JetStream) -> tuple[bool, int]:
        shape = "streams: {M: {subjects: [%s], retention: %s, consumers: {%s}}}"
        await applied(js, tmp_path, shape % ("m.>", retention, TWO))
        await publish(js, *["m.low.a"] * 10, "m.high.a")
        await take(js, "M", "high", come_past)
        said = (await applied(js, tmp_path, shape % (left, retention, TWO)))["ST303"].message
        await take(js, "M", "low", 10)
        is_held = "Those that high has not come past stay even when nobody wants them any more" in said
        left_then = 11 - (10 + come_past if retention != "limits" else 0)
        return is_held, (await settled(js, "M", left_then, patience=3 if is_held else 30)) - left_then

    is_held, stayed = talk(account, work)
    assert is_held == bool(stayed)
    assert stayed in (0, 10)


@on_every_version
def test_a_split_that_was_cut_between_its_halves_is_finished_without_consent(account: Account, tmp_path: Path) -> None:
    """The other half was created, and the first has not given up its subjects. Nothing is deleted, so nobody is asked."""

    async def work(js: JetStream) -> tuple[str, list[int]]:
        await _filled(js, tmp_path, "interest", "s.>")
        half = OTHER % "s.b, deliver_policy: by_start_sequence, opt_start_seq: 9"
        await applied(js, tmp_path, ON % ("interest", f"{WHOLE % 's.>'}, {half}"))
        said = (await applied(js, tmp_path, ON % ("interest", f"{FIRST}, {half}")))["CO301"].message
        return said, [await settled(js, "S"), *[await _pending(js, one) for one in ("whole", "half")]]

    said, counts = talk(account, work)
    assert said.endswith("half takes those stored now")
    assert counts == [12, 6, 6]


@on_every_version
def test_no_start_is_offered_that_would_skip_nothing(account: Account, tmp_path: Path) -> None:
    """An interest stream has deleted what was acknowledged, so the first stored message is the first that is left."""

    async def work(js: JetStream) -> tuple[str, int]:
        await _filled(js, tmp_path, "interest", "s.>")
        await take(js, "S", "whole", 2)
        await take(js, "S", "whole", 4, acknowledge=False)
        text = _halves("interest")
        said = _said(await plan(read(tmp_path, text), js, RunOptions()))["consumer/S/half"]
        await applied(js, tmp_path, text)
        return said, await _pending(js, "half")

    said, pending = talk(account, work)
    assert "whole has delivered" in said
    assert "instead: deliver_policy" not in said
    assert pending == 5


@on_every_version
def test_no_start_is_offered_that_skips_what_nobody_has_delivered(account: Account, tmp_path: Path) -> None:
    """The new consumer takes more than the old one gives up."""
    shape = ON.replace("[s.>]", "[s.>], allow_direct: true")

    async def work(js: JetStream) -> str:
        await applied(js, tmp_path, shape % ("limits", WHOLE % "s.a, s.b.x"))
        await publish(js, *["s.a", "s.b.x", "s.b.y"] * 5)
        await take(js, "S", "whole", 10)
        wider = await plan(read(tmp_path, shape % ("limits", f"{FIRST}, {OTHER % 's.b.>'}")), js, RunOptions())
        return _said(wider)["consumer/S/half"]

    said = talk(account, work)
    assert "whole has delivered 5 of them" in said
    assert "To continue after them" not in said


@on_every_version
def test_a_start_before_what_was_acknowledged_out_of_order_is_not_called_a_continuation(
    account: Account, tmp_path: Path
) -> None:
    """Of twenty, the fifth and the sixth are in flight, and all others are acknowledged."""
    audit = "audit: {ack_policy: explicit}"

    async def work(js: JetStream) -> tuple[str, str]:
        await applied(js, tmp_path, ON % ("interest", f"{WHOLE % 's.>'}, {audit}"))
        await publish(js, *["s.a", "s.b"] * 10)
        await take(js, "S", "whole", 4)
        await take(js, "S", "whole", 2, acknowledge=False)
        await take(js, "S", "whole", 14)
        starts = ("", ", deliver_policy: by_start_sequence, opt_start_seq: 5")
        texts = [ON % ("interest", f"{FIRST}, {OTHER % f's.b{start}'}, {audit}") for start in starts]
        first, second = [_said(await plan(read(tmp_path, text), js, RunOptions()))["consumer/S/half"] for text in texts]
        return first, second

    first, second = talk(account, work)
    assert first.endswith(
        "To begin at the first message that was not acknowledged instead: deliver_policy: by_start_sequence, opt_start_seq: 5"
    )
    assert "whole has delivered up to 10 of the messages from there on" in second


@on_every_version
def test_what_two_have_delivered_counts_once(account: Account, tmp_path: Path) -> None:
    """Both leave the same subject to a new one, each at another message."""
    shape = ON.replace("[s.>]", "[s.>], allow_direct: true")
    other = "other: {ack_policy: explicit, filter_subject: %s}"

    async def work(js: JetStream) -> str:
        await applied(js, tmp_path, shape % ("limits", f"{WHOLE % 's.a, s.b'}, {other % 's.>'}"))
        await publish(js, *["s.a", "s.b"] * 10)
        await take(js, "S", "whole", 20)
        await take(js, "S", "other", 16)
        split = shape % ("limits", f"{FIRST}, {other % 's.c'}, {OTHER % 's.b'}")
        return _said(await plan(read(tmp_path, split), js, RunOptions()))["consumer/S/half"]

    said = talk(account, work)
    assert "whole and other have delivered 10 of them" in said
    assert said.endswith(
        "To begin at the first message that one of them leaves instead: deliver_policy: by_start_sequence, opt_start_seq: 17"
    )


@on_every_version
def test_what_an_earlier_filter_left_out_was_not_delivered(account: Account, tmp_path: Path) -> None:
    """The consumer is widened when it has passed everything, and a server never goes back."""
    shape = ON.replace("[s.>]", "[s.>], allow_direct: true")

    async def work(js: JetStream) -> str:
        await applied(js, tmp_path, shape % ("limits", FIRST))
        await publish(js, *["s.a", "s.b"] * 5)
        await take(js, "S", "whole", 5)
        await applied(js, tmp_path, shape % ("limits", WHOLE % "s.a, s.b"))
        await publish(js, *["s.a", "s.b"] * 2)
        await take(js, "S", "whole", 4)
        split = await plan(read(tmp_path, shape % ("limits", f"{FIRST}, {OTHER % 's.b'}")), js, RunOptions())
        return _said(split)["consumer/S/half"]

    said = talk(account, work)
    assert "whole has delivered at least 2 and at most 6 of them" in said, "it has delivered two"
    assert "To continue after them" not in said, "that would skip four that nobody has delivered"
