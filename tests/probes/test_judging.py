"""What counts as unforetold and what as a wolf, and that every field is drawn or a list says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from reconciler.changes.change import Action, Consequence, FieldChange
from reconciler.changes.effect import Side
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.kinds import REGISTRY
from reconciler.kinds.predicted_effects import effects_of_kind
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from reconciler.testbed.probes.record import Difference
from reconciler.testbed.probes.scene import Scene
from tests.probes.drawing import (
    BUCKET,
    CONSUMER,
    COPY,
    GROUP,
    MIRROR,
    PUSHED,
    SHORT,
    STORE,
    STREAM,
    Case,
    Fields,
    cases,
)
from tests.probes.judging import WOLVES, Judged
from tests.probes.saying import said
from tests.probes.scenes import HOUR
from tests.probes.tally import play
from tests.support.binaries import NEWEST

REFUSED = Difference("publish small", Side.PUBLISHERS, "stored in S", "refused 10077")
STORED = Difference("publish small", Side.PUBLISHERS, "refused 10077", "stored in S")


def case(before: Mapping[str, object], after: Mapping[str, object], kind: str = "stream") -> Case:
    return Case(
        scene=Scene(streams={"S": before}), address=Address.of(kind, "S"), before=dict(before), after=dict(after),
        request=lambda body: ("STREAM.UPDATE.S", body),
    )  # fmt: skip


def planned(
    one: Case, *codes: str, noted: tuple[str, ...] = (), is_refused: bool = False, is_consentable: bool = False
) -> Plan:
    """A plan of this change with verdicts of these codes."""
    outcome = Outcome.REFUSED if is_refused else Outcome.WARNS
    verdicts = [
        Verdict(code=code, name="", outcome=outcome, message="", address="", consentable=is_consentable)
        for code in codes
    ]
    fields = [FieldChange(path=name, live=one.was(name), desired=one.becomes(name)) for name in one.changed]
    change = PlannedChange(
        address=str(one.address), action=Action.UPDATE, fields=tuple(fields), verdicts=tuple(verdicts),
        consequences=tuple(Consequence(message="", code=code) for code in noted),
    )  # fmt: skip
    return Plan(topology="probes", target=Target(version=Version(2, 15)), changes=(change,))


def judged(one: Case, *felt: Difference, codes: tuple[str, ...] = (), is_refused: bool = False) -> Judged:
    return Judged(case=one, felt=felt, said=said(planned(one, *codes, is_refused=is_refused), one.address))


LOWERED = case({"max_msgs": 1000, "discard": "new"}, {"max_msgs": 10, "discard": "new"})


def test_what_no_verdict_speaks_of_is_unforetold() -> None:
    assert judged(LOWERED, REFUSED).unforetold == {Side.PUBLISHERS}


def test_a_verdict_foretells_the_sides_that_its_code_speaks_of() -> None:
    found = judged(LOWERED, REFUSED, codes=("ST601",))
    assert not found.unforetold
    assert not found.wolves


def test_a_verdict_about_another_side_foretells_nothing() -> None:
    found = judged(LOWERED, REFUSED, codes=("ST605",))
    assert found.unforetold == {Side.PUBLISHERS}
    assert found.wolves == {"ST605"}


def test_a_verdict_that_nothing_shows_is_a_wolf() -> None:
    assert judged(LOWERED, codes=("ST301",)).wolves == {"ST301"}


def test_a_note_foretells_and_cries_no_wolf() -> None:
    noted = Judged(case=LOWERED, felt=(), said=said(planned(LOWERED, noted=("ST601",)), LOWERED.address))
    assert not noted.wolves
    assert not replace(noted, felt=(REFUSED,)).unforetold


def test_a_listed_exception_is_no_wolf() -> None:
    assert not judged(case({}, {"max_age": HOUR}), codes=("ST301",)).wolves


def test_a_plan_that_refuses_sends_nothing_that_anyone_could_feel() -> None:
    found = judged(LOWERED, REFUSED, codes=("ST605",), is_refused=True)
    assert not found.unforetold
    assert not found.wolves


def test_what_a_consent_lets_through_is_judged() -> None:
    refusing = planned(LOWERED, "ST605", is_refused=True, is_consentable=True)
    found = Judged(case=LOWERED, felt=(REFUSED,), said=said(refusing, LOWERED.address))
    assert found.unforetold == {Side.PUBLISHERS}


def test_shorter_deduplication_foretells_what_is_stored_twice_where_publishers_get_no_answer() -> None:
    shorter = case({"no_ack": True}, {"no_ack": True, "duplicate_window": SHORT})
    twice = Difference("stored after publishing in S", Side.STORED, "49 from 1 on", "50 from 1 on")
    assert not judged(shorter, twice, codes=("ST604",)).unforetold


def test_what_works_that_failed_before_takes_nothing_from_anyone() -> None:
    assert not judged(LOWERED, STORED).unforetold


def test_more_room_takes_nothing_from_anyone() -> None:
    more = Difference("stored after publishing in S", Side.STORED, "10 from 21 on", "42 from 1 on")
    assert not judged(case({"max_msgs": 10}, {"max_msgs": 1000}), more).unforetold
    assert judged(LOWERED, more).unforetold == {Side.STORED}


@pytest.mark.parametrize(
    ("kind", "before", "after", "changed"),
    [
        ("stream", {"sealed": False}, {}, set()),
        ("kv_bucket", {}, {"allow_direct": False}, {"allow_direct"}),
        ("kv_bucket", {"history": 1}, {}, set()),
        ("stream", {"max_age": 0}, {"max_age": SHORT}, {"max_age"}),
    ],
)
def test_a_field_changes_where_its_meaning_does(
    kind: str, before: dict[str, object], after: dict[str, object], changed: set[str]
) -> None:
    assert case(before, after, kind).changed == changed


NOT_DRAWN: Mapping[str, str] = {
    **dict.fromkeys(("storage", "persist_mode", "max_waiting", "replay_policy", "opt_start_seq", "opt_start_time"),
                    "fixed at creation"),
    **dict.fromkeys(("flow_control", "idle_heartbeat", "first_seq"), "fixed at creation"),
    **dict.fromkeys(("placement",), "a single server has no other place"),
    **dict.fromkeys(("mirror", "sources"), "of a bucket as of a stream"),
    "rate_limit_bps": "the server lets the first mebibyte pass at once",
    "external": "an expectation, no configuration",
    **dict.fromkeys(("num_replicas", "compression"), "of a bucket as of a stream"),
}  # fmt: skip
DRAWN: Mapping[str, Fields] = {
    "stream": {**STREAM, **COPY, **MIRROR}, "consumer": {**CONSUMER, **PUSHED}, "kv_bucket": BUCKET, "object_store": STORE,
    "elastic_group": GROUP,
}  # fmt: skip
FAMILIES = {"stream": "ST", "consumer": "CO", "kv_bucket": "KV", "object_store": "OB", "elastic_group": "EG"}
TOGETHER: Mapping[str, set[str]] = {
    "consumer": {"priority_policy", "priority_groups", "priority_timeout"}, "elastic_group": {"members", "member_mappings"},
}  # fmt: skip


@pytest.mark.parametrize("kind", DRAWN)
def test_every_field_is_drawn_or_listed(kind: str) -> None:
    known = {one.name: one for one in REGISTRY.kinds}[kind].spec.model_fields.keys()
    shared = {"allow", "labels", "protect", "unmanaged", "consumers", "groups"}
    drawn = DRAWN[kind].keys() | TOGETHER.get(kind, set())
    assert set(known) - shared - drawn - NOT_DRAWN.keys() == set()


def test_the_same_cases_are_drawn_each_time() -> None:
    first, second = ([str(next(one)) for _ in range(20)] for one in (cases(NEWEST), cases(NEWEST)))
    assert first == second
    assert [str(next(cases(NEWEST, 2)))] != first[:1]


def test_exceptions_are_of_codes_that_speak_of_clients_and_give_a_reason() -> None:
    assert WOLVES.keys() <= spoken()
    assert all(reason for named in WOLVES.values() for _, reason in named.values())


def spoken() -> set[str]:
    """Codes that speak of a side."""
    return {
        f"{family}{one.rule}"
        for kind, family in FAMILIES.items()
        for _, one in effects_of_kind(kind)
        if one.sides and one.rule
    }


def test_every_rule_about_clients_speaks_of_a_side() -> None:
    """One that speaks of none could never be a wolf."""
    about_clients = {one.code for one in REGISTRY.rules() if one.code[2] == "6" and one.code[:2] in FAMILIES.values()}
    assert len(about_clients) > 15
    assert about_clients - spoken() == set()


LESS = Difference("stored after publishing in S", Side.STORED, "42 from 1 on", "9 from 1 on")
MORE = Difference("stored after publishing in S", Side.STORED, "10 from 21 on", "42 from 1 on")
GAIN_AND_LOSS = case({"max_msgs": 10}, {"max_msgs": 1000, "retention": "interest"})


def test_a_gain_excuses_nothing_that_another_field_does() -> None:
    """What differs from a twin with the gain alone is not the gain's."""
    found = judged(GAIN_AND_LOSS, MORE)
    assert found.needs_another_twin
    assert not replace(found, beside=()).unforetold
    assert replace(found, beside=(LESS,)).unforetold == {Side.STORED}
    assert not judged(case({"max_msgs": 10}, {"max_msgs": 1000}), MORE).needs_another_twin


def test_a_code_speaks_of_what_the_fields_that_change_do() -> None:
    """ST301 speaks of what is stored; of a field that it knows nothing about it foretells nothing more."""
    spoken = said(planned(LOWERED, "ST601"), LOWERED.address)
    assert spoken.sides == {Side.PUBLISHERS, Side.COPIES}
    assert not spoken.without("ST601").sides


def test_drawn_cases_are_played_on_a_real_server() -> None:
    tally = play(NEWEST, 12)
    assert tally.played + sum(tally.not_taken.values()) == 12
    assert tally.felt > 3
