"""The tables on the pages of rules cannot lie: servers are asked again, each day for another part of what stands there.

What tests of harms say stands there too, and each of them compares it with what it sees.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from reconciler.changes.verdict import Reaction
from reconciler.engine.judging import verdicts_of_all
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address
from reconciler.model.wire.version import Version
from tests.agreement.data import measured, of_code
from tests.agreement.examples import examples_on
from tests.agreement.measuring import CASES, as_data, rows_on
from tests.rules.examples import example
from tests.rules.test_rules import CODES, RULES
from tests.support.binaries import MINORS, VERSIONS

TODAY = datetime.now(UTC).toordinal()
CHANGES, EXAMPLES = 100, 10
"""So many of each are asked for again."""
ANSWER = ("answer", "err_code", "description", "dropped")
"""What comes at once. What a restart loses takes several of them to see."""

every_version = pytest.mark.parametrize("minor", MINORS)


def at_once(said: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (said or {}).items() if name in ANSWER}


def some(things: list[Any], number: int, minor: str) -> list[Any]:
    """Other ones each day, and on each version."""
    return random.Random(f"{TODAY} {minor}").sample(things, min(number, len(things)))


def test_what_was_measured_is_what_tests_run_on() -> None:
    assert measured()["servers"] == VERSIONS, "a new patch release: make measured"


def test_every_rule_was_measured() -> None:
    assert sorted({*RULES} - {*measured()["rules"]}) == [], "new rules: make measured"


def as_key(change: Any) -> str:
    return json.dumps(change, sort_keys=True)


@every_version
def test_servers_answer_changes_as_the_pages_say(minor: str) -> None:
    changes = [
        one for said in measured()["rules"].values() for one in said.get("changes", ()) if minor in one["answers"]
    ]
    written = {as_key(one["change"]): at_once(one["answers"][minor]) for one in some(changes, CHANGES, minor)}
    seen = rows_on(minor, [case for case in CASES.values() if as_key(as_data(case)) in written])
    assert {as_key(as_data(CASES[text])): at_once(one.answer) for text, one in seen.items()} == written


@every_version
def test_servers_answer_examples_as_the_pages_say(minor: str) -> None:
    known = [code for code in CODES if minor in of_code(code).get("example", {})]
    chosen = some([code for code in known if example(code).verdict.reaction is not Reaction.DOOMS], EXAMPLES, minor)
    assert len(chosen) == EXAMPLES
    seen = examples_on(minor, chosen)
    assert {code: at_once(seen.get(code)) for code in chosen} == {
        code: at_once(of_code(code)["example"][minor]) for code in chosen
    }


NOT_ITS_OWN = {
    "EG544": "the record is written as it is; what is refused then is the queue, by the transform of some filters",
    "XX311": "the consumer that gives a subject away was not changed yet, and the server refuses two with one subject",
}
"""Refused for a reason that the rule does not speak of."""


@every_version
def test_what_was_measured_of_an_example_is_what_its_rule_foretells(minor: str) -> None:
    """Where the rule says that a server of this version refuses it, that was seen, and nothing else was."""
    wrong: dict[str, Any] = {}
    for code in CODES:
        said = of_code(code).get("example", {}).get(minor)
        if said and code not in NOT_ITS_OWN:
            found = foretold(code, minor)
            is_as_foretold = said["err_code"] in found if said["answer"] == "refuses" else not found
            wrong |= {} if is_as_foretold else {code: (said, found)}
    assert wrong == {}


def foretold(code: str, minor: str) -> set[int]:
    """Error codes that rules foretell for the change of the example on a server of this version."""
    one = example(code)
    target = replace(one.scene.snapshot.target, version=Version.parse(VERSIONS[minor]))
    view = replace(one.scene, snapshot=replace(one.scene.snapshot, target=target)).view()
    at = Address.parse(one.change.address)
    verdicts = verdicts_of_all(view, REGISTRY, about=[at]).get(at, ())
    refusing = {found.code for found in verdicts if found.reaction is Reaction.REFUSES}
    return set().union(*(RULES[name].err_codes for name in refusing))
