"""Intents as they are stored and read, and how the new object is told from the old one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reconciler.model.ledger.intents import Intent, decode_intent, encode_intent, intent_key, intents
from reconciler.model.resource import Address, Consent
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.version import Version

START = {"deliver_policy": "by_start_sequence", "opt_start_seq": 43, "opt_start_time": None}
INTENT = Intent(
    topology="orders", source="git@h:orders", git_revision="abc", created="2026-05-01T00:00:00Z",
    old={"ack_policy": "explicit"}, wanted={"ack_policy": "all"}, fields=("ack_policy",), start=START,
    notes={"placeholder": "p"}, allow=(Consent(code="CO104", to="all", reason="batches", upto={"redelivered": 9}),),
    ready=True, revision=7,
)  # fmt: skip
AT = Address.of("consumer", "S", "c.d")


def stored(intent: Intent) -> Entry:
    return Entry(json.dumps(encode_intent(intent)).encode(), intent.revision)


def test_what_is_stored_comes_back() -> None:
    assert decode_intent(stored(INTENT)) == INTENT


def test_an_intent_is_found_under_the_address_it_is_about() -> None:
    entries = {intent_key(AT): stored(INTENT), "owned.consumer.S.other": Entry(b"{}", 1), "id": Entry(b"x", 2)}
    snapshot = Snapshot(target=Target(version=Version(2, 12)), entries={"reconciler": entries})
    assert intents(snapshot) == {AT: INTENT}


def test_a_finished_one_is_gone() -> None:
    entries = {intent_key(AT): replace(stored(INTENT), deleted=True)}
    assert intents(Snapshot(target=Target(version=Version(2, 12)), entries={"reconciler": entries})) == {}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        '{"format": 2, "topology": "t"}',
        '{"format": 1}',
        '{"format": 1, "topology": "t", "allow": [{}]}',
    ],
)
def test_what_cannot_be_understood_is_never_guessed_at(text: str) -> None:
    assert isinstance(decode_intent(Entry(text.encode(), 1)), str)


MADE = {"ack_policy": "all", "deliver_policy": "by_start_sequence", "opt_start_seq": 43}


@pytest.mark.parametrize(
    ("live", "is_made"),
    [
        (MADE, True),
        ({**MADE, "description": "added by hand"}, True),
        ({**MADE, "ack_policy": "explicit"}, False),
        ({**MADE, "opt_start_seq": 44}, False),
        ({"ack_policy": "all"}, False),
        ({"ack_policy": "explicit"}, False),
    ],
)
def test_the_new_object_differs_where_it_must_and_starts_as_noted(live: dict[str, object], is_made: bool) -> None:
    assert INTENT.is_made(live) is is_made


def test_before_the_place_is_noted_nothing_can_have_been_made() -> None:
    assert not replace(INTENT, ready=False).is_made(MADE)
