"""Consent covers one rule, one value, a time and an amount, and never more."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from reconciler.changes.change import Action, Change
from reconciler.changes.consent import (
    allow_entry,
    bulk_consents,
    first_covering,
    is_of_use,
    leftover_allowances,
    leftover_consents,
    unused_option_warnings,
)
from reconciler.changes.consent import covers as _covers
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.model.diagnostic import Severity, SourceSpan
from reconciler.model.resource import Address, Consent, Resource, Terms
from reconciler.model.resource import Spec as _Spec
from reconciler.model.topology import Allowed
from reconciler.model.units import Duration, show_quantity
from tests.core.making import consent

TODAY = date(2026, 6, 1)


class Limits(_Spec):
    inactive_threshold: Duration | None = None
    max_ack_pending: int | None = None


class Spec(Terms):
    """A kind with one field that people write in units of their own."""

    max_age: Duration | None = None
    priority_groups: tuple[str, ...] | None = None
    consumer_limits: Limits | None = None
    sources: tuple[Limits, ...] | None = None


def consented(verdict: Verdict, allows: list[Consent]) -> Verdict:
    found = first_covering(verdict, allows, TODAY, Spec)
    return replace(verdict, consented=found.reason) if found else verdict


def covers(allow: Consent, verdict: Verdict) -> bool:
    return _covers(allow, verdict, TODAY, Spec)


def left(allow: Consent, *verdicts: Verdict) -> list[str]:
    """What is said about this consent beside these verdicts."""
    resource = Resource(address=Address.of("stream", "ORDERS"), config={}, terms=Spec(allow=(allow,)))
    return [f"{one.code} {one.message}" for one in leftover_consents(resource, verdicts, TODAY)]


def left_at_once(allow: Consent, *verdicts: Verdict, is_judged: bool = True) -> list[str]:
    """The same of one that is given to many."""
    found = [(one, Spec) for one in verdicts]
    allowed = Allowed(consent=allow, on="stream/*")
    return [f"{one.code} {one.message}" for one in leftover_allowances(allowed, found, TODAY, is_judged=is_judged)]


def verdict(**said: Any) -> Verdict:
    given = {
        "outcome": Outcome.NEEDS_CONSENT, "consentable": True, "to": "memory", "address": "stream/ORDERS", **said,
    }  # fmt: skip
    return Verdict(code="ST101", name="storage-change", message="…", **given)


def test_consent_to_the_same_rule_and_value_covers() -> None:
    assert consented(verdict(), [consent(to="memory")]).consented == "rebuilt nightly"


def test_what_is_consented_blocks_no_longer() -> None:
    assert not consented(verdict(), [consent()]).blocks


def test_consent_without_a_value_covers_no_change_to_a_value() -> None:
    assert left(consent(to=None), verdict()) == [
        "XX303 consent to ST101 does not cover this change: it names no value (`to:`), without which an old consent "
        "could cover a new change"
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


def test_a_warning_needs_no_consent_and_takes_none() -> None:
    warning = verdict(outcome=Outcome.WARNS, consentable=False)
    assert consented(warning, [consent(to="memory")]).consented is None


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


def test_consent_to_a_refusal_that_no_consent_lifts_says_so() -> None:
    refusal = verdict(outcome=Outcome.REFUSED, consentable=False, to=None)
    assert left(consent(to="6"), refusal) == [
        "XX303 consent to ST101 does not cover this change: the change is refused, and no consent allows it"
    ]


def test_consent_that_is_too_small_says_by_how_much() -> None:
    allow = consent(upto={"messages": 1000})
    assert left(allow, verdict(quantities={"messages": 2000})) == [
        "XX303 consent to ST101 does not cover this change: 2_000 messages are lost, and it allows 1_000 messages"
    ]


def test_a_bound_on_what_was_not_counted_says_so() -> None:
    assert left(consent(upto={"messages": 1000}), verdict()) == [
        "XX303 consent to ST101 does not cover this change: the messages lost were not counted"
    ]


HOUR = 3_600_000_000_000


@pytest.mark.parametrize(
    ("path", "said", "raw"),
    [
        ("consumer_limits.inactive_threshold", "1h", HOUR),
        ("consumer_limits.inactive_threshold", "90m", HOUR * 3 // 2),
        ("consumer_limits", {"inactive_threshold": "1h"}, {"inactive_threshold": HOUR}),
        ("sources[1].inactive_threshold", "1h", HOUR),
        ("sources[1]", {"inactive_threshold": "1h"}, {"inactive_threshold": HOUR}),
        ("consumer_limits.unknown", "1h", "1h"),
        ("metadata.team", "billing", "billing"),
    ],
)
def test_a_value_inside_a_field_is_consented_to_in_its_unit(path: str, said: Any, raw: Any) -> None:
    assert covers(consent(to=said), verdict(path=path, to=raw))


def test_a_value_inside_a_field_is_not_another() -> None:
    assert not covers(consent(to="2h"), verdict(path="consumer_limits.inactive_threshold", to=HOUR))


@pytest.mark.parametrize(
    ("most", "covered"), [("1GiB", True), ("1GB", False), (1 << 30, True), ("1_073_741_824", True)]
)
def test_bytes_may_be_bounded_by_a_size(most: Any, covered: bool) -> None:
    assert covers(consent(upto={"bytes": most}), verdict(quantities={"bytes": 1 << 30})) is covered


def test_messages_are_not_bounded_by_a_size() -> None:
    with pytest.raises(ValidationError, match="is not a whole number"):
        consent(upto={"messages": "1GB"})


def test_how_much_was_lost_is_told_as_it_was_bounded() -> None:
    assert left(consent(upto={"bytes": "1GB"}), verdict(quantities={"bytes": 1 << 30})) == [
        "XX303 consent to ST101 does not cover this change: 1GiB are lost, and it allows 1GB"
    ]


@pytest.mark.parametrize(
    ("name", "number", "said"),
    [("messages", 1000, "1_000 messages"), ("bytes", 10**9, "1GB"), ("bytes", 1_234_567, "1_234_567 bytes")],
)
def test_quantities_have_a_unit(name: str, number: int, said: str) -> None:
    assert show_quantity(name, number) == said


def test_consent_for_many_that_covers_one_of_them_is_not_left_over() -> None:
    own = replace(verdict(to="file"), consented="its own")
    assert left_at_once(consent(), verdict(), own) == []


def test_consent_for_many_that_falls_short_says_of_which() -> None:
    large = [verdict(quantities={"messages": 1001}, address=f"stream/{name}") for name in "AB"]
    assert left_at_once(consent(upto={"messages": 1000}), verdict(quantities={"messages": 1}), *large) == [
        "XX303 consent to ST101 on stream/* does not cover the change of stream/A and 1 more: 1_001 messages are lost, "
        "and it allows 1_000 messages"
    ]


@pytest.mark.parametrize("others", [(), (replace(verdict(to="file"), consented="its own"),)])
def test_consent_for_many_that_none_of_them_needs_is_left_over(others: tuple[Verdict, ...]) -> None:
    assert left_at_once(consent(), *others) == ["XX302 consent to ST101 on stream/* is not needed by any change"]


def test_consent_for_many_that_has_ended_is_left_over() -> None:
    assert left_at_once(consent(until=date(2026, 5, 31)), verdict()) == [
        "XX301 consent to ST101 on stream/* ended on 2026-05-31"
    ]


def test_consent_for_many_to_a_rule_that_was_not_judged_may_be_needed() -> None:
    assert left_at_once(consent(), is_judged=False) == []


REMOVE = "remove it, so that it never covers a change nobody thought of"
RENEW = "review the change again, and write a consent for it"
LEFT_OVER = [
    (consent(until=date(2026, 5, 31)), (), ("XX301", "consent-expired", REMOVE)),
    (consent(), (), ("XX302", "consent-unused", REMOVE)),
    (consent(to="file"), (verdict(),), ("XX303", "consent-falls-short", RENEW)),
    (
        consent(),
        (verdict(outcome=Outcome.REFUSED, consentable=False),),
        ("XX303", "consent-falls-short", "remove it, and do what the refusal advises"),
    ),
]


@pytest.mark.parametrize(("allow", "verdicts", "said"), LEFT_OVER, ids=["over", "unused", "short", "refused"])
def test_what_is_left_over_is_a_warning_at_its_line_with_what_to_do(
    allow: Consent, verdicts: tuple[Verdict, ...], said: tuple[str, str, str]
) -> None:
    def where(path: str) -> SourceSpan:
        return SourceSpan(f"at {path}", 1, 1, 1, 1)

    address = Address.of("stream", "ORDERS")
    resource = Resource(address=address, config={}, terms=Spec(allow=(allow,)), where=where)
    (own,) = leftover_consents(resource, verdicts, TODAY)
    assert (own.code, own.name, own.fix) == said
    assert (own.severity, own.address, own.span) == (Severity.WARNING, "stream/ORDERS", where("allow[0]"))
    allowed = Allowed(consent=allow, on="stream/*", where=where)
    (many,) = leftover_allowances(allowed, [(one, Spec) for one in verdicts], TODAY, is_judged=True)
    assert (many.code, many.name, many.fix) == said
    assert (many.severity, many.address, many.span) == (Severity.WARNING, None, where(""))


def test_what_counts_in_all_environments_may_be_needed_in_another_one() -> None:
    resource = Resource(address=Address.of("stream", "ORDERS"), config={}, terms=Spec(allow=(consent(),)))
    (own,) = leftover_consents(resource, (), TODAY, is_shared=lambda _: True)
    allowed = Allowed(consent=consent(), on="stream/*")
    (many,) = leftover_allowances(allowed, (), TODAY, is_judged=True, is_shared=lambda _: True)
    moved = "remove it, or move it into the overlay of the environment that needs it, so that it never covers"
    assert [warning.fix.startswith(moved) for warning in (own, many) if warning.fix] == [True, True]


def test_each_consent_is_looked_at_whatever_became_of_the_one_before() -> None:
    allows = (consent("ST999"), consent("ST998"), consent())
    resource = Resource(address=Address.of("stream", "ORDERS"), config={}, terms=Spec(allow=allows))
    assert [one.message for one in leftover_consents(resource, (), TODAY, unjudged=["ST999"])] == [
        "consent to ST998 is not needed by this change", "consent to ST101 is not needed by this change",
    ]  # fmt: skip
    short = leftover_consents(resource, (verdict(to="file"),), TODAY, unjudged=["ST999", "ST101"])
    assert [one.code for one in short] == ["XX302", "XX303"], "what was judged is not open"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (("ST101",), "allow: [{code: ST101, reason: …}]"),
        (("ST101", "memory"), "allow: [{code: ST101, to: memory, reason: …}]"),
        (("ST101", "", "stream/*"), 'allow: [{code: ST101, on: "stream/*", reason: …}]'),
    ],
)
def test_an_entry_is_ready_to_be_pasted(said: tuple[str, ...], text: str) -> None:
    assert allow_entry(*said) == text


FOUND = (
    verdict(),
    verdict(address="stream/PAID", outcome=Outcome.WARNS, consentable=False),
    verdict(address="stream/KEPT", outcome=Outcome.REFUSED, consentable=False, fix="keep it"),
)


@pytest.mark.parametrize(
    ("option", "is_some"),
    [
        (("ST101", "stream/ORDERS"), True), (("ST101", "stream/*"), True), (("ST101", "stream/PAID"), False),
        (("ST102", "stream/ORDERS"), False), (("ST101", "stream/X"), False),
    ],
)  # fmt: skip
def test_an_option_is_of_use_where_it_is_consent_to_something(option: tuple[str, str], is_some: bool) -> None:
    assert is_of_use(option, FOUND) is is_some


@pytest.mark.parametrize(
    ("option", "why", "fix", "address"),
    [
        (("ST102", "stream/*"), "no verdict ST102 was found at stream/*",
         "leave it out, or write the code and the address as the plan shows them", None),
        (("ST999", "stream/*"), "no rule has the code ST999",
         "leave it out, or write the code and the address as the plan shows them", None),
        (("ST101", "stream/PAID"), "ST101 storage-change is only a warning here and stops nothing", "leave it out", "stream/PAID"),
        (("ST101", "stream/KEPT"), "no consent covers ST101 storage-change here", "keep it", "stream/KEPT"),
    ],
    ids=["not found", "no rule", "a warning", "refused"],
)  # fmt: skip
def test_an_option_in_vain_says_why(option: tuple[str, str], why: str, fix: str, address: str | None) -> None:
    (said,) = unused_option_warnings([("ST101", "stream/ORDERS"), option], FOUND, {"ST101", "ST102"})
    assert said.message == f"--allow {option[0]}={option[1]} allows nothing: {why}"
    assert (said.code, said.name, said.severity) == ("XX304", "allowed-in-vain", Severity.WARNING)
    assert (said.fix, said.address) == (fix, address)


@pytest.mark.parametrize(
    ("on", "reaches"), [("stream/*", True), ("team=a", True), ("stream/X", False), ("team=b", False)]
)
def test_consent_to_many_reaches_whom_its_pattern_or_label_names(on: str, reaches: bool) -> None:
    address = Address.of("stream", "ORDERS")
    labelled = Resource(address=address, config={}, terms=Spec(labels={"team": "a"}))
    change = Change(address=address, action=Action.UPDATE, desired=labelled)
    assert list(bulk_consents(change.address, change.terms.labels, [Allowed(consent=consent(), on=on)])) == (
        [consent()] if reaches else []
    )


def test_consent_for_many_that_falls_short_of_one_names_that_one() -> None:
    (said,) = left_at_once(consent(to="file"), verdict())
    assert said.startswith("XX303 consent to ST101 on stream/* does not cover the change of stream/ORDERS: ")
