"""The text report of a plan."""

from __future__ import annotations

import time
from dataclasses import replace

from reconciler.changes.change import Action, Consequence, FieldClass
from reconciler.changes.plan import Plan
from reconciler.changes.verdict import Outcome
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.fields import FieldInfo
from reconciler.report.document.judgements import total_sentence
from reconciler.report.words.paper import Paper, colour_paint
from tests.report.golden import same_as_golden
from tests.report.plans import (
    AGE,
    DAY,
    at,
    create,
    delete,
    everything,
    field,
    limit_lowered,
    members_moved,
    plan,
    planned,
    policy_switch,
    update,
    verdict,
)  # fmt: skip
from tests.support.reports import plan_text


def test_everything_at_once_reads_as_shown() -> None:
    same_as_golden("everything.txt", plan_text(everything(), arguments="streams/", seconds=0.4))


def test_a_wide_screen_is_used() -> None:
    same_as_golden("everything-wide.txt", plan_text(everything(), Paper(width=150), arguments="streams/", seconds=0.4))


def test_an_empty_plan_is_one_line() -> None:
    text = plan_text(plan(kept=168))
    assert text == (
        "orders → account ORDERS at prod-eu (nats-server 2.12.8, 3 nodes): nothing to do, 168 resources as declared\n"
    )


def test_what_stops_comes_first_and_what_goes_comes_last() -> None:
    text = plan_text(everything())
    places = [
        text.index(a) for a in ("dispatch", "stream/ORDERS", "stream/FAR", "billing", "west", "stream/OLD", "AUDIT")
    ]
    assert places == sorted(places)


def test_eight_hundred_equal_changes_are_one_entry_with_a_count() -> None:
    changes = [update(f"stream/S{i:03}", field("max_age", 7 * DAY, 3 * DAY, AGE), span=at(i, 5)) for i in range(1, 813)]
    same_as_golden("equal-changes.txt", plan_text(plan(*changes)))


def test_equal_changes_with_different_quantities_name_a_few_and_give_the_sum() -> None:
    changes = [limit_lowered(f"stream/S{i}", messages=1000 * i) for i in range(1, 9)]
    same_as_golden("equal-verdicts.txt", plan_text(plan(*changes, read={"stream": 8})))


def test_numbers_of_what_clients_change_are_said_to_be_of_the_moment_at_which_they_were_read() -> None:
    moving, resting = limit_lowered("stream/S", messages=1000), delete("stream/OLD", "cleaned up")
    moment = "Counted when the account was read"
    assert moment in plan_text(plan(moving, read={"stream": 2}))
    assert moment not in plan_text(plan(moving)), "nothing was read offline"
    assert moment not in plan_text(plan(resting, read={"stream": 2}))
    asking = replace(moving, verdicts=(replace(moving.verdicts[0], message="2 consumers are left dry"),))
    assert moment not in plan_text(plan(asking, read={"stream": 2})), (
        "clients do not change how many consumers there are"
    )
    for of_groups in ("running instances end (none shows now)", "1 message delivered before is redelivered"):
        group = replace(moving.verdicts[0], message=of_groups)
        assert moment in plan_text(plan(replace(moving, verdicts=(group,)), read={"stream": 2})), of_groups
    nothing = replace(
        moving.verdicts[0], message="Apply deletes none of 12 stored messages", quantities={"messages": 0}
    )
    assert moment in plan_text(plan(replace(moving, verdicts=(nothing,)), read={"stream": 2}))


def test_one_entry_of_consent_says_how_many_it_is_for_where_others_lack_it_for_another_value() -> None:
    same = [limit_lowered(f"stream/S{i}", messages=1000) for i in range(1, 3)]
    other = limit_lowered("stream/T", messages=1000)
    other = replace(other, verdicts=tuple(replace(one, to=DAY) for one in other.verdicts))
    assert "Consent to ST301 for all 2 of them, at" in plan_text(plan(*same))
    assert "Consent to ST301 for the 2 of 3 with this value, at" in plan_text(plan(*same, other))


def test_verbose_names_every_one_of_equal_changes() -> None:
    changes = [update(f"stream/S{i:03}", field("max_age", 7 * DAY, 3 * DAY, AGE)) for i in range(200)]
    text = plan_text(plan(*changes), Paper(verbose=True))
    assert all(f"S{i:03}" in text for i in range(200))


def test_what_hangs_on_a_stream_is_kept_no_longer_than_that() -> None:
    left = [planned("consumer/A/c", Action.ORPHAN), planned("stream/B", Action.ORPHAN)]
    text = plan_text(plan(delete("stream/A", "cleaned up"), *left))
    assert text.count("so it is kept as long as its stream;") == 1
    assert text.count("so it is kept;") == 1


def test_what_is_deleted_is_always_named() -> None:
    changes = [delete(f"stream/S{i:03}", "cleaned up") for i in range(200)]
    text = plan_text(plan(*changes))
    assert all(f"S{i:03}" in text for i in range(200))


def test_consumers_of_a_new_stream_stand_on_its_line() -> None:
    text = plan_text(plan(create("stream/NEW", span=at(1, 2)), create("consumer/NEW/a"), create("consumer/NEW/b")))
    assert "+ stream/NEW  with consumers a b  " in text
    assert "consumer/NEW/a" not in text


def test_a_consumer_of_a_new_stream_with_a_warning_stands_alone() -> None:
    warned = verdict("CO130", "slow", Outcome.WARNS, "This is slow.", "consumer/NEW/a")
    text = plan_text(plan(create("stream/NEW"), create("consumer/NEW/a", verdicts=(warned,))))
    assert "+ consumer/NEW/a\n    CO130 slow, warning. This is slow.\n" in text


def test_what_waits_says_for_what() -> None:
    refused = verdict("ST401", "needs-version", Outcome.REFUSED, "Too old.", "stream/NEW")
    changes = (
        create("stream/NEW", verdicts=(refused,)),
        update("consumer/X/a", field("description", "x"), blocked_by="stream/NEW"),
    )
    text = plan_text(plan(*changes))
    assert "~ consumer/X/a\n    description  x → none\n    Waits for stream/NEW.\n" in text
    assert "1 refused, 1 waiting · 0 unchanged" in text


def test_a_field_left_out_is_shown_as_the_default() -> None:
    text = plan_text(plan(update("stream/S", field("max_bytes", 20 << 30, None, FieldInfo(unit="bytes", default=-1)))))
    assert "    max_bytes  20GiB → no limit (default)\n" in text


def test_a_field_changed_outside_says_so() -> None:
    text = plan_text(plan(update("stream/S", field("max_age", DAY, 2 * DAY, AGE, field_class=FieldClass.DRIFTED))))
    assert "max_age  1d → 2d  changed outside since the last apply" in text


def test_a_long_list_says_what_comes_and_what_goes() -> None:
    live = [f"orders.region-{i:02}.created" for i in range(20)]
    text = plan_text(plan(update("stream/S", field("subjects", live, [*live[1:], "orders.new"]))))
    assert "    subjects  without [orders.region-00.created]\n" in text
    assert "              with [orders.new]\n              (19 items unchanged)\n" in text


def test_a_long_list_of_which_nothing_stays_shows_both_sides() -> None:
    live, desired = ([f"orders.{side}-{i:02}.created" for i in range(20)] for side in ("old", "new"))
    text = plan_text(plan(update("stream/S", field("subjects", live, desired))))
    assert "unchanged)" not in text
    assert "              → [orders.new-00.created, " in text


def test_a_given_consent_is_shown_with_its_reason() -> None:
    change = limit_lowered()
    given = verdict("ST301", "limit-lowered", Outcome.NEEDS_CONSENT, "12 messages go.", consented="old logs")
    text = plan_text(plan(update("stream/ORDERS", *change.fields, verdicts=(given,))))
    assert "ST301 limit-lowered, consented (old logs). 12 messages go." in text
    assert "allow:" not in text


def test_a_missing_consent_can_be_copied_in_the_units_of_the_file() -> None:
    assert "      allow: [{code: ST301, to: 3d, reason: …}]\n" in plan_text(plan(limit_lowered()))


def test_the_last_line_says_what_to_run() -> None:
    text = plan_text(plan(members_moved()), arguments="examples/orders --dev")
    assert text.endswith("\nNext: reconciler apply examples/orders --dev\n")


def test_after_a_refusal_the_last_line_says_to_plan_again() -> None:
    text = plan_text(plan(policy_switch()), arguments="streams/")
    assert text.endswith("Nothing can be applied while something is refused. After editing: reconciler plan streams/\n")


def test_adoption_alone_says_that_no_object_changes() -> None:
    text = plan_text(plan(planned("stream/A", Action.ADOPT, adopts=True)))
    assert "No object changes. To update the records: reconciler apply" in text


def test_what_is_ours_already_and_written_down_anew_is_not_called_adopted() -> None:
    text = plan_text(plan(planned("stream/A", Action.ADOPT)))
    assert "Live as declared; an apply updates its record, and leaves the object untouched.\n\n1 recorded" in text
    assert "\n1 recorded, 0 unchanged\nNo object changes." in text
    assert "owns it, and leaves" not in text


def test_a_selection_says_how_many_changes_it_hides() -> None:
    assert "\n3 changes left out of this run\n" in plan_text(plan(hidden=3))


def test_findings_about_files_stand_above_the_changes() -> None:
    warning = Diagnostic(severity=Severity.WARNING, code="ST590", name="unused", message="never used", span=at(3, 4))
    text = plan_text(plan(create("stream/S"), diagnostics=(warning,)))
    assert "\n\nstreams/orders.yaml:3:4 warning ST590: never used\n\n+ stream/S\n" in text


def test_names_cannot_drive_the_terminal() -> None:
    evil = "a\x1b[2J\x9b31m\u202eb\r\n"
    changed = field(f"metadata.{evil}", evil, "x\x07", FieldInfo())
    said = verdict("ST301", evil, Outcome.WARNS, evil, fix=evil)
    text = plan_text(
        plan(update(f"stream/{evil}", changed, verdicts=(said,), reason=evil, span=at(1, 1, evil)), topology=evil),
        arguments="x",
    )
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\x1b[2J\\x9b31m\\u202eb" in text


def test_colours_change_nothing_but_colours() -> None:
    import re

    painted = plan_text(everything(), Paper(paint=colour_paint()))
    assert "\x1b[" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plan_text(everything())


def many(streams: int) -> Plan:
    """Five times as many consumers beside them."""
    made = [create(f"stream/S{i:04}", span=at(i + 1, 5)) for i in range(streams)]
    return plan(*made, *(create(f"consumer/S{i:04}/c{j}", span=at(i + 1, 9)) for i in range(streams) for j in range(5)))


def test_six_thousand_creates_are_printed_in_short() -> None:
    assert plan_text(many(1_000)).count("\n") < 1_010


def test_ten_times_as_many_creates_take_ten_times_as_long() -> None:
    """And not a hundred times. The fastest of five counts: other load on the machine must not fail this."""

    def seconds(streams: int) -> float:
        big, took = many(streams), []
        for _ in range(5):
            began = time.process_time()
            plan_text(big)
            took.append(time.process_time() - began)
        return min(took)

    assert seconds(1_000) < 30 * seconds(100)


def test_quantities_together_are_words() -> None:
    both = [Consequence(message="", quantities={"messages": 1, "redelivered": 2, "bytes": 1 << 20})] * 2
    assert total_sentence(both) == "Together: 2 messages, 4 redelivered, 2MiB."


def test_what_one_entry_of_a_file_creates_many_times_is_one_entry() -> None:
    place = at(7, 3)
    streams = [create(f"stream/T_{name}", span=place) for name in "abc"]
    consumers = [create(f"consumer/T_{name}/{below}", span=at(9, 5)) for name in "abc" for below in ("bill", "ship")]
    lines = plan_text(plan(*streams, *consumers)).splitlines()
    assert [" ".join(line.split()) for line in lines[2:4]] == [
        "+ 3 streams each with consumers bill ship streams/orders.yaml:7:3", "namely T_a T_b T_c",
    ]  # fmt: skip
    assert lines[5] == "9 creates · 0 unchanged"


def test_what_is_written_at_places_of_its_own_is_an_entry_of_its_own() -> None:
    lines = plan_text(plan(*(create(f"stream/T_{row}", span=at(row, 3)) for row in range(1, 5)))).splitlines()
    assert [line.split()[1] for line in lines[2:6]] == [f"stream/T_{row}" for row in range(1, 5)]


def test_streams_that_go_with_other_consumers_are_not_told_as_one() -> None:
    gone = [delete(f"stream/T_{name}") for name in "abcdef"]
    consumers = [delete(f"consumer/T_{name}/{'bill' if name in 'abc' else 'ship'}") for name in "abcdef"]
    text = " ".join(plan_text(plan(*gone, *consumers)).split())
    assert "- 3 streams each with consumer bill namely T_a T_b T_c" in text
    assert "- 3 streams each with consumer ship namely T_d T_e T_f" in text
