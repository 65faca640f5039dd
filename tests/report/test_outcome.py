"""What people read after an apply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.changes.events import Done, Failed, Finished, InDoubt, NotStarted, Skipped
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.wire.steps import Call, Step
from reconciler.report.outcome import outcome_text, progress_line
from tests.report.golden import same_as_golden


def step(call: Call, *on: str, address: str | None = None, **more: Any) -> Step:
    kind = call.value.split(".")[0]
    return Step(id=f"{call} {on}", call=call, on=on, address=address or f"{kind}/{'/'.join(on)}", **more)


def because(message: str, fix: str | None = None) -> Diagnostic:
    return Diagnostic(severity=Severity.ERROR, code="NA201", name="refused", message=message, fix=fix)


ORDERS = step(Call.STREAM_CREATE, "ORDERS")
WEST = step(Call.CONSUMER_CREATE, "ORDERS", "west")
RECORD = step(Call.ENTRY_PUT, "elastic-consumer-groups", "ORDERS.billing", address="elastic_group/ORDERS/billing")
BILLING = step(Call.STREAM_CREATE, "ORDERS-billing", address="elastic_group/ORDERS/billing")
LATER = step(Call.STREAM_DELETE, "OLD")


def test_success_is_one_line() -> None:
    text = outcome_text(Finished(done=(Done(step=ORDERS), Done(step=WEST))), seconds=0.31)
    assert text == "Applied 2 steps (2 creates) in 0.3 s. Planning again finds nothing to do.\n"


def test_a_failure_says_what_why_and_what_was_not_tried() -> None:
    failed = Failed(
        step=ORDERS,
        reason=because("The server answered 10052: subjects overlap.", "change the subjects"),
        nothing_done=True,
    )
    skipped = Skipped(step=WEST, because="stream/ORDERS was not created")
    text = outcome_text(Finished(done=(Done(step=LATER),), failed=(failed,), skipped=(skipped,)), arguments="streams/")
    same_as_golden("outcome-failed.txt", text)


def test_members_that_do_not_come_back_leave_nothing_for_an_apply_to_complete() -> None:
    back = step(Call.GATE_MEMBERS_BACK, "ORDERS-billing", address="elastic_group/ORDERS/billing")
    away = Failed(step=back, reason=because("b1 consumed before and did not again.", "start it"), nothing_done=True)
    text = outcome_text(Finished(done=(Done(step=RECORD),), failed=(away,)))
    assert ("Nothing is half-made.\n" in text, "the next apply completes it" in text) == (True, False)


def test_what_nobody_consented_to_was_not_tried_and_did_not_fail() -> None:
    more = Diagnostic(
        severity=Severity.ERROR, code="AP202", name="more-than-consented", message="12 messages would go."
    )
    text = outcome_text(Finished(failed=(Failed(step=LATER, reason=more, nothing_done=True),)))
    assert text.splitlines()[:3] == [
        "! stream/OLD",
        "    not done: delete stream OLD",
        "    AP202 12 messages would go.",
    ]


def test_what_failed_alike_is_told_once_and_named() -> None:
    def failed(name: str, why: str) -> Failed:
        create = step(Call.STREAM_CREATE, name)
        reason = f"Could not create stream {name}: {why}."
        return Failed(step=create, reason=because(reason), nothing_done=True)

    alike = [failed(f"S{number}", f"no connection: refused after {number / 10} s") for number in range(64)]
    skipped = [
        Skipped(step=step(Call.ENTRY_PUT, f"S{number}"), because=f"create stream S{number} failed")
        for number in range(64)
    ]
    text = outcome_text(Finished(failed=(*alike, failed("s", "something else")), skipped=tuple(skipped)))
    assert (text.count("NA201"), text.count("not tried, because")) == (2, 1), text
    assert "! stream/S0 and 63 others" in text
    assert "So it is with stream/S1 stream/S2 stream/S3" in text
    assert "64 steps not tried, because create stream S0 failed (and the like):" in " ".join(text.split())
    assert len(text.splitlines()) < 25, text


def test_what_failed_for_reasons_about_others_is_told_apart() -> None:
    """A name inside another one is not the object's own."""
    failed = [
        Failed(step=step(Call.STREAM_CREATE, name), reason=because(f"{name} overlaps {name}_OLD."), nothing_done=True)
        for name in ("S", "T")
    ]
    assert outcome_text(Finished(failed=tuple(failed))).count("NA201") == 2


def test_where_no_object_changes_it_says_so() -> None:
    said = "Applied nothing in 0.01 s: no object had to change. Planning again finds nothing to do.\n"
    assert outcome_text(Finished(), seconds=0.01) == said


@pytest.mark.parametrize("later", [False, True])
def test_what_is_not_recorded_is_not_promised_to_be_gone_from_the_next_plan(*, later: bool) -> None:
    lost = Diagnostic(severity=Severity.ERROR, code="LE103", name="record-not-written", message="applied, not recorded")
    finished = Finished(done=(Done(step=ORDERS),), warnings=(lost,))
    assert outcome_text(finished, later=later).endswith(
        "(1 create). The next plan may show again what is not recorded.\n"
    )
    text = outcome_text(finished, later=later, left=2)
    assert text.endswith("(1 create). 2 changes left out. The next plan may show again what is not recorded.\n")
    assert (finished.is_complete, finished.is_success) == (True, False)


def test_where_records_alone_are_written_it_says_so() -> None:
    said = "Recorded in 0.01 s: 1 record is updated, and no object was touched. Planning again finds nothing to do.\n"
    assert outcome_text(Finished(recorded=1), seconds=0.01) == said
    gone = outcome_text(Finished(let_go=2))
    assert gone.startswith("Forgotten: 2 records are removed, and no object was touched.")
    both = outcome_text(Finished(adopted=2, recorded=3))
    assert both.startswith(
        "Adopted: 2 resources now belong to this topology, 3 records are updated, and no object was touched."
    )


def test_a_step_that_would_have_undone_another_is_not_left_to_do() -> None:
    """A replacement that is cut off is completed; only a refused one would have been taken back."""
    back = replace(WEST, id="back", undoes="create", effect="recreate consumer west as it was, at its position")
    text = outcome_text(
        Finished(
            done=(Done(step=replace(WEST, id="delete")),),
            not_started=(NotStarted(step=replace(WEST, id="create")), NotStarted(step=back)),
            stopped="interrupted",
        )
    )
    assert ("still to do: create" in " ".join(text.split()), "as it was" in text) == (True, False), text


def test_an_interruption_says_what_is_in_doubt_and_what_is_half_made() -> None:
    finished = Finished(
        done=(Done(step=ORDERS), Done(step=RECORD)), in_doubt=(InDoubt(step=WEST, reason=because("No answer came.")),),
        not_started=(NotStarted(step=BILLING), NotStarted(step=LATER)), stopped="interrupted",
    )  # fmt: skip
    same_as_golden("outcome-interrupted.txt", outcome_text(finished, arguments="streams/"))


def test_a_stop_for_another_reason_says_the_reason() -> None:
    finished = Finished(not_started=(NotStarted(step=ORDERS),), stopped="the lease was lost")
    assert outcome_text(finished).startswith("Stopped (the lease was lost) after 0 of 1 step. 1 not started.\n")


def test_what_has_no_step_and_was_left_alone_is_no_success() -> None:
    why = Diagnostic(
        severity=Severity.ERROR, code="AP103", name="changed-since-plan", address="stream/ORDERS",
        message="Somebody changed it after the plan was made; it was left alone.", fix="look again",
    )  # fmt: skip
    assert outcome_text(Finished(left_alone=(why,)), arguments="streams/") == (
        "error AP103 stream/ORDERS: Somebody changed it after the plan was made; it was left alone.\n"
        "    Instead: look again\n"
        "Not everything could be applied: 0 of 0 steps done. 1 change left alone.\n"
        "Nothing is half-made.\n"
        "Next: see what is left with  reconciler plan streams/\n"
    )


def test_progress_is_never_wider_than_the_terminal() -> None:
    line = progress_line(3, 10, step(Call.STREAM_CREATE, "宽" * 100), 40)
    assert line.startswith("3 of 10 steps  create stream 宽")
    assert len(line) < 40
