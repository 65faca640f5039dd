"""Consent covers one rule, one value, a time and an amount, and never more."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from reconciler.core.rule import Outcome, Verdict, consented, covers
from tests.core.making import consent

TODAY = date(2026, 6, 1)


def verdict(**said: Any) -> Verdict:
    given = {"outcome": Outcome.NEEDS_CONSENT, "consentable": True, "to": "memory", **said}
    return Verdict(code="ST101", name="storage-change", message="…", address="stream/ORDERS", **given)


def test_consent_to_the_same_rule_and_value_covers() -> None:
    assert consented(verdict(), [consent(to="memory")], TODAY).consented == "rebuilt nightly"


def test_what_is_consented_blocks_no_longer() -> None:
    assert not consented(verdict(), [consent()], TODAY).blocks


def test_consent_without_a_value_covers_every_value() -> None:
    assert covers(consent(), verdict(to="anything"), TODAY)


def test_consent_to_another_value_does_not_cover() -> None:
    assert not covers(consent(to="file"), verdict(), TODAY)


def test_consent_to_another_rule_does_not_cover() -> None:
    assert consented(verdict(), [consent("ST301")], TODAY).consented is None


def test_consent_counts_on_its_last_day() -> None:
    assert covers(consent(until=TODAY), verdict(), TODAY)


def test_consent_does_not_count_the_day_after() -> None:
    assert not covers(consent(until=date(2026, 5, 31)), verdict(), TODAY)


@pytest.mark.parametrize(("lost", "covered"), [(999, True), (1000, True), (1001, False)])
def test_consent_covers_a_loss_up_to_its_bound(lost: int, covered: bool) -> None:
    assert covers(consent(upto={"messages": 1000}), verdict(quantities={"messages": lost}), TODAY) is covered


def test_a_bound_on_what_was_not_counted_covers_nothing() -> None:
    assert not covers(consent(upto={"messages": 1000}), verdict(quantities={}), TODAY)


def test_a_refusal_that_is_not_consentable_stays_one() -> None:
    refusal = verdict(outcome=Outcome.REFUSED, consentable=False)
    assert consented(refusal, [consent()], TODAY).refuses


def test_a_consentable_refusal_gives_way() -> None:
    refusal = verdict(outcome=Outcome.REFUSED)
    assert not consented(refusal, [consent()], TODAY).refuses


def test_the_first_consent_that_covers_gives_the_reason() -> None:
    allows = [consent(until=date(2026, 1, 1)), consent().model_copy(update={"reason": "second"})]
    assert consented(verdict(), allows, TODAY).consented == "second"
