"""Consent covers one rule, one value, a time and an amount, and never more."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from reconciler.core.consent import covers as _covers
from reconciler.core.consent import given, leftovers
from reconciler.core.resource import Address, Consent, Resource, Terms
from reconciler.core.rule import Outcome, Verdict
from reconciler.kinds.primitives.values import Duration
from tests.core.making import consent

TODAY = date(2026, 6, 1)


class Spec(Terms):
    """A kind with one field that people write in units of their own."""

    max_age: Duration | None = None
    priority_groups: tuple[str, ...] | None = None


def consented(verdict: Verdict, allows: list[Consent]) -> Verdict:
    found = given(verdict, allows, TODAY, Spec)
    return replace(verdict, consented=found.reason) if found else verdict


def covers(allow: Consent, verdict: Verdict) -> bool:
    return _covers(allow, verdict, TODAY, Spec)


def left(allow: Consent, *verdicts: Verdict) -> list[str]:
    """What is said about this consent beside these verdicts."""
    resource = Resource(address=Address.of("stream", "ORDERS"), config={}, terms=Spec(allow=(allow,)))
    return [f"{one.code} {one.message}" for one in leftovers(resource, verdicts, TODAY)]


def verdict(**said: Any) -> Verdict:
    given = {"outcome": Outcome.NEEDS_CONSENT, "consentable": True, "to": "memory", **said}
    return Verdict(code="ST101", name="storage-change", message="…", address="stream/ORDERS", **given)


def test_consent_to_the_same_rule_and_value_covers() -> None:
    assert consented(verdict(), [consent(to="memory")]).consented == "rebuilt nightly"


def test_what_is_consented_blocks_no_longer() -> None:
    assert not consented(verdict(), [consent()]).blocks


def test_consent_without_a_value_covers_no_change_to_a_value() -> None:
    assert left(consent(to=None), verdict()) == [
        "XX303 consent to ST101 does not cover this change: it names no value (`to:`), and an old consent must never "
        "cover a new change"
    ]


def test_consent_without_a_value_covers_what_has_none() -> None:
    assert covers(consent(to=None), verdict(to=None))


def test_consent_to_another_value_does_not_cover() -> None:
    assert not covers(consent(to="file"), verdict())


def test_consent_to_another_rule_does_not_cover() -> None:
    assert consented(verdict(), [consent("ST301")]).consented is None


def test_consent_counts_on_its_last_day() -> None:
    assert covers(consent(until=TODAY), verdict())


def test_consent_does_not_count_the_day_after() -> None:
    assert not covers(consent(until=date(2026, 5, 31)), verdict())


@pytest.mark.parametrize(("lost", "covered"), [(999, True), (1000, True), (1001, False)])
def test_consent_covers_a_loss_up_to_its_bound(lost: int, covered: bool) -> None:
    assert covers(consent(upto={"messages": 1000}), verdict(quantities={"messages": lost})) is covered


def test_a_bound_on_what_was_not_counted_covers_nothing() -> None:
    assert not covers(consent(upto={"messages": 1000}), verdict(quantities={}))


def test_a_refusal_that_is_not_consentable_stays_one() -> None:
    refusal = verdict(outcome=Outcome.REFUSED, consentable=False)
    assert consented(refusal, [consent()]).refuses


def test_a_consentable_refusal_gives_way() -> None:
    refusal = verdict(outcome=Outcome.REFUSED)
    assert not consented(refusal, [consent()]).refuses


def test_the_first_consent_that_covers_gives_the_reason() -> None:
    allows = [consent(until=date(2026, 1, 1)), consent().model_copy(update={"reason": "second"})]
    assert consented(verdict(), allows).consented == "second"


def test_a_value_is_consented_to_in_the_units_of_the_file() -> None:
    assert covers(consent(to="3d"), verdict(path="max_age", to=259_200_000_000_000))


def test_a_list_is_consented_to_as_the_file_writes_it() -> None:
    assert covers(consent(to=["jobs"]), verdict(path="priority_groups", to=["jobs"]))


def test_a_value_that_the_field_could_never_have_is_compared_as_written() -> None:
    assert not covers(consent(to="soon"), verdict(path="max_age", to=1))


def test_expired_consent_is_said() -> None:
    assert left(consent(until=date(2026, 5, 31))) == ["XX301 consent to ST101 ended on 2026-05-31"]


def test_consent_that_nothing_needs_is_said() -> None:
    assert left(consent()) == ["XX302 consent to ST101 is not needed by this change"]


def test_consent_that_covers_is_not_mentioned() -> None:
    assert left(consent(), verdict()) == []


def test_consent_to_another_value_says_so() -> None:
    assert left(consent(to="file"), verdict()) == [
        "XX303 consent to ST101 does not cover this change: it is for another value"
    ]


def test_consent_that_is_too_small_says_by_how_much() -> None:
    allow = consent(upto={"messages": 1000})
    assert left(allow, verdict(quantities={"messages": 2000})) == [
        "XX303 consent to ST101 does not cover this change: 2_000 messages are lost, more than the 1_000 it allows"
    ]


def test_a_bound_on_what_was_not_counted_says_so() -> None:
    assert left(consent(upto={"messages": 1000}), verdict()) == [
        "XX303 consent to ST101 does not cover this change: how many messages are lost was not counted"
    ]
